//! What is counted elsewhere, as families of metrics, and the text of all families.

use prometheus::TextEncoder;
use prometheus::proto::{Bucket, Counter, Gauge, Histogram, LabelPair, Metric, MetricFamily, MetricType};

/// Names and values of a metric's labels, in the order in which they are written.
pub type Labels<'a, const N: usize> = [(&'static str, &'a str); N];

/// Counts of a histogram.
pub(super) struct Counted<'a> {
    /// Upper ends of the buckets, s. The last bucket has none.
    pub ends_s: &'a [f64],
    /// Counts of each bucket by itself, one more than there are ends.
    pub counts: &'a [u64],
    /// Sum of what was counted, µs.
    pub sum_us: u64,
}

/// Returns the families in the text format of Prometheus, version 0.0.4.
pub(super) fn text_of(mut families: Vec<MetricFamily>) -> String {
    // The format has no family without a metric.
    families.retain(|family| !family.get_metric().is_empty());
    TextEncoder::new().encode_to_string(&families).unwrap_or_else(|error| {
        tracing::error!(%error, "the metrics cannot be written");
        String::new()
    })
}

/// Appends a family of gauges to a text of metrics.
pub fn append_gauges<'a, const N: usize>(
    text: &mut String,
    name: &str,
    help: &str,
    values: impl IntoIterator<Item = (Labels<'a, N>, f64)>,
) {
    text.push_str(&text_of(vec![gauges(name, help, values)]));
}

/// Returns a family of counters.
pub(super) fn counters<'a, const N: usize>(
    name: &str,
    help: &str,
    values: impl IntoIterator<Item = (Labels<'a, N>, f64)>,
) -> MetricFamily {
    let metrics = values.into_iter().map(|(labels, value)| {
        let mut counter = Counter::default();
        counter.set_value(value);
        let mut metric = Metric::from_label(pairs(labels));
        metric.set_counter(counter);
        metric
    });
    family(name, help, MetricType::COUNTER, metrics.collect())
}

/// Returns a family of gauges.
pub(super) fn gauges<'a, const N: usize>(
    name: &str,
    help: &str,
    values: impl IntoIterator<Item = (Labels<'a, N>, f64)>,
) -> MetricFamily {
    let metrics = values.into_iter().map(|(labels, value)| {
        let mut gauge = Gauge::default();
        gauge.set_value(value);
        let mut metric = Metric::from_gauge(gauge);
        metric.set_label(pairs(labels));
        metric
    });
    family(name, help, MetricType::GAUGE, metrics.collect())
}

/// Returns a family of histograms.
pub(super) fn histograms<'a, const N: usize>(
    name: &str,
    help: &str,
    values: impl IntoIterator<Item = (Labels<'a, N>, Counted<'a>)>,
) -> MetricFamily {
    let metrics = values.into_iter().map(|(labels, counted)| {
        let mut metric = Metric::from_label(pairs(labels));
        metric.set_histogram(histogram(&counted));
        metric
    });
    family(name, help, MetricType::HISTOGRAM, metrics.collect())
}

fn histogram(Counted { ends_s, counts, sum_us }: &Counted<'_>) -> Histogram {
    let mut below = 0;
    let buckets = ends_s.iter().zip(*counts).map(|(end_s, count)| {
        below += count;
        let mut bucket = Bucket::default();
        bucket.set_upper_bound(*end_s);
        bucket.set_cumulative_count(below);
        bucket
    });
    let mut histogram = Histogram::default();
    histogram.set_bucket(buckets.collect());
    histogram.set_sample_count(counts.iter().sum());
    histogram.set_sample_sum(*sum_us as f64 / 1e6);
    histogram
}

fn family(name: &str, help: &str, kind: MetricType, metrics: Vec<Metric>) -> MetricFamily {
    let mut family = MetricFamily::default();
    family.set_name(name.to_owned());
    family.set_help(help.to_owned());
    family.set_field_type(kind);
    family.set_metric(metrics);
    family
}

fn pairs<const N: usize>(labels: Labels<'_, N>) -> Vec<LabelPair> {
    let pair = |(name, value): (&str, &str)| {
        let mut pair = LabelPair::default();
        pair.set_name(name.to_owned());
        pair.set_value(value.to_owned());
        pair
    };
    labels.into_iter().map(pair).collect()
}
