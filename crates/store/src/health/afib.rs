//! Atrial-fibrillation records, an hour in one row.

use boxed_futures::boxed_futures;

use super::db::HealthDb;
use super::stored_derived::{StoredDerived, derived_columns};
use crate::error::Result;
use crate::ids::PatientId;
use crate::texts::sql;

sql! {
    FIND_HOURS = concat!("SELECT ", derived_columns!(), " FROM derived
        WHERE patient = $1 AND output = 4 AND key >= $2 AND key <= $3 ORDER BY key");
}

/// The records of one UTC hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AfHourRow {
    /// Start of the hour, ms since 1970.
    pub hour_ms: i64,
    /// Packed records.
    pub records: Vec<u8>,
}

#[boxed_futures]
impl HealthDb {
    /// A patient's records of the hours that begin in a range, ms, both ends included, in the order of time.
    pub async fn af_hours(&self, patient: &PatientId, from_ms: i64, to_ms: i64) -> Result<Vec<AfHourRow>> {
        let patient = patient.clone();
        self.db
            .look_up(async move |tx| {
                tx.query(FIND_HOURS, &[&patient, &from_ms, &to_ms], |row| {
                    let (hour_ms, records) = StoredDerived::read(row)?.value(&patient)?;
                    Ok(AfHourRow { hour_ms, records })
                })
                .await
            })
            .await
    }
}
