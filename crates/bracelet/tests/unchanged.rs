//! Without a story a bracelet sends what it sent before there were any, byte for byte.
#![allow(clippy::unwrap_used)]

use bracelet::{DataType, HOUR_MS, Patient, Scenario, SignalRates, SyncBody, Window};

/// 2025-11-20T00:00:00Z
const MIDNIGHT_MS: i64 = 1_763_596_800_000;

/// FNV-1a.
fn digest(bytes: &[u8], digest: u64) -> u64 {
    bytes.iter().fold(digest, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn fleets_without_stories_send_the_bytes_that_they_always_sent() {
    let rates = SignalRates::default();
    let mut sum = 0xcbf2_9ce4_8422_2325;
    for (index, scenario) in Scenario::ALL.into_iter().enumerate() {
        let onset_ms = MIDNIGHT_MS + 12 * HOUR_MS;
        let patient = Patient::new(1, index as u64, scenario, onset_ms, "Europe/Zurich").unwrap();
        let day = Window::new(MIDNIGHT_MS, MIDNIGHT_MS + 24 * HOUR_MS);
        let body = SyncBody::new(&patient, day, &DataType::VITALS, &rates).unwrap();
        sum = digest(&body.to_json().unwrap(), sum);
        let two_minutes = Window::new(MIDNIGHT_MS + 13 * HOUR_MS, MIDNIGHT_MS + 13 * HOUR_MS + 120_000);
        let body = SyncBody::new(&patient, two_minutes, &DataType::ALL, &rates).unwrap();
        sum = digest(&body.to_json().unwrap(), sum);
    }
    // Taken from the commit before the first story. A change here changes every fleet that somebody has made by its seed.
    assert_eq!(format!("{sum:016x}"), "8c336adabe758c57");
}
