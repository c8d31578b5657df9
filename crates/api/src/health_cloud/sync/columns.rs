//! The rows of one data type, in each of their three forms: columns, an array of column blocks, an array of rows.

use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use vitals::block::Cells;
use vitals::intake::{Batch, Fault, NO_TIME};
use vitals::registry::{DataType, NULL, Rates};
use vitals::sample_time::{Decimal, EvenSampling};

use super::body::place::Place;
use super::cells::{Field, FieldSeed, TimeField, TimeSeed};

/// The most samples that one evenly sampled block may have: a day at 512 Hz.
const LONGEST_BLOCK: usize = 512 * 86_400;
/// A block of fewer rows is gathered like single rows. A batch has a vector for each column that there is, which for a
/// row or two would be fifty times the memory of their text.
const SHORT_BLOCK: usize = 64;

/// Reads what is under a data type.
pub(super) struct RowsSeed<'place> {
    pub data_type: DataType,
    pub place: &'place Place,
}

/// What a batch takes without its rows, bytes.
fn bytes_of_batch(data_type: DataType) -> usize {
    size_of::<Batch>() + data_type.columns().len() * size_of::<Cells>()
}

/// What a cell of a column takes, bytes; a text without its characters.
fn bytes_of_cell(data_type: DataType, index: usize) -> usize {
    if data_type.columns()[index].is_text() { size_of::<Option<Arc<str>>>() } else { size_of::<i32>() }
}

/// One object: columns of many rows, or one row.
struct ObjectSeed<'rows, 'place> {
    data_type: DataType,
    place: &'place Place,
    /// Rows that came one by one or a few at a time and are not a batch yet.
    rows: &'rows mut RowCollector,
    /// Whether it is in an array, where an object can be a row that lacks its time.
    in_array: bool,
}

impl<'de> DeserializeSeed<'de> for RowsSeed<'_> {
    type Value = Vec<Batch>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<Batch>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for RowsSeed<'_> {
    type Value = Vec<Batch>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never shown: the place of the fault is reported in words of our own.
        write!(formatter, "columns, blocks of columns, or rows under data.{}", self.data_type.name())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vec<Batch>, A::Error> {
        let mut rows = RowCollector::new(self.data_type);
        // An object that is not in an array is columns, also with one row: without a time it is a fault of structure.
        let object = ObjectSeed { data_type: self.data_type, place: self.place, rows: &mut rows, in_array: false };
        let block = object.visit_map(map)?;
        Ok(block.or_else(|| rows.take()).into_iter().collect())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut objects: A) -> Result<Vec<Batch>, A::Error> {
        let mut batches = Vec::new();
        let mut rows = RowCollector::new(self.data_type);
        loop {
            let object = ObjectSeed { data_type: self.data_type, place: self.place, rows: &mut rows, in_array: true };
            let Some(block) = objects.next_element_seed(object)? else {
                break;
            };
            if let Some(block) = block {
                // Those two are batches.
                self.place.take_room(self.data_type, 2 * bytes_of_batch(self.data_type))?;
                // The single rows before a block of columns come first.
                batches.extend(rows.take());
                batches.push(block);
            }
        }
        batches.extend(rows.take());
        Ok(batches)
    }
}

impl<'de> DeserializeSeed<'de> for ObjectSeed<'_, '_> {
    type Value = Option<Batch>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<Batch>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ObjectSeed<'_, '_> {
    type Value = Option<Batch>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "an object under data.{}", self.data_type.name())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<Batch>, A::Error> {
        let mut fields = Fields::default();
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            match &*key {
                "timestamp" => {
                    // The last one would win otherwise: a body that contradicts itself stores nothing (422).
                    if fields.times.is_some() {
                        return Err(self.fail("timestamp", "is given twice"));
                    }
                    let seed = TimeSeed { data_type: self.data_type, place: self.place };
                    fields.times = Some(map.next_value_seed(seed)?);
                }
                // Kept apart from the columns: no type may have a column of these names.
                "start" if fields.start.is_some() => return Err(self.fail("start", "is given twice")),
                "start" => fields.start = Some(self.decimal("start", map.next_value()?)?),
                "rate_hz" if fields.rate_hz.is_some() => return Err(self.fail("rate_hz", "is given twice")),
                "rate_hz" => fields.rate_hz = Some(self.decimal("rate_hz", map.next_value()?)?),
                // Raw metrics show it, and what they show can be sent back. It follows from time and
                // zone.
                "date" => map.next_value_seed(PassedOver { seed: &self, inside_array: false })?,
                name => {
                    // An unknown column is refused and not skipped: a typo would silently lose a signal for good.
                    let Some(index) = self.data_type.column_index(name) else {
                        return Err(self.fail(name, "is not a column of this type"));
                    };
                    if fields.columns.iter().any(|(column, _)| *column == index) {
                        return Err(self.fail(name, "is given twice"));
                    }
                    let seed = FieldSeed { data_type: self.data_type, index, place: self.place, inside_array: false };
                    let field = map.next_value_seed(seed)?;
                    fields.columns.push((index, field));
                }
            }
        }
        self.assemble(fields)
    }
}

/// What was in one object.
#[derive(Default)]
struct Fields {
    times: Option<TimeField>,
    start: Option<Decimal>,
    rate_hz: Option<Decimal>,
    columns: Vec<(usize, Field)>,
}

impl ObjectSeed<'_, '_> {
    fn fail<E: serde::de::Error>(&self, column: &str, message: &str) -> E {
        self.place.fail(format!("data.{}.{column}", self.data_type.name()), message)
    }

    /// Start and rate are read from their text: a binary float would move samples.
    fn decimal<E: serde::de::Error>(&self, name: &str, text: &RawValue) -> Result<Decimal, E> {
        let decimal = Decimal::parse(text.get());
        decimal.ok_or_else(|| self.fail(name, "is not a number of at most 20 digits, 12 behind the point"))
    }

    /// A rate belongs to the block and not to a row, so a wrong one is a fault of the body.
    fn check_rate<E: serde::de::Error>(&self, rate_hz: Decimal) -> Result<(), E> {
        match self.data_type.declaration().accepted_hz() {
            Some(Rates { lowest_hz, highest_hz }) if !rate_hz.is_between(lowest_hz, highest_hz) => {
                Err(self.fail("rate_hz", &format!("must be {lowest_hz} to {highest_hz}")))
            }
            _ => Ok(()),
        }
    }

    /// Gathers short rows, when there is room for them.
    fn append<E: serde::de::Error>(self, times_us: Vec<i64>, fields: Vec<(usize, Field)>) -> Result<(), E> {
        self.place.take_room(self.data_type, self.rows.bytes_for(times_us.len(), &fields))?;
        self.rows.append(times_us, fields);
        Ok(())
    }

    fn assemble<E: serde::de::Error>(self, fields: Fields) -> Result<Option<Batch>, E> {
        let times_us = match (fields.times, fields.start, fields.rate_hz) {
            (Some(TimeField::Each(times_us)), None, None) => times_us,
            // One time with an array cannot be meant: all its values would lie at the same moment.
            (Some(TimeField::One(time_us)), None, None) => {
                if let Some((index, _)) = fields.columns.iter().find(|(_, field)| field.rows().is_some()) {
                    let name = self.data_type.columns()[*index].name;
                    return Err(self.fail(name, "is an array while timestamp is not"));
                }
                self.append(vec![time_us], fields.columns)?;
                return Ok(None);
            }
            (None, Some(start_ms), Some(rate_hz)) => {
                let Some(rows) = fields.columns.iter().find_map(|(_, field)| field.rows()) else {
                    return Err(self.fail("start", "needs a column that is an array"));
                };
                // The times of a block are made here, eight bytes for each value of two characters.
                if rows > LONGEST_BLOCK {
                    return Err(self.fail("start", "is the start of a block longer than a day"));
                }
                // After the length, so that a block is called too long whatever its rate is.
                self.check_rate(rate_hz)?;
                let times_us = EvenSampling { start_ms, rate_hz }.times_us(rows);
                times_us.ok_or_else(|| self.fail("rate_hz", "gives no times with this start"))?
            }
            // The row is rejected for it like any other with a bad value.
            (None, None, None) if self.in_array && fields.columns.iter().all(|(_, field)| field.rows().is_none()) => {
                self.append(vec![NO_TIME], fields.columns)?;
                return Ok(None);
            }
            (None, None, None) => return Err(self.fail("timestamp", "is missing")),
            _ => {
                return Err(self.fail("timestamp", "or start with rate_hz must be given, not both"));
            }
        };
        let rows = times_us.len();
        if let Some((index, _)) =
            fields.columns.iter().find(|(_, field)| field.rows().is_some_and(|length| length != rows))
        {
            let name = self.data_type.columns()[*index].name;
            return Err(self.fail(name, &format!("has another length than the {rows} times")));
        }
        // Many short blocks of one sync become one batch here, so that they are stored as one chunk.
        if rows < SHORT_BLOCK {
            self.append(times_us, fields.columns)?;
            return Ok(None);
        }
        // Before the cells are made: a constant text is repeated for every row.
        self.place.take_room(self.data_type, bytes_of_block(self.data_type, &fields.columns, rows))?;
        let faults = faults_of(self.data_type, &fields.columns, rows);
        // A column that is left out is null in each row and costs nothing.
        let mut columns = vec![Cells::Constant(NULL); self.data_type.columns().len()];
        for (index, field) in fields.columns {
            columns[index] = field.into_cells(rows);
        }
        Ok(Some(Batch { times_us, columns, faults, zones: None }))
    }
}

/// Steps over `date`, in a row or as a column. It is derived and means nothing, but is no place to hide a tree in.
#[derive(Clone, Copy)]
struct PassedOver<'object, 'rows, 'place> {
    seed: &'object ObjectSeed<'rows, 'place>,
    inside_array: bool,
}

impl PassedOver<'_, '_, '_> {
    fn wrong_kind<E: serde::de::Error>(&self) -> E {
        self.seed.fail("date", "is of the wrong kind")
    }
}

impl<'de> DeserializeSeed<'de> for PassedOver<'_, '_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for PassedOver<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a date or an array of dates")
    }

    fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<(), A::Error> {
        Err(self.wrong_kind())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        // A column may be an array, its elements may not: deeper nesting is only ever an attempt to be slow.
        if self.inside_array {
            return Err(self.wrong_kind());
        }
        while elements.next_element_seed(PassedOver { inside_array: true, ..self })?.is_some() {}
        Ok(())
    }
}

/// What the rows of a long block take, bytes. A constant number takes nothing.
fn bytes_of_block(data_type: DataType, fields: &[(usize, Field)], rows: usize) -> usize {
    let is_long = |(index, field): &&(usize, Field)| field.rows().is_some() || data_type.columns()[*index].is_text();
    let cells: usize = fields.iter().filter(is_long).map(|(index, _)| bytes_of_cell(data_type, *index)).sum();
    rows * (size_of::<i64>() + cells) + bytes_of_faults(fields, rows)
}

/// What the faults of some rows take, bytes.
fn bytes_of_faults(fields: &[(usize, Field)], rows: usize) -> usize {
    let mut faults = 0;
    for (_, field) in fields {
        if field.fault().is_some() {
            // The first bad constant is reported for every row, and the ones after it for none (`faults_of`).
            faults += rows;
            break;
        }
        faults += field.faults().len();
    }
    faults * size_of::<Fault>()
}

/// What is wrong with the rows of an object, in the order of its columns. A bad constant is bad in every row, so what
/// comes after it adds nothing.
fn faults_of(data_type: DataType, fields: &[(usize, Field)], rows: usize) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (index, field) in fields {
        let column = data_type.columns()[*index].name;
        if let Some(error) = field.fault() {
            faults.extend((0..rows as u32).map(|row| Fault { row, column, error }));
            break;
        }
        faults.extend(field.faults().iter().map(|(row, error)| Fault { row: *row, column, error: *error }));
    }
    faults
}

/// Rows that come one by one or a few at a time, gathered into columns.
struct RowCollector {
    data_type: DataType,
    times_us: Vec<i64>,
    columns: Vec<Option<Cells>>,
    /// What a cell takes in each of the columns that a row has given, bytes.
    bytes_of_cells: usize,
    faults: Vec<Fault>,
}

impl RowCollector {
    fn new(data_type: DataType) -> Self {
        let columns = vec![None; data_type.columns().len()];
        RowCollector { data_type, times_us: Vec::new(), columns, bytes_of_cells: 0, faults: Vec::new() }
    }

    /// The memory that more rows take: a column that is new to the rows is filled up from the first of them.
    fn bytes_for(&self, rows: usize, fields: &[(usize, Field)]) -> usize {
        let new = fields.iter().filter(|(index, _)| self.columns[*index].is_none());
        let bytes_of_new: usize = new.map(|(index, _)| bytes_of_cell(self.data_type, *index)).sum();
        rows * (size_of::<i64>() + self.bytes_of_cells)
            + (self.times_us.len() + rows) * bytes_of_new
            + bytes_of_faults(fields, rows)
    }

    fn append(&mut self, times_us: Vec<i64>, fields: Vec<(usize, Field)>) {
        let (first, rows) = (self.times_us.len(), times_us.len());
        self.times_us.extend(times_us);
        let faults = faults_of(self.data_type, &fields, rows).into_iter();
        self.faults.extend(faults.map(|fault| Fault { row: first as u32 + fault.row, ..fault }));
        for (index, field) in fields {
            let is_text = self.data_type.columns()[index].is_text();
            let empty = || if is_text { Cells::Text(Vec::new()) } else { Cells::Values(Vec::new()) };
            if self.columns[index].is_none() {
                self.bytes_of_cells += bytes_of_cell(self.data_type, index);
            }
            match self.columns[index].get_or_insert_with(empty) {
                Cells::Values(cells) => {
                    cells.resize(first, NULL);
                    field.append_cells(rows, cells);
                }
                Cells::Text(texts) => {
                    texts.resize(first, None);
                    field.append_texts(rows, texts);
                }
                Cells::Constant(_) => {}
            }
        }
    }

    /// The batch of what was gathered since the last call.
    fn take(&mut self) -> Option<Batch> {
        // What comes after a block of columns begins at row 0 of a new batch.
        let gathered = std::mem::replace(self, RowCollector::new(self.data_type));
        let rows = gathered.times_us.len();
        let finish = |cells: Option<Cells>| match cells {
            None => Cells::Constant(NULL),
            Some(Cells::Values(mut cells)) => {
                cells.resize(rows, NULL);
                Cells::Values(cells).simplified()
            }
            Some(Cells::Text(mut texts)) => {
                texts.resize(rows, None);
                Cells::Text(texts).simplified()
            }
            Some(constant @ Cells::Constant(_)) => constant,
        };
        let columns = gathered.columns.into_iter().map(finish).collect();
        (rows > 0).then_some(Batch { times_us: gathered.times_us, columns, faults: gathered.faults, zones: None })
    }
}
