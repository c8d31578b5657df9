//! A column of a data type: name, kind, range, unit, meaning, and what its cells are.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use super::null::NULL;
use super::test_kind::TestKind;

/// What a column's cells are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A number, stored as an integer in steps of `10^-decimals` of the unit; the range is in the unit, inclusive.
    Number {
        /// Digits kept after the point.
        decimals: u8,
        /// Smallest value, in the unit.
        min: i32,
        /// Largest value, in the unit.
        max: i32,
    },
    /// A number of 0 to 255 that is written in hexadecimal, such as `0x7e`.
    Hex,
    /// A name out of [`TestKind::ALL`].
    TestType,
    /// Free text.
    Text {
        /// The longest text, in characters.
        max_chars: usize,
    },
}

/// A column of a data type.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The name in JSON, CSV, Arrow and Parquet.
    pub name: &'static str,
    /// What its cells are.
    pub kind: Kind,
    /// The unit; empty where there is none.
    pub unit: &'static str,
    /// What it means; [`Column::description`] adds what follows from the rest.
    pub meaning: &'static str,
    /// Whether a row may lack it.
    pub nullable: bool,
    /// Whether it is accepted only for old apps.
    pub deprecated: bool,
    /// Integers inside the range that mean nothing.
    pub gaps: &'static [i32],
    /// The raw value that a bracelet sends when it could not measure. It is stored as it came, and is no measurement.
    pub no_value: Option<i32>,
    /// Whether it differs from sample to sample of a waveform, and is not what accompanies the signal.
    pub is_signal: bool,
    /// The column of the same type of which this one has the cells, in another unit, where a device sends its signal twice.
    /// Sealed files then hold the other one alone.
    pub repeats: Option<&'static str>,
    /// A usual value as CSV has it, for examples.
    pub example: Option<&'static str>,
}

/// Reason why a value cannot be a cell of its column. Such a value rejects its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CellError {
    /// The value lies outside the column's range.
    #[error("out of range")]
    OutOfRange,
    /// The value is not a number.
    #[error("not a number")]
    NotANumber,
    /// The value is not one of the names or codes of the column.
    #[error("unknown code")]
    UnknownCode,
    /// The text is longer than the column allows.
    #[error("text too long")]
    TooLong,
    /// The text holds the character U+0000, which not every store can keep.
    #[error("text with a NUL character")]
    NulCharacter,
    /// The column must have a value.
    #[error("must not be null")]
    Null,
}

impl Column {
    /// Returns what it means, for people, with the value that means none.
    pub fn description(&self) -> Cow<'static, str> {
        match self.no_value {
            Some(none) => format!("{}; {none} means no value", self.meaning).into(),
            None => self.meaning.into(),
        }
    }

    /// Returns why a value cannot be a cell of the column, for people, with what can be.
    pub fn reason(&self, error: CellError) -> String {
        let bound = match (error, self.kind) {
            (CellError::OutOfRange, Kind::Number { min, max, .. }) => self.range_text(min, max),
            (CellError::OutOfRange | CellError::UnknownCode, Kind::Hex) => "0x00 to 0xff".to_owned(),
            (CellError::UnknownCode, Kind::Number { min, max, .. }) => {
                let gaps: Vec<String> = self.gaps.iter().map(ToString::to_string).collect();
                format!("{} without {}", self.range_text(min, max), gaps.join(" and "))
            }
            (CellError::UnknownCode, Kind::TestType) => {
                let names: Vec<&str> = TestKind::ALL.iter().map(|kind| kind.name).collect();
                format!("one of {}", names.join(", "))
            }
            (CellError::TooLong, Kind::Text { max_chars }) => format!("at most {max_chars} characters"),
            _ => return error.to_string(),
        };
        format!("{error}: must be {bound}")
    }

    fn range_text(&self, min: i32, max: i32) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        format!("{min} to {max}{unit}")
    }

    /// Returns the cell that means "no value" as well as [`NULL`]; [`NULL`] itself where every value is one.
    pub const fn no_value_cell(&self) -> i32 {
        match self.no_value {
            Some(none) => none * self.steps_per_unit(),
            None => NULL,
        }
    }

    /// Returns whether cells are text and not numbers.
    pub const fn is_text(&self) -> bool {
        matches!(self.kind, Kind::Text { .. })
    }

    /// Digits kept after the point; 0 for everything that is not a number.
    pub const fn decimals(&self) -> u8 {
        match self.kind {
            Kind::Number { decimals, .. } => decimals,
            _ => 0,
        }
    }

    /// Returns the number of cell steps in one unit.
    pub const fn steps_per_unit(&self) -> i32 {
        match self.decimals() {
            0 => 1,
            1 => 10,
            2 => 100,
            3 => 1000,
            more => 10_i32.pow(more as u32),
        }
    }

    /// Returns the integers each of which is a cell; `None` when others lie between them, or none is.
    pub fn whole_range(&self) -> Option<RangeInclusive<i64>> {
        match self.kind {
            Kind::Number { min, max, .. } if self.gaps.is_empty() => Some(i64::from(min)..=i64::from(max)),
            Kind::Hex => Some(0..=i64::from(u8::MAX)),
            _ => None,
        }
    }

    /// Returns the cell of an integer.
    pub fn cell_from_i64(&self, value: i64) -> Result<i32, CellError> {
        match self.kind {
            Kind::Number { min, max, .. } => {
                if value < i64::from(min) || value > i64::from(max) {
                    return Err(CellError::OutOfRange);
                }
                self.outside_gaps(value as i32 * self.steps_per_unit())
            }
            Kind::Hex => u8::try_from(value).map(i32::from).map_err(|_| CellError::OutOfRange),
            Kind::TestType | Kind::Text { .. } => Err(CellError::UnknownCode),
        }
    }

    /// Returns the cell of a number, rounded half away from zero to the column's scale.
    pub fn cell_from_f64(&self, value: f64) -> Result<i32, CellError> {
        if value.is_nan() {
            return Err(CellError::NotANumber);
        }
        match self.kind {
            Kind::Number { min, max, .. } => {
                let steps = f64::from(self.steps_per_unit());
                let cell = (value * steps).round();
                if cell < f64::from(min) * steps || cell > f64::from(max) * steps {
                    return Err(CellError::OutOfRange);
                }
                self.outside_gaps(cell as i32)
            }
            Kind::Hex if value.fract() == 0.0 && (0.0..256.0).contains(&value) => Ok(value as i32),
            _ => Err(CellError::UnknownCode),
        }
    }

    /// Returns the cell, unless it is one of the column's gaps.
    fn outside_gaps(&self, cell: i32) -> Result<i32, CellError> {
        if self.gaps.contains(&cell) { Err(CellError::UnknownCode) } else { Ok(cell) }
    }

    /// Whether a text can be kept by a text column.
    pub fn check_text(&self, text: &str) -> Result<(), CellError> {
        let Kind::Text { max_chars } = self.kind else { return Err(CellError::NotANumber) };
        // Bytes are counted first: they are never fewer than the characters.
        if text.len() > max_chars && text.chars().count() > max_chars {
            return Err(CellError::TooLong);
        }
        if text.contains('\0') { Err(CellError::NulCharacter) } else { Ok(()) }
    }

    /// Returns the cell of a name or of a hexadecimal code.
    pub fn cell_from_text(&self, text: &str) -> Result<i32, CellError> {
        match self.kind {
            Kind::Hex => {
                let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
                let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
                let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                code.map(i32::from).ok_or(CellError::UnknownCode)
            }
            Kind::TestType => TestKind::code(text).ok_or(CellError::UnknownCode),
            Kind::Number { .. } | Kind::Text { .. } => Err(CellError::NotANumber),
        }
    }

    /// Returns the value of a cell in the column's unit; `None` for [`NULL`].
    pub fn value_of(&self, cell: i32) -> Option<f64> {
        (cell != NULL).then(|| f64::from(cell) / f64::from(self.steps_per_unit()))
    }

    /// Returns what a cell of a coded column is written as; `None` for [`NULL`] and for numbers.
    pub fn text_of(&self, cell: i32) -> Option<String> {
        if cell == NULL {
            return None;
        }
        match self.kind {
            Kind::Hex => Some(format!("{cell:#04x}")),
            Kind::TestType => TestKind::of_cell(cell).map(|kind| kind.name.to_owned()),
            Kind::Number { .. } | Kind::Text { .. } => None,
        }
    }

    pub(super) const fn with_gaps(mut self, gaps: &'static [i32]) -> Self {
        self.gaps = gaps;
        self
    }

    pub(super) const fn with_no_value(mut self, raw: i32) -> Self {
        self.no_value = Some(raw);
        self
    }

    pub(super) const fn signal(mut self) -> Self {
        self.is_signal = true;
        self
    }

    pub(super) const fn repeating(mut self, column: &'static str) -> Self {
        self.repeats = Some(column);
        self
    }

    pub(super) const fn like(mut self, example: &'static str) -> Self {
        self.example = Some(example);
        self
    }

    pub(super) const fn required(mut self) -> Self {
        self.nullable = false;
        self
    }

    pub(super) const fn deprecated(mut self) -> Self {
        self.deprecated = true;
        self
    }
}

/// Returns a column that may be null and has no other feature.
pub(super) const fn column(name: &'static str, kind: Kind, unit: &'static str, meaning: &'static str) -> Column {
    Column {
        name,
        kind,
        unit,
        meaning,
        nullable: true,
        deprecated: false,
        gaps: &[],
        no_value: None,
        is_signal: false,
        repeats: None,
        example: None,
    }
}

/// Digits kept after the point, smallest and largest value in the unit.
pub(super) const fn number(decimals: u8, min: i32, max: i32) -> Kind {
    Kind::Number { decimals, min, max }
}

/// 0 worst to 4 best.
pub(super) const QUALITY: Kind = number(0, 0, 4);
