//! How many derived values there are of an output and a day: a damaged page of an index hides rows without a trace, and an
//! answer without them looks whole.
//!
//! Triggers of SQLite keep the counts (`migrations/health/0013_checksums.sql`). On PostgreSQL the server finds damaged pages
//! by its own checksums, and the table is empty.

use vitals::derivation::{KEYS_OF_DAY, Output};
use vitals::zone::DAY_US;

use super::stored_derived::described;
use crate::engine::{Row, Tx};
use crate::error::{Result, StoreError};
use crate::ids::PatientId;
use crate::texts::sql;

sql! {
    COUNTED = "SELECT (SELECT CAST(COALESCE(SUM(row_count), 0) AS BIGINT) FROM stored_count
            WHERE patient = $1 AND output = $2 AND day >= $3 AND day <= $4),
        (SELECT COUNT(*) FROM derived WHERE patient = $1 AND output = $2 AND key >= $5 AND key < $6)";
}

/// Fails when rows of an output are missing on the days of a range of keys, both ends included. The transaction must be the
/// one that reads them.
pub(super) async fn compare(tx: &Tx<'_>, patient: &PatientId, output: Output, (from, to): (i64, i64)) -> Result<()> {
    if !tx.is_on_sqlite() {
        return Ok(());
    }
    let keys_of_day = if output.is_of_days() { KEYS_OF_DAY } else { DAY_US / 1000 };
    let (first, last) = (from.div_euclid(keys_of_day), to.div_euclid(keys_of_day));
    let (first_key, end_key) = (first.saturating_mul(keys_of_day), last.saturating_add(1).saturating_mul(keys_of_day));
    let number = output.number();
    let read = |row: &Row<'_>| Ok((row.get::<i64>(0)?, row.get::<i64>(1)?));
    let counted = tx.query_opt(COUNTED, &[&patient, &number, &first, &last, &first_key, &end_key], read).await?;
    let (expected, found) = counted.unwrap_or_default();
    judge(output, from, (expected, found))
}

/// Fails when fewer were found than were counted.
pub(super) fn judge(output: Output, from: i64, (expected, found): (i64, i64)) -> Result<()> {
    if found >= expected {
        return Ok(());
    }
    let (what, times_us) = described(output.number(), from);
    Err(StoreError::damaged_rows(what, times_us, &format!("{found} derived values of {expected} are there")))
}
