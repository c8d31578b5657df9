//! What a fleet sends, in which order, and that nothing of it is lost.

use std::time::Duration;

use bracelet::fleet::{FleetConfig, Live, LoadPlan};
use bracelet::{BraceletError, Cast, Scenario};
use tokio::sync::watch;

use crate::stub::{KEY, NOW_MS, Stub, fleet, spans, start, unstopped};

#[tokio::test]
async fn a_fleet_enrols_and_sends_every_day_through_all_trouble() {
    let (url, memory) = start(Stub { trouble_every: 4, token_uses: 2, ..Stub::default() }).await;
    let fleet = fleet(&url, 5, |config| config.days = 4);
    let result = fleet.run(None, unstopped()).await.unwrap();
    assert_eq!((result.patients, result.syncs, result.failed, result.stored), (5, 20, 0, 20));
    assert!(result.retries > 0 && result.values > 20 * 1_000 && result.p99_ms >= result.p50_ms);

    let stub = memory.lock().unwrap();
    assert!(stub.logins > 0, "tokens that ended were renewed");
    assert!(stub.seen_addresses.iter().all(|address| !address.contains(KEY)));
    assert_eq!(stub.activations.len(), 5);
    for activation in &stub.activations {
        assert!(activation["first_name"].as_str().unwrap().starts_with("Patient "));
        for field in ["birthday", "gender", "height", "weight", "time_zone", "password"] {
            assert!(!activation[field].is_null(), "{field}");
        }
    }
    for patient in stub.activations.iter().map(|activation| activation["code"].as_str().unwrap()) {
        let spans = spans(&stub, patient);
        assert_eq!(spans.len(), 4);
        assert_eq!(spans[0].1, NOW_MS, "the newest day first");
        assert!(spans.windows(2).all(|pair| pair[1].1 == pair[0].0), "{spans:?}");
        assert_eq!(spans[3].0 % 86_400_000, 0);
    }
}

#[tokio::test]
async fn the_present_follows_the_past_without_a_gap_and_each_scenario_in_its_manner() {
    for scenario in [Scenario::Healthy, Scenario::LateSync, Scenario::DuplicateSync] {
        let (url, memory) = start(Stub::default()).await;
        let fleet = fleet(&url, 1, |config| {
            config.cast = Cast::All(scenario);
            config.gzip = true;
        });
        let live = Live { tick: Duration::from_millis(2), step_ms: 60_000, lag_ms: 30 * 60_000, ticks: Some(40) };
        let result = fleet.run(Some(live), unstopped()).await.unwrap();
        let stub = memory.lock().unwrap();
        assert!(stub.was_gzip);
        let arrived = spans(&stub, "V1");
        let mut distinct = arrived.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 31, "one day and thirty minutes, though there were forty ticks");
        assert!(distinct.windows(2).all(|pair| pair[0].1 == pair[1].0), "{scenario}");
        assert_eq!(distinct.last().unwrap().1, NOW_MS, "never past the clock");
        let is_in_order = arrived.is_sorted();
        assert_eq!(is_in_order, scenario != Scenario::LateSync);
        let copies = if scenario == Scenario::DuplicateSync { 2 } else { 1 };
        assert_eq!(arrived.len(), 31 * copies);
        assert_eq!(result.syncs as usize, arrived.len());
        let serial = &stub.syncs[0].1["device"]["serial_number"];
        assert_eq!(serial, "SIM-u1", "no two patients of a service share a bracelet");
        for pair in stub.syncs.chunks(copies) {
            assert!(pair.iter().all(|sync| *sync == pair[0]), "a duplicate is equal, identifier and all");
        }
    }
}

#[tokio::test]
async fn a_stopped_fleet_ends_and_sends_what_it_held_back() {
    let (url, memory) = start(Stub::default()).await;
    let fleet = fleet(&url, 2, |config| {
        config.cast = Cast::All(Scenario::LateSync);
    });
    let (stop, stopped) = watch::channel(false);
    let live = Live { tick: Duration::from_millis(5), step_ms: 60_000, lag_ms: 12 * 3_600_000, ticks: None };
    let running = tokio::spawn({
        let fleet = fleet.clone();
        async move { fleet.run(Some(live), stopped).await }
    });
    // Both histories and the first two releases have arrived.
    while memory.lock().unwrap().syncs.len() < 2 + 2 * 20 + 1 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    stop.send(true).unwrap();
    let result = running.await.unwrap().unwrap();
    let stub = memory.lock().unwrap();
    for patient in ["V1", "V2"] {
        let mut spans = spans(&stub, patient);
        spans.sort_unstable();
        assert!(spans.windows(2).all(|pair| pair[0].1 == pair[1].0), "nothing was lost");
    }
    assert_eq!(result.syncs as usize, stub.syncs.len());
}

#[tokio::test]
async fn a_load_has_the_asked_number_of_syncs_and_never_sends_a_minute_twice() {
    let (url, memory) = start(Stub::default()).await;
    let fleet = fleet(&url, 7, |_| {});
    let sessions = fleet.enrol().await.unwrap();
    let plan = LoadPlan::one_minute_syncs(Duration::from_millis(300), Some(200.0));
    let result = fleet.load(&sessions, plan).await.unwrap();
    assert_eq!((result.syncs, result.failed), (60, 0));
    let bounded = LoadPlan { rate: None, begin_before_ms: 5 * 60_000, duration: Duration::from_mins(1), ..plan };
    let again = fleet.load(&sessions, bounded).await.unwrap();
    assert_eq!(again.syncs, 7 * 5, "ends when the data reach the present");
    let stub = memory.lock().unwrap();
    let mut minutes: Vec<String> = stub.syncs[..60]
        .iter()
        .map(|(patient, body)| format!("{patient} {}", body["data"]["activity"]["timestamp"]))
        .collect();
    minutes.sort();
    minutes.dedup();
    assert_eq!(minutes.len(), 60);
}

#[tokio::test]
async fn refusals_name_the_request_and_never_the_key() {
    let (url, _memory) = start(Stub::default()).await;
    let wrong_key = fleet(&url, 1, |config| config.api_key = "pwk_wrong".to_owned());
    let error = wrong_key.run(None, unstopped()).await.unwrap_err();
    assert!(matches!(error, BraceletError::Refused { status: 401, .. }));
    assert_eq!(error.to_string(), "cannot create a group: status 401 no key");
    let nobody = fleet("http://127.0.0.1:9", 1, |config| {
        config.retry_for = Duration::from_millis(300);
    });
    let error = nobody.run(None, unstopped()).await.unwrap_err();
    assert!(!format!("{error} {error:?} {:?}", FleetConfig::new(&url, KEY, "pass word", 1)).contains(KEY));
    assert!(matches!(error, BraceletError::Http(_)));
}
