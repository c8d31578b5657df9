//! Rows that go while a derivation is under way, and what becomes of its commit.

use vitals::derivation::{DerivedRow, Output, keys_of_days};
use vitals::registry::DataType;
use vitals::summary::Section;
use vitals::zone::{LocalDay, WINDOW_US};

use super::derivations::{claim_of, enrol, nothing, section, slots};
use super::{Stores, activity_row, on_both_engines};
use crate::ids::{NodeId, PatientId};
use crate::{Claim, CommitOutcome, DerivationCommit, DueRange, Failures, InputRange, JobFailure, Retirement, Sync};

on_both_engines! {
    derivation_that_a_retirement_met_changes_nothing
    retirement_leaves_the_wait_of_a_failed_derivation
}

/// 2025-11-20T00:00Z, and the day after.
const DAY_MS: i64 = 1_763_596_800_000;
const NEXT_MS: i64 = DAY_MS + 86_400_000;
const LEASE_MS: i64 = 60_000;

/// Returns what a day of rows has led to, or its removal.
fn derived(body: Option<&str>) -> Vec<DerivedRow> {
    let day = LocalDay::parse("2025-11-20").expect("a day");
    let cells = body.map(|text| text.as_bytes().to_vec());
    vec![slots(day, DataType::Activity, cells), section(day, Section::HeartRate, body)]
}

/// Enrols a patient and stores a row of the day.
async fn measured(stores: &Stores, name: &str) -> PatientId {
    enrol(stores, name).await;
    let patient = PatientId::new(name);
    let blocks = vec![activity_row(DAY_MS + 1000, "bpm", 61)];
    let sync = Sync { patient: patient.clone(), received_ms: DAY_MS, id: None, device: None, blocks };
    stores.health.store_sync(sync).await.expect("stored");
    patient
}

async fn claim(stores: &Stores, patient: &PatientId, now_ms: i64) -> Claim {
    let claimed = stores.health.claim_patient(patient, Some(&NodeId::new("node")), now_ms, LEASE_MS).await;
    claimed.expect("an answer").expect("a claim")
}

async fn retire_the_day(stores: &Stores, patient: &PatientId) {
    let retirement = Retirement { patient: patient.clone(), data_type: DataType::Activity, before_us: NEXT_MS * 1000 };
    stores.health.retire(&retirement, None, NEXT_MS, 7).await.expect("retired");
}

/// Returns how many blocks of rows a derivation finds on the day.
async fn blocks_of_the_day(stores: &Stores, patient: &PatientId) -> usize {
    let day = LocalDay::parse("2025-11-20").expect("a day");
    let wanted = InputRange {
        outputs: [(Output::Slots, keys_of_days(day, day))].into(),
        news_ms: (DAY_MS, NEXT_MS),
        types: vec![DataType::Activity],
        rows_us: (DAY_MS * 1000, DAY_MS * 1000 + WINDOW_US - 1),
        waveforms_us: (0, -1),
    };
    let inputs = stores.health.derivation_inputs(patient, wanted).await.expect("an answer");
    inputs.rows[&DataType::Activity].len()
}

/// Timeline: a derivation reads from when on rows are kept, a retirement removes some of them, and the derivation finds
/// windows empty that it may not compute any more.
async fn derivation_that_a_retirement_met_changes_nothing(stores: Stores) {
    let health = &stores.health;
    // With marks to end, and without any: the commit holds the patient's row by another statement then.
    for (name, has_marks) in [("ada", false), ("grace", true)] {
        let patient = measured(&stores, name).await;
        let first = claim_of(&stores, name).await;
        let commit = DerivationCommit { rows: derived(Some("{}")), ..nothing(&first) };
        assert_eq!(health.commit_derivations(vec![commit]).await.expect("an answer"), [CommitOutcome::Committed]);
        let before = health.all_derived(&patient).await.expect("an answer");
        assert_eq!(before.len(), 2);

        let held = claim(&stores, &patient, NEXT_MS).await;
        let start = health.derivation_start(&patient, NEXT_MS).await.expect("an answer").expect("a patient");
        assert!(start.kept_from_us.is_empty(), "everything is there");
        assert_eq!(blocks_of_the_day(&stores, &patient).await, 1);
        retire_the_day(&stores, &patient).await;
        assert_eq!(blocks_of_the_day(&stores, &patient).await, 0, "and now it is not");
        let mark = DueRange { arrival: 0, data_type: 1, first_us: 1, last_us: 2, ready_ms: 1 };
        let done = if has_marks { vec![mark] } else { Vec::new() };
        let empty = DerivationCommit { rows: derived(None), dirty: Some(start.dirty), done, ..nothing(&held) };
        let met = DerivationCommit { now_ms: NEXT_MS, ..empty };
        assert_eq!(health.commit_derivations(vec![met]).await.expect("an answer"), [CommitOutcome::LeaseLost]);
        assert_eq!(health.all_derived(&patient).await.expect("an answer"), before, "what was derived is frozen");

        // At once, and not when the lease of the derivation that was met would have ended.
        let again = claim(&stores, &patient, NEXT_MS).await;
        let start = health.derivation_start(&patient, NEXT_MS).await.expect("an answer").expect("a patient");
        assert_eq!(start.kept_from_us[&DataType::Activity], NEXT_MS * 1000);
        let commit = DerivationCommit { dirty: Some(start.dirty), now_ms: NEXT_MS, ..nothing(&again) };
        assert_eq!(health.commit_derivations(vec![commit]).await.expect("an answer"), [CommitOutcome::Committed]);
    }
}

async fn retirement_leaves_the_wait_of_a_failed_derivation(stores: Stores) {
    let patient = measured(&stores, "ada").await;
    let held = claim(&stores, &patient, NEXT_MS).await;
    let failure = JobFailure {
        failures: Failures { runs: 1, panics: 0 },
        error: "a fault".to_owned(),
        failed_ms: NEXT_MS,
        retry_ms: NEXT_MS + 1000,
        put_aside: None,
    };
    assert!(stores.health.fail_derivation(&held, failure).await.expect("an answer"));
    retire_the_day(&stores, &patient).await;
    let claims = async |now_ms| {
        stores.health.claim_due(&NodeId::new("node"), now_ms, LEASE_MS, 9).await.expect("an answer").len()
    };
    assert_eq!((claims(NEXT_MS + 999).await, claims(NEXT_MS + 1000).await), (0, 1));
}
