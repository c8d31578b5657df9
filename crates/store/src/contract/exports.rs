//! Exports as work items: turns, leases, one archive.

use super::{Stores, audit, deliver_entries_of, export_entry, on_both_engines};
use crate::events::{EventType, MessageKey};
use crate::ids::{ExportId, NodeId, PatientId};
use crate::names::JobKind;
use crate::{AccountId, ExportQueue, ExportState, ExportTurn, HealthChange, JobLease, NewExport, Profile};

const PATIENT: &str = "11111111-1111-4111-8111-111111111111";
const MINUTE_MS: i64 = 60_000;

on_both_engines! {
    a_patient_has_a_turn_every_so_often
    turns_of_many_at_once_are_given_once
    export_whose_lease_passed_on_is_finished_by_the_last_holder_alone
    nobody_works_on_a_job_whose_entry_is_undelivered
    export_of_a_job_without_a_patient_still_says_that_it_has_ended
    finished_exports_are_forgotten_and_their_archives_die
    exports_in_progress_are_counted_with_the_age_of_the_oldest
    exports_of_an_account_are_listed_newest_first
}

async fn with_patient(stores: &Stores) {
    let change = HealthChange::PutPatient {
        uuid: PatientId::new(PATIENT),
        record_id: crate::ids::RecordId::new("1".repeat(24)),
        customer_code: None,
        profile: Profile::default(),
        at_ms: 0,
    };
    stores.health.apply(change).await.expect("a patient");
}

fn new_export(number: i64, now_ms: i64) -> NewExport {
    NewExport {
        id: ExportId::new(format!("{number:024x}")),
        patient: PatientId::new(PATIENT),
        actor: AccountId::new("an account"),
        request: "{}".to_owned(),
        entry: export_entry(&number.to_string()),
        now_ms,
        interval_ms: 5 * MINUTE_MS,
    }
}

async fn begin(stores: &Stores, number: i64, now_ms: i64) -> ExportTurn {
    stores.health.begin_export(new_export(number, now_ms)).await.expect("an answer")
}

/// A job that is ready to be worked on.
async fn ready(stores: &Stores, number: i64, now_ms: i64) {
    with_patient(stores).await;
    assert_eq!(begin(stores, number, now_ms).await, ExportTurn::Begun);
    assert_eq!(deliver_entries_of(stores, PATIENT).await, 1);
}

/// Returns the lease of the export that may be claimed.
async fn claimed(stores: &Stores, now_ms: i64) -> Option<JobLease> {
    let leases = stores
        .health
        .claim_jobs(JobKind::new("export"), &NodeId::new("node"), now_ms, now_ms + MINUTE_MS, 9)
        .await
        .expect("an answer");
    assert!(leases.len() < 2, "{leases:?}");
    leases.into_iter().next()
}

async fn a_patient_has_a_turn_every_so_often(stores: Stores) {
    assert_eq!(begin(&stores, 0, 1_000).await, ExportTurn::UnknownPatient);
    with_patient(&stores).await;
    assert_eq!(begin(&stores, 1, 1_000).await, ExportTurn::Begun);
    let wait_ms = 4 * MINUTE_MS;
    assert_eq!(begin(&stores, 2, 1_000 + MINUTE_MS).await, ExportTurn::TooSoon { wait_ms, interval_ms: 5 * MINUTE_MS });
    assert!(stores.health.export(&ExportId::new(format!("{:024x}", 2))).await.expect("an answer").is_none());
    assert_eq!(begin(&stores, 3, 1_000 + 5 * MINUTE_MS).await, ExportTurn::Begun);

    stores.health.set_export_interval(None, 60).await.expect("set");
    assert_eq!(begin(&stores, 4, 1_000 + 6 * MINUTE_MS).await, ExportTurn::Begun);
    stores.health.set_export_interval(Some(&PatientId::new(PATIENT)), 3600).await.expect("set");
    let wait_ms = 59 * MINUTE_MS;
    let too_soon = ExportTurn::TooSoon { wait_ms, interval_ms: 60 * MINUTE_MS };
    assert_eq!(begin(&stores, 5, 1_000 + 7 * MINUTE_MS).await, too_soon);
    stores.health.set_export_interval(Some(&PatientId::new(PATIENT)), 0).await.expect("set");
    assert_eq!(begin(&stores, 6, 1_000 + 7 * MINUTE_MS).await, ExportTurn::Begun);
    assert_eq!(begin(&stores, 7, 1_000 + 7 * MINUTE_MS).await, ExportTurn::Begun);
}

async fn turns_of_many_at_once_are_given_once(stores: Stores) {
    with_patient(&stores).await;
    let asked = (1..=8).map(|number| {
        let health = stores.health.clone();
        runtime::spawn("race", async move { health.begin_export(new_export(number, 1_000)).await.expect("an answer") })
    });
    let mut begun = 0;
    for turn in futures::future::join_all(asked).await {
        begun += usize::from(turn.expect("no panic") == ExportTurn::Begun);
    }
    assert_eq!(begun, 1);
}

async fn export_whose_lease_passed_on_is_finished_by_the_last_holder_alone(stores: Stores) {
    ready(&stores, 1, 1_000).await;
    let health = &stores.health;
    let first = claimed(&stores, 2_000).await.expect("a job");
    assert!(health.try_export(&first, 2_000).await.expect("an answer").is_some());
    assert!(health.place_export(&first, "exports/a.zip").await.expect("an answer"));

    let second = claimed(&stores, 2_000 + MINUTE_MS).await.expect("a job");
    assert!(health.try_export(&second, 70_000).await.expect("an answer").is_some());
    assert_eq!(health.dead_objects(i64::MAX, 9).await.expect("a list"), ["exports/a.zip"]);
    assert!(health.try_export(&first, 70_000).await.expect("an answer").is_none());
    assert!(!health.place_export(&first, "exports/late.zip").await.expect("an answer"));
    assert!(!health.finish_export(&first, 7, 101_000).await.expect("an answer"));
    assert!(!health.give_export_up(&first, "too late", 101_000).await.expect("an answer"));
    assert!(health.place_export(&second, "exports/b.zip").await.expect("an answer"));
    assert!(health.finish_export(&second, 9, 102_000).await.expect("an answer"));
    assert!(!health.finish_export(&second, 9, 103_000).await.expect("an answer"));
    let job = health.export(&second.subject.to_export()).await.expect("an answer").expect("a job");
    assert_eq!(job.state, ExportState::Done { path: "exports/b.zip".to_owned(), bytes: 9 });
    assert!(claimed(&stores, i64::MAX / 2).await.is_none());
    health.entries_taken(&MessageKey { patient: PatientId::new(PATIENT), sequence: 1 }).await.expect("noted");
    assert!(claimed(&stores, i64::MAX / 2).await.is_none(), "a note that comes twice makes no second job");
}

async fn nobody_works_on_a_job_whose_entry_is_undelivered(stores: Stores) {
    with_patient(&stores).await;
    assert_eq!(begin(&stores, 1, 1_000).await, ExportTurn::Begun);
    let health = &stores.health;
    assert!(claimed(&stores, 9_000).await.is_none());
    let log = health.events();
    assert!(log.undelivered(999, None).await.expect("a list").is_empty());
    let key = MessageKey { patient: PatientId::new(PATIENT), sequence: 1 };
    assert_eq!(log.undelivered(1_000, None).await.expect("a list"), std::slice::from_ref(&key));
    assert!(log.after(&PatientId::new(PATIENT), 0, 9).await.expect("a list").is_empty(), "it is no reader's business");

    // Two nodes deliver it at once.
    let entries = || audit(vec![export_entry("1")], 1_500);
    let (one, other) = futures::join!(stores.users.take_entries(entries()), stores.users.take_entries(entries()));
    assert!(one.is_ok() && other.is_ok());
    assert_eq!(stores.users.verify_audit().await.expect("a chain"), (1, None));
    for _ in 0..2 {
        health.entries_taken(&key).await.expect("noted");
    }
    assert!(log.undelivered(1_000, None).await.expect("a list").is_empty());
    assert!(claimed(&stores, 9_000).await.is_some());
}

async fn export_of_a_job_without_a_patient_still_says_that_it_has_ended(stores: Stores) {
    let health = &stores.health;
    let patient = PatientId::new(PATIENT);
    for (number, is_done) in [(1, true), (2, false)] {
        ready(&stores, number, number * 10 * MINUTE_MS).await;
        let lease = claimed(&stores, number * 10 * MINUTE_MS).await.expect("a job");
        let lease = JobLease { patient: None, ..lease };
        let before = health.events().after(&patient, 0, 99).await.expect("a list").len();
        let ended = if is_done {
            health.finish_export(&lease, 7, 3_000).await
        } else {
            health.give_export_up(&lease, "too bad", 3_000).await
        };
        assert!(ended.expect("an answer"));
        let reported = health.events().after(&patient, 0, 99).await.expect("a list");
        assert_eq!(reported.len(), before + 1, "{number}");
        assert_eq!(reported[before].event_type, EventType::ExportFinished);
    }
}

async fn finished_exports_are_forgotten_and_their_archives_die(stores: Stores) {
    ready(&stores, 1, 1_000).await;
    let health = &stores.health;
    let lease = claimed(&stores, 2_000).await.expect("a job");
    assert!(health.place_export(&lease, "exports/a.zip").await.expect("an answer"));
    health.forget_export(&lease.subject.to_export(), 2_500).await.expect("not done");
    assert!(health.give_export_up(&lease, "too bad", 3_000).await.expect("an answer"));
    let job = health.export(&lease.subject.to_export()).await.expect("an answer").expect("a job");
    assert_eq!(job.state, ExportState::Failed { error: "too bad".to_owned() });
    assert_eq!(health.dead_objects(i64::MAX, 9).await.expect("a list"), ["exports/a.zip"]);
    assert_eq!(health.exports_finished_before(3_000, 9).await.expect("a list"), []);
    let finished = [(lease.subject.to_export(), PatientId::new(PATIENT))];
    assert_eq!(health.exports_finished_before(3_001, 9).await.expect("a list"), finished);
    health.forget_export(&lease.subject.to_export(), 4_000).await.expect("forgotten");
    health.forget_export(&lease.subject.to_export(), 4_000).await.expect("forgotten before");
    assert!(health.export(&lease.subject.to_export()).await.expect("an answer").is_none());
}

async fn exports_in_progress_are_counted_with_the_age_of_the_oldest(stores: Stores) {
    let health = &stores.health;
    assert_eq!(health.export_queue().await.expect("an answer"), ExportQueue::default());
    ready(&stores, 1, 1_000).await;
    assert_eq!(begin(&stores, 2, 1_000 + 5 * MINUTE_MS).await, ExportTurn::Begun);
    let both = ExportQueue { exports: 2, oldest_ms: Some(1_000) };
    assert_eq!(health.export_queue().await.expect("an answer"), both, "also one whose entry is undelivered");
    let lease = claimed(&stores, 2_000).await.expect("a job");
    assert!(health.finish_export(&lease, 7, 3_000).await.expect("an answer"));
    let second = ExportQueue { exports: 1, oldest_ms: Some(1_000 + 5 * MINUTE_MS) };
    assert_eq!(health.export_queue().await.expect("an answer"), second);
}

async fn exports_of_an_account_are_listed_newest_first(stores: Stores) {
    with_patient(&stores).await;
    for (number, now_ms) in [(1, 1_000), (2, 1_000_000), (3, 2_000_000)] {
        assert_eq!(begin(&stores, number, now_ms).await, ExportTurn::Begun);
    }
    let of = async |actor: &str, patient: Option<&str>| {
        let (actor, patient) = (AccountId::new(actor), patient.map(PatientId::new));
        let jobs = stores.health.exports_of(&actor, patient.as_ref()).await.expect("a list");
        jobs.into_iter().map(|job| job.created_ms).collect::<Vec<_>>()
    };
    assert_eq!(of("an account", None).await, [2_000_000, 1_000_000, 1_000]);
    assert_eq!(of("an account", Some(PATIENT)).await.len(), 3);
    assert!(of("an account", Some("somebody")).await.is_empty());
    assert!(of("another account", None).await.is_empty());
}
