//! The rows of one data type, in each of their three forms: columns, an array of column blocks, an array of rows.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use vitals::block::Cells;
use vitals::intake::{Batch, FORMS_OF_A_TIME, NO_TIME, UNREADABLE_TIME};
use vitals::registry::{DataType, Rates};
use vitals::sample_time::{Decimal, EvenSampling, HIGHEST_HZ, Rate};

use super::body::names::NameSeed;
use super::body::place::Place;
use super::cells::{Field, FieldSeed};
use super::column_place::ColumnPlace;
use super::passed_over::PassedOver;
use super::rows::{GrowingBatch, TIME_COLUMN, bytes_of_cell, bytes_of_faults, faults_of};
use super::times::{TimeField, TimeSeed};
use crate::body::unknown::meant;

/// A block of fewer rows is gathered like single rows. A batch has a vector for each column that there is, which for a
/// row or two would be fifty times the memory of their text.
const SHORT_BLOCK: usize = 64;

/// Reads what is under a data type.
pub(super) struct RowsSeed<'place> {
    pub data_type: DataType,
    pub place: &'place Place,
}

/// Returns what a batch takes without its rows, bytes.
fn bytes_of_batch(data_type: DataType) -> usize {
    size_of::<Batch>() + data_type.columns().len() * size_of::<Cells>()
}

/// One object: columns of many rows, or one row.
struct ObjectSeed<'rows, 'place> {
    data_type: DataType,
    place: &'place Place,
    /// Rows that came one by one or a few at a time and are not a batch yet.
    rows: &'rows mut GrowingBatch,
    /// True when it is in an array, where an object can be a row that lacks its time.
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
        let mut rows = GrowingBatch::new(self.data_type);
        // An object that is not in an array is columns, also with one row: without a time it is a fault of structure.
        let object = ObjectSeed { data_type: self.data_type, place: self.place, rows: &mut rows, in_array: false };
        let block = object.visit_map(map)?;
        Ok(block.or_else(|| rows.take()).into_iter().collect())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut objects: A) -> Result<Vec<Batch>, A::Error> {
        let mut batches = Vec::new();
        let mut rows = GrowingBatch::new(self.data_type);
        loop {
            let object = ObjectSeed { data_type: self.data_type, place: self.place, rows: &mut rows, in_array: true };
            let Some(block) = objects.next_element_seed(object)? else {
                break;
            };
            if let Some(block) = block {
                // Those two are batches.
                let bytes = 2 * bytes_of_batch(self.data_type);
                self.place.hold_to_size(self.data_type, bytes)?;
                self.place.take(bytes)?;
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
        while let Some(key) = map.next_key_seed(NameSeed)? {
            match &*key {
                "timestamp" => {
                    // The last one would win otherwise: a body that contradicts itself stores nothing (422).
                    if fields.times.is_some() {
                        return Err(self.fail("timestamp", "is given twice"));
                    }
                    let times = map.next_value_seed(TimeSeed(self.at(TIME_COLUMN, fields.rows)))?;
                    if let TimeField::Each(times_us) = &times {
                        fields.rows = fields.rows.or(Some(times_us.len()));
                    }
                    fields.times = Some(times);
                }
                // Kept apart from the columns: no type may have a column of these names.
                "start" if fields.start.is_some() => return Err(self.fail("start", "is given twice")),
                "start" => fields.start = Some(self.start(map.next_value()?)?),
                "rate_hz" if fields.rate_hz.is_some() => return Err(self.fail("rate_hz", "is given twice")),
                "rate_hz" => fields.rate_hz = Some(self.rate(map.next_value()?)?),
                // Raw metrics show it, and what they show can be sent back. It follows from time and
                // zone.
                "date" => map.next_value_seed(PassedOver::new(self.data_type, self.place))?,
                name => {
                    // An unknown column is refused and not skipped: a typo would silently lose a signal for good.
                    let Some(index) = self.data_type.column_index(name) else {
                        let columns = self.data_type.columns().iter().map(|column| column.name);
                        let known = columns.chain(["timestamp", "start", "rate_hz"]);
                        return Err(self.fail(name, &format!("is not a column of this type{}", meant(name, known))));
                    };
                    if fields.columns.iter().any(|(column, _)| *column == index) {
                        return Err(self.fail(name, "is given twice"));
                    }
                    let column = &self.data_type.columns()[index];
                    let at = self.at(column.name, fields.rows);
                    let field = map.next_value_seed(FieldSeed { column, at })?;
                    fields.rows = fields.rows.or(field.rows());
                    fields.columns.push((index, field));
                }
            }
        }
        self.assemble(fields)
    }
}

/// Fields of one object.
#[derive(Default)]
struct Fields {
    times: Option<TimeField>,
    start: Option<Decimal>,
    rate_hz: Option<Rate>,
    columns: Vec<(usize, Field)>,
    /// The length of the first array.
    rows: Option<usize>,
}

impl<'place> ObjectSeed<'_, 'place> {
    fn at(&self, name: &'static str, rows: Option<usize>) -> ColumnPlace<'place> {
        ColumnPlace { data_type: self.data_type, name, place: self.place, rows }
    }

    fn fail<E: serde::de::Error>(&self, column: &str, message: &str) -> E {
        self.place.fail(format!("data.{}.{column}", self.data_type.name()), message)
    }

    /// A start is read from its text: a binary float would move samples.
    fn start<E: serde::de::Error>(&self, text: &RawValue) -> Result<Decimal, E> {
        let text = text.get();
        let written = text.starts_with('"').then(|| serde_json::from_str::<Cow<'_, str>>(text).ok()).flatten();
        let start = written.map_or_else(|| Decimal::parse(text), |time| Decimal::parse_time(&time));
        let forms = || format!("{FORMS_OF_A_TIME}, of at most 20 digits, 12 behind the point");
        start.ok_or_else(|| self.fail("start", &forms()))
    }

    /// Returns a rate belongs to the block and not to a row, so a wrong one is a fault of the body.
    fn rate<E: serde::de::Error>(&self, text: &RawValue) -> Result<Rate, E> {
        let rate = Rate::parse(text.get());
        rate.ok_or_else(|| self.fail("rate_hz", &format!("must be a number above 0 and at most {HIGHEST_HZ}")))
    }

    fn check_rate<E: serde::de::Error>(&self, rate_hz: Rate) -> Result<(), E> {
        match self.data_type.declaration().accepted_hz() {
            Some(Rates { lowest_hz, highest_hz }) if !rate_hz.is_between(lowest_hz, highest_hz) => {
                Err(self.fail("rate_hz", &format!("must be {lowest_hz} to {highest_hz}")))
            }
            _ => Ok(()),
        }
    }

    /// Gathers short rows, when there is room for them.
    fn append<E: serde::de::Error>(self, times_us: &[i64], fields: Vec<(usize, Field)>) -> Result<(), E> {
        self.place.count_rows(self.data_type, times_us.len())?;
        self.place.hold_to_size(self.data_type, self.rows.bytes_for(times_us.len(), &fields))?;
        self.rows.append(self.place, times_us, fields)
    }

    /// One row, which has no columns of its own.
    fn append_row<E: serde::de::Error>(self, time: &TimeField, fields: Vec<(usize, Field)>) -> Result<(), E> {
        // One time with an array cannot be meant: all its values would lie at the same moment.
        if let Some((index, _)) = fields.iter().find(|(_, field)| field.rows().is_some()) {
            let name = self.data_type.columns()[*index].name;
            return Err(self.fail(name, "is an array while timestamp is not"));
        }
        match time {
            TimeField::One(UNREADABLE_TIME) | TimeField::WrongKind | TimeField::Each(_) => {
                // One row of many is at fault; an object that is not in an array is columns, which are of the wrong kind.
                if !self.in_array {
                    return Err(self.fail(TIME_COLUMN, FORMS_OF_A_TIME));
                }
                self.append(&[UNREADABLE_TIME], fields)
            }
            TimeField::One(time_us) => self.append(&[*time_us], fields),
        }
    }

    fn assemble<E: serde::de::Error>(self, fields: Fields) -> Result<Option<Batch>, E> {
        let times_us = match (fields.times, fields.start, fields.rate_hz) {
            (Some(TimeField::Each(times_us)), None, None) => times_us,
            (Some(time), None, None) => return self.append_row(&time, fields.columns).map(|()| None),
            (None, Some(start_ms), Some(rate_hz)) => {
                let Some(rows) = fields.columns.iter().find_map(|(_, field)| field.rows()) else {
                    return Err(self.fail("start", "needs a column that is an array"));
                };
                self.check_rate(rate_hz)?;
                self.place.take(rows * size_of::<i64>())?;
                let times_us = EvenSampling { start_ms, rate_hz }.times_us(rows);
                times_us.ok_or_else(|| self.fail("rate_hz", "gives no times with this start"))?
            }
            // The row is rejected for it like any other with a bad value.
            (None, None, None) if self.in_array && fields.columns.iter().all(|(_, field)| field.rows().is_none()) => {
                return self.append(&[NO_TIME], fields.columns).map(|()| None);
            }
            (None, None, None) => return Err(self.fail("timestamp", "is missing")),
            (None, Some(_), None) => return Err(self.fail("rate_hz", "is missing: start needs it")),
            (None, None, Some(_)) => return Err(self.fail("start", "is missing: rate_hz needs it")),
            _ => return Err(self.fail("timestamp", "or start with rate_hz must be given, not both")),
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
            let place = self.place;
            self.append(&times_us, fields.columns)?;
            place.give_back(times_us.capacity() * size_of::<i64>());
            return Ok(None);
        }
        self.place.count_rows(self.data_type, rows)?;
        // Before the cells are made: a constant text is repeated for every row.
        self.place.hold_to_size(self.data_type, bytes_of_block(self.data_type, &fields.columns, rows))?;
        self.place.take(bytes_of_constants(self.data_type, &fields.columns, rows))?;
        let faults = faults_of(self.data_type, &fields.columns, rows);
        let mut batch = Batch { times_us, faults, ..Batch::empty(self.data_type) };
        for (index, field) in fields.columns {
            batch.columns[index] = field.into_cells(rows);
        }
        Ok(Some(batch))
    }
}

/// Returns what the rows of a long block take, bytes. A constant number takes nothing.
fn bytes_of_block(data_type: DataType, fields: &[(usize, Field)], rows: usize) -> usize {
    let is_long = |(index, field): &&(usize, Field)| field.rows().is_some() || data_type.columns()[*index].is_text();
    let cells: usize = fields.iter().filter(is_long).map(|(index, _)| bytes_of_cell(data_type, *index)).sum();
    rows * (size_of::<i64>() + cells) + bytes_of_faults(fields, rows)
}

/// Returns what is made for the rows of a long block next to its columns, bytes: faults, and constant texts.
fn bytes_of_constants(data_type: DataType, fields: &[(usize, Field)], rows: usize) -> usize {
    let is_constant_text =
        |(index, field): &&(usize, Field)| field.rows().is_none() && data_type.columns()[*index].is_text();
    let texts = fields.iter().filter(is_constant_text).count() * rows * size_of::<Option<Arc<str>>>();
    texts + bytes_of_faults(fields, rows)
}
