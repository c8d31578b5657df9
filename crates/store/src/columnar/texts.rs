//! Texts and zones from a batch.

use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::DataType as ArrowType;
use runtime::HashSet;
use vitals::block::Cells;
use vitals::registry::{Column, NULL};
use vitals::zone::{ZoneName, ZoneRuns, is_known_zone};

use super::faults::Faults;
use super::schema::ZONE;
use super::structure_fault::StructureFault;

/// The texts of an upload. Each different one is kept once, however many rows and batches repeat it.
///
/// A dictionary can be named by any number of rows, and the views of one buffer can overlap. So what is kept is held
/// to the bytes that were sent, which no sound upload exceeds.
#[derive(Debug)]
pub struct SharedTexts {
    known: HashSet<Arc<str>>,
    room: usize,
}

impl SharedTexts {
    /// No texts yet. `bytes_sent` is the size of the whole upload.
    pub fn within(bytes_sent: usize) -> Self {
        SharedTexts { known: HashSet::default(), room: bytes_sent }
    }

    /// A text; `None` when there is more of it than was sent.
    fn share(&mut self, text: &str) -> Option<Arc<str>> {
        if let Some(known) = self.known.get(text) {
            return Some(known.clone());
        }
        // A dictionary that many rows name would otherwise become gigabytes of an upload of kilobytes.
        self.room = self.room.checked_sub(text.len())?;
        let shared: Arc<str> = text.into();
        self.known.insert(shared.clone());
        Some(shared)
    }
}

/// What reads the text of one row that is not null; `None` when the array holds no texts.
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
            // Keys of nulls mean nothing, and without values there is none that they could be normalised to.
            let keys = if dictionary.values().is_empty() { Vec::new() } else { dictionary.normalized_keys() };
            Box::new(move |row| text(keys[row]))
        }
        _ => return None,
    })
}

/// The cells of a text column; `None` when the array holds no texts, or more than were sent.
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

/// The zone of each row: that of the batch's own column, or the one given where there is none.
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
    let (mut run, mut run_rows) = (otherwise.clone(), 0);
    for row in 0..rows {
        let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let name = if is_null { otherwise } else { text(row) };
        // Compared with the row before: zones come in long runs, and looking each of them up would cost more than the
        // row.
        if *name != *run {
            zones.push(run, run_rows);
            (run, run_rows) = (known_zone(name, otherwise)?, 0);
        }
        run_rows += 1;
    }
    zones.push(run, run_rows);
    Ok(zones)
}

fn known_zone(name: &str, otherwise: &ZoneName) -> Result<ZoneName, StructureFault> {
    if *name == **otherwise {
        return Ok(otherwise.clone());
    }
    if is_known_zone(name) { Ok(name.into()) } else { Err(StructureFault::UnknownZone(name.to_owned())) }
}
