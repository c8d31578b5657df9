//! Jobs: leases, tokens, failures, what is put aside.

use super::{Stores, on_both_engines};
use crate::ids::{JobSubject, NodeId, PatientId};
use crate::names::JobKind;
use crate::{
    CommitOutcome, DERIVE_KIND, DerivationCommit, DueRange, FailingJobs, Failures, HealthChange, HeldJob, JobFailure,
    JobLease, NEVER_MS, NewJob, Profile,
};

const LEASE_MS: i64 = 60_000;

on_both_engines! {
    job_is_held_by_one_node_until_its_lease_ends
    jobs_are_claimed_by_kind_and_those_that_wait_longest_first
    nodes_that_claim_at_once_share_the_jobs
    lost_lease_ends_nothing
    scheduled_job_moves_on_and_keeps_its_time
    failed_job_waits_and_success_forgets_its_failures
    job_put_aside_is_listed_and_left_alone_until_taken_up
    failures_of_a_derivation_come_with_the_next_claim_and_go_with_success
    failure_of_a_derivation_that_was_committed_is_not_noted
    failures_before_stay_where_the_lease_ended_without_a_commit
    patient_put_aside_is_due_again_when_taken_up
}

async fn enqueue(stores: &Stores, kind: &'static str, subjects: &[&str], now_ms: i64) -> u64 {
    let job = |subject: &&str| NewJob { subject: JobSubject::new(*subject), patient: None };
    stores.health.enqueue_jobs(JobKind::new(kind), subjects.iter().map(job).collect(), now_ms).await.expect("added")
}

async fn claim(stores: &Stores, node: &str, now_ms: i64, limit: usize) -> Vec<JobLease> {
    stores
        .health
        .claim_jobs(JobKind::new("seal"), &NodeId::new(node), now_ms, now_ms + LEASE_MS, limit)
        .await
        .expect("an answer")
}

fn subjects(leases: &[JobLease]) -> Vec<&str> {
    let mut subjects: Vec<&str> = leases.iter().map(|lease| lease.subject.as_str()).collect();
    subjects.sort_unstable();
    subjects
}

fn failure(runs: i64, panics: i64, now_ms: i64, retry_ms: i64) -> JobFailure {
    let failures = Failures { runs, panics };
    JobFailure { failures, error: "it broke".to_owned(), failed_ms: now_ms, retry_ms, put_aside: None }
}

async fn job_is_held_by_one_node_until_its_lease_ends(stores: Stores) {
    assert_eq!(enqueue(&stores, "seal", &["x"], 100).await, 1);
    assert_eq!(enqueue(&stores, "seal", &["x"], 50).await, 0, "what is there stays as it is");
    assert!(claim(&stores, "a", 99, 9).await.is_empty());
    let first = claim(&stores, "a", 100, 9).await.remove(0);
    assert!(claim(&stores, "b", 99 + LEASE_MS, 9).await.is_empty());
    let held = stores.health.prolong_jobs(&NodeId::new("a"), 200 + LEASE_MS).await.expect("an answer");
    let seal = HeldJob { kind: "seal".to_owned(), subject: JobSubject::new("x"), token: first.token };
    assert_eq!(held, [seal]);
    assert!(claim(&stores, "b", 199 + LEASE_MS, 9).await.is_empty());
    let second = claim(&stores, "b", 200 + LEASE_MS, 9).await.remove(0);
    assert_eq!(second.token, first.token + 1);
    assert!(stores.health.prolong_jobs(&NodeId::new("a"), 900_000).await.expect("an answer").is_empty());
}

async fn jobs_are_claimed_by_kind_and_those_that_wait_longest_first(stores: Stores) {
    enqueue(&stores, "seal", &["late"], 30).await;
    enqueue(&stores, "seal", &["b", "a"], 20).await;
    enqueue(&stores, "merge", &["other"], 10).await;
    let due = stores.health.due_job_kinds(20).await.expect("a list");
    let mut due: Vec<_> = due.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    due.sort_unstable();
    assert_eq!(due, [("merge", 1), ("seal", 2)]);
    assert_eq!(subjects(&claim(&stores, "a", 40, 2).await), ["a", "b"]);
    assert_eq!(subjects(&claim(&stores, "a", 40, 2).await), ["late"]);
}

async fn nodes_that_claim_at_once_share_the_jobs(stores: Stores) {
    let all: Vec<String> = (0..100).map(|number| format!("{number:03}")).collect();
    enqueue(&stores, "seal", &all.iter().map(String::as_str).collect::<Vec<_>>(), 1).await;
    let claims = (0..8).map(|node| {
        let health = stores.health.clone();
        async move {
            health
                .claim_jobs(JobKind::new("seal"), &NodeId::new(format!("node {node}")), 2, LEASE_MS, 20)
                .await
                .expect("claimed")
        }
    });
    let claimed = futures::future::join_all(claims).await.concat();
    let mut taken = subjects(&claimed);
    let count = taken.len();
    taken.dedup();
    assert_eq!(taken.len(), count, "a job was claimed twice");
    while !claim(&stores, "last", 2, 20).await.is_empty() {}
    assert!(stores.health.due_job_kinds(2).await.expect("a list").is_empty());
}

async fn lost_lease_ends_nothing(stores: Stores) {
    enqueue(&stores, "seal", &["x"], 1).await;
    let first = claim(&stores, "a", 1, 1).await.remove(0);
    let second = claim(&stores, "b", 1 + LEASE_MS, 1).await.remove(0);
    let health = &stores.health;
    assert!(!health.finish_job(&first).await.expect("an answer"));
    assert!(!health.move_job_on(&first, 5).await.expect("an answer"));
    assert!(!health.give_job_back(&first, 5).await.expect("an answer"));
    assert!(!health.fail_job(&first, failure(1, 1, 5, 5)).await.expect("an answer"));
    assert!(claim(&stores, "c", LEASE_MS, 1).await.is_empty());
    assert!(health.give_job_back(&second, 70_000).await.expect("an answer"));
    let third = claim(&stores, "c", 70_000, 1).await.remove(0);
    assert_eq!(third.failures, Failures::default());
    assert!(health.finish_job(&third).await.expect("an answer"));
    assert_eq!(health.count_jobs(JobKind::new("seal")).await.expect("a count"), 0);
}

async fn scheduled_job_moves_on_and_keeps_its_time(stores: Stores) {
    let health = &stores.health;
    health.schedule_jobs(vec![(JobKind::new("seal"), 1_000)], 5).await.expect("scheduled");
    health.schedule_jobs(vec![(JobKind::new("seal"), 1_000)], 6).await.expect("scheduled");
    let lease = claim(&stores, "a", 6, 9).await.remove(0);
    assert_eq!(lease.subject, JobSubject::none());
    assert!(health.move_job_on(&lease, 1_006).await.expect("an answer"));
    health.schedule_jobs(vec![(JobKind::new("seal"), 1_000)], 500).await.expect("scheduled");
    assert!(claim(&stores, "a", 1_005, 9).await.is_empty(), "a restart does not bring it forward");
    health.schedule_jobs(vec![(JobKind::new("seal"), 100)], 500).await.expect("scheduled");
    assert_eq!(claim(&stores, "a", 600, 9).await.len(), 1, "a shorter period does");
}

async fn failed_job_waits_and_success_forgets_its_failures(stores: Stores) {
    let health = &stores.health;
    enqueue(&stores, "seal", &["x"], 1).await;
    let lease = claim(&stores, "a", 1, 1).await.remove(0);
    assert!(health.fail_job(&lease, failure(1, 1, 2, 500)).await.expect("noted"));
    let failing = FailingJobs { kind: "seal".to_owned(), failing: 1, put_aside: 0 };
    assert_eq!(health.failing_jobs().await.expect("a list"), [failing]);
    assert!(claim(&stores, "a", 499, 1).await.is_empty());
    let lease = claim(&stores, "a", 500, 1).await.remove(0);
    assert_eq!(lease.failures, Failures { runs: 1, panics: 1 });
    assert!(health.move_job_on(&lease, 900).await.expect("noted"));
    assert!(health.failing_jobs().await.expect("a list").is_empty());
    assert_eq!(claim(&stores, "a", 900, 1).await.remove(0).failures, Failures::default());
}

async fn job_put_aside_is_listed_and_left_alone_until_taken_up(stores: Stores) {
    let health = &stores.health;
    enqueue(&stores, "seal", &["x"], 1).await;
    let lease = claim(&stores, "a", 1, 1).await.remove(0);
    let put_aside = Some("1.0".to_owned());
    let failure = JobFailure { put_aside, ..failure(3, 3, 2, NEVER_MS) };
    assert!(health.fail_job(&lease, failure).await.expect("noted"));
    let aside = health.jobs_put_aside().await.expect("a list").remove(0);
    assert_eq!((aside.kind.as_str(), aside.subject.as_str(), aside.failures.panics), ("seal", "x", 3));
    assert_eq!((aside.error.as_str(), aside.failed_ms, aside.version.as_str()), ("it broke", 2, "1.0"));
    assert!(claim(&stores, "a", NEVER_MS - 1, 1).await.is_empty());
    assert_eq!(health.take_jobs_up(Some("1.0"), 5).await.expect("a count"), 0);
    assert_eq!(health.take_jobs_up(Some("1.1"), 5).await.expect("a count"), 1);
    assert!(health.jobs_put_aside().await.expect("a list").is_empty());
    assert_eq!(claim(&stores, "a", 5, 1).await.remove(0).failures, Failures::default());
}

const RANGE: DueRange = DueRange { arrival: 1, data_type: 2, first_us: 1, last_us: 6, ready_ms: 1 };

async fn with_due_patient(stores: &Stores) {
    let profile = Profile::default();
    let (uuid, record_id) = ("ada".to_owned(), crate::ids::RecordId::new("id"));
    let change =
        HealthChange::PutPatient { uuid: PatientId::new(uuid), record_id, customer_code: None, profile, at_ms: 1 };
    stores.health.apply(change).await.expect("made");
    stores.health.mark_due(&PatientId::new("ada"), RANGE).await.expect("marked");
}

async fn failures_of_a_derivation_come_with_the_next_claim_and_go_with_success(stores: Stores) {
    let health = &stores.health;
    with_due_patient(&stores).await;
    let first = health.claim_due(&NodeId::new("a"), 1, LEASE_MS, 9).await.expect("claimed").remove(0);
    assert!(health.fail_derivation(&first, failure(1, 1, 2, 500)).await.expect("noted"));
    assert!(health.claim_due(&NodeId::new("a"), 499, LEASE_MS, 9).await.expect("an answer").is_empty());
    let second = health.claim_due(&NodeId::new("a"), 500, LEASE_MS, 9).await.expect("claimed").remove(0);
    assert_eq!(second.failures, Failures { runs: 1, panics: 1 });
    assert!(!health.fail_derivation(&first, failure(9, 9, 2, 500)).await.expect("an answer"), "the lease is lost");
    assert!(health.due_job_kinds(NEVER_MS - 1).await.expect("a list").is_empty(), "no job of its own");
    assert_eq!(health.failing_jobs().await.expect("a list")[0].kind, DERIVE_KIND.name());
    let commit = DerivationCommit::nothing(second);
    assert_eq!(health.commit_derivations(vec![commit]).await.expect("an answer"), [CommitOutcome::Committed]);
    health.forget_derivation_failures(&PatientId::new("ada")).await.expect("forgotten");
    assert!(health.failing_jobs().await.expect("a list").is_empty());
}

async fn failure_of_a_derivation_that_was_committed_is_not_noted(stores: Stores) {
    let health = &stores.health;
    with_due_patient(&stores).await;
    let first = health.claim_due(&NodeId::new("a"), 1, LEASE_MS, 9).await.expect("claimed").remove(0);
    assert!(health.fail_derivation(&first, failure(1, 0, 2, 500)).await.expect("noted"));
    // The commit is durable and its answer is lost, so that the node takes it for failed.
    let second = health.claim_due(&NodeId::new("a"), 500, LEASE_MS, 9).await.expect("claimed").remove(0);
    let commit = DerivationCommit { done: vec![RANGE], ..DerivationCommit::nothing(second.clone()) };
    assert_eq!(health.commit_derivations(vec![commit]).await.expect("an answer"), [CommitOutcome::Committed]);
    assert!(!health.fail_derivation(&second, failure(2, 0, 600, 900)).await.expect("an answer"));
    assert!(health.failing_jobs().await.expect("a list").is_empty(), "the failure before is over as well");
}

async fn failures_before_stay_where_the_lease_ended_without_a_commit(stores: Stores) {
    let health = &stores.health;
    with_due_patient(&stores).await;
    health.enter_node(&NodeId::new("a"), "a", 1).await.expect("entered");
    let first = health.claim_due(&NodeId::new("a"), 1, LEASE_MS, 9).await.expect("claimed").remove(0);
    assert!(health.fail_derivation(&first, failure(1, 1, 2, 500)).await.expect("noted"));
    let second = health.claim_due(&NodeId::new("a"), 500, LEASE_MS, 9).await.expect("claimed").remove(0);
    // A process of the same name comes in its place.
    assert_eq!(health.enter_node(&NodeId::new("b"), "a", 600).await.expect("entered"), 1);
    assert!(!health.fail_derivation(&second, failure(2, 2, 600, 900)).await.expect("an answer"));
    let third = health.claim_due(&NodeId::new("b"), 600, LEASE_MS, 9).await.expect("claimed").remove(0);
    assert_eq!(third.failures, Failures { runs: 1, panics: 1 });
}

async fn patient_put_aside_is_due_again_when_taken_up(stores: Stores) {
    let health = &stores.health;
    with_due_patient(&stores).await;
    let claim = health.claim_due(&NodeId::new("a"), 1, LEASE_MS, 9).await.expect("claimed").remove(0);
    let put_aside = Some("1.0".to_owned());
    let failure = JobFailure { put_aside, ..failure(3, 3, 2, NEVER_MS) };
    assert!(health.fail_derivation(&claim, failure).await.expect("noted"));
    assert!(health.claim_due(&NodeId::new("a"), NEVER_MS - 1, LEASE_MS, 9).await.expect("an answer").is_empty());
    health.enter_node(&NodeId::new("a"), "a", 1).await.expect("entered");
    let next =
        async || health.look_for_work(&NodeId::new("a")).await.expect("an answer").expect("a node").derivations_ms;
    assert_eq!(next().await, None, "nobody looks for it");
    assert_eq!(health.take_jobs_up(None, 5).await.expect("a count"), 1);
    assert!(next().await.is_some());
    let claim = health.claim_due(&NodeId::new("a"), 5, LEASE_MS, 9).await.expect("claimed").remove(0);
    assert_eq!(claim.failures, Failures::default());
    assert!(health.failing_jobs().await.expect("a list").is_empty());
}
