//! One column as the parser meets it: a constant or an array, straight into cells.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use vitals::block::Cells;
use vitals::intake::NO_TIME;
use vitals::registry::{CellError, Column, DataType, Kind, NULL};

use super::body::place::Place;
use super::whole_numbers;
use crate::body::with_machine_numbers;

/// What was under a column's name.
pub(super) enum Field {
    /// One value for all rows, or the value of a single row.
    One(Result<i32, CellError>),
    /// One text for all rows, or the text of a single row.
    OneText(Result<Option<Arc<str>>, CellError>),
    /// A value each.
    Each { cells: Vec<i32>, faults: Vec<(u32, CellError)> },
    /// A text each.
    EachText { texts: Vec<Option<Arc<str>>>, faults: Vec<(u32, CellError)> },
}

impl Field {
    /// The number of rows; `None` for a constant.
    pub(super) fn rows(&self) -> Option<usize> {
        match self {
            Field::One(_) | Field::OneText(_) => None,
            Field::Each { cells, .. } => Some(cells.len()),
            Field::EachText { texts, .. } => Some(texts.len()),
        }
    }

    /// What is wrong with a constant.
    pub(super) fn fault(&self) -> Option<CellError> {
        match self {
            Field::One(cell) => cell.err(),
            Field::OneText(text) => text.as_ref().err().copied(),
            Field::Each { .. } | Field::EachText { .. } => None,
        }
    }

    /// The rows of an array that are wrong.
    pub(super) fn faults(&self) -> &[(u32, CellError)] {
        match self {
            Field::Each { faults, .. } | Field::EachText { faults, .. } => faults,
            Field::One(_) | Field::OneText(_) => &[],
        }
    }

    /// The cell of a constant.
    pub(super) fn cell(&self) -> i32 {
        match self {
            Field::One(cell) => cell.unwrap_or(NULL),
            _ => NULL,
        }
    }

    /// The text of a constant.
    pub(super) fn into_text(self) -> Option<Arc<str>> {
        match self {
            Field::OneText(text) => text.ok().flatten(),
            _ => None,
        }
    }

    /// Appends the cells of some rows.
    pub(super) fn append_cells(self, rows: usize, cells: &mut Vec<i32>) {
        match self {
            Field::Each { cells: each, .. } => cells.extend(each),
            constant => cells.resize(cells.len() + rows, constant.cell()),
        }
    }

    /// Appends the texts of some rows.
    pub(super) fn append_texts(self, rows: usize, texts: &mut Vec<Option<Arc<str>>>) {
        match self {
            Field::EachText { texts: each, .. } => texts.extend(each),
            constant => texts.resize(texts.len() + rows, constant.into_text()),
        }
    }

    /// The cells of all rows.
    pub(super) fn into_cells(self, rows: usize) -> Cells {
        match self {
            Field::One(cell) => Cells::Constant(cell.unwrap_or(NULL)),
            Field::OneText(text) => Cells::Text(vec![text.ok().flatten(); rows]).simplified(),
            Field::Each { cells, .. } => Cells::Values(cells).simplified(),
            Field::EachText { texts, .. } => Cells::Text(texts).simplified(),
        }
    }
}

/// Reads a column.
#[derive(Clone, Copy)]
pub(super) struct FieldSeed<'place> {
    pub data_type: DataType,
    pub index: usize,
    pub place: &'place Place,
    /// Whether this is an element of the column's array: then it may not be an array itself.
    pub inside_array: bool,
}

impl FieldSeed<'_> {
    fn column(&self) -> &'static Column {
        &self.data_type.columns()[self.index]
    }

    fn wrong_kind<E: Error>(&self) -> E {
        let place = format!("data.{}.{}", self.data_type.name(), self.column().name);
        self.place.fail(place, "is of the wrong kind")
    }

    fn cell(&self) -> CellSeed<'_> {
        CellSeed { column: self.column(), field: self }
    }
}

impl<'de> DeserializeSeed<'de> for FieldSeed<'_> {
    type Value = Field;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Field, D::Error> {
        // A text can hold brackets and escapes; everything else can be scanned for digits first.
        if self.column().is_text() {
            return deserializer.deserialize_any(self);
        }
        // Borrowed from the body: the fast path below then reads digits without the parser, which takes most of its
        // time per number.
        let text = <&RawValue>::deserialize(deserializer)?.get();
        match self.whole_numbers(text) {
            Some(field) => Ok(field),
            None => self.read_alone(text).map_err(|error| self.as_error_of_body(&error)),
        }
    }
}

impl FieldSeed<'_> {
    /// An array of nothing but integers and nulls.
    fn whole_numbers(self, text: &str) -> Option<Field> {
        let column = self.column();
        // Outside of this range a product with the steps could leave 32 bits.
        let (range, steps) = (column.whole_range()?, i64::from(column.steps_per_unit()));
        // Two or three digits and a comma are usual, and waveforms have more.
        let mut cells = Vec::with_capacity(text.len() / 4);
        let mut faults = Vec::new();
        let is_read = whole_numbers::for_each(text, |number| {
            // A bad value rejects its row and not the sync, so its place is kept and the reading goes on.
            let cell = match number {
                Some(number) if range.contains(&number) => (number * steps) as i32,
                Some(_) => {
                    faults.push((cells.len() as u32, CellError::OutOfRange));
                    NULL
                }
                None => NULL,
            };
            cells.push(cell);
        });
        is_read.then_some(Field::Each { cells, faults })
    }

    /// What the parser found wrong: with the value, which is noted with its place already, or with the text itself.
    fn as_error_of_body<E: Error>(&self, error: &serde_json::Error) -> E {
        // `fail` has noted the place already; a second one would be that of the text inside the column.
        if error.is_data() {
            return E::custom(error);
        }
        self.place.fail(format!("data.{}.{}", self.data_type.name(), self.column().name), "cannot be read")
    }

    /// Any value, by the parser. It gives up at a number that no f64 holds, which is a bad value like any other.
    fn read_alone(self, text: &str) -> Result<Field, serde_json::Error> {
        let read = serde_json::Deserializer::from_str(text).deserialize_any(self);
        read.or_else(|error| match with_machine_numbers(text.as_bytes()) {
            Some(changed) if error.is_syntax() => serde_json::Deserializer::from_slice(&changed).deserialize_any(self),
            _ => Err(error),
        })
    }
}

impl<'de> Visitor<'de> for FieldSeed<'_> {
    type Value = Field;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a value or an array of values for {}", self.column().name)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Field, E> {
        self.cell().visit_u64(value).map(Field::One)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Field, E> {
        self.cell().visit_i64(value).map(Field::One)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Field, E> {
        self.cell().visit_f64(value).map(Field::One)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Field, E> {
        self.cell().visit_bool(value).map(Field::One)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Field, E> {
        if !self.column().is_text() {
            return self.cell().visit_str(value).map(Field::One);
        }
        Ok(Field::OneText(self.column().check_text(value).map(|()| Some(Arc::from(value)))))
    }

    fn visit_unit<E: Error>(self) -> Result<Field, E> {
        Ok(if self.column().is_text() { Field::OneText(Ok(None)) } else { Field::One(Ok(NULL)) })
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<Field, A::Error> {
        Err(self.wrong_kind())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Field, A::Error> {
        if self.inside_array {
            return Err(self.wrong_kind());
        }
        let mut faults = Vec::new();
        if self.column().is_text() {
            let mut texts = Vec::new();
            while let Some(field) = elements.next_element_seed(FieldSeed { inside_array: true, ..self })? {
                let row = texts.len() as u32;
                faults.extend(field.fault().map(|error| (row, error)));
                texts.push(field.into_text());
            }
            return Ok(Field::EachText { texts, faults });
        }
        let mut cells = Vec::new();
        while let Some(cell) = elements.next_element_seed(self.cell())? {
            if let Err(error) = cell {
                faults.push((cells.len() as u32, error));
            }
            cells.push(cell.unwrap_or(NULL));
        }
        Ok(Field::Each { cells, faults })
    }
}

/// Reads one cell of a column that is not text. Most of a body goes through here, so the answer is as small as it
/// can be.
#[derive(Clone, Copy)]
struct CellSeed<'field> {
    column: &'static Column,
    field: &'field FieldSeed<'field>,
}

impl CellSeed<'_> {
    /// Numbers are cells of numbers and of codes that are numbers.
    fn number<E: Error>(self, cell: Result<i32, CellError>) -> Result<Result<i32, CellError>, E> {
        match self.column.kind {
            Kind::Number { .. } | Kind::Hex => Ok(cell),
            // A number where a word belongs is a column of the wrong kind, which no row can be blamed for.
            Kind::TestType | Kind::Text { .. } => Err(self.field.wrong_kind()),
        }
    }
}

impl<'de> DeserializeSeed<'de> for CellSeed<'_> {
    type Value = Result<i32, CellError>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for CellSeed<'_> {
    type Value = Result<i32, CellError>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a value for {}", self.column.name)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        // Larger than any range there is: a bad value of one row like any other.
        let whole = i64::try_from(value).map_err(|_| CellError::OutOfRange);
        self.number(whole.and_then(|whole| self.column.cell_from_i64(whole)))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        self.number(self.column.cell_from_i64(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        self.number(self.column.cell_from_f64(value))
    }

    /// Flags may be written as booleans; other columns may not.
    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        match self.column.kind {
            Kind::Number { decimals: 0, min: 0, max: 1 } => Ok(Ok(i32::from(value))),
            _ => Err(self.field.wrong_kind()),
        }
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        match self.column.kind {
            Kind::Hex | Kind::TestType => Ok(self.column.cell_from_text(value)),
            Kind::Number { .. } | Kind::Text { .. } => Err(self.field.wrong_kind()),
        }
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Ok(NULL))
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
        Err(self.field.wrong_kind())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
        Err(self.field.wrong_kind())
    }
}

/// What was under `timestamp`.
pub(super) enum TimeField {
    /// The time of a single row, µs.
    One(i64),
    /// A time each, µs; [`NO_TIME`] for null.
    Each(Vec<i64>),
}

/// Reads `timestamp`: ms since 1970, with an optional fraction.
pub(super) struct TimeSeed<'place> {
    pub data_type: DataType,
    pub place: &'place Place,
}

impl TimeSeed<'_> {
    fn wrong_kind<E: Error>(&self) -> E {
        self.place.fail(format!("data.{}.timestamp", self.data_type.name()), "is of the wrong kind")
    }
}

impl<'de> DeserializeSeed<'de> for TimeSeed<'_> {
    type Value = TimeField;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<TimeField, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TimeSeed<'_> {
    type Value = TimeField;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("milliseconds since 1970")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<TimeField, E> {
        // Saturates, as the fraction below does: absurd times are rejected row by row, with the reason of times that
        // are too late.
        Ok(TimeField::One(i64::try_from(value).unwrap_or(i64::MAX).saturating_mul(1000)))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<TimeField, E> {
        Ok(TimeField::One(value.saturating_mul(1000)))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<TimeField, E> {
        // Saturates: an absurd time is far ahead or long ago, and rejects its row as such.
        Ok(TimeField::One((value * 1000.0).round() as i64))
    }

    fn visit_unit<E: Error>(self) -> Result<TimeField, E> {
        Ok(TimeField::One(NO_TIME))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<TimeField, E> {
        Err(self.wrong_kind())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<TimeField, E> {
        Err(self.wrong_kind())
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<TimeField, A::Error> {
        Err(self.wrong_kind())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<TimeField, A::Error> {
        let mut times_us = Vec::new();
        let element = || TimeSeed { data_type: self.data_type, place: self.place };
        while let Some(time) = elements.next_element_seed(element())? {
            match time {
                TimeField::One(time_us) => times_us.push(time_us),
                TimeField::Each(_) => return Err(self.wrong_kind()),
            }
        }
        Ok(TimeField::Each(times_us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_become_the_cells_that_the_parser_makes_of_them() {
        let place = Place::of_body(b"");
        let mut compared = 0;
        for data_type in DataType::ALL {
            for (index, column) in data_type.columns().iter().enumerate() {
                let Some(range) = column.whole_range() else { continue };
                let (lowest, highest) = range.into_inner();
                let text = format!("[{},{lowest},null,{highest},{}]", lowest - 1, highest + 1);
                let seed = FieldSeed { data_type, index, place: &place, inside_array: false };
                let (Some(Field::Each { cells, faults }), Ok(Field::Each { cells: parsed, faults: told })) =
                    (seed.whole_numbers(&text), seed.read_alone(&text))
                else {
                    panic!("{} is an array", column.name);
                };
                assert_eq!((cells, faults), (parsed, told), "{} of {}", column.name, data_type.name());
                compared += 1;
            }
        }
        assert!(compared > 50, "{compared} columns");
    }
}
