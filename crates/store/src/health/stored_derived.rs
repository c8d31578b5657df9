//! A derived value as it is read, and the check that it is what was stored.

use vitals::derivation::{Output, day_of};
use vitals::registry::DataType;
use vitals::zone::{DAY_US, QUARTER_US};

use crate::checksum::{self, Of};
use crate::engine::{Columns, Row};
use crate::error::{Result, StoreError};
use crate::ids::PatientId;
use crate::texts::record;

const HOUR_US: i64 = 4 * QUARTER_US;

/// A row of derived values whose checksum has been compared.
#[derive(Clone, Debug)]
pub(super) struct StoredDerived {
    /// Number of the output; this version may not know it.
    pub output: i64,
    pub key: i64,
    pub version: i64,
    pub body: Vec<u8>,
}

/// A row before its checksum is compared.
pub(super) struct DerivedColumns {
    /// Number of the output.
    pub output: i64,
    pub key: i64,
    version: i64,
    sum: Option<i64>,
    body: Vec<u8>,
}

record! {
    derived_columns!(""), pub(super) read_derived(columns) -> DerivedColumns { output, key, version, sum, body }
}
#[expect(clippy::single_component_path_imports, reason = "a macro is visible to other files by an import alone")]
pub(super) use derived_columns;

impl DerivedColumns {
    /// Compares the row with its checksum.
    ///
    /// # Errors
    /// [`StoreError::DamagedRows`] when it is not what was stored.
    pub fn checked(self, patient: &PatientId) -> Result<StoredDerived> {
        let DerivedColumns { output, key, version, sum, body } = self;
        StoredDerived::checked(patient, [output, key, version], sum, body)
    }
}

impl StoredDerived {
    /// Reads [`derived_columns!`].
    ///
    /// # Errors
    /// [`StoreError::DamagedRows`] when the row is not what was stored.
    pub fn read(patient: &PatientId, columns: &mut Columns<'_, '_>) -> Result<Self> {
        read_derived(columns)?.checked(patient)
    }

    /// Makes a row of output, key and version, with its stored sum.
    pub fn checked(
        patient: &PatientId,
        [output, key, version]: [i64; 3],
        sum: Option<i64>,
        body: Vec<u8>,
    ) -> Result<Self> {
        if checksum::is_intact(sum, derived_sum(patient, [output, key, version], &body)) {
            return Ok(StoredDerived { output, key, version, body });
        }
        let (what, times_us) = described(output, key);
        Err(StoreError::damaged_rows(what, times_us, "the checksum of a derived value is another one"))
    }

    /// Reads the patient, then [`derived_columns!`].
    pub fn read_with_patient(row: &Row<'_>) -> Result<(PatientId, Self)> {
        let mut columns = Columns::of(row);
        let patient: PatientId = columns.take()?;
        let stored = Self::read(&patient, &mut columns)?;
        Ok((patient, stored))
    }

    /// Returns the body of a text.
    pub fn text(self) -> Result<String> {
        String::from_utf8(self.body).map_err(|error| StoreError::Damaged(error.to_string()))
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
