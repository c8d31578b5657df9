//! Patients and courses of one day that these tests share.

use bracelet::{Course, HOUR_MS, Patient, Scenario};

/// 2025-11-20T00:00:00Z
pub const MIDNIGHT_MS: i64 = 1_763_596_800_000;
pub const DAY_MS: i64 = 24 * HOUR_MS;

/// Returns a patient in UTC whose scenario begins at midnight.
pub fn patient(index: u64, scenario: Scenario) -> Patient {
    Patient::new(83, index, scenario, MIDNIGHT_MS, "UTC").unwrap()
}

/// Returns the course of the day after midnight.
pub fn course(patient: &Patient) -> Course<'_> {
    Course::new(patient, MIDNIGHT_MS, MIDNIGHT_MS + DAY_MS).unwrap()
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
