//! Counters of one node.

use std::time::Duration;

use axum::http::{Method, StatusCode};
use platform::ingest::Receipt;
use prometheus::core::Collector;
use prometheus::proto::MetricFamily;
use prometheus::{HistogramOpts, HistogramVec, IntCounter, IntCounterVec, Opts, Registry};

/// Upper ends of the histogram's buckets, s. The last bucket has none.
const BUCKETS_S: [f64; 11] = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0, 5.0, 30.0];

/// Counters of one node. Clones share them.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    durations: HistogramVec,
    syncs: IntCounter,
    sync_rows: IntCounterVec,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::in_registry(Registry::new()).expect("names and labels that Prometheus takes, each once")
    }
}

impl Metrics {
    fn in_registry(registry: Registry) -> prometheus::Result<Self> {
        let labels = ["method", "route", "status"];
        let requests = IntCounterVec::new(Opts::new("pulseward_requests_total", "Answered requests."), &labels)?;
        let help = "Time until the head of the answer.";
        let options = HistogramOpts::new("pulseward_request_duration_seconds", help).buckets(BUCKETS_S.to_vec());
        let durations = HistogramVec::new(options, &["route"])?;
        let syncs = IntCounter::new("pulseward_syncs_total", "Syncs that were stored.")?;
        let help = "Rows of syncs, by data type and by what became of them.";
        let sync_rows = IntCounterVec::new(Opts::new("pulseward_sync_rows_total", help), &["type", "outcome"])?;
        let all: [Box<dyn Collector>; 4] = [
            Box::new(requests.clone()),
            Box::new(durations.clone()),
            Box::new(syncs.clone()),
            Box::new(sync_rows.clone()),
        ];
        all.into_iter().try_for_each(|one| registry.register(one))?;
        Ok(Metrics { registry, requests, durations, syncs, sync_rows })
    }

    /// Counts an answered request.
    pub(crate) fn answered(&self, route: &str, method: &Method, status: StatusCode, took: Duration) {
        // Routes as they are declared and never paths, which hold codes and would make labels without end.
        self.requests.with_label_values(&[method_label(method), route, status.as_str()]).inc();
        self.durations.with_label_values(&[route]).observe(took.as_secs_f64());
    }

    /// Counts a stored sync.
    pub(crate) fn synced(&self, receipt: &Receipt) {
        self.syncs.inc();
        for outcome in &receipt.types {
            let counts = [
                ("stored", outcome.counts.stored),
                ("duplicate", outcome.counts.duplicate),
                ("replaced", outcome.counts.replaced),
                ("unverified", outcome.counts.unverified),
                ("rejected", outcome.rejected),
            ];
            for (name, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
                self.sync_rows.with_label_values(&[outcome.data_type.name(), name]).inc_by(count);
            }
        }
    }

    /// Returns what has been counted, in the order of the names and labels.
    pub(super) fn families(&self) -> Vec<MetricFamily> {
        let mut families = self.registry.gather();
        let rows = families.iter_mut().filter(|family| family.name() == "pulseward_sync_rows_total");
        // The library sorts labels by name; readers have always found the type first.
        rows.flat_map(MetricFamily::mut_metric).for_each(|metric| metric.mut_label().reverse());
        families
    }
}

/// Methods that are made up must not make labels up.
fn method_label(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "HEAD" => "HEAD",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::families::text_of;

    #[test]
    fn answers_and_their_times_are_counted_by_route() {
        let metrics = Metrics::default();
        for (ms, status) in [(1, StatusCode::OK), (2, StatusCode::OK), (60_000, StatusCode::SERVICE_UNAVAILABLE)] {
            metrics.answered("/v1/x/{id}", &Method::GET, status, Duration::from_millis(ms));
        }
        metrics.answered(
            "none",
            &Method::from_bytes(b"BREW").expect("a method"),
            StatusCode::NOT_FOUND,
            Duration::ZERO,
        );
        let text = text_of(metrics.families());
        for line in [
            "pulseward_requests_total{method=\"GET\",route=\"/v1/x/{id}\",status=\"200\"} 2",
            "pulseward_requests_total{method=\"GET\",route=\"/v1/x/{id}\",status=\"503\"} 1",
            "pulseward_requests_total{method=\"other\",route=\"none\",status=\"404\"} 1",
            "pulseward_request_duration_seconds_bucket{route=\"/v1/x/{id}\",le=\"0.001\"} 1",
            "pulseward_request_duration_seconds_bucket{route=\"/v1/x/{id}\",le=\"30\"} 2",
            "pulseward_request_duration_seconds_bucket{route=\"/v1/x/{id}\",le=\"+Inf\"} 3",
            "pulseward_request_duration_seconds_count{route=\"/v1/x/{id}\"} 3",
            "pulseward_request_duration_seconds_sum{route=\"/v1/x/{id}\"} 60.003",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
