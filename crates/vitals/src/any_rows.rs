//! Rows of any data type for property tests: every cell is one that an upload may hold.

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::select;

use crate::block::{Block, Cells};
use crate::registry::{Channel, Column, DataType, Kind, NULL, TestKind};
use crate::zone::ZoneRuns;

/// 2025-11-20T00:00Z.
pub const MIDNIGHT_US: i64 = 1_763_596_800_000_000;

/// Returns a cell of a column, now and then none, and often at an end of its range.
pub fn any_cell(column: &Column) -> BoxedStrategy<i32> {
    let steps = column.steps_per_unit();
    let (low, high) = match column.kind {
        Kind::Number { min, max, .. } => (min * steps, max * steps),
        Kind::Hex => (0, 255),
        Kind::TestType => (0, TestKind::ALL.len() as i32 - 1),
        Kind::Text { .. } => return Just(NULL).boxed(),
    };
    let gaps: Vec<i32> = column.gaps.iter().map(|gap| gap * steps).collect();
    let outside_gaps = move |cell: &i32| !gaps.contains(cell);
    prop_oneof![
        2 => Just(NULL),
        1 => Just(low),
        1 => Just(high),
        8 => (low..=high).prop_filter("a gap of the range", outside_gaps),
    ]
    .boxed()
}

/// Rows of a type at any times of a stretch, µs, in one zone. All cells of columns of the channel are those of one channel.
pub fn any_block(data_type: DataType, within_us: std::ops::Range<i64>, most_rows: usize) -> BoxedStrategy<Block> {
    let times = btree_set(within_us, 0..=most_rows).prop_map(|times| times.into_iter().collect::<Vec<i64>>());
    let zones = select(vec!["UTC", "Europe/Zurich", "Asia/Kathmandu", "America/St_Johns", "Pacific/Kiritimati"]);
    (times, zones).prop_flat_map(move |(times, zone)| block_at(data_type, times, zone)).boxed()
}

/// Rows of a type at some times, which ascend, in a zone.
pub fn block_at(data_type: DataType, times_us: Vec<i64>, zone: &'static str) -> BoxedStrategy<Block> {
    let rows = times_us.len();
    let column = move |(at, column): (usize, &Column)| {
        let is_of_channel = data_type.channel_columns().contains(&at);
        match column.kind {
            Kind::Text { .. } => return Just(Cells::Constant(NULL)).boxed(),
            Kind::TestType => return Just(Cells::Constant(0)).boxed(),
            _ if is_of_channel => return Just(Cells::Constant(0x7e)).boxed(),
            _ => {}
        }
        prop_oneof![
            1 => Just(Cells::Constant(NULL)),
            3 => vec(any_cell(column), rows).prop_map(|cells| Cells::Values(cells).simplified()),
        ]
        .boxed()
    };
    let columns: Vec<BoxedStrategy<Cells>> = data_type.columns().iter().enumerate().map(column).collect();
    columns
        .prop_map(move |columns| Block {
            data_type,
            channel: Channel::default(),
            times_us: times_us.clone(),
            columns,
            zones: ZoneRuns::constant(zone.into(), rows),
        })
        .boxed()
}
