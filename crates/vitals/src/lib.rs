//! Physiology without I/O.

pub mod af;
pub mod beats;
pub mod hrv;
pub mod news2;
pub mod signal;
pub mod sleep;
pub mod stress_index;
