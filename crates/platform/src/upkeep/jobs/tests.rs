//! The engine over a real database, with tasks that do what no task should.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use runtime::{Instant, Task};
use store::events::EventType;
use store::segment::SealedPeriod;
use store::{AccountId, DERIVE_KIND, ExportId, FailingJobs, JobKind, JobSubject, NewExport, NewJob, NodeId, PatientId};
use tokio::sync::watch;
use vitals::block::{Block, Cells};
use vitals::registry::{Channel, DataType};
use vitals::zone::ZoneRuns;

use super::drain;
use super::engine::Engine;
use super::job::{Job, Kind, Run, Spec, Turn};
use super::membership::NodeName;
use crate::core::audit::{Action, Actor, patient_entity};
use crate::core::error::Result;
use crate::core::settings::RETENTION_SETTING;
use crate::core::settings::Settings;
use crate::core::signals::Outcome;
use crate::core::work::Ended;
use crate::data::derivations::worker::PANICS;
use crate::platform::Platform;
use crate::test_service::{NOON_MS, Service};
use crate::upkeep::seal::Until;

pub(super) const DAY_MS: i64 = 86_400_000;
pub(super) const ADA: &str = "11111111-1111-4111-8111-111111111111";
pub(super) const GRACE: &str = "22222222-2222-4222-8222-222222222222";

fn node(name: &str) -> NodeName {
    NodeName { name: name.to_owned(), version: "1".to_owned() }
}

/// Starts an engine; the sender ends it.
pub(super) fn start(platform: &Platform, kinds: &[Kind], name: &str) -> (Task<()>, watch::Sender<bool>) {
    let (stop, stopped) = watch::channel(false);
    let mut engine = Engine::new(platform.upkeep.clone(), kinds, node(name));
    (runtime::spawn("engine", async move { engine.work(stopped).await }), stop)
}

pub(super) async fn enqueue(platform: &Platform, kind: &'static str, subjects: &[&str]) {
    let job = |subject: &&str| NewJob { subject: JobSubject::new(*subject), patient: None };
    let jobs = subjects.iter().map(job).collect();
    platform.core.health().enqueue_jobs(JobKind::new(kind), jobs, platform.core.now_ms()).await.unwrap();
    platform.core.signals().ring(JobKind::new(kind));
}

pub(super) async fn until(mut is_reached: impl FnMut() -> bool) {
    let reached = async {
        while !is_reached() {
            runtime::sleep(Duration::from_millis(10)).await;
        }
    };
    runtime::timeout(Duration::from_mins(5), reached).await.unwrap();
}

/// Declares a task for a test: its name, its turn, and what its run does.
macro_rules! task {
    ($name:ident, $label:literal, $turn:expr, $longest:expr, |$run:ident| $body:expr) => {
        struct $name;
        impl Job for $name {
            const SPEC: Spec = Spec { at_once: 4, longest: $longest, ..Spec::new(JobKind::new($label), $turn) };
            fn parse(_subject: &JobSubject) -> Option<Self> {
                Some($name)
            }
            async fn run(self, $run: Run) -> Result<Ended> {
                $body
            }
        }
    };
}

pub(super) use task;

pub(super) const LONG: Duration = Duration::from_hours(1);

#[tokio::test(start_paused = true)]
async fn job_that_panics_is_put_aside_after_three_runs_and_the_others_go_on() {
    task!(Brittle, "brittle", Turn::Enqueued, LONG, |run| {
        assert!(run.work.lease.subject.as_str() != "bad", "a job that panics for a test");
        Ok(Ended::Done)
    });
    let service = Service::start().await;
    let health = service.platform.core.health();
    let (engine, stop) = start(&service.platform, &[Kind::of::<Brittle>()], "a");
    let runs = |outcome: Outcome| {
        let (kinds, _) = service.platform.core.signals().counts();
        kinds.get(&JobKind::new("brittle")).and_then(|counts| counts.runs.get(&outcome)).copied().unwrap_or(0)
    };
    enqueue(&service.platform, "brittle", &["good", "bad"]).await;
    for panics in 1..=3 {
        until(|| runs(Outcome::Panicked) == panics).await;
        let failing = health.failing_jobs().await.unwrap();
        let put_aside = u64::from(panics == 3);
        assert_eq!(failing, [FailingJobs { kind: "brittle".to_owned(), failing: 1, put_aside }]);
        service.pass_ms(300_000);
        enqueue(&service.platform, "brittle", &[&format!("good {panics}")]).await;
        until(|| runs(Outcome::Done) == panics + 1).await;
    }
    service.pass_ms(300 * DAY_MS);
    enqueue(&service.platform, "brittle", &["last"]).await;
    until(|| runs(Outcome::Done) == 5).await;
    assert_eq!(runs(Outcome::Panicked), 3, "it is left alone");
    let aside = health.jobs_put_aside().await.unwrap().remove(0);
    assert_eq!((aside.subject.as_str(), aside.error.as_str()), ("bad", "panicked; the log says where"));

    stop.send(true).unwrap();
    engine.await.unwrap();
    let mut newer = Engine::new(
        service.platform.upkeep.clone(),
        &[Kind::of::<Brittle>()],
        NodeName { version: "2".to_owned(), ..node("a") },
    );
    let (stop, stopped) = watch::channel(false);
    let engine = runtime::spawn("engine", async move { newer.work(stopped).await });
    until(|| runs(Outcome::Panicked) == 4).await;
    stop.send(true).unwrap();
    engine.await.unwrap();
}

#[tokio::test]
async fn events_are_kept_for_as_long_as_is_set() {
    // The syncs are four and two days old.
    for (days, syncs_kept) in [(3, 1), (5, 2)] {
        let settings = Settings { event_retention_s: days * 86_400, ..Settings::default() };
        let service = Service::with(settings).await;
        service.enrol(&PatientId::new(ADA)).await;
        for _ in 0..2 {
            service.sync_minute(&PatientId::new(ADA)).await;
            drain(&service.platform.upkeep, &[DERIVE_KIND.name()]).await.unwrap();
            service.pass_ms(2 * DAY_MS);
        }
        drain(&service.platform.upkeep, &["expire_events"]).await.unwrap();
        let kept = service.platform.core.health().events().after(&PatientId::new(ADA), 0, 100).await.unwrap();
        let syncs = kept.iter().filter(|event| event.event_type == EventType::SyncStored).count();
        assert_eq!(syncs, syncs_kept, "{days} days: {kept:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn job_that_takes_too_long_fails_and_one_whose_subject_is_unknown_too() {
    task!(Endless, "endless", Turn::Enqueued, Duration::from_secs(7), |_run| std::future::pending().await);
    struct Picky;
    impl Job for Picky {
        const SPEC: Spec = Spec::new(JobKind::new("picky"), Turn::Enqueued);
        fn parse(_subject: &JobSubject) -> Option<Self> {
            None
        }
        async fn run(self, _run: Run) -> Result<Ended> {
            Ok(Ended::Done)
        }
    }
    let service = Service::start().await;
    let (engine, stop) = start(&service.platform, &[Kind::of::<Endless>(), Kind::of::<Picky>()], "a");
    enqueue(&service.platform, "endless", &["x"]).await;
    enqueue(&service.platform, "picky", &["x"]).await;
    let failed = |kind: &'static str| {
        let (kinds, _) = service.platform.core.signals().counts();
        kinds.get(&JobKind::new(kind)).and_then(|counts| counts.runs.get(&Outcome::Failed)).copied().unwrap_or(0)
    };
    until(|| failed("endless") == 1 && failed("picky") == 1).await;
    stop.send(true).unwrap();
    engine.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn scheduled_job_runs_once_a_period_on_one_of_two_nodes() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    task!(Tick, "tick", Turn::Every(Duration::from_secs(30)), LONG, |_run| {
        RUNS.fetch_add(1, Ordering::SeqCst);
        Ok(Ended::Done)
    });
    let service = Service::start().await;
    let engines = ["a", "b"].map(|name| start(&service.platform, &[Kind::of::<Tick>()], name));
    for period in 1..=3 {
        until(|| RUNS.load(Ordering::SeqCst) == period).await;
        // Long enough for both nodes to look.
        runtime::sleep(Duration::from_secs(5)).await;
        assert_eq!(RUNS.load(Ordering::SeqCst), period);
        service.pass_ms(30_000);
    }
    for (engine, stop) in engines {
        stop.send(true).unwrap();
        engine.await.unwrap();
    }
}

/// In real time, since the database works in real time. Ten seconds are twice the goal and a sixth of a lease.
#[tokio::test]
async fn work_of_a_node_that_died_passes_on_within_seconds() {
    static BEGUN: AtomicU32 = AtomicU32::new(0);
    task!(Hang, "hang", Turn::Enqueued, LONG, |_run| {
        BEGUN.fetch_add(1, Ordering::SeqCst);
        std::future::pending().await
    });
    let service = Service::start().await;
    let (first, _stop) = start(&service.platform, &[Kind::of::<Hang>()], "a");
    enqueue(&service.platform, "hang", &["x"]).await;
    until(|| BEGUN.load(Ordering::SeqCst) == 1).await;
    let (second, _stop) = start(&service.platform, &[Kind::of::<Hang>()], "b");
    runtime::sleep(Duration::from_secs(6)).await;
    assert_eq!(BEGUN.load(Ordering::SeqCst), 1, "both live, and one of them holds the job");

    first.abort();
    let _ = first.await;
    let died = Instant::now();
    until(|| BEGUN.load(Ordering::SeqCst) == 2).await;
    println!("another node took over after {:?}", died.elapsed());
    assert!(died.elapsed() <= Duration::from_secs(10), "{:?}", died.elapsed());

    second.abort();
    let _ = second.await;
    let died = Instant::now();
    let (third, _stop) = start(&service.platform, &[Kind::of::<Hang>()], "b");
    until(|| BEGUN.load(Ordering::SeqCst) == 3).await;
    println!("the next process of the same name took over after {:?}", died.elapsed());
    assert!(died.elapsed() <= Duration::from_secs(1), "{:?}", died.elapsed());
    third.abort();
}

#[tokio::test(start_paused = true)]
async fn run_whose_lease_is_lost_is_notified() {
    static ENDED: AtomicU32 = AtomicU32::new(0);
    task!(Patient, "patient", Turn::Enqueued, LONG, |run| {
        while run.work.check().is_ok() {
            runtime::sleep(Duration::from_secs(1)).await;
        }
        ENDED.fetch_add(1, Ordering::SeqCst);
        run.work.check().map(|()| Ended::Done)
    });
    let service = Service::start().await;
    let (engine, stop) = start(&service.platform, &[Kind::of::<Patient>()], "a");
    enqueue(&service.platform, "patient", &["x"]).await;
    let health = service.platform.core.health();
    while health.due_job_kinds(NOON_MS).await.unwrap().iter().any(|_| true) {
        runtime::sleep(Duration::from_millis(10)).await;
    }
    // Another node claims it: as when this one was silent for too long.
    let far_ms = NOON_MS + 3_600_000;
    assert_eq!(
        health.claim_jobs(JobKind::new("patient"), &NodeId::new("b"), far_ms, far_ms + 1, 1).await.unwrap().len(),
        1
    );
    until(|| ENDED.load(Ordering::SeqCst) == 1).await;
    stop.send(true).unwrap();
    engine.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn job_whose_claim_got_no_answer_is_claimed_again() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    task!(Once, "once", Turn::Enqueued, LONG, |_run| {
        RUNS.fetch_add(1, Ordering::SeqCst);
        Ok(Ended::Done)
    });
    let service = Service::start().await;
    let health = service.platform.core.health();
    // Its lease has no end, since the clock of the service does not move.
    health.plan_failure("jobs.claim_jobs", store::FailureMoment::AfterItCommits);
    let (engine, stop) = start(&service.platform, &[Kind::of::<Once>()], "a");
    enqueue(&service.platform, "once", &["x"]).await;
    until(|| RUNS.load(Ordering::SeqCst) == 1).await;
    assert!(health.failures_to_come().is_empty());
    stop.send(true).unwrap();
    engine.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn node_that_stops_notifies_its_work_and_gives_the_rest_back() {
    static ENDED: AtomicU32 = AtomicU32::new(0);
    task!(Willing, "willing", Turn::Enqueued, LONG, |run| {
        while run.work.check().is_ok() {
            runtime::sleep(Duration::from_millis(100)).await;
        }
        ENDED.fetch_add(1, Ordering::SeqCst);
        Ok(Ended::Done)
    });
    task!(Stubborn, "stubborn", Turn::Enqueued, LONG, |_run| std::future::pending().await);
    let service = Service::start().await;
    let health = service.platform.core.health();
    let (engine, stop) = start(&service.platform, &[Kind::of::<Willing>(), Kind::of::<Stubborn>()], "a");
    enqueue(&service.platform, "willing", &["x"]).await;
    enqueue(&service.platform, "stubborn", &["x"]).await;
    while !health.due_job_kinds(NOON_MS).await.unwrap().is_empty() {
        runtime::sleep(Duration::from_millis(10)).await;
    }
    let begun = Instant::now();
    stop.send(true).unwrap();
    engine.await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!(ENDED.load(Ordering::SeqCst), 1);
    assert_eq!(health.due_job_kinds(NOON_MS).await.unwrap(), [("stubborn".to_owned(), 1)]);
    assert!(health.beats().await.unwrap().is_empty());
}

#[tokio::test]
async fn patient_whose_derivation_panics_is_put_aside_and_the_others_are_derived() {
    let service = Service::start().await;
    for patient in [PANICS, "ada"] {
        service.enrol(&PatientId::new(patient)).await;
        service.sync_minute(&PatientId::new(patient)).await;
    }
    let platform = &service.platform;
    assert_eq!(drain(&platform.upkeep, &["derive"]).await.unwrap(), 2);
    assert!(service.heart_rate(&PatientId::new("ada")).await.is_some());
    for (panics, wait_ms) in [(1, 1_000), (2, 2_000)] {
        let failing = platform.upkeep.failing_jobs().await.unwrap();
        assert_eq!(failing, [FailingJobs { kind: DERIVE_KIND.name().to_owned(), failing: 1, put_aside: 0 }]);
        assert_eq!(drain(&platform.upkeep, &["derive"]).await.unwrap(), 0, "after {panics} panics it waits");
        service.pass_ms(wait_ms);
        assert_eq!(drain(&platform.upkeep, &["derive"]).await.unwrap(), 1);
    }
    let aside = platform.upkeep.jobs_put_aside().await.unwrap().remove(0);
    assert_eq!((aside.subject.as_str(), aside.failures.panics), (PANICS, 3));
    service.pass_ms(300 * DAY_MS);
    service.sync_minute(&PatientId::new("ada")).await;
    service.sync_minute(&PatientId::new(PANICS)).await;
    assert_eq!(drain(&platform.upkeep, &["derive"]).await.unwrap(), 1, "ada");
    assert_eq!(platform.upkeep.take_jobs_up().await.unwrap(), 1);
    assert_eq!(drain(&platform.upkeep, &["derive"]).await.unwrap(), 1, "tried again by hand");
}

#[tokio::test]
async fn failures_of_a_derivation_are_forgotten_when_it_succeeds() {
    let service = Service::start().await;
    let platform = &service.platform;
    service.enrol(&PatientId::new("ada")).await;
    // A range of a type that does not exist, together with what can be derived: it fails once, as damage would.
    service.sync_minute(&PatientId::new("ada")).await;
    let claim = platform.core.health().claim_due(&NodeId::new("x"), NOON_MS, 1, 1).await.unwrap().remove(0);
    let failures = store::Failures { runs: 2, panics: 1 };
    let (error, failed_ms, retry_ms) = ("broke".to_owned(), NOON_MS, NOON_MS);
    let failure = store::JobFailure { failures, error, failed_ms, retry_ms, put_aside: None };
    platform.core.health().fail_derivation(&claim, failure).await.unwrap();
    assert_eq!(platform.upkeep.failing_jobs().await.unwrap().len(), 1);
    assert_eq!(drain(&platform.upkeep, &["derive"]).await.unwrap(), 1);
    assert!(platform.upkeep.failing_jobs().await.unwrap().is_empty());
}

/// A row a minute of ten minutes, some days ago.
pub(super) fn rows(days_ago: i64) -> Block {
    let mut block = Block::empty(DataType::Activity, Channel::default());
    block.times_us = (0..10).map(|minute| (NOON_MS - days_ago * DAY_MS + minute * 60_000) * 1000).collect();
    block.zones = ZoneRuns::constant("UTC".into(), 10);
    block.columns[DataType::Activity.column_index("bpm").unwrap()] = Cells::Constant(60);
    block
}

/// One byte of a sealed file is another one. Sealing the period again and ending what is no longer kept of it fail;
/// everybody else's periods, old archives, and the second look for the erased do not.
#[tokio::test]
async fn damaged_file_stops_nothing_but_what_needs_it() {
    let service = Service::start().await;
    let platform = &service.platform;
    let health = platform.core.health();
    for patient in [ADA, GRACE] {
        service.enrol(&PatientId::new(patient)).await;
        service.sync(&PatientId::new(patient), vec![rows(100), rows(95)]).await;
    }
    platform.upkeep.seal(Until::Now, |_| {}).await.unwrap();
    // Late rows make both periods to be sealed again, and a rule ends half of each.
    let late = |bpm: i32| {
        let mut block = rows(98);
        block.columns[DataType::Activity.column_index("bpm").unwrap()] = Cells::Constant(bpm);
        block
    };
    for patient in [ADA, GRACE] {
        service.sync(&PatientId::new(patient), vec![late(61), rows(60)]).await;
        let rule = serde_json::json!({ RETENTION_SETTING.name(): {"activity": 97} });
        let (uuid, values) = (patient.to_owned(), rule.as_object().unwrap().clone());
        health
            .apply(store::HealthChange::SetSettings { uuid: PatientId::new(uuid), values, at_ms: NOON_MS })
            .await
            .unwrap();
    }
    for object in platform.core.objects().listed("v1").await.unwrap() {
        if object.path.contains(ADA) {
            let file = platform.core.objects().as_folder().unwrap().join(&object.path);
            let mut bytes = std::fs::read(&file).unwrap();
            // The mark of the format: every reader misses it, wherever the columns of the file lie.
            *bytes.last_mut().unwrap() ^= 1;
            std::fs::write(&file, bytes).unwrap();
        }
    }
    let export = with_old_export(&service).await;
    let erased = "33333333-3333-4333-8333-333333333333";
    service.enrol(&PatientId::new(erased)).await;
    health.apply(store::HealthChange::ErasePatient { uuid: PatientId::new(erased), at_ms: NOON_MS }).await.unwrap();
    service.pass_ms(8 * DAY_MS);

    let every_kind: Vec<&str> = super::kinds::ALL.iter().map(|kind| kind.spec.kind.name()).collect();
    drain(&platform.upkeep, &every_kind).await.unwrap();
    let failing = platform.upkeep.failing_jobs().await.unwrap();
    let failing: Vec<(&str, u64)> = failing.iter().map(|kind| (kind.kind.as_str(), kind.failing)).collect();
    assert!(failing.contains(&("seal", 1)), "{failing:?}");
    assert!(failing.contains(&("enforce_retention", 1)), "{failing:?}");

    let unsealed = health.unsealed_periods(Until::Finished.ended_by_us(platform.core.now_ms()), 9).await.unwrap();
    assert!(unsealed.iter().all(|period| period.patient.to_string() == ADA), "{unsealed:?}");
    let is_sealed = async |patient: &PatientId| {
        let period = SealedPeriod::of(DataType::Activity, (NOON_MS - 60 * DAY_MS) * 1000);
        health.segment_of(patient, DataType::Activity, period).await.unwrap().is_some()
    };
    assert!(is_sealed(&PatientId::new(GRACE)).await);
    assert!(is_sealed(&PatientId::new(ADA)).await, "a later period of the same patient");
    assert!(health.export(&ExportId::new(export.as_str())).await.unwrap().is_none(), "the old archive is forgotten");
    assert!(health.erased_before(i64::MAX, 9).await.unwrap().is_empty(), "the erased were looked for again");
}

/// An export that was finished at noon.
async fn with_old_export(service: &Service) -> String {
    let platform = &service.platform;
    let new = NewExport {
        id: ExportId::new("e".repeat(24)),
        patient: PatientId::new(GRACE),
        actor: AccountId::new("an account"),
        request: "{}".to_owned(),
        entry: platform.core.entry_by(
            Action::PatientUpdate,
            Actor::system(),
            patient_entity(&PatientId::new(GRACE)),
            None,
        ),
        now_ms: NOON_MS,
        interval_ms: 1,
    };
    platform.core.health().begin_export(new).await.unwrap();
    assert_eq!(platform.core.deliver_entries_of(&PatientId::new(GRACE)).await.unwrap(), 1);
    let lease = platform
        .core
        .health()
        .claim_jobs(JobKind::new("export"), &NodeId::new("x"), NOON_MS, NOON_MS + 1, 1)
        .await
        .unwrap()
        .remove(0);
    platform.core.health().place_export(&lease, "exports/archive.zip").await.unwrap();
    assert!(platform.core.health().finish_export(&lease, 1, NOON_MS).await.unwrap());
    "e".repeat(24)
}
