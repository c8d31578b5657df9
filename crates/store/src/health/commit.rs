//! Committing what was derived of a patient.
//!
//! A derivation reads without a lock and commits everything at once, together with the end of the marks that it saw. A
//! sync that comes between leaves a mark of its own, so nothing that it brought is forgotten.

use boxed_futures::boxed_futures;
use futures::future::try_join_all;
use vitals::derivation::DerivedRow;
use vitals::measured::Measured;

use super::claims::{self, Claim, DueRange};
use super::db::HealthDb;
use super::inputs::Dirty;
use super::open_hours::{self, OpenHour};
use super::{derived, latest};
use crate::engine::{Param, Tx, Work};
use crate::error::Result;
use crate::events::{NewEvent, raise_event_position};
use crate::ids::PatientId;
use crate::texts::sql;

/// Everything that derivations of one patient change.
#[derive(Clone, Debug)]
pub struct DerivationCommit {
    /// The claim under which it was computed.
    pub claim: Claim,
    /// Derived values to write or to remove, of all outputs.
    pub rows: Vec<DerivedRow>,
    /// Latest values as they were read, and as they were computed.
    pub latest: Option<LatestChange>,
    /// The marks that were seen.
    pub done: Vec<DueRange>,
    /// What is due later, or was left for the next derivation.
    pub due: Vec<DueRange>,
    /// The dirty ranges that it started from; `None` leaves it as it is up to which event ranges were taken in.
    pub dirty: Option<Dirty>,
    /// Time at which it was computed, ms.
    pub now_ms: i64,
    /// Events for readers.
    pub events: Vec<NewEvent>,
    /// Versions of the derivations that have computed what is stored of the patient, where this changes them.
    pub versions: Option<String>,
}

impl DerivationCommit {
    /// Makes a commit that changes nothing.
    pub fn nothing(claim: Claim) -> Self {
        DerivationCommit {
            claim,
            rows: Vec::new(),
            latest: None,
            done: Vec::new(),
            due: Vec::new(),
            dirty: None,
            now_ms: 0,
            events: Vec::new(),
            versions: None,
        }
    }
}

/// Latest values before and after a derivation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatestChange {
    /// As the derivation read them.
    pub seen: Measured,
    /// As it computed them.
    pub computed: Measured,
}

/// How the commit of one patient's derivation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    /// It is durable, and the patient is free.
    Committed,
    /// The lease has passed to another worker, or has ended with an earlier commit. Nothing was changed.
    LeaseLost,
}

/// Assignments of the end of a derivation. What came since is due at once, otherwise the patient is ready when the next of the
/// marks is.
macro_rules! finish {
    () => {
        concat!(
            "derived_through = COALESCE($2, derived_through),
            derive_ready_ms = CASE WHEN arrivals > COALESCE($2, derived_through) THEN $4
                ELSE (SELECT MIN(ready_ms) FROM due WHERE due.patient = patient.uuid) END,
            events = events + $5, ",
            raise_event_position!()
        )
    };
}

sql! {
    /// Only while it is held: the end of a commit frees the patient and leaves the token, and a commit that is made again,
    /// because its answer was lost, would write its events a second time.
    HOLD = "UPDATE patient SET fold_lease_until_ms = 0, fold_node = NULL
        WHERE uuid = $1 AND fold_token = $2 AND fold_lease_until_ms > 0 RETURNING latest";
    FREE = concat!("UPDATE patient SET latest = $3, derivations = COALESCE($6, derivations), ", finish!(), "
        WHERE uuid = $1");
    /// Both at once, where the latest values and the marks are still those that the derivation read; $7 says whether the former
    /// are to change. Where this waited for another transaction, the marks that it sees are those of before: a new one
    /// has changed the time, and this changes nothing.
    HOLD_AND_FREE = concat!("UPDATE patient SET fold_lease_until_ms = 0, fold_node = NULL,
        latest = CASE WHEN $7 THEN $3 ELSE latest END, derivations = COALESCE($10, derivations), ", finish!(), "
        WHERE uuid = $1 AND fold_token = $6 AND fold_lease_until_ms > 0 AND (NOT $7 OR latest IS NOT DISTINCT FROM $8)
        AND derive_ready_ms IS NOT DISTINCT FROM $9");
    ADD_EVENTS = "INSERT INTO event (position, patient, sequence, time_ms, type, body)
        VALUES ((SELECT NULLIF(event_position, 0) FROM patient WHERE uuid = $1), $1,
        (SELECT events - $2 FROM patient WHERE uuid = $1), $3, $4, $5)";
}

#[boxed_futures]
impl HealthDb {
    /// Commits commits of several patients in one transaction; each is judged by its own lease. When this returns, what
    /// is committed is durable.
    pub async fn commit_derivations(&self, mut commits: Vec<DerivationCommit>) -> Result<Vec<CommitOutcome>> {
        // Outside the transaction, so that nobody waits while a day is compressed.
        commits.iter_mut().flat_map(|commit| &mut commit.rows).try_for_each(derived::encode)?;
        let hours: Vec<Vec<OpenHour>> = commits.iter().map(|made| self.open_hours.new_of(made)).collect();
        let written = hours.clone();
        let owner = (commits.len() == 1).then(|| commits[0].claim.patient.clone());
        let write = async move |tx: &Tx<'_>| {
            try_join_all(commits.iter().zip(&hours).map(|(made, hours)| commit(tx, made, hours))).await
        };
        let outcomes = match owner {
            Some(patient) => self.db.with_deadlines_of(Work::Batch).write_of((&patient).into(), write).await?,
            // A row of one patient that somebody holds would hold up the others' derivations.
            None => self.db.with_deadlines_of(Work::Batch).write(write).await?,
        };
        for (hours, _) in
            written.into_iter().zip(&outcomes).filter(|(_, outcome)| **outcome == CommitOutcome::Committed)
        {
            // Only what is durable: an hour that was remembered and not written would never be merged.
            self.open_hours.remember(hours);
        }
        Ok(outcomes)
    }

    /// Returns the latest values of a patient as the database holds them.
    pub async fn stored_latest(&self, patient: &PatientId) -> Result<Measured> {
        Ok(self.latest_of_patients(vec![patient.to_owned()]).await?.remove(patient).unwrap_or_default())
    }
}

async fn commit(tx: &Tx<'_>, made: &DerivationCommit, hours: &[OpenHour]) -> Result<CommitOutcome> {
    let Claim { patient, token, .. } = &made.claim;
    let done = done_marks(made);
    // The live case: one statement judges the lease and changes the row, where holding first would be a round trip
    // more.
    if done.is_empty() && made.due.is_empty() && hold_and_free(tx, made).await? {
        derived::put(tx, patient, &made.rows).await?;
        open_hours::note(tx, hours).await?;
        add_events(tx, patient, &made.events).await?;
        return Ok(CommitOutcome::Committed);
    }
    // Syncs and other derivations of the patient wait for this transaction from here on.
    let held = tx.query_opt(HOLD, &[patient, token], |row| row.get::<Option<String>>(0)).await?;
    let Some(known) = held else { return Ok(CommitOutcome::LeaseLost) };
    let known = match (latest::parse(patient, known.as_deref()), &made.latest) {
        // Only what computes them from the rows again gets so far: nothing is known of them but what it has computed.
        (Err(error), Some(change)) if error.is_damage() => change.seen,
        (known, _) => known?,
    };
    derived::put(tx, patient, &made.rows).await?;
    claims::forget_all(tx, patient, &done).await?;
    claims::put_all(tx, patient, &made.due).await?;
    open_hours::note(tx, hours).await?;
    let latest = made.latest.as_ref().map_or(known, |change| settle(&known, change));
    let through = made.dirty.as_ref().map(|dirty| dirty.through);
    let events = made.events.len() as i64;
    // After the marks, since it asks when the next of them is ready.
    let latest = latest::to_text(patient, &latest)?;
    tx.put(FREE, &[patient, &through, &latest, &made.now_ms, &events, &made.versions]).await?;
    add_events(tx, patient, &made.events).await?;
    Ok(CommitOutcome::Committed)
}

/// Marks that end with a derivation. Ranges of events that come with its commit were never written down.
fn done_marks(made: &DerivationCommit) -> Vec<DueRange> {
    // Without dirty ranges every mark that was seen has a row.
    let from = made.dirty.as_ref().map_or(i64::MAX, |dirty| dirty.from);
    made.done.iter().filter(|range| range.arrival <= from).copied().collect()
}

/// Changes the patient's row for a derivation that leaves the marks as they are. False, without effect, when the lease was lost
/// or the latest values or the marks have changed since they were read.
async fn hold_and_free(tx: &Tx<'_>, made: &DerivationCommit) -> Result<bool> {
    let Claim { patient, token, .. } = &made.claim;
    let Some(dirty) = &made.dirty else { return Ok(false) };
    let text_of = |values: fn(&LatestChange) -> Measured| {
        let values = made.latest.as_ref().map(values);
        Ok::<_, crate::error::StoreError>(values.map(|values| latest::to_text(patient, &values)).transpose()?.flatten())
    };
    // Settled as if nothing had come between: the statement changes nothing where something has.
    let latest = text_of(|change| settle(&change.seen, change))?;
    let (seen, changes, events) = (text_of(|change| change.seen)?, made.latest.is_some(), made.events.len() as i64);
    let params: [&dyn Param; 10] = [
        patient,
        &dirty.through,
        &latest,
        &made.now_ms,
        &events,
        token,
        &changes,
        &seen,
        &dirty.ready_ms,
        &made.versions,
    ];
    Ok(tx.execute(HOLD_AND_FREE, &params).await? == 1)
}

/// Appends events whose numbers were raised with everything else of the patient's row.
async fn add_events(tx: &Tx<'_>, patient: &PatientId, events: &[NewEvent]) -> Result<()> {
    let after: Vec<i64> = (0..events.len() as i64).rev().collect();
    let bodies = events.iter().map(NewEvent::body_text).collect::<Result<Vec<_>>>()?;
    let names: Vec<&str> = events.iter().map(|event| event.event_type.name()).collect();
    let rows = events.iter().zip(&after).zip(bodies.iter().zip(&names)).map(|((event, after), (body, name))| {
        // Numbered from the end, because the patient's row has been raised past all of them already.
        let row: [&dyn Param; 5] = [patient, after, &event.time_ms, name, body];
        row
    });
    tx.put_rows(ADD_EVENTS, &rows.collect::<Vec<_>>()).await
}

/// Where nothing has come between, what was computed stays, also when it is older than what was there. Where a sync
/// has, the newer wins, and the mark of that sync settles the rest.
fn settle(known: &Measured, change: &LatestChange) -> Measured {
    let LatestChange { seen, computed } = change;
    let mut values = *known;
    values.merge_newer(computed);
    let untouched = known.signs().into_iter().zip(seen.signs()).map(|(known, seen)| known == seen);
    for ((sign, computed), untouched) in values.signs_mut().into_iter().zip(computed.signs()).zip(untouched) {
        if untouched {
            *sign = computed;
        }
    }
    // Only commits write the score.
    values.valid.news_score = computed.valid.news_score;
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use vitals::latest::{LatestValues, Timed};

    fn heart_rate(value: f64, timestamp_ms: i64) -> Measured {
        LatestValues { heart_rate: Some(Timed { value, timestamp_ms }), ..LatestValues::default() }.into()
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
