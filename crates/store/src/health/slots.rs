//! Packed cells of local days.

use boxed_futures::boxed_futures;
use runtime::HashMap;
use vitals::derivation::{day_and_type, day_of, keys_of_days};
use vitals::registry::DataType;
use vitals::zone::LocalDay;

use super::db::HealthDb;
use super::stored_derived::{StoredDerived, derived_columns};
use crate::engine::{Param, Row};
use crate::error::{Result, StoreError};
use crate::ids::PatientId;
use crate::texts::{in_lists, list_of_64, sql, with_more};

sql! {
    FIND_DAYS = concat!("SELECT ", derived_columns!(), " FROM derived
        WHERE patient = $1 AND output = 1 AND key >= $2 AND key <= $3 ORDER BY key");
    FIND_DAYS_OF_TWO = concat!("SELECT ", derived_columns!(), " FROM derived
        WHERE patient = $1 AND output = 1 AND key >= $2 AND key <= $3 AND (key % 64 = $4 OR key % 64 = $5)
        ORDER BY key");
    FIND_OF_PATIENTS = concat!("SELECT patient, ", derived_columns!(), " FROM derived
        WHERE patient IN (", list_of_64!(), ") AND output = 1 AND (key = $65 OR key = $66) ORDER BY patient, key");
}

const ZSTD_LEVEL: i32 = 1;
/// A day of cells is a few kilobytes; a damaged length must not ask for more.
const LARGEST_DAY: u32 = 1 << 24;

/// The packed cells of one type on one local day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotRow {
    /// The day.
    pub day: LocalDay,
    /// The type of the rows that the cells are made of.
    pub data_type: DataType,
    /// Packed cells.
    pub cells: Vec<u8>,
}

#[boxed_futures]
impl HealthDb {
    /// The cells of a patient on local days, first and last included, by day and type.
    pub async fn slots(&self, patient: &PatientId, first: LocalDay, last: LocalDay) -> Result<Vec<SlotRow>> {
        let patient = patient.clone();
        self.db
            .read(async move |tx| {
                let (from, to) = keys_of_days(first, last);
                known(&tx.query(FIND_DAYS, &[&patient, &from, &to], |row| read_row(&patient, row)).await?)
            })
            .await
    }

    /// The same, of two types only.
    pub async fn slots_of_types(
        &self,
        patient: &PatientId,
        first: LocalDay,
        last: LocalDay,
        types: [DataType; 2],
    ) -> Result<Vec<SlotRow>> {
        let patient = patient.clone();
        self.db
            .read(async move |tx| {
                let ((from, to), [one, other]) = (keys_of_days(first, last), types.map(DataType::number));
                let params: [&dyn Param; 5] = [&patient, &from, &to, &one, &other];
                known(&tx.query(FIND_DAYS_OF_TWO, &params, |row| read_row(&patient, row)).await?)
            })
            .await
    }

    /// The cells of two types of several patients on one local day, by patient; those without any are left out.
    pub async fn slots_of_patients(
        &self,
        patients: Vec<PatientId>,
        day: LocalDay,
        types: [DataType; 2],
    ) -> Result<HashMap<PatientId, Vec<SlotRow>>> {
        self.db
            .read(async move |tx| {
                let [one, other] = types.map(|data_type| day_and_type(day, data_type));
                let mut found: HashMap<PatientId, Vec<SlotRow>> = HashMap::default();
                in_lists(&patients, async |list| {
                    let params = with_more(list, &[&one, &other]);
                    let rows = tx.query(FIND_OF_PATIENTS, &params, read_of_patient).await?;
                    for (patient, value) in rows {
                        if let Some(row) = slot_row(&value)? {
                            found.entry(patient).or_default().push(row);
                        }
                    }
                    Ok(())
                })
                .await?;
                Ok(found)
            })
            .await
    }
}

/// `None` for a type that this version does not know.
fn slot_row((key, body): &(i64, Vec<u8>)) -> Result<Option<SlotRow>> {
    let (day, number) = day_of(*key);
    let Some(data_type) = DataType::from_number(number) else { return Ok(None) };
    Ok(Some(SlotRow { day, data_type, cells: unpack(body)? }))
}

fn read_row(patient: &PatientId, row: &Row<'_>) -> Result<(i64, Vec<u8>)> {
    StoredDerived::read(row)?.value(patient)
}

fn read_of_patient(row: &Row<'_>) -> Result<(PatientId, (i64, Vec<u8>))> {
    let (patient, stored) = StoredDerived::read_with_patient(row)?;
    let value = stored.value(&patient)?;
    Ok((patient, value))
}

fn known(rows: &[(i64, Vec<u8>)]) -> Result<Vec<SlotRow>> {
    rows.iter().filter_map(|value| slot_row(value).transpose()).collect()
}

/// Length, then zstd: what neighbouring windows have in common costs little.
pub(super) fn compress(cells: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = (cells.len() as u32).to_le_bytes().to_vec();
    let packed = zstd::bulk::compress(cells, ZSTD_LEVEL);
    bytes.extend(packed.map_err(|error| StoreError::Damaged(error.to_string()))?);
    Ok(bytes)
}

/// The cells of a stored row.
pub(super) fn unpack(bytes: &[u8]) -> Result<Vec<u8>> {
    let damaged = || StoreError::Damaged("a day's cells cannot be read".to_owned());
    let (length, packed) = bytes.split_first_chunk::<4>().ok_or_else(damaged)?;
    let length = u32::from_le_bytes(*length);
    // The length comes from the row: damaged bytes must not ask for gigabytes.
    if length > LARGEST_DAY {
        return Err(damaged());
    }
    zstd::bulk::decompress(packed, length as usize).map_err(|_| damaged())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_read_back_and_damage_is_reported() {
        let cells: Vec<u8> = (0..5000_u32).map(|at| (at % 7) as u8).collect();
        let bytes = compress(&cells).unwrap();
        assert!(bytes.len() < cells.len() / 10);
        assert_eq!(unpack(&bytes).unwrap(), cells);
        assert!(unpack(&bytes[..3]).is_err());
        assert!(unpack(&bytes[..bytes.len() - 1]).is_err());
        assert!(unpack(&[255; 40]).is_err());
    }
}
