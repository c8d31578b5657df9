//! Batches that this program wrote, back to blocks.
//!
//! Unlike [`super::read_batch`] this trusts the values and knows the types, so it only copies.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, Int32Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch, StringArray};
use arrow_schema::DataType as ArrowType;
use runtime::HashMap;
use vitals::block::{Block, Cells};
use vitals::registry::{Channel, Column, DataType, NULL};
use vitals::zone::ZoneRuns;

use super::schema::{TIMESTAMP, ZONE, arrow_schema};
use crate::error::{Result, StoreError};

/// Some consecutive rows of a batch.
#[derive(Clone, Debug)]
pub(crate) struct RowsOfBatch<'batch> {
    /// The batch.
    pub(crate) batch: &'batch RecordBatch,
    /// The rows.
    pub(crate) rows: Range<usize>,
}

/// Returns the block of rows of one channel that lie in several batches, in this order.
///
/// A column that the batches lack is null: the registry may have grown since they were written.
///
/// # Errors
/// [`StoreError::Damaged`] when a column is not of the type that this program writes.
pub(crate) fn block_of_rows(data_type: DataType, channel: Channel, parts: &[RowsOfBatch<'_>]) -> Result<Block> {
    let mut block = Block::empty(data_type, channel);
    for part in parts {
        let times = column_of(part, TIMESTAMP)?.as_primitive_opt::<TimestampMicrosecondType>();
        block.times_us.extend_from_slice(&times.ok_or_else(|| damaged(TIMESTAMP))?.values()[part.rows.clone()]);
    }
    for (position, column) in data_type.columns().iter().enumerate() {
        block.columns[position] = cells(data_type, position, column, parts)?;
    }
    for part in parts {
        add_zones(&mut block.zones, part)?;
    }
    Ok(block)
}

fn damaged(column: &str) -> StoreError {
    StoreError::Damaged(format!("column {column} of a segment cannot be read"))
}

fn column_of<'batch>(part: &RowsOfBatch<'batch>, name: &str) -> Result<&'batch dyn Array> {
    part.batch.column_by_name(name).map(AsRef::as_ref).ok_or_else(|| damaged(name))
}

fn cells(data_type: DataType, position: usize, column: &Column, parts: &[RowsOfBatch<'_>]) -> Result<Cells> {
    if parts.iter().all(|part| is_null(part, column)) {
        return Ok(Cells::Constant(NULL));
    }
    if column.is_text() {
        return texts(column, parts);
    }
    let expected = arrow_schema(data_type);
    let expected = expected.field(position + 1).data_type();
    let mut cells = Vec::with_capacity(parts.iter().map(|part| part.rows.len()).sum());
    for part in parts {
        let Some(array) = part.batch.column_by_name(column.name) else {
            cells.resize(cells.len() + part.rows.len(), NULL);
            continue;
        };
        let before = cells.len();
        add_cells(&mut cells, column, expected, array.as_ref(), &part.rows)?;
        if let Some(nulls) = array.nulls().filter(|nulls| nulls.null_count() > 0) {
            for (cell, row) in cells[before..].iter_mut().zip(part.rows.clone()) {
                if nulls.is_null(row) {
                    *cell = NULL;
                }
            }
        }
    }
    Ok(Cells::Values(cells).simplified())
}

fn is_null(part: &RowsOfBatch<'_>, column: &Column) -> bool {
    part.batch.column_by_name(column.name).is_none_or(|array| array.null_count() == array.len())
}

fn add_cells(
    cells: &mut Vec<i32>,
    column: &Column,
    expected: &ArrowType,
    array: &dyn Array,
    rows: &Range<usize>,
) -> Result<()> {
    let wrong = || damaged(column.name);
    match expected {
        ArrowType::Int32 => {
            let array = array.as_primitive_opt::<Int32Type>().ok_or_else(wrong)?;
            cells.extend_from_slice(&array.values()[rows.clone()]);
        }
        ArrowType::Float64 => {
            if let Some(found) = array.as_primitive_opt::<Float64Type>() {
                let steps = f64::from(column.steps_per_unit());
                cells.extend(found.values()[rows.clone()].iter().map(|value| (value * steps).round() as i32));
                return Ok(());
            }
            // Files of format 1.
            let found = array.as_primitive_opt::<Decimal128Type>().ok_or_else(wrong)?;
            if i32::from(found.scale()) != i32::from(column.decimals()) {
                return Err(wrong());
            }
            cells.extend(found.values()[rows.clone()].iter().map(|value| *value as i32));
        }
        _ => {
            let coded = array.as_dictionary_opt::<Int32Type>().ok_or_else(wrong)?;
            let names = coded.values().as_string_opt::<i32>().ok_or_else(wrong)?;
            let cell_of_key: Vec<i32> =
                names.iter().map(|name| code_of(column, name)).collect::<Option<_>>().ok_or_else(wrong)?;
            let code = |key: &i32| cell_of_key.get(*key as usize).copied().unwrap_or(NULL);
            cells.extend(coded.keys().values()[rows.clone()].iter().map(code));
        }
    }
    Ok(())
}

fn code_of(column: &Column, name: Option<&str>) -> Option<i32> {
    match name {
        None => Some(NULL),
        Some(name) => column.cell_from_text(name).ok(),
    }
}

fn texts(column: &Column, parts: &[RowsOfBatch<'_>]) -> Result<Cells> {
    let mut shared: HashMap<&str, Arc<str>> = HashMap::default();
    let mut texts = Vec::new();
    for part in parts {
        let Some(array) = part.batch.column_by_name(column.name) else {
            texts.resize(texts.len() + part.rows.len(), None);
            continue;
        };
        let array: &StringArray = array.as_string_opt().ok_or_else(|| damaged(column.name))?;
        for row in part.rows.clone() {
            let text = array.is_valid(row).then(|| array.value(row));
            texts.push(text.map(|text| shared.entry(text).or_insert_with(|| text.into()).clone()));
        }
    }
    Ok(Cells::Text(texts).simplified())
}

fn add_zones(zones: &mut ZoneRuns, part: &RowsOfBatch<'_>) -> Result<()> {
    let wrong = || damaged(ZONE);
    let coded = column_of(part, ZONE)?.as_dictionary_opt::<Int32Type>().ok_or_else(wrong)?;
    let names = coded.values().as_string_opt::<i32>().ok_or_else(wrong)?;
    for run in coded.keys().values()[part.rows.clone()].chunk_by(|one, other| one == other) {
        // Files lie in a store that others can write to, so a key is not believed.
        let key = usize::try_from(run[0]).ok().filter(|key| *key < names.len()).ok_or_else(wrong)?;
        zones.push(names.value(key).into(), run.len());
    }
    Ok(())
}
