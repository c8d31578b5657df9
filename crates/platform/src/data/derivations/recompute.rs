//! Everything that was ever derived of a patient, computed once more from the rows and compared with what is stored.
//!
//! On healthy data nothing differs: batches that follow single syncs and one of everything agree exactly. What does differ
//! is put right. What lies before the first row of its type is frozen: its rows have expired, and it stays.

use std::collections::BTreeMap;

use boxed_futures::boxed_futures;
use store::{Claim, CommitOutcome, DerivationCommit, DueRange, LatestChange, NodeId, PatientId, StoreError};
use vitals::cells::Day;
use vitals::derivation::{Answer, DerivedRow, Frozen, Need, Output, VITAL_TYPES, day_of, is_input};
use vitals::measured::Measured;
use vitals::registry::DataType;
use vitals::zone::DAY_US;

use super::counts::DerivationCounts;
use super::derive::{Holder, Input, begin, commit_due, give_back, run, subject_of};
use super::presence::Presence;
use super::reader::{Reader, StoredPatient};
use super::values::{Values, is_known};
use crate::core::Core;
use crate::core::access::Readable;
use crate::core::error::{PlatformError, Result};
use crate::data::Data;

/// How long a recomputation may hold a patient; the derivation of what arrives meanwhile waits for it. One that was killed is
/// noticed before.
const LEASE_MS: i64 = 10 * 60_000;
/// How often a recomputation begins again because rows came or somebody else had the patient.
const TRIES: usize = 20;
/// Pause between two tries.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(250);
/// Patients that are listed at once.
const PATIENTS: i64 = 256;

/// What a recomputation has looked at and found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recomputed {
    /// Five-minute windows that were computed again, each once for each type with rows in it.
    pub windows: u64,
    /// Derived values that differed and were put right: days of cells, sections, facts, NEWS entries, hours of
    /// atrial-fibrillation records, latest values.
    pub differences: u64,
}

#[boxed_futures]
impl Data {
    /// Recomputes one patient, or all of them. Reports each patient when they are done. Not found when there is no such
    /// patient; a conflict when they are synced or derived so often that no quiet moment is found. One of all who cannot be
    /// recomputed is named in the log, and is the error when all the others are done.
    pub async fn recompute(
        &self,
        patient: Option<&PatientId>,
        done: impl FnMut(&PatientId, Recomputed),
    ) -> Result<Recomputed> {
        let presence = Presence::enter(&self.core).await?;
        let recomputed = self.recompute_as(presence.id(), patient, done).await;
        presence.leave().await;
        recomputed
    }

    async fn recompute_as(
        &self,
        node: &NodeId,
        patient: Option<&PatientId>,
        mut done: impl FnMut(&PatientId, Recomputed),
    ) -> Result<Recomputed> {
        let mut total = Recomputed::default();
        let mut add = |patient: &PatientId, found: Recomputed| {
            total.windows += found.windows;
            total.differences += found.differences;
            done(patient, found);
        };
        if let Some(patient) = patient {
            self.core.health().patient(patient).await?.ok_or(PlatformError::NotFound("patient"))?;
            add(patient, recompute_patient(&self.core, &self.derivations.counts, node, patient).await?);
            return Ok(total);
        }
        let mut failed = None;
        let mut after: Option<PatientId> = None;
        loop {
            let patients = self.core.health().patients_after(after.as_ref(), PATIENTS).await?;
            let Some(last) = patients.last() else { break };
            after = Some(last.clone());
            for patient in &patients {
                match recompute_patient(&self.core, &self.derivations.counts, node, patient).await {
                    Ok(found) => add(patient, found),
                    Err(error) if error.is_unavailable() => return Err(error),
                    Err(error) => {
                        tracing::error!(%patient, %error, "a patient could not be recomputed; the others go on");
                        failed.get_or_insert(error);
                    }
                }
            }
        }
        failed.map_or(Ok(total), Err)
    }
}

async fn recompute_patient(
    core: &Core,
    counts: &DerivationCounts,
    node: &NodeId,
    patient: &PatientId,
) -> Result<Recomputed> {
    for _ in 0..TRIES {
        if let Some(found) = try_recompute(core, counts, node, patient).await? {
            return Ok(found);
        }
        runtime::sleep(PAUSE).await;
    }
    Err(PlatformError::Conflict {
        code: "busy",
        message: "the patient is being synced all the time, or another node holds them; try again later",
    })
}

/// `None` when somebody else has the patient, or when something came between.
async fn try_recompute(
    core: &Core,
    counts: &DerivationCounts,
    node: &NodeId,
    patient: &PatientId,
) -> Result<Option<Recomputed>> {
    let health = core.health();
    let arrivals = health.arrivals(patient).await?;
    let now_ms = core.now_ms();
    let holder = Holder { node, now_ms, lease_ms: LEASE_MS };
    // Windows of waveforms that wait for their end are computed now: the recomputation takes what is there.
    for range in health.due_of(patient, i64::MAX).await? {
        let is_waveform = DataType::from_number(range.data_type).is_some_and(DataType::is_waveform);
        if is_waveform && range.ready_ms > now_ms {
            health.mark_due(patient, DueRange { ready_ms: now_ms, ..range }).await?;
        }
    }
    // What waits would otherwise be counted as a difference. Where it waits because derived values are damaged, it is
    // derived once they are right.
    let is_held_up = match commit_due(core, counts, patient, &holder).await {
        Ok(false) => return Ok(None),
        Err(error) if error.is_damage() => true,
        derived => !derived?,
    };
    let Some(claim) = holder.claim(core, patient).await? else { return Ok(None) };
    let begun = Begun { now_ms, arrivals, is_held_up };
    let repaired = repair(core, counts, claim.clone(), begun).await;
    // Nothing has ended the claim then, and the next try would find the patient taken.
    if !matches!(repaired, Ok(Some(_))) {
        give_back(core, claim, now_ms).await;
    }
    Ok(repaired?)
}

/// What a try has found before it claimed the patient.
#[derive(Clone, Copy)]
struct Begun {
    now_ms: i64,
    /// Syncs that had arrived.
    arrivals: i64,
    /// Whether what waits cannot be derived before damaged values are right.
    is_held_up: bool,
}

/// Compares and puts right; `None`, without effect, when something came between.
async fn repair(
    core: &Core,
    counts: &DerivationCounts,
    claim: Claim,
    begun: Begun,
) -> store::Result<Option<Recomputed>> {
    let (health, patient) = (core.health(), claim.patient.clone());
    let (repair, found) = compare(core, counts, claim, begun.now_ms).await?;
    // Syncs do not ask for the claim, so rows can have changed since they were read; the repair would then be wrong.
    let is_derived = begun.is_held_up || health.due_of(&patient, begun.now_ms).await?.is_empty();
    if !is_derived || health.arrivals(&patient).await? != begun.arrivals {
        return Ok(None);
    }
    let outcomes = health.commit_derivations(vec![repair]).await?;
    Ok((outcomes == [CommitOutcome::Committed]).then_some(found))
}

/// Derives everything again and returns what has to change, with what was found.
async fn compare(
    core: &Core,
    counts: &DerivationCounts,
    claim: Claim,
    now_ms: i64,
) -> store::Result<(DerivationCommit, Recomputed)> {
    let health = core.health();
    let patient = &claim.patient;
    let mut due = health.everything_due(patient, now_ms).await?;
    due.retain(|range| DataType::from_number(range.data_type).is_some_and(is_input));
    if due.is_empty() {
        return Ok((DerivationCommit::nothing(claim), Recomputed::default()));
    }
    let kept_from_us = health.retired(patient).await?;
    let (sound, damaged) = health.sound_derived(patient).await?;
    refuse_frozen(&damaged, &kept_from_us)?;
    let stored: Values = sound.into_iter().filter(is_known).collect();
    let (seen, is_latest_damaged) = match health.stored_latest(patient).await {
        Err(error) if error.is_damage() => (Measured::default(), true),
        seen => (seen?, false),
    };
    // Windows whose rows have been deleted by retention keep what was computed from them (refinement 13).
    let frozen = frozen_of(&due, &kept_from_us);
    let rows = StoredPatient { health: health.clone(), patient: Readable::for_derivation(&claim) };
    let mut again = Again { rows, values: stored.frozen(&frozen), latest: seen, due };
    let first_vital_ms = frozen.whole_from(&VITAL_TYPES).div_euclid(1000);
    // Values from rows that are gone stay; newer ones have to come out of the rows again.
    again.latest.retain(|timed| timed.timestamp_ms < first_vital_ms);
    while !again.due.is_empty() {
        let input = Input {
            due: std::mem::take(&mut again.due),
            seen: again.latest,
            subject: subject_of(&again.rows).await?,
            newest_entry_ms: again.values.of(Output::News).next_back().map(|(time_ms, _)| time_ms),
            kept_from_us: kept_from_us.clone(),
            now_ms,
        };
        again.derive(input, counts).await?;
    }
    let windows = windows_with_rows(&again.values);
    let mut commit = DerivationCommit { rows: stored.changes_to(&again.values), ..DerivationCommit::nothing(claim) };
    let is_put = |place: &(Output, i64)| commit.rows.iter().any(|row| (row.output, row.key) == *place);
    let gone: Vec<_> = damaged.into_iter().filter(|place| !is_put(place)).collect();
    let removed = |(output, key)| DerivedRow { output, key, version: 0, body: None };
    commit.rows.extend(gone.into_iter().map(removed));
    if is_latest_damaged || seen != again.latest {
        commit.latest = Some(LatestChange { seen, computed: again.latest });
    }
    let differences = commit.rows.len() + usize::from(commit.latest.is_some());
    Ok((commit, Recomputed { windows, differences: differences as u64 }))
}

/// Fails where a damaged value can come from rows that have expired: nothing can compute it again.
fn refuse_frozen(damaged: &[(Output, i64)], kept_from_us: &BTreeMap<DataType, i64>) -> store::Result<()> {
    let Some(kept_from_us) = kept_from_us.values().max() else { return Ok(()) };
    // Days of a patient's calendar begin up to a day before those of UTC.
    let first_us = |(output, key): &(Output, i64)| {
        let of_day = (i64::from(day_of(*key).0.0) - 1).saturating_mul(DAY_US);
        if output.is_of_days() { of_day } else { key.saturating_mul(1000) }
    };
    match damaged.iter().filter(|place| first_us(place) < *kept_from_us).count() {
        0 => Ok(()),
        count => Err(StoreError::Damaged(format!("{count} derived values whose rows have expired"))),
    }
}

/// Everything that is derived of a patient, once more from the rows.
struct Again {
    rows: StoredPatient,
    values: Values,
    latest: Measured,
    due: Vec<DueRange>,
}

/// Rows as they are stored, and next to them what was derived from them again.
impl Reader for Again {
    async fn read(&self, need: Need) -> store::Result<Answer> {
        match self.values.answer(need) {
            Some(answer) => Ok(answer),
            None => self.rows.read(need).await,
        }
    }
}

impl Again {
    /// Computes one batch over what was computed before.
    async fn derive(&mut self, input: Input, counts: &DerivationCounts) -> store::Result<()> {
        let (due, now_ms) = (input.due.clone(), input.now_ms);
        let (plan, batch) = begin(input);
        let changes = run(self, batch, &plan, counts).await?;
        self.latest = changes.latest.unwrap_or(self.latest);
        self.values.apply(changes.rows);
        // Marks for times to come are in the store already.
        let left = plan.left.iter().filter(|range| range.ready_ms <= now_ms);
        self.due = due.into_iter().filter(|range| !plan.done.contains(range)).chain(left.copied()).collect();
        Ok(())
    }
}

/// Windows with rows, each once for each type.
fn windows_with_rows(values: &Values) -> u64 {
    let windows = values.of(Output::Slots).filter_map(|(key, body)| {
        let mut day = Day::default();
        day.read(DataType::from_number(day_of(key).1)?, body);
        Some(day.cell_count() as u64)
    });
    windows.sum()
}

fn frozen_of(due: &[DueRange], kept_from_us: &BTreeMap<DataType, i64>) -> Frozen {
    let first = |range: &DueRange| Some((DataType::from_number(range.data_type)?, range.first_us));
    Frozen { first_us: due.iter().filter_map(first).collect(), kept_from_us: kept_from_us.clone() }
}
