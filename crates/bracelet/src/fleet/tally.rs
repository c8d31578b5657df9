//! What a fleet has done: counts and latencies.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

/// Counters that all tasks of a fleet share.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    syncs: AtomicU64,
    rows: AtomicU64,
    values: AtomicU64,
    stored: AtomicU64,
    duplicate: AtomicU64,
    rejected: AtomicU64,
    retries: AtomicU64,
    failed: AtomicU64,
    latencies_us: Mutex<Vec<u32>>,
    /// Patients enrolled.
    enrolled: AtomicU64,
    /// Windows of the history that were sent, or had nothing to send.
    history: AtomicU64,
}

impl Tally {
    /// A patient is enrolled.
    pub fn record_enrolment(&self) {
        self.enrolled.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many patients are enrolled.
    pub fn enrolled(&self) -> u64 {
        self.enrolled.load(Ordering::Relaxed)
    }

    /// A window of the history is done.
    pub fn record_window(&self) {
        self.history.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many windows of the history are done.
    pub fn windows(&self) -> u64 {
        self.history.load(Ordering::Relaxed)
    }

    /// A sync was accepted after `latency` with this answer.
    pub fn record_sync(&self, rows: usize, values: usize, latency: Duration, answer: &Value) {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self.rows.fetch_add(rows as u64, Ordering::Relaxed);
        self.values.fetch_add(values as u64, Ordering::Relaxed);
        for (counter, name) in [(&self.stored, "stored"), (&self.duplicate, "duplicate"), (&self.rejected, "rejected")]
        {
            counter.fetch_add(count_over_types(answer, name), Ordering::Relaxed);
        }
        let latency_us = u32::try_from(latency.as_micros()).unwrap_or(u32::MAX);
        self.latencies_us.lock().unwrap_or_else(PoisonError::into_inner).push(latency_us);
    }

    /// A request is tried again.
    pub fn record_retry(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }

    /// A sync was given up; returns how many were before it.
    pub fn record_failure(&self) -> u64 {
        self.failed.fetch_add(1, Ordering::Relaxed)
    }

    /// Begins again.
    pub fn reset(&self) {
        for counter in [
            &self.syncs,
            &self.rows,
            &self.values,
            &self.stored,
            &self.duplicate,
            &self.rejected,
            &self.retries,
            &self.failed,
            &self.enrolled,
            &self.history,
        ] {
            counter.store(0, Ordering::Relaxed);
        }
        self.latencies_us.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Returns the result after `seconds`.
    pub fn result(&self, patients: u64, seconds: f64) -> FleetResult {
        let mut latencies_us = self.latencies_us.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // All latencies are kept: percentiles of percentiles would be wrong, and a run has a few million at most.
        latencies_us.sort_unstable();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        FleetResult {
            patients,
            syncs: count(&self.syncs),
            values: count(&self.values),
            seconds,
            p50_ms: percentile_ms(&latencies_us, 50.0),
            p99_ms: percentile_ms(&latencies_us, 99.0),
            p95_ms: percentile_ms(&latencies_us, 95.0),
            rows: count(&self.rows),
            stored: count(&self.stored),
            duplicate: count(&self.duplicate),
            rejected: count(&self.rejected),
            retries: count(&self.retries),
            failed: count(&self.failed),
            group: String::new(),
            stopped: None,
        }
    }
}

/// The place at which a fleet was stopped before it had sent its history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped {
    /// Steps done.
    pub done: u64,
    /// Steps that were to be done.
    pub planned: u64,
    /// Their name.
    pub steps: &'static str,
}

impl std::fmt::Display for Stopped {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "stopped after {} of {} {}", self.done, self.planned, self.steps)
    }
}

/// Returns the sum of one count over all types of a sync's answer.
fn count_over_types(answer: &Value, name: &str) -> u64 {
    let Some(types) = answer["types"].as_object() else {
        return 0;
    };
    types.values().filter_map(|counts| counts[name].as_u64()).sum()
}

/// Returns the smallest latency that `percent` of all do not exceed (nearest rank), in ms; 0 without any.
fn percentile_ms(sorted_us: &[u32], percent: f64) -> f64 {
    // Nearest rank and not between two: a percentile is then a latency that was measured.
    let rank = (percent / 100.0 * sorted_us.len() as f64).ceil() as usize;
    match sorted_us.get(rank.saturating_sub(1)) {
        Some(latency_us) => f64::from(*latency_us) / 1_000.0,
        None => 0.0,
    }
}

/// What a fleet did. As JSON it has the fields that the command line promises, and no others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetResult {
    /// Code of the study that the patients are in.
    pub group: String,
    /// Enrolled patients.
    pub patients: u64,
    /// Accepted syncs.
    pub syncs: u64,
    /// Values in them: cells that are not null, without timestamps and constants.
    pub values: u64,
    /// Duration of the run.
    pub seconds: f64,
    /// Median latency of accepted syncs.
    pub p50_ms: f64,
    /// Latency that 99 % of them did not exceed.
    pub p99_ms: f64,
    /// Latency that 95 % of them did not exceed.
    #[serde(skip)]
    pub p95_ms: f64,
    /// Rows in accepted syncs.
    #[serde(skip)]
    pub rows: u64,
    /// Rows that the service says it stored.
    #[serde(skip)]
    pub stored: u64,
    /// Rows that it had already.
    #[serde(skip)]
    pub duplicate: u64,
    /// Rows that it rejected: of a sane simulation, none.
    #[serde(skip)]
    pub rejected: u64,
    /// Requests that were tried again.
    #[serde(skip)]
    pub retries: u64,
    /// Syncs that were given up.
    #[serde(skip)]
    pub failed: u64,
    /// Where it was stopped before its history was there.
    #[serde(skip)]
    pub stopped: Option<Stopped>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let latencies: Vec<u32> = (1..=200).map(|ms| ms * 1_000).collect();
        assert!((percentile_ms(&latencies, 50.0) - 100.0).abs() < 1e-9);
        assert!((percentile_ms(&latencies, 99.0) - 198.0).abs() < 1e-9);
        assert!((percentile_ms(&latencies[..1], 99.0) - 1.0).abs() < 1e-9);
        assert!(percentile_ms(&[], 50.0).abs() < 1e-9);
    }

    #[test]
    fn answers_are_summed_over_types_and_the_result_has_the_promised_fields() {
        let tally = Tally::default();
        let answer =
            json!({"types": {"activity": {"stored": 3, "rejected": 1}, "sleep": {"stored": 4, "duplicate": 2}}});
        tally.record_sync(10, 70, Duration::from_millis(5), &answer);
        let result = tally.result(1, 2.5);
        assert_eq!((result.stored, result.duplicate, result.rejected), (7, 2, 1));
        assert_eq!(
            serde_json::to_value(&result).unwrap(),
            json!({"group": "", "patients": 1, "syncs": 1, "values": 70, "seconds": 2.5, "p50_ms": 5.0, "p99_ms": 5.0})
        );
    }
}
