//! Tests of `turns.rs`.

use futures::future::join_all;
use serde_json::json;
use store::FailureMoment::{AfterItCommits, BeforeItBegins};
use store::{Claim, EventType, NewEvent, NodeId, PatientId};

use super::*;
use crate::test_service::{NOON_MS, Service, minutes_to_noon};

fn updated(claim: Claim) -> DerivationCommit {
    let event = NewEvent { event_type: EventType::DayUpdated, time_ms: NOON_MS, body: json!({}) };
    DerivationCommit { events: vec![event], ..DerivationCommit::nothing(claim) }
}

/// The answer to a commit of several patients is lost: where it was made, none of it is written a second time.
#[tokio::test(flavor = "multi_thread")]
async fn group_commit_without_an_answer_writes_each_event_once() {
    for moment in [BeforeItBegins, AfterItCommits] {
        let service = Service::start().await;
        let patients = ["ada", "bea", "cleo"].map(PatientId::new);
        for patient in &patients {
            service.enrol(patient).await;
            service.sync(patient, vec![minutes_to_noon(&[60])]).await;
        }
        let health = service.platform.core.health();
        let claims = health.claim_due(&NodeId::new("node"), NOON_MS, 60_000, 9).await.unwrap();
        assert_eq!(claims.len(), patients.len());
        health.plan_failure("commit.commit_derivations", moment);
        let derivations = Derivations::new();
        // All are under way before the first of them is committed, which therefore waits for the others.
        let begun: Vec<_> = claims.into_iter().map(|claim| (claim, derivations.begin())).collect();
        let commits = begun.into_iter().map(|(claim, begun)| derivations.commit(health, updated(claim), begun));
        for outcome in join_all(commits).await {
            assert_eq!(outcome.unwrap(), CommitOutcome::Committed, "{moment:?}");
        }
        assert!(health.failures_to_come().is_empty());
        for patient in &patients {
            let events = health.events().after(patient, 0, 9).await.unwrap().into_iter();
            let updated = events.filter(|event| event.event_type == EventType::DayUpdated).count();
            assert_eq!(updated, 1, "{moment:?}: {patient}");
        }
    }
}
