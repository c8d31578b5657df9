//! Everything that is computed from a patient's rows, in one table.
//!
//! An output is a number and a meaning of the key. Whatever outputs a commit has changed, it writes them with one
//! statement, so neither the schema nor the number of statements grows with the list of derivations.

use std::collections::BTreeMap;

use vitals::registry::DataType;
use vitals::zone::LocalDay;

use crate::engine::{Param, Row, Tx};
use crate::error::{Result, StoreError};
use crate::texts::sql;

sql! {
    PUT = "INSERT INTO derived (patient, output, key, version, body) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (patient, output, key) DO UPDATE SET version = excluded.version, body = excluded.body";
    /// SQLite removes row after row and reads one row here, so that it finds it by the key.
    DELETE = "DELETE FROM derived WHERE (patient, output, key) =
        /*postgres ANY (VALUES postgres*/ (CAST($1 AS TEXT), CAST($2 AS BIGINT), CAST($3 AS BIGINT)) /*postgres ) postgres*/";
}

/// Keys of a day: one for each type or section.
const KEYS_OF_DAY: i64 = 64;

/// What is computed. The numbers are stored: they are never given to another output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i64)]
pub(crate) enum Output {
    /// Five-minute cells of a type on a local day, packed; [`day_and_type`].
    Slots = 1,
    /// A section of a local day, JSON without slots; [`day_and`] the section's number.
    Section = 2,
    /// What other days need of a local day, packed; the day.
    Facts = 3,
    /// Atrial-fibrillation records of a UTC hour, packed; its start, ms.
    AfHour = 4,
    /// An entry of the NEWS history, JSON; its time, ms.
    News = 5,
}

impl Output {
    /// The number that it is stored under.
    pub fn number(self) -> i64 {
        self as i64
    }
}

/// A row to write, or to remove where it has no body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DerivedRow {
    /// Which output.
    pub output: Output,
    /// Place within it.
    pub key: i64,
    /// Version of the definitions.
    pub version: i64,
    /// Content; `None` to remove the row.
    pub body: Option<Vec<u8>>,
}

/// The key of something of a day, by a number below 64.
pub(crate) fn day_and(day: LocalDay, number: i64) -> i64 {
    i64::from(day.0) * KEYS_OF_DAY + number
}

/// The key of a type on a day.
pub(crate) fn day_and_type(day: LocalDay, data_type: DataType) -> i64 {
    day_and(day, data_type.number())
}

/// The keys of some days, from the first to the last one.
pub(crate) fn keys_of_days(first: LocalDay, last: LocalDay) -> (i64, i64) {
    (day_and(first, 0), day_and(last, KEYS_OF_DAY - 1))
}

/// The day and the number of a key.
pub(crate) fn day_of(key: i64) -> (LocalDay, i64) {
    (LocalDay(key.div_euclid(KEYS_OF_DAY) as i32), key.rem_euclid(KEYS_OF_DAY))
}

/// A body that is text.
pub(crate) fn text_of(row: &Row<'_>, column: usize) -> Result<String> {
    String::from_utf8(row.get::<Vec<u8>>(column)?).map_err(|error| StoreError::Damaged(error.to_string()))
}

/// Writes and removes rows of a patient: one statement for what is written, one for what is removed.
pub(crate) async fn put(tx: &Tx<'_>, patient: &str, rows: &[DerivedRow]) -> Result<()> {
    // Of several rows of one key the last one stands; one statement may not write a row twice.
    let rows: BTreeMap<(Output, i64), &DerivedRow> = rows.iter().map(|row| ((row.output, row.key), row)).collect();
    let rows: Vec<(i64, &DerivedRow)> = rows.into_iter().map(|((output, _), row)| (output.number(), row)).collect();
    let mut written: Vec<[&dyn Param; 5]> = Vec::with_capacity(rows.len());
    let mut removed: Vec<[&dyn Param; 3]> = Vec::new();
    for (number, row) in &rows {
        match &row.body {
            Some(body) => written.push([&patient, number, &row.key, &row.version, body]),
            None => removed.push([&patient, number, &row.key]),
        }
    }
    tx.put_rows(DELETE, &removed).await?;
    tx.put_rows(PUT, &written).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_outputs_are_pinned() {
        let outputs = [Output::Slots, Output::Section, Output::Facts, Output::AfHour, Output::News];
        assert_eq!(outputs.map(Output::number), [1, 2, 3, 4, 5]);
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
