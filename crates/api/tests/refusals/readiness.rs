//! What anyone may learn of background work: that it fails, and of what kind.

use std::time::Duration;

use platform::jobs::{self, NodeName};
use serde_json::{Value, json};
use store::{Failures, JobFailure, JobKind, JobLease, JobSubject, NEVER_MS, NewJob, NodeId, PatientId};

use tokio::sync::watch;

use crate::common::Story;

const PATIENTS: [&str; 2] = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"];

/// A service with jobs whose failures are noted by hand.
struct Work {
    story: Story,
}

impl Work {
    async fn begin() -> Self {
        Work { story: Story::begin().await }
    }

    /// Adds a job of each patient and claims all that are due.
    async fn claim(&self, kind: &'static str) -> Vec<JobLease> {
        let (health, now_ms) = (self.story.platform.core.health(), self.story.now_ms());
        let job = |patient: &str| NewJob {
            subject: JobSubject::new(format!("{patient}/0")),
            patient: Some(PatientId::new(patient)),
        };
        health.enqueue_jobs(JobKind::new(kind), PATIENTS.map(job).to_vec(), now_ms).await.expect("enqueued");
        self.claim_again(kind).await
    }

    async fn claim_again(&self, kind: &'static str) -> Vec<JobLease> {
        let (health, now_ms) = (self.story.platform.core.health(), self.story.now_ms());
        health.claim_jobs(JobKind::new(kind), &NodeId::new("a node"), now_ms, now_ms + 1_000, 9).await.expect("claimed")
    }

    /// Notes a failure after which a job is tried again in a second, or never.
    async fn fail(&self, lease: &JobLease, runs: i64, put_aside: Option<&str>) {
        let now_ms = self.story.now_ms();
        let failure = JobFailure {
            failures: Failures { runs, panics: 0 },
            error: format!("the file of {} is damaged", lease.subject),
            failed_ms: now_ms,
            retry_ms: if put_aside.is_some() { NEVER_MS } else { now_ms + 1_000 },
            put_aside: put_aside.map(str::to_owned),
        };
        assert!(self.story.platform.core.health().fail_job(lease, failure).await.expect("noted"));
    }

    async fn failing(&self) -> Value {
        let ready = self.story.get("/readyz").await.ok();
        assert_eq!(ready["status"], "ok", "requests are answered all the same: {ready}");
        ready["failing_jobs"].clone()
    }
}

#[tokio::test]
async fn work_that_is_tried_again_is_failing_until_it_succeeds() {
    let work = Work::begin().await;
    let leases = work.claim("seal").await;
    assert_eq!(leases.len(), 2);
    assert_eq!(work.failing().await, Value::Null, "what runs for the first time has not failed");
    work.fail(&leases[0], 1, None).await;
    assert_eq!(work.failing().await, json!([{"kind": "seal", "failing": 1, "put_aside": 0}]));
    work.fail(&leases[1], 1, None).await;
    assert_eq!(work.failing().await, json!([{"kind": "seal", "failing": 2, "put_aside": 0}]));

    work.story.pass_ms(1_000);
    let again = work.claim_again("seal").await;
    assert_eq!(again.len(), 2);
    work.fail(&again[0], 2, None).await;
    assert_eq!(
        work.failing().await,
        json!([{"kind": "seal", "failing": 2, "put_aside": 0}]),
        "counted as jobs, not runs"
    );
    assert!(work.story.platform.core.health().finish_job(&again[1]).await.expect("done"));
    assert_eq!(work.failing().await, json!([{"kind": "seal", "failing": 1, "put_aside": 0}]));
}

#[tokio::test]
async fn kinds_are_counted_apart_and_nobody_is_named() {
    let work = Work::begin().await;
    let (sealing, exporting) = (work.claim("seal").await, work.claim("export").await);
    work.fail(&sealing[0], 5, Some("0.1.0")).await;
    work.fail(&sealing[1], 1, None).await;
    work.fail(&exporting[0], 5, Some("0.1.0")).await;
    let reported = work.failing().await;
    let seal = json!({"kind": "seal", "failing": 2, "put_aside": 1});
    let export = json!({"kind": "export", "failing": 1, "put_aside": 1});
    let kinds = reported.as_array().expect("kinds");
    assert!(kinds.len() == 2 && kinds.contains(&seal) && kinds.contains(&export), "{reported}");
    for secret in [PATIENTS[0], PATIENTS[1], "damaged", "a node", "/0"] {
        assert!(!reported.to_string().contains(secret), "{secret} in {reported}");
    }

    // Taking up what was put aside leaves the other failure as it is.
    assert_eq!(work.story.platform.upkeep.take_jobs_up().await.expect("taken up"), 2);
    assert_eq!(work.failing().await, json!([{"kind": "seal", "failing": 1, "put_aside": 0}]));
}

#[tokio::test]
async fn failing_work_asks_for_no_new_start_of_the_node() {
    let work = Work::begin().await;
    for lease in work.claim("seal").await {
        work.fail(&lease, 9, Some("0.1.0")).await;
    }
    let answer = work.story.get("/readyz").await;
    assert_eq!((answer.status.as_u16(), answer.header("cache-control")), (200, "no-store"));
    assert_eq!(work.story.get("/livez").await.ok(), json!({"status": "ok"}), "alive says nothing of work");
}

async fn engine(story: &Story) -> Value {
    story.get("/readyz").await.ok()["job_engine"].clone()
}

async fn until(story: &Story, expected: &Value) {
    let reached = async {
        while engine(story).await != *expected {
            // What the engine looks for is where it panics.
            story.platform.core.wake_derivations();
            runtime::sleep(Duration::from_millis(5)).await;
        }
    };
    runtime::timeout(Duration::from_secs(30), reached).await.expect("reached");
}

async fn works_metric(story: &Story) -> Option<String> {
    let text = api::metrics_text(&story.state).await;
    text.lines().find_map(|line| line.strip_prefix("pulseward_job_engine_works ")).map(str::to_owned)
}

#[tokio::test]
async fn engine_that_panics_is_shown_until_the_next_one_works_and_counted_from_then_on() {
    let story = Story::begin().await;
    assert_eq!((engine(&story).await, works_metric(&story).await), (Value::Null, None), "the node has not the role");
    story.platform.core.health().plan_meanwhile("claims.claim_due", Box::pin(async { panic!("for a test") }));
    let (stop, stopped) = watch::channel(false);
    let node = NodeName { name: "node".to_owned(), version: "1".to_owned() };
    let worker = runtime::spawn("engine", jobs::run(story.platform.upkeep.clone(), node, stopped));
    until(&story, &json!({"works": false, "restarts": 1})).await;
    assert_eq!(works_metric(&story).await.as_deref(), Some("0"));
    until(&story, &json!({"works": true, "restarts": 1})).await;
    assert_eq!(works_metric(&story).await.as_deref(), Some("1"));
    stop.send(true).expect("heard");
    worker.await.expect("ended");
    assert_eq!(engine(&story).await["works"], false, "it has ended");
}
