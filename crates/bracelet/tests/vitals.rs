//! The service's own library of physiology looks at the simulated data: nothing is rejected, and it finds what is there.
#![allow(clippy::unwrap_used)]

use bracelet::signals::hrv::hrv_rows;
use bracelet::signals::rr::rr_intervals;
use bracelet::{Course, DataType, HOUR_MS, Patient, Scenario, SignalRates, SyncBody, Window};
use serde_json::Value;
use vitals::af::{Classification, classify_by_hour};
use vitals::beats::Beat;
use vitals::hrv::five_minute_windows;
use vitals::registry;

/// 2025-11-20T00:00:00Z
const MIDNIGHT_MS: i64 = 1_763_596_800_000;
const DAY_MS: i64 = 24 * HOUR_MS;

fn patient(index: u64, scenario: Scenario) -> Patient {
    Patient::new(31, index, scenario, MIDNIGHT_MS, "Europe/Zurich").unwrap()
}

/// Returns why the registry would reject this cell.
fn fault(column: &registry::Column, cell: &Value) -> Option<String> {
    let outcome = match cell {
        Value::Null if column.nullable => return None,
        Value::Null => return Some("null".to_owned()),
        Value::String(text) if column.is_text() => {
            return text.is_empty().then(|| "empty".to_owned());
        }
        Value::String(text) => column.cell_from_text(text),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => column.cell_from_i64(whole),
            None => column.cell_from_f64(number.as_f64().unwrap()),
        },
        other => return Some(format!("not a cell: {other}")),
    };
    outcome.err().map(|error| error.to_string())
}

#[test]
fn the_registry_knows_every_column_and_takes_every_cell() {
    for (index, scenario) in Scenario::ALL.into_iter().enumerate() {
        let patient = patient(index as u64, scenario);
        for data_type in DataType::ALL {
            let hours = if data_type.is_waveform() { 13..13 } else { 0..24 };
            let from_ms = MIDNIGHT_MS + hours.start * HOUR_MS;
            let to_ms = (MIDNIGHT_MS + hours.end * HOUR_MS).max(from_ms + 60_000);
            let window = Window::new(from_ms, to_ms);
            let rates = SignalRates::default();
            let body = SyncBody::new(&patient, window, &[data_type], &rates).unwrap();
            let registered = registry::DataType::from_name(data_type.name()).unwrap();
            for block in body.blocks(data_type) {
                for (name, column) in &block.columns {
                    let json = serde_json::to_value(column).unwrap();
                    if *name == "timestamp" {
                        continue;
                    }
                    let known = registered.column(name).unwrap_or_else(|| panic!("{data_type} {name}"));
                    let cells = json.as_array().cloned().unwrap_or_else(|| vec![json]);
                    for cell in &cells {
                        assert_eq!(fault(known, cell), None, "{scenario} {data_type} {name} {cell}");
                    }
                }
            }
        }
    }
}

fn beats(course: &Course) -> Vec<Beat> {
    rr_intervals(course, MIDNIGHT_MS, MIDNIGHT_MS + DAY_MS)
        .into_iter()
        .map(|row| Beat { time_ms: row.timestamp_ms, rr_ms: row.rr_ms as f64, good: row.quality >= 2 })
        .collect()
}

/// Shares of windows classified as fibrillation and as sinus rhythm over a day.
fn shares(scenario: Scenario, index: u64) -> (f64, f64) {
    let patient = patient(index, scenario);
    let course = Course::new(&patient, MIDNIGHT_MS, MIDNIGHT_MS + DAY_MS).unwrap();
    let windows = classify_by_hour(&beats(&course));
    assert!(windows.len() > 1_000);
    let share = |class| {
        let count = windows.iter().filter(|window| window.classification == class).count();
        count as f64 / windows.len() as f64
    };
    (share(Classification::Af), share(Classification::Nsr))
}

#[test]
fn the_classifier_finds_fibrillation_where_it_is_and_nowhere_else() {
    for index in 0..4 {
        let (fibrillation, _) = shares(Scenario::AtrialFibrillation, index);
        assert!(fibrillation > 0.95, "{index}: {fibrillation}");
        for scenario in [Scenario::Healthy, Scenario::Deteriorating] {
            let (false_alarms, sinus) = shares(scenario, index);
            assert!(false_alarms < 0.002 && sinus > 0.98, "{scenario} {index}: {false_alarms} {sinus}");
        }
    }
}

#[test]
fn the_device_and_the_service_agree_about_variability() {
    for index in 0..4 {
        let patient = patient(index, Scenario::Healthy);
        let course = Course::new(&patient, MIDNIGHT_MS, MIDNIGHT_MS + DAY_MS).unwrap();
        let windows = five_minute_windows(&beats(&course));
        let rows = hrv_rows(&course, MIDNIGHT_MS, MIDNIGHT_MS + DAY_MS);
        let mut compared = 0;
        for row in &rows {
            let start_ms = row.timestamp_ms - 300_000;
            let Some(window) = windows.iter().find(|window| window.start_ms == start_ms) else {
                continue;
            };
            // The last beat of the five minutes belongs to the service's next window, and it sees whole milliseconds.
            assert!((row.mrr_ms / window.time.mean_rr_ms - 1.0).abs() < 0.005, "{row:?} {window:?}");
            assert!((row.rmssd_ms - window.time.rmssd_ms).abs() < 1.0, "{row:?} {window:?}");
            assert!((row.sdnn_ms / window.time.sdnn_ms - 1.0).abs() < 0.05, "{row:?} {window:?}");
            compared += 1;
        }
        assert!(compared > 250, "{compared} of {} and {}", rows.len(), windows.len());
    }
}
