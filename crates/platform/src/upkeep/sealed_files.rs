//! The list of sealed files, also where a page of it cannot be read.

use boxed_futures::boxed_futures;
use store::segment::SegmentRow;
use store::{DamageFinding, DamagedPage, DamagedRows, ScrubFinding, StoreError};

use crate::core::error::Result;
use crate::upkeep::Upkeep;

#[boxed_futures]
impl Upkeep {
    /// Returns the next sealed files behind a path, and what of their list is damaged; then all that can be found are the
    /// next.
    pub(crate) async fn files_behind(&self, behind: &str) -> Result<(Vec<SegmentRow>, Vec<ScrubFinding>)> {
        let health = self.core.health();
        match health.segments_by_path(behind).await {
            Err(error) if error.is_damage() => {
                let (rows, findings) = health.segments_around_damage(behind).await?;
                let mut found: Vec<ScrubFinding> = findings.into_iter().map(|one| finding("segments", one)).collect();
                if found.is_empty() {
                    // An index of the list, without which its rows are all there.
                    let page = DamagedPage { table: Some("segment".to_owned()), page: 0, reason: error.to_string() };
                    found.push(ScrubFinding::Page("health", page));
                }
                Ok((rows, found))
            }
            rows => Ok((rows?, Vec::new())),
        }
    }
}

/// Returns what is damaged, also where the row does not say of which time it is.
pub(super) fn finding(what: &str, DamageFinding { patient, error }: DamageFinding) -> ScrubFinding {
    let rows = match error {
        StoreError::DamagedRows(rows) => *rows,
        other => DamagedRows { what: what.to_owned(), first_us: 0, last_us: 0, reason: other.to_string() },
    };
    ScrubFinding::Rows(patient, rows)
}
