//! How many samples there are: a count for each patient, type, UTC quarter of an hour and offset of the local clock.
//!
//! Kept in the transaction that stores the samples, so compliance never opens a chunk, and ranges of local time find
//! the UTC quarters that they lie in.

use std::collections::BTreeMap;

use boxed_futures::boxed_futures;
use vitals::block::Block;
use vitals::registry::DataType;
use vitals::zone::{DAY_US, LocalClock, LocalDay, QUARTER_US, SECOND_US, ZoneRuns};

use super::db::HealthDb;
use crate::engine::{Columns, Param, Tx};
use crate::error::Result;
use crate::ids::PatientId;
use crate::readers::{count as read_count, pair};
use crate::texts::{record, sql};

/// Reads an offset of a local clock, seconds.
fn offset(columns: &mut Columns<'_, '_>) -> Result<i32> {
    Ok(columns.take::<i64>()? as i32)
}

record! {
    quarter_columns!(""), read_quarter(columns) -> LocalQuarter { start_us = "quarter_us", offset_s by offset }
}

record! {
    counted_columns!(""), read_counted(row) -> CountedRow {
        data_type, quarter <- quarter_columns!(read_quarter), samples by read_count,
    }
}

sql! {
    ADD = "INSERT INTO tally (patient, data_type, quarter_us, offset_s, samples, chunks)
        VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (patient, data_type, quarter_us, offset_s) DO UPDATE SET
        samples = tally.samples + excluded.samples, chunks = tally.chunks + excluded.chunks";
    COUNT_LOCAL = "SELECT data_type, CAST(SUM(samples) AS BIGINT) FROM tally
        WHERE patient = $1 AND quarter_us >= $2 AND quarter_us < $3
            AND quarter_us + offset_s * 1000000 >= $4 AND quarter_us + offset_s * 1000000 < $5
        GROUP BY data_type";
    COUNT_QUARTERS = "SELECT data_type, CAST(SUM(samples) AS BIGINT) FROM tally
        WHERE patient = $1 AND quarter_us >= $2 AND quarter_us < $3 GROUP BY data_type";
    FIND_BETWEEN = concat!("SELECT ", counted_columns!(), " FROM tally
        WHERE patient = $1 AND quarter_us >= $2 AND quarter_us < $3 ORDER BY data_type, quarter_us, offset_s");
    FIND_QUARTERS = concat!("SELECT ", quarter_columns!(), " FROM tally
        WHERE patient = $1 AND data_type = $2 AND quarter_us >= $3 AND quarter_us < $4
        ORDER BY quarter_us, offset_s");
}

/// The row of a tally; this version may not know its type.
struct CountedRow {
    data_type: i64,
    quarter: LocalQuarter,
    samples: u64,
}

/// No local clock is further from UTC than this.
const FURTHEST_OFFSET_US: i64 = 16 * 3600 * SECOND_US;

/// Counts of samples by UTC quarter and offset in seconds.
pub(super) type Counts = Vec<((i64, i32), i64)>;

/// Samples of one quarter of an hour whose local clock has one offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalQuarter {
    /// Start of the quarter, µs since 1970 UTC.
    pub start_us: i64,
    /// Offset of the local clock, seconds east of UTC.
    pub offset_s: i32,
}

/// How many samples of a type lie in a quarter of an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TallyRow {
    /// The type.
    pub data_type: DataType,
    /// The quarter.
    pub quarter: LocalQuarter,
    /// Samples.
    pub samples: u64,
}

/// Counts the rows at these times. Rows are ascending.
pub(super) fn count(times_us: &[i64], zones: &ZoneRuns) -> Counts {
    let mut counts = Counts::new();
    for (run, zone) in zones.iter() {
        let mut clock = LocalClock::new(zone);
        let times_us = &times_us[run];
        let mut row = 0;
        while row < times_us.len() {
            // Offsets of all zones have changed on whole quarters of an hour only since before 2000.
            let quarter_us = times_us[row].div_euclid(QUARTER_US) * QUARTER_US;
            let end = row + times_us[row..].partition_point(|time| *time < quarter_us + QUARTER_US);
            let key = (quarter_us, clock.offset_seconds(times_us[row]));
            let samples = (end - row) as i64;
            match counts.iter_mut().rfind(|(counted, _)| *counted == key) {
                Some((_, count)) => *count += samples,
                None => counts.push((key, samples)),
            }
            row = end;
        }
    }
    counts
}

/// Samples and chunks that a sync adds, by type, UTC quarter and offset.
#[derive(Clone, Debug, Default)]
pub(crate) struct SampleCounts(BTreeMap<(i64, i64, i64), (i64, i64)>);

impl SampleCounts {
    /// Counts the chunk of an admitted block, and its new rows: those that do not replace another, or all when `replaces` is
    /// empty.
    pub fn count_chunk(&mut self, block: &Block, replaces: &[bool]) {
        let data_type = block.data_type.number();
        let counts = new_rows(block, replaces);
        if let Some(last_us) = block.last_us() {
            let quarter_us = last_us.div_euclid(QUARTER_US) * QUARTER_US;
            let counted = counts.iter().rfind(|((counted_us, _), _)| *counted_us == quarter_us);
            // Of a chunk that only replaces rows nothing is counted in its last quarter.
            let zone = || LocalClock::new(block.zone_of(block.rows() - 1)).offset_seconds(last_us);
            let offset_s = counted.map_or_else(zone, |((_, offset_s), _)| *offset_s);
            self.0.entry((data_type, quarter_us, i64::from(offset_s))).or_default().1 += 1;
        }
        for ((quarter_us, offset_s), samples) in counts {
            self.0.entry((data_type, quarter_us, i64::from(offset_s))).or_default().0 += samples;
        }
    }

    /// Adds them to what is stored.
    pub async fn add(&self, tx: &Tx<'_>, patient: &PatientId) -> Result<()> {
        let rows = self.0.iter().map(|((data_type, quarter_us, offset_s), (samples, chunks))| {
            let row: [&dyn Param; 6] = [&patient, data_type, quarter_us, offset_s, samples, chunks];
            row
        });
        tx.put_rows(ADD, &rows.collect::<Vec<_>>()).await
    }
}

fn new_rows(block: &Block, replaces: &[bool]) -> Counts {
    if replaces.contains(&true) {
        let mut times_us = Vec::new();
        let mut zones = ZoneRuns::default();
        for row in (0..block.rows()).filter(|row| !replaces[*row]) {
            times_us.push(block.times_us[row]);
            zones.push(block.zone_of(row).clone(), 1);
        }
        count(&times_us, &zones)
    } else {
        count(&block.times_us, &block.zones)
    }
}

#[boxed_futures]
impl HealthDb {
    /// Samples of each type that lie on a local day; types without any are left out.
    pub async fn count_local_day(&self, patient: &PatientId, day: LocalDay) -> Result<Vec<(DataType, u64)>> {
        let patient = patient.clone();
        let (start_us, end_us) = (i64::from(day.0) * DAY_US, (i64::from(day.0) + 1) * DAY_US);
        let (first_us, last_us) = (start_us - FURTHEST_OFFSET_US, end_us + FURTHEST_OFFSET_US);
        let counts = self.db.read(async move |tx| {
            tx.query(COUNT_LOCAL, &[&patient, &first_us, &last_us, &start_us, &end_us], pair).await
        });
        counts.await.map(known_types)
    }

    /// Samples of each type in whole UTC quarters of an hour, from (included) to (excluded), µs.
    pub async fn count_quarters(&self, patient: &PatientId, from_us: i64, to_us: i64) -> Result<Vec<(DataType, u64)>> {
        let patient = patient.clone();
        let counts = self.db.read(async move |tx| tx.query(COUNT_QUARTERS, &[&patient, &from_us, &to_us], pair).await);
        counts.await.map(known_types)
    }

    /// Samples by type and quarter of an hour, of quarters from (included) to (excluded), µs.
    pub async fn tally_between(&self, patient: &PatientId, from_us: i64, to_us: i64) -> Result<Vec<TallyRow>> {
        let patient = patient.clone();
        let found =
            self.db.read(async move |tx| tx.query(FIND_BETWEEN, &[&patient, &from_us, &to_us], read_counted).await);
        let known = |CountedRow { data_type, quarter, samples }| {
            Some(TallyRow { data_type: DataType::from_number(data_type)?, quarter, samples })
        };
        Ok(found.await?.into_iter().filter_map(known).collect())
    }

    /// Returns the quarters that hold samples of a type in a range of local time (µs of the local clock, both ends
    /// included), in the order of UTC.
    pub async fn local_quarters(
        &self,
        patient: &PatientId,
        data_type: DataType,
        from_local_us: i64,
        to_local_us: i64,
    ) -> Result<Vec<LocalQuarter>> {
        let patient = patient.clone();
        let first_us = from_local_us.saturating_sub(FURTHEST_OFFSET_US + QUARTER_US);
        let last_us = to_local_us.saturating_add(FURTHEST_OFFSET_US);
        let found = self.db.read(async move |tx| {
            let params: [&dyn Param; 4] = [&patient, &data_type.number(), &first_us, &last_us];
            tx.query(FIND_QUARTERS, &params, |row| read_quarter(&mut Columns::of(row))).await
        });
        let mut quarters = found.await?;
        quarters.retain(|quarter| {
            let local_us = quarter.start_us + i64::from(quarter.offset_s) * SECOND_US;
            local_us <= to_local_us && local_us + QUARTER_US > from_local_us
        });
        Ok(quarters)
    }
}

fn known_types(counts: Vec<(i64, i64)>) -> Vec<(DataType, u64)> {
    let known = |(number, samples)| Some((DataType::from_number(number)?, u64::try_from(samples).ok()?));
    counts.into_iter().filter_map(known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_by_quarter_and_by_the_offset_of_their_zone() {
        let midnight_us = 1_763_596_800_000_000; // 2025-11-20T00:00Z
        let times_us = [midnight_us - 1, midnight_us, midnight_us + 1, midnight_us + QUARTER_US];
        let mut zones = ZoneRuns::constant("UTC".into(), 2);
        zones.push("America/New_York".into(), 2);
        assert_eq!(
            count(&times_us, &zones),
            [
                ((midnight_us - QUARTER_US, 0), 1),
                ((midnight_us, 0), 1),
                ((midnight_us, -5 * 3600), 1),
                ((midnight_us + QUARTER_US, -5 * 3600), 1),
            ]
        );
    }
}
