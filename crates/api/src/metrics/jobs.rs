//! Metrics of background work, by kind.

use std::collections::BTreeMap;

use platform::Platform;
use platform::jobs::{BUCKETS_MS, KindCounts, Outcome, kind_names};
use prometheus::proto::MetricFamily;
use store::JobKind;

use super::families::{Counted, counters, gauges, histograms};

/// Returns what this node has run, and what waits or fails on all nodes; the latter is left out when the database does
/// not answer.
pub(super) async fn families(platform: &Platform) -> Vec<MetricFamily> {
    let (kinds, restarts) = platform.core.signals().counts();
    let mut families = runs(&kinds);
    families.extend(derivations(&platform.data.derivation_counts()));
    let help = "Starts of the engine, or of a task next to it, after a panic of its own.";
    families.push(counters("pulseward_job_engine_restarts_total", help, [([], restarts as f64)]));
    // Absent where the node does no background work: a 0 there would be no fault.
    if let Some(engine) = platform.core.signals().engine() {
        let help = "1 while the engine of background work of this node works, else 0.";
        families.push(gauges("pulseward_job_engine_works", help, [([], f64::from(u8::from(engine.works)))]));
    }
    if let Ok(due) = platform.upkeep.due_jobs().await {
        let help = "Jobs that wait to be run, on all nodes; derivations have a queue of their own.";
        families.push(of_all_kinds(
            "pulseward_jobs_due",
            help,
            due.iter().map(|(kind, count)| (kind.as_str(), *count)),
        ));
    }
    if let Ok(failing) = platform.upkeep.failing_jobs().await {
        let help = "Jobs whose last run failed, on all nodes.";
        let values = failing.iter().map(|kind| (kind.kind.as_str(), kind.failing));
        families.push(of_all_kinds("pulseward_jobs_failing", help, values));
        let help = "Jobs that are left alone because they failed too often, on all nodes.";
        let values = failing.iter().map(|kind| (kind.kind.as_str(), kind.put_aside));
        families.push(of_all_kinds("pulseward_jobs_put_aside", help, values));
    }
    families
}

/// Returns a family of gauges with a value for every kind: one that is absent looks like a database that does not
/// answer, and a 0 like what it is.
fn of_all_kinds<'a>(name: &str, help: &str, counts: impl Iterator<Item = (&'a str, u64)>) -> MetricFamily {
    let mut values: BTreeMap<&str, u64> = kind_names().map(|kind| (kind, 0)).collect();
    // Also kinds of another version of the program.
    values.extend(counts);
    gauges(name, help, values.into_iter().map(|(kind, count)| ([("kind", kind)], count as f64)))
}

fn derivations(counts: &[(&'static str, u64, u64)]) -> [MetricFamily; 2] {
    let computed = counts.iter().map(|(id, count, _)| ([("derivation", *id)], *count as f64));
    let seconds = counts.iter().map(|(id, _, time_us)| ([("derivation", *id)], *time_us as f64 / 1e6));
    let help = "Time that computations of each derivation took on this node.";
    [
        counters("pulseward_derivations_total", "Computations of each derivation on this node.", computed),
        counters("pulseward_derivation_seconds_total", help, seconds),
    ]
}

fn runs(kinds: &BTreeMap<JobKind, KindCounts>) -> Vec<MetricFamily> {
    let ended = kinds.iter().flat_map(|(kind, counts)| {
        // All outcomes with the first run: the first failure of a counter that appears with it is no increase.
        [Outcome::Done, Outcome::Failed, Outcome::Panicked, Outcome::Lost].map(|outcome| {
            let count = counts.runs.get(&outcome).copied().unwrap_or_default();
            ([("kind", kind.name()), ("outcome", outcome.name())], count as f64)
        })
    });
    let running = kinds.iter().map(|(kind, counts)| ([("kind", kind.name())], counts.running as f64));
    let ends_s = BUCKETS_MS.map(|end_ms| end_ms as f64 / 1e3);
    let durations = kinds.iter().map(|(kind, counts)| {
        ([("kind", kind.name())], Counted { ends_s: &ends_s, counts: &counts.buckets, sum_us: counts.sum_us })
    });
    let help = "Runs of jobs that ended, by kind and by how they ended.";
    vec![
        counters("pulseward_job_runs_total", help, ended),
        gauges("pulseward_jobs_running", "Jobs that this node runs.", running),
        histograms("pulseward_job_duration_seconds", "Time of a run, until its end is stored.", durations),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::families::text_of;

    #[test]
    fn every_kind_has_a_value() {
        let text = text_of(vec![of_all_kinds("failing", "Help.", [("seal", 2), ("of_tomorrow", 1)].into_iter())]);
        for line in ["failing{kind=\"seal\"} 2", "failing{kind=\"of_tomorrow\"} 1", "failing{kind=\"export\"} 0"] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }

    #[test]
    fn runs_are_counted_by_kind_and_outcome() {
        let mut buckets = [0; BUCKETS_MS.len() + 1];
        (buckets[0], buckets[3], buckets[BUCKETS_MS.len()]) = (2, 1, 1);
        let ended = BTreeMap::from([(Outcome::Done, 3), (Outcome::Panicked, 1)]);
        let counts = KindCounts { runs: ended, buckets, sum_us: 1_500_000, running: 5, put_aside: 0 };
        let text = text_of(runs(&BTreeMap::from([(JobKind::new("seal"), counts)])));
        for line in [
            "pulseward_job_runs_total{kind=\"seal\",outcome=\"done\"} 3",
            "pulseward_job_runs_total{kind=\"seal\",outcome=\"panicked\"} 1",
            "pulseward_job_runs_total{kind=\"seal\",outcome=\"failed\"} 0",
            "pulseward_jobs_running{kind=\"seal\"} 5",
            "pulseward_job_duration_seconds_bucket{kind=\"seal\",le=\"0.001\"} 2",
            "pulseward_job_duration_seconds_bucket{kind=\"seal\",le=\"0.1\"} 3",
            "pulseward_job_duration_seconds_bucket{kind=\"seal\",le=\"+Inf\"} 4",
            "pulseward_job_duration_seconds_sum{kind=\"seal\"} 1.5",
            "pulseward_job_duration_seconds_count{kind=\"seal\"} 4",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
