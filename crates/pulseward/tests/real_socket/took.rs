//! How long answers took, as the figures that `docs/failures.md` quotes.

use std::fmt;
use std::time::{Duration, Instant};

/// Times of some requests of one kind.
#[derive(Clone, Debug, Default)]
pub struct Took(Vec<Duration>);

impl Took {
    /// Adds a request that was begun then and is answered now.
    pub fn add(&mut self, begun: Instant) {
        self.0.push(begun.elapsed());
    }

    /// Adds those of another list.
    pub fn extend(&mut self, other: &Took) {
        self.0.extend(&other.0);
    }

    /// How many there were.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The longest time; zero of none.
    pub fn slowest(&self) -> Duration {
        self.0.iter().max().copied().unwrap_or_default()
    }

    /// The time within which 95 of 100 were answered; zero of none.
    pub fn p95(&self) -> Duration {
        self.within(95)
    }

    /// The time within which 99 of 100 were answered; zero of none.
    pub fn p99(&self) -> Duration {
        self.within(99)
    }

    fn within(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        // Of a few it is the longest.
        let place = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
        sorted.get(place).copied().unwrap_or_default()
    }
}

impl fmt::Display for Took {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (p99, slowest) = (self.p99().as_millis(), self.slowest().as_millis());
        write!(formatter, "p99 {p99} ms, slowest {slowest} ms of {}", self.count())
    }
}
