//! How often derivations were computed on this node, and in which time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use vitals::derivation::{DERIVATIONS, Derivation};

/// Counts of computations of each derivation, and their time, µs. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct DerivationCounts(Arc<[(AtomicU64, AtomicU64)]>);

impl Default for DerivationCounts {
    fn default() -> Self {
        DerivationCounts(DERIVATIONS.iter().map(|_| Default::default()).collect())
    }
}

impl DerivationCounts {
    /// Adds the time of a derivation, and how many computations were done in it.
    pub fn add(&self, computed: &Derivation, time: Duration, computations: u64) {
        let of_it = DERIVATIONS.iter().zip(&*self.0).find(|(derivation, _)| derivation.id == computed.id);
        if let Some((_, (count, time_us))) = of_it {
            count.fetch_add(computations, Ordering::Relaxed);
            time_us.fetch_add(time.as_micros() as u64, Ordering::Relaxed);
        }
    }

    /// Returns the id of each derivation, how often it was computed and in which time, µs.
    pub fn all(&self) -> Vec<(&'static str, u64, u64)> {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let of_each = DERIVATIONS.iter().zip(&*self.0);
        of_each.map(|(derivation, (count, time_us))| (derivation.id, read(count), read(time_us))).collect()
    }
}
