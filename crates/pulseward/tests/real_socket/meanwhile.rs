//! What others see during a fault, as `benchmarks/faults` prints it and `docs/failures.md` quotes it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Patient, Researcher};
use crate::took::Took;

const BEGIN_MS: i64 = 1_763_600_000_000;
const ROWS: &str = "/health/v2/raw-metrics/activity?from_date=2025-11-20T00:00:00Z&to_date=2025-11-20T23:00:00Z";
/// What is promised of 99 of 100 requests of others.
pub const OTHERS: Duration = Duration::from_millis(500);
/// What is promised of a refusal while nothing can be answered.
const REFUSAL: Duration = Duration::from_secs(2);
/// What is promised of readiness.
const READINESS: Duration = Duration::from_secs(1);
/// Tests run next to each other and on any machine: they hold a fault to ten times what is promised.
pub const TIMES_IN_TESTS: u32 = 10;

/// How long answers took during a fault.
#[derive(Debug, Default)]
pub struct Meanwhile {
    /// Syncs of other patients.
    pub syncs: Took,
    /// What is read of others.
    pub reads: Took,
    pub readiness: Took,
}

impl Meanwhile {
    /// Asks for what does not concern the fault: stores a minute of another patient, reads the list of the group and that
    /// patient's rows, all of which are answered, and asks for readiness, whose status is given.
    pub async fn ask(&mut self, researcher: &Researcher, other: &Patient, minute: i64, ready: u16) {
        let body =
            json!({"data": {"activity": {"timestamp": [BEGIN_MS + minute * 60_000], "bpm": [60 + minute % 40]}}});
        let begun = Instant::now();
        let (status, answer) = researcher.sync(other, &body).await.unwrap();
        self.syncs.add(begun);
        assert_eq!(status, 200, "{answer}");
        let list = format!("/integration/v1/groups/{}/patients", researcher.group);
        for (path, token) in [(list.as_str(), None), (ROWS, Some(other.token.as_str()))] {
            let begun = Instant::now();
            let (status, answer) = researcher.get(path, token).await;
            self.reads.add(begun);
            assert_eq!(status, 200, "{answer}");
        }
        self.ask_readiness(researcher, ready).await;
    }

    /// Asks whether the service is ready; returns the answer.
    pub async fn ask_readiness(&mut self, researcher: &Researcher, ready: u16) -> Value {
        let begun = Instant::now();
        let (status, answer) = researcher.get("/readyz", None).await;
        self.readiness.add(begun);
        assert_eq!(status, ready, "{answer}");
        answer
    }

    /// Prints the figures of a fault during which others go on, and holds them to what is allowed; returns those of others.
    pub fn report(&self, fault: &str) -> Took {
        let mut others = self.syncs.clone();
        others.extend(&self.reads);
        let is_held = others.p99() <= OTHERS && self.readiness.slowest() <= READINESS;
        println!("during {fault}: others {others}; readiness {}{}", self.readiness, verdict(is_held));
        assert!(others.p99() < OTHERS * TIMES_IN_TESTS, "{others}");
        assert!(self.readiness.slowest() < READINESS * TIMES_IN_TESTS, "{}", self.readiness);
        others
    }

    /// The same for a fault during which everything is refused.
    pub fn report_refusals(&self, fault: &str) {
        let refusals = &self.reads;
        let is_held = refusals.slowest() <= REFUSAL && self.readiness.slowest() <= READINESS;
        println!("during {fault}: refusals {refusals}; readiness {}{}", self.readiness, verdict(is_held));
        assert!(refusals.slowest() < REFUSAL * TIMES_IN_TESTS, "{refusals}");
        assert!(self.readiness.slowest() < READINESS * TIMES_IN_TESTS, "{}", self.readiness);
    }
}

/// What a reader of the figures looks for.
fn verdict(is_held: bool) -> &'static str {
    if is_held { "" } else { " (LONGER than promised)" }
}
