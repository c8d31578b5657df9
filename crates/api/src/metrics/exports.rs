//! Metrics of raw-data exports.

use platform::Platform;
use platform::exports::EndedExports;
use prometheus::proto::MetricFamily;
use store::ExportQueue;

use super::families::{counters, gauges};

/// Returns what has ended on this node, and what is in progress on all nodes; the latter is left out when the database
/// does not answer.
pub(super) async fn families(platform: &Platform) -> Vec<MetricFamily> {
    let mut families = ended(platform.data.ended_exports());
    if let Ok(queue) = platform.data.export_queue().await {
        families.extend(in_progress(queue, platform.core.now_ms()));
    }
    families
}

fn ended(EndedExports { done, failed, bytes }: EndedExports) -> Vec<MetricFamily> {
    // Both from the start: the first failure of a counter that appears with it is no increase.
    let outcomes = [("done", done), ("failed", failed)];
    let outcomes = outcomes.map(|(name, count)| ([("outcome", name)], count as f64));
    let help = "Raw-data exports that ended on this node, by how they ended.";
    vec![
        counters("pulseward_exports_total", help, outcomes),
        counters("pulseward_export_bytes_total", "Bytes of the archives of exports.", [([], bytes as f64)]),
    ]
}

fn in_progress(queue: ExportQueue, now_ms: i64) -> [MetricFamily; 2] {
    // Of a clock that is behind the one that took the request, nothing waits.
    let oldest_ms = queue.oldest_ms.map_or(0, |oldest_ms| (now_ms - oldest_ms).max(0));
    let help = "Time for which the oldest export in progress has been waited for, 0 where there is none.";
    [
        gauges("pulseward_exports_in_progress", "Exports in progress, on all nodes.", [([], queue.exports as f64)]),
        gauges("pulseward_exports_oldest_seconds", help, [([], oldest_ms as f64 / 1e3)]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::families::text_of;

    #[test]
    fn exports_are_written_also_before_the_first_one() {
        let mut families = ended(EndedExports::default());
        families.extend(in_progress(ExportQueue::default(), 5));
        let text = text_of(families);
        for line in [
            "pulseward_exports_total{outcome=\"done\"} 0",
            "pulseward_exports_total{outcome=\"failed\"} 0",
            "pulseward_export_bytes_total 0",
            "pulseward_exports_in_progress 0",
            "pulseward_exports_oldest_seconds 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        let waiting = text_of(in_progress(ExportQueue { exports: 2, oldest_ms: Some(1_000) }, 3_500).into());
        assert!(waiting.contains("pulseward_exports_in_progress 2\n"), "{waiting}");
        assert!(waiting.contains("pulseward_exports_oldest_seconds 2.5\n"), "{waiting}");
    }
}
