//! Intake of rows against the plainest judge: each row alone, by its time and its cells.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::any_rows::{MIDNIGHT_US, block_at};
use crate::block::{Block, Cells};
use crate::intake::{
    Accepted, Batch, EARLIEST_TIME, EARLIEST_US, FURTHEST_AHEAD_US, Fault, Intake, NAMED_REJECTIONS, NO_TIME,
    PAST_RETENTION, UNREADABLE_TIME,
};
use crate::registry::{CellError, DataType, NULL, TestKind};
use crate::zone::{ZoneName, ZoneRuns};

const NOW_US: i64 = MIDNIGHT_US;

fn utc() -> ZoneName {
    "UTC".into()
}

fn taken(data_type: DataType, batches: &[Batch]) -> Accepted {
    let mut intake = Intake::new(data_type, NOW_US);
    for batch in batches {
        intake.push(batch.clone(), &utc());
    }
    intake.finish()
}

fn batch(data_type: DataType, times_us: &[i64], columns: &[(&str, Cells)]) -> Batch {
    let mut all = vec![Cells::Constant(NULL); data_type.columns().len()];
    for (name, cells) in columns {
        all[data_type.column_index(name).unwrap()] = cells.clone();
    }
    Batch { times_us: times_us.to_vec(), columns: all, faults: Vec::new(), zones: None }
}

/// Returns a time of a row: mostly good, else of every kind of bad one.
fn any_time_us() -> impl Strategy<Value = i64> {
    prop_oneof![
        12 => NOW_US - 3_000..NOW_US + 3_000,
        1 => Just(NO_TIME),
        1 => Just(EARLIEST_US - 1),
        1 => Just(EARLIEST_US),
        1 => Just(NOW_US + FURTHEST_AHEAD_US),
        1 => Just(NOW_US + FURTHEST_AHEAD_US + 1),
        1 => any::<i64>(),
    ]
}

fn is_good_time(time_us: i64) -> bool {
    (EARLIEST_US..=NOW_US + FURTHEST_AHEAD_US).contains(&time_us)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Every row is stored or rejected, each by itself, whatever its neighbours are.
    #[test]
    fn rows_are_judged_one_by_one(
        times_us in vec(any_time_us(), 0..30), faulty in vec(any::<prop::sample::Index>(), 0..5), cut in 0_usize..30,
    ) {
        let rows = times_us.len();
        let bpm: Vec<i32> = (0..rows as i32).map(|row| 50 + row).collect();
        let mut whole = batch(DataType::Activity, &times_us, &[("bpm", Cells::Values(bpm))]);
        let faulty: Vec<u32> = if rows == 0 { Vec::new() } else { faulty.iter().map(|at| at.index(rows) as u32).collect() };
        whole.faults = faulty.iter().map(|row| Fault { row: *row, column: "spo2", error: CellError::OutOfRange }).collect();
        let is_good = |row: usize| is_good_time(times_us[row]) && !faulty.contains(&(row as u32));
        let good: Vec<usize> = (0..rows).filter(|row| is_good(*row)).collect();

        let accepted = taken(DataType::Activity, std::slice::from_ref(&whole));
        prop_assert_eq!(accepted.rejected as usize, rows - good.len());
        let stored = accepted.blocks.first();
        prop_assert_eq!(accepted.blocks.len(), usize::from(!good.is_empty()));
        if let Some(block) = stored {
            prop_assert_eq!(&block.times_us, &good.iter().map(|row| times_us[*row]).collect::<Vec<_>>());
            let bpm: Vec<i32> = (0..block.rows()).map(|row| block.column("bpm").get(row)).collect();
            prop_assert_eq!(bpm, good.iter().map(|row| 50 + *row as i32).collect::<Vec<_>>());
        }
        let named: Vec<usize> = accepted.rejections.iter().map(|one| one.index as usize).collect();
        prop_assert_eq!(named, (0..rows).filter(|row| !is_good(*row)).collect::<Vec<_>>());
        for one in &accepted.rejections {
            let row = one.index as usize;
            let column = if faulty.contains(&(row as u32)) { "spo2" } else { "timestamp" };
            prop_assert_eq!(one.column, column);
        }

        // The same rows in two batches are the same rows.
        let cut = cut.min(rows);
        let part = |range: std::ops::Range<usize>| Batch {
            times_us: times_us[range.clone()].to_vec(),
            columns: whole.columns.iter().map(|cells| match cells {
                Cells::Values(cells) => Cells::Values(cells[range.clone()].to_vec()),
                other => other.clone(),
            }).collect(),
            faults: whole.faults.iter().filter(|fault| range.contains(&(fault.row as usize)))
                .map(|fault| Fault { row: fault.row - range.start as u32, ..*fault }).collect(),
            zones: None,
        };
        let in_two = taken(DataType::Activity, &[part(0..cut), part(cut..rows)]);
        prop_assert_eq!((in_two.rejected, &in_two.rejections), (accepted.rejected, &accepted.rejections));
        let times = |accepted: &Accepted| accepted.blocks.iter().flat_map(|block| block.times_us.clone()).collect::<Vec<_>>();
        prop_assert_eq!(times(&in_two), times(&accepted));
    }

    /// Channels are sorted apart, and each keeps its rows in the order they were sent.
    #[test]
    fn rows_of_a_colour_and_position_are_a_block_of_their_own(rows in vec((0_usize..3, 0_i32..3), 1..40)) {
        let colours = [0x7e, 0x7b, 0x7c];
        let times_us: Vec<i64> = (0..rows.len() as i64).map(|row| NOW_US - row).collect();
        let sent = batch(
            DataType::Ppg2,
            &times_us,
            &[
                ("metric_id", Cells::Values(rows.iter().map(|row| colours[row.0]).collect())),
                ("led_pd_pos", Cells::Values(rows.iter().map(|row| row.1).collect())),
                ("value", Cells::Values((0..rows.len() as i32).collect())),
            ],
        );
        let accepted = taken(DataType::Ppg2, &[sent]);
        let mut seen = 0;
        for block in &accepted.blocks {
            let colour = colours.iter().position(|colour| *colour == block.column("metric_id").get(0)).unwrap();
            let position = block.column("led_pd_pos").get(0);
            let wanted: Vec<i32> = (0..rows.len()).filter(|row| rows[*row] == (colour, position)).map(|row| row as i32).collect();
            let values: Vec<i32> = (0..block.rows()).map(|row| block.column("value").get(row)).collect();
            prop_assert_eq!(values, wanted);
            seen += block.rows();
        }
        prop_assert_eq!(seen, rows.len());
        prop_assert_eq!(accepted.rejected, 0);
    }

    #[test]
    fn rows_with_zones_of_their_own_keep_them(times in vec(0_i64..1000, 2..20), travels in 0_usize..20) {
        let mut sent = batch(DataType::Sleep, &times.iter().map(|time| NOW_US + time).collect::<Vec<_>>(), &[]);
        sent.columns[0] = Cells::Constant(1);
        let travels = travels.min(times.len());
        let mut zones = ZoneRuns::constant("Asia/Tokyo".into(), travels);
        zones.push("Europe/Zurich".into(), times.len() - travels);
        sent.zones = Some(zones.clone());
        let accepted = taken(DataType::Sleep, &[sent]);
        prop_assert_eq!(&accepted.blocks[0].zones, &zones);
    }

    /// Whatever cells a type allows, rows of them are taken in and no row vanishes.
    #[test]
    fn cells_that_a_type_allows_are_taken(
        block in proptest::sample::select(DataType::ALL.to_vec()).prop_filter("spot measurements have rules of their own", |of| *of != DataType::Tests)
            .prop_flat_map(|data_type| block_at(data_type, (0..8).map(|row| NOW_US + row).collect(), "UTC")),
    ) {
        let needed = |row: usize| block.data_type.columns().iter().zip(&block.columns).all(|(column, cells)| column.nullable || cells.get(row) != NULL);
        let whole = (0..8).filter(|row| needed(*row)).count();
        let sent = Batch { times_us: block.times_us.clone(), columns: block.columns.clone(), faults: Vec::new(), zones: None };
        let accepted = taken(block.data_type, &[sent]);
        prop_assert_eq!(accepted.blocks.iter().map(Block::rows).sum::<usize>(), whole);
        prop_assert_eq!(accepted.rejected as usize, 8 - whole);
    }
}

#[test]
fn times_have_sharp_limits_and_reasons() {
    let kept_from_us = NOW_US - 1_000_000;
    for (time_us, reason) in [
        (NO_TIME, Some("there is no time")),
        (UNREADABLE_TIME, Some("must be milliseconds since 1970 or ISO 8601 with an offset")),
        (EARLIEST_TIME, Some("before the year 2000")),
        (EARLIEST_US - 1, Some("before the year 2000")),
        (EARLIEST_US, Some(PAST_RETENTION)),
        (kept_from_us - 1, Some(PAST_RETENTION)),
        (kept_from_us, None),
        (NOW_US + FURTHEST_AHEAD_US, None),
        (NOW_US + FURTHEST_AHEAD_US + 1, Some("more than 24 h ahead")),
        (i64::MAX, Some("more than 24 h ahead")),
    ] {
        let mut intake = Intake::new(DataType::Activity, NOW_US).keeping_from(kept_from_us);
        intake.push(batch(DataType::Activity, &[time_us], &[("bpm", Cells::Constant(60))]), &utc());
        let accepted = intake.finish();
        assert_eq!(accepted.rejections.first().map(|one| one.reason.as_str()), reason, "{time_us}");
        assert_eq!(accepted.blocks.len(), usize::from(reason.is_none()), "{time_us}");
    }
    // Retention never lets rows in that are older than the earliest time of all.
    let mut intake = Intake::new(DataType::Activity, NOW_US).keeping_from(0);
    intake.push(batch(DataType::Activity, &[EARLIEST_US - 1], &[]), &utc());
    assert_eq!(intake.finish().rejected, 1);
}

#[test]
fn spot_measurements_have_the_units_and_ranges_of_their_kind() {
    let judged = |kind: &str, thousandths: i32, unit: Option<&str>| {
        let text = unit.map(std::sync::Arc::<str>::from);
        let sent = batch(
            DataType::Tests,
            &[NOW_US],
            &[
                ("test_type", Cells::Constant(TestKind::code(kind).unwrap())),
                ("value", Cells::Constant(thousandths)),
                ("unit", Cells::Text(vec![text])),
            ],
        );
        let accepted = taken(DataType::Tests, &[sent]);
        match accepted.rejections.first() {
            Some(rejection) => Err(rejection.column),
            None => Ok(accepted.blocks[0].column("unit").text(0).map(ToString::to_string)),
        }
    };
    let of = |unit: &str| Ok(Some(unit.to_owned()));
    assert_eq!(judged("temperature", 20_000, None), of("°C"));
    assert_eq!(judged("temperature", 19_999, None), Err("value"));
    assert_eq!(judged("temperature", 45_000, Some("°C")), of("°C"));
    assert_eq!(judged("temperature", 45_001, Some("°C")), Err("value"));
    assert_eq!(judged("temperature", 98_600, Some("°F")), Err("unit"));
    assert_eq!(judged("glucose", 5_500, None), of("mmol/L"));
    assert_eq!(judged("glucose", 99_000, None), Err("value"), "99 of the other unit");
    assert_eq!(judged("glucose", 99_000, Some("mg/dL")), of("mg/dL"));
    assert_eq!(judged("spo2", 100_000, None), of("%"));
    assert_eq!(judged("spo2", 100_001, None), Err("value"));
    assert_eq!(judged("heart_rate", 0, None), of("/min"), "no value is a value of its own");
    assert_eq!(judged("other", -5, Some("spoons")), of("spoons"));
    assert_eq!(judged("other", 7, None), Ok(None));
}

#[test]
fn the_first_hundred_rejections_are_named_in_order_however_they_are_found() {
    // Times are judged after faults: the fault of a late row must not push an early time out of the hundred.
    let mut times_us = vec![5; 150];
    times_us.extend(vec![NOW_US; 50]);
    let mut sent = batch(DataType::Activity, &times_us, &[]);
    sent.faults = (150..200).map(|row| Fault { row, column: "bpm", error: CellError::NotANumber }).collect();
    let accepted = taken(DataType::Activity, &[sent]);
    assert_eq!((accepted.rejected, accepted.rejections.len()), (200, NAMED_REJECTIONS));
    assert!(accepted.rejections.iter().map(|one| one.index).eq(0..100));
    assert!(accepted.blocks.is_empty());
}

#[test]
fn a_row_with_two_faults_is_rejected_once() {
    let mut sent = batch(DataType::Activity, &[5, NOW_US], &[]);
    sent.faults = vec![
        Fault { row: 0, column: "bpm", error: CellError::OutOfRange },
        Fault { row: 0, column: "spo2", error: CellError::OutOfRange },
    ];
    let accepted = taken(DataType::Activity, &[sent]);
    assert_eq!((accepted.rejected, accepted.rejections.len()), (1, 1));
    assert_eq!(
        (accepted.rejections[0].column, accepted.rejections[0].reason.as_str()),
        ("bpm", "out of range: must be 0 to 255 /min")
    );
}
