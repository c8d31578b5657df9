//! One column as the parser meets it: a constant or an array, straight into cells.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use vitals::block::Cells;
use vitals::registry::{CellError, Column, Kind, NULL};

use super::body::scratch::count;
use super::column_place::ColumnPlace;
use super::texts::TextSeed;
use super::whole_numbers;
use crate::body::with_f64_numbers;

/// Value under a column's name, until the batch takes it: a column as it is, a single value for one of its rows.
pub(super) enum Field {
    /// One value for all rows, or the value of a single row.
    One(Result<i32, CellError>),
    /// One text for all rows, or the text of a single row.
    OneText(Result<Option<Arc<str>>, CellError>),
    /// A value or a text each: the column as the batch will have it.
    Each { cells: Cells, faults: Vec<(u32, CellError)> },
}

impl Field {
    /// Returns the number of rows; `None` for a constant.
    pub(super) fn rows(&self) -> Option<usize> {
        match self {
            Field::Each { cells: Cells::Values(cells), .. } => Some(cells.len()),
            Field::Each { cells: Cells::Text(texts), .. } => Some(texts.len()),
            // Arrays are read into the two others.
            Field::One(_) | Field::OneText(_) | Field::Each { cells: Cells::Constant(_), .. } => None,
        }
    }

    /// Returns what an array holds of the account of the upload, bytes; texts without their characters.
    pub(super) fn counted_bytes(&self) -> usize {
        let Field::Each { cells, faults } = self else { return 0 };
        let of_cells = match cells {
            Cells::Values(cells) => cells.capacity() * size_of::<i32>(),
            Cells::Text(texts) => texts.capacity() * size_of::<Option<Arc<str>>>(),
            Cells::Constant(_) => 0,
        };
        of_cells + faults.capacity() * size_of::<(u32, CellError)>()
    }

    /// Returns what is wrong with a constant.
    pub(super) fn fault(&self) -> Option<CellError> {
        match self {
            Field::One(cell) => cell.err(),
            Field::OneText(text) => text.as_ref().err().copied(),
            Field::Each { .. } => None,
        }
    }

    /// Returns the rows of an array that are wrong.
    pub(super) fn faults(&self) -> &[(u32, CellError)] {
        match self {
            Field::Each { faults, .. } => faults,
            Field::One(_) | Field::OneText(_) => &[],
        }
    }

    /// Returns the cell of a constant.
    pub(super) fn cell(&self) -> i32 {
        match self {
            Field::One(cell) => cell.unwrap_or(NULL),
            _ => NULL,
        }
    }

    /// Returns the text of a constant.
    pub(super) fn into_text(self) -> Option<Arc<str>> {
        match self {
            Field::OneText(text) => text.ok().flatten(),
            _ => None,
        }
    }

    /// Appends the cells of some rows.
    pub(super) fn append_cells(self, rows: usize, cells: &mut Vec<i32>) {
        match self {
            Field::Each { cells: Cells::Values(each), .. } => cells.extend(each),
            constant => cells.resize(cells.len() + rows, constant.cell()),
        }
    }

    /// Appends the texts of some rows.
    pub(super) fn append_texts(self, rows: usize, texts: &mut Vec<Option<Arc<str>>>) {
        match self {
            Field::Each { cells: Cells::Text(each), .. } => texts.extend(each),
            constant => texts.resize(texts.len() + rows, constant.into_text()),
        }
    }

    /// Returns the cells of all rows.
    pub(super) fn into_cells(self, rows: usize) -> Cells {
        match self {
            Field::One(cell) => Cells::Constant(cell.unwrap_or(NULL)),
            Field::OneText(text) => Cells::Text(vec![text.ok().flatten(); rows]).simplified(),
            Field::Each { cells, .. } => cells.simplified(),
        }
    }
}

/// Reads a column.
#[derive(Clone, Copy)]
pub(super) struct FieldSeed<'place> {
    pub column: &'static Column,
    pub at: ColumnPlace<'place>,
}

impl<'de> DeserializeSeed<'de> for FieldSeed<'_> {
    type Value = Field;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Field, D::Error> {
        // A text can hold brackets and escapes; everything else can be scanned for digits first.
        if self.column.is_text() {
            return deserializer.deserialize_any(self);
        }
        // Borrowed from the body: the fast path below then reads digits without the parser, which takes most of its
        // time per number.
        let text = <&RawValue>::deserialize(deserializer)?.get();
        match self.whole_numbers(text)? {
            Some(field) => Ok(field),
            None => self.read_alone(text).map_err(|error| self.as_error_of_body(&error)),
        }
    }
}

impl FieldSeed<'_> {
    fn cell(&self) -> CellSeed<'_> {
        CellSeed { column: self.column, at: &self.at }
    }

    /// Returns an array of nothing but integers and nulls.
    fn whole_numbers<E: Error>(&self, text: &str) -> Result<Option<Field>, E> {
        let column = self.column;
        // The value of a single row, of which there can be millions.
        if !text.starts_with('[') {
            return Ok(None);
        }
        // Outside of this range a product with the steps could leave 32 bits.
        let Some(range) = column.whole_range() else { return Ok(None) };
        let steps = i64::from(column.steps_per_unit());
        let elements = count(text.as_bytes(), |byte| byte == b',') + 1;
        // Left to the parser, which ends where the array is too long.
        if elements > self.at.most() {
            return Ok(None);
        }
        let bytes = elements * size_of::<i32>();
        self.at.place.take(bytes)?;
        let mut cells = Vec::with_capacity(elements);
        let mut faults = Vec::new();
        let mut noted: Result<(), E> = Ok(());
        let is_read = whole_numbers::for_each(text, |number| {
            // A bad value rejects its row and not the sync, so its place is kept and the reading goes on.
            let cell = match number {
                Some(number) if range.contains(&number) => (number * steps) as i32,
                Some(_) => {
                    if noted.is_ok() {
                        noted = self.at.note(&mut faults, cells.len(), CellError::OutOfRange);
                    }
                    NULL
                }
                None => NULL,
            };
            cells.push(cell);
        });
        noted?;
        if !is_read {
            self.at.place.give_back(bytes + faults.capacity() * size_of::<(u32, CellError)>());
            return Ok(None);
        }
        Ok(Some(Field::Each { cells: Cells::Values(cells), faults }))
    }

    /// Returns what the parser found wrong: with the value, which is noted with its place already, or with the text
    /// itself.
    fn as_error_of_body<E: Error>(&self, error: &serde_json::Error) -> E {
        // `fail` has noted the place already; a second one would be that of the text inside the column.
        if error.is_data() {
            return E::custom(error);
        }
        self.at.fail("cannot be read")
    }

    /// Returns any value, by the parser. It gives up at a number that no f64 holds, which is a bad value like any
    /// other.
    fn read_alone(self, text: &str) -> Result<Field, serde_json::Error> {
        let read = serde_json::Deserializer::from_str(text).deserialize_any(self);
        if !read.as_ref().is_err_and(serde_json::Error::is_syntax) {
            return read;
        }
        self.at.place.take::<serde_json::Error>(text.len())?;
        let again = match with_f64_numbers(text.as_bytes()) {
            Some(changed) => serde_json::Deserializer::from_slice(&changed).deserialize_any(self),
            None => read,
        };
        self.at.place.give_back(text.len());
        again
    }
}

impl<'de> Visitor<'de> for FieldSeed<'_> {
    type Value = Field;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a value or an array of values for {}", self.column.name)
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
        if !self.column.is_text() {
            return self.cell().visit_str(value).map(Field::One);
        }
        TextSeed { column: self.column, at: self.at, last: None }.visit_str(value).map(Field::OneText)
    }

    fn visit_unit<E: Error>(self) -> Result<Field, E> {
        Ok(if self.column.is_text() { Field::OneText(Ok(None)) } else { Field::One(Ok(NULL)) })
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<Field, A::Error> {
        Err(self.at.wrong_kind())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Field, A::Error> {
        let mut faults = Vec::new();
        if self.column.is_text() {
            let mut texts: Vec<Option<Arc<str>>> = Vec::new();
            loop {
                let last = texts.last().and_then(Option::as_ref);
                let Some(text) = elements.next_element_seed(TextSeed { column: self.column, at: self.at, last })?
                else {
                    break;
                };
                if texts.len() == texts.capacity() {
                    self.at.grow(&mut texts)?;
                }
                if let Err(error) = text {
                    self.at.note(&mut faults, texts.len(), error)?;
                }
                texts.push(text.ok().flatten());
            }
            return Ok(Field::Each { cells: Cells::Text(texts), faults });
        }
        let mut cells = Vec::new();
        while let Some(cell) = elements.next_element_seed(self.cell())? {
            if cells.len() == cells.capacity() {
                self.at.grow(&mut cells)?;
            }
            if let Err(error) = cell {
                self.at.note(&mut faults, cells.len(), error)?;
            }
            cells.push(cell.unwrap_or(NULL));
        }
        Ok(Field::Each { cells: Cells::Values(cells), faults })
    }
}

/// Reads one cell of a column that is not text. Most of a body goes through here, so the answer is as small as it
/// can be.
#[derive(Clone, Copy)]
struct CellSeed<'field> {
    column: &'static Column,
    at: &'field ColumnPlace<'field>,
}

impl CellSeed<'_> {
    /// Numbers are cells of numbers and of codes that are numbers.
    fn number<E: Error>(self, cell: Result<i32, CellError>) -> Result<Result<i32, CellError>, E> {
        match self.column.kind {
            Kind::Number { .. } | Kind::Hex => Ok(cell),
            // A number where a word belongs is a column of the wrong kind, which no row can be blamed for.
            Kind::TestType | Kind::Text { .. } => Err(self.at.wrong_kind()),
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
            _ => Err(self.at.wrong_kind()),
        }
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        match self.column.kind {
            Kind::Hex | Kind::TestType => Ok(self.column.cell_from_text(value)),
            Kind::Number { .. } | Kind::Text { .. } => Err(self.at.wrong_kind()),
        }
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Ok(NULL))
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
        Err(self.at.wrong_kind())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
        Err(self.at.wrong_kind())
    }
}

#[cfg(test)]
mod tests {
    use super::super::body::place::Place;
    use super::*;
    use crate::load::Room;
    use vitals::registry::DataType;

    #[test]
    fn integers_become_the_cells_that_the_parser_makes_of_them() {
        let place = Place::of_body(b"", &Room::without_end());
        let mut compared = 0;
        for data_type in DataType::ALL {
            for column in data_type.columns() {
                let Some(range) = column.whole_range() else { continue };
                let (lowest, highest) = range.into_inner();
                let text = format!("[{},{lowest},null,{highest},{}]", lowest - 1, highest + 1);
                let seed =
                    FieldSeed { column, at: ColumnPlace { data_type, name: column.name, place: &place, rows: None } };
                let whole = seed.whole_numbers::<serde_json::Error>(&text);
                let (Ok(Some(Field::Each { cells, faults })), Ok(Field::Each { cells: parsed, faults: reported })) =
                    (whole, seed.read_alone(&text))
                else {
                    panic!("{} is an array", column.name);
                };
                assert_eq!((cells, faults), (parsed, reported), "{} of {}", column.name, data_type.name());
                compared += 1;
            }
        }
        assert!(compared > 50, "{compared} columns");
    }
}
