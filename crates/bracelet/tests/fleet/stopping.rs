//! A fleet that is stopped ends soon, whatever the service answers.

use std::time::{Duration, Instant};

use bracelet::fleet::{Fleet, FleetResult, Live};
use bracelet::{BraceletError, Cast, DataType, Scenario};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::stub::{Reply, SYNC, Stub, fleet, start, unstopped};

/// Longer than a stopped fleet may take, shorter than what its service asks it to wait.
const SOON: Duration = Duration::from_secs(5);

/// Returns a stand-in that takes no sync for an hour.
fn down() -> Stub {
    Stub { is_down: true, retry_after_s: 3_600, ..Stub::default() }
}

fn running(
    fleet: &Fleet,
    live: Option<Live>,
    stopped: watch::Receiver<bool>,
) -> JoinHandle<Result<FleetResult, BraceletError>> {
    let fleet = fleet.clone();
    tokio::spawn(async move { fleet.run(live, stopped).await })
}

async fn until(mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < SOON, "it never happened");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn waiting_for_a_service_that_is_down_ends_with_the_fleet() {
    let (url, memory) = start(down()).await;
    let fleet = fleet(&url, 3, |config| {
        config.days = 4;
        config.retry_for = Duration::from_hours(24);
    });
    let (stop, stopped) = watch::channel(false);
    let running = running(&fleet, None, stopped);
    until(|| memory.lock().unwrap().attempts.len() == 3).await;
    stop.send(true).unwrap();
    let result = tokio::time::timeout(SOON, running).await.expect("it ends soon").unwrap().unwrap();
    assert_eq!((result.syncs, result.failed), (0, 3), "what was under way is given up and counted");
    assert_eq!(memory.lock().unwrap().attempts.len(), 3, "and nothing else is begun");
}

/// Drawing an hour of waveforms takes some seconds where the program is not optimised.
#[tokio::test]
async fn nothing_more_is_drawn_once_the_fleet_is_stopped() {
    let (url, memory) = start(Stub::default()).await;
    let fleet = fleet(&url, 12, |config| {
        config.data_types = vec![DataType::Ecg];
        config.connections = 12;
        config.days = 30;
    });
    let (stop, stopped) = watch::channel(false);
    let running = running(&fleet, None, stopped);
    until(|| !memory.lock().unwrap().syncs.is_empty()).await;
    stop.send(true).unwrap();
    let before = memory.lock().unwrap().attempts.len();
    let result = tokio::time::timeout(SOON, running).await.expect("it ends soon").unwrap().unwrap();
    assert!(result.stopped.is_some());
    let after = memory.lock().unwrap().attempts.len() - before;
    assert!(after <= 3, "what was drawn already is sent, and nothing else: {after}");
}

#[tokio::test]
async fn what_was_held_back_is_tried_once_when_the_fleet_is_stopped() {
    let (url, memory) = start(Stub { retry_after_s: 3_600, ..Stub::default() }).await;
    let fleet = fleet(&url, 1, |config| {
        config.cast = Cast::All(Scenario::LateSync);
        config.retry_for = Duration::from_hours(24);
    });
    let (stop, stopped) = watch::channel(false);
    let live = Live { tick: Duration::from_millis(2), step_ms: 60_000, lag_ms: 3_600_000, ticks: None };
    let running = running(&fleet, Some(live), stopped);
    until(|| memory.lock().unwrap().attempts.len() > 20).await;
    memory.lock().unwrap().is_down = true;
    let before = memory.lock().unwrap().attempts.len();
    until(|| memory.lock().unwrap().attempts.len() > before).await;
    stop.send(true).unwrap();
    let result = tokio::time::timeout(SOON, running).await.expect("it ends soon").unwrap().unwrap();
    let stub = memory.lock().unwrap();
    let late = stub.attempts.len() - before;
    assert_eq!(result.failed as usize, stub.attempts.len() - stub.syncs.len());
    let mut ids: Vec<&str> = stub.attempts[before..].iter().map(|body| body["sync_id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), late, "each once");
    assert!(late > 1, "what was under way, and what waited behind it: {late}");
    let rows = stub.attempts.iter().flat_map(|body| body["data"]["activity"]["timestamp"].as_array().unwrap());
    let mut minutes: Vec<i64> = rows.map(|time_ms| time_ms.as_i64().unwrap() / 60_000).collect();
    minutes.sort_unstable();
    minutes.dedup();
    let gap = minutes.windows(2).find(|pair| pair[1] != pair[0] + 1);
    assert_eq!(gap, None, "every minute that was held back is tried, not only the first");
}

#[tokio::test]
async fn last_requests_at_a_frozen_service_have_five_seconds_together() {
    let (url, memory) = start(Stub::default()).await;
    let fleet = fleet(&url, 2, |config| config.cast = Cast::All(Scenario::LateSync));
    let (stop, stopped) = watch::channel(false);
    let live = Live { tick: Duration::from_millis(2), step_ms: 60_000, lag_ms: 3_600_000, ticks: None };
    let running = running(&fleet, Some(live), stopped);
    until(|| memory.lock().unwrap().attempts.len() > 20).await;
    memory.lock().unwrap().is_frozen = true;
    let before = memory.lock().unwrap().attempts.len();
    until(|| memory.lock().unwrap().attempts.len() >= before + 2).await;
    stop.send(true).unwrap();
    let result = tokio::time::timeout(2 * SOON, running).await.expect("it ends soon").unwrap().unwrap();
    assert!(result.failed > 2, "what was held back counts too: {}", result.failed);
    assert_eq!(memory.lock().unwrap().attempts.len(), before + 2, "nothing is begun once the time is over");
}

#[tokio::test]
async fn a_fleet_that_is_stopped_before_it_begins_enrols_nobody_and_sends_nothing() {
    let (url, memory) = start(down()).await;
    let (_stop, stopped) = watch::channel(true);
    let result = fleet(&url, 2, |config| config.days = 9).run(None, stopped).await.unwrap();
    assert_eq!((result.patients, result.syncs, result.failed), (0, 0, 0));
    assert_eq!(
        result.stopped.map(|stopped| stopped.to_string()).as_deref(),
        Some("stopped after 0 of 2 patients enrolled")
    );
    assert!(memory.lock().unwrap().attempts.is_empty());
}

#[tokio::test]
async fn enrolling_at_a_service_that_is_down_ends_with_the_fleet() {
    let refusal = Reply::Json(503, serde_json::json!({"message": "down"}));
    let stub = Stub { planned: [("/integration/v1/groups", refusal)].into(), ..down() };
    let (url, memory) = start(stub).await;
    let fleet = fleet(&url, 1, |config| config.retry_for = Duration::from_hours(24));
    let (stop, stopped) = watch::channel(false);
    let running = running(&fleet, None, stopped);
    until(|| memory.lock().unwrap().planned.is_empty()).await;
    stop.send(true).unwrap();
    let error = tokio::time::timeout(SOON, running).await.expect("it ends soon").unwrap().unwrap_err();
    assert_eq!(error.to_string(), "cannot create a group: status 503 down");
}

#[tokio::test]
async fn a_sender_that_vanished_is_no_request_to_stop() {
    let (url, memory) = start(Stub { planned: [(SYNC, Reply::Nothing)].into(), ..Stub::default() }).await;
    let live = Live { tick: Duration::from_millis(2), step_ms: 60_000, lag_ms: 300_000, ticks: Some(5) };
    // The sender of this receiver is gone already.
    let result = fleet(&url, 1, |_| {}).run(Some(live), unstopped()).await.unwrap();
    assert_eq!((result.syncs, result.retries, result.failed), (6, 1, 0));
    assert_eq!(memory.lock().unwrap().syncs.len(), 6);
}
