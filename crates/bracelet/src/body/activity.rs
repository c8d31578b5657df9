//! Rows of the data type `activity`, one per minute.

use super::block::{Block, Window};
use super::column::{Column, round_to};
use crate::bout::Movement;
use crate::course::{Course, Minute};
use crate::night::Stage;
use crate::patient::Patient;
use crate::time::MINUTE_MS;
use crate::wear::{Contact, Wear};

/// Minutes between two readings of the blood pressure.
const PRESSURE_EVERY_MIN: i64 = 30;

/// What the bracelet makes of one minute: measured, rounded, and empty when it was not worn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ActivityRow {
    pub timestamp_ms: i64,
    pub bpm: i64,
    pub bpm_q: i64,
    pub last_steps: i64,
    pub activity_type: i64,
    /// 0.1 m/s.
    pub speed: i64,
    /// Calories (not kilocalories).
    pub energy_exp: i64,
    pub respiration_rate: i64,
    pub resp_q: i64,
    pub spo2: i64,
    pub spo2_q: i64,
    pub wearing: i64,
    pub charging: i64,
    pub battery: i64,
    pub core_temp_c: Option<f64>,
    pub gait_speed_mps: Option<f64>,
    pub gait_asymmetry: Option<f64>,
    pub gait_var: Option<f64>,
    /// Systolic and diastolic, mmHg.
    pub pressure_mmhg: Option<(i64, i64)>,
}

impl ActivityRow {
    /// Returns the row of the minute that begins at `minute * 60 s` after the epoch.
    pub fn new(course: &Course, minute: i64) -> Self {
        let truth = course.minute(minute);
        // Rows are sent off the wrist too, with zeros: a 0 is what must never become a value.
        if truth.wear != Wear::Worn {
            return Self::unworn(&truth);
        }
        let is_loose = truth.contact == Contact::Loose;
        let row = Self::worn(course, &truth);
        if is_loose { row.loosened(&truth) } else { row }
    }

    /// What is measured on the wrist.
    fn worn(course: &Course, truth: &Minute) -> Self {
        let minute = truth.start_ms.div_euclid(MINUTE_MS);
        let [_, heart, respiration, oxygen, systolic, diastolic] = truth.noise;
        let whole = |value: f64| value.round() as i64;
        let quality = quality(truth);
        // Gait is measured while walking and missing otherwise; a zero would drag the average down.
        let is_walking = matches!(truth.movement, Movement::Walk | Movement::Run);
        let while_walking = |value: f64| is_walking.then(|| round_to(value, 2));
        // Patients measure at different minutes, or a fleet would send all its pressures at once.
        let offset = (course.patient().index % PRESSURE_EVERY_MIN.cast_unsigned()).cast_signed();
        let has_pressure = minute.rem_euclid(PRESSURE_EVERY_MIN) == offset;
        Self {
            timestamp_ms: truth.start_ms,
            bpm: whole(truth.heart_rate + 0.7 * heart).clamp(30, 250),
            bpm_q: quality.heart,
            last_steps: i64::from(truth.steps),
            activity_type: truth.movement as i64,
            speed: whole(truth.speed_mps * 10.0).max(0),
            energy_exp: energy_cal(course.patient(), truth),
            respiration_rate: whole(truth.respiration_rate + 0.3 * respiration).clamp(4, 60),
            resp_q: quality.others,
            spo2: whole(truth.spo2 + 0.25 * oxygen).clamp(60, 100),
            spo2_q: quality.others,
            wearing: 4,
            charging: 0,
            battery: whole(truth.battery_percent),
            core_temp_c: Some(round_to(truth.core_temp_c, 2)),
            gait_speed_mps: while_walking(truth.speed_mps),
            gait_asymmetry: while_walking(2.5 + 0.5 * heart.abs()),
            gait_var: while_walking(3.0 + 0.5 * oxygen.abs()),
            pressure_mmhg: has_pressure
                .then(|| (whole(truth.systolic_mmhg + 2.0 * systolic), whole(truth.diastolic_mmhg + 1.5 * diastolic))),
        }
    }

    /// What a loose strap makes of it. The noise of the minute decides, so that the row stays a function of its time.
    fn loosened(self, truth: &Minute) -> Self {
        let [first, second, third, ..] = truth.noise;
        let whole = |value: f64| value.round() as i64;
        Self {
            // Wide of any truth, as light that comes past the strap makes them, but within what a sensor can say.
            bpm: whole(truth.heart_rate + 45.0 * first).clamp(30, 240),
            bpm_q: i64::from(truth.chance < 0.5),
            respiration_rate: whole(truth.respiration_rate + 9.0 * second).clamp(4, 60),
            resp_q: i64::from(truth.chance < 0.3),
            spo2: whole(truth.spo2 - 9.0 - 6.0 * third.abs()).clamp(60, 100),
            spo2_q: i64::from(truth.chance < 0.3),
            wearing: 1,
            // It cools towards the air. The column has no quality: only the unsure wear says that it cannot be trusted.
            core_temp_c: self.core_temp_c.map(|core| round_to(core - 1.2 - 0.4 * first.abs(), 2)),
            pressure_mmhg: None,
            gait_speed_mps: None,
            gait_asymmetry: None,
            gait_var: None,
            ..self
        }
    }

    fn unworn(truth: &Minute) -> Self {
        Self {
            timestamp_ms: truth.start_ms,
            bpm: 0,
            bpm_q: 0,
            last_steps: 0,
            activity_type: 0,
            speed: 0,
            energy_exp: 0,
            respiration_rate: 0,
            resp_q: 0,
            spo2: 0,
            spo2_q: 0,
            wearing: 0,
            charging: i64::from(truth.wear == Wear::Charging),
            battery: truth.battery_percent.round() as i64,
            core_temp_c: None,
            gait_speed_mps: None,
            gait_asymmetry: None,
            gait_var: None,
            pressure_mmhg: None,
        }
    }

    /// Returns whether a service may count the heart rate: worn, a value, and of good quality.
    pub fn has_valid_bpm(&self) -> bool {
        self.wearing >= 1 && self.bpm > 0 && self.bpm_q >= 2
    }
}

/// Qualities 0 to 4: movement spoils the optical signal, and one minute in seventy is bad without a reason.
struct Quality {
    heart: i64,
    others: i64,
}

fn quality(truth: &Minute) -> Quality {
    if truth.chance < 0.015 {
        return Quality { heart: 1, others: 1 };
    }
    let (heart, others) = match truth.movement {
        Movement::Rest => (4, 4),
        Movement::Other => (4, 3),
        Movement::Walk => (3, 1),
        Movement::Run | Movement::Cycle => (2, 1),
    };
    Quality { heart, others }
}

/// Energy of the minute in cal from metabolic equivalents (1 kcal per kg and hour).
fn energy_cal(patient: &Patient, truth: &Minute) -> i64 {
    let is_asleep = truth.stage.is_some_and(|stage| stage != Stage::Awake);
    let equivalents = match truth.movement {
        Movement::Rest if is_asleep => 0.95,
        Movement::Rest => 1.2,
        Movement::Other => 2.0,
        Movement::Walk => 3.3,
        Movement::Cycle => 7.0,
        Movement::Run => 9.5,
    };
    (equivalents * f64::from(patient.person.weight) * 1_000.0 / 60.0).round() as i64
}

/// Returns the rows whose minute begins in the window.
pub(crate) fn rows(course: &Course, window: Window) -> Vec<ActivityRow> {
    // No row and not an empty one: a gap is what a reader sees of a bracelet that has no power.
    minutes(window)
        .filter(|minute| course.contact_at(minute * MINUTE_MS) != Contact::None)
        .map(|minute| ActivityRow::new(course, minute))
        .collect()
}

/// Numbers of the minutes that begin in the window.
pub(crate) fn minutes(window: Window) -> std::ops::Range<i64> {
    let ceil = |at_ms: i64| -(-at_ms).div_euclid(MINUTE_MS);
    ceil(window.from_ms)..ceil(window.to_ms)
}

/// Returns the rows as columns.
pub(super) fn blocks(course: &Course, window: Window) -> Vec<Block> {
    let rows = rows(course, window);
    if rows.is_empty() {
        return Vec::new();
    }
    let integers = |pick: fn(&ActivityRow) -> i64| Column::Integers(rows.iter().map(pick).collect());
    let decimals = |pick: fn(&ActivityRow) -> Option<f64>| Column::OptionalDecimals(rows.iter().map(pick).collect());
    let optional = |pick: fn(&ActivityRow) -> Option<i64>| Column::OptionalIntegers(rows.iter().map(pick).collect());
    vec![Block::of_rows(vec![
        ("timestamp", integers(|row| row.timestamp_ms)),
        ("bpm", integers(|row| row.bpm)),
        ("bpm_q", integers(|row| row.bpm_q)),
        ("last_steps", integers(|row| row.last_steps)),
        ("activity_type", integers(|row| row.activity_type)),
        ("speed", integers(|row| row.speed)),
        ("energy_exp", integers(|row| row.energy_exp)),
        ("respiration_rate", integers(|row| row.respiration_rate)),
        ("resp_q", integers(|row| row.resp_q)),
        ("spo2", integers(|row| row.spo2)),
        ("spo2_q", integers(|row| row.spo2_q)),
        ("wearing", integers(|row| row.wearing)),
        ("charging", integers(|row| row.charging)),
        ("battery", integers(|row| row.battery)),
        ("core_temp", decimals(|row| row.core_temp_c)),
        ("gait_asymmetry", decimals(|row| row.gait_asymmetry)),
        ("gait_speed", decimals(|row| row.gait_speed_mps)),
        ("gait_var", decimals(|row| row.gait_var)),
        ("nibp_systolic_combine", optional(|row| row.pressure_mmhg.map(|(systolic, _)| systolic))),
        ("nibp_diastolic_combine", optional(|row| row.pressure_mmhg.map(|(_, diastolic)| diastolic))),
    ])]
}
