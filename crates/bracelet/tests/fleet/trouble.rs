//! A bad network and an overloaded service: requests are tried again, in order, and nothing is lost or sent twice.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bracelet::fleet::{HistoryOrder, Live};
use bracelet::{BraceletError, Cast, Scenario};
use serde_json::{Value, json};

use crate::stub::{NOW_MS, Reply, SYNC, Stub, fleet, spans, start, unstopped};

const DAY_MS: i64 = 86_400_000;

fn refusal(status: u16) -> Reply {
    Reply::Json(status, json!({"message": "not now"}))
}

/// Returns a stand-in that answers the next requests of these paths otherwise.
fn with_plan(planned: impl IntoIterator<Item = (&'static str, Reply)>) -> Stub {
    Stub { planned: planned.into_iter().collect::<VecDeque<_>>(), ..Stub::default() }
}

#[tokio::test]
async fn what_passes_is_tried_again_with_the_same_body_until_it_is_taken() {
    let refusals = [Reply::Nothing, Reply::CutOff, refusal(429), refusal(502), refusal(503), refusal(504)];
    let (url, memory) = start(with_plan(refusals.map(|reply| (SYNC, reply)))).await;
    let fleet = fleet(&url, 1, |config| config.days = 2);
    let result = fleet.run(None, unstopped()).await.unwrap();
    assert_eq!((result.syncs, result.retries, result.failed), (2, 6, 0));

    let stub = memory.lock().unwrap();
    assert!(stub.planned.is_empty());
    assert_eq!(stub.attempts.len(), 6 + 2);
    let (of_newest, of_oldest) = stub.attempts.split_at(7);
    assert!(of_newest.iter().all(|body| *body == of_newest[0]), "one sync, identifier and all");
    assert_ne!(of_newest[0]["sync_id"], of_oldest[0]["sync_id"]);
    let midnight_ms = NOW_MS.div_euclid(DAY_MS) * DAY_MS;
    let days = [(midnight_ms, NOW_MS), (midnight_ms - DAY_MS, midnight_ms)];
    // One answer was cut off after the service had taken the sync: it arrives twice, and never out of order.
    assert_eq!(spans(&stub, "V1"), [days[0], days[0], days[1]]);
}

#[tokio::test]
async fn a_refusal_that_stays_is_not_tried_again_and_stops_nothing_else() {
    for status in [400, 403, 404, 409, 413, 422, 500] {
        let (url, memory) = start(with_plan([(SYNC, refusal(status))])).await;
        let fleet = fleet(&url, 1, |config| config.days = 3);
        let result = fleet.run(None, unstopped()).await.unwrap();
        assert_eq!((result.syncs, result.failed, result.retries), (2, 1, 0), "{status}");
        assert_eq!(memory.lock().unwrap().attempts.len(), 3, "{status}");
    }
}

#[tokio::test]
async fn retrying_ends_and_the_next_sync_has_its_own() {
    let (url, memory) = start(Stub { is_down: true, retry_after_s: 0, ..Stub::default() }).await;
    let fleet = fleet(&url, 1, |config| {
        config.days = 2;
        config.retry_for = Duration::ZERO;
    });
    let result = fleet.run(None, unstopped()).await.unwrap();
    assert_eq!((result.syncs, result.failed), (0, 2));
    let tried = memory.lock().unwrap().attempts.clone();
    assert_ne!(tried.first().unwrap()["sync_id"], tried.last().unwrap()["sync_id"]);
    // Nothing of it counts as sent.
    assert_eq!((result.rows, result.values, result.stored), (0, 0, 0));
    assert!(result.p50_ms.abs() < f64::EPSILON);
}

#[tokio::test]
async fn a_fleet_waits_as_long_as_the_answer_says_and_no_longer_than_it_may_retry() {
    let plan = || Stub { retry_after_s: 1, ..with_plan([(SYNC, refusal(429))]) };
    let (url, _memory) = start(plan()).await;
    let begin = Instant::now();
    let patient = fleet(&url, 1, |_| {}).run(None, unstopped()).await.unwrap();
    assert_eq!((patient.syncs, patient.retries), (1, 1));
    assert!(begin.elapsed() >= Duration::from_secs(1));

    let (url, memory) = start(plan()).await;
    let impatient = fleet(&url, 1, |config| config.retry_for = Duration::from_millis(900));
    let result = impatient.run(None, unstopped()).await.unwrap();
    assert_eq!((result.syncs, result.retries, result.failed), (0, 0, 1), "a second is longer than the patience");
    assert_eq!(memory.lock().unwrap().attempts.len(), 1);
}

#[tokio::test]
async fn an_enrolment_whose_answers_get_lost_ends_well() {
    let lost = ["/users/activate", "/health/login"].map(|path| (path, Reply::CutOff));
    let (url, memory) = start(with_plan(lost)).await;
    let fleet = fleet(&url, 1, |_| {});
    let sessions = fleet.enrol().await.unwrap();
    {
        let stub = memory.lock().unwrap();
        assert_eq!((stub.activations.len(), stub.logins, stub.tokens), (1, 1, 2), "used already: logged in instead");
    }
    assert_eq!(sessions[0].token().await, "V1.2", "the token that arrived, not the one that got lost");
}

#[tokio::test]
async fn a_token_that_is_refused_twice_is_a_failure_and_not_a_loop() {
    let expired = || Reply::Json(401, json!({"message": "expired"}));
    let (url, memory) = start(with_plan([(SYNC, expired()), (SYNC, expired())])).await;
    let fleet = fleet(&url, 1, |config| config.days = 2);
    let result = fleet.run(None, unstopped()).await.unwrap();
    assert_eq!((result.syncs, result.failed), (1, 1));
    let stub = memory.lock().unwrap();
    assert_eq!((stub.logins, stub.tokens, stub.attempts.len()), (1, 2, 3));
}

#[tokio::test]
async fn an_answer_without_what_it_must_have_is_named() {
    for (path, body, field) in [
        ("/integration/v1/groups", json!({}), "code"),
        ("/integration/v1/groups/ABCDE/patients", json!({"code": "V1"}), "uuid"),
        ("/integration/v1/groups/ABCDE/patients", json!({"uuid": "u1", "code": 7}), "code"),
        ("/users/activate", json!({"token": null}), "token"),
        ("/health/login", Value::Null, "token"),
    ] {
        let (url, _memory) = start(with_plan([(path, Reply::Json(200, body))])).await;
        let error = fleet(&url, 1, |_| {}).run(None, unstopped()).await.unwrap_err();
        assert!(matches!(error, BraceletError::MissingField(missing) if missing == field), "{path}: {error}");
    }
}

#[tokio::test]
async fn a_history_in_trouble_arrives_complete_in_every_order_and_scenario() {
    for (order, scenario) in [
        (HistoryOrder::NewestFirst, Scenario::Healthy),
        (HistoryOrder::OldestFirst, Scenario::Healthy),
        (HistoryOrder::NewestFirst, Scenario::LateSync),
        (HistoryOrder::OldestFirst, Scenario::DuplicateSync),
    ] {
        let (url, memory) = start(Stub { trouble_every: 3, ..Stub::default() }).await;
        let fleet = fleet(&url, 2, |config| {
            (config.days, config.order, config.cast) = (5, order, Cast::All(scenario));
        });
        let live = Live { tick: Duration::from_millis(1), step_ms: 60_000, lag_ms: 3 * 60_000, ticks: Some(3) };
        let result = fleet.run(Some(live), unstopped()).await.unwrap();
        let copies = if scenario == Scenario::DuplicateSync { 2 } else { 1 };
        assert_eq!((result.syncs, result.failed), (2 * 8 * copies as u64, 0), "{order:?} {scenario}");
        let stub = memory.lock().unwrap();
        for patient in ["V1", "V2"] {
            let mut arrived = spans(&stub, patient);
            let begins_with_newest = arrived[0].1 == NOW_MS - live.lag_ms;
            if scenario != Scenario::LateSync {
                assert_eq!(begins_with_newest, order == HistoryOrder::NewestFirst, "{order:?} {scenario}");
            }
            arrived.sort_unstable();
            assert!(arrived.chunks(copies).all(|pair| pair.iter().all(|span| *span == pair[0])));
            arrived.dedup();
            assert!(arrived.windows(2).all(|pair| pair[0].1 == pair[1].0), "{order:?} {scenario}: no gap");
            assert_eq!(arrived.last().unwrap().1, NOW_MS);
        }
    }
}

#[tokio::test]
async fn a_fleet_of_nobody_makes_its_group_and_sends_nothing() {
    let (url, memory) = start(Stub::default()).await;
    let live = Live { tick: Duration::from_millis(1), step_ms: 60_000, lag_ms: 0, ticks: None };
    let result = fleet(&url, 0, |_| {}).run(Some(live), unstopped()).await.unwrap();
    assert_eq!((result.patients, result.syncs, result.values, result.failed), (0, 0, 0, 0));
    assert_eq!(memory.lock().unwrap().seen_addresses, ["/integration/v1/groups"]);

    let named = fleet(&url, 0, |config| config.group = Some("ABCDE".to_owned()));
    assert_eq!(named.run(None, unstopped()).await.unwrap().patients, 0);
    assert_eq!(memory.lock().unwrap().requests, 1, "a group that is named is not created");
}

#[tokio::test]
async fn patients_have_the_zone_the_person_and_the_bracelet_of_their_number() {
    let zones = ["Pacific/Chatham", "America/St_Johns", "Asia/Kathmandu"];
    let (url, memory) = start(Stub::default()).await;
    let fleet = fleet(&url, 4, |config| {
        config.zones = zones.map(str::to_owned).to_vec();
        // One connection: patients are created in the order of their numbers.
        config.connections = 1;
    });
    fleet.run(None, unstopped()).await.unwrap();
    let stub = memory.lock().unwrap();
    for (index, activation) in stub.activations.iter().enumerate() {
        assert_eq!(activation["time_zone"], zones[index % 3]);
        assert_eq!(activation["first_name"], format!("Patient {}", index + 1));
        let code = activation["code"].as_str().unwrap();
        let (_, sync) = stub.syncs.iter().find(|(patient, _)| patient == code).unwrap();
        assert_eq!(sync["time_zone"], zones[index % 3]);
        assert_eq!(sync["device"]["serial_number"], format!("SIM-{}", code.replace('V', "u")));
    }
    assert_eq!(stub.syncs.len(), 4);
}
