//! The catalog as a list of files: which segments there are of some patients, in the order in which they were published.

use std::collections::{BTreeMap, BTreeSet};

use boxed_futures::boxed_futures;
use futures::future::try_join_all;
use vitals::registry::DataType;

use super::catalog::{SegmentRow, read_segment, segment_columns};
use super::period::SealedPeriod;
use crate::engine::{Columns, Param, Row, Tx, Work};
use crate::error::{Result, StoreError};
use crate::health::db::HealthDb;
use crate::ids::PatientId;
use crate::texts::{LIST_LENGTH, in_lists, list_of_64, sql, with_more};

sql! {
    /// For each patient the key's index is asked for its first entry; a chunk lies within one period.
    FIRST_UNSEALED = concat!("SELECT MIN(each.last_us) FROM (SELECT (SELECT MIN(c.last_us) FROM chunk c
            WHERE c.patient = p.uuid AND c.data_type = $65) AS last_us
        FROM patient p WHERE p.uuid IN (", list_of_64!(), ")) AS each");
    PUBLISHED_AFTER = concat!(
        "SELECT patient, ", segment_columns!(), ", published, sealed_ms FROM segment
        WHERE published > $65 AND patient IN (", list_of_64!(), ") ORDER BY published LIMIT $66");
}

/// From when on rows of a type are not in files, or not all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenPeriod {
    /// The data type.
    pub data_type: DataType,
    /// The first period that is not sealed.
    pub period: SealedPeriod,
}

/// A segment and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LakeSegment {
    /// Counts publications: a segment that becomes visible later has a greater number.
    pub published: i64,
    /// When it was sealed, ms.
    pub sealed_ms: i64,
    /// The row of the catalog.
    pub segment: SegmentRow,
}

#[boxed_futures]
impl HealthDb {
    /// Segments of some patients that were published after a number, in the order of their numbers, at most `limit`; and
    /// the patients who have a damaged row in the catalog, whose other segments are among them.
    pub async fn lake_segments(
        &self,
        patients: Vec<PatientId>,
        after: i64,
        limit: i64,
    ) -> Result<(Vec<LakeSegment>, BTreeSet<PatientId>)> {
        self.db
            .read(async move |tx| {
                let (mut found, mut damaged) = (Vec::new(), BTreeSet::new());
                in_lists(&patients, async |list| {
                    // Damaged rows do not count: a page of nothing else would lead no further.
                    let mut asked = limit;
                    loop {
                        let mut params: Vec<&dyn Param> = Vec::with_capacity(LIST_LENGTH + 2);
                        params.extend_from_slice(list);
                        params.extend([&after as &dyn Param, &asked]);
                        let rows = tx.query(PUBLISHED_AFTER, &params, read_lake_segment).await?;
                        let (count, is_last) = (rows.len() as i64, (rows.len() as i64) < asked);
                        let (mut sound, mut patients) = (Vec::new(), Vec::new());
                        for row in rows {
                            row.map_or_else(|patient| patients.push(patient), |segment| sound.push(segment));
                        }
                        if is_last || sound.len() as i64 >= limit {
                            found.extend(sound);
                            damaged.extend(patients);
                            return Ok(());
                        }
                        asked = limit + count - sound.len() as i64;
                    }
                })
                .await?;
                // Each list of patients came in order by itself. Cut only now, since the first of all can be in any of
                // them.
                found.sort_unstable_by_key(|segment: &LakeSegment| segment.published);
                found.truncate(limit as usize);
                Ok((found, damaged))
            })
            .await
    }
}

#[boxed_futures]
impl HealthDb {
    /// Returns for each type from when on rows of some patients are not sealed; types of which everything is are left out.
    pub async fn open_periods(&self, patients: Vec<PatientId>) -> Result<Vec<OpenPeriod>> {
        let read = async move |tx: &Tx<'_>| {
            let mut first: BTreeMap<DataType, i64> = BTreeMap::new();
            in_lists(&patients, async |list| {
                let asked = DataType::ALL.into_iter().map(async |data_type| {
                    let number = data_type.number();
                    let params = with_more(list, &[&number]);
                    let found = tx.query_opt(FIRST_UNSEALED, &params, |row| row.get::<Option<i64>>(0));
                    Ok::<_, StoreError>((data_type, found.await?.flatten()))
                });
                for (data_type, time_us) in try_join_all(asked).await? {
                    let Some(time_us) = time_us else { continue };
                    first.entry(data_type).and_modify(|first| *first = time_us.min(*first)).or_insert(time_us);
                }
                Ok(())
            })
            .await?;
            Ok(first)
        };
        let open = |(data_type, us)| OpenPeriod { data_type, period: SealedPeriod::of(data_type, us) };
        Ok(self.db.with_deadlines_of(Work::Scan).read(read).await?.into_iter().map(open).collect())
    }
}

/// A segment, or the patient of one whose row is damaged.
fn read_lake_segment(row: &Row<'_>) -> Result<std::result::Result<LakeSegment, PatientId>> {
    let mut columns = Columns::of(row);
    let patient = columns.take()?;
    match read_checked(&mut columns) {
        Err(error) if error.is_damage() => Ok(Err(patient)),
        read => read.map(Ok),
    }
}

fn read_checked(columns: &mut Columns<'_, '_>) -> Result<LakeSegment> {
    let segment = read_segment(columns)?.checked()?;
    Ok(LakeSegment { published: columns.take()?, sealed_ms: columns.take()?, segment })
}
