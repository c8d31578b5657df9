//! How many samples there are: a count for each patient, type, UTC quarter of an hour and local day.
//!
//! Kept in the transaction that stores the samples, so compliance never opens a chunk.

use vitals::block::Block;
use vitals::registry::DataType;
use vitals::zone::{LocalClock, LocalDay, QUARTER_US, ZoneRuns};

use crate::engine::Tx;
use crate::error::Result;
use crate::health::HealthDb;
use crate::texts::sql;

sql! {
    ADD = "INSERT INTO tally (patient, data_type, quarter_us, local_day, samples) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (patient, data_type, quarter_us, local_day) DO UPDATE SET samples = tally.samples + excluded.samples";
    COUNT_OF_LOCAL_DAY = "SELECT data_type, CAST(SUM(samples) AS BIGINT) FROM tally
        WHERE patient = $1 AND local_day = $2 GROUP BY data_type";
    COUNT_OF_QUARTERS = "SELECT data_type, CAST(SUM(samples) AS BIGINT) FROM tally
        WHERE patient = $1 AND quarter_us >= $2 AND quarter_us < $3 GROUP BY data_type";
}

/// Counts of samples by UTC quarter and local day, both in the order of time.
pub(crate) type Counts = Vec<((i64, LocalDay), i64)>;

/// Counts the rows at these times. Rows are ascending.
pub(crate) fn count(times_us: &[i64], zones: &ZoneRuns) -> Counts {
    let mut counts = Counts::new();
    for (run, zone) in zones.iter() {
        let mut clock = LocalClock::new(zone);
        let times_us = &times_us[run];
        let mut row = 0;
        while row < times_us.len() {
            // Since 1972 the offsets of all zones are whole quarters of an hour: no local midnight falls inside one.
            let quarter_us = times_us[row].div_euclid(QUARTER_US) * QUARTER_US;
            let end = row + times_us[row..].partition_point(|time| *time < quarter_us + QUARTER_US);
            let key = (quarter_us, clock.day(times_us[row]));
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

/// Adds the new rows of an admitted block.
pub(crate) fn add_new_rows(tx: &mut Tx<'_>, patient: &str, block: &Block, replaces: &[bool]) -> Result<()> {
    let counts = if replaces.contains(&true) {
        let mut times_us = Vec::new();
        let mut zones = ZoneRuns::default();
        for row in (0..block.rows()).filter(|row| !replaces[*row]) {
            times_us.push(block.times_us[row]);
            zones.push(block.zone_of(row).clone(), 1);
        }
        count(&times_us, &zones)
    } else {
        count(&block.times_us, &block.zones)
    };
    for ((quarter_us, day), samples) in counts {
        tx.execute(ADD, &[&patient, &block.data_type.number(), &quarter_us, &i64::from(day.0), &samples])?;
    }
    Ok(())
}

impl HealthDb {
    /// Samples of each type that lie on a local day of the patient; types without any are left out.
    pub async fn count_local_day(&self, patient: &str, day: LocalDay) -> Result<Vec<(DataType, u64)>> {
        let patient = patient.to_owned();
        let day = i64::from(day.0);
        self.db.read(move |tx| tx.query(COUNT_OF_LOCAL_DAY, &[&patient, &day], read_count)).await.map(known_types)
    }

    /// Samples of each type in whole UTC quarters of an hour, from (included) to (excluded), µs.
    pub async fn count_quarters(&self, patient: &str, from_us: i64, to_us: i64) -> Result<Vec<(DataType, u64)>> {
        let patient = patient.to_owned();
        self.db
            .read(move |tx| tx.query(COUNT_OF_QUARTERS, &[&patient, &from_us, &to_us], read_count))
            .await
            .map(known_types)
    }
}

fn read_count(row: &crate::engine::Row<'_>) -> Result<(i64, i64)> {
    Ok((row.get(0)?, row.get(1)?))
}

fn known_types(counts: Vec<(i64, i64)>) -> Vec<(DataType, u64)> {
    let known = |(number, samples)| Some((DataType::from_number(number)?, u64::try_from(samples).ok()?));
    counts.into_iter().filter_map(known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_by_quarter_and_by_the_day_of_their_zone() {
        let midnight_utc = 1_763_596_800_000_000; // 2025-11-20T00:00Z
        let times_us = [midnight_utc - 1, midnight_utc, midnight_utc + 1, midnight_utc + QUARTER_US];
        let mut zones = ZoneRuns::constant("UTC".into(), 2);
        zones.push("America/New_York".into(), 2);
        let day = LocalDay::parse("2025-11-20").unwrap();
        let before = LocalDay(day.0 - 1);
        assert_eq!(
            count(&times_us, &zones),
            [
                ((midnight_utc - QUARTER_US, before), 1),
                ((midnight_utc, day), 1),
                ((midnight_utc, before), 1),
                ((midnight_utc + QUARTER_US, before), 1),
            ]
        );
    }
}
