//! Derivations at work: from what a patient's syncs have touched to everything that follows from it.
//!
//! Each sync leaves an event that names what it touched. A worker claims a patient, runs the list of derivations
//! (`vitals::derivation`) over the touched windows as a pure function of what is stored, and commits what has changed
//! together with the end of the marks it saw. So it does not matter in which order, how often or how finely cut samples
//! arrive, nor how often a derivation is begun.

mod ahead;
mod counts;
mod derive;
#[cfg(test)]
mod event_tests;
mod events;
mod plan;
mod presence;
mod reader;
mod recompute;
#[cfg(test)]
mod tests;
pub(crate) mod turns;
mod values;
mod versions;
pub(crate) mod worker;

pub use recompute::Recomputed;
