//! Claims, and what a derivation commits.

use vitals::block::{Block, Cells};
use vitals::derivation::{DerivedRow, Look, Output, Setting, day_and, day_and_type, keys_of_days, versions};
use vitals::latest::{LatestValues, Timed};
use vitals::measured::Measured;
use vitals::news_timeline::{NewsEntry, SettingsAt};
use vitals::registry::{Channel, DataType};
use vitals::summary::Section;
use vitals::zone::{LocalDay, ZoneRuns};

use super::{Stores, on_both_engines, until_another_waits};
use crate::ids::{NodeId, PatientId};
use crate::{
    Claim, CommitOutcome, DerivationCommit, DueRange, EventType, HealthChange, LatestChange, NewEvent, Profile, Sync,
};

on_both_engines! {
    a_patient_is_derived_by_one_at_a_time
    the_longest_waiting_are_claimed_first
    a_derivation_is_committed_whole_or_not_at_all
    commit_that_is_made_again_changes_nothing
    latest_values_that_changed_meanwhile_are_kept_where_they_are_newer
    cells_and_summaries_are_found_by_day_and_by_patient
    lease_that_has_ended_is_not_prolonged
    sync_of_which_nothing_is_derived_is_passed_over_by_a_derivation
    entries_are_found_by_time
    patients_of_other_versions_are_found_until_they_are_marked
    settings_are_kept_with_their_time
}

const LEASE_MS: i64 = 60_000;
const VITAL: [DataType; 2] = [DataType::Activity, DataType::Tests];

pub(super) async fn enrol(stores: &Stores, uuid: &str) {
    let change = HealthChange::PutPatient {
        uuid: PatientId::new(uuid),
        record_id: crate::ids::RecordId::new(format!("id-{uuid}")),
        customer_code: None,
        profile: Profile::default(),
        at_ms: 1,
    };
    stores.health.apply(change).await.expect("made");
}

pub(super) fn due(first_us: i64, ready_ms: i64) -> DueRange {
    DueRange { arrival: 1, data_type: DataType::Activity.number(), first_us, last_us: first_us + 5, ready_ms }
}

pub(super) fn nothing(claim: &Claim) -> DerivationCommit {
    DerivationCommit::nothing(claim.clone())
}

/// Window aggregates of a type on a day, or their removal.
pub(super) fn slots(day: LocalDay, data_type: DataType, body: Option<Vec<u8>>) -> DerivedRow {
    DerivedRow { output: Output::Slots, key: day_and_type(day, data_type), version: 1, body }
}

/// Returns a section of a day, or its removal.
pub(super) fn section(day: LocalDay, section: Section, body: Option<&str>) -> DerivedRow {
    let body = body.map(|text| text.as_bytes().to_vec());
    DerivedRow { output: Output::Section, key: day_and(day, section.number()), version: 3, body }
}

/// Returns an entry of the NEWS history, or its removal.
pub(super) fn news(time_ms: i64, entry: Option<NewsEntry>) -> DerivedRow {
    let body = entry.map(|entry| serde_json::to_vec(&entry).expect("an entry"));
    DerivedRow { output: Output::News, key: time_ms, version: 1, body }
}

/// Claims a patient, due or not, at a time beyond every lease before.
pub(super) async fn claim_of(stores: &Stores, patient: &str) -> Claim {
    let claimed = stores.health.claim_patient(&PatientId::new(patient), None, i64::MAX / 2, LEASE_MS).await;
    claimed.expect("an answer").expect("a claim")
}

async fn claim(stores: &Stores, now_ms: i64) -> Vec<Claim> {
    stores.health.claim_due(&NodeId::new("node"), now_ms, LEASE_MS, 10).await.expect("an answer")
}

async fn a_patient_is_derived_by_one_at_a_time(stores: Stores) {
    enrol(&stores, "ada").await;
    stores.health.mark_due(&PatientId::new("ada"), due(1, 500)).await.expect("marked");
    assert_eq!(claim(&stores, 499).await, []);
    let first = claim(&stores, 500).await.remove(0);
    assert_eq!(claim(&stores, 501).await, []);
    let second = claim(&stores, 500 + LEASE_MS).await.remove(0);
    assert!(second.token > first.token);

    let late = DerivationCommit { done: vec![due(1, 500)], ..nothing(&first) };
    assert_eq!(stores.health.commit_derivations(vec![late]).await.expect("an answer"), [CommitOutcome::LeaseLost]);
    assert_eq!(stores.health.due_of(&PatientId::new("ada"), 500).await.expect("an answer"), [due(1, 500)]);

    stores.health.hold_claim(second.clone(), 700_000).await.expect("put off");
    assert_eq!(claim(&stores, 699_999).await, []);
    let third = claim(&stores, 700_000).await.remove(0);
    let done = DerivationCommit { done: vec![due(1, 500)], due: vec![due(9, 800_000)], ..nothing(&third) };
    assert_eq!(stores.health.commit_derivations(vec![done]).await.expect("an answer"), [CommitOutcome::Committed]);
    assert_eq!(claim(&stores, 700_001).await, []);
    assert_eq!(claim(&stores, 800_000).await.len(), 1);
}

async fn the_longest_waiting_are_claimed_first(stores: Stores) {
    for at in 0..5_i64 {
        let uuid = format!("patient-{at}");
        enrol(&stores, &uuid).await;
        for mark in 0..3 {
            stores.health.mark_due(&PatientId::new(uuid.as_str()), due(mark, 100 - at)).await.expect("marked");
        }
    }
    // A mark of somebody who is not enrolled is nobody's.
    stores.health.mark_due(&PatientId::new("nobody"), due(1, 1)).await.expect("marked");
    let claims = stores.health.claim_due(&NodeId::new("node"), 1_000, LEASE_MS, 2).await.expect("an answer");
    let names: Vec<&str> = claims.iter().map(|claim| claim.patient.as_str()).collect();
    assert_eq!(names, ["patient-3", "patient-4"]);
    assert_eq!(claim(&stores, 1_000).await.len(), 3);
}

fn heart_rate(value: f64, timestamp_ms: i64) -> Measured {
    LatestValues { heart_rate: Some(Timed { value, timestamp_ms }), ..LatestValues::default() }.into()
}

async fn a_derivation_is_committed_whole_or_not_at_all(stores: Stores) {
    for name in ["ada", "grace"] {
        enrol(&stores, name).await;
        stores.health.mark_due(&PatientId::new(name), due(1, 0)).await.expect("marked");
    }
    let claims = claim(&stores, 1).await;
    let day = LocalDay(20_000);
    let entry = NewsEntry::at(7, &heart_rate(60.0, 7), &SettingsAt::default(), None);
    let whole = |claim: &Claim| DerivationCommit {
        rows: vec![
            slots(day, DataType::Activity, Some(vec![1, 2, 3])),
            section(day, Section::Spo2, Some("{}")),
            news(entry.time_ms, Some(entry)),
        ],
        latest: Some(LatestChange { seen: Measured::default(), computed: heart_rate(60.0, 7) }),
        done: vec![due(1, 0)],
        ..nothing(claim)
    };
    let lost = Claim { token: claims[1].token - 1, ..claims[1].clone() };
    let outcomes = stores.health.commit_derivations(vec![whole(&claims[0]), whole(&lost)]).await.expect("an answer");
    assert_eq!(outcomes, [CommitOutcome::Committed, CommitOutcome::LeaseLost]);

    let names = vec![PatientId::new("ada"), PatientId::new("grace")];
    let latest = stores.health.latest_of_patients(names.clone()).await.expect("an answer");
    assert_eq!(latest.len(), 1);
    assert_eq!(latest[&PatientId::new("ada")], heart_rate(60.0, 7));
    assert_eq!(stores.health.stored_latest(&PatientId::new("grace")).await.expect("an answer"), Measured::default());
    assert_eq!(stores.health.newest_news(&PatientId::new("ada")).await.expect("an answer"), Some(entry));
    assert_eq!(stores.health.newest_news(&PatientId::new("grace")).await.expect("an answer"), None);
    assert_eq!(stores.health.slots_of_patients(names, day, VITAL).await.expect("an answer").len(), 1);
    assert_eq!(stores.health.due_of(&PatientId::new("ada"), 9).await.expect("an answer"), []);
    assert_eq!(stores.health.due_of(&PatientId::new("grace"), 9).await.expect("an answer").len(), 1);
}

/// The answer to a commit can be lost, and what does not know of it makes it once more.
async fn commit_that_is_made_again_changes_nothing(stores: Stores) {
    let names = ["ada", "grace"];
    for name in names {
        enrol(&stores, name).await;
        stores.health.mark_due(&PatientId::new(name), due(1, 0)).await.expect("marked");
    }
    let claims = claim(&stores, 1).await;
    let made = |claim: &Claim| {
        let events = vec![NewEvent { event_type: EventType::DayUpdated, time_ms: 1, body: serde_json::json!({}) }];
        DerivationCommit { done: vec![due(1, 0)], events, ..nothing(claim) }
    };
    let commits: Vec<DerivationCommit> = claims.iter().map(made).collect();
    let first = stores.health.commit_derivations(commits.clone()).await.expect("an answer");
    assert_eq!(first, [CommitOutcome::Committed; 2]);
    for commit in commits {
        let again = stores.health.commit_derivations(vec![commit]).await.expect("an answer");
        assert_eq!(again, [CommitOutcome::LeaseLost]);
    }
    for name in names {
        let events = stores.health.events().after(&PatientId::new(name), 0, 9).await.expect("events");
        assert_eq!(events.len(), 1, "{name}");
    }
}

async fn lease_that_has_ended_is_not_prolonged(stores: Stores) {
    enrol(&stores, "ada").await;
    let health = &stores.health;
    health.mark_due(&PatientId::new("ada"), due(1, 500)).await.expect("marked");
    let held = claim(&stores, 500).await.remove(0);
    health.prolong_claim(held.clone(), 90_000).await.expect("prolonged");
    assert_eq!(claim(&stores, 80_000).await, [], "it is held");
    health.commit_derivations(vec![nothing(&held)]).await.expect("committed");
    health.prolong_claim(held, 200_000).await.expect("an answer");
    assert_eq!(claim(&stores, 80_000).await.len(), 1, "nobody holds it");
}

async fn sync_of_which_nothing_is_derived_is_passed_over_by_a_derivation(stores: Stores) {
    const NOON_MS: i64 = 1_763_640_000_000;
    enrol(&stores, "ada").await;
    for (data_type, number) in [(DataType::Bioz, 1), (DataType::Eda, 2), (DataType::Gyro, 3)] {
        let mut block = Block::empty(data_type, Channel::default());
        block.times_us = vec![NOON_MS * 1000];
        for column in &mut block.columns {
            *column = Cells::Values(vec![7]).simplified();
        }
        block.zones = ZoneRuns::constant("UTC".into(), 1);
        let blocks = vec![block];
        let sync = Sync { patient: PatientId::new("ada"), received_ms: NOON_MS, id: None, device: None, blocks };
        stores.health.store_sync(sync).await.expect("stored");
        let held = claim(&stores, NOON_MS + number).await.remove(0);
        let dirty =
            stores.health.dirty_of(&PatientId::new("ada"), NOON_MS).await.expect("an answer").expect("a patient");
        assert_eq!((&dirty.ready, &dirty.later, dirty.through), (&vec![], &vec![], number));
        let commit = DerivationCommit { dirty: Some(dirty), now_ms: NOON_MS, ..nothing(&held) };
        stores.health.commit_derivations(vec![commit]).await.expect("committed");
        assert_eq!(claim(&stores, NOON_MS + number).await, []);
        let dirty =
            stores.health.dirty_of(&PatientId::new("ada"), NOON_MS).await.expect("an answer").expect("a patient");
        assert_eq!(dirty.from, number, "events up to it need not be kept");
    }
}

/// Timeline: a derivation reads the marks, another transaction marks a range, the derivation commits while that one ends.
#[tokio::test(flavor = "multi_thread")]
async fn range_that_is_marked_while_a_derivation_commits_stays_ready() {
    const MARK: &str = "INSERT INTO due (patient, arrival, data_type, first_us, last_us, ready_ms)
        VALUES ('ada', 0, 1, 3, 4, 600)";
    let Some(stores) = Stores::postgres().await else { return };
    let health = &stores.health;
    enrol(&stores, "ada").await;
    // Ready since before the new mark is.
    health.mark_due(&PatientId::new("ada"), due(1, 500)).await.expect("marked");
    let first = claim(&stores, 500).await.remove(0);
    health
        .commit_derivations(vec![DerivationCommit {
            due: vec![due(9, 550)],
            done: vec![due(1, 500)],
            ..nothing(&first)
        }])
        .await
        .expect("committed");
    let held = claim(&stores, 550).await.remove(0);
    let dirty = health.dirty_of(&PatientId::new("ada"), 100).await.expect("an answer");
    health.db.write(async |tx| tx.execute("DELETE FROM due", &[]).await).await.expect("no mark is left");
    let (marked, is_marked) = tokio::sync::oneshot::channel();
    let mut marked = Some(marked);
    let marking = health.db.write(async move |tx| {
        crate::health::due::lower_ready(tx, &PatientId::new("ada"), 600).await?;
        tx.execute(MARK, &[]).await?;
        if let Some(marked) = marked.take() {
            let _ = marked.send(());
        }
        until_another_waits(tx).await
    });
    let deriving = async {
        is_marked.await.expect("the row is held");
        health.commit_derivations(vec![DerivationCommit { dirty, now_ms: 550, ..nothing(&held) }]).await
    };
    let (marking, outcome) = futures::join!(marking, deriving);
    marking.expect("committed");
    assert_eq!(outcome.expect("an answer"), [CommitOutcome::Committed]);
    assert_eq!(claim(&stores, 600).await.len(), 1, "the new mark is ready");
}

async fn latest_values_that_changed_meanwhile_are_kept_where_they_are_newer(stores: Stores) {
    enrol(&stores, "ada").await;
    let change = |seen, computed| Some(LatestChange { seen, computed });
    let first = claim_of(&stores, "ada").await;
    let newer = heart_rate(60.0, 7);
    let commit = DerivationCommit { latest: change(Measured::default(), newer), ..nothing(&first) };
    stores.health.commit_derivations(vec![commit]).await.expect("committed");
    let stale = claim_of(&stores, "ada").await;
    let row = section(LocalDay(9), Section::Spo2, Some("{}"));
    let commit = DerivationCommit {
        latest: change(Measured::default(), heart_rate(58.0, 5)),
        rows: vec![row.clone()],
        ..nothing(&stale)
    };
    assert_eq!(stores.health.commit_derivations(vec![commit]).await.expect("an answer"), [CommitOutcome::Committed]);
    assert_eq!(stores.health.stored_latest(&PatientId::new("ada")).await.expect("an answer"), newer);
    let of_day = keys_of_days(LocalDay(9), LocalDay(9));
    let found = stores.health.derived(&PatientId::new("ada"), Output::Section, of_day).await.expect("an answer");
    assert_eq!(found, [row]);
    // What it read is what is there, so that an older value may be current again.
    let third = claim_of(&stores, "ada").await;
    let commit = DerivationCommit { latest: change(newer, heart_rate(58.0, 5)), ..nothing(&third) };
    stores.health.commit_derivations(vec![commit]).await.expect("committed");
    assert_eq!(stores.health.stored_latest(&PatientId::new("ada")).await.expect("an answer"), heart_rate(58.0, 5));
}

async fn cells_and_summaries_are_found_by_day_and_by_patient(stores: Stores) {
    let names: Vec<PatientId> = (0..70).map(|at| PatientId::new(format!("patient-{at:02}"))).collect();
    for name in &names {
        enrol(&stores, name.as_str()).await;
        stores.health.mark_due(name, due(1, 0)).await.expect("marked");
    }
    let claims = stores.health.claim_due(&NodeId::new("node"), 1, LEASE_MS, 100).await.expect("an answer");
    let put_cells = |day: i32, data_type| slots(LocalDay(day), data_type, Some(vec![day as u8; 9]));
    let put_body = |day: i32, of, text| section(LocalDay(day), of, Some(text));
    let figure = |day: i32| DerivedRow { output: Output::Extra, ..put_body(day, Section::Spo2, "1") };
    let rows = vec![
        put_cells(1, DataType::Activity),
        put_cells(2, DataType::Activity),
        put_cells(4, DataType::Activity),
        put_cells(2, DataType::Tests),
        put_body(2, Section::Activity, "a"),
        put_body(2, Section::Spo2, "s"),
        put_body(4, Section::Activity, "b"),
        figure(2),
    ];
    let commits = claims.iter().map(|claim| DerivationCommit { rows: rows.clone(), ..nothing(claim) });
    stores.health.commit_derivations(commits.collect()).await.expect("committed");

    let health = &stores.health;
    let first = &names[0];
    let days = |from: i32, to: i32| keys_of_days(LocalDay(from), LocalDay(to));
    assert_eq!(
        health.derived(first, Output::Slots, days(2, 4)).await.expect("an answer"),
        [&rows[1], &rows[3], &rows[2]].map(Clone::clone)
    );
    let of_types = |types| health.slots_of_types(first, LocalDay(2), LocalDay(4), types);
    let of_one = of_types([DataType::Activity; 2]).await.expect("an answer");
    assert_eq!(of_one, [&rows[1], &rows[2]].map(Clone::clone));
    assert_eq!(of_types(VITAL).await.expect("an answer").len(), 3);
    let before = health.slots_before(first, Look { day: LocalDay(4), days: 6 }, VITAL).await.expect("an answer");
    assert_eq!(before, [&rows[3], &rows[1], &rows[0]].map(Clone::clone));
    let after = health.slots_after(first, Look { day: LocalDay(2), days: 6 }, VITAL).await.expect("an answer");
    assert_eq!(after, [rows[2].clone()]);
    let one_day = health.slots_before(first, Look { day: LocalDay(4), days: 1 }, VITAL).await.expect("an answer");
    assert_eq!(one_day, [&rows[3], &rows[1]].map(Clone::clone), "a day is never cut");
    let last = health.derived_before(first, Output::Section, day_and(LocalDay(4), 0)).await.expect("an answer");
    assert_eq!(last, Some(rows[5].clone()));
    let of_a_day = (day_and(LocalDay(2), 0), day_and(LocalDay(2), 63));
    assert_eq!(health.derived(first, Output::Section, of_a_day).await.expect("an answer"), rows[4..6]);
    assert_eq!(health.all_derived(first).await.expect("an answer").len(), rows.len());
    let found = health.slots_of_patients(names.clone(), LocalDay(2), VITAL).await.expect("an answer");
    assert_eq!(found.len(), 70);
    assert!(found.values().all(|found| *found == [&rows[1], &rows[3]].map(Clone::clone)));
    let of_patients = |outputs| health.derived_of_patients(names.clone(), LocalDay(2), outputs);
    let found = of_patients([Output::Section; 2]).await.expect("an answer");
    assert_eq!(found.len(), 70);
    assert!(found.values().all(|found| *found == rows[4..6]));
    let found = of_patients([Output::Section, Output::Extra]).await.expect("an answer");
    assert_eq!(found.len(), 70);
    assert!(found.values().all(|found| *found == [&rows[4], &rows[5], &rows[7]].map(Clone::clone)));

    health.mark_due(first, due(1, 0)).await.expect("marked");
    // All of them wait equally long, so that nobody is the first of them.
    let again = health.claim_patient(first, None, 2, LEASE_MS).await.expect("an answer").expect("a claim");
    let removal = DerivationCommit {
        rows: vec![slots(LocalDay(2), DataType::Tests, None), section(LocalDay(2), Section::Spo2, None)],
        ..nothing(&again)
    };
    health.commit_derivations(vec![removal]).await.expect("committed");
    assert_eq!(health.derived(first, Output::Slots, days(2, 2)).await.expect("an answer").len(), 1);
    assert_eq!(health.derived(first, Output::Section, days(1, 9)).await.expect("an answer").len(), 2);
}

async fn patients_of_other_versions_are_found_until_they_are_marked(stores: Stores) {
    for name in ["ada", "grace", "joan"] {
        enrol(&stores, name).await;
    }
    let health = &stores.health;
    assert_eq!(health.patients_of_other_versions(&versions(), None, 9).await.expect("an answer"), []);
    let of_older = |name: &str| (PatientId::new(name), versions());
    let found = health.patients_of_other_versions("news=2", Some(&PatientId::new("ada")), 1).await.expect("an answer");
    assert_eq!(found, [of_older("grace")]);
    health.derive_again(&PatientId::new("grace"), "news=2", vec![due(1, 0)]).await.expect("marked");
    let found = health.patients_of_other_versions("news=2", None, 9).await.expect("an answer");
    assert_eq!(found, [of_older("ada"), of_older("joan")]);
    assert_eq!(claim(&stores, 1).await.len(), 1, "the patient is ready");
}

async fn entries_are_found_by_time(stores: Stores) {
    enrol(&stores, "ada").await;
    stores.health.mark_due(&PatientId::new("ada"), due(1, 0)).await.expect("marked");
    let entry = |time_ms| NewsEntry::at(time_ms, &heart_rate(60.0, time_ms), &SettingsAt::default(), None);
    let put = |time_ms| news(time_ms, Some(entry(time_ms)));
    let remove = |time_ms| news(time_ms, None);
    let first = claim(&stores, 1).await.remove(0);
    let commit = DerivationCommit { rows: vec![put(10), put(20), put(30)], ..nothing(&first) };
    stores.health.commit_derivations(vec![commit]).await.expect("committed");
    let second = claim(&stores, 1).await.remove(0);
    let commit = DerivationCommit { rows: vec![remove(20), put(25), remove(30)], ..nothing(&second) };
    stores.health.commit_derivations(vec![commit]).await.expect("committed");
    let health = &stores.health;
    assert_eq!(health.newest_news(&PatientId::new("ada")).await.expect("an answer"), Some(entry(25)));
    assert_eq!(health.news_before(&PatientId::new("ada"), 25).await.expect("an answer"), Some(entry(10)));
    assert_eq!(health.news_before(&PatientId::new("ada"), 10).await.expect("an answer"), None);
    assert_eq!(health.news_between(&PatientId::new("ada"), 10, 25).await.expect("an answer"), [entry(10), entry(25)]);
}

async fn settings_are_kept_with_their_time(stores: Stores) {
    let setting = |valid_from_ms, body: &str| Setting { name: "news".to_owned(), valid_from_ms, body: body.to_owned() };
    for setting in [setting(20, "b"), setting(10, "a"), setting(20, "c")] {
        stores.health.put_patient_setting(&PatientId::new("ada"), setting).await.expect("stored");
    }
    let found = stores.health.patient_settings(&PatientId::new("ada")).await.expect("an answer");
    assert_eq!(found, [setting(10, "a"), setting(20, "c")]);
}
