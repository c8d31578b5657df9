//! Blocks to record batches.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use arrow_array::builder::StringBuilder;
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, Int32Array, RecordBatch, StringArray, TimestampMicrosecondArray,
    new_null_array,
};
use arrow_schema::{DataType as ArrowType, Schema};
use vitals::block::{Block, Cells};
use vitals::registry::{Column, DataType, Kind, NULL, TestKind};
use vitals::zone::ZoneName;

use super::order::merged;
use super::schema::arrow_schema;
use crate::error::Result;

/// Some consecutive rows of a block.
#[derive(Clone, Debug)]
pub(crate) struct Run<'block> {
    /// The block.
    pub(crate) block: &'block Block,
    /// The rows.
    pub(crate) rows: Range<usize>,
}

/// One batch of the rows of blocks of one type, ordered by (time, channel).
pub fn record_batch(data_type: DataType, blocks: &[&Block]) -> Result<RecordBatch> {
    let filled: Vec<&Block> = blocks.iter().copied().filter(|block| !block.is_empty()).collect();
    match filled.as_slice() {
        [] => Ok(RecordBatch::new_empty(arrow_schema(data_type))),
        [block] => batch_of_runs(data_type, &[Run { block, rows: 0..block.rows() }]),
        several => {
            let block = merged(several);
            batch_of_runs(data_type, &[Run { block: &block, rows: 0..block.rows() }])
        }
    }
}

/// Does the same as [`record_batch`], cut into batches of at most `max_rows` rows.
pub fn record_batches(data_type: DataType, blocks: &[&Block], max_rows: usize) -> Result<Vec<RecordBatch>> {
    let whole = record_batch(data_type, blocks)?;
    let starts = (0..whole.num_rows()).step_by(max_rows.max(1));
    Ok(starts.map(|start| whole.slice(start, max_rows.min(whole.num_rows() - start))).collect())
}

/// One batch of runs, one after the other as they are given.
pub(crate) fn batch_of_runs(data_type: DataType, runs: &[Run<'_>]) -> Result<RecordBatch> {
    let schema = arrow_schema(data_type);
    let mut arrays = Vec::with_capacity(schema.fields().len());
    arrays.push(times(runs));
    for (position, column) in data_type.columns().iter().enumerate() {
        arrays.push(array_of(&schema, position, column, runs)?);
    }
    arrays.push(zones(runs)?);
    Ok(RecordBatch::try_new(schema, arrays)?)
}

fn row_count(runs: &[Run<'_>]) -> usize {
    runs.iter().map(|run| run.rows.len()).sum()
}

fn times(runs: &[Run<'_>]) -> ArrayRef {
    let mut times_us = Vec::with_capacity(row_count(runs));
    for run in runs {
        times_us.extend_from_slice(&run.block.times_us[run.rows.clone()]);
    }
    Arc::new(TimestampMicrosecondArray::from(times_us).with_timezone("UTC"))
}

fn array_of(schema: &Schema, position: usize, column: &Column, runs: &[Run<'_>]) -> Result<ArrayRef> {
    let arrow_type = schema.field(position + 1).data_type();
    // Most columns of most bracelets are empty.
    if column.nullable && runs.iter().all(|run| run.block.columns[position] == Cells::Constant(NULL)) {
        return Ok(new_null_array(arrow_type, row_count(runs)));
    }
    if column.is_text() {
        return Ok(texts(position, runs));
    }
    let cells = cells(position, runs);
    match (column.kind, arrow_type) {
        (Kind::Hex, _) => coded(cells, &HEX_NAMES),
        (Kind::TestType, _) => coded(cells, &TEST_NAMES),
        (_, ArrowType::Float64) => {
            // A quotient of integers is the float nearest to the decimal; a product with 0.001 would not be.
            let steps = f64::from(column.steps_per_unit());
            let array: Float64Array = cells.unary(|cell| f64::from(cell) / steps);
            Ok(Arc::new(array))
        }
        _ => Ok(Arc::new(cells)),
    }
}

/// Returns the cells of a column, null where they are [`NULL`].
fn cells(position: usize, runs: &[Run<'_>]) -> Int32Array {
    let mut values = Vec::with_capacity(row_count(runs));
    for run in runs {
        match &run.block.columns[position] {
            Cells::Constant(cell) => values.resize(values.len() + run.rows.len(), *cell),
            Cells::Values(cells) => values.extend_from_slice(&cells[run.rows.clone()]),
            Cells::Text(_) => values.resize(values.len() + run.rows.len(), NULL),
        }
    }
    // Looked for first: columns without nulls are the rule, and an array without a mask is read faster everywhere.
    let nulls = values.contains(&NULL).then(|| values.iter().map(|cell| *cell != NULL).collect::<Vec<bool>>().into());
    Int32Array::new(values.into(), nulls)
}

fn texts(position: usize, runs: &[Run<'_>]) -> ArrayRef {
    let mut builder = StringBuilder::new();
    for run in runs {
        for row in run.rows.clone() {
            builder.append_option(run.block.columns[position].text(row));
        }
    }
    Arc::new(builder.finish())
}

/// All names of a coded column; a cell is the position of its name. Shared by all batches, so that a stream of them
/// carries the dictionary once.
static HEX_NAMES: LazyLock<ArrayRef> =
    LazyLock::new(|| Arc::new(StringArray::from_iter_values((0..256).map(|code| format!("{code:#04x}")))));
static TEST_NAMES: LazyLock<ArrayRef> =
    LazyLock::new(|| Arc::new(StringArray::from_iter_values(TestKind::ALL.iter().map(|kind| kind.name))));

fn coded(cells: Int32Array, names: &LazyLock<ArrayRef>) -> Result<ArrayRef> {
    let array = DictionaryArray::<Int32Type>::try_new(cells, ArrayRef::clone(names));
    Ok(Arc::new(array?))
}

fn zones(runs: &[Run<'_>]) -> Result<ArrayRef> {
    let mut names: Vec<ZoneName> = Vec::new();
    let mut keys: Vec<i32> = Vec::with_capacity(row_count(runs));
    for run in runs {
        for (rows, zone) in run.block.zones.slice(run.rows.clone()).iter() {
            let known = names.iter().position(|name| name == zone);
            let key = known.unwrap_or_else(|| {
                names.push(zone.clone());
                names.len() - 1
            });
            keys.resize(keys.len() + rows.len(), key as i32);
        }
    }
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(names.iter().map(|name| &**name)));
    let array = DictionaryArray::<Int32Type>::try_new(Int32Array::from(keys), names);
    Ok(Arc::new(array?))
}
