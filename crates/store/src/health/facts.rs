//! What other days need to know of a day, packed.

use vitals::zone::LocalDay;

use super::HealthDb;
use super::derived::{DerivedRow, Output};
use crate::error::Result;
use crate::texts::sql;

sql! {
    FIND_DAYS = "SELECT key, body FROM derived
        WHERE patient = $1 AND output = 3 AND key >= $2 AND key <= $3 ORDER BY key";
}

/// The facts of one local day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactsRow {
    /// The day.
    pub day: LocalDay,
    /// Packed facts; empty to remove the row.
    pub facts: Vec<u8>,
}

impl HealthDb {
    /// The facts of a patient's local days, first and last included, by day; days without any are left out.
    pub async fn facts(&self, patient: &str, first: LocalDay, last: LocalDay) -> Result<Vec<FactsRow>> {
        let patient = patient.to_owned();
        self.db
            .look_up(async move |tx| {
                tx.query(FIND_DAYS, &[&patient, &i64::from(first.0), &i64::from(last.0)], |row| {
                    Ok(FactsRow { day: LocalDay(row.get::<i64>(0)? as i32), facts: row.get(1)? })
                })
                .await
            })
            .await
    }
}

impl From<&FactsRow> for DerivedRow {
    fn from(row: &FactsRow) -> Self {
        let body = (!row.facts.is_empty()).then(|| row.facts.clone());
        DerivedRow { output: Output::Facts, key: i64::from(row.day.0), version: 0, body }
    }
}
