//! The fold: from stored rows to cells, daily summaries, latest values and NEWS entries.
//!
//! Each sync leaves marks of what it touched. A worker claims a patient, computes everything that follows from the
//! touched windows as a pure function of the stored rows, and commits it together with the end of the marks it saw.
//! So it does not matter in which order, how often or how finely cut samples arrive, nor how often a fold is begun.

mod beats;
mod days;
mod derive;
mod derived;
mod latest;
mod news;
mod older;
mod patient;
mod plan;
mod prefetched;
mod recompute;
mod sections;
mod source;
mod subject;
#[cfg(test)]
mod tests;
mod waveforms;
mod worker;
#[cfg(test)]
pub(crate) mod worker_tests;

use derive::subject_of;
pub use recompute::{Recomputed, recompute};
pub(crate) use subject::Subject;
pub use subject::{GOAL_SETTING, NEWS_SETTING, RULE_SETTING};
pub(crate) use worker::{Derivations, Derive, RecomputeOlderDays};
