//! A derived value as it is read, and the check that it is what was stored.

use vitals::derivation::{DerivedRow, Output, day_of};
use vitals::registry::DataType;
use vitals::zone::{DAY_US, QUARTER_US};

use crate::checksum::{self, Of};
use crate::engine::{Columns, Row};
use crate::error::{Result, StoreError};
use crate::ids::PatientId;
use crate::texts::record;

const HOUR_US: i64 = 4 * QUARTER_US;

/// A row of derived values. What it holds is reached through [`StoredDerived::row`] and [`StoredDerived::value`] alone,
/// which check it first.
#[derive(Clone, Debug)]
pub(super) struct StoredDerived {
    /// Number of the output; this version may not know it.
    output: i64,
    key: i64,
    version: i64,
    sum: Option<i64>,
    body: Vec<u8>,
}

record! {
    derived_columns!(""), pub(super) read_derived(columns) -> StoredDerived { output, key, version, sum, body }
}
#[expect(clippy::single_component_path_imports, reason = "a macro is visible to other files by an import alone")]
pub(super) use derived_columns;

impl StoredDerived {
    /// Reads a row of [`derived_columns!`].
    pub fn read(row: &Row<'_>) -> Result<Self> {
        read_derived(&mut Columns::of(row))
    }

    /// Reads the patient, then [`derived_columns!`].
    pub fn read_with_patient(row: &Row<'_>) -> Result<(PatientId, Self)> {
        let mut columns = Columns::of(row);
        Ok((columns.take()?, read_derived(&mut columns)?))
    }

    /// Makes a row of output, key and version, for a statement that has its columns at other places.
    pub fn of_columns([output, key, version]: [i64; 3], sum: Option<i64>, body: Vec<u8>) -> Self {
        StoredDerived { output, key, version, sum, body }
    }

    /// Returns the number of the output and the key, which may be damaged themselves.
    pub fn place(&self) -> (i64, i64) {
        (self.output, self.key)
    }

    /// Length of the content.
    pub fn body_bytes(&self) -> usize {
        self.body.len()
    }

    /// Compares the row with its checksum.
    ///
    /// # Errors
    /// [`StoreError::DamagedRows`] when it is not what was stored.
    pub fn check(&self, patient: &PatientId) -> Result<()> {
        let StoredDerived { output, key, version, sum, body } = self;
        if checksum::is_intact(*sum, derived_sum(patient, [*output, *key, *version], body)) {
            return Ok(());
        }
        let (what, times_us) = described(*output, *key);
        Err(StoreError::damaged_rows(what, times_us, "the checksum of a derived value is another one"))
    }

    /// Returns the key and the content.
    ///
    /// # Errors
    /// [`StoreError::DamagedRows`] when the row is not what was stored.
    pub fn value(self, patient: &PatientId) -> Result<(i64, Vec<u8>)> {
        self.check(patient)?;
        Ok((self.key, self.body))
    }

    /// Returns the row as it was written; `None` for an output that this version does not know.
    ///
    /// # Errors
    /// [`StoreError::DamagedRows`] when the row is not what was stored.
    pub fn row(self, patient: &PatientId) -> Result<Option<DerivedRow>> {
        self.check(patient)?;
        let StoredDerived { output, key, version, body, .. } = self;
        // A newer program may have written to the same store before it was replaced by this one.
        Ok(Output::from_number(output).map(|output| DerivedRow { output, key, version, body: Some(body) }))
    }
}

/// Returns the sum of a derived value: output, key and version, and the body.
pub(super) fn derived_sum(patient: &PatientId, numbers: [i64; 3], body: &[u8]) -> i64 {
    checksum::of_row(Of::Derived, patient, &numbers, checksum::of_bytes(body))
}

/// Returns what a row is of, and the time that it covers, µs; days are those of the patient's own calendar.
pub(super) fn described(output: i64, key: i64) -> (&'static str, (i64, i64)) {
    let (day, number) = day_of(key);
    // Keys can be damaged themselves.
    let day_us = i64::from(day.0).saturating_mul(DAY_US);
    let of_day = (day_us, day_us.saturating_add(DAY_US - 1));
    let time_us = key.saturating_mul(1000);
    match Output::from_number(output) {
        Some(Output::Slots) => (DataType::from_number(number).map_or("five-minute values", DataType::name), of_day),
        Some(Output::Section) => ("daily summaries", of_day),
        Some(Output::AfHour) => ("atrial-fibrillation records", (time_us, time_us.saturating_add(HOUR_US - 1))),
        Some(Output::News) => ("NEWS scores", (time_us, time_us)),
        Some(Output::DayInputs | Output::Extra) | None => ("figures of a day", of_day),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vitals::derivation::{day_and, day_and_type};
    use vitals::zone::LocalDay;

    #[test]
    fn content_of_a_row_with_another_sum_is_damaged() {
        let (ada, bob) = (PatientId::new("ada"), PatientId::new("bob"));
        let numbers = [Output::News.number(), 7, 1];
        let sum = derived_sum(&ada, numbers, b"body");
        let stored = || StoredDerived::of_columns(numbers, Some(sum), b"body".to_vec());
        let row = DerivedRow { output: Output::News, key: 7, version: 1, body: Some(b"body".to_vec()) };
        assert_eq!(stored().row(&ada).expect("sound"), Some(row));
        assert_eq!(stored().value(&ada).expect("sound"), (7, b"body".to_vec()));
        let of_later_version = derived_sum(&ada, [99, 7, 1], b"body");
        let unknown = StoredDerived::of_columns([99, 7, 1], Some(of_later_version), b"body".to_vec());
        assert_eq!(unknown.row(&ada).expect("sound"), None);
        for (patient, numbers, body) in
            [(&bob, numbers, b"body"), (&ada, [numbers[0], 8, 1], b"body"), (&ada, numbers, b"bode")]
        {
            let damaged = StoredDerived::of_columns(numbers, Some(sum), body.to_vec());
            assert!(damaged.clone().row(patient).is_err_and(|error| error.is_damage()), "{numbers:?}");
            assert!(damaged.value(patient).is_err_and(|error| error.is_damage()), "{numbers:?}");
        }
    }

    #[test]
    fn damage_is_described_by_output_and_time() {
        let of_first_day = (0, DAY_US - 1);
        let activity = day_and_type(LocalDay(0), DataType::Activity);
        assert_eq!(described(Output::Slots.number(), activity), ("activity", of_first_day));
        assert_eq!(described(Output::Section.number(), day_and(LocalDay(0), 3)), ("daily summaries", of_first_day));
        assert_eq!(described(Output::News.number(), 5), ("NEWS scores", (5_000, 5_000)));
        assert_eq!(described(99, i64::MAX).0, "figures of a day");
        assert_eq!(described(Output::Section.number(), i64::MIN).0, "daily summaries");
        assert_eq!(described(Output::AfHour.number(), i64::MAX).0, "atrial-fibrillation records");
    }
}
