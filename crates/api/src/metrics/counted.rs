//! Counters of one node.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use platform::ingest::Receipt;
use runtime::HashMap;

use super::text::{Counted, heading, histogram, line};

/// Upper ends of the histogram's buckets, µs. The last bucket has none.
const BUCKETS_US: [u64; 11] =
    [500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000, 250_000, 1_000_000, 5_000_000, 30_000_000];

/// Counters of one node. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    counters: Arc<Counters>,
}

#[derive(Debug, Default)]
struct Counters {
    routes: RwLock<HashMap<String, Arc<RouteCounters>>>,
    syncs: AtomicU64,
    /// By data type and outcome.
    rows: Mutex<BTreeMap<(&'static str, &'static str), u64>>,
}

#[derive(Debug, Default)]
struct RouteCounters {
    /// By method and status.
    answers: Mutex<BTreeMap<(&'static str, u16), u64>>,
    buckets: [AtomicU64; BUCKETS_US.len() + 1],
    sum_us: AtomicU64,
}

impl Metrics {
    /// Counts an answered request.
    pub(crate) fn answered(&self, route: &str, method: &Method, status: StatusCode, took: Duration) {
        // Routes as they are declared and never paths, which hold codes and would make labels without end.
        let counters = self.route(route);
        let mut answers = counters.answers.lock().unwrap_or_else(PoisonError::into_inner);
        *answers.entry((method_label(method), status.as_u16())).or_default() += 1;
        // The buckets are counted without the lock, which all requests of a route share.
        drop(answers);
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BUCKETS_US.iter().position(|end| took_us <= *end).unwrap_or(BUCKETS_US.len());
        counters.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        counters.sum_us.fetch_add(took_us, Ordering::Relaxed);
    }

    /// Counts a stored sync.
    pub(crate) fn synced(&self, receipt: &Receipt) {
        self.counters.syncs.fetch_add(1, Ordering::Relaxed);
        let mut rows = self.counters.rows.lock().unwrap_or_else(PoisonError::into_inner);
        for outcome in &receipt.types {
            let counts = [
                ("stored", outcome.counts.stored),
                ("duplicate", outcome.counts.duplicate),
                ("replaced", outcome.counts.replaced),
                ("rejected", outcome.rejected),
            ];
            for (name, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
                *rows.entry((outcome.data_type.name(), name)).or_default() += count;
            }
        }
    }

    fn route(&self, route: &str) -> Arc<RouteCounters> {
        // Read first: there are a hundred routes, and each is new once.
        let known = self.counters.routes.read().unwrap_or_else(PoisonError::into_inner).get(route).cloned();
        known.unwrap_or_else(|| {
            let mut routes = self.counters.routes.write().unwrap_or_else(PoisonError::into_inner);
            routes.entry(route.to_owned()).or_default().clone()
        })
    }
}

impl Metrics {
    pub(super) fn write_requests(&self, text: &mut String) {
        let routes = self.counters.routes.read().unwrap_or_else(PoisonError::into_inner);
        // In order, so that two readings can be compared line by line.
        let routes: BTreeMap<_, _> = routes.iter().collect();
        heading(text, "pulseward_requests_total", "counter", "Answered requests.");
        for (route, counters) in &routes {
            let answers = counters.answers.lock().unwrap_or_else(PoisonError::into_inner);
            for ((method, status), count) in answers.iter() {
                let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
                line(text, &format!("pulseward_requests_total{{{labels}}} {count}"));
            }
        }
        let name = "pulseward_request_duration_seconds";
        heading(text, name, "histogram", "Time until the head of the answer.");
        for (route, counters) in &routes {
            let counts = counters.buckets.each_ref().map(|count| count.load(Ordering::Relaxed));
            let ends_s = BUCKETS_US.map(|end_us| end_us as f64 / 1e6);
            let sum_us = counters.sum_us.load(Ordering::Relaxed);
            let counted = Counted { ends_s: &ends_s, counts: &counts, sum_us };
            histogram(text, name, &format!("route=\"{route}\""), &counted);
        }
    }

    pub(super) fn write_syncs(&self, text: &mut String) {
        heading(text, "pulseward_syncs_total", "counter", "Syncs that were stored.");
        line(text, &format!("pulseward_syncs_total {}", self.counters.syncs.load(Ordering::Relaxed)));
        heading(
            text,
            "pulseward_sync_rows_total",
            "counter",
            "Rows of syncs, by data type and by what became of them.",
        );
        let rows = self.counters.rows.lock().unwrap_or_else(PoisonError::into_inner);
        for ((data_type, outcome), count) in rows.iter() {
            line(text, &format!("pulseward_sync_rows_total{{type=\"{data_type}\",outcome=\"{outcome}\"}} {count}"));
        }
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
        let mut text = String::new();
        metrics.write_requests(&mut text);
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
