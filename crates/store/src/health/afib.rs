//! Atrial-fibrillation records, an hour in one row.

use boxed_futures::boxed_futures;

use vitals::derivation::DerivedRow;

use super::db::HealthDb;
use super::derived::{known, read_row};
use super::stored_derived::derived_columns;
use crate::engine::Tx;
use crate::error::Result;
use crate::ids::PatientId;
use crate::texts::sql;

sql! {
    FIND_HOURS = concat!("SELECT ", derived_columns!(), " FROM derived
        WHERE patient = $1 AND output = 4 AND key >= $2 AND key <= $3 ORDER BY key");
}

#[boxed_futures]
impl HealthDb {
    /// A patient's packed records of the hours that begin in a range, ms, both ends included, in the order of time.
    pub async fn af_hours(&self, patient: &PatientId, from_ms: i64, to_ms: i64) -> Result<Vec<DerivedRow>> {
        let patient = patient.clone();
        // A day has 24 rows, which are found faster than a blocking thread that `derived` would take.
        let read = async move |tx: &Tx<'_>| {
            tx.query(FIND_HOURS, &[&patient, &from_ms, &to_ms], |row| read_row(&patient, row)).await
        };
        known(self.db.look_up(read).await?)
    }
}
