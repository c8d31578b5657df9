//! Nodes that die together, and one that cannot enter.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use runtime::Instant;
use store::{JobKind, JobSubject, NodeId, PatientId};

use super::drain;
use super::job::{Job, Kind, Run, Spec, Turn};
use super::tests::{DAY_MS, LONG, enqueue, start, task, until};
use crate::core::error::Result;
use crate::core::work::Ended;
use crate::test_service::{NOON_MS, Service};

/// In real time, since the database works in real time. One after the other they would take three seconds and more each.
#[tokio::test]
async fn work_of_nodes_that_died_together_passes_on_together() {
    static BEGUN: AtomicU32 = AtomicU32::new(0);
    task!(Wait, "wait", Turn::Enqueued, LONG, |_run| {
        BEGUN.fetch_add(1, Ordering::SeqCst);
        std::future::pending().await
    });
    let service = Service::start().await;
    let health = service.platform.core.health();
    for name in ["a", "b", "c", "d"] {
        enqueue(&service.platform, "wait", &[name]).await;
        health.enter_node(&NodeId::new(name), name, NOON_MS).await.unwrap();
        let kind = JobKind::new("wait");
        let held = health.claim_jobs(kind, &NodeId::new(name), NOON_MS, NOON_MS + DAY_MS, 1).await.unwrap();
        assert_eq!(held.len(), 1);
    }
    let begun = Instant::now();
    let (engine, _stop) = start(&service.platform, &[Kind::of::<Wait>()], "e");
    until(|| BEGUN.load(Ordering::SeqCst) == 4).await;
    println!("another node took over after {:?}", begun.elapsed());
    assert!(begun.elapsed() <= Duration::from_secs(8), "{:?}", begun.elapsed());
    engine.abort();
}

/// The database refuses, as where a page of the table of nodes is damaged.
#[tokio::test(start_paused = true)]
async fn node_that_cannot_enter_does_not_work_and_says_so() {
    task!(Ready, "ready", Turn::Enqueued, LONG, |_run| Ok(Ended::Done));
    let service = Service::start().await;
    let health = service.platform.core.health();
    let signals = service.platform.core.signals();
    signals.engine_expected();
    for _ in 0..3 {
        health.plan_failure("nodes.enter_node", store::FailureMoment::BeforeItBegins);
    }
    let (engine, stop) = start(&service.platform, &[Kind::of::<Ready>()], "a");
    until(|| health.failures_to_come().len() == 1).await;
    assert_eq!(signals.engine().map(|engine| engine.works), Some(false));
    until(|| signals.works()).await;
    assert_eq!(health.beats().await.unwrap().len(), 1);
    stop.send(true).unwrap();
    engine.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn task_next_to_the_engine_that_panics_is_counted_and_started_again() {
    let service = Service::start().await;
    let upkeep = service.platform.upkeep.clone();
    let begun = AtomicU32::new(0);
    let start = || async {
        assert!(begun.fetch_add(1, Ordering::SeqCst) == 2, "a task that panics for a test");
    };
    runtime::timeout(Duration::from_mins(1), super::started_again(upkeep, "task", start)).await.unwrap();
    let signals = service.platform.core.signals();
    assert_eq!((begun.load(Ordering::SeqCst), signals.counts().1), (3, 2));
    signals.engine_begins();
    signals.task_restarted();
    assert!(signals.works(), "the engine goes on");
}

#[tokio::test]
async fn node_of_other_versions_of_derivations_has_a_turn_of_its_own() {
    const KIND: JobKind = JobKind::new("recompute_older_days");
    let service = Service::start().await;
    let health = service.platform.core.health();
    let ada = PatientId::new("ada");
    service.enrol(&ada).await;
    service.sync_minute(&ada).await;
    drain(&service.platform.upkeep, &["derive"]).await.unwrap();
    health.derive_again(&ada, "news=1", Vec::new()).await.unwrap();
    // An older program is at its own turn, and at one of a version between.
    enqueue(&service.platform, KIND.name(), &["", "news=1"]).await;
    let older = NodeId::new("older");
    let held = health.claim_jobs(KIND, &older, NOON_MS, NOON_MS + DAY_MS, 2).await.unwrap();
    assert_eq!(held.len(), 2);
    drain(&service.platform.upkeep, &[KIND.name()]).await.unwrap();
    let due = health.due_of(&ada, NOON_MS).await.unwrap();
    assert!(!due.is_empty(), "the turn of this program marks what is older");

    for lease in &held {
        health.give_job_back(lease, NOON_MS).await.unwrap();
    }
    drain(&service.platform.upkeep, &[KIND.name()]).await.unwrap();
    let left = health.claim_jobs(KIND, &older, NOON_MS + DAY_MS, NOON_MS + 2 * DAY_MS, 9).await.unwrap();
    let left: Vec<&str> = left.iter().map(|lease| lease.subject.as_str()).collect();
    assert_eq!(left, ["news=1"], "a turn of others is left to them");
}
