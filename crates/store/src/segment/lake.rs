//! The catalog as a list of files: which segments there are of some patients, in the order in which they were published.

use boxed_futures::boxed_futures;

use std::collections::BTreeSet;

use super::catalog::{SegmentRow, read_segment, segment_columns};
use crate::engine::{Columns, Param, Row};
use crate::error::Result;
use crate::health::db::HealthDb;
use crate::ids::PatientId;
use crate::texts::{LIST_LENGTH, in_lists, list_of_64, sql};

sql! {
    PUBLISHED_AFTER = concat!(
        "SELECT patient, ", segment_columns!(), ", published, sealed_ms FROM segment
        WHERE published > $65 AND patient IN (", list_of_64!(), ") ORDER BY published LIMIT $66");
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
