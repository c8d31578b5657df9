//! Days that an older program summed up are computed again.

use store::DueRange;
use vitals::cells::Day;
use vitals::summary::FORMAT;
use vitals::zone::{DAY_US, SECOND_US};

use super::plan::OF_NO_SYNC;
use crate::environment::Platform;
use crate::error::Result;

/// Patients who are marked between two looks.
const PATIENTS: i64 = 256;
/// Local days reach at most so far beyond the UTC day of their date.
const FURTHEST_OFFSET_US: i64 = 16 * 3600 * SECOND_US;

/// Marks all days due whose summaries are of an older format; answers of how many patients. To be called at the
/// start: doing it twice is doing it once.
pub(super) async fn mark_older_days(platform: &Platform) -> Result<usize> {
    let mut marked = 0;
    let mut after = String::new();
    loop {
        let older = platform.health.days_of_older_format(FORMAT, &after, PATIENTS).await?;
        let Some(last) = older.last() else { break };
        after.clone_from(&last.patient);
        marked += older.len();
        for days in older {
            let first_us = i64::from(days.first.0) * DAY_US - FURTHEST_OFFSET_US;
            let last_us = (i64::from(days.last.0) + 1) * DAY_US + FURTHEST_OFFSET_US;
            for data_type in Day::TYPES {
                let range =
                    DueRange { arrival: OF_NO_SYNC, data_type: data_type.number(), first_us, last_us, ready_ms: 0 };
                platform.health.mark_due(&days.patient, range).await?;
            }
        }
    }
    if marked > 0 {
        platform.wake_derivations();
    }
    Ok(marked)
}
