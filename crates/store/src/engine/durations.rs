//! Histogram of durations that any number of threads add to.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper ends of the buckets, µs. One more bucket has no end.
pub const BUCKETS_US: [u64; 8] = [100, 500, 2_500, 10_000, 50_000, 250_000, 1_000_000, 10_000_000];

/// A histogram that is added to.
#[derive(Debug, Default)]
pub(super) struct Durations {
    buckets: [AtomicU64; BUCKETS_US.len() + 1],
    sum_us: AtomicU64,
}

/// What a histogram holds at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DurationCounts {
    /// Durations in each bucket of [`BUCKETS_US`], and those above them all.
    pub buckets: [u64; BUCKETS_US.len() + 1],
    /// All durations together, µs.
    pub sum_us: u64,
}

impl Durations {
    /// Adds one.
    pub fn add(&self, took: Duration) {
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BUCKETS_US.iter().position(|end| took_us <= *end).unwrap_or(BUCKETS_US.len());
        // Nobody reads the counts in step with one another; only each has to be right.
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum_us.fetch_add(took_us, Ordering::Relaxed);
    }

    pub fn counts(&self) -> DurationCounts {
        let buckets = self.buckets.each_ref().map(|count| count.load(Ordering::Relaxed));
        DurationCounts { buckets, sum_us: self.sum_us.load(Ordering::Relaxed) }
    }
}

impl DurationCounts {
    /// Returns how many durations there are.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}
