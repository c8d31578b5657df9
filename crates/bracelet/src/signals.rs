//! One file per signal: what a sensor makes of a patient's [`Course`](crate::Course).

pub mod acc;
pub mod bioz;
pub(crate) mod blood_pressure;
pub mod cycles;
pub mod ecg;
pub mod eda;
pub mod gyro;
pub(crate) mod heart_rate;
pub mod hrv;
pub mod ppg;
pub(crate) mod respiration;
pub mod rr;
pub(crate) mod spo2;
pub(crate) mod temperature;

/// Returns the part of a day's rhythm at `hour` (local): 1 at `peak_hour`, -1 twelve hours away from it.
pub(crate) fn circadian(hour: f64, peak_hour: f64) -> f64 {
    ((hour - peak_hour) / 24.0 * std::f64::consts::TAU).cos()
}
