//! What other days need to know of a day, packed.

use vitals::zone::LocalDay;

use super::HealthDb;
use crate::engine::Tx;
use crate::error::Result;
use crate::texts::sql;

sql! {
    FIND_DAYS = "SELECT local_day, facts FROM day_fact
        WHERE patient = $1 AND local_day >= $2 AND local_day <= $3 ORDER BY local_day";
    PUT = "INSERT INTO day_fact (patient, local_day, facts) VALUES ($1, $2, $3)
        ON CONFLICT (patient, local_day) DO UPDATE SET facts = excluded.facts";
    DELETE = "DELETE FROM day_fact WHERE patient = $1 AND local_day = $2";
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

/// Writes the facts of a day, or removes them.
pub(super) async fn put(tx: &Tx<'_>, patient: &str, row: &FactsRow) -> Result<()> {
    let day = i64::from(row.day.0);
    if row.facts.is_empty() {
        tx.put(DELETE, &[&patient, &day]).await?;
    } else {
        tx.put(PUT, &[&patient, &day, &row.facts]).await?;
    }
    Ok(())
}
