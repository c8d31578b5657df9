//! Metrics of background work, by kind.

use std::collections::BTreeMap;

use platform::Platform;
use platform::jobs::{BUCKETS_MS, KindCounts};
use store::JobKind;

use super::text::{Counted, heading, histogram, line};

/// Writes what this node has run, and what waits or fails on all nodes; the latter is left out when the database does
/// not answer.
pub(super) async fn write(platform: &Platform, text: &mut String) {
    let (kinds, restarts) = platform.core.signals().counts();
    write_runs(&kinds, text);
    write_derivations(&platform.data.derivation_counts(), text);
    heading(text, "pulseward_job_engine_restarts_total", "counter", "Starts of the engine after a panic of its own.");
    line(text, &format!("pulseward_job_engine_restarts_total {restarts}"));
    if let Ok(due) = platform.upkeep.due_jobs().await {
        let name = "pulseward_jobs_due";
        heading(text, name, "gauge", "Jobs that wait to be run, on all nodes; derivations are in the fold queue.");
        for (kind, count) in due {
            line(text, &format!("{name}{{kind=\"{kind}\"}} {count}"));
        }
    }
    if let Ok(failing) = platform.upkeep.failing_jobs().await {
        let name = "pulseward_jobs_failing";
        heading(text, name, "gauge", "Jobs whose last run failed, on all nodes.");
        for kind in &failing {
            line(text, &format!("{name}{{kind=\"{}\"}} {}", kind.kind, kind.failing));
        }
        let name = "pulseward_jobs_put_aside";
        heading(text, name, "gauge", "Jobs that are left alone because they failed too often, on all nodes.");
        for kind in failing.iter().filter(|kind| kind.put_aside > 0) {
            line(text, &format!("{name}{{kind=\"{}\"}} {}", kind.kind, kind.put_aside));
        }
    }
}

fn write_derivations(counts: &[(&'static str, u64, u64)], text: &mut String) {
    let (runs, seconds) = ("pulseward_derivations_total", "pulseward_derivation_seconds_total");
    heading(text, runs, "counter", "Computations of each derivation on this node.");
    for (id, count, _) in counts {
        line(text, &format!("{runs}{{derivation=\"{id}\"}} {count}"));
    }
    heading(text, seconds, "counter", "Time that computations of each derivation took on this node.");
    for (id, _, time_us) in counts {
        line(text, &format!("{seconds}{{derivation=\"{id}\"}} {}", *time_us as f64 / 1e6));
    }
}

fn write_runs(kinds: &BTreeMap<JobKind, KindCounts>, text: &mut String) {
    let name = "pulseward_job_runs_total";
    heading(text, name, "counter", "Runs of jobs that ended, by kind and by how they ended.");
    for (kind, counts) in kinds {
        for (outcome, count) in &counts.runs {
            line(text, &format!("{name}{{kind=\"{kind}\",outcome=\"{}\"}} {count}", outcome.name()));
        }
    }
    let name = "pulseward_jobs_running";
    heading(text, name, "gauge", "Jobs that this node runs.");
    for (kind, counts) in kinds {
        line(text, &format!("{name}{{kind=\"{kind}\"}} {}", counts.running));
    }
    let name = "pulseward_job_duration_seconds";
    heading(text, name, "histogram", "Time of a run, until its end is stored.");
    for (kind, counts) in kinds {
        let ends_s = BUCKETS_MS.map(|end_ms| end_ms as f64 / 1e3);
        let counted = Counted { ends_s: &ends_s, counts: &counts.buckets, sum_us: counts.sum_us };
        histogram(text, name, &format!("kind=\"{kind}\""), &counted);
    }
}

#[cfg(test)]
mod tests {
    use platform::jobs::Outcome;

    use super::*;

    #[test]
    fn runs_are_counted_by_kind_and_outcome() {
        let mut buckets = [0; BUCKETS_MS.len() + 1];
        (buckets[0], buckets[3], buckets[BUCKETS_MS.len()]) = (2, 1, 1);
        let runs = BTreeMap::from([(Outcome::Done, 3), (Outcome::Panicked, 1)]);
        let counts = KindCounts { runs, buckets, sum_us: 1_500_000, running: 5, put_aside: 0 };
        let mut text = String::new();
        write_runs(&BTreeMap::from([(JobKind::new("seal"), counts)]), &mut text);
        for line in [
            "pulseward_job_runs_total{kind=\"seal\",outcome=\"done\"} 3",
            "pulseward_job_runs_total{kind=\"seal\",outcome=\"panicked\"} 1",
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
