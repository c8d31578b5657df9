//! Cells against the plainest computation from their rows.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::any_rows::{MIDNIGHT_US, any_block};
use crate::block::Block;
use crate::registry::{DataType, NULL};
use crate::zone::{DAY_US, LocalClock, LocalDay, WINDOW_US};

const HIGHEST_BPM: f64 = 180.0;

/// Returns the rows of each window and local day, by asking the clock for every row.
fn rows_by_window(block: &Block) -> BTreeMap<(LocalDay, i64), Vec<usize>> {
    let mut windows: BTreeMap<(LocalDay, i64), Vec<usize>> = BTreeMap::new();
    for row in 0..block.rows() {
        let window = block.times_us[row].div_euclid(WINDOW_US);
        let day = LocalClock::new(block.zone_of(row)).day(window * WINDOW_US);
        windows.entry((day, window)).or_default().push(row);
    }
    windows
}

fn cell_of(block: &Block, name: &str, row: usize) -> Option<i32> {
    Some(block.column(name).get(row)).filter(|cell| *cell != NULL)
}

/// Returns a vital sign of a row as docs/physiology.md says: above 0, quality 2 or more or not given, worn or not said.
fn valid(block: &Block, [value, quality]: [&str; 2], row: usize) -> Option<i32> {
    let is_good = cell_of(block, quality, row).is_none_or(|quality| quality >= 2);
    let is_worn = cell_of(block, "wearing", row).is_none_or(|wearing| wearing >= 1);
    cell_of(block, value, row).filter(|value| *value > 0 && is_good && is_worn)
}

/// Sum and number of some values.
fn sum(values: impl Iterator<Item = i32>) -> Sum {
    values.fold(Sum::default(), |sum, value| Sum { sum: sum.sum + value as u64, count: sum.count + 1 })
}

fn vital(block: &Block, names: [&str; 2], rows: &[usize]) -> Vital {
    let of_valid = || rows.iter().copied().filter(|row| valid(block, names, *row).is_some());
    Vital {
        measured: rows.iter().filter(|row| cell_of(block, names[0], **row).is_some()).count() as u32,
        values: sum(of_valid().filter_map(|row| cell_of(block, names[0], row))),
        qualities: sum(of_valid().filter_map(|row| cell_of(block, names[1], row))),
    }
}

/// Systolic and diastolic of a row: the combined ones where either is there, else the plain ones.
fn pressure(block: &Block, row: usize) -> (Option<i32>, Option<i32>) {
    if cell_of(block, "wearing", row) == Some(0) {
        return (None, None);
    }
    let half = |name| cell_of(block, name, row).filter(|value| *value > 0);
    match (half("nibp_systolic_combine"), half("nibp_diastolic_combine")) {
        (None, None) => (half("nibp_systolic"), half("nibp_diastolic")),
        combined => combined,
    }
}

/// Returns a minute with 60 steps, or whose mean heart rate is half of the highest.
fn active_minutes(block: &Block, rows: &[usize]) -> u32 {
    let mut minutes: BTreeMap<i64, (i64, Vec<i32>)> = BTreeMap::new();
    for row in rows {
        let (steps, rates) = minutes.entry(block.times_us[*row].div_euclid(60_000_000)).or_default();
        *steps += i64::from(cell_of(block, "last_steps", *row).unwrap_or(0));
        rates.extend(valid(block, ["bpm", "bpm_q"], *row));
    }
    let is_active = |(steps, rates): &&(i64, Vec<i32>)| {
        let mean = f64::from(rates.iter().sum::<i32>()) / rates.len() as f64;
        *steps >= 60 || (!rates.is_empty() && mean >= HIGHEST_BPM / 2.0)
    };
    minutes.values().filter(is_active).count() as u32
}

fn zone_ms(block: &Block, rows: &[usize]) -> [u32; ZONES] {
    let row_ms = (300_000 / rows.len() as u32).min(60_000);
    let mut zones = [0; ZONES];
    for bpm in rows.iter().filter_map(|row| valid(block, ["bpm", "bpm_q"], *row)) {
        let tenth = (f64::from(bpm) * 10.0 / HIGHEST_BPM).floor() as usize;
        zones[tenth.clamp(4, 9) - 4] += row_ms;
    }
    zones
}

fn reference(block: &Block, place: Place, rows: &[usize]) -> ActivityCell {
    let count = |is: &dyn Fn(usize) -> bool| rows.iter().filter(|row| is(**row)).count() as u32;
    let all = |name: &str| sum(rows.iter().filter_map(|row| cell_of(block, name, *row)));
    let bpm: Vec<i32> = rows.iter().filter_map(|row| valid(block, ["bpm", "bpm_q"], *row)).collect();
    ActivityCell {
        place,
        rows: rows.len() as u32,
        worn: count(&|row| cell_of(block, "wearing", row) != Some(0)),
        charging: count(&|row| cell_of(block, "charging", row) == Some(1)),
        low_battery: count(&|row| cell_of(block, "battery", row).is_some_and(|battery| battery <= 15)),
        report_charging: count(&|row| cell_of(block, "charging", row).is_some()),
        report_battery: count(&|row| cell_of(block, "battery", row).is_some()),
        stored_bpm: count(&|row| cell_of(block, "bpm", row).is_some_and(|bpm| bpm > 0)),
        bpm: vital(block, ["bpm", "bpm_q"], rows),
        highest_bpm: bpm.iter().max().map_or(0, |bpm| *bpm as u32),
        respiration: vital(block, ["respiration_rate", "resp_q"], rows),
        spo2: vital(block, ["spo2", "spo2_q"], rows),
        steps: all("last_steps"),
        speed: all("speed"),
        energy: all("energy_exp"),
        gait_asymmetry: all("gait_asymmetry"),
        gait_speed: all("gait_speed"),
        gait_var: all("gait_var"),
        systolic: sum(rows.iter().filter_map(|row| pressure(block, *row).0)),
        diastolic: sum(rows.iter().filter_map(|row| pressure(block, *row).1)),
        active_minutes: active_minutes(block, rows),
        zone_ms: zone_ms(block, rows),
        // Compared with a reference of its own, in `latest`.
        newest: crate::measured::Measured::in_rows(block, rows[0]..rows[rows.len() - 1] + 1),
    }
}

/// Rows within an hour around a midnight, so that windows hold several of them.
fn any_hour(data_type: DataType) -> BoxedStrategy<Block> {
    any_block(data_type, MIDNIGHT_US - WINDOW_US * 6..MIDNIGHT_US + WINDOW_US * 6, 50)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn activity_cells_are_what_their_rows_say(block in any_hour(DataType::Activity)) {
        let cells = activity_cells(&block, |_| Some(HIGHEST_BPM));
        let wanted = rows_by_window(&block);
        prop_assert_eq!(cells.values().map(Vec::len).sum::<usize>(), wanted.len());
        for ((day, window), rows) in &wanted {
            let cell = cells[day].iter().find(|cell| cell.place.window() == *window).unwrap();
            prop_assert_eq!(cell, &reference(&block, cell.place, rows));
        }
    }

    #[test]
    fn a_place_says_what_the_local_clock_showed(block in any_hour(DataType::Activity)) {
        for (day, cells) in activity_cells(&block, |_| None) {
            for cell in cells {
                let start_us = cell.place.start_ms() * 1000;
                let zone = block.zone_of(block.times_us.partition_point(|time| *time < start_us));
                let mut clock = LocalClock::new(zone);
                prop_assert_eq!(clock.day(start_us), day);
                prop_assert_eq!(cell.place.local_minute(), clock.local_us(start_us).rem_euclid(DAY_US) / 60_000_000);
                prop_assert_eq!(cell.zone_ms, [0; ZONES], "no zones without a highest heart rate");
            }
        }
    }

    #[test]
    fn temperature_cells_are_what_their_rows_say(block in any_hour(DataType::Temperature)) {
        let cells = temperature_cells(&block);
        for ((day, window), rows) in &rows_by_window(&block) {
            let cell = cells[day].iter().find(|cell| cell.place.window() == *window).unwrap();
            prop_assert_eq!(cell.rows as usize, rows.len());
            for (sensor, name) in [(cell.sk1, "temp_sk1"), (cell.sk2, "temp_sk2")] {
                let values: Vec<i64> = rows.iter().filter_map(|row| cell_of(&block, name, *row)).map(i64::from).collect();
                prop_assert_eq!((sensor.count as usize, sensor.sum), (values.len(), values.iter().sum::<i64>()));
                let highest = values.iter().max().copied();
                prop_assert_eq!((sensor.count > 0).then_some(i64::from(sensor.highest)), highest);
                let mean = values.iter().sum::<i64>() as f64 / values.len() as f64;
                prop_assert_eq!(sensor.mean_hundredths(), highest.map(|_| (mean + 0.5).floor() as i64));
            }
        }
    }

    #[test]
    fn stage_cells_hold_each_epoch_once_in_the_order_of_time(block in any_hour(DataType::Sleep)) {
        let cells: Vec<StageCell> = stage_cells(&block).into_values().flatten().collect();
        let epochs: Vec<(i64, i64)> =
            cells.iter().flat_map(|cell| &cell.epochs).map(|epoch| (epoch.time_ms, epoch.stage.state())).collect();
        let rows = 0..block.rows();
        let stages = rows.filter_map(|row| {
            let state = cell_of(&block, "sleep_state", row).filter(|state| (0..4).contains(state))?;
            Some((block.times_us[row].div_euclid(1000), i64::from(state)))
        });
        prop_assert_eq!(epochs, stages.collect::<Vec<_>>());
        prop_assert_eq!(cells.iter().map(|cell| cell.rows as usize).sum::<usize>(), block.rows());
    }

    #[test]
    fn variability_cells_sum_each_measure(block in any_hour(DataType::HeartRateVariability)) {
        let cells = variability_cells(&block);
        for ((day, window), rows) in &rows_by_window(&block) {
            let cell = cells[day].iter().find(|cell| cell.place.window() == *window).unwrap();
            for (measure, column) in cell.measures.0.iter().zip(DataType::HeartRateVariability.columns()) {
                let values: Vec<i32> = rows.iter().filter_map(|row| cell_of(&block, column.name, *row)).collect();
                prop_assert_eq!(*measure, sum(values.into_iter()), "{}", column.name);
            }
        }
    }

    /// Slots of thirty minutes are the sums of their six windows on the local clock.
    #[test]
    fn half_hours_add_up_their_windows(block in any_block(DataType::Activity, MIDNIGHT_US..MIDNIGHT_US + DAY_US, 80)) {
        for cells in activity_cells(&block, |_| Some(HIGHEST_BPM)).into_values() {
            let mut day = DayCells::default();
            day.replace(i64::MIN..i64::MAX, cells);
            let slots = day.half_hours();
            for slot in &slots {
                prop_assert_eq!(slot.place.local_minute() % 30, 0);
                let start = slot.place.start_minute;
                let within: Vec<&ActivityCell> =
                    day.cells().iter().filter(|cell| (start..start + 30).contains(&cell.place.start_minute)).collect();
                prop_assert_eq!(slot.rows, within.iter().map(|cell| cell.rows).sum::<u32>());
                prop_assert_eq!(slot.steps.sum, within.iter().map(|cell| cell.steps.sum).sum::<u64>());
                prop_assert_eq!(slot.bpm.values.count, within.iter().map(|cell| cell.bpm.values.count).sum::<u32>());
                prop_assert_eq!(slot.highest_bpm, within.iter().map(|cell| cell.highest_bpm).max().unwrap());
            }
            let rows = |cells: &[ActivityCell]| cells.iter().map(|cell| cell.rows).sum::<u32>();
            prop_assert_eq!(rows(&slots), rows(day.cells()), "no window is lost or counted twice");
        }
    }

    /// A day's cells behave as a map by window.
    #[test]
    fn replaced_windows_are_those_and_no_others(
        block in any_block(DataType::Temperature, MIDNIGHT_US..MIDNIGHT_US + WINDOW_US * 20, 40),
        from in 0_i64..22, length in 0_i64..22,
    ) {
        let cells: Vec<TemperatureCell> = temperature_cells(&block).into_values().flatten().collect();
        // Windows of two zones may lie on two days; here all are of one.
        let mut map: BTreeMap<i64, TemperatureCell> = cells.into_iter().map(|cell| (cell.place.window(), cell)).collect();
        let mut day = DayCells::default();
        day.replace(i64::MIN..i64::MAX, map.values().cloned());
        let first = MIDNIGHT_US / WINDOW_US + from;
        let range = first..first + length;
        let in_range: Vec<TemperatureCell> = map.range(range.clone()).map(|(_, cell)| cell.clone()).collect();
        prop_assert_eq!(day.in_windows(range.clone()), in_range.as_slice());
        for window in first - 1..=first + length {
            prop_assert_eq!(day.in_window(window), map.get(&window));
        }
        day.replace(range.clone(), []);
        map.retain(|window, _| !range.contains(window));
        prop_assert_eq!(day.cells().to_vec(), map.into_values().collect::<Vec<_>>());
    }

    #[test]
    fn means_are_rounded_half_up(values in proptest::collection::vec(0_i32..100_000, 1..20), factor in 1_u64..200) {
        let sum = sum(values.iter().copied());
        let exact = values.iter().map(|value| i128::from(*value)).sum::<i128>() * i128::from(factor);
        let count = values.len() as i128;
        // The nearest integer; of two equally near the upper one.
        let excess = 2 * (i128::from(sum.scaled_mean(factor).unwrap()) * count - exact);
        prop_assert!(-count < excess && excess <= count, "{}", excess);
    }
}

#[test]
fn a_window_whose_rows_are_half_worn_is_not_worn() {
    let cell =
        |rows, worn| ActivityCell { rows, worn, ..ActivityCell::at(Place { start_minute: 0, offset_minutes: 0 }) };
    for (rows, worn, is_worn) in
        [(0, 0, false), (1, 0, false), (1, 1, true), (2, 1, false), (5, 3, true), (5, 2, false)]
    {
        assert_eq!(cell(rows, worn).is_wearing(), is_worn, "{worn} of {rows}");
    }
}

#[test]
fn a_row_represents_its_share_of_the_window_and_at_most_a_minute() {
    let row_ms =
        |rows| ActivityCell { rows, ..ActivityCell::at(Place { start_minute: 0, offset_minutes: 0 }) }.row_ms();
    for (rows, ms) in [(0, 60_000), (1, 60_000), (5, 60_000), (6, 50_000), (30, 10_000), (300, 1000), (301, 996)] {
        assert_eq!(row_ms(rows), ms, "{rows}");
    }
}

#[test]
fn places_before_1970_and_with_odd_offsets_are_on_the_local_clock() {
    for (start_minute, offset_minutes, local_minute, half_hour) in [
        (0, 0, 0, 0),
        (-5, 0, 1435, -30),
        (0, 345, 345, -15),
        (20, 345, 365, 15),
        (0, -210, 1230, 0),
        (1435, 845, 840, 1435),
    ] {
        let place = Place { start_minute, offset_minutes };
        assert_eq!(place.local_minute(), local_minute, "{start_minute} {offset_minutes}");
        assert_eq!(place.half_hour().start_minute, half_hour, "{start_minute} {offset_minutes}");
        assert_eq!(place.half_hour().local_minute() % 30, 0);
    }
}
