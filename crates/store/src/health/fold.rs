//! Committing what folds have derived.
//!
//! A fold reads without a lock and commits all it derived of a patient at once, together with the end of the marks
//! that it saw. A sync that comes between leaves a mark of its own, so nothing it brought is forgotten.

use futures::future::try_join_all;
use vitals::latest::LatestValues;

use super::claims::{self, Claim, DueRange};
use super::derived::{self, DerivedRow};
use super::news::NewsRow;
use super::slots::SlotRow;
use super::summaries::SummaryRow;
use super::{AfHourRow, FactsRow, HealthDb, latest};
use crate::engine::Tx;
use crate::error::Result;

/// Everything that a fold of one patient changes.
#[derive(Clone, Debug)]
pub struct FoldCommit {
    /// The claim under which it was computed.
    pub claim: Claim,
    /// Cells of whole days.
    pub slots: Vec<SlotRow>,
    /// Sections of whole days.
    pub summaries: Vec<SummaryRow>,
    /// Facts of whole days.
    pub facts: Vec<FactsRow>,
    /// Atrial-fibrillation records of whole hours.
    pub af_hours: Vec<AfHourRow>,
    /// Latest values as they were read, and as they were computed.
    pub latest: Option<LatestChange>,
    /// NEWS entries that are to be written or removed.
    pub news: Vec<NewsRow>,
    /// The marks that were seen.
    pub done: Vec<DueRange>,
    /// What is due later, or was left for the next fold.
    pub due: Vec<DueRange>,
}

impl FoldCommit {
    /// A commit that changes nothing.
    pub fn nothing(claim: Claim) -> Self {
        FoldCommit {
            claim,
            slots: Vec::new(),
            summaries: Vec::new(),
            facts: Vec::new(),
            af_hours: Vec::new(),
            latest: None,
            news: Vec::new(),
            done: Vec::new(),
            due: Vec::new(),
        }
    }
}

/// Latest values before and after a fold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatestChange {
    /// As the fold read them.
    pub seen: LatestValues,
    /// As it computed them.
    pub computed: LatestValues,
}

/// How the commit of one patient's fold ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoldOutcome {
    /// It is durable, and the patient is free.
    Committed,
    /// The lease has passed to another worker. Nothing was changed.
    LeaseLost,
}

impl HealthDb {
    /// Commits folds of several patients in one transaction; each is judged by its own lease. When this returns, what
    /// is committed is durable.
    pub async fn commit_folds(&self, folds: Vec<FoldCommit>) -> Result<Vec<FoldOutcome>> {
        self.db.write(async move |tx| try_join_all(folds.iter().map(|fold| commit(tx, fold))).await).await
    }

    /// The latest values of a patient as the database holds them.
    pub async fn stored_latest(&self, patient: &str) -> Result<LatestValues> {
        let patient = patient.to_owned();
        self.db.look_up(async move |tx| latest::find(tx, &patient).await).await
    }
}

async fn commit(tx: &Tx<'_>, fold: &FoldCommit) -> Result<FoldOutcome> {
    const FREE: i64 = 0;
    if !claims::confirm(tx, &fold.claim, FREE).await? {
        return Ok(FoldOutcome::LeaseLost);
    }
    let patient = fold.claim.patient.as_str();
    derived::put(tx, patient, &rows_of(fold)?).await?;
    if let Some(change) = &fold.latest {
        let known = latest::find(tx, patient).await?;
        let values = settle(&known, change);
        if values != known {
            latest::write(tx, patient, &values).await?;
        }
    }
    for range in &fold.done {
        claims::forget(tx, patient, range).await?;
    }
    for range in &fold.due {
        claims::mark(tx, patient, range).await?;
    }
    Ok(FoldOutcome::Committed)
}

/// Everything that a fold has derived, as it is stored.
fn rows_of(fold: &FoldCommit) -> Result<Vec<DerivedRow>> {
    let mut rows = fold.slots.iter().map(SlotRow::to_derived).collect::<Result<Vec<_>>>()?;
    rows.extend(fold.summaries.iter().map(DerivedRow::from));
    rows.extend(fold.facts.iter().map(DerivedRow::from));
    rows.extend(fold.af_hours.iter().map(DerivedRow::from));
    for row in &fold.news {
        rows.push(row.to_derived()?);
    }
    Ok(rows)
}

/// Where nothing has come between, what was computed stands, also when it is older than what was there. Where a sync
/// has, the newer stands, and the mark of that sync settles the rest.
fn settle(known: &LatestValues, change: &LatestChange) -> LatestValues {
    let LatestChange { seen, computed } = change;
    let mut values = *known;
    values.merge_newer(computed);
    let untouched = known.signs().into_iter().zip(seen.signs()).map(|(known, seen)| known == seen);
    for ((sign, computed), untouched) in values.signs_mut().into_iter().zip(computed.signs()).zip(untouched) {
        if untouched {
            *sign = computed;
        }
    }
    // Only folds write the score.
    values.news_score = computed.news_score;
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use vitals::latest::Timed;

    fn heart_rate(value: f64, timestamp_ms: i64) -> LatestValues {
        LatestValues { heart_rate: Some(Timed { value, timestamp_ms }), ..LatestValues::default() }
    }

    #[test]
    fn a_sync_that_came_between_is_not_overwritten_by_something_older() {
        let (seen, computed) = (heart_rate(60.0, 10), heart_rate(58.0, 5));
        let change = LatestChange { seen, computed };
        assert_eq!(settle(&seen, &change), computed);
        let between = heart_rate(70.0, 20);
        assert_eq!(settle(&between, &change), between);
        let change = LatestChange { seen, computed: heart_rate(80.0, 30) };
        assert_eq!(settle(&between, &change), change.computed);
    }
}
