//! The history of a patient's NEWS, for the charts.

use boxed_futures::boxed_futures;
use vitals::news_timeline::NewsEntry;

use super::series::LONGEST_SERIES_MS;
use crate::core::access::Researcher;
use crate::core::error::{PlatformError, Result};
use crate::data::Data;
use store::PatientId;

/// Scores of a patient over time.
#[derive(Clone, Debug)]
pub struct NewsHistory {
    /// The patient's zone; none when nobody has named one.
    pub time_zone: Option<String>,
    /// The entry that holds at the begin, if there is one, and those within the range; in the order of time.
    pub entries: Vec<NewsEntry>,
}

#[boxed_futures]
impl Data {
    /// Returns the scores of a patient from a time to another, ms, both included.
    pub async fn news_history(
        &self,
        researcher: &Researcher,
        patient: &PatientId,
        from_ms: i64,
        to_ms: i64,
    ) -> Result<NewsHistory> {
        if to_ms < from_ms || to_ms - from_ms > LONGEST_SERIES_MS {
            return Err(PlatformError::invalid("to", "must not be before from, nor more than 400 days after it"));
        }
        let readable = self.core.readable_patient(researcher, patient).await?;
        let patient = readable.uuid();
        let mut entries: Vec<NewsEntry> = self.core.health().news_before(patient, from_ms).await?.into_iter().collect();
        // Entries are stored at changes only: without the one before, the chart would begin with a hole.
        entries.extend(self.core.health().news_between(patient, from_ms, to_ms).await?);
        Ok(NewsHistory { time_zone: self.core.health().time_zone(patient).await?, entries })
    }
}
