//! Due marks: ranges whose derived values are to be computed again.

use std::collections::BTreeMap;

use vitals::block::Block;
use vitals::registry::DataType;
use vitals::zone::{QUARTER_US, WINDOW_US};

use crate::engine::Tx;
use crate::error::Result;
use crate::texts::sql;

sql! {
    MARK = "INSERT INTO due (patient, arrival, data_type, first_us, last_us, ready_ms) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (patient, arrival, data_type, first_us, ready_ms) DO NOTHING";
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
const SETTLING_MS: i64 = 30_000;

/// Ranges of new waveform rows that one sync brought, by type: one mark each, however many channels and blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct WaveformRanges(BTreeMap<DataType, (i64, i64)>);

impl WaveformRanges {
    /// Takes note of rows.
    pub fn note(&mut self, block: &Block) {
        let (Some(first_us), Some(last_us)) = (block.first_us(), block.last_us()) else { return };
        let range = self.0.entry(block.data_type).or_insert((first_us, last_us));
        *range = (range.0.min(first_us), range.1.max(last_us));
    }

    /// Marks them: at once, or when the window that still runs has ended.
    pub async fn mark(&self, tx: &Tx<'_>, patient: &str, arrival: i64, now_ms: i64) -> Result<()> {
        for (data_type, (first_us, last_us)) in &self.0 {
            let end_ms = (last_us.div_euclid(WINDOW_US) + 1) * WINDOW_US / 1000;
            let ready_ms = if end_ms <= now_ms { now_ms } else { end_ms + SETTLING_MS };
            tx.put(MARK, &[&patient, &arrival, &data_type.number(), first_us, last_us, &ready_ms]).await?;
        }
        Ok(())
    }
}

/// Marks the range of new or changed rows. Rows ahead of the clock are marked a second time for when theirs comes.
pub(crate) async fn mark(tx: &Tx<'_>, patient: &str, arrival: i64, block: &Block, now_ms: i64) -> Result<()> {
    let (Some(first_us), Some(last_us)) = (block.first_us(), block.last_us()) else {
        return Ok(());
    };
    let data_type = block.data_type.number();
    tx.put(MARK, &[&patient, &arrival, &data_type, &first_us, &last_us, &now_ms]).await?;
    let ahead_from_us = (now_ms + AHEAD_MS) * 1000 + 999;
    if last_us > ahead_from_us {
        let ahead = block.times_us[block.times_us.partition_point(|time| *time <= ahead_from_us)];
        let ready_ms = ahead.div_euclid(1000) - AHEAD_MS;
        tx.put(MARK, &[&patient, &arrival, &data_type, &ahead, &last_us, &ready_ms]).await?;
    }
    Ok(())
}

/// Marks everything that was ever measured and that sections of a day follow from.
pub(super) async fn mark_all(tx: &Tx<'_>, patient: &str, ready_ms: i64) -> Result<()> {
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
    patient: &str,
    data_type: DataType,
    first_us: i64,
    ready_ms: i64,
) -> Result<()> {
    let data_type = data_type.number();
    let last_quarter_us = tx.query_opt(LAST_QUARTER, &[&patient, &data_type], |row| row.get::<i64>(0)).await?;
    let last_us = last_quarter_us.map(|quarter_us| quarter_us + QUARTER_US - 1);
    if let Some(last_us) = last_us.filter(|last_us| *last_us >= first_us) {
        tx.put(RAISE, &[&patient, &OF_NO_SYNC, &data_type, &first_us, &last_us, &ready_ms]).await?;
    }
    Ok(())
}
