//! What a computation lacks. It stops, somebody reads it, and it begins again.

use super::output::{DerivedRow, Output};
use crate::block::Block;
use crate::registry::DataType;
use crate::zone::LocalDay;

/// Something stored of the patient that is not in hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Rows of a type in a range of time, µs, both ends included.
    Rows {
        /// The type.
        data_type: DataType,
        /// First time, µs.
        from_us: i64,
        /// Last time, µs.
        to_us: i64,
    },
    /// Derived values of an output in a range of keys, both ends included.
    Derived {
        /// The output.
        output: Output,
        /// First key.
        from: i64,
        /// Last key.
        to: i64,
    },
    /// The last derived value of an output whose key is below another.
    DerivedBefore {
        /// The output.
        output: Output,
        /// The key.
        key: i64,
    },
    /// Window aggregates of vital signs of some whole days before a day, the latest first; none when there are none.
    VitalDaysBefore(Look),
    /// Window aggregates of vital signs of some whole days after a day, the first day first; none when there are none.
    VitalDaysAfter(Look),
}

/// A look beyond the days in hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The last day in hand on that side.
    pub day: LocalDay,
    /// How many days at most.
    pub days: i64,
}

/// What was read to a need.
#[derive(Clone, Debug)]
pub enum Answer {
    /// To [`Need::Rows`].
    Rows(Rows),
    /// To [`Need::Derived`].
    Derived {
        /// The output.
        output: Output,
        /// First and last key.
        keys: (i64, i64),
        /// All that is stored from the first to the last key.
        rows: Vec<DerivedRow>,
    },
    /// To [`Need::DerivedBefore`].
    DerivedBefore {
        /// The output.
        output: Output,
        /// The key.
        key: i64,
        /// The last value below the key; nothing when there is none.
        row: Option<DerivedRow>,
    },
    /// To [`Need::VitalDaysBefore`].
    VitalDaysBefore(Vec<DerivedRow>),
    /// To [`Need::VitalDaysAfter`].
    VitalDaysAfter(Vec<DerivedRow>),
}

/// Rows of a type, merged, in a range of time of which they are all.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The type.
    pub data_type: DataType,
    /// First time, µs.
    pub from_us: i64,
    /// Last time, µs.
    pub to_us: i64,
    /// One block a channel.
    pub blocks: Vec<Block>,
}

/// Reason why a computation stopped: all it lacks, as far as it could see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing(pub(super) Vec<Need>);

/// What a computation answers.
pub type Computed<T = ()> = Result<T, Missing>;

impl From<Need> for Missing {
    fn from(need: Need) -> Self {
        Missing(vec![need])
    }
}

impl Missing {
    /// Tries everything, so that all that is missing is asked for at once.
    pub(super) fn gather<T>(tries: impl IntoIterator<Item = Computed<T>>) -> Computed<Vec<T>> {
        let (mut found, mut needs) = (Vec::new(), Vec::new());
        for result in tries {
            match result {
                Ok(value) => found.push(value),
                Err(Missing(more)) => needs.extend(more),
            }
        }
        if needs.is_empty() { Ok(found) } else { Err(Missing(needs)) }
    }
}
