//! Where rows have expired, and what that leaves of values that were derived from them.

use std::collections::BTreeMap;

use crate::registry::DataType;

/// What lies before the first row of its type: it was derived from rows that have expired.
///
/// What is made of several types, such as the summary of a day, is frozen where any of them has expired. A batch still
/// brings a summary up to date where rows of another one are left, but not NEWS.
#[derive(Clone, Debug, Default)]
pub struct Frozen {
    /// First row of each type that has any, µs.
    pub first_us: BTreeMap<DataType, i64>,
    /// From when on rows of a type are kept, µs, where some have expired.
    pub kept_from_us: BTreeMap<DataType, i64>,
}

impl Frozen {
    /// Returns the first row of some types, µs; the end of time without any.
    pub fn first_of(&self, types: &[DataType]) -> i64 {
        types.iter().filter_map(|data_type| self.first_us.get(data_type)).copied().min().unwrap_or(i64::MAX)
    }

    /// Returns from when on what is made of all these types can be made again, µs.
    pub fn whole_from(&self, types: &[DataType]) -> i64 {
        let kept_from = types.iter().filter_map(|data_type| self.kept_from_us.get(data_type)).copied().max();
        self.first_of(types).max(kept_from.unwrap_or(i64::MIN))
    }
}
