//! Atrial-fibrillation records, an hour in one row.

use super::HealthDb;
use crate::engine::Tx;
use crate::error::Result;
use crate::texts::sql;

sql! {
    FIND_HOURS = "SELECT hour_ms, records FROM afib_hour
        WHERE patient = $1 AND hour_ms >= $2 AND hour_ms <= $3 ORDER BY hour_ms";
    PUT = "INSERT INTO afib_hour (patient, hour_ms, records) VALUES ($1, $2, $3)
        ON CONFLICT (patient, hour_ms) DO UPDATE SET records = excluded.records";
    DELETE = "DELETE FROM afib_hour WHERE patient = $1 AND hour_ms = $2";
}

/// The records of one UTC hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AfHourRow {
    /// Start of the hour, ms since 1970.
    pub hour_ms: i64,
    /// Packed records; empty to remove the row.
    pub records: Vec<u8>,
}

impl HealthDb {
    /// A patient's records of the hours that begin in a range, ms, both ends included, in the order of time.
    pub async fn af_hours(&self, patient: &str, from_ms: i64, to_ms: i64) -> Result<Vec<AfHourRow>> {
        let patient = patient.to_owned();
        self.db
            .look_up(async move |tx| {
                tx.query(FIND_HOURS, &[&patient, &from_ms, &to_ms], |row| {
                    Ok(AfHourRow { hour_ms: row.get(0)?, records: row.get(1)? })
                })
                .await
            })
            .await
    }
}

/// Writes the records of an hour, or removes them.
pub(super) async fn put(tx: &Tx<'_>, patient: &str, row: &AfHourRow) -> Result<()> {
    if row.records.is_empty() {
        tx.put(DELETE, &[&patient, &row.hour_ms]).await?;
    } else {
        tx.put(PUT, &[&patient, &row.hour_ms, &row.records]).await?;
    }
    Ok(())
}
