use jiff::civil::Date;

use super::slots_json::{DaySlots, write_day};
use super::units::{Kilocalories, Metres, MetresPerSecond, MmHg, Percent, Seconds};
use super::*;
use crate::activity::Sex;
use crate::block::{Block, Cells};
use crate::cells::{Day, activity_cells, temperature_cells};
use crate::registry::{Channel, DataType, NULL};
use crate::zone::{LocalClock, LocalDay, WINDOW_US, ZoneRuns};
use serde_json::{Value, json};

mod nights;

const MINUTE_US: i64 = 60_000_000;

fn block(data_type: DataType, times_us: Vec<i64>, zone: &str, columns: &[(&str, Vec<i32>)]) -> Block {
    let mut block = Block::empty(data_type, Channel::default());
    block.zones = ZoneRuns::constant(zone.into(), times_us.len());
    block.times_us = times_us;
    for (name, cells) in columns {
        block.columns[data_type.column_index(name).unwrap()] = Cells::Values(cells.clone());
    }
    block
}

/// A patient's day in a zone.
struct Patient {
    date: LocalDay,
    clock: LocalClock,
    cells: Day,
    before: Day,
    profile: Profile,
}

impl Patient {
    fn new(date: &str, zone: &str) -> Self {
        Patient {
            date: LocalDay::parse(date).unwrap(),
            clock: LocalClock::new(zone),
            cells: Day::default(),
            before: Day::default(),
            profile: Profile { birthday: Some(Date::constant(1985, 11, 20)), ..Profile::default() },
        }
    }

    fn start_us(&self) -> i64 {
        self.date.span_us(&self.clock).0
    }

    fn with_activity(mut self, block: &Block) -> Self {
        let max_bpm = max_bpm_on(self.date, &self.profile, &SummarySettings::default());
        let mut days = activity_cells(block, |_| max_bpm);
        self.cells.activity.replace(i64::MIN..i64::MAX, days.remove(&self.date).unwrap_or_default());
        self
    }

    fn with_temperature(mut self, block: &Block) -> Self {
        let mut days = temperature_cells(block);
        self.cells.temperature.replace(i64::MIN..i64::MAX, days.remove(&self.date).unwrap_or_default());
        self
    }

    fn summary(&self) -> DailySummary {
        self.summary_asleep(&[])
    }

    fn summary_asleep(&self, asleep_ms: &[(i64, i64)]) -> DailySummary {
        let settings = SummarySettings::default();
        let source = DaySource {
            day: self.date,
            slot_count: self.date.slot_count(&self.clock),
            cells: &self.cells,
            before: &self.before,
            profile: &self.profile,
            settings: &settings,
        };
        DailySummary::of(&source, &Nights { asleep_ms: asleep_ms.to_vec(), ..Nights::default() })
    }

    fn bodies(&self) -> Vec<(Section, String)> {
        self.summary().bodies().into_iter().filter_map(|(section, body)| Some((section, body?))).collect()
    }

    fn json(&self, wanted: &[Section], slots: bool) -> Value {
        let slots = slots.then(|| DaySlots::new(self.cells.activity.clone(), self.cells.temperature.clone()));
        let mut out = Vec::new();
        write_day(&mut out, self.date, wanted, &self.bodies(), slots.as_ref());
        serde_json::from_slice(&out).unwrap()
    }
}

#[test]
fn a_day_without_data_has_empty_sections() {
    let day = Patient::new("2025-11-20", "Europe/Zurich");
    let json = day.json(&Section::ALL, true);
    assert_eq!(json["date"], "2025-11-20");
    assert_eq!(json.as_object().unwrap().len(), 12);
    assert!(Section::ALL.iter().all(|section| json[section.name()] == json!({})));
}

#[test]
fn sections_carry_the_specification_s_names_in_its_order() {
    let day = Patient::new("2025-11-20", "UTC");
    let start_us = day.start_us();
    let rows = block(
        DataType::Activity,
        vec![start_us],
        "UTC",
        &[("bpm", vec![60]), ("spo2", vec![970]), ("respiration_rate", vec![160]), ("nibp_systolic", vec![120])],
    );
    let warm = block(DataType::Temperature, vec![start_us], "UTC", &[("temp_sk1", vec![3350])]);
    let day = day.with_activity(&rows).with_temperature(&warm);
    let names = |section: Section| -> Vec<String> {
        let body = day.bodies().into_iter().find(|(found, _)| *found == section).unwrap().1;
        body.split('"').skip(1).step_by(2).filter(|name| !name.starts_with("2025")).map(str::to_owned).collect()
    };
    assert_eq!(
        names(Section::Activity).join(", "),
        "date, total_steps, daily_percent, distance, calories, workouts, active_minutes, move_every_hour, \
         total_glasses, avg_gait_asymmetry, avg_gait_speed, avg_gait_var"
    );
    assert_eq!(
        names(Section::HeartRate).join(", "),
        "date, avg_daily_heart_rate, max_daily_heart_rate, rest_daily_heart_rate, daily_percent, all_time, max_time, \
         performance_time, endurance_time, fat_burn_time, warm_up_time, rest_time"
    );
    assert_eq!(
        names(Section::NonInvasiveBloodPressure).join(", "),
        "date, daily_average_systolic_pressure, daily_average_diastolic_pressure, \
         sleeping_average_systolic_pressure, sleeping_average_diastolic_pressure, awaken_average_systolic_pressure, \
         awaken_average_diastolic_pressure"
    );
    assert_eq!(
        names(Section::RespirationRate).join(", "),
        "date, avg_respiration_rate, start_timestamp, end_timestamp"
    );
    assert_eq!(names(Section::Spo2).join(", "), "date, avg_spo2, start_timestamp, end_timestamp");
    assert_eq!(
        names(Section::Temperature).join(", "),
        "date, avg_temp_sk1, avg_temp_sk2, max_temp_sk1, max_temp_sk2, start_timestamp, end_timestamp"
    );
}

#[test]
fn slots_have_the_shape_of_the_specification() {
    let day = Patient::new("2025-11-20", "Europe/Zurich");
    let start_us = day.start_us();
    let rows = block(
        DataType::Activity,
        vec![start_us + MINUTE_US, start_us + 2 * MINUTE_US, start_us + 6 * MINUTE_US],
        "Europe/Zurich",
        &[
            ("bpm", vec![60, 61, 0]),
            ("bpm_q", vec![4, 3, 4]),
            ("wearing", vec![4, 4, 0]),
            ("battery", vec![50, 50, 9]),
            ("last_steps", vec![3, 4, 0]),
            ("nibp_systolic_combine", vec![120, NULL, NULL]),
            ("nibp_diastolic_combine", vec![80, NULL, NULL]),
        ],
    );
    let warm = block(
        DataType::Temperature,
        vec![start_us, start_us + 5 * MINUTE_US],
        "Europe/Zurich",
        &[("temp_sk1", vec![3350, 2100]), ("temp_sk2", vec![NULL, 2100])],
    );
    let day = day.with_activity(&rows).with_temperature(&warm);
    let json = day.json(&Section::ALL, true);
    let ms = start_us / 1000;
    assert_eq!(
        json["heart_rate"]["slots"],
        json!([
            {"is_wearing": true, "is_charging": false, "is_low_battery": false, "timestamp": ms, "date": "00:00",
             "bpm": 60.5, "bpm_q": 4},
            {"is_wearing": false, "is_charging": false, "is_low_battery": true, "timestamp": ms + 300_000,
             "date": "00:05", "bpm": null, "bpm_q": null},
        ])
    );
    assert_eq!(
        json["heart_rate"]["slots_thirty_minutes"],
        json!([{"is_wearing": true, "is_charging": false, "is_low_battery": false, "timestamp": ms, "date": "00:00",
                "bpm": 60.5, "bpm_q": 4}])
    );
    assert_eq!(
        json["activity"]["slots_five_minutes"],
        json!([{"timestamp": ms, "date": "00:00", "step_count": 7},
               {"timestamp": ms + 300_000, "date": "00:05", "step_count": 0}])
    );
    assert_eq!(json["activity"]["slots"], json!([{"timestamp": ms, "date": "00:00", "step_count": 7}]));
    assert_eq!(
        json["non_invasive_blood_pressure"]["slots"],
        json!([{"systolic_pressure_combine": 120, "diastolic_pressure_combine": 80, "start_timestamp": ms,
                "end_timestamp": ms + 1_800_000, "start_date": "00:00", "end_date": "00:30"}])
    );
    assert_eq!(
        json["temperature"]["slots_five_minutes"],
        json!([
            {"is_wearing": true, "is_charging": false, "is_low_battery": false, "timestamp": ms, "date": "00:00",
             "temp_sk1": 33.5, "temp_sk2": null},
            {"is_wearing": false, "is_charging": false, "is_low_battery": true, "timestamp": ms + 300_000,
             "date": "00:05", "temp_sk1": null, "temp_sk2": null},
        ])
    );
    assert_eq!(json["temperature"]["max_temp_sk1"], 33.5);
    assert_eq!(json["spo2"], json!({}));
    assert!(day.json(&[Section::HeartRate], false)["heart_rate"].get("slots").is_none());
}

/// One row a minute over the whole day.
fn full_day(date: &str, zone: &str) -> Patient {
    let day = Patient::new(date, zone);
    let (start_us, end_us) = day.date.span_us(&day.clock);
    let times: Vec<i64> = (start_us..end_us).step_by(MINUTE_US as usize).collect();
    let rows = times.len();
    let columns = [("bpm", vec![60; rows]), ("last_steps", vec![10; rows]), ("spo2", vec![975; rows])];
    let rows = block(DataType::Activity, times, zone, &columns);
    day.with_activity(&rows)
}

#[test]
fn days_of_a_clock_change_are_full_with_their_own_number_of_slots() {
    for (date, zone, slots) in [
        ("2025-11-20", "Europe/Zurich", 288),
        ("2026-03-29", "Europe/Zurich", 276),
        ("2026-10-25", "Europe/Zurich", 300),
        ("2026-04-05", "Australia/Lord_Howe", 294),
        ("2026-10-04", "Australia/Lord_Howe", 282),
    ] {
        let day = full_day(date, zone);
        let json = day.json(&Section::ALL, true);
        let heart_rate = &json["heart_rate"];
        assert_eq!(heart_rate["slots"].as_array().unwrap().len(), slots, "{date} {zone}");
        assert_eq!(heart_rate["slots_thirty_minutes"].as_array().unwrap().len(), slots / 6, "{date} {zone}");
        assert_eq!(heart_rate["daily_percent"], 100.0, "{date} {zone}");
        assert_eq!(heart_rate["all_time"], slots * 300, "{date} {zone}");
        assert_eq!(json["activity"]["total_steps"], slots * 50, "{date} {zone}");
        assert_eq!(json["spo2"]["avg_spo2"], 97.5);
        let span_us = day.date.span_us(&day.clock);
        assert_eq!(json["spo2"]["start_timestamp"], span_us.0 / 1000);
        assert_eq!(json["spo2"]["end_timestamp"], span_us.1 / 1000);
    }
}

#[test]
fn the_times_of_the_zones_add_up() {
    let day = Patient::new("2025-11-20", "UTC");
    // 40 years, highest 180: one row in each zone, seven rows in five minutes.
    let times: Vec<i64> = (0..7).map(|row| day.start_us() + row * 40_000_000).collect();
    let bpm = vec![80, 95, 110, 130, 150, 170, 60];
    let day = day.with_activity(&block(DataType::Activity, times, "UTC", &[("bpm", bpm)]));
    let section = day.summary().heart_rate.unwrap();
    let zones = [
        section.rest_time,
        section.warm_up_time,
        section.fat_burn_time,
        section.endurance_time,
        section.performance_time,
        section.max_time,
    ];
    let seconds = zones.map(|zone| zone.unwrap().0);
    assert_eq!(seconds, [86, 43, 43, 43, 43, 43]);
    assert_eq!(section.all_time, Some(Seconds(seconds.iter().sum())));
    assert_eq!(section.max_daily_heart_rate, Some(170));

    let mut unknown = Patient::new("2025-11-20", "UTC");
    unknown.profile = Profile::default();
    let start_us = unknown.start_us();
    let unknown = unknown.with_activity(&block(DataType::Activity, vec![start_us], "UTC", &[("bpm", vec![60])]));
    assert_eq!(unknown.summary().heart_rate.unwrap().all_time, None);
}

#[test]
fn resting_heart_rate_wants_four_hours_of_wear_and_half_an_hour_without_steps() {
    let start_us = Patient::new("2025-11-20", "UTC").start_us();
    let resting = |windows: i64, steps: fn(i64) -> i32| {
        let times = (0..windows).map(|window| start_us + window * WINDOW_US).collect();
        let bpm = (0..windows).map(|window| if (20..26).contains(&window) { 52 } else { 70 }).collect();
        let steps = (0..windows).map(steps).collect();
        let rows = block(DataType::Activity, times, "UTC", &[("bpm", bpm), ("last_steps", steps)]);
        Patient::new("2025-11-20", "UTC")
            .with_activity(&rows)
            .summary()
            .heart_rate
            .unwrap()
            .rest_daily_heart_rate
            .map(f64::from)
    };
    assert_eq!(resting(48, |_| 0), Some(52.0));
    assert_eq!(resting(47, |_| 0), None);
    assert_eq!(resting(48, |_| 1), None);
    assert_eq!(resting(48, |window| i32::from(window == 22)), Some(61.0));
}

#[test]
fn energy_distance_and_steps_fall_back_as_documented() {
    let mut day = Patient::new("2025-11-20", "UTC");
    day.profile.height_cm = Some(200.0);
    day.profile.sex = Some(Sex::Male);
    let start_us = day.start_us();
    let times = vec![start_us, start_us + WINDOW_US, start_us + 2 * WINDOW_US];
    let rows = block(
        DataType::Activity,
        times,
        "UTC",
        &[
            ("speed", vec![15, NULL, 0]),
            ("last_steps", vec![100, 100, NULL]),
            ("energy_exp", vec![2500, NULL, 0]),
            ("gait_speed", vec![1250, NULL, 1350]),
        ],
    );
    let section = day.with_activity(&rows).summary().activity.unwrap();
    assert_eq!(section.distance, Some(Metres(90.0 + 83.0)));
    assert_eq!(section.calories, Some(Kilocalories(2.5)));
    assert_eq!((section.total_steps, section.daily_percent), (Some(200), Some(Percent(2.0))));
    assert_eq!((section.avg_gait_speed, section.avg_gait_var), (Some(MetresPerSecond(1.3)), None));
    assert_eq!((section.active_minutes, section.move_every_hour), (2, 0));
}

#[test]
fn a_row_with_speed_or_energy_does_not_silence_the_others_of_its_window() {
    let mut day = Patient::new("2025-11-20", "UTC");
    day.profile.height_cm = Some(180.0);
    day.profile.weight_kg = Some(80.0);
    day.profile.sex = Some(Sex::Male);
    day.profile.birthday = Some("1985-11-20".parse().unwrap());
    let times: Vec<i64> = (0..5).map(|minute| day.start_us() + minute * 60_000_000).collect();
    let rows = block(
        DataType::Activity,
        times,
        "UTC",
        &[
            ("speed", vec![10, NULL, NULL, NULL, NULL]),
            ("last_steps", vec![100; 5]),
            ("energy_exp", vec![1000, NULL, NULL, NULL, NULL]),
        ],
    );
    let section = day.with_activity(&rows).summary().activity.unwrap();
    assert_eq!(section.distance, Some(Metres(60.0 + 298.8)));
    // 1,730 kcal a day at rest, for the four minutes that report none.
    assert_eq!(section.calories, Some(Kilocalories(5.81)));
}

#[test]
fn pressures_are_split_by_sleep_where_it_is_known() {
    let day = Patient::new("2025-11-20", "UTC");
    let start_us = day.start_us();
    let times = vec![start_us + MINUTE_US, start_us + 31 * MINUTE_US, start_us + 61 * MINUTE_US];
    let columns = [("nibp_systolic_combine", vec![110, 112, 130]), ("nibp_diastolic_combine", vec![70, 72, 0])];
    let day = day.with_activity(&block(DataType::Activity, times, "UTC", &columns));
    let unknown = day.summary().non_invasive_blood_pressure.unwrap();
    assert_eq!(unknown.daily_average_systolic_pressure, Some(MmHg(117.33)));
    assert_eq!(unknown.awaken_average_systolic_pressure, None);
    let midnight_ms = start_us / 1000;
    let known = day.summary_asleep(&[(midnight_ms, midnight_ms + 3_600_000)]).non_invasive_blood_pressure.unwrap();
    assert_eq!(known.sleeping_average_systolic_pressure, Some(MmHg(111.0)));
    assert_eq!(known.sleeping_average_diastolic_pressure, Some(MmHg(71.0)));
    assert_eq!(
        (known.awaken_average_systolic_pressure, known.awaken_average_diastolic_pressure),
        (Some(MmHg(130.0)), None)
    );
}

#[test]
fn age_counts_whole_years() {
    let profile = Profile { birthday: Some(Date::constant(2000, 2, 29)), ..Profile::default() };
    let age = |date: &str| profile.age_on(LocalDay::parse(date).unwrap());
    assert_eq!((age("2021-02-28"), age("2021-03-01"), age("1999-12-31")), (Some(20), Some(21), None));
}

#[test]
fn a_packed_day_is_small() {
    let day = full_day("2025-11-20", "UTC");
    let bytes = day.cells.activity.pack();
    // Two of the bytes say that its rows report neither charging nor battery.
    assert!(bytes.len() < 288 * 42, "{}", bytes.len());
}
