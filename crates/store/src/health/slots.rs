//! Packed cells of local days.

use runtime::HashMap;
use vitals::registry::DataType;
use vitals::zone::LocalDay;

use super::HealthDb;
use crate::engine::{Param, Row, Tx};
use crate::error::{Result, StoreError};
use crate::texts::{LIST_LENGTH, in_lists, list_of_64, sql};

sql! {
    FIND_DAYS = "SELECT patient, local_day, data_type, cells FROM slot
        WHERE patient = $1 AND local_day >= $2 AND local_day <= $3 ORDER BY local_day, data_type";
    FIND_DAYS_OF_TWO = "SELECT patient, local_day, data_type, cells FROM slot
        WHERE patient = $1 AND local_day >= $2 AND local_day <= $3 AND (data_type = $4 OR data_type = $5)
        ORDER BY local_day, data_type";
    FIND_BEFORE = "SELECT patient, local_day, data_type, cells FROM slot
        WHERE patient = $1 AND local_day < $2 AND (data_type = $4 OR data_type = $5)
        ORDER BY local_day DESC, data_type LIMIT $3";
    FIND_AFTER = "SELECT patient, local_day, data_type, cells FROM slot
        WHERE patient = $1 AND local_day > $2 AND (data_type = $4 OR data_type = $5)
        ORDER BY local_day, data_type LIMIT $3";
    FIND_OF_PATIENTS = concat!("SELECT patient, local_day, data_type, cells FROM slot
        WHERE patient IN (", list_of_64!(), ") AND local_day = $65 AND (data_type = $66 OR data_type = $67)
        ORDER BY patient, data_type");
    PUT = "INSERT INTO slot (patient, local_day, data_type, cells) VALUES ($1, $2, $3, $4)
        ON CONFLICT (patient, local_day, data_type) DO UPDATE SET cells = excluded.cells";
    DELETE = "DELETE FROM slot WHERE patient = $1 AND local_day = $2 AND data_type = $3";
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
    /// Packed cells; empty to remove the row.
    pub cells: Vec<u8>,
}

impl HealthDb {
    /// The cells of a patient on local days, first and last included, by day and type.
    pub async fn slots(&self, patient: &str, first: LocalDay, last: LocalDay) -> Result<Vec<SlotRow>> {
        let patient = patient.to_owned();
        self.db
            .read(async move |tx| {
                let days = (i64::from(first.0), i64::from(last.0));
                known(&tx.query(FIND_DAYS, &[&patient, &days.0, &days.1], read_row).await?)
            })
            .await
    }

    /// The same, of two types only.
    pub async fn slots_of_types(
        &self,
        patient: &str,
        first: LocalDay,
        last: LocalDay,
        types: [DataType; 2],
    ) -> Result<Vec<SlotRow>> {
        let patient = patient.to_owned();
        self.db
            .read(async move |tx| {
                let (days, [one, other]) = ((i64::from(first.0), i64::from(last.0)), types.map(DataType::number));
                known(&tx.query(FIND_DAYS_OF_TWO, &[&patient, &days.0, &days.1, &one, &other], read_row).await?)
            })
            .await
    }

    /// The last rows of cells of two types of a patient before a local day, the latest day first.
    pub async fn slots_before(
        &self,
        patient: &str,
        day: LocalDay,
        types: [DataType; 2],
        limit: i64,
    ) -> Result<Vec<SlotRow>> {
        self.slots_beyond(FIND_BEFORE, patient, day, types, limit).await
    }

    /// The first rows of cells of two types of a patient after a local day.
    pub async fn slots_after(
        &self,
        patient: &str,
        day: LocalDay,
        types: [DataType; 2],
        limit: i64,
    ) -> Result<Vec<SlotRow>> {
        self.slots_beyond(FIND_AFTER, patient, day, types, limit).await
    }

    async fn slots_beyond(
        &self,
        text: &'static str,
        patient: &str,
        day: LocalDay,
        types: [DataType; 2],
        limit: i64,
    ) -> Result<Vec<SlotRow>> {
        let patient = patient.to_owned();
        self.db
            .read(async move |tx| {
                let [one, other] = types.map(DataType::number);
                known(&tx.query(text, &[&patient, &i64::from(day.0), &limit, &one, &other], read_row).await?)
            })
            .await
    }

    /// The cells of two types of several patients on one local day, by patient; those without any are left out.
    pub async fn slots_of_patients(
        &self,
        patients: Vec<String>,
        day: LocalDay,
        types: [DataType; 2],
    ) -> Result<HashMap<String, Vec<SlotRow>>> {
        self.db
            .read(async move |tx| {
                let (day, [one, other]) = (i64::from(day.0), types.map(DataType::number));
                let mut found: HashMap<String, Vec<SlotRow>> = HashMap::default();
                in_lists(&patients, async |list| {
                    let mut params = with_last(list, &day);
                    params.extend([&one as &dyn Param, &other]);
                    for stored in tx.query(FIND_OF_PATIENTS, &params, read_row).await? {
                        if let Some(row) = stored.known()? {
                            found.entry(stored.patient).or_default().push(row);
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

/// The parameters of a list and one more.
pub(super) fn with_last<'params>(list: &[&'params dyn Param], more: &'params dyn Param) -> Vec<&'params dyn Param> {
    debug_assert_eq!(list.len(), LIST_LENGTH);
    list.iter().copied().chain([more]).collect()
}

/// Writes the cells of a day, or removes the row when there is none.
pub(super) async fn put(tx: &Tx<'_>, patient: &str, row: &SlotRow) -> Result<()> {
    let (day, data_type) = (i64::from(row.day.0), row.data_type.number());
    if row.cells.is_empty() {
        tx.put(DELETE, &[&patient, &day, &data_type]).await?;
        return Ok(());
    }
    let cells = compress(&row.cells)?;
    tx.put(PUT, &[&patient, &day, &data_type, &cells]).await?;
    Ok(())
}

struct Stored {
    patient: String,
    day: i64,
    data_type: i64,
    cells: Vec<u8>,
}

impl Stored {
    /// `None` for a type that this version does not know.
    fn known(&self) -> Result<Option<SlotRow>> {
        let Some(data_type) = DataType::from_number(self.data_type) else {
            return Ok(None);
        };
        let cells = decompress(&self.cells)?;
        Ok(Some(SlotRow { day: LocalDay(self.day as i32), data_type, cells }))
    }
}

fn read_row(row: &Row<'_>) -> Result<Stored> {
    Ok(Stored { patient: row.get(0)?, day: row.get(1)?, data_type: row.get(2)?, cells: row.get(3)? })
}

fn known(rows: &[Stored]) -> Result<Vec<SlotRow>> {
    let rows: Result<Vec<Option<SlotRow>>> = rows.iter().map(Stored::known).collect();
    Ok(rows?.into_iter().flatten().collect())
}

/// Length, then zstd: what neighbouring windows have in common costs little.
fn compress(cells: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = (cells.len() as u32).to_le_bytes().to_vec();
    let packed = zstd::bulk::compress(cells, ZSTD_LEVEL);
    bytes.extend(packed.map_err(|error| StoreError::Damaged(error.to_string()))?);
    Ok(bytes)
}

fn decompress(bytes: &[u8]) -> Result<Vec<u8>> {
    let damaged = || StoreError::Damaged("a day's cells cannot be read".to_owned());
    let (length, packed) = bytes.split_first_chunk::<4>().ok_or_else(damaged)?;
    let length = u32::from_le_bytes(*length);
    if length > LARGEST_DAY {
        return Err(damaged());
    }
    zstd::bulk::decompress(packed, length as usize).map_err(|_| damaged())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_read_back_and_damage_is_told() {
        let cells: Vec<u8> = (0..5000_u32).map(|at| (at % 7) as u8).collect();
        let bytes = compress(&cells).unwrap();
        assert!(bytes.len() < cells.len() / 10);
        assert_eq!(decompress(&bytes).unwrap(), cells);
        assert!(decompress(&bytes[..3]).is_err());
        assert!(decompress(&bytes[..bytes.len() - 1]).is_err());
        assert!(decompress(&[255; 40]).is_err());
    }
}
