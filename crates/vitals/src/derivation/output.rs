//! Where derived values are kept: an output is a number, and a meaning of the key.

use crate::registry::DataType;
use crate::zone::LocalDay;

/// Keys of a day: one for each data type, section or figure.
pub const KEYS_OF_DAY: i64 = 64;

/// What a derived value is. The numbers are stored and are never given to another output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i64)]
pub enum Output {
    /// Five-minute window aggregates of a data type on a local day, packed; key: [`day_and`] the type's number.
    Slots = 1,
    /// A section of the daily summary of a local day, JSON without slots; key: [`day_and`] the section's number.
    Section = 2,
    /// What other days need of a local day, packed; key: [`day_and`] 0.
    DayInputs = 3,
    /// Atrial-fibrillation records of a UTC hour, packed; key: its start, ms.
    AfHour = 4,
    /// An entry of the NEWS history, JSON; key: its time, ms.
    News = 5,
    /// A figure of a local day beyond the specification, JSON; key: [`day_and`] the figure's number.
    Extra = 6,
}

impl Output {
    /// All outputs.
    pub const ALL: [Output; 6] =
        [Output::Slots, Output::Section, Output::DayInputs, Output::AfHour, Output::News, Output::Extra];

    /// Returns the number that it is stored under.
    pub const fn number(self) -> i64 {
        self as i64
    }

    /// Returns the output of a number.
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|output| output.number() == number)
    }

    /// Returns whether keys are local days with a number; they are times otherwise, ms.
    pub const fn is_of_days(self) -> bool {
        !matches!(self, Output::AfHour | Output::News)
    }
}

/// A change of a derived value, or the value as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DerivedRow {
    /// Which output.
    pub output: Output,
    /// Place within it.
    pub key: i64,
    /// Version of the derivation that computed it.
    pub version: i64,
    /// Content; `None` to remove the row.
    pub body: Option<Vec<u8>>,
}

/// Returns the key of something of a day, by a number below [`KEYS_OF_DAY`].
pub const fn day_and(day: LocalDay, number: i64) -> i64 {
    day.0 as i64 * KEYS_OF_DAY + number
}

/// Returns the key of a data type on a day.
pub fn day_and_type(day: LocalDay, data_type: DataType) -> i64 {
    day_and(day, data_type.number())
}

/// Returns the first and the last key of some days, both days included.
pub const fn keys_of_days(first: LocalDay, last: LocalDay) -> (i64, i64) {
    (day_and(first, 0), day_and(last, KEYS_OF_DAY - 1))
}

/// Returns the day and the number of a key.
pub const fn day_of(key: i64) -> (LocalDay, i64) {
    (LocalDay(key.div_euclid(KEYS_OF_DAY) as i32), key.rem_euclid(KEYS_OF_DAY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_outputs_are_pinned() {
        assert_eq!(Output::ALL.map(Output::number), [1, 2, 3, 4, 5, 6]);
        assert!(Output::ALL.into_iter().all(|output| Output::from_number(output.number()) == Some(output)));
    }

    #[test]
    fn keys_of_days_are_read_back_and_ordered() {
        for day in [LocalDay(-1), LocalDay(0), LocalDay(20_000)] {
            let (first, last) = keys_of_days(day, day);
            for number in [0, 1, 63] {
                let key = day_and(day, number);
                assert_eq!(day_of(key), (day, number));
                assert!((first..=last).contains(&key));
            }
            assert!(last < keys_of_days(LocalDay(day.0 + 1), day).0);
        }
        assert!(DataType::ALL.into_iter().all(|data_type| data_type.number() < KEYS_OF_DAY));
    }
}
