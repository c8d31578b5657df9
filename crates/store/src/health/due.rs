//! Due marks: ranges whose derived values are to be computed again.

use vitals::block::Block;

use crate::engine::Tx;
use crate::error::Result;
use crate::texts::sql;

sql! {
    MARK = "INSERT INTO due (patient, arrival, data_type, first_us, last_us, ready_ms) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (patient, arrival, data_type, first_us, ready_ms) DO NOTHING";
}

/// Rows further ahead than this enter latest values and scores only when their time has come.
pub const AHEAD_MS: i64 = 5 * 60 * 1000;

/// Marks the range of new or changed rows. Rows ahead of the clock are marked a second time for when theirs comes.
pub(crate) fn mark(tx: &mut Tx<'_>, patient: &str, arrival: i64, block: &Block, now_ms: i64) -> Result<()> {
    let (Some(first_us), Some(last_us)) = (block.first_us(), block.last_us()) else {
        return Ok(());
    };
    let data_type = block.data_type.number();
    tx.execute(MARK, &[&patient, &arrival, &data_type, &first_us, &last_us, &now_ms])?;
    let ahead_from_us = (now_ms + AHEAD_MS) * 1000 + 999;
    if last_us > ahead_from_us {
        let ahead = block.times_us[block.times_us.partition_point(|time| *time <= ahead_from_us)];
        let ready_ms = ahead.div_euclid(1000) - AHEAD_MS;
        tx.execute(MARK, &[&patient, &arrival, &data_type, &ahead, &last_us, &ready_ms])?;
    }
    Ok(())
}
