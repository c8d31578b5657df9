//! Nodes: signs of life, and what becomes of the leases of dead ones.

use super::{Stores, on_both_engines};
use crate::ids::{JobSubject, NodeId, PatientId};
use crate::names::JobKind;
use crate::{DueRange, HealthChange, NewJob, NodeView, Profile};

const LEASE_MS: i64 = 60_000;

on_both_engines! {
    node_sees_what_is_due_and_who_else_there_is
    lowest_beat_stops_when_a_node_has_died
    leases_of_a_dead_node_end_at_once
    node_that_beats_again_is_not_removed
    earlier_process_of_the_same_name_loses_its_leases_at_the_start
    node_that_leaves_gives_back_what_it_holds
    claims_that_arrive_after_the_end_of_their_node_are_ended_too
}

async fn enter(stores: &Stores, id: &str, name: &str) -> u64 {
    stores.health.enter_node(&NodeId::new(id), name, 5).await.expect("entered")
}

async fn beat(stores: &Stores, id: &str) -> Option<NodeView> {
    stores.health.beat(&NodeId::new(id)).await.expect("an answer")
}

/// A job and a patient who is due, both held by a node.
async fn with_leases(stores: &Stores, node: &str) {
    let health = &stores.health;
    let job = NewJob { subject: JobSubject::new("x"), patient: None };
    health.enqueue_jobs(JobKind::new("seal"), vec![job], 10).await.expect("added");
    let (uuid, profile) = ("ada".to_owned(), Profile::default());
    let change = HealthChange::PutPatient {
        uuid: PatientId::new(uuid),
        record_id: crate::ids::RecordId::new("id"),
        customer_code: None,
        profile,
        at_ms: 1,
    };
    health.apply(change).await.expect("made");
    let range = DueRange { arrival: 1, data_type: 2, first_us: 1, last_us: 6, ready_ms: 10 };
    health.mark_due(&PatientId::new("ada"), range).await.expect("marked");
    assert_eq!(claim_all(stores, node, 10).await, (1, 1));
}

/// Returns how many jobs and patients can be claimed.
async fn claim_all(stores: &Stores, node: &str, now_ms: i64) -> (usize, usize) {
    let jobs = stores
        .health
        .claim_jobs(JobKind::new("seal"), &NodeId::new(node), now_ms, now_ms + LEASE_MS, 9)
        .await
        .expect("an answer");
    let patients = stores.health.claim_due(&NodeId::new(node), now_ms, LEASE_MS, 9).await.expect("an answer");
    (jobs.len(), patients.len())
}

async fn node_sees_what_is_due_and_who_else_there_is(stores: Stores) {
    assert_eq!(beat(&stores, "a").await, None);
    assert_eq!(stores.health.look_for_work(&NodeId::new("a")).await.expect("an answer"), None);
    enter(&stores, "a", "first").await;
    let view = stores.health.look_for_work(&NodeId::new("a")).await.expect("an answer").expect("a view");
    assert_eq!((view.derivations_ms, view.jobs_ms, view.nodes), (None, None, 1));
    enter(&stores, "b", "second").await;
    with_leases(&stores, "b").await;
    let view = beat(&stores, "a").await.expect("a view");
    assert_eq!((view.derivations_ms, view.jobs_ms, view.nodes), (Some(10), Some(10 + LEASE_MS), 2));
}

async fn lowest_beat_stops_when_a_node_has_died(stores: Stores) {
    enter(&stores, "a", "first").await;
    enter(&stores, "b", "second").await;
    let mut lowest = Vec::new();
    for _ in 0..3 {
        beat(&stores, "b").await.expect("a view");
        lowest.push(beat(&stores, "a").await.expect("a view").lowest_beat);
    }
    assert!(lowest.is_sorted_by(|before, after| before < after), "both live: {lowest:?}");
    beat(&stores, "a").await.expect("a view");
    let lowest = beat(&stores, "a").await.expect("a view").lowest_beat;
    assert_eq!(beat(&stores, "a").await.expect("a view").lowest_beat, lowest);
    let beats = stores.health.beats().await.expect("a list");
    assert!(beats.contains(&(NodeId::new("b"), lowest)), "{beats:?}");
}

async fn leases_of_a_dead_node_end_at_once(stores: Stores) {
    enter(&stores, "a", "first").await;
    enter(&stores, "b", "second").await;
    with_leases(&stores, "b").await;
    assert_eq!(claim_all(&stores, "a", 11).await, (0, 0));
    let beats = stores.health.beats().await.expect("a list");
    let (_, seen) = beats.into_iter().find(|(id, _)| id.as_str() == "b").expect("the node");
    assert!(stores.health.remove_dead_node(&NodeId::new("b"), seen, 11).await.expect("an answer"));
    assert_eq!(beat(&stores, "b").await, None, "it learns that it counts as dead");
    assert_eq!(claim_all(&stores, "a", 11).await, (1, 1));
}

async fn node_that_beats_again_is_not_removed(stores: Stores) {
    enter(&stores, "b", "second").await;
    with_leases(&stores, "b").await;
    let seen = stores.health.beats().await.expect("a list")[0].1;
    beat(&stores, "b").await.expect("a view");
    assert!(!stores.health.remove_dead_node(&NodeId::new("b"), seen, 11).await.expect("an answer"));
    assert_eq!(claim_all(&stores, "a", 11).await, (0, 0));
}

async fn earlier_process_of_the_same_name_loses_its_leases_at_the_start(stores: Stores) {
    enter(&stores, "a", "first").await;
    enter(&stores, "b", "second").await;
    with_leases(&stores, "b").await;
    assert_eq!(enter(&stores, "c", "third").await, 0);
    assert_eq!(claim_all(&stores, "c", 11).await, (0, 0), "another name ends nothing");
    assert_eq!(enter(&stores, "d", "second").await, 1);
    assert_eq!(claim_all(&stores, "d", 11).await, (1, 1));
    let beats = stores.health.beats().await.expect("a list");
    let mut ids: Vec<&str> = beats.iter().map(|(id, _)| id.as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["a", "c", "d"]);
}

async fn node_that_leaves_gives_back_what_it_holds(stores: Stores) {
    enter(&stores, "b", "second").await;
    with_leases(&stores, "b").await;
    stores.health.leave_node(&NodeId::new("b"), 11).await.expect("left");
    assert!(stores.health.beats().await.expect("a list").is_empty());
    assert_eq!(claim_all(&stores, "a", 11).await, (1, 1));
}

/// As when a process is killed while its claims are on their way to the server.
async fn claims_that_arrive_after_the_end_of_their_node_are_ended_too(stores: Stores) {
    enter(&stores, "a", "first").await;
    assert_eq!(enter(&stores, "b", "first").await, 1);
    with_leases(&stores, "a").await;
    assert_eq!(claim_all(&stores, "b", 11).await, (0, 0));
    let late = async || stores.health.end_late_leases(11).await.expect("an answer");
    assert_eq!((late().await, late().await), (2, 0));
    assert_eq!(claim_all(&stores, "b", 11).await, (1, 1));
    assert_eq!(late().await, 0, "of a node that lives");
    let held = async |node: &str, now_ms| stores.health.claims_of(&NodeId::new(node), now_ms).await.expect("a list");
    let held_by_b = held("b", 11).await;
    assert_eq!((held_by_b.len(), held_by_b[0].patient.as_str(), held_by_b[0].token), (1, "ada", 2));
    assert!(held("a", 11).await.is_empty() && held("b", 11 + LEASE_MS).await.is_empty());
}
