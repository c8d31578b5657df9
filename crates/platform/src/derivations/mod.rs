//! Derivations at work: from what a patient's syncs have touched to everything that follows from it.
//!
//! Each sync leaves an event that names what it touched. A worker claims a patient, runs the list of derivations
//! (`vitals::derivation`) over the touched windows as a pure function of what is stored, and commits what has changed
//! together with the end of the marks it saw. So it does not matter in which order, how often or how finely cut samples
//! arrive, nor how often a derivation is begun.

mod ahead;
mod derive;
mod plan;
mod reader;
mod recompute;
#[cfg(test)]
mod tests;
mod values;
mod versions;
mod worker;
#[cfg(test)]
pub(crate) mod worker_tests;

use derive::subject_of;
pub use recompute::{Recomputed, recompute};
pub(crate) use worker::{Derivations, Derive, DeriveAgain};
