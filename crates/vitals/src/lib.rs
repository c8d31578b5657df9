//! Physiology without I/O.

pub mod news2;
