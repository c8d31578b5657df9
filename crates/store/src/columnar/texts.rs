//! Strings and time zones of an Arrow batch.

use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::DataType as ArrowType;
use runtime::HashSet;
use vitals::block::Cells;
use vitals::registry::{Column, NULL};
use vitals::zone::{ZoneName, ZoneRuns, known_zone};

use super::faults::Faults;
use super::schema::ZONE;
use super::structure_fault::StructureFault;

/// The strings of an upload, each kept once, however many rows and batches repeat it.
///
/// Any number of rows can refer to one entry of a dictionary, and the views of one buffer can overlap. So an upload of
/// kilobytes could become gigabytes; what is kept is limited to the bytes that were sent, which no valid upload exceeds.
#[derive(Debug)]
pub struct SharedTexts {
    known: HashSet<Arc<str>>,
    bytes_left: usize,
}

impl SharedTexts {
    /// Makes an empty set. `bytes_sent` is the size of the whole upload.
    pub fn within(bytes_sent: usize) -> Self {
        SharedTexts { known: HashSet::default(), bytes_left: bytes_sent }
    }

    /// Returns the shared string of a text; `None` when the strings exceed what was sent.
    fn share(&mut self, text: &str) -> Option<Arc<str>> {
        if let Some(known) = self.known.get(text) {
            return Some(known.clone());
        }
        self.bytes_left = self.bytes_left.checked_sub(text.len())?;
        let shared: Arc<str> = text.into();
        self.known.insert(shared.clone());
        Some(shared)
    }
}

/// Returns a function that reads the string of a row that is not null; `None` when the array holds no strings.
pub(super) fn text_reader<'array>(array: &'array dyn Array) -> Option<Box<dyn Fn(usize) -> &'array str + 'array>> {
    Some(match array.data_type() {
        ArrowType::Utf8 => {
            let texts = array.as_string::<i32>();
            Box::new(|row| texts.value(row))
        }
        ArrowType::LargeUtf8 => {
            let texts = array.as_string::<i64>();
            Box::new(|row| texts.value(row))
        }
        ArrowType::Utf8View => {
            let texts = array.as_string_view();
            Box::new(|row| texts.value(row))
        }
        ArrowType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary_opt()?;
            let text = text_reader(dictionary.values().as_ref())?;
            // Keys of null rows are arbitrary, and `normalized_keys` panics where there is no value to clamp them to.
            let keys = if dictionary.values().is_empty() { Vec::new() } else { dictionary.normalized_keys() };
            Box::new(move |row| text(keys[row]))
        }
        _ => return None,
    })
}

/// Returns the cells of a string column; `None` when the array holds no strings, or more than were sent.
pub(super) fn read(column: &Column, array: &dyn Array, shared: &mut SharedTexts, faults: &mut Faults) -> Option<Cells> {
    if *array.data_type() == ArrowType::Null {
        return Some(Cells::Constant(NULL));
    }
    if !column.is_text() {
        return None;
    }
    let text = text_reader(array)?;
    let nulls = array.logical_nulls();
    let mut texts = Vec::with_capacity(array.len());
    for row in 0..array.len() {
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            texts.push(None);
            continue;
        }
        let text = text(row);
        if let Err(error) = column.check_text(text) {
            faults.note(row, error);
            texts.push(None);
            continue;
        }
        texts.push(Some(shared.share(text)?));
    }
    Some(Cells::Text(texts).simplified())
}

/// Returns the zone of each row: from the column of the batch, or `otherwise` where there is none.
///
/// # Errors
/// A column of another type, or a name that is no IANA zone.
pub(super) fn read_zones(
    array: Option<&dyn Array>,
    otherwise: &ZoneName,
    rows: usize,
) -> Result<ZoneRuns, StructureFault> {
    let Some(array) = array.filter(|array| *array.data_type() != ArrowType::Null) else {
        return Ok(ZoneRuns::constant(otherwise.clone(), rows));
    };
    let text = text_reader(array).ok_or_else(|| StructureFault::WrongKind(ZONE.to_owned()))?;
    let nulls = array.logical_nulls();
    let mut zones = ZoneRuns::default();
    let (mut given, mut run, mut run_rows) = (&**otherwise, otherwise.clone(), 0);
    for row in 0..rows {
        let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let name = if is_null { otherwise } else { text(row) };
        // Zones come in long runs: looking the name up for each row would cost more than reading the row.
        if *name != *given {
            zones.push(run, run_rows);
            (given, run, run_rows) = (name, zone_named(name, otherwise)?, 0);
        }
        run_rows += 1;
    }
    zones.push(run, run_rows);
    Ok(zones)
}

fn zone_named(name: &str, otherwise: &ZoneName) -> Result<ZoneName, StructureFault> {
    if *name == **otherwise {
        return Ok(otherwise.clone());
    }
    known_zone(name).map(ZoneName::from).ok_or_else(|| StructureFault::UnknownZone(name.to_owned()))
}
