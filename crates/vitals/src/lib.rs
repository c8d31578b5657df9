//! Vital signs without I/O: what a bracelet's samples are, and what a patient's day is made of.
//!
//! Everything here is a function of its arguments. There is no clock, no file, no network, no SQL and no async, so
//! the crate can be used alone as a library of physiology.
//!
//! The way of the data through the modules: [`registry`] says which data types and columns exist; [`block`] holds
//! samples of one channel in columns; [`merge`] settles what happens when samples come twice; [`zone`] gives local
//! days; [`cells`] gathers all facts of five minutes; [`summary`] makes a day of them; [`latest`] picks the newest
//! valid values and [`news_timeline`] scores them.

pub mod activity;
pub mod af;
pub mod alarms;
#[cfg(test)]
mod any_rows;
pub mod beats;
pub mod block;
#[cfg(test)]
mod block_tests;
pub mod bracelet;
#[cfg(test)]
mod bracelet_tests;
pub mod cells;
pub mod content_hash;
pub mod derivation;
pub mod heart;
#[cfg(test)]
mod heart_tests;
pub mod hrv;
pub mod instant;
pub mod intake;
#[cfg(test)]
mod intake_tests;
pub mod latest;
#[cfg(test)]
mod latest_tests;
pub mod measured;
pub mod memory;
pub mod merge;
pub mod news2;
pub mod news_timeline;
#[cfg(doctest)]
mod readme;
pub mod recovery;
#[cfg(test)]
mod recovery_tests;
pub mod registry;
pub mod sample_time;
pub mod signal;
pub mod sleep;
pub mod stress_index;
pub mod summary;
pub mod text;
pub mod vital_rows;
pub mod waveform;
pub mod zone;
#[cfg(test)]
mod zone_tests;
