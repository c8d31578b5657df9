use std::collections::BTreeSet;

use std::ops::Range;

use super::*;
use crate::block::{Block, Cells};
use crate::latest::newest_of;
use crate::measured::Measured;
use crate::registry::{Channel, DataType, NULL, TestKind};
use crate::zone::{SECOND_US, WINDOW_US, ZoneRuns};
use proptest::prelude::*;

const MINUTE_US: i64 = 60 * SECOND_US;
/// 2025-11-20T10:00Z.
const TEN_US: i64 = 1_763_632_800_000_000;

fn activity(times_us: &[i64], columns: &[(&str, &[i32])]) -> Block {
    let mut block = Block::empty(DataType::Activity, Channel::default());
    block.times_us = times_us.to_vec();
    block.zones = ZoneRuns::constant("Europe/Zurich".into(), times_us.len());
    for (name, cells) in columns {
        block.columns[DataType::Activity.column_index(name).unwrap()] = Cells::Values(cells.to_vec());
    }
    block
}

fn minutes(count: i64) -> Vec<i64> {
    (0..count).map(|minute| TEN_US + minute * MINUTE_US).collect()
}

fn only_cell(block: &Block) -> ActivityCell {
    let days = activity_cells(block, |_| Some(180.0));
    assert_eq!(days.len(), 1);
    days.into_values().next().unwrap().remove(0)
}

#[test]
fn a_window_counts_valid_rows_only() {
    let cell = only_cell(&activity(
        &minutes(5),
        &[
            ("bpm", &[60, 0, 63, 200, 99]),
            ("bpm_q", &[2, 4, 3, 1, 4]),
            ("wearing", &[4, 4, 4, 4, 0]),
            ("charging", &[0, 1, 1, 1, NULL]),
            ("battery", &[15, 15, 16, NULL, 3]),
            ("last_steps", &[70, 0, NULL, 3, 0]),
        ],
    ));
    assert_eq!((cell.rows, cell.worn, cell.charging, cell.low_battery), (5, 4, 3, 3));
    assert!(cell.is_wearing() && cell.is_charging() && cell.is_low_battery());
    assert_eq!(cell.stored_bpm, 4);
    assert_eq!((cell.bpm.values.sum, cell.bpm.values.count), (123, 2));
    assert_eq!(cell.bpm.values.scaled_mean(100), Some(6150));
    assert_eq!(cell.bpm.qualities.scaled_mean(1), Some(3));
    assert_eq!(cell.highest_bpm, 63);
    assert_eq!((cell.steps.sum, cell.steps.count), (73, 4));
    assert_eq!(cell.active_minutes, 1);
    assert_eq!(cell.zone_ms, [120_000, 0, 0, 0, 0, 0]);
    assert_eq!(cell.newest.valid.heart_rate.map(|timed| timed.value), Some(63.0));
}

#[test]
fn a_half_is_not_a_majority() {
    let cell = only_cell(&activity(&minutes(2), &[("wearing", &[0, 4]), ("charging", &[1, 0])]));
    assert!(!cell.is_wearing() && !cell.is_charging());
}

#[test]
fn rows_that_do_not_report_battery_and_charging_have_no_say() {
    let rare = |value: i32| [value, NULL, NULL, NULL, NULL];
    let cell = only_cell(&activity(&minutes(5), &[("charging", &rare(1)), ("battery", &rare(9))]));
    assert!(cell.is_charging() && cell.is_low_battery());
    let cell = only_cell(&activity(&minutes(5), &[("charging", &rare(0)), ("battery", &rare(80))]));
    assert!(!cell.is_charging() && !cell.is_low_battery());
    let silent = only_cell(&activity(&minutes(5), &[("bpm", &[60; 5])]));
    assert!(!silent.is_charging() && !silent.is_low_battery(), "nothing was reported");
    let mut half_hour = cell.clone();
    half_hour.absorb(&only_cell(&activity(&minutes(5), &[("charging", &[1, 1, NULL, NULL, NULL])])));
    assert!(half_hour.is_charging() && !half_hour.is_low_battery());
}

#[test]
fn cells_of_the_first_form_are_still_read() {
    let rows = [("bpm", [60; 5]), ("charging", [1; 5]), ("battery", [9; 5])];
    let block = activity(&minutes(5), &rows.each_ref().map(|(name, cells)| (*name, &cells[..])));
    let mut day = DayCells::default();
    day.replace(0..i64::MAX, [only_cell(&block)]);
    // Where every row reports both, and well, the second form adds nothing but its number.
    let mut bytes = day.pack();
    assert_eq!(bytes[0], 2);
    bytes[0] = 1;
    assert_eq!(DayCells::<ActivityCell>::unpack(&bytes), Some(day));
    bytes[0] = 3;
    assert_eq!(DayCells::<ActivityCell>::unpack(&bytes), None);
}

#[test]
fn rows_closer_than_a_minute_share_the_window() {
    let times: Vec<i64> = (0..30).map(|row| TEN_US + row * 10 * SECOND_US).collect();
    let cell = only_cell(&activity(&times, &[("bpm", &[100; 30])]));
    assert_eq!(cell.row_ms(), 10_000);
    assert_eq!(cell.zone_ms.iter().sum::<u32>(), 300_000);
    assert_eq!(cell.active_minutes, 5);
}

#[test]
fn one_window_lies_on_two_days_when_the_patient_travels() {
    let mut block = activity(&minutes(4), &[("bpm", &[60, 61, 62, 63])]);
    block.zones = ZoneRuns::constant("Europe/Zurich".into(), 1);
    for zone in ["Pacific/Auckland", "Europe/Zurich", "Pacific/Auckland"] {
        // 23:00 in Auckland at 10:00Z would be the same day: an hour later it is the next.
        block.zones.push(zone.into(), 1);
    }
    for time in &mut block.times_us {
        *time += 3600 * SECOND_US;
    }
    let days = activity_cells(&block, |_| None);
    let found: Vec<(String, u32, u64)> =
        days.iter().map(|(day, cells)| (day.to_string(), cells[0].rows, cells[0].bpm.values.sum)).collect();
    assert_eq!(found, [("2025-11-20".to_owned(), 2, 122), ("2025-11-21".to_owned(), 2, 124)]);
    let offsets: Vec<i64> = days.values().map(|cells| cells[0].place.local_minute()).collect();
    assert_eq!(offsets, [12 * 60, 0]);
}

#[test]
fn thirty_minute_slots_follow_the_local_clock() {
    let mut block = activity(&[], &[]);
    // Kathmandu is 5 h 45 min ahead: its half hours begin at a quarter past and a quarter to in UTC.
    block.times_us = (0..12).map(|window| TEN_US + window * WINDOW_US).collect();
    block.zones = ZoneRuns::constant("Asia/Kathmandu".into(), 12);
    let mut day = DayCells::default();
    day.replace(i64::MIN..i64::MAX, activity_cells(&block, |_| None).into_values().next().unwrap());
    let slots: Vec<(i64, u32)> = day.half_hours().iter().map(|slot| (slot.place.local_minute(), slot.rows)).collect();
    assert_eq!(slots, [(15 * 60 + 30, 3), (16 * 60, 6), (16 * 60 + 30, 3)]);
}

#[test]
fn slots_of_two_clocks_that_take_turns_have_a_start_each() {
    for (zones, expected) in [
        (["Asia/Kathmandu", "Asia/Kolkata", "Asia/Kathmandu"], [(-15, 2), (0, 1)]),
        (["Asia/Kolkata", "Asia/Kathmandu", "Asia/Kolkata"], [(-15, 1), (0, 2)]),
    ] {
        let mut block = activity(&[], &[]);
        block.times_us = (0..3).map(|window| TEN_US + window * WINDOW_US).collect();
        block.zones = ZoneRuns::constant(zones[0].into(), 1);
        block.zones.push(zones[1].into(), 1);
        block.zones.push(zones[2].into(), 1);
        let mut day = DayCells::default();
        day.replace(i64::MIN..i64::MAX, activity_cells(&block, |_| None).into_values().next().unwrap());
        let ten = TEN_US / 60 / SECOND_US;
        let slots = day.half_hours();
        let found: Vec<_> = slots.iter().map(|slot| (slot.place.start_minute - ten, slot.rows)).collect();
        assert_eq!(found, expected, "{zones:?}");
    }
}

#[test]
fn the_repeated_hour_of_autumn_has_slots_of_its_own() {
    let fold: i64 = 1_761_436_800_000_000; // 2025-10-26T00:00Z, 02:00 summer time; 03:00 becomes 02:00 at 01:00Z
    let mut block = activity(&[], &[]);
    block.times_us = (0..24).map(|window| fold + window * WINDOW_US).collect();
    block.zones = ZoneRuns::constant("Europe/Zurich".into(), 24);
    let mut day = DayCells::default();
    let days = activity_cells(&block, |_| None);
    assert_eq!(days.len(), 1);
    day.replace(i64::MIN..i64::MAX, days.into_values().next().unwrap());
    let slots: Vec<(i64, u32)> = day.half_hours().iter().map(|slot| (slot.place.local_minute(), slot.rows)).collect();
    assert_eq!(slots, [(120, 6), (150, 6), (120, 6), (150, 6)]);
}

/// Where clocks change by an hour at a quarter to three, the half hours before and after begin at one instant.
#[test]
fn slots_around_a_change_of_clocks_have_a_timestamp_each() {
    // The nights before at 13:30Z: at 14:00Z, 02:45 becomes 03:45 in September and 03:45 becomes 02:45 in April.
    for (night, local_minutes) in [
        ("2025-09-27T13:30:00Z", [135, 150, 240].map(|minute| minute / 30 * 30)),
        ("2026-04-04T13:30:00Z", [195, 210, 180].map(|minute| minute / 30 * 30)),
    ] {
        let begin_us = night.parse::<jiff::Timestamp>().unwrap().as_microsecond();
        let mut block = activity(&[], &[]);
        block.times_us = (0..12).map(|window| begin_us + window * WINDOW_US).collect();
        block.zones = ZoneRuns::constant("Pacific/Chatham".into(), 12);
        let mut day = DayCells::default();
        day.replace(i64::MIN..i64::MAX, activity_cells(&block, |_| None).into_values().next().unwrap());
        let slots = day.half_hours();
        let starts: BTreeSet<i64> = slots.iter().map(|slot| slot.place.start_ms()).collect();
        assert_eq!(starts.len(), slots.len(), "{night}: two slots with one timestamp");
        assert_eq!(slots.iter().map(|slot| slot.rows).sum::<u32>(), 12, "{night}");
        let found: Vec<i64> = slots.iter().map(|slot| slot.place.local_minute()).collect();
        assert_eq!(found, local_minutes, "{night}");
    }
}

#[test]
fn damaged_bytes_are_reported() {
    let mut day = DayCells::default();
    day.replace(0..i64::MAX, [only_cell(&activity(&minutes(5), &[("bpm", &[60; 5])]))]);
    let bytes = day.pack();
    assert_eq!(DayCells::unpack(&bytes).as_ref(), Some(&day));
    for cut in 0..bytes.len() {
        assert_eq!(DayCells::<ActivityCell>::unpack(&bytes[..cut]), None, "cut at {cut}");
    }
    let mut other_format = bytes.clone();
    other_format[0] += 1;
    assert_eq!(DayCells::<ActivityCell>::unpack(&other_format), None);
    let mut longer = bytes;
    longer.push(0);
    assert_eq!(DayCells::<ActivityCell>::unpack(&longer), None);
}

fn column(range: Range<i32>, rows: usize) -> impl Strategy<Value = Vec<i32>> {
    proptest::collection::vec(prop_oneof![1 => Just(NULL), 5 => range], rows)
}

prop_compose! {
    fn any_activity()(gaps in proptest::collection::vec(1_i64..200, 1..60))(
        bpm in column(0..220, gaps.len()),
        bpm_q in column(0..5, gaps.len()),
        spo2 in column(700..1001, gaps.len()),
        systolic in column(0..200, gaps.len()),
        steps in column(0..200, gaps.len()),
        wearing in column(0..5, gaps.len()),
        core_temp in column(3500..4000, gaps.len()),
        gaps in Just(gaps),
    ) -> Block {
        let mut time_us = TEN_US;
        let times_us: Vec<i64> = gaps.iter().map(|gap| { time_us += gap * SECOND_US; time_us }).collect();
        activity(&times_us, &[
            ("bpm", &bpm), ("bpm_q", &bpm_q), ("spo2", &spo2), ("nibp_systolic_combine", &systolic),
            ("last_steps", &steps), ("wearing", &wearing), ("core_temp", &core_temp),
        ])
    }
}

proptest! {
    #[test]
    fn cells_are_read_back_from_their_bytes(block in any_activity()) {
        for cells in activity_cells(&block, |_| Some(185.0)).into_values() {
            let mut day = DayCells::default();
            day.replace(i64::MIN..i64::MAX, cells);
            prop_assert_eq!(DayCells::unpack(&day.pack()), Some(day));
        }
    }

    #[test]
    fn cells_of_a_part_equal_the_part_of_the_cells(block in any_activity(), cut in 0_i64..12) {
        let start_us = (window_of(TEN_US) + cut) * WINDOW_US;
        let part = block.clone().clipped(start_us, start_us + WINDOW_US - 1);
        let whole = activity_cells(&block, |_| Some(185.0));
        let of_part: Vec<ActivityCell> = activity_cells(&part, |_| Some(185.0)).into_values().flatten().collect();
        let expected: Vec<ActivityCell> =
            whole.into_values().flatten().filter(|cell| cell.place.window() == window_of(start_us)).collect();
        prop_assert_eq!(of_part, expected);
    }

    #[test]
    fn the_newest_of_all_cells_is_the_newest_of_the_rows(block in any_activity()) {
        let mut newest = Measured::default();
        for cell in activity_cells(&block, |_| None).into_values().flatten() {
            newest.merge_newer(&cell.newest);
        }
        prop_assert_eq!(newest, Measured::in_rows(&block, 0..block.rows()));
        prop_assert_eq!(newest.valid, newest_of(&block, i64::MAX));
    }
}

#[test]
fn spot_measurements_of_several_kinds_share_a_cell() {
    let spot = |name: &str, thousandths: i32| {
        let mut block = Block::empty(DataType::Tests, Channel::of_test(TestKind::code(name).unwrap()));
        block.times_us = vec![TEN_US];
        block.zones = ZoneRuns::constant("UTC".into(), 1);
        block.columns[1] = Cells::Values(vec![thousandths]);
        block
    };
    let blocks = [spot("temperature", 37_250), spot("weight", 70_000), spot("blood_pressure_systolic", 118_000)];
    let days = spot_cells(&blocks);
    let cells = days.into_values().next().unwrap();
    assert_eq!(cells.len(), 1);
    assert_eq!(cells[0].rows, 3);
    assert_eq!(cells[0].newest.valid.temperature.map(|timed| timed.value), Some(37.25));
    let mut day = DayCells::default();
    day.replace(0..i64::MAX, cells);
    assert_eq!(DayCells::unpack(&day.pack()), Some(day));
}
