//! Random blocks for the property tests: of every type, with values that the registry allows.

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use vitals::block::{Block, Cells};
use vitals::registry::{Column, DataType, Kind, NULL, TestKind};
use vitals::zone::ZoneRuns;

/// 2026-11-20T00:00:00Z.
pub(crate) const DAY_START_US: i64 = 1_795_132_800_000_000;

/// Returns any data type.
pub(crate) fn data_types() -> impl Strategy<Value = DataType> {
    proptest::sample::select(DataType::ALL.to_vec())
}

/// Blocks of one type, one a channel, in the order of the channels; their times lie within a few seconds.
pub(crate) fn blocks_of(data_type: DataType, most_rows: usize) -> impl Strategy<Value = Vec<Block>> {
    let channels = btree_set(channel_cells(data_type), 1..4);
    channels.prop_flat_map(move |channels| {
        channels.into_iter().map(|cells| block_of(data_type, cells, most_rows)).collect::<Vec<_>>().prop_map(
            |mut blocks| {
                blocks.sort_by_key(|block| block.channel);
                blocks
            },
        )
    })
}

fn channel_cells(data_type: DataType) -> BoxedStrategy<Vec<i32>> {
    match data_type {
        DataType::Ppg2 => vec(prop_oneof![Just(NULL), 0..256], 2).boxed(),
        DataType::Tests => (0..TestKind::ALL.len() as i32).prop_map(|code| vec![code]).boxed(),
        _ => Just(Vec::new()).boxed(),
    }
}

fn block_of(data_type: DataType, channel: Vec<i32>, most_rows: usize) -> impl Strategy<Value = Block> {
    btree_set(0_i64..20_000_000, 1..most_rows).prop_flat_map(move |offsets_us| {
        let times_us: Vec<i64> = offsets_us.into_iter().map(|offset_us| DAY_START_US + offset_us).collect();
        let rows = times_us.len();
        let columns: Vec<_> = data_type.columns().iter().map(|column| cells_of(column, rows)).collect();
        let channel = channel.clone();
        (columns, 0..=rows).prop_map(move |(mut columns, cut)| {
            for (position, cell) in data_type.channel_columns().iter().zip(&channel) {
                columns[*position] = Cells::Constant(*cell);
            }
            if data_type == DataType::Tests {
                make_plausible(&mut columns, rows);
            }
            let mut zones = ZoneRuns::constant("Europe/Zurich".into(), cut);
            zones.push("UTC".into(), rows - cut);
            Block { data_type, channel: data_type.channel(&channel), times_us: times_us.clone(), columns, zones }
        })
    })
}

fn cells_of(column: &'static Column, rows: usize) -> BoxedStrategy<Cells> {
    let cell = match column.kind {
        Kind::Text { .. } => {
            let text = prop_oneof![Just(None), "[a-zäµ ]{0,9}".prop_map(|text| Some(text.as_str().into()))];
            return vec(text, rows).prop_map(|texts| Cells::Text(texts).simplified()).boxed();
        }
        Kind::Number { min, max, .. } => {
            let steps = column.steps_per_unit();
            let sound = move |cell: i32| if column.gaps.contains(&cell) { min * steps } else { cell };
            (min * steps..=max * steps).prop_map(sound).boxed()
        }
        Kind::Hex => (0..256).boxed(),
        Kind::TestType => (0..TestKind::ALL.len() as i32).boxed(),
    };
    let one = if column.nullable { prop_oneof![Just(NULL), cell].boxed() } else { cell };
    prop_oneof![
        one.clone().prop_map(Cells::Constant),
        vec(one, rows).prop_map(|cells| Cells::Values(cells).simplified())
    ]
    .boxed()
}

/// A unit and values that the kind of test allows.
fn make_plausible(columns: &mut [Cells], rows: usize) {
    let Some((name, min, max)) = TestKind::of_cell(columns[0].get(0)).and_then(|kind| kind.units.first()) else {
        return;
    };
    let (min, max) = ((min * 1000.0) as i32, (max * 1000.0) as i32);
    let values = (0..rows).map(|row| min + columns[1].get(row).rem_euclid(max - min)).collect();
    columns[1] = Cells::Values(values).simplified();
    columns[2] = Cells::Text(vec![Some((*name).into()); rows]);
}
