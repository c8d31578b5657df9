//! How many chunks there are, counted where the index of chunks is not asked: a damaged page of an index hides rows without
//! a trace, and what is merged or answered without them looks whole.
//!
//! The tally of a quarter of an hour knows how many chunks end in it. It is compared where rows are read.

use std::collections::BTreeMap;

use vitals::registry::DataType;
use vitals::zone::QUARTER_US;

use super::stored_chunk::ChunkKey;
use crate::engine::Tx;
use crate::error::{Result, StoreError};
use crate::ids::PatientId;
use crate::texts::{record, sql};

// A quarter of before there were counts has none, and is not compared.
record! {
    counted_columns!(""), read_counted(row) -> Counted {
        expected = "CAST(COALESCE(SUM(chunks), 0) AS BIGINT)", unknown = "COUNT(*) - COUNT(chunks)",
        found = "(SELECT COUNT(*) FROM chunk
            WHERE patient = $1 AND data_type = $2 AND last_us >= $3 AND last_us < $4)",
        unverified = "(SELECT COUNT(*) FROM unverified
            WHERE patient = $1 AND data_type = $2 AND last_us >= $3 AND first_us < $4)",
    }
}

sql! {
    COUNTED = concat!("SELECT ", counted_columns!(), "
        FROM tally WHERE patient = $1 AND data_type = $2 AND quarter_us >= $3 AND quarter_us < $4");
    /// In any one row of the quarter: what is compared is their sum.
    CHANGE = "UPDATE tally SET chunks = chunks + $4 WHERE patient = $1 AND data_type = $2 AND quarter_us = $3
        AND offset_s = (SELECT MIN(offset_s) FROM tally WHERE patient = $1 AND data_type = $2 AND quarter_us = $3)";
}

/// Fails when chunks are missing that end in the quarters of an hour of a range, µs, both ends included; of a waveform also
/// when rows came there that could not be compared yet: some of them can be copies of stored samples at another time.
pub(crate) async fn compare(
    tx: &Tx<'_>,
    patient: &PatientId,
    data_type: DataType,
    (from_us, to_us): (i64, i64),
) -> Result<()> {
    let counted = counted(tx, patient, data_type, (from_us, to_us)).await?;
    if data_type.is_waveform() && counted.unverified > 0 {
        let reason = "rows that came while others were damaged are not compared yet";
        return Err(StoreError::damaged_rows(data_type.name(), (from_us, to_us), reason));
    }
    judge(data_type, (from_us, to_us), counted)
}

/// Fails when chunks are missing, whatever else came there.
pub(super) async fn compare_all(
    tx: &Tx<'_>,
    patient: &PatientId,
    data_type: DataType,
    times_us: (i64, i64),
) -> Result<()> {
    judge(data_type, times_us, counted(tx, patient, data_type, times_us).await?)
}

async fn counted(
    tx: &Tx<'_>,
    patient: &PatientId,
    data_type: DataType,
    (from_us, to_us): (i64, i64),
) -> Result<Counted> {
    let (first_us, end_us) = quarters_of(from_us, to_us);
    let counted = tx.query_opt(COUNTED, &[&patient, &data_type.number(), &first_us, &end_us], read_counted).await?;
    Ok(counted.unwrap_or_default())
}

/// Chunks that end in some quarters of an hour.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    /// As the tally has it.
    pub expected: i64,
    /// Rows of the tally that do not know.
    pub unknown: i64,
    /// As the index of chunks has it.
    pub found: i64,
    /// Notes of rows that came while others were damaged.
    pub unverified: i64,
}

/// Fails when fewer were found than were counted.
pub(super) fn judge(data_type: DataType, times_us: (i64, i64), counted: Counted) -> Result<()> {
    // More are no damage: rows that came while what is there could not be read are counted later.
    if counted.unknown > 0 || counted.found >= counted.expected {
        return Ok(());
    }
    let reason = format!("{} chunks of {} are there", counted.found, counted.expected);
    Err(StoreError::damaged_rows(data_type.name(), times_us, &reason))
}

/// Returns the whole quarters that hold a range: their start, and the end of the last.
pub(super) fn quarters_of(from_us: i64, to_us: i64) -> (i64, i64) {
    let start_of = |time_us: i64| time_us.div_euclid(QUARTER_US).saturating_mul(QUARTER_US);
    (start_of(from_us), start_of(to_us).saturating_add(QUARTER_US))
}

/// Takes chunks that are gone out of the count, and adds one that came in their place.
pub(crate) async fn change(
    tx: &Tx<'_>,
    patient: &PatientId,
    data_type: DataType,
    gone: impl Iterator<Item = ChunkKey>,
    came_us: Option<i64>,
) -> Result<()> {
    // In the order of the quarters, as every other writer goes through them: two that met in between would wait for each
    // other.
    let mut changes: BTreeMap<i64, i64> = BTreeMap::new();
    let quarter_of = |time_us: i64| quarters_of(time_us, time_us).0;
    for key in gone {
        *changes.entry(quarter_of(key.last_us)).or_default() -= 1;
    }
    if let Some(last_us) = came_us {
        *changes.entry(quarter_of(last_us)).or_default() += 1;
    }
    for (quarter_us, change) in changes.into_iter().filter(|(_, change)| *change != 0) {
        tx.put(CHANGE, &[patient, &data_type.number(), &quarter_us, &change]).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_chunks_are_damage_and_unknown_counts_are_not() {
        let judged = |expected, unknown, found| {
            judge(DataType::Activity, (0, 9), Counted { expected, unknown, found, unverified: 0 })
                .is_err_and(|error| error.is_damage())
        };
        assert!(judged(2, 0, 1));
        assert!(!judged(2, 0, 2) && !judged(0, 0, 5) && !judged(2, 1, 1));
    }

    #[test]
    fn ranges_are_widened_to_quarters() {
        assert_eq!(quarters_of(0, 0), (0, QUARTER_US));
        assert_eq!(quarters_of(QUARTER_US - 1, QUARTER_US), (0, 2 * QUARTER_US));
        assert_eq!(quarters_of(-1, -1), (-QUARTER_US, 0));
        let (first_us, end_us) = quarters_of(i64::MIN, i64::MAX);
        assert!(first_us < 0 && end_us > 0);
    }
}
