//! Due marks: ranges whose derived values are to be computed again.

use vitals::registry::DataType;
use vitals::zone::QUARTER_US;

use crate::engine::Tx;
use crate::error::Result;
use crate::ids::PatientId;
use crate::texts::sql;

sql! {
    /// Always another time than before, so that a derivation that read the marks earlier sees that there is a new one.
    LOWER_READY = "UPDATE patient SET derive_ready_ms =
        CASE WHEN derive_ready_ms <= $2 THEN derive_ready_ms - 1 ELSE $2 END WHERE uuid = $1";
    RAISE = "INSERT INTO due (patient, arrival, data_type, first_us, last_us, ready_ms) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (patient, arrival, data_type, first_us, ready_ms) DO UPDATE SET
        last_us = CASE WHEN excluded.last_us > due.last_us THEN excluded.last_us ELSE due.last_us END";
    FIRST_QUARTER = "SELECT quarter_us FROM tally WHERE patient = $1 AND data_type = $2 ORDER BY quarter_us LIMIT 1";
    LAST_QUARTER = "SELECT quarter_us FROM tally WHERE patient = $1 AND data_type = $2
        ORDER BY quarter_us DESC LIMIT 1";
}

/// Arrival of what no sync brought.
const OF_NO_SYNC: i64 = 0;

/// Rows further ahead than this enter latest values and scores only when their time has come.
pub const AHEAD_MS: i64 = 5 * 60 * 1000;

/// How long after its end a window of waveforms is looked at: blocks of seconds keep coming until then, and looking
/// at each window once is enough.
pub(super) const SETTLING_MS: i64 = 30_000;

/// Marks everything that was ever measured and that sections of a day follow from.
pub(super) async fn mark_all(tx: &Tx<'_>, patient: &PatientId, ready_ms: i64) -> Result<()> {
    for data_type in DataType::ALL.into_iter().filter(|data_type| !data_type.is_waveform()) {
        let first_us = tx.query_opt(FIRST_QUARTER, &[&patient, &data_type.number()], |row| row.get::<i64>(0)).await?;
        if let Some(first_us) = first_us {
            mark_since(tx, patient, data_type, first_us, ready_ms).await?;
        }
    }
    Ok(())
}

/// Marks what was measured of a type since a time; nothing when there is nothing.
pub(super) async fn mark_since(
    tx: &Tx<'_>,
    patient: &PatientId,
    data_type: DataType,
    first_us: i64,
    ready_ms: i64,
) -> Result<()> {
    let data_type = data_type.number();
    // Marks end with what is stored: an open end would be derived again for all days to come.
    let last_quarter_us = tx.query_opt(LAST_QUARTER, &[&patient, &data_type], |row| row.get::<i64>(0)).await?;
    let last_us = last_quarter_us.map(|quarter_us| quarter_us + QUARTER_US - 1);
    if let Some(last_us) = last_us.filter(|last_us| *last_us >= first_us) {
        tx.put(RAISE, &[&patient, &OF_NO_SYNC, &data_type, &first_us, &last_us, &ready_ms]).await?;
        lower_ready(tx, patient, ready_ms).await?;
    }
    Ok(())
}

/// Marks the rows of a type at a time, whether there are any or not: something else happened then that enters formulas.
pub(super) async fn mark_at(
    tx: &Tx<'_>,
    patient: &PatientId,
    data_type: DataType,
    time_us: i64,
    ready_ms: i64,
) -> Result<()> {
    tx.put(RAISE, &[&patient, &OF_NO_SYNC, &data_type.number(), &time_us, &time_us, &ready_ms]).await?;
    lower_ready(tx, patient, ready_ms).await
}

/// Makes a patient ready to be derived at a time, ms, if not before.
pub(crate) async fn lower_ready(tx: &Tx<'_>, patient: &PatientId, ready_ms: i64) -> Result<()> {
    tx.put(LOWER_READY, &[&patient, &ready_ms]).await
}
