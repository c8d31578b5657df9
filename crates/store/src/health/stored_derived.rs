//! Derived values as they are read: a row is compared with its checksum before anything is made of it.

use vitals::derivation::{DerivedRow, Output, day_of};
use vitals::registry::DataType;
use vitals::zone::{DAY_US, QUARTER_US};

use crate::checksum::{self, Of};
use crate::engine::{Columns, Row};
use crate::error::{Result, StoreError};
use crate::ids::PatientId;
use crate::texts::record;

const HOUR_US: i64 = 4 * QUARTER_US;

// A tuple and no type: what is not checked has no form that could be handed on for a derived value. The number of the
// output is one that this version may not know.
record! {
    derived_columns!(""), pub(super) read_columns(columns) -> (i64, i64, i64, Option<i64>, Vec<u8>) {
        output, key, version, sum, body
    }
}
#[expect(clippy::single_component_path_imports, reason = "a macro is visible to other files by an import alone")]
pub(super) use derived_columns;

/// Reads a row of [`derived_columns!`] of a patient; `None` for an output that this version does not know.
///
/// # Errors
/// [`StoreError::DamagedRows`] when it is not what was stored.
pub(super) fn read_derived(patient: &PatientId, columns: &mut Columns<'_, '_>) -> Result<Option<DerivedRow>> {
    let (output, key, version, sum, body) = read_columns(columns)?;
    checked(patient, [output, key, version], sum, body)
}

/// Reads the patient, then the row.
pub(super) fn read_with_patient(row: &Row<'_>) -> Result<(PatientId, Option<DerivedRow>)> {
    let mut columns = Columns::of(row);
    let patient: PatientId = columns.take()?;
    let row = read_derived(&patient, &mut columns)?;
    Ok((patient, row))
}

/// Returns the row of output, key and version, for a statement that has its columns at other places.
pub(super) fn checked(
    patient: &PatientId,
    numbers: [i64; 3],
    sum: Option<i64>,
    body: Vec<u8>,
) -> Result<Option<DerivedRow>> {
    check(patient, numbers, sum, &body)?;
    let [output, key, version] = numbers;
    // A newer program may have written to the same store before it was replaced by this one.
    Ok(Output::from_number(output).map(|output| DerivedRow { output, key, version, body: Some(body) }))
}

/// Compares a row of output, key and version with its checksum.
///
/// # Errors
/// [`StoreError::DamagedRows`] when it is not what was stored.
pub(super) fn check(patient: &PatientId, numbers: [i64; 3], sum: Option<i64>, body: &[u8]) -> Result<()> {
    if checksum::is_intact(sum, derived_sum(patient, numbers, body)) {
        return Ok(());
    }
    let (what, times_us) = described(numbers[0], numbers[1]);
    Err(StoreError::damaged_rows(what, times_us, "the checksum of a derived value is another one"))
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
        let read = |patient, numbers, body: &[u8]| checked(patient, numbers, Some(sum), body.to_vec());
        let row = DerivedRow { output: Output::News, key: 7, version: 1, body: Some(b"body".to_vec()) };
        assert_eq!(read(&ada, numbers, b"body").expect("sound"), Some(row));
        let of_later_version = derived_sum(&ada, [99, 7, 1], b"body");
        assert_eq!(checked(&ada, [99, 7, 1], Some(of_later_version), b"body".to_vec()).expect("sound"), None);
        for (patient, numbers, body) in
            [(&bob, numbers, b"body"), (&ada, [numbers[0], 8, 1], b"body"), (&ada, numbers, b"bode")]
        {
            assert!(read(patient, numbers, body).is_err_and(|error| error.is_damage()), "{numbers:?}");
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
