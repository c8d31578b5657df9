//! The newest measurements of a patient, valid and poor, kept in the transaction that stores the samples.
//!
//! A newer arrival updates them in place. When the row that a value came from is replaced, the derivation computes them
//! again from the rows.

use boxed_futures::boxed_futures;
use runtime::HashMap;
use vitals::measured::Measured;

use super::db::HealthDb;
use crate::checksum::{self, Of};
use crate::engine::Row;
use crate::error::{Result, StoreError};
use crate::ids::PatientId;
use crate::readers::pair;
use crate::texts::{list_of_64, sql};

sql! {
    FIND_OF_PATIENTS = concat!("SELECT uuid, latest FROM patient WHERE uuid IN (", list_of_64!(), ")");
}

#[boxed_futures]
impl HealthDb {
    /// The latest values of several patients, by patient; those without any are left out.
    pub async fn latest_of_patients(&self, patients: Vec<PatientId>) -> Result<HashMap<PatientId, Measured>> {
        let read = |row: &Row<'_>| {
            let (patient, text): (PatientId, Option<String>) = pair(row)?;
            let values = text.map(|text| parse(&patient, Some(&text))).transpose()?;
            Ok((patient, values))
        };
        let found = self.db.read_by_name(patients.clone(), FIND_OF_PATIENTS, read).await?;
        Ok(found.into_iter().filter_map(|(patient, values)| Some((patient, values?))).collect())
    }
}

/// Between the JSON and its checksum, in hexadecimal digits. No JSON of numbers and names has it.
const BEFORE_SUM: char = '#';

/// The latest values of a patient's row; none where it has no text.
///
/// # Errors
/// [`StoreError::Damaged`] when the text is not what was stored.
pub(super) fn parse(patient: &PatientId, text: Option<&str>) -> Result<Measured> {
    let Some(text) = text else { return Ok(Measured::default()) };
    let damaged = |reason: String| StoreError::Damaged(format!("latest values: {reason}"));
    // Texts of before there were sums have none.
    let (json, sum) = text.rsplit_once(BEFORE_SUM).map_or((text, None), |(json, sum)| (json, Some(sum)));
    if sum.is_some_and(|sum| sum != sum_of(patient, json)) {
        return Err(damaged("the checksum is another one".to_owned()));
    }
    serde_json::from_str(json).map_err(|error| damaged(error.to_string()))
}

/// The text that a patient's row keeps, with its checksum; `None` for no values.
pub(super) fn to_text(patient: &PatientId, values: &Measured) -> Result<Option<String>> {
    if values.is_empty() {
        return Ok(None);
    }
    let mut text = serde_json::to_string(values).map_err(|error| StoreError::Damaged(error.to_string()))?;
    let sum = sum_of(patient, &text);
    text.push(BEFORE_SUM);
    text.push_str(&sum);
    Ok(Some(text))
}

fn sum_of(patient: &PatientId, json: &str) -> String {
    format!("{:x}", checksum::of_row(Of::Latest, patient, &[], checksum::of_bytes(json.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use vitals::latest::{LatestValues, Timed};

    #[test]
    fn texts_are_read_back_and_every_flipped_bit_is_found() {
        let ada = PatientId::new("ada");
        let heart_rate = Some(Timed { value: 61.0, timestamp_ms: 1_763_640_000_000 });
        let valid = LatestValues { heart_rate, ..LatestValues::default() };
        let values = Measured { valid, poor: valid };
        let text = to_text(&ada, &values).expect("a text").expect("values");
        assert_eq!(parse(&ada, Some(&text)).expect("values"), values);
        assert!(parse(&PatientId::new("bob"), Some(&text)).is_err());
        for bit in 0..text.len() * 8 {
            let mut bytes = text.clone().into_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            // A database answers no text that is not UTF-8.
            if let Ok(flipped) = String::from_utf8(bytes) {
                assert!(parse(&ada, Some(&flipped)).is_err(), "{flipped}");
            }
        }
    }

    #[test]
    fn texts_of_before_have_no_checksum() {
        let values = parse(&PatientId::new("ada"), Some("{}")).expect("values");
        assert!(values.is_empty());
    }
}
