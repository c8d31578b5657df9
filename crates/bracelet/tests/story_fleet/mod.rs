//! Fleets with stories, and the rows that they send.
#![allow(dead_code, reason = "each test takes what it needs")]

use bracelet::{
    Course, DataType, KnownPatient, MINUTE_MS, Minute, Patient, Presence, SignalRates, Story, StoryPlan, SyncBody,
    Window, cast, patient_lines, run_line,
};
use serde_json::{Map, Value};

/// 2025-11-20T12:00:00Z
pub const NOW_MS: i64 = 1_763_640_000_000;
const SEED: u64 = 7;

pub fn plan(request: &str, days: u32) -> StoryPlan {
    StoryPlan::new(request.parse().unwrap(), NOW_MS, days, Presence::History)
}

pub fn fleet(request: &str, patients: u64, days: u32) -> Vec<Patient> {
    fleet_of(request, patients, days, SEED)
}

pub fn fleet_of(request: &str, patients: u64, days: u32, seed: u64) -> Vec<Patient> {
    let zone = "Europe/Zurich";
    let mut fleet: Vec<Patient> =
        (0..patients).map(|index| Patient::of_population(seed, index, zone).unwrap()).collect();
    cast(&mut fleet, &plan(request, days), seed).unwrap();
    fleet
}

pub fn known(patient: &Patient) -> KnownPatient<'_> {
    KnownPatient { patient, uuid: "a uuid" }
}

/// The whole truth as text.
pub fn lines(patients: &[Patient], request: &str, days: u32) -> String {
    let plan = plan(request, days);
    let mut lines = vec![run_line(&plan, SEED, patients.len() as u64)];
    lines.extend(patients.iter().flat_map(|patient| patient_lines(known(patient), &plan).unwrap()));
    lines.iter().map(|line| format!("{line}\n")).collect::<Vec<String>>().concat()
}

/// The true minutes of a story.
pub fn minutes_of(patient: &Patient, story: &Story) -> Vec<Minute> {
    let course = Course::new(patient, story.start_ms(), story.end_ms()).unwrap();
    (story.start_ms() / MINUTE_MS..story.end_ms() / MINUTE_MS).map(|number| course.minute(number)).collect()
}

/// The rows of `activity` in a window, as they are sent.
pub fn rows(patient: &Patient, window: Window) -> Vec<Value> {
    let body = SyncBody::new(patient, window, &[DataType::Activity], &SignalRates::default()).unwrap();
    let mut rows: Vec<Map<String, Value>> = Vec::new();
    for block in body.blocks(DataType::Activity) {
        let columns = serde_json::to_value(block).unwrap();
        for (name, cells) in columns.as_object().unwrap() {
            let cells = cells.as_array().unwrap();
            rows.resize(cells.len(), Map::new());
            for (row, cell) in rows.iter_mut().zip(cells) {
                row.insert(name.clone(), cell.clone());
            }
        }
    }
    rows.into_iter().map(Value::Object).collect()
}

pub fn cell(row: &Value, name: &str) -> i64 {
    row[name].as_i64().unwrap_or_else(|| panic!("{name} of {row}"))
}
