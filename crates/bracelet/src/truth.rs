//! The daily figures that a patient's uploads must lead to.
//!
//! They are computed from the rows as measured, by the service's published definitions, but by a plain walk over the
//! minutes that shares no code with the service.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::Serialize;

use crate::body::Window;
use crate::body::activity::{self, ActivityRow};
use crate::body::rows::sleep_epochs;
use crate::course::Course;
use crate::day::DayPlan;
use crate::error::BraceletError;
use crate::night::{EPOCH_MS, Stage};
use crate::patient::Patient;
use crate::signals::rr::BLOCK_MS;

/// What is true of one patient on one local day. Averages are none when nothing was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Truth {
    /// Begin of the local day, Unix ms.
    pub start_ms: i64,
    /// Its end, or where the data end, Unix ms.
    pub end_ms: i64,
    /// Rows of `activity`.
    pub activity_rows: usize,
    /// Minutes on the wrist.
    pub worn_minutes: usize,
    /// Mean over five-minute slots of the mean of their valid heart rates, per minute.
    pub avg_daily_heart_rate: Option<f64>,
    /// Highest valid heart rate of a minute.
    pub max_minute_heart_rate: Option<i64>,
    /// Five-minute slots with a valid heart rate.
    pub heart_rate_slots: usize,
    /// Steps.
    pub total_steps: i64,
    /// Metres, from speed.
    pub distance_m: f64,
    /// Kilocalories as uploaded.
    pub energy_kcal: f64,
    /// Mean over five-minute slots of good respiration rates, per minute.
    pub avg_respiration_rate: Option<f64>,
    /// Mean over five-minute slots of good saturations, %.
    pub avg_spo2: Option<f64>,
    /// Mean of the readings, mmHg.
    pub avg_systolic_mmhg: Option<f64>,
    /// Mean of the readings, mmHg.
    pub avg_diastolic_mmhg: Option<f64>,
    /// The night that ended in the morning of the day.
    pub sleep: SleepTruth,
}

/// Seconds of one night.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SleepTruth {
    /// First epoch, Unix ms; 0 without a night.
    pub start_ms: i64,
    /// End of the last epoch, Unix ms; 0 without a night.
    pub end_ms: i64,
    /// Awake in bed.
    pub awake_s: i64,
    /// Light sleep.
    pub light_s: i64,
    /// Deep sleep.
    pub deep_s: i64,
    /// REM sleep.
    pub rem_s: i64,
    /// Light, deep and REM sleep together.
    pub sleep_duration_s: i64,
    /// From going to bed to the first sleep.
    pub time_to_sleep_s: i64,
    /// From the last sleep to the end.
    pub time_to_wake_up_s: i64,
}

impl Truth {
    /// Returns the truth of a local date, as far as data exist before `until_ms` (`i64::MAX` for all of it).
    pub fn new(patient: &Patient, date: Date, until_ms: i64) -> Result<Self, BraceletError> {
        let plan = DayPlan::new(patient, date)?;
        let window = Window::new(plan.start_ms, plan.end_ms.min(until_ms));
        let course = Course::new(patient, plan.start_ms, plan.end_ms)?;
        let rows = activity::rows(&course, window);
        // The night may begin on the eve: it is taken whole, unlike the rows of the day.
        let night = Window::new(plan.night.start_ms, plan.night.end_ms().min(until_ms));
        let bpm = slot_means(&rows, |row| row.has_valid_bpm().then_some(row.bpm));
        let respiration = slot_means(&rows, |row| (row.resp_q >= 2).then_some(row.respiration_rate));
        // Quality alone is asked here: rows off the wrist have quality 0.
        let spo2 = slot_means(&rows, |row| (row.spo2_q >= 2).then_some(row.spo2));
        let pressures: Vec<(i64, i64)> = rows.iter().filter_map(|row| row.pressure_mmhg).collect();
        Ok(Self {
            start_ms: window.from_ms,
            end_ms: window.to_ms,
            activity_rows: rows.len(),
            worn_minutes: rows.iter().filter(|row| row.wearing >= 1).count(),
            avg_daily_heart_rate: mean(bpm.iter().copied()),
            max_minute_heart_rate: rows.iter().filter(|row| row.has_valid_bpm()).map(|row| row.bpm).max(),
            heart_rate_slots: bpm.len(),
            total_steps: rows.iter().map(|row| row.last_steps).sum(),
            distance_m: rows.iter().map(|row| row.speed as f64 / 10.0 * 60.0).sum(),
            energy_kcal: rows.iter().map(|row| row.energy_exp as f64 / 1_000.0).sum(),
            avg_respiration_rate: mean(respiration.iter().copied()),
            avg_spo2: mean(spo2.iter().copied()),
            avg_systolic_mmhg: mean(pressures.iter().map(|(systolic, _)| *systolic as f64)),
            avg_diastolic_mmhg: mean(pressures.iter().map(|(_, diastolic)| *diastolic as f64)),
            sleep: SleepTruth::of(&sleep_epochs(&course, night)),
        })
    }
}

impl SleepTruth {
    /// Sums the epochs (begin in Unix ms, stage) of one night.
    fn of(epochs: &[(i64, Stage)]) -> Self {
        let (Some((start_ms, _)), Some((last_ms, _))) = (epochs.first(), epochs.last()) else {
            return Self::default();
        };
        let end_ms = last_ms + EPOCH_MS;
        let seconds = |stage| {
            let count = epochs.iter().filter(|(_, own)| *own == stage).count();
            count as i64 * EPOCH_MS / 1_000
        };
        let asleep = || epochs.iter().filter(|(_, stage)| *stage != Stage::Awake);
        let first_sleep_ms = asleep().next().map_or(end_ms, |(at_ms, _)| *at_ms);
        let last_sleep_ms = asleep().next_back().map_or(*start_ms, |(at_ms, _)| at_ms + EPOCH_MS);
        let (light_s, deep_s, rem_s) = (seconds(Stage::Light), seconds(Stage::Deep), seconds(Stage::Rem));
        Self {
            start_ms: *start_ms,
            end_ms,
            awake_s: seconds(Stage::Awake),
            light_s,
            deep_s,
            rem_s,
            sleep_duration_s: light_s + deep_s + rem_s,
            time_to_sleep_s: (first_sleep_ms - start_ms) / 1_000,
            time_to_wake_up_s: (end_ms - last_sleep_ms) / 1_000,
        }
    }
}

/// Returns the mean of the picked values of each five-minute slot that has one.
fn slot_means(rows: &[ActivityRow], pick: impl Fn(&ActivityRow) -> Option<i64>) -> Vec<f64> {
    let mut slots: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for row in rows {
        if let Some(value) = pick(row) {
            let slot = row.timestamp_ms.div_euclid(BLOCK_MS);
            slots.entry(slot).or_default().push(value as f64);
        }
    }
    slots.into_values().filter_map(|values| mean(values.into_iter())).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0_usize);
    for value in values {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / count as f64)
}
