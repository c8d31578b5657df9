//! A record batch from outside: what an upload of Arrow IPC goes through before it is taken in like any other sync.

use std::sync::Arc;

use arrow_array::{Array as _, RecordBatch};
use arrow_schema::{DataType as ArrowType, Schema};
use runtime::HashSet;
use vitals::block::Cells;
use vitals::intake::{Batch, Fault};
use vitals::registry::{DataType, NULL};
use vitals::zone::ZoneName;

use super::faults::Faults;
use super::schema::{TIMESTAMP, ZONE};
use super::structure_fault::StructureFault;
use super::texts::SharedTexts;
use super::{cells, texts, times};

/// The derived column of JSON and CSV answers. Anyone who sends it back means nothing by it.
const LOCAL_DATE: &str = "date";

/// Reads the rows of a batch with the registry's column names.
///
/// `timestamp` is an integer in ms or an Arrow timestamp of any unit (nanoseconds are cut to microseconds). Numbers
/// can be integers, floats or decimals of any width, in the column's unit, or booleans where the column is 0 or 1;
/// codes are text or integers; any of it can be dictionary-encoded. A column that is not there is null. `zone` and
/// `date` may be there: the first gives each row's zone where it is not null, the second is ignored. Values that
/// cannot be cells are noted as faults of their rows, one a row. `texts` are those of the whole upload.
///
/// # Errors
/// [`StructureFault`] names the column that makes the batch unreadable.
pub fn read_batch(
    data_type: DataType,
    batch: &RecordBatch,
    zone: &ZoneName,
    texts: &mut SharedTexts,
) -> Result<Batch, StructureFault> {
    // Before any cell is read: a column that nobody knows is more often misspelled than meant to be lost.
    check_schema(data_type, batch.schema_ref())?;
    let timestamp = batch.column_by_name(TIMESTAMP).ok_or(StructureFault::NoTimestamp)?;
    let times_us = times::read(timestamp.as_ref());
    let times_us = times_us.ok_or_else(|| StructureFault::WrongKind(TIMESTAMP.to_owned()))?;

    let mut faults = Faults::default();
    let mut columns = Vec::with_capacity(data_type.columns().len());
    for column in data_type.columns() {
        // A bad value rejects its row alone, and the row is reported with its column.
        faults.turn_to(column.name);
        let read = match batch.column_by_name(column.name) {
            Some(array) if column.is_text() => texts::read(column, array.as_ref(), texts, &mut faults),
            Some(array) => cells::read(column, array.as_ref(), &mut faults),
            None => Some(Cells::Constant(NULL)),
        };
        columns.push(read.ok_or_else(|| StructureFault::WrongKind(column.name.to_owned()))?);
    }
    let zones = texts::read_zones(batch.column_by_name(ZONE).map(AsRef::as_ref), zone, batch.num_rows())?;
    Ok(Batch { times_us, columns, faults: faults.into_vec(), zones: Some(zones) })
}

/// Returns the most memory that [`read_batch`] takes for a batch, bytes: for its rows and for what is wrong with them.
pub fn most_bytes_read(data_type: DataType, batch: &RecordBatch) -> usize {
    // Vectors that grow can have twice the room.
    const OF_FAULT: usize = 2 * size_of::<Fault>() + size_of::<bool>();
    const OF_ZONE: usize = 2 * size_of::<(u32, ZoneName)>() + 64;
    /// The row's own pointer, an entry in the table of known texts, and a short text.
    const OF_TEXT: usize = 3 * size_of::<Arc<str>>() + 48;
    /// The cell, and the key of a dictionary.
    const OF_CELL: usize = size_of::<i32>() + size_of::<usize>();
    let is_given = |name: &str| batch.column_by_name(name).filter(|array| *array.data_type() != ArrowType::Null);
    let mut of_row = size_of::<i64>() + OF_FAULT + is_given(ZONE).map_or(0, |_| OF_ZONE);
    let mut of_texts = 0;
    for column in data_type.columns() {
        match is_given(column.name) {
            Some(array) if column.is_text() => {
                of_row += OF_TEXT;
                of_texts += array.get_array_memory_size();
            }
            Some(_) => of_row += OF_CELL,
            None => {}
        }
    }
    size_of::<Batch>() + data_type.columns().len() * size_of::<Cells>() + batch.num_rows() * of_row + of_texts
}

/// Holds the schema of an upload to the columns that there are, before any of its batches is decoded.
///
/// Lists, structures and dictionaries of dictionaries are of the wrong kind for every column, `date` among them.
///
/// # Errors
/// [`StructureFault`] names the first column at fault.
pub fn check_schema(data_type: DataType, schema: &Schema) -> Result<(), StructureFault> {
    let mut seen = HashSet::default();
    for field in schema.fields() {
        let name = field.name();
        if !seen.insert(name) {
            return Err(StructureFault::RepeatedColumn(name.clone()));
        }
        let ours = [TIMESTAMP, ZONE, LOCAL_DATE].contains(&name.as_str());
        if !ours && data_type.column(name).is_none() {
            return Err(StructureFault::UnknownColumn(name.clone()));
        }
        if !is_flat(field.data_type()) {
            return Err(StructureFault::WrongKind(name.clone()));
        }
    }
    Ok(())
}

/// Returns whether a type is one value a row, perhaps by way of a dictionary. A dictionary of nothing but nulls has any
/// number of entries and no bytes, so it is none.
fn is_flat(arrow_type: &ArrowType) -> bool {
    match arrow_type {
        ArrowType::Dictionary(_, value) => {
            is_flat(value) && !matches!(**value, ArrowType::Dictionary(..) | ArrowType::Null)
        }
        ArrowType::RunEndEncoded(..) => false,
        other => !other.is_nested(),
    }
}
