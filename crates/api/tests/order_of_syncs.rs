//! No answer depends on how data came: in which order, how often, cut into which syncs, in which form, with which
//! derivations and seals between. Data whose copies agree are sent to one service as they are, and shuffled, doubled and cut
//! again to another; then every answer of both must be the same to the byte.

mod common;
#[path = "order_of_syncs/delivery.rs"]
mod delivery;
#[path = "order_of_syncs/questions.rs"]
mod questions;
#[path = "order_of_syncs/wearing.rs"]
mod wearing;

use common::{Enrolled, START_MS, Story};
use delivery::{as_it_is, disordered};
use platform::Platform;
use platform::seal::Until;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use store::Role;
use wearing::Wearing;

const CASES: u64 = 12;

/// A service with a patient for each case.
struct Service {
    story: Story,
    key: String,
    group: String,
    patients: Vec<Enrolled>,
    /// Time at which the waveform of each begins, µs.
    waveforms_us: Vec<i64>,
}

impl Service {
    async fn begin() -> Self {
        let story = Story::begin().await;
        let key = story.key_of("ada@example.org", Role::Researcher).await;
        let group = story.group(&key).await;
        let mut patients = Vec::new();
        for case in 0..CASES {
            patients.push(story.patient(&key, &group, profile(case)).await);
        }
        Service { story, key, group, patients, waveforms_us: Vec::new() }
    }
}

fn profile(case: u64) -> Value {
    match case % 3 {
        0 => json!({"birthday": "1961-07-30", "gender": "female", "height": 168, "weight": 61.5,
            "time_zone": "America/New_York"}),
        1 => json!({"birthday": "1990-01-02", "time_zone": "Pacific/Kiritimati"}),
        _ => Value::Null,
    }
}

#[tokio::test]
async fn no_answer_depends_on_how_the_data_came() {
    let (mut plain, mixed) = (Service::begin().await, Service::begin().await);
    for case in 0..CASES {
        let mut random = ChaCha8Rng::seed_from_u64(case);
        let at = case as usize;
        let wearing = Wearing::of(&mut random);
        let (patient, other) = (&plain.patients[at], &mixed.patients[at]);
        assert_eq!(patient.uuid, other.uuid, "the services are twins");

        let mut counted = 0;
        for delivery in as_it_is(&wearing) {
            counted += delivery.send(&plain.story, &patient.health_token).await.stored;
        }
        let deliveries = disordered(&wearing, &mut random);
        let mut counted_other = 0;
        for delivery in &deliveries {
            let counts = delivery.send(&mixed.story, &other.health_token).await;
            assert_eq!(counts.replaced, 0, "copies agree");
            counted_other += counts.stored;
            if random.random_bool(0.15) {
                mixed.story.derive().await;
            }
            if random.random_bool(0.05) {
                seal_now(&mixed.story.platform).await;
            }
        }
        assert_eq!(counted, counted_other, "case {case}: every row is new once");
        assert!(counted > 1000, "case {case}: {counted}");
        plain.story.derive().await;
        mixed.story.derive().await;
        plain.waveforms_us.push(wearing.waveform_us);
        compare(&plain, &mixed, at, "after deriving").await;
    }
    seal_now(&plain.story.platform).await;
    compare_all(&plain, &mixed, "one sealed").await;
    seal_now(&mixed.story.platform).await;
    // The time of the rows that were ahead has come.
    for service in [&plain, &mixed] {
        service.story.pass_ms(wearing::AHEAD_MS);
        service.story.derive().await;
    }
    compare_all(&plain, &mixed, "both sealed, later").await;
    // Derivations that followed single syncs and one derivation of everything agree.
    for service in [&plain, &mixed] {
        let found = service.story.platform.data.recompute(None, |_, _| {}).await.expect("recomputed");
        assert!(found.windows > 0);
        assert_eq!(found.differences, 0);
    }
}

async fn seal_now(platform: &Platform) {
    platform.upkeep.seal(Until::Now, |_| {}).await.expect("sealing");
}

async fn compare_all(plain: &Service, mixed: &Service, when: &str) {
    for case in 0..plain.patients.len() {
        compare(plain, mixed, case, when).await;
    }
}

/// Returns the records of a patient without the times at which the service learned of them, which follow the order of
/// arrival.
async fn af_records(service: &Service, uuid: &str) -> Vec<Value> {
    let path = format!("/integration/v1/create-afib-export/{uuid}?token={}", service.key);
    let range = json!({"timestamp_from": START_MS - 3 * 86_400_000, "timestamp_to": START_MS + 86_400_000});
    let mut records = service.story.post(&path, range).await.ok().as_array().expect("records").clone();
    for record in &mut records {
        record["created_at"] = Value::Null;
        record["updated_at"] = Value::Null;
    }
    records
}

async fn compare(plain: &Service, mixed: &Service, case: usize, when: &str) {
    let uuid = &plain.patients[case].uuid;
    let turn = case + when.len();
    assert_eq!(af_records(plain, uuid).await, af_records(mixed, uuid).await, "case {case}, {when}");
    for question in questions::of(&plain.group, uuid, plain.waveforms_us[case], turn) {
        let mut answers = Vec::new();
        for service in [plain, mixed] {
            answers.push(question.ask(&service.story, &service.key, &service.patients[case].health_token).await);
        }
        let same = answers[0] == answers[1];
        assert!(same, "case {case}, {when}: {question:?}\n{}", questions::first_difference(&answers[0], &answers[1]));
    }
}

/// The clock of both services does not move, so what is compared is what was sent.
#[test]
fn the_data_reach_beyond_the_present() {
    let wearing = Wearing::of(&mut ChaCha8Rng::seed_from_u64(1));
    let now_us = START_MS * 1000;
    for part in ["activity", "temperature"] {
        let ahead = wearing.samples.iter().filter(|sample| sample.data_type == part && sample.time_us > now_us).count();
        assert!(ahead > 0, "{part}");
    }
}
