//! Deriving one patient: two reads, the computation, and what is to be committed.

use std::collections::BTreeMap;

use store::{
    AHEAD_MS, Claim, CommitOutcome, DerivationCommit, Dirty, DueRange, Gender, LatestChange, NodeId, PatientId,
};
use vitals::activity::Sex;
use vitals::derivation::{
    Batch, Changes, Output, Progress, Setting, Start, Subject, VITAL_TYPES, common_versions, versions,
};
use vitals::measured::Measured;
use vitals::registry::DataType;
use vitals::summary::Profile;

use super::ahead::read_ahead;
use super::counts::DerivationCounts;
use super::events::events;
use super::plan::{OF_NO_SYNC, Plan};
use super::reader::{Reader, StoredPatient, read_all};
use crate::core::Core;
use crate::core::access::Readable;

/// Windows up to which a batch is computed where it is: to hand a live sync over to another thread costs more.
const FEW_WINDOWS: i64 = 12;

/// What a batch of one patient starts from.
#[derive(Clone, Debug)]
pub(super) struct Input {
    /// What is dirty, read before the rows.
    pub due: Vec<DueRange>,
    /// Latest values, read before the rows.
    pub seen: Measured,
    pub subject: Subject,
    /// Time of the newest entry of NEWS, ms, where a change of settings is ahead.
    pub newest_entry_ms: Option<i64>,
    /// From when on rows of a type are still there, µs; types that are not named are there from the beginning.
    pub kept_from_us: BTreeMap<DataType, i64>,
    pub now_ms: i64,
}

/// The node that claims single patients, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holder<'node> {
    pub node: &'node NodeId,
    pub now_ms: i64,
    pub lease_ms: i64,
}

impl Holder<'_> {
    /// Claims a patient; `None` when somebody else has them.
    pub async fn claim(&self, core: &Core, patient: &PatientId) -> store::Result<Option<Claim>> {
        core.health().claim_patient(patient, Some(self.node), self.now_ms, self.lease_ms).await
    }
}

/// Reads and computes what is dirty of one patient.
pub(super) async fn derive(core: &Core, counts: &DerivationCounts, claim: Claim) -> store::Result<DerivationCommit> {
    let health = core.health();
    let now_ms = core.now_ms();
    let Some(start) = health.derivation_start(&claim.patient, now_ms).await? else {
        return Ok(DerivationCommit::nothing(claim));
    };
    let subject = subject(&start.profile, start.settings);
    // An entry without a score shows in no latest value. Settings are hardly ever ahead, so nobody else pays for the read.
    let newest = if settings_ahead(&subject, now_ms).is_empty() {
        None
    } else {
        health.derived_before(&claim.patient, Output::News, i64::MAX).await?
    };
    // Marks are read before the rows: a sync in between leaves a mark of its own, which is derived again.
    let input = Input {
        due: start.dirty.ready.clone(),
        seen: start.latest,
        subject,
        newest_entry_ms: newest.map(|entry| entry.key),
        kept_from_us: start.kept_from_us,
        now_ms,
    };
    let (plan, mut batch) = begin(input);
    let stored = StoredPatient { health: health.clone(), patient: Readable::for_derivation(&claim) };
    read_ahead(&stored, &plan, &mut batch).await?;
    let changes = run(&stored, batch, &plan, counts).await?;
    let news = changes.news;
    let mut commit = commit_of(claim, &plan, changes, &start.latest, now_ms);
    commit.due = marks(&commit, &start.dirty);
    commit.events = events(&commit, news.as_ref());
    commit.dirty = Some(start.dirty);
    // While programs of two versions run, what only one of them computes so is computed again at the next start.
    let common = common_versions(&start.versions, &versions());
    commit.versions = (common != start.versions).then_some(common);
    Ok(commit)
}

/// Derives what is due of one patient for a node until nothing is left; false when somebody else has the patient.
pub(super) async fn commit_due(
    core: &Core,
    counts: &DerivationCounts,
    patient: &PatientId,
    holder: &Holder<'_>,
) -> store::Result<bool> {
    let health = core.health();
    // One batch spans a limited time, and a sync can come between two of them.
    while !health.due_of(patient, holder.now_ms).await?.is_empty() {
        let Some(claim) = holder.claim(core, patient).await? else { return Ok(false) };
        let committed = derive_and_commit(core, counts, claim.clone()).await;
        if !matches!(committed, Ok(true)) {
            give_back(core, claim, holder.now_ms).await;
            return committed;
        }
    }
    Ok(true)
}

/// False when somebody else has claimed the patient meanwhile.
async fn derive_and_commit(core: &Core, counts: &DerivationCounts, claim: Claim) -> store::Result<bool> {
    let commit = derive(core, counts, claim).await?;
    Ok(core.health().commit_derivations(vec![commit]).await? == [CommitOutcome::Committed])
}

/// Ends a claim under which nothing was committed. One that somebody else has taken since stays theirs.
pub(super) async fn give_back(core: &Core, claim: Claim, now_ms: i64) {
    let patient = claim.patient.clone();
    // What kept the work from its end is the error to return; a lease that cannot be ended runs out by itself.
    if let Err(error) = core.health().hold_claim(claim, now_ms).await {
        tracing::warn!(%patient, %error, "a claim could not be ended; its lease runs out by itself");
    }
}

/// Plans a batch.
pub(super) fn begin(input: Input) -> (Plan, Batch) {
    let ahead = marks_of_ahead(&input);
    let later = marks_of_settings(&input.subject, input.now_ms);
    let Input { mut due, seen, subject, kept_from_us, now_ms, .. } = input;
    due.extend(&ahead);
    let mut plan = Plan::of(due, &kept_from_us);
    // No store has these marks: where the batch does not come so far, they are to be kept for the next one.
    plan.left.extend(ahead.into_iter().filter(|mark| !plan.done.contains(mark)));
    plan.left.extend(later);
    let batch = Batch::new(Start {
        subject,
        touched: plan.touched.clone(),
        revisited: plan.revisited.clone(),
        seen,
        kept_from_us,
        now_ms,
        not_after_us: not_after_us(now_ms),
    });
    (plan, batch)
}

/// Returns the time after which rows do not count yet, µs.
fn not_after_us(now_ms: i64) -> i64 {
    (now_ms + AHEAD_MS) * 1000 + 999
}

/// Returns marks of what lies between now and latest values or entries whose time has not come: the clock was ahead when
/// they were taken for good, and is right again. They are taken back until their time comes.
fn marks_of_ahead(input: &Input) -> Vec<DueRange> {
    let not_after_us = not_after_us(input.now_ms);
    let of_values = input.seen.signs().into_iter().chain([input.seen.valid.news_score]).flatten();
    let newest = of_values.map(|timed| timed.timestamp_ms).chain(input.newest_entry_ms).max();
    let Some(last_us) = newest.map(|time_ms| time_ms * 1000 + 999).filter(|last_us| *last_us > not_after_us) else {
        return Vec::new();
    };
    let mark = |data_type: DataType| DueRange {
        arrival: OF_NO_SYNC,
        data_type: data_type.number(),
        first_us: not_after_us + 1,
        last_us,
        ready_ms: input.now_ms,
    };
    // What an earlier batch has left of such marks is due, and is done from where that ended. Marked from now on again,
    // each batch would begin with the same days and none would come to the end.
    let is_due = |mark: &DueRange| {
        let mut of_type = input.due.iter().filter(|due| (due.arrival, due.data_type) == (OF_NO_SYNC, mark.data_type));
        of_type.any(|due| due.last_us >= last_us)
    };
    VITAL_TYPES.into_iter().map(mark).filter(|mark| !is_due(mark)).collect()
}

/// Returns the times of changes of NEWS settings that have not come, ms.
fn settings_ahead(subject: &Subject, now_ms: i64) -> Vec<i64> {
    subject.news_settings_changes(not_after_us(now_ms).div_euclid(1000) + 1, i64::MAX)
}

/// Returns marks of changes of settings whose time has not come. What marked them may have been done while the clock was
/// ahead, without any row to score; they are put again rather than looked for, as they have one key each.
fn marks_of_settings(subject: &Subject, now_ms: i64) -> impl Iterator<Item = DueRange> + use<> {
    settings_ahead(subject, now_ms).into_iter().map(|time_ms| DueRange {
        arrival: OF_NO_SYNC,
        data_type: DataType::Activity.number(),
        first_us: time_ms * 1000,
        last_us: time_ms * 1000,
        ready_ms: time_ms - AHEAD_MS,
    })
}

/// Computes a batch; reads what it asks for between.
pub(super) async fn run(
    reader: &impl Reader,
    mut batch: Batch,
    plan: &Plan,
    counts: &DerivationCounts,
) -> store::Result<Changes> {
    // A long batch on an async thread would hold up all requests of that thread.
    let is_small = plan.span().is_none_or(|span| span.end - span.start <= FEW_WINDOWS);
    loop {
        let progress = if is_small {
            advance(&mut batch, counts)
        } else {
            let counts = counts.clone();
            let computed = runtime::compute("derive", move || {
                let progress = advance(&mut batch, &counts);
                (batch, progress)
            });
            let (back, progress) = match computed.await {
                Ok(computed) => computed,
                // The job engine is the one place that counts panics and puts the patient aside.
                Err(error) => std::panic::resume_unwind(Box::new(error.to_string())),
            };
            batch = back;
            progress
        };
        match progress {
            Progress::Missing(needs) => read_all(reader, &mut batch, needs).await?,
            Progress::Computed | Progress::Done => return Ok(batch.finish()),
        }
    }
}

/// Computes until something is missing or everything is done.
fn advance(batch: &mut Batch, counts: &DerivationCounts) -> Progress {
    loop {
        let (begun, next) = (runtime::Instant::now(), batch.next_derivation());
        let progress = batch.advance();
        // A computation that lacks something has taken its time too.
        if let Some(derivation) = next {
            counts.add(derivation, begun.elapsed(), u64::from(matches!(progress, Progress::Computed)));
        }
        if progress != Progress::Computed {
            return progress;
        }
    }
}

/// Returns the commit of what a batch has changed.
pub(super) fn commit_of(claim: Claim, plan: &Plan, changes: Changes, seen: &Measured, now_ms: i64) -> DerivationCommit {
    let mut due = plan.left.clone();
    due.extend(due_later(plan, &changes.ahead_us, now_ms));
    DerivationCommit {
        rows: changes.rows,
        latest: changes.latest.map(|computed| LatestChange { seen: *seen, computed }),
        done: plan.done.clone(),
        due,
        now_ms,
        ..DerivationCommit::nothing(claim)
    }
}

/// Returns what formulas ask about a patient.
pub(super) async fn subject_of(stored: &StoredPatient) -> store::Result<Subject> {
    let (health, patient) = (&stored.health, stored.patient.uuid());
    let body = health.patient(patient).await?.map(|found| found.profile).unwrap_or_default();
    Ok(subject(&body, health.patient_settings(patient).await?))
}

pub(super) fn subject(body: &store::Profile, settings: Vec<Setting>) -> Subject {
    let sex = body.gender.map(|gender| match gender {
        Gender::Female => Sex::Female,
        Gender::Male => Sex::Male,
        Gender::Other => Sex::Other,
    });
    let profile = Profile {
        birthday: body.birthday.as_ref().and_then(|birthday| birthday.parse().ok()),
        sex,
        height_cm: body.height,
        weight_kg: body.weight,
    };
    Subject::new(profile, body.time_zone.as_deref().unwrap_or("UTC"), settings)
}

/// Returns marks for the rows whose time has not come: latest values and NEWS take them then.
fn due_later(plan: &Plan, ahead_us: &BTreeMap<DataType, Vec<i64>>, now_ms: i64) -> Vec<DueRange> {
    let not_after_us = not_after_us(now_ms);
    let of_mark = |mark: &DueRange| {
        let times = ahead_us.get(&DataType::from_number(mark.data_type)?)?;
        let of_mark = times.iter().filter(|time| (mark.first_us.max(not_after_us + 1)..=mark.last_us).contains(time));
        let first_us = *of_mark.min()?;
        // The mark becomes due when the first of its rows counts.
        Some(DueRange { first_us, ready_ms: first_us.div_euclid(1000) - AHEAD_MS, ..*mark })
    };
    plan.done.iter().filter_map(of_mark).collect()
}

/// Returns what is to be marked: what the computation leaves, and ranges of the events that were read which it has not
/// done.
fn marks(commit: &DerivationCommit, dirty: &Dirty) -> Vec<DueRange> {
    let is_left = |range: &&DueRange| range.arrival > dirty.from && !commit.done.contains(range);
    let left = dirty.ready.iter().filter(is_left);
    let mut marks: BTreeMap<_, DueRange> = BTreeMap::new();
    for range in commit.due.iter().chain(&dirty.later).chain(left) {
        // Channels of a type have ranges of their own, which can begin alike: one mark holds all of them.
        let key = (range.arrival, range.data_type, range.first_us, range.ready_ms);
        let mark = marks.entry(key).or_insert(*range);
        mark.last_us = mark.last_us.max(range.last_us);
    }
    marks.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    use store::Failures;

    #[test]
    fn ranges_that_begin_alike_become_a_mark_that_holds_all_of_them() {
        let claim = Claim { patient: PatientId::new("p"), token: 1, failures: Failures::default() };
        let range = |last_us| DueRange { arrival: 3, data_type: 2, first_us: 10, last_us, ready_ms: 7 };
        for ranges in [[range(20), range(50)], [range(50), range(20)]] {
            let mut dirty = Dirty::default();
            (dirty.ready, dirty.from, dirty.through) = (ranges.to_vec(), 2, 3);
            assert_eq!(marks(&DerivationCommit::nothing(claim.clone()), &dirty), [range(50)]);
            let commit = DerivationCommit { due: ranges.to_vec(), ..DerivationCommit::nothing(claim.clone()) };
            assert_eq!(marks(&commit, &Dirty::default()), [range(50)]);
        }
    }
}
