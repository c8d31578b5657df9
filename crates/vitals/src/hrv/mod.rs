//! Heart rate variability from beat-to-beat intervals.
//!
//! Measures and bands are those of the Task Force (Eur Heart J 1996;17:354-381). Which intervals
//! count as normal ([`mod@clean`]) and which five-minute windows are valid ([`mod@windows`]) are **ours**.

pub mod clean;
pub mod frequency;
#[cfg(test)]
mod reference_tests;
pub mod time_domain;
pub mod windows;

pub use clean::{Cleaned, clean};
pub use frequency::{FrequencyDomain, frequency_domain, lomb_bands};
pub use time_domain::{TimeDomain, time_domain};
pub use windows::{DayAverages, Window, day_averages, five_minute_windows, window};
