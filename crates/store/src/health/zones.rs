//! The time zone of a patient, for syncs that name none.

use boxed_futures::boxed_futures;

use super::db::HealthDb;
use crate::error::Result;
use crate::ids::PatientId;
use crate::texts::sql;

sql! {
    FIND_TIME_ZONE = "SELECT time_zone FROM patient WHERE uuid = $1";
}

#[boxed_futures]
impl HealthDb {
    /// Returns the zone of a patient's profile; `None` when it is not set or the patient is not known.
    pub async fn time_zone(&self, patient: &PatientId) -> Result<Option<String>> {
        let patient = patient.clone();
        let found =
            self.db.read(async move |tx| tx.query_opt(FIND_TIME_ZONE, &[&patient], |row| row.get(0)).await).await?;
        Ok(found.flatten())
    }
}
