//! Samples: one row of a signal, as far as judging needs it.

use serde::{Deserialize, Serialize};

/// A row of a signal, as [`super::vital_samples`] makes them; there is one a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Time of the row, Unix epoch milliseconds.
    pub time_ms: i64,
    /// What it says.
    pub reading: Reading,
}

/// What a row says of a signal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reading {
    /// A measured value in the signal's unit, and its quality where that is given.
    Value(f64, Option<u8>),
    /// An evaluation of NEWS.
    News {
        /// Total; `None` unless all parts are known.
        total: Option<u8>,
        /// Highest part of those that are known.
        highest_part: u8,
    },
    /// A record of the rhythm.
    Rhythm {
        /// Whether it is fibrillation; `None` where that is not decided.
        fibrillation: Option<bool>,
        /// Probability of fibrillation, 0 to 1.
        probability: f64,
    },
    /// Nothing that could be judged.
    Unknown(Reason),
}

/// Why a signal cannot be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The quality is below what the rule asks for.
    LowQuality,
    /// The sensor found no value.
    NoValue,
    /// The bracelet is not worn.
    NotWorn,
    /// The bracelet is charging.
    Charging,
    /// NEWS lacks a part, or has one that is too old or too poor.
    NoTotal,
    /// The rhythm could not be classified.
    NotClassified,
    /// There are no rows.
    NoData,
}
