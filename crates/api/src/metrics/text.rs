//! The text format of Prometheus, version 0.0.4.

use std::fmt::Write as _;

/// Writes a gauge without labels.
pub fn gauge(text: &mut String, name: &str, help: &str, value: u64) {
    heading(text, name, "gauge", help);
    line(text, &format!("{name} {value}"));
}

pub(super) fn heading(text: &mut String, name: &str, kind: &str, help: &str) {
    line(text, &format!("# HELP {name} {help}\n# TYPE {name} {kind}"));
}

pub(super) fn line(text: &mut String, line: &str) {
    // Writing to memory cannot fail.
    let _ = writeln!(text, "{line}");
}

/// What a histogram has counted.
pub(super) struct Counted<'a> {
    /// Upper ends of the buckets, s. The last bucket has none.
    pub ends_s: &'a [f64],
    /// Counts of each bucket by itself, one more than there are ends.
    pub counts: &'a [u64],
    /// Sum of what was counted, µs.
    pub sum_us: u64,
}

/// Writes the lines of one histogram.
pub(super) fn histogram(text: &mut String, name: &str, labels: &str, counted: &Counted<'_>) {
    let Counted { ends_s, counts, sum_us } = *counted;
    let mut below = 0;
    for (end_s, count) in ends_s.iter().zip(counts) {
        below += count;
        line(text, &format!("{name}_bucket{{{labels},le=\"{end_s}\"}} {below}"));
    }
    below += counts[ends_s.len()..].iter().sum::<u64>();
    line(text, &format!("{name}_bucket{{{labels},le=\"+Inf\"}} {below}"));
    line(text, &format!("{name}_sum{{{labels}}} {}", sum_us as f64 / 1e6));
    line(text, &format!("{name}_count{{{labels}}} {below}"));
}
