//! Deriving one patient: two reads, the computation, and what is to be committed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use store::{Claim, Dirty, DueRange, EventType, FoldCommit, HealthDb, NewEvent};
use vitals::latest::LatestValues;

use super::patient::{FoldInput, fold};
use super::prefetched::Prefetched;
use super::source::StoredPatient;
use super::subject::Subject;
use crate::environment::Platform;

/// Reads and computes what is due of one patient.
pub(super) async fn derive(platform: &Platform, claim: Claim) -> store::Result<FoldCommit> {
    let health = &platform.health;
    let now_ms = platform.now_ms();
    let Some(start) = health.derivation_start(&claim.patient, now_ms).await? else {
        return Ok(FoldCommit::nothing(claim));
    };
    let subject = Subject::new(&start.profile, start.settings);
    let stored = StoredPatient { health: health.clone(), patient: claim.patient.clone() };
    let source = Prefetched::read(stored, &start.dirty.ready, &start.kept_from_us).await?;
    let input = FoldInput {
        claim,
        due: start.dirty.ready.clone(),
        seen: start.latest,
        subject,
        kept_from_us: start.kept_from_us,
        now_ms,
    };
    let mut commit = fold(&source, input).await?;
    commit.due = marks(&commit, &start.dirty);
    commit.events = events(&commit, &start.latest, now_ms);
    commit.now_ms = now_ms;
    commit.dirty = Some(start.dirty);
    Ok(commit)
}

/// What formulas ask about a patient.
pub(super) async fn subject_of(health: &HealthDb, patient: &str) -> store::Result<Subject> {
    let body = health.patient(patient).await?.map(|found| found.profile).unwrap_or_default();
    Ok(Subject::new(&body, health.patient_settings(patient).await?))
}

/// What is to be marked: what the computation leaves, and ranges of the events that were read which it has not done.
fn marks(commit: &FoldCommit, dirty: &Dirty) -> Vec<DueRange> {
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

/// What readers of the event log are told.
fn events(commit: &FoldCommit, seen: &LatestValues, now_ms: i64) -> Vec<NewEvent> {
    let event = |event_type, body: Value| NewEvent { event_type, time_ms: now_ms, body };
    // Slots are part of a day's summaries; a day of which only they have changed names no section.
    let of_slots = commit.slots.iter().map(|row| row.day);
    let days: BTreeSet<_> = commit.summaries.iter().map(|row| row.day).chain(of_slots).collect();
    let of_day = days.into_iter().map(|day| {
        let changed = commit.summaries.iter().filter(|row| row.day == day);
        let sections: BTreeSet<&str> = changed.map(|row| row.section.name()).collect();
        event(EventType::DayUpdated, json!({ "day": day.to_string(), "sections": sections }))
    });
    let mut events: Vec<NewEvent> = of_day.collect();
    let newest = commit.latest.map(|change| change.computed.news_score);
    if newest.is_some_and(|newest| newest != seen.news_score) {
        let score = newest.flatten();
        let entry = commit.news.iter().rev().find_map(|row| row.entry);
        let body = json!({ "score": score.map(|score| score.value), "time_ms": score.map(|score| score.timestamp_ms),
            "entry": entry });
        events.push(event(EventType::NewsScored, body));
    }
    if events.is_empty() && commit.latest.is_some_and(|change| change.computed != change.seen) {
        events.push(event(EventType::LatestChanged, json!({})));
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    use store::Failures;

    #[test]
    fn ranges_that_begin_alike_become_a_mark_that_holds_all_of_them() {
        let claim = Claim { patient: "p".to_owned(), token: 1, failures: Failures::default() };
        let range = |last_us| DueRange { arrival: 3, data_type: 2, first_us: 10, last_us, ready_ms: 7 };
        for ranges in [[range(20), range(50)], [range(50), range(20)]] {
            let mut dirty = Dirty::default();
            (dirty.ready, dirty.from, dirty.through) = (ranges.to_vec(), 2, 3);
            assert_eq!(marks(&FoldCommit::nothing(claim.clone()), &dirty), [range(50)]);
            let commit = FoldCommit { due: ranges.to_vec(), ..FoldCommit::nothing(claim.clone()) };
            assert_eq!(marks(&commit, &Dirty::default()), [range(50)]);
        }
    }
}
