//! Blocks of the data types that have a timestamp per row: beats, variability, sleep, temperature, spot tests.

use super::activity::minutes;
use super::block::{Block, Window};
use super::column::{Column, round_to};
use crate::course::Course;
use crate::night::{EPOCH_MS, Stage};
use crate::signals::hrv::{HrvRow, hrv_rows};
use crate::signals::rr::rr_intervals;
use crate::time::MINUTE_MS;
use crate::wear::{Contact, Wear};

/// `rr-interval`: one row per beat.
pub(super) fn rr_interval(course: &Course, window: Window) -> Vec<Block> {
    let rows = rr_intervals(course, window.from_ms, window.to_ms);
    let integers = |values: Vec<i64>| Column::Integers(values);
    Block::unless_empty(vec![
        ("timestamp", integers(rows.iter().map(|row| row.timestamp_ms).collect())),
        ("rr", integers(rows.iter().map(|row| row.rr_ms).collect())),
        ("quality", integers(rows.iter().map(|row| i64::from(row.quality)).collect())),
    ])
}

/// `heart-rate-variability`: one row per five minutes.
pub(super) fn heart_rate_variability(course: &Course, window: Window) -> Vec<Block> {
    let rows = hrv_rows(course, window.from_ms, window.to_ms);
    let decimals = |pick: fn(&HrvRow) -> f64| Column::Decimals(rows.iter().map(|row| round_to(pick(row), 2)).collect());
    let share = |band: usize| {
        let percent = |row: &HrvRow| {
            let total: f64 = row.bands_ms2.iter().sum();
            round_to(100.0 * row.bands_ms2[band] / total.max(f64::MIN_POSITIVE), 2)
        };
        Column::Decimals(rows.iter().map(percent).collect())
    };
    Block::unless_empty(vec![
        ("timestamp", Column::Integers(rows.iter().map(|row| row.timestamp_ms).collect())),
        ("si", decimals(|row| row.si)),
        ("si_n", decimals(|row| row.si.sqrt())),
        ("mrr", decimals(|row| row.mrr_ms)),
        ("sdnn", decimals(|row| row.sdnn_ms)),
        ("rmssd", decimals(|row| row.rmssd_ms)),
        ("pnn50", decimals(|row| row.pnn50_percent)),
        ("vlf", decimals(|row| row.bands_ms2[0])),
        ("vlf_percent", share(0)),
        ("lf", decimals(|row| row.bands_ms2[1])),
        ("lf_percent", share(1)),
        ("hf", decimals(|row| row.bands_ms2[2])),
        ("hf_percent", share(2)),
        ("hrv", decimals(|row| row.rmssd_ms)),
        ("mo", Column::Decimals(rows.iter().map(|row| round_to(row.mo_s, 3)).collect())),
        ("amo", decimals(|row| row.amo_percent)),
    ])
}

/// Returns the epochs of sleep that a worn bracelet saw in the window: begin (Unix ms) and stage.
pub(crate) fn sleep_epochs(course: &Course, window: Window) -> Vec<(i64, Stage)> {
    let first = -(-window.from_ms).div_euclid(EPOCH_MS);
    let last = -(-window.to_ms).div_euclid(EPOCH_MS);
    (first..last)
        .map(|epoch| epoch * EPOCH_MS)
        .filter(|at_ms| is_worn(course, *at_ms))
        .filter_map(|at_ms| Some((at_ms, course.sleep_at(at_ms)?.0)))
        .collect()
}

/// Returns whether the bracelet is worn in the minute of `at_ms`; every data type decides this by whole minutes.
pub(super) fn is_worn(course: &Course, at_ms: i64) -> bool {
    course.wear_at(at_ms.div_euclid(MINUTE_MS) * MINUTE_MS) == Wear::Worn
}

/// `sleep`: one row per 30 s of the night.
pub(super) fn sleep(course: &Course, window: Window) -> Vec<Block> {
    let epochs = sleep_epochs(course, window);
    Block::unless_empty(vec![
        ("timestamp", Column::Integers(epochs.iter().map(|(at_ms, _)| *at_ms).collect())),
        ("sleep_state", Column::Integers(epochs.iter().map(|(_, stage)| *stage as i64).collect())),
        ("quality", Column::Constant(4)),
    ])
}

/// `temperature`: one row per minute; a sensor that touches no skin has no skin temperature.
pub(super) fn temperature(course: &Course, window: Window) -> Vec<Block> {
    let truths = minutes(window).map(|minute| course.minute(minute)).filter(|truth| truth.contact != Contact::None);
    let truths: Vec<_> = truths.collect();
    let skin = |sensor: usize| {
        let measured = truths.iter().map(|truth| {
            let value = truth.skin_temp_c[sensor] + 0.02 * truth.noise[sensor + 1];
            // A loose sensor measures the air as much as the skin, and there is no column that says so.
            let value = if truth.contact == Contact::Loose { 0.4 * value + 0.6 * truth.ambient_temp_c } else { value };
            (truth.wear == Wear::Worn).then(|| round_to(value, 2))
        });
        Column::OptionalDecimals(measured.collect())
    };
    Block::unless_empty(vec![
        ("timestamp", Column::Integers(truths.iter().map(|truth| truth.start_ms).collect())),
        ("temp_sk1", skin(0)),
        ("temp_sk2", skin(1)),
        ("temp_amb", Column::Decimals(truths.iter().map(|truth| round_to(truth.ambient_temp_c, 2)).collect())),
    ])
}

/// A spot measurement: time, `test_type`, value, unit.
type SpotTest = (i64, &'static str, f64, &'static str);

/// `tests`: pressure, weight and temperature in the morning, temperature in the evening.
pub(super) fn tests(course: &Course, window: Window) -> Vec<Block> {
    let weight_kg = f64::from(course.patient().person.weight);
    let mut rows: Vec<SpotTest> = Vec::new();
    for day in course.days() {
        let morning_ms = day.charge_end_ms + 5 * MINUTE_MS;
        if is_due(course, window, morning_ms) {
            let truth = course.minute(morning_ms / MINUTE_MS);
            rows.extend([
                (morning_ms, "blood_pressure_systolic", truth.systolic_mmhg.round(), "mmHg"),
                (morning_ms, "blood_pressure_diastolic", truth.diastolic_mmhg.round(), "mmHg"),
                (morning_ms, "temperature", round_to(truth.core_temp_c, 1), "°C"),
                (morning_ms, "weight", round_to(weight_kg + 0.4 * truth.noise[5], 1), "kg"),
            ]);
        }
        let evening_ms = day.bed_ms - 30 * MINUTE_MS;
        if is_due(course, window, evening_ms) {
            let truth = course.minute(evening_ms / MINUTE_MS);
            rows.push((evening_ms, "temperature", round_to(truth.core_temp_c, 1), "°C"));
        }
    }
    Block::unless_empty(vec![
        ("timestamp", Column::Integers(rows.iter().map(|row| row.0).collect())),
        ("test_type", Column::Words(rows.iter().map(|row| row.1).collect())),
        ("value", Column::Decimals(rows.iter().map(|row| row.2).collect())),
        ("unit", Column::Words(rows.iter().map(|row| row.3).collect())),
        ("quality", Column::Constant(4)),
    ])
}

/// Returns whether the patient measures at `at_ms`: in the window, and with the bracelet at hand.
fn is_due(course: &Course, window: Window, at_ms: i64) -> bool {
    (window.from_ms..window.to_ms).contains(&at_ms) && is_worn(course, at_ms)
}
