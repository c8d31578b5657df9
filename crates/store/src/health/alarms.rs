//! Alarms: thresholds at which somebody wants to be informed. They are kept here; reporting is not built yet.

use boxed_futures::boxed_futures;
use serde::{Deserialize, Serialize};

use super::db::HealthDb;
use crate::engine::Tx;
use crate::error::{Result, StoreError};
use crate::ids::PatientId;
use crate::texts::sql;

/// A threshold on a vital sign or on the NEWS score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alarm {
    /// The name that the sign has among latest values, or `news_score`.
    pub vital: String,
    /// Values below this alarm, in the sign's unit.
    pub below: Option<f64>,
    /// Values above this alarm, in the sign's unit.
    pub above: Option<f64>,
    /// For how long values must lie there, s.
    pub for_s: i64,
}

sql! {
    FIND = "SELECT body FROM patient_alarm WHERE patient = $1";
    PUT = "INSERT INTO patient_alarm (patient, body) VALUES ($1, $2)
        ON CONFLICT (patient) DO UPDATE SET body = excluded.body";
}

#[boxed_futures]
impl HealthDb {
    /// Returns the alarms of a patient, in the order in which they were set.
    pub async fn alarms(&self, patient: &PatientId) -> Result<Vec<Alarm>> {
        let patient = patient.clone();
        let body =
            self.db.read(async move |tx| tx.query_opt(FIND, &[&patient], |row| row.get::<String>(0)).await).await?;
        let alarms = body.map(|body| serde_json::from_str(&body)).transpose();
        Ok(alarms.map_err(|error| StoreError::Damaged(format!("alarms: {error}")))?.unwrap_or_default())
    }
}

/// Puts alarms in the place of those that a patient has.
pub(super) async fn put(tx: &Tx<'_>, patient: &PatientId, alarms: &[Alarm]) -> Result<()> {
    let body = serde_json::to_string(alarms).map_err(|error| StoreError::Damaged(error.to_string()))?;
    tx.execute(PUT, &[&patient, &body]).await.map(drop)
}
