//! NEWS2, the National Early Warning Score of the Royal College of Physicians (2017).
//!
//! [`bands`] holds the published table, one function per parameter. [`evaluation`] puts five
//! measurements of different ages together. The table is published; what happens with missing,
//! poor and old measurements is **ours**: a partial sum is never given out as a total.

pub mod bands;
pub mod evaluation;
#[cfg(test)]
mod table_tests;
mod terms;

pub use bands::{
    risk, score_consciousness, score_oxygen, score_pulse, score_respiration, score_spo2, score_systolic,
    score_temperature,
};
pub use evaluation::{
    AGE_LIMIT_MS, Availability, Evaluation, Measurement, Measurements, PRESSURE_AGE_LIMIT_MS, Parameter, Part, evaluate,
};
pub use terms::{Consciousness, Risk, Settings, Spo2Bands, Spo2Scale};
