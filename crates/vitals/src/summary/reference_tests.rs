//! Sections of a day and their slots against sums over the rows, made without cells.

use proptest::prelude::*;
use serde_json::Value;

use super::slots_json::{DaySlots, write_day};
use super::units::{BeatsPerMinute, Celsius, EpochMs, Percent, Seconds};
use super::*;
use crate::any_rows::{MIDNIGHT_US, any_block, block_at};
use crate::block::Block;
use crate::cells::{Day, activity_cells, temperature_cells};
use crate::registry::{Channel, DataType};
use crate::zone::{DAY_US, LocalDay, WINDOW_US};

const DAY: LocalDay = LocalDay(20_412);
const PROFILE: Profile = Profile {
    birthday: Some(jiff::civil::Date::constant(1985, 11, 20)),
    sex: None,
    height_cm: Some(175.0),
    weight_kg: Some(70.0),
};

/// A UTC day with rows of activity and temperature.
#[derive(Clone, Debug)]
struct Rows {
    activity: Block,
    temperature: Block,
}

fn any_rows() -> impl Strategy<Value = Rows> {
    let within = MIDNIGHT_US..MIDNIGHT_US + DAY_US;
    let thick = (0..40).map(|row| MIDNIGHT_US + row * 40_000_000).collect::<Vec<i64>>();
    let activity =
        prop_oneof![any_block(DataType::Activity, within.clone(), 60), block_at(DataType::Activity, thick, "UTC"),];
    let temperature = any_block(DataType::Temperature, within, 40);
    (activity, temperature).prop_map(|(mut activity, mut temperature)| {
        for block in [&mut activity, &mut temperature] {
            block.zones = crate::zone::ZoneRuns::constant("UTC".into(), block.rows());
        }
        Rows { activity, temperature }
    })
}

fn cell(block: &Block, name: &str, row: usize) -> Option<f64> {
    let (column, cells) = block.declared_column(name);
    column.value_of(cells.get(row))
}

/// Rows of each window, in the order of time.
fn windows(block: &Block) -> Vec<(i64, Vec<usize>)> {
    let mut windows: Vec<(i64, Vec<usize>)> = Vec::new();
    for row in 0..block.rows() {
        let start_ms = block.times_us[row].div_euclid(WINDOW_US) * WINDOW_US / 1000;
        match windows.last_mut() {
            Some((last_ms, rows)) if *last_ms == start_ms => rows.push(row),
            _ => windows.push((start_ms, vec![row])),
        }
    }
    windows
}

fn is_worn(block: &Block, row: usize) -> bool {
    cell(block, "wearing", row).is_none_or(|wearing| wearing >= 1.0)
}

fn valid(block: &Block, [value, quality]: [&str; 2], row: usize) -> Option<f64> {
    let is_good = cell(block, quality, row).is_none_or(|quality| quality >= 2.0);
    cell(block, value, row).filter(|value| *value > 0.0 && is_good && is_worn(block, row))
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the valid windows of a vital sign: start, mean.
fn valid_windows(block: &Block, names: [&str; 2]) -> Vec<(i64, f64)> {
    let of_window = |(start_ms, rows): (i64, Vec<usize>)| {
        let values: Vec<f64> = rows.into_iter().filter_map(|row| valid(block, names, row)).collect();
        Some((start_ms, mean(&values)?))
    };
    windows(block).into_iter().filter_map(of_window).collect()
}

/// Returns whether most rows of a window are worn; without any it counts as worn.
fn is_window_worn(activity: &Block, start_ms: i64) -> bool {
    let rows = windows(activity).into_iter().find(|window| window.0 == start_ms).map(|window| window.1);
    rows.is_none_or(|rows| rows.iter().filter(|row| is_worn(activity, **row)).count() * 2 > rows.len())
}

impl Rows {
    fn day(&self) -> Day {
        let mut day = Day::default();
        let activity = activity_cells(&self.activity, |_| Some(180.0)).remove(&DAY);
        day.activity.replace(i64::MIN..i64::MAX, activity.unwrap_or_default());
        day.temperature
            .replace(i64::MIN..i64::MAX, temperature_cells(&self.temperature).remove(&DAY).unwrap_or_default());
        day
    }

    fn summary(&self, asleep_ms: &[(i64, i64)]) -> DailySummary {
        let (cells, before, settings) = (self.day(), Day::default(), SummarySettings::default());
        let source = DaySource {
            day: DAY,
            slot_count: 288,
            cells: &cells,
            before: &before,
            profile: &PROFILE,
            settings: &settings,
        };
        DailySummary::of(&source, &Nights { asleep_ms: asleep_ms.to_vec(), ..Nights::default() })
    }

    /// Returns the whole day as an answer has it, read as plain JSON.
    fn answer(&self) -> Value {
        let day = self.day();
        let bodies: Vec<(Section, String)> =
            self.summary(&[]).bodies().into_iter().filter_map(|(section, body)| Some((section, body?))).collect();
        let mut out = Vec::new();
        write_day(&mut out, DAY, &Section::ALL, &bodies, Some(&DaySlots::new(day.activity, day.temperature)));
        serde_json::from_slice(&out).unwrap()
    }
}

/// Two decimals, or what is not there: figures are rounded once.
fn is_rounded(found: Option<f64>, exact: Option<f64>) -> bool {
    match (found, exact) {
        (Some(found), Some(exact)) => (found - exact).abs() <= 0.005 + 1e-6,
        (found, exact) => found.is_none() && exact.is_none(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_heart_rate_of_a_day_is_that_of_its_rows(rows in any_rows()) {
        let section = rows.summary(&[]).heart_rate;
        prop_assert_eq!(section.is_some(), !rows.activity.is_empty());
        let Some(section) = section else { return Ok(()) };
        let slots = valid_windows(&rows.activity, ["bpm", "bpm_q"]);
        let means: Vec<f64> = slots.iter().map(|slot| slot.1).collect();
        prop_assert!(is_rounded(section.avg_daily_heart_rate.map(|rate| rate.0), mean(&means)));
        let highest = (0..rows.activity.rows()).filter_map(|row| valid(&rows.activity, ["bpm", "bpm_q"], row)).reduce(f64::max);
        prop_assert_eq!(section.max_daily_heart_rate.map(f64::from), highest);
        prop_assert!((section.daily_percent.0 - slots.len() as f64 * 100.0 / 288.0).abs() <= 0.05 + 1e-9);
        let zones = [section.rest_time, section.warm_up_time, section.fat_burn_time, section.endurance_time, section.performance_time, section.max_time];
        let sum: i64 = zones.iter().map(|zone| zone.unwrap().0).sum();
        prop_assert_eq!(section.all_time, Some(Seconds(sum)), "exactly the sum of its parts");
        if let (Some(BeatsPerMinute(rest)), Some(highest)) = (section.rest_daily_heart_rate, highest) {
            prop_assert!(rest <= highest + 0.005);
        }
    }

    #[test]
    fn saturation_and_breathing_are_those_of_their_rows(rows in any_rows()) {
        let summary = rows.summary(&[]);
        let spans = [
            ("spo2", summary.spo2.map(|section| (section.avg_spo2.map(|value| value.0), section.start_timestamp, section.end_timestamp))),
            ("respiration_rate", summary.respiration_rate.map(|section| (section.avg_respiration_rate.map(|value| value.0), section.start_timestamp, section.end_timestamp))),
        ];
        for (name, found) in spans {
            let quality = if name == "spo2" { "spo2_q" } else { "resp_q" };
            let is_measured = (0..rows.activity.rows()).any(|row| cell(&rows.activity, name, row).is_some());
            prop_assert_eq!(found.is_some(), is_measured, "{}", name);
            let Some((average, start, end)) = found else { continue };
            let slots = valid_windows(&rows.activity, [name, quality]);
            prop_assert!(is_rounded(average, mean(&slots.iter().map(|slot| slot.1).collect::<Vec<_>>())), "{}", name);
            prop_assert_eq!(start, slots.first().map(|slot| EpochMs(slot.0)));
            prop_assert_eq!(end, slots.last().map(|slot| EpochMs(slot.0 + 300_000)));
        }
    }

    #[test]
    fn temperatures_are_those_of_worn_windows(rows in any_rows()) {
        let section = rows.summary(&[]).temperature;
        prop_assert_eq!(section.is_some(), !rows.temperature.is_empty());
        let Some(section) = section else { return Ok(()) };
        for (name, average, highest) in [
            ("temp_sk1", section.avg_temp_sk1, section.max_temp_sk1),
            ("temp_sk2", section.avg_temp_sk2, section.max_temp_sk2),
        ] {
            let worn: Vec<Vec<f64>> = windows(&rows.temperature)
                .into_iter()
                .filter(|window| is_window_worn(&rows.activity, window.0))
                .map(|window| window.1.into_iter().filter_map(|row| cell(&rows.temperature, name, row)).collect())
                .collect();
            // Slots have two decimals, and an average is of the slots as they are shown.
            let shown: Vec<f64> = worn.iter().filter_map(|values| mean(values)).map(|mean| (mean * 100.0 + 0.5 + 1e-7).floor() / 100.0).collect();
            prop_assert!(is_rounded(average.map(|value| value.0), mean(&shown)), "{} {:?} {:?}", name, average, mean(&shown));
            let all = worn.iter().flatten().copied().reduce(f64::max);
            prop_assert_eq!(highest, all.map(Celsius));
        }
    }

    #[test]
    fn steps_and_gait_are_sums_and_means_of_rows(rows in any_rows()) {
        let Some(section) = rows.summary(&[]).activity else { return Ok(()) };
        let all = |name: &str| (0..rows.activity.rows()).filter_map(|row| cell(&rows.activity, name, row)).collect::<Vec<f64>>();
        let steps = all("last_steps");
        let total = (!steps.is_empty()).then(|| steps.iter().sum::<f64>() as u64);
        prop_assert_eq!(section.total_steps, total);
        let percent = total.map(|total| (total as f64 / 100.0).min(100.0));
        prop_assert!(section.daily_percent.map(|Percent(found)| found).zip(percent).is_none_or(|(found, exact)| (found - exact).abs() <= 0.05 + 1e-9));
        prop_assert!(is_rounded(section.avg_gait_speed.map(|value| value.0), mean(&all("gait_speed"))));
        prop_assert!(is_rounded(section.avg_gait_asymmetry.map(|value| value.0), mean(&all("gait_asymmetry"))));
        prop_assert!(is_rounded(section.avg_gait_var.map(|value| value.0), mean(&all("gait_var"))));
        prop_assert_eq!((section.workouts, section.total_glasses), (0, 0));
        prop_assert!(section.move_every_hour <= 12);
    }

    /// Every pressure slot is asleep or awake by its middle, and the averages are of these.
    #[test]
    fn pressures_asleep_and_awake_share_out_all_slots(rows in any_rows(), from_min in 0_i64..1440, length_min in 1_i64..600) {
        let midnight_ms = MIDNIGHT_US / 1000;
        let night = (midnight_ms + from_min * 60_000, midnight_ms + (from_min + length_min) * 60_000);
        let known = rows.summary(&[night]).non_invasive_blood_pressure;
        let unknown = rows.summary(&[]).non_invasive_blood_pressure;
        prop_assert_eq!(known.is_some(), unknown.is_some());
        let (Some(known), Some(unknown)) = (known, unknown) else { return Ok(()) };
        prop_assert_eq!(known.daily_average_systolic_pressure, unknown.daily_average_systolic_pressure);
        prop_assert_eq!((unknown.sleeping_average_systolic_pressure, unknown.awaken_average_systolic_pressure), (None, None));
        let answer = rows.answer();
        let slots = answer["non_invasive_blood_pressure"]["slots"].as_array().unwrap();
        let of = |is_wanted: &dyn Fn(i64) -> bool| {
            let wanted = slots.iter().filter(|slot| is_wanted(slot["start_timestamp"].as_i64().unwrap() + 900_000));
            mean(&wanted.filter_map(|slot| slot["systolic_pressure_combine"].as_f64()).collect::<Vec<f64>>())
        };
        let is_asleep = |middle_ms: i64| (night.0..night.1).contains(&middle_ms);
        // Slots are shown with two decimals: averages of what is shown may differ by that.
        let is_near = |found: Option<f64>, exact: Option<f64>| match (found, exact) {
            (Some(found), Some(exact)) => (found - exact).abs() <= 0.011,
            (found, exact) => found.is_none() && exact.is_none(),
        };
        prop_assert!(is_near(known.sleeping_average_systolic_pressure.map(|value| value.0), of(&is_asleep)));
        prop_assert!(is_near(known.awaken_average_systolic_pressure.map(|value| value.0), of(&|middle_ms| !is_asleep(middle_ms))));
        prop_assert!(is_near(known.daily_average_systolic_pressure.map(|value| value.0), of(&|_| true)));
    }

    /// Slots as plain JSON: one for each window with rows, with the flags of its majority and the mean of its valid rows.
    #[test]
    fn slots_show_what_their_rows_say(rows in any_rows()) {
        let answer = rows.answer();
        let Some(slots) = answer["heart_rate"]["slots"].as_array() else {
            prop_assert!(rows.activity.is_empty());
            return Ok(());
        };
        let windows = windows(&rows.activity);
        prop_assert_eq!(slots.len(), windows.len());
        let steps = answer["activity"]["slots_five_minutes"].as_array().unwrap();
        for ((slot, step_slot), (start_ms, of_window)) in slots.iter().zip(steps).zip(&windows) {
            prop_assert_eq!(slot["timestamp"].as_i64(), Some(*start_ms));
            let minute = (start_ms - MIDNIGHT_US / 1000) / 60_000;
            prop_assert_eq!(slot["date"].as_str().unwrap(), format!("{:02}:{:02}", minute / 60, minute % 60));
            let majority = |is: &dyn Fn(usize) -> bool| of_window.iter().filter(|row| is(**row)).count() * 2 > of_window.len();
            let block = &rows.activity;
            prop_assert_eq!(slot["is_wearing"].as_bool(), Some(majority(&|row| is_worn(block, row))));
            let most_of_reported = |name: &str, is: &dyn Fn(f64) -> bool| {
                let reported: Vec<f64> = of_window.iter().filter_map(|row| cell(block, name, *row)).collect();
                reported.iter().filter(|value| is(**value)).count() * 2 > reported.len()
            };
            prop_assert_eq!(slot["is_charging"].as_bool(), Some(most_of_reported("charging", &|state| state >= 1.0)));
            prop_assert_eq!(slot["is_low_battery"].as_bool(), Some(most_of_reported("battery", &|percent| percent <= 15.0)));
            let values: Vec<f64> = of_window.iter().filter_map(|row| valid(block, ["bpm", "bpm_q"], *row)).collect();
            prop_assert!(is_rounded(slot["bpm"].as_f64(), mean(&values)));
            let stepped: Vec<f64> = of_window.iter().filter_map(|row| cell(block, "last_steps", *row)).collect();
            prop_assert_eq!(step_slot["step_count"].as_f64(), (!stepped.is_empty()).then(|| stepped.iter().sum::<f64>()));
        }
    }
}

#[test]
fn a_row_without_anything_makes_sections_of_nulls_and_not_of_zeros() {
    let mut activity = Block::empty(DataType::Activity, Channel::default());
    activity.times_us = vec![MIDNIGHT_US];
    activity.zones = crate::zone::ZoneRuns::constant("UTC".into(), 1);
    let rows = Rows { activity, temperature: Block::empty(DataType::Temperature, Channel::default()) };
    let summary = rows.summary(&[]);
    let heart = summary.heart_rate.unwrap();
    assert_eq!(
        (heart.avg_daily_heart_rate, heart.max_daily_heart_rate, heart.rest_daily_heart_rate),
        (None, None, None)
    );
    assert_eq!((heart.daily_percent, heart.all_time), (Percent(0.0), Some(Seconds(0))));
    let activity = summary.activity.unwrap();
    assert_eq!((activity.total_steps, activity.daily_percent, activity.distance), (None, None, None));
    assert!(summary.spo2.is_none() && summary.respiration_rate.is_none() && summary.temperature.is_none());
    assert!(summary.non_invasive_blood_pressure.is_none() && summary.stress.is_none());
}
