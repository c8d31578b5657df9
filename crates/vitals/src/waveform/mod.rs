//! What raw waveforms show: R peaks, pulses, breaths. Library functions for checks and fallbacks;
//! nothing here feeds NEWS2, and SpO2 and blood pressure are not derived from PPG at all, since
//! that needs the device's calibration.

mod blocks;
pub mod ecg;
pub mod ppg;
pub mod respiration;
#[cfg(test)]
mod synthetic_tests;

pub use ecg::find_r_peaks;
pub use ppg::{Pulse, find_pulses, pulse_rate};
pub use respiration::{Respiration, respiration_rate};
