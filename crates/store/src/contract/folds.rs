//! Claims, and what a fold commits.

use vitals::block::{Block, Cells};
use vitals::latest::{LatestValues, Timed};
use vitals::news_timeline::{NewsEntry, SettingsAt};
use vitals::registry::{Channel, DataType};
use vitals::summary::Section;
use vitals::zone::{LocalDay, ZoneRuns};

use super::{Stores, on_both_engines, until_another_waits};
use crate::{
    Claim, DueRange, FoldCommit, FoldOutcome, HealthChange, LatestChange, NewsRow, OlderDays, Profile, SettingRow,
    SlotRow, SummaryRow, Sync,
};

on_both_engines! {
    a_patient_is_folded_by_one_at_a_time
    the_longest_waiting_are_claimed_first
    a_fold_is_committed_whole_or_not_at_all
    latest_values_that_changed_meanwhile_are_kept_where_they_are_newer
    cells_and_summaries_are_found_by_day_and_by_patient
    lease_that_has_ended_is_not_prolonged
    sync_of_which_nothing_is_derived_is_passed_over_by_a_derivation
    entries_are_found_by_time
    settings_are_kept_with_their_time
}

const LEASE_MS: i64 = 60_000;
const VITAL: [DataType; 2] = [DataType::Activity, DataType::Tests];

pub(super) async fn enrol(stores: &Stores, uuid: &str) {
    let change = HealthChange::PutPatient {
        uuid: uuid.to_owned(),
        record_id: format!("id-{uuid}"),
        customer_code: None,
        profile: Profile::default(),
        at_ms: 1,
    };
    stores.health.apply(change).await.expect("made");
}

pub(super) fn due(first_us: i64, ready_ms: i64) -> DueRange {
    DueRange { arrival: 1, data_type: DataType::Activity.number(), first_us, last_us: first_us + 5, ready_ms }
}

pub(super) fn nothing(claim: &Claim) -> FoldCommit {
    FoldCommit::nothing(claim.clone())
}

/// Claims a patient, due or not, at a time beyond every lease before.
pub(super) async fn claim_of(stores: &Stores, patient: &str) -> Claim {
    let claimed = stores.health.claim_patient(patient, i64::MAX / 2, LEASE_MS).await;
    claimed.expect("an answer").expect("a claim")
}

async fn claim(stores: &Stores, now_ms: i64) -> Vec<Claim> {
    stores.health.claim_due("node", now_ms, LEASE_MS, 10).await.expect("an answer")
}

async fn a_patient_is_folded_by_one_at_a_time(stores: Stores) {
    enrol(&stores, "ada").await;
    stores.health.mark_due("ada", due(1, 500)).await.expect("marked");
    assert_eq!(claim(&stores, 499).await, []);
    let first = claim(&stores, 500).await.remove(0);
    assert_eq!(claim(&stores, 501).await, []);
    let second = claim(&stores, 500 + LEASE_MS).await.remove(0);
    assert!(second.token > first.token);

    let late = FoldCommit { done: vec![due(1, 500)], ..nothing(&first) };
    assert_eq!(stores.health.commit_folds(vec![late]).await.expect("an answer"), [FoldOutcome::LeaseLost]);
    assert_eq!(stores.health.due_of("ada", 500).await.expect("an answer"), [due(1, 500)]);

    stores.health.hold_claim(second.clone(), 700_000).await.expect("put off");
    assert_eq!(claim(&stores, 699_999).await, []);
    let third = claim(&stores, 700_000).await.remove(0);
    let done = FoldCommit { done: vec![due(1, 500)], due: vec![due(9, 800_000)], ..nothing(&third) };
    assert_eq!(stores.health.commit_folds(vec![done]).await.expect("an answer"), [FoldOutcome::Committed]);
    assert_eq!(claim(&stores, 700_001).await, []);
    assert_eq!(claim(&stores, 800_000).await.len(), 1);
}

async fn the_longest_waiting_are_claimed_first(stores: Stores) {
    for at in 0..5_i64 {
        let uuid = format!("patient-{at}");
        enrol(&stores, &uuid).await;
        for mark in 0..3 {
            stores.health.mark_due(&uuid, due(mark, 100 - at)).await.expect("marked");
        }
    }
    // A mark of somebody who is not enrolled is nobody's.
    stores.health.mark_due("nobody", due(1, 1)).await.expect("marked");
    let claims = stores.health.claim_due("node", 1_000, LEASE_MS, 2).await.expect("an answer");
    let names: Vec<&str> = claims.iter().map(|claim| claim.patient.as_str()).collect();
    assert_eq!(names, ["patient-3", "patient-4"]);
    assert_eq!(claim(&stores, 1_000).await.len(), 3);
}

fn heart_rate(value: f64, timestamp_ms: i64) -> LatestValues {
    LatestValues { heart_rate: Some(Timed { value, timestamp_ms }), ..LatestValues::default() }
}

async fn a_fold_is_committed_whole_or_not_at_all(stores: Stores) {
    for name in ["ada", "grace"] {
        enrol(&stores, name).await;
        stores.health.mark_due(name, due(1, 0)).await.expect("marked");
    }
    let claims = claim(&stores, 1).await;
    let day = LocalDay(20_000);
    let entry = NewsEntry::at(7, &heart_rate(60.0, 7), &SettingsAt::default(), None);
    let whole = |claim: &Claim| FoldCommit {
        slots: vec![SlotRow { day, data_type: DataType::Activity, cells: vec![1, 2, 3] }],
        summaries: vec![SummaryRow { day, section: Section::Spo2, body: Some("{}".to_owned()) }],
        latest: Some(LatestChange { seen: LatestValues::default(), computed: heart_rate(60.0, 7) }),
        news: vec![NewsRow { time_ms: entry.time_ms, entry: Some(entry) }],
        done: vec![due(1, 0)],
        ..nothing(claim)
    };
    let lost = Claim { token: claims[1].token - 1, ..claims[1].clone() };
    let outcomes = stores.health.commit_folds(vec![whole(&claims[0]), whole(&lost)]).await.expect("an answer");
    assert_eq!(outcomes, [FoldOutcome::Committed, FoldOutcome::LeaseLost]);

    let names = vec!["ada".to_owned(), "grace".to_owned()];
    let latest = stores.health.latest_of_patients(names.clone()).await.expect("an answer");
    assert_eq!(latest.len(), 1);
    assert_eq!(latest["ada"], heart_rate(60.0, 7));
    assert_eq!(stores.health.stored_latest("grace").await.expect("an answer"), LatestValues::default());
    assert_eq!(stores.health.newest_news("ada").await.expect("an answer"), Some(entry));
    assert_eq!(stores.health.newest_news("grace").await.expect("an answer"), None);
    assert_eq!(stores.health.slots_of_patients(names, day, VITAL).await.expect("an answer").len(), 1);
    assert_eq!(stores.health.due_of("ada", 9).await.expect("an answer"), []);
    assert_eq!(stores.health.due_of("grace", 9).await.expect("an answer").len(), 1);
}

async fn lease_that_has_ended_is_not_prolonged(stores: Stores) {
    enrol(&stores, "ada").await;
    let health = &stores.health;
    health.mark_due("ada", due(1, 500)).await.expect("marked");
    let held = claim(&stores, 500).await.remove(0);
    health.prolong_claim(held.clone(), 90_000).await.expect("prolonged");
    assert_eq!(claim(&stores, 80_000).await, [], "it is held");
    health.commit_folds(vec![nothing(&held)]).await.expect("committed");
    health.prolong_claim(held, 200_000).await.expect("an answer");
    assert_eq!(claim(&stores, 80_000).await.len(), 1, "nobody holds it");
}

async fn sync_of_which_nothing_is_derived_is_passed_over_by_a_derivation(stores: Stores) {
    const NOON_MS: i64 = 1_763_640_000_000;
    enrol(&stores, "ada").await;
    let mut block = Block::empty(DataType::Bioz, Channel::default());
    block.times_us = vec![NOON_MS * 1000];
    for column in &mut block.columns {
        *column = Cells::Values(vec![7]).simplified();
    }
    block.zones = ZoneRuns::constant("UTC".into(), 1);
    let sync = Sync { patient: "ada".to_owned(), received_ms: NOON_MS, id: None, device: None, blocks: vec![block] };
    stores.health.store_sync(sync).await.expect("stored");
    let held = claim(&stores, NOON_MS).await.remove(0);
    let dirty = stores.health.dirty_of("ada", NOON_MS).await.expect("an answer").expect("a patient");
    assert_eq!((&dirty.ready, &dirty.later, dirty.through), (&vec![], &vec![], 1));
    let commit = FoldCommit { dirty: Some(dirty), now_ms: NOON_MS, ..nothing(&held) };
    stores.health.commit_folds(vec![commit]).await.expect("committed");
    assert_eq!(claim(&stores, NOON_MS + 1).await, []);
    let dirty = stores.health.dirty_of("ada", NOON_MS).await.expect("an answer").expect("a patient");
    assert_eq!(dirty.from, 1, "events up to it need not be kept");
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
    health.mark_due("ada", due(1, 500)).await.expect("marked");
    let first = claim(&stores, 500).await.remove(0);
    health
        .commit_folds(vec![FoldCommit { due: vec![due(9, 550)], done: vec![due(1, 500)], ..nothing(&first) }])
        .await
        .expect("committed");
    let held = claim(&stores, 550).await.remove(0);
    let dirty = health.dirty_of("ada", 100).await.expect("an answer");
    health.db.write(async |tx| tx.execute("DELETE FROM due", &[]).await).await.expect("no mark is left");
    let (marked, is_marked) = tokio::sync::oneshot::channel();
    let mut marked = Some(marked);
    let marking = health.db.write(async move |tx| {
        crate::health::due::lower_ready(tx, "ada", 600).await?;
        tx.execute(MARK, &[]).await?;
        if let Some(marked) = marked.take() {
            let _ = marked.send(());
        }
        until_another_waits(tx).await
    });
    let deriving = async {
        is_marked.await.expect("the row is held");
        health.commit_folds(vec![FoldCommit { dirty, now_ms: 550, ..nothing(&held) }]).await
    };
    let (marking, outcome) = futures::join!(marking, deriving);
    marking.expect("committed");
    assert_eq!(outcome.expect("an answer"), [FoldOutcome::Committed]);
    assert_eq!(claim(&stores, 600).await.len(), 1, "the new mark is ready");
}

async fn latest_values_that_changed_meanwhile_are_kept_where_they_are_newer(stores: Stores) {
    enrol(&stores, "ada").await;
    let change = |seen, computed| Some(LatestChange { seen, computed });
    let first = claim_of(&stores, "ada").await;
    let newer = heart_rate(60.0, 7);
    let commit = FoldCommit { latest: change(LatestValues::default(), newer), ..nothing(&first) };
    stores.health.commit_folds(vec![commit]).await.expect("committed");
    let stale = claim_of(&stores, "ada").await;
    let row = SummaryRow { day: LocalDay(9), section: Section::Spo2, body: Some("{}".to_owned()) };
    let commit = FoldCommit {
        latest: change(LatestValues::default(), heart_rate(58.0, 5)),
        summaries: vec![row.clone()],
        ..nothing(&stale)
    };
    assert_eq!(stores.health.commit_folds(vec![commit]).await.expect("an answer"), [FoldOutcome::Committed]);
    assert_eq!(stores.health.stored_latest("ada").await.expect("an answer"), newer);
    assert_eq!(stores.health.summaries("ada", LocalDay(9), LocalDay(9)).await.expect("an answer"), [row]);
    // What it read is what is there, so that an older value may stand again.
    let third = claim_of(&stores, "ada").await;
    let commit = FoldCommit { latest: change(newer, heart_rate(58.0, 5)), ..nothing(&third) };
    stores.health.commit_folds(vec![commit]).await.expect("committed");
    assert_eq!(stores.health.stored_latest("ada").await.expect("an answer"), heart_rate(58.0, 5));
}

async fn cells_and_summaries_are_found_by_day_and_by_patient(stores: Stores) {
    let names: Vec<String> = (0..70).map(|at| format!("patient-{at:02}")).collect();
    for name in &names {
        enrol(&stores, name).await;
        stores.health.mark_due(name, due(1, 0)).await.expect("marked");
    }
    let claims = stores.health.claim_due("node", 1, LEASE_MS, 100).await.expect("an answer");
    let cells = |day: i32, data_type| SlotRow { day: LocalDay(day), data_type, cells: vec![day as u8; 9] };
    let body = |day: i32, section, text: &str| SummaryRow { day: LocalDay(day), section, body: Some(text.to_owned()) };
    let commits = claims.iter().map(|claim| FoldCommit {
        slots: [1, 2, 4]
            .map(|day| cells(day, DataType::Activity))
            .into_iter()
            .chain([cells(2, DataType::Tests)])
            .collect(),
        summaries: vec![body(2, Section::Activity, "a"), body(2, Section::Spo2, "s"), body(4, Section::Activity, "b")],
        ..nothing(claim)
    });
    stores.health.commit_folds(commits.collect()).await.expect("committed");

    let health = &stores.health;
    let first = names[0].as_str();
    assert_eq!(
        health.slots(first, LocalDay(2), LocalDay(4)).await.expect("an answer"),
        [cells(2, DataType::Activity), cells(2, DataType::Tests), cells(4, DataType::Activity)]
    );
    let before = health.slots_before(first, LocalDay(4), VITAL, 2).await.expect("an answer");
    assert_eq!(before, [cells(2, DataType::Tests), cells(2, DataType::Activity)]);
    let after = health.slots_after(first, LocalDay(2), VITAL, 5).await.expect("an answer");
    assert_eq!(after, [cells(4, DataType::Activity)]);
    let found = health.slots_of_patients(names.clone(), LocalDay(2), VITAL).await.expect("an answer");
    assert_eq!(found.len(), 70);
    assert!(found.values().all(|rows| rows.len() == 2));
    let found = health.summaries_of_patients(names.clone(), LocalDay(2)).await.expect("an answer");
    assert_eq!(found.len(), 70);
    assert_eq!(found[first], [body(2, Section::Activity, "a"), body(2, Section::Spo2, "s")]);
    let older = health.days_of_older_format(vitals::summary::FORMAT + 1, &names[67], 9).await.expect("an answer");
    let days = |name: &String| OlderDays { patient: name.clone(), first: LocalDay(2), last: LocalDay(4) };
    assert_eq!(older, [days(&names[68]), days(&names[69])]);
    assert_eq!(health.days_of_older_format(vitals::summary::FORMAT, "", 9).await.expect("an answer"), []);

    health.mark_due(first, due(1, 0)).await.expect("marked");
    // All of them wait equally long, so that nobody is the first of them.
    let again = health.claim_patient(first, 2, LEASE_MS).await.expect("an answer").expect("a claim");
    let removal = FoldCommit {
        slots: vec![SlotRow { cells: Vec::new(), ..cells(2, DataType::Tests) }],
        summaries: vec![SummaryRow { body: None, ..body(2, Section::Spo2, "") }],
        ..nothing(&again)
    };
    health.commit_folds(vec![removal]).await.expect("committed");
    assert_eq!(health.slots(first, LocalDay(2), LocalDay(2)).await.expect("an answer").len(), 1);
    assert_eq!(health.summaries(first, LocalDay(1), LocalDay(9)).await.expect("an answer").len(), 2);
}

async fn entries_are_found_by_time(stores: Stores) {
    enrol(&stores, "ada").await;
    stores.health.mark_due("ada", due(1, 0)).await.expect("marked");
    let entry = |time_ms| NewsEntry::at(time_ms, &heart_rate(60.0, time_ms), &SettingsAt::default(), None);
    let put = |time_ms| NewsRow { time_ms, entry: Some(entry(time_ms)) };
    let remove = |time_ms| NewsRow { time_ms, entry: None };
    let first = claim(&stores, 1).await.remove(0);
    let commit = FoldCommit { news: vec![put(10), put(20), put(30)], ..nothing(&first) };
    stores.health.commit_folds(vec![commit]).await.expect("committed");
    let second = claim(&stores, 1).await.remove(0);
    let commit = FoldCommit { news: vec![remove(20), put(25), remove(30)], ..nothing(&second) };
    stores.health.commit_folds(vec![commit]).await.expect("committed");
    let health = &stores.health;
    assert_eq!(health.newest_news("ada").await.expect("an answer"), Some(entry(25)));
    assert_eq!(health.news_before("ada", 25).await.expect("an answer"), Some(entry(10)));
    assert_eq!(health.news_before("ada", 10).await.expect("an answer"), None);
    assert_eq!(health.news_between("ada", 10, 25).await.expect("an answer"), [entry(10), entry(25)]);
}

async fn settings_are_kept_with_their_time(stores: Stores) {
    let setting =
        |valid_from_ms, body: &str| SettingRow { name: "news".to_owned(), valid_from_ms, body: body.to_owned() };
    for setting in [setting(20, "b"), setting(10, "a"), setting(20, "c")] {
        stores.health.put_patient_setting("ada", setting).await.expect("stored");
    }
    let found = stores.health.patient_settings("ada").await.expect("an answer");
    assert_eq!(found, [setting(10, "a"), setting(20, "c")]);
}
