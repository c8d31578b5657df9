//! Physiology without I/O.

pub mod activity;
pub mod af;
pub mod beats;
pub mod heart;
pub mod hrv;
pub mod news2;
#[cfg(doctest)]
mod readme;
pub mod recovery;
pub mod signal;
pub mod sleep;
pub mod stress_index;
pub mod waveform;
