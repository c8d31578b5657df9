//! The simulator's truth against what the library of physiology derives from the uploads: two computations of the same
//! day that share no code.
#![allow(clippy::unwrap_used, reason = "the lint spares tests but not their functions")]

use bracelet::{Cast, Course, DataType, HOUR_MS, Patient, Scenario, SignalRates, SyncBody, Truth, Window};
use jiff::civil::{Date, date};
use serde_json::Value;
use vitals::block::{Block, Cells};
use vitals::cells::{CellsByDay, Day, Kept, activity_cells, beat_cells, motion_cells, stage_cells, temperature_cells};
use vitals::latest::newest_of;
use vitals::merge::in_time_order;
use vitals::registry::{self, Channel, NULL};
use vitals::summary::units::{Celsius, Seconds};
use vitals::summary::{
    DailySummary, DayFacts, DaySource, FactsByDay, Nights, Profile, Section, SectionBody, SleepSection, SummarySettings,
};
use vitals::zone::{LocalClock, LocalDay, ZoneRuns};

const DAY: Date = date(2025, 11, 20);
const TYPES: [DataType; 4] = [DataType::Activity, DataType::RrInterval, DataType::Sleep, DataType::Temperature];

/// Returns the rows of one type between two times, as a service would hold them.
fn rows(patient: &Patient, data_type: DataType, from_ms: i64, to_ms: i64) -> Block {
    let window = Window::new(from_ms, to_ms);
    let body = SyncBody::new(patient, window, &[data_type], &SignalRates::default()).unwrap();
    let registered = registry::DataType::from_name(data_type.name()).unwrap();
    let mut times_us = Vec::new();
    let mut columns: Vec<Vec<i32>> = vec![Vec::new(); registered.columns().len()];
    for sent in body.blocks(data_type) {
        let json = |name: &str| {
            sent.columns.iter().find(|(own, _)| *own == name).map(|(_, column)| serde_json::to_value(column).unwrap())
        };
        let stamps = json("timestamp").unwrap();
        let stamps = stamps.as_array().unwrap();
        times_us.extend(stamps.iter().map(|stamp| stamp.as_i64().unwrap() * 1000));
        for (column, cells) in registered.columns().iter().zip(&mut columns) {
            let cell = |value: &Value| value.as_f64().map_or(NULL, |number| column.cell_from_f64(number).unwrap());
            match json(column.name) {
                Some(Value::Array(values)) => cells.extend(values.iter().map(cell)),
                Some(value) => cells.extend(vec![cell(&value); stamps.len()]),
                None => cells.extend(vec![NULL; stamps.len()]),
            }
        }
    }
    let zones = ZoneRuns::constant(patient.zone_name.as_str().into(), times_us.len());
    let columns = columns.into_iter().map(|cells| Cells::Values(cells).simplified()).collect();
    in_time_order(Block { data_type: registered, channel: Channel::default(), times_us, columns, zones }).block
}

fn put<C: Kept>(day: &mut Day, date: LocalDay, mut cells: CellsByDay<C>) {
    C::of_mut(day).replace(i64::MIN..i64::MAX, cells.remove(&date).unwrap_or_default());
}

/// A patient's local day and the one before it, derived from what the bracelet uploads of them.
struct Derived {
    day: LocalDay,
    clock: LocalClock,
    cells: Day,
    before: Day,
    profile: Profile,
}

impl Derived {
    fn new(patient: &Patient, day: Date, types: &[DataType]) -> Self {
        let day = LocalDay::from_date(day);
        let clock = LocalClock::new(patient.zone_name.as_str());
        let before = LocalDay(day.0 - 1);
        let (from_ms, to_ms) = (before.span_us(&clock).0 / 1000, day.span_us(&clock).1 / 1000);
        let profile = Profile { birthday: Some(patient.person.birthday.parse().unwrap()), ..Profile::default() };
        let mut derived = Derived { day, clock, cells: Day::default(), before: Day::default(), profile };
        for data_type in types {
            let block = rows(patient, *data_type, from_ms, to_ms);
            for (date, cells) in [(day, &mut derived.cells), (before, &mut derived.before)] {
                match data_type {
                    DataType::Activity => put(cells, date, activity_cells(&block, |_| Some(180.0))),
                    DataType::RrInterval => put(cells, date, beat_cells(&block)),
                    DataType::Sleep => put(cells, date, stage_cells(&block)),
                    DataType::Temperature => put(cells, date, temperature_cells(&block)),
                    DataType::Acc => put(cells, date, motion_cells(&block)),
                    other => panic!("{other} is not derived here"),
                }
            }
        }
        derived
    }

    fn with_source<T>(&self, of: impl FnOnce(&DaySource<'_>, &Nights) -> T) -> T {
        let settings = SummarySettings::default();
        let source = DaySource {
            day: self.day,
            slot_count: self.day.slot_count(&self.clock),
            cells: &self.cells,
            before: &self.before,
            profile: &self.profile,
            settings: &settings,
        };
        of(&source, &Nights::of(&source))
    }

    fn summary(&self) -> DailySummary {
        self.with_source(DailySummary::of)
    }

    fn sleep(&self) -> Option<SleepSection> {
        let facts = self.with_source(DayFacts::of);
        SleepSection::of_stages(self.day, &FactsByDay::from([(self.day, facts)]))
    }
}

fn patient(index: u64, scenario: Scenario, onset_ms: i64, zone: &str) -> Patient {
    Patient::new(97, index, scenario, onset_ms, zone).unwrap()
}

fn is_near(name: &str, derived: Option<f64>, truth: Option<f64>, tolerance: f64) {
    match (derived, truth) {
        (Some(derived), Some(truth)) => {
            assert!((derived - truth).abs() <= tolerance, "{name}: {derived} and not {truth}");
        }
        (derived, truth) => assert_eq!(derived.is_some(), truth.is_some(), "{name}: {derived:?} and not {truth:?}"),
    }
}

/// Every figure of a day that the simulator knows, in zones on both sides of UTC and on days of a clock change.
#[test]
fn derived_days_equal_the_truth() {
    for (index, (zone, day)) in [
        ("Europe/Zurich", DAY),
        ("America/St_Johns", DAY),
        ("Asia/Kathmandu", DAY),
        ("Pacific/Auckland", date(2025, 9, 28)),
        ("Europe/Zurich", date(2026, 3, 29)),
        ("America/New_York", date(2026, 11, 1)),
    ]
    .into_iter()
    .enumerate()
    {
        let patient = patient(index as u64, Scenario::Healthy, 0, zone);
        let truth = Truth::new(&patient, day, i64::MAX).unwrap();
        let derived = Derived::new(&patient, day, &TYPES);
        let summary = derived.summary();
        let (activity, heart) = (summary.activity.unwrap(), summary.heart_rate.unwrap());
        let name = |figure: &str| format!("{figure} on {day} in {zone}");
        assert_eq!(activity.total_steps, Some(truth.total_steps as u64), "{}", name("steps"));
        is_near(&name("distance"), activity.distance.map(|metres| metres.0), Some(truth.distance_m), 0.01);
        is_near(&name("energy"), activity.calories.map(|kcal| kcal.0), Some(truth.energy_kcal), 0.01);
        is_near(&name("heart rate"), heart.avg_daily_heart_rate.map(|rate| rate.0), truth.avg_daily_heart_rate, 0.006);
        assert_eq!(heart.max_daily_heart_rate.map(i64::from), truth.max_minute_heart_rate, "{}", name("highest"));
        let slots = derived.cells.activity.cells().iter().filter(|cell| cell.bpm.values.count > 0).count();
        assert_eq!(slots, truth.heart_rate_slots, "{}", name("slots"));
        let breathing = summary.respiration_rate.and_then(|section| section.avg_respiration_rate);
        is_near(&name("respiration"), breathing.map(|rate| rate.0), truth.avg_respiration_rate, 0.006);
        is_near(
            &name("saturation"),
            summary.spo2.and_then(|section| section.avg_spo2).map(|percent| percent.0),
            truth.avg_spo2,
            0.006,
        );
        let rows: u32 = derived.cells.activity.cells().iter().map(|cell| cell.rows).sum();
        assert_eq!(rows as usize, truth.activity_rows, "{}", name("rows"));
    }
}

#[test]
fn derived_nights_equal_the_truth() {
    for index in 0..8 {
        let zone = ["Europe/Zurich", "America/New_York", "Asia/Kathmandu", "Pacific/Auckland"][index % 4];
        let patient = patient(index as u64, Scenario::Healthy, 0, zone);
        let truth = Truth::new(&patient, DAY, i64::MAX).unwrap().sleep;
        let night = Derived::new(&patient, DAY, &TYPES).sleep().unwrap();
        let seconds = |sleep: &SleepSection| {
            let stages = [sleep.light_time, sleep.deep_time, sleep.rem_time].map(Option::unwrap);
            [stages[0], stages[1], stages[2], sleep.sleep_duration, sleep.time_to_sleep, sleep.time_to_wake_up]
        };
        let expected = [
            truth.light_s,
            truth.deep_s,
            truth.rem_s,
            truth.sleep_duration_s,
            truth.time_to_sleep_s,
            truth.time_to_wake_up_s,
        ];
        assert_eq!(seconds(&night), expected.map(Seconds), "patient {index}");
        assert_eq!(night.start_session_original_ph.epoch_ms(), truth.start_ms, "patient {index}");
        assert_eq!(night.stop_session_original_ph.epoch_ms(), truth.end_ms, "patient {index}");
    }
}

/// What is derived is read back from its JSON; the simulator's days hold more than generated ones.
#[test]
fn sections_of_simulated_days_are_read_back() {
    for (index, scenario) in Scenario::ALL.into_iter().enumerate() {
        let patient = patient(index as u64, scenario, 0, "Europe/Zurich");
        let derived = Derived::new(&patient, DAY, &TYPES);
        for (section, json) in derived.summary().bodies() {
            let Some(json) = json else { continue };
            let body = section.read(&json).unwrap();
            assert_eq!(body.to_json().unwrap(), json, "{scenario} {}", section.name());
            assert_eq!(body.date(), derived.day);
        }
        let Some(night) = derived.sleep() else { continue };
        let json = SectionBody::Sleep(night.clone()).to_json().unwrap();
        assert_eq!(Section::Sleep.read(&json).unwrap(), SectionBody::Sleep(night), "{scenario}");
    }
}

#[test]
fn a_bracelet_on_the_table_yields_rows_and_no_vital_signs() {
    for scenario in [Scenario::NotWorn, Scenario::Charging] {
        let patient = patient(3, scenario, 0, "Europe/Zurich");
        let derived = Derived::new(&patient, DAY, &TYPES);
        let summary = derived.summary();
        let heart = summary.heart_rate.unwrap();
        assert_eq!((heart.avg_daily_heart_rate, heart.max_daily_heart_rate), (None, None), "{scenario}");
        assert!(derived.cells.activity.cells().iter().all(|cell| !cell.is_wearing()), "{scenario}");
        assert_eq!(
            summary.temperature.map_or((None, None), |section| (section.avg_temp_sk1, section.avg_temp_sk2)),
            (None, None)
        );
        let newest = newest_of(&rows(&patient, DataType::Activity, 1_763_596_800_000, 1_763_640_000_000), i64::MAX);
        assert!(newest.is_empty(), "{scenario}: {newest:?}");
        assert_eq!(heart.rest_daily_heart_rate, None, "{scenario}");
    }
}

/// Eight hours of deterioration show in every sign that NEWS2 scores, in the direction that the story has.
#[test]
fn deterioration_shows_in_the_latest_values() {
    let onset_ms = 1_763_625_600_000;
    for index in 0..4 {
        let sick = patient(index, Scenario::Deteriorating, onset_ms, "UTC");
        let well = patient(index, Scenario::Healthy, onset_ms, "UTC");
        let newest = |patient: &Patient| {
            let to_ms = onset_ms + 9 * HOUR_MS;
            newest_of(&rows(patient, DataType::Activity, to_ms - HOUR_MS, to_ms), i64::MAX)
        };
        let (sick, well) = (newest(&sick), newest(&well));
        let value = |timed: Option<vitals::latest::Timed>| timed.unwrap().value;
        assert!(value(sick.heart_rate) > value(well.heart_rate) + 10.0, "{index}");
        assert!(value(sick.respiration_rate) > value(well.respiration_rate) + 4.0, "{index}");
        assert!(value(sick.spo2) < value(well.spo2) - 2.0, "{index}");
        assert!(value(sick.temperature) > value(well.temperature) + 0.5, "{index}");
        assert!(value(sick.nibp_systolic) < value(well.nibp_systolic), "{index}");
    }
}

/// The night that the simulator sleeps is calmer than its day, and the skin is warm while it is worn.
#[test]
fn a_derived_day_has_the_rhythm_of_a_life() {
    for index in 0..4 {
        let patient = patient(index, Scenario::Healthy, 0, "Europe/Zurich");
        let derived = Derived::new(&patient, DAY, &TYPES);
        let summary = derived.summary();
        let heart = summary.heart_rate.unwrap();
        let (rest, mean) = (heart.rest_daily_heart_rate.unwrap(), heart.avg_daily_heart_rate.unwrap());
        assert!(rest < mean, "{index}: {rest} {mean}");
        assert!(f64::from(heart.max_daily_heart_rate.unwrap()) > mean.0 + 10.0);
        let night = derived.sleep().unwrap();
        assert!(night.heart_rate.unwrap() < mean, "{index}: the heart is slower asleep");
        let skin = summary.temperature.unwrap().avg_temp_sk1.unwrap();
        assert!(skin > Celsius(30.0) && skin < Celsius(37.0), "{index}: {skin}");
        let total: i64 = [
            heart.rest_time,
            heart.warm_up_time,
            heart.fat_burn_time,
            heart.endurance_time,
            heart.performance_time,
            heart.max_time,
        ]
        .into_iter()
        .map(|time| time.unwrap().0)
        .sum();
        assert_eq!(heart.all_time, Some(Seconds(total)));
    }
}

/// Beats that the simulator draws for a heart rate have that rate, whatever the scenario.
#[test]
fn the_mean_interval_of_a_day_is_that_of_its_heart_rate() {
    for scenario in [Scenario::Healthy, Scenario::AtrialFibrillation] {
        let patient = patient(5, scenario, 0, "UTC");
        let derived = Derived::new(&patient, DAY, &TYPES);
        let day = derived.summary();
        let mut compared = 0;
        for cell in derived.cells.beats.cells().iter().filter(|cell| cell.valid_windows == 1) {
            let mean_ms = cell.measures.0[2].mean().unwrap() / 1000.0;
            // While walking some minutes are poor, and the rest do not represent the window.
            let Some(row) = derived.cells.activity.in_window(cell.place.window()) else { continue };
            if row.steps.sum > 0 || row.bpm.values.count < 5 {
                continue;
            }
            let bpm = row.bpm.values.mean().unwrap();
            assert!((60_000.0 / mean_ms - bpm).abs() < 5.0, "{scenario}: {} and {bpm}", 60_000.0 / mean_ms);
            compared += 1;
        }
        let is_compared = compared > 100 || scenario == Scenario::AtrialFibrillation;
        assert!(is_compared && day.stress_continuous.is_some(), "{scenario}: {compared}");
    }
}

#[test]
fn every_minute_of_a_mixed_fleet_is_one_that_a_body_can_live() {
    for index in 0..12 {
        let scenario = Cast::Mixed.scenario_of(index);
        let patient = patient(index, scenario, 1_763_610_000_000, "Europe/Zurich");
        let course = Course::new(&patient, 1_763_596_800_000, 1_763_683_200_000).unwrap();
        for minute in (0..1440).step_by(7) {
            let minute = course.minute(1_763_596_800_000 / 60_000 + minute);
            assert!((30.0..210.0).contains(&minute.heart_rate), "{scenario}: {minute:?}");
            assert!((5.0..45.0).contains(&minute.respiration_rate), "{scenario}: {minute:?}");
            assert!((75.0..=100.0).contains(&minute.spo2), "{scenario}: {minute:?}");
            assert!((35.0..41.5).contains(&minute.core_temp_c), "{scenario}: {minute:?}");
            assert!(minute.diastolic_mmhg + 10.0 < minute.systolic_mmhg, "{scenario}: {minute:?}");
            assert!((0.0..=100.0).contains(&minute.battery_percent), "{scenario}: {minute:?}");
            assert!(minute.stage.is_none() || minute.steps == 0, "{scenario}: nobody walks asleep: {minute:?}");
        }
    }
}
