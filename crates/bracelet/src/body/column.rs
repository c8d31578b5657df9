//! Columns of an upload and their JSON.

use serde::{Serialize, Serializer};

/// The values of one column of a block.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// One number for every row.
    Constant(i64),
    /// One text for every row.
    ConstantText(&'static str),
    /// Integers.
    Integers(Vec<i64>),
    /// Integers, some of them missing.
    OptionalIntegers(Vec<Option<i64>>),
    /// Small integers, as waveforms have them.
    Counts(Vec<u16>),
    /// Small integers with a sign.
    SignedCounts(Vec<i16>),
    /// Decimal fractions, already rounded.
    Decimals(Vec<f64>),
    /// Decimal fractions, some of them missing.
    OptionalDecimals(Vec<Option<f64>>),
    /// Words, as the names of tests.
    Words(Vec<&'static str>),
}

impl Column {
    /// Returns how many values are written; a constant counts as one.
    pub fn len(&self) -> usize {
        match self {
            Self::Constant(_) | Self::ConstantText(_) => 1,
            Self::Integers(values) => values.len(),
            Self::OptionalIntegers(values) => values.len(),
            Self::Counts(values) => values.len(),
            Self::SignedCounts(values) => values.len(),
            Self::Decimals(values) => values.len(),
            Self::OptionalDecimals(values) => values.len(),
            Self::Words(values) => values.len(),
        }
    }

    /// Returns whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many values are written and are not null; a constant, which is written once, counts as none.
    pub fn value_count(&self) -> usize {
        match self {
            Self::Constant(_) | Self::ConstantText(_) => 0,
            Self::OptionalIntegers(values) => values.iter().flatten().count(),
            Self::OptionalDecimals(values) => values.iter().flatten().count(),
            _ => self.len(),
        }
    }
}

impl Serialize for Column {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Constant(value) => value.serialize(serializer),
            Self::ConstantText(text) => text.serialize(serializer),
            Self::Integers(values) => values.serialize(serializer),
            Self::OptionalIntegers(values) => values.serialize(serializer),
            Self::Counts(values) => values.serialize(serializer),
            Self::SignedCounts(values) => values.serialize(serializer),
            Self::Decimals(values) => values.serialize(serializer),
            Self::OptionalDecimals(values) => values.serialize(serializer),
            Self::Words(values) => values.serialize(serializer),
        }
    }
}

/// Rounds to a number of decimals.
pub(crate) fn round_to(value: f64, decimals: i32) -> f64 {
    let scale = 10_f64.powi(decimals);
    (value * scale).round() / scale
}
