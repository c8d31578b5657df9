//! The derivation jobs over a real database: from a sync to what readers see.

use std::sync::atomic::Ordering;
use std::time::Duration;

use store::{DerivationCommit, HealthChange, PatientId};
use vitals::block::{Block, Cells};
use vitals::derivation::{DerivedRow, NEWS_SETTING, Output, versions};
use vitals::registry::{Channel, DataType, TestKind};
use vitals::zone::ZoneRuns;

use super::membership::NodeName;
use crate::core::access::Readable;
use crate::core::signals::EngineState;
use crate::test_service::{MINUTE_MS, NOON_MS, Service, minutes_to_noon};
use crate::upkeep::jobs;

/// Milliseconds of a day.
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

async fn drain(service: &Service) -> usize {
    jobs::drain(&service.platform.upkeep, &["derive"]).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sync_becomes_latest_values_a_score_and_a_day() {
    let service = Service::start().await;
    for patient in ["ada", "grace"] {
        service.enrol(&PatientId::new(patient)).await;
    }
    service.sync(&PatientId::new("ada"), vec![minutes_to_noon(&[60, 61, 62])]).await;
    service.sync(&PatientId::new("grace"), vec![minutes_to_noon(&[95])]).await;
    assert_eq!(drain(&service).await, 2);
    assert_eq!(drain(&service).await, 0);

    assert_eq!(service.heart_rate(&PatientId::new("ada")).await, Some((62.0, NOON_MS)));
    let latest = service
        .platform
        .data
        .latest_values(&Readable::for_test(&[PatientId::new("ada"), PatientId::new("grace")]))
        .await
        .unwrap();
    assert_eq!(latest[&PatientId::new("ada")].news_score.map(Into::into), Some((0.0, NOON_MS)));
    assert_eq!(latest[&PatientId::new("grace")].news_score.map(Into::into), Some((1.0, NOON_MS)));
    let day = service.day_json(&PatientId::new("ada")).await;
    assert_eq!(day["heart_rate"]["max_daily_heart_rate"], 62);
    assert_eq!(day["heart_rate"]["slots"].as_array().unwrap().len(), 2);
    assert_eq!(day["heart_rate"]["slots"][1]["date"], "13:00");
    assert_eq!(service.day_json(&PatientId::new("nobody")).await["heart_rate"], serde_json::json!({}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_row_takes_its_value_back() {
    let service = Service::start().await;
    service.enrol(&PatientId::new("ada")).await;
    service.sync(&PatientId::new("ada"), vec![minutes_to_noon(&[60, 61, 62])]).await;
    drain(&service).await;
    service.sync(&PatientId::new("ada"), vec![minutes_to_noon(&[0])]).await;
    drain(&service).await;
    assert_eq!(service.heart_rate(&PatientId::new("ada")).await, Some((61.0, NOON_MS - MINUTE_MS)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_measurement_ahead_of_the_clock_waits() {
    let service = Service::start().await;
    service.enrol(&PatientId::new("ada")).await;
    let mut spot = Block::empty(DataType::Tests, Channel::of_test(TestKind::code("heart_rate").unwrap()));
    spot.columns[0] = Cells::Constant(TestKind::code("heart_rate").unwrap());
    spot.columns[1] = Cells::Constant(77_000);
    spot.times_us = vec![(NOON_MS + 10 * MINUTE_MS) * 1000];
    spot.zones = ZoneRuns::constant("UTC".into(), 1);
    service.sync(&PatientId::new("ada"), vec![minutes_to_noon(&[60]), spot]).await;
    drain(&service).await;
    assert_eq!(service.heart_rate(&PatientId::new("ada")).await, Some((60.0, NOON_MS)));
    service.now_ms.store(NOON_MS + 5 * MINUTE_MS, Ordering::Relaxed);
    assert_eq!(drain(&service).await, 1);
    assert_eq!(service.heart_rate(&PatientId::new("ada")).await, Some((77.0, NOON_MS + 10 * MINUTE_MS)));
    assert_eq!(drain(&service).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn value_that_was_taken_while_the_clock_was_ahead_waits_once_it_is_right() {
    let service = Service::start().await;
    let ada = PatientId::new("ada");
    service.enrol(&ada).await;
    service.sync(&ada, vec![minutes_to_noon(&[60])]).await;
    drain(&service).await;
    service.pass_ms(60 * MINUTE_MS);
    let mut later = minutes_to_noon(&[99]);
    later.times_us = vec![(NOON_MS + 59 * MINUTE_MS) * 1000];
    service.sync(&ada, vec![later]).await;
    drain(&service).await;
    assert_eq!(service.heart_rate(&ada).await, Some((99.0, NOON_MS + 59 * MINUTE_MS)));

    // Right again; the next sync is of the true time.
    service.now_ms.store(NOON_MS + MINUTE_MS, Ordering::Relaxed);
    let mut now = minutes_to_noon(&[61]);
    now.times_us = vec![(NOON_MS + MINUTE_MS) * 1000];
    service.sync(&ada, vec![now]).await;
    drain(&service).await;
    assert_eq!(service.heart_rate(&ada).await, Some((61.0, NOON_MS + MINUTE_MS)));
    service.now_ms.store(NOON_MS + 54 * MINUTE_MS, Ordering::Relaxed);
    assert_eq!(drain(&service).await, 1);
    assert_eq!(service.heart_rate(&ada).await, Some((99.0, NOON_MS + 59 * MINUTE_MS)), "its time has come");
}

/// What a clock that was ahead has left: a value and a setting of NEWS whose time comes in twenty days.
async fn left_by_a_clock_ahead(service: &Service, patient: &PatientId) -> i64 {
    service.enrol(patient).await;
    service.sync(patient, vec![minutes_to_noon(&[60])]).await;
    drain(service).await;
    service.pass_ms(20 * DAY_MS);
    let ahead_ms = NOON_MS + 20 * DAY_MS;
    service.sync_minute(patient).await;
    let fields = serde_json::json!({ "oxygen": true }).as_object().unwrap().clone();
    let oxygen = HealthChange::SetSetting {
        uuid: patient.clone(),
        name: NEWS_SETTING.to_owned(),
        valid_from_ms: ahead_ms + MINUTE_MS,
        fields,
        at_ms: ahead_ms + MINUTE_MS,
    };
    service.platform.core.health().apply(oxygen).await.unwrap();
    service.pass_ms(MINUTE_MS);
    drain(service).await;
    assert_eq!(
        newest_news(service, patient).await,
        Some((ahead_ms + MINUTE_MS, Some(2))),
        "derived while it was ahead"
    );
    service.now_ms.store(NOON_MS + MINUTE_MS, Ordering::Relaxed);
    ahead_ms + MINUTE_MS
}

async fn newest_news(service: &Service, patient: &PatientId) -> Option<(i64, Option<u8>)> {
    let entry = service.platform.core.health().newest_news(patient).await.unwrap();
    entry.map(|entry| (entry.time_ms, entry.total))
}

/// The number of runs until the patient rests.
async fn runs_to_rest(service: &Service) -> usize {
    runtime::timeout(Duration::from_secs(20), drain(service)).await.expect("derivations come to rest")
}

#[tokio::test(flavor = "multi_thread")]
async fn patient_with_settings_and_rows_far_ahead_is_derived_a_few_times_and_again_in_their_time() {
    let service = Service::start().await;
    let ada = PatientId::new("ada");
    let setting_ms = left_by_a_clock_ahead(&service, &ada).await;
    let mut signal = Block::empty(DataType::Ppg1, Channel::default());
    signal.times_us = vec![(NOON_MS + MINUTE_MS) * 1000, (NOON_MS + 5 * DAY_MS) * 1000];
    signal.zones = ZoneRuns::constant("UTC".into(), 2);
    signal.columns[0] = Cells::Constant(7);
    service.sync_minute(&ada).await;
    service.sync(&ada, vec![signal]).await;
    // Twenty days of vital signs in parts of eight days, and five days of waveforms in parts of one.
    let runs = runs_to_rest(&service).await;
    assert!((1..=12).contains(&runs), "{runs}");
    assert_eq!(drain(&service).await, 0);
    assert_eq!(newest_news(&service, &ada).await, Some((NOON_MS + MINUTE_MS, Some(0))), "the rest is taken back");
    assert_eq!(service.heart_rate(&ada).await, Some((60.0, NOON_MS + MINUTE_MS)));

    // What has been taken back does not make the next sync longer.
    service.pass_ms(MINUTE_MS);
    service.sync_minute(&ada).await;
    assert_eq!(runs_to_rest(&service).await, 1);

    service.now_ms.store(setting_ms - MINUTE_MS, Ordering::Relaxed);
    assert!(runs_to_rest(&service).await > 0, "its time has come");
    assert_eq!(newest_news(&service, &ada).await, Some((setting_ms, Some(2))));
    assert_eq!(drain(&service).await, 0);
}

/// A setting from which nothing was scored while the clock was ahead has no entry to take back, and makes one all the same.
#[tokio::test(flavor = "multi_thread")]
async fn setting_ahead_of_all_rows_is_scored_when_its_time_has_come() {
    let service = Service::start().await;
    let ada = PatientId::new("ada");
    let setting_ms = left_by_a_clock_ahead(&service, &ada).await;
    let later_ms = setting_ms + 20 * DAY_MS;
    service.now_ms.store(later_ms, Ordering::Relaxed);
    let fields = serde_json::json!({ "oxygen": false }).as_object().unwrap().clone();
    let uuid = ada.clone();
    let air = HealthChange::SetSetting {
        uuid,
        name: NEWS_SETTING.to_owned(),
        valid_from_ms: later_ms,
        fields,
        at_ms: later_ms,
    };
    service.platform.core.health().apply(air).await.unwrap();
    drain(&service).await;
    service.now_ms.store(later_ms - 20 * MINUTE_MS, Ordering::Relaxed);
    service.sync_minute(&ada).await;
    runs_to_rest(&service).await;
    assert_eq!(newest_news(&service, &ada).await, Some((later_ms - 20 * MINUTE_MS, Some(2))));
    service.now_ms.store(later_ms, Ordering::Relaxed);
    assert_eq!(runs_to_rest(&service).await, 1);
    assert_eq!(newest_news(&service, &ada).await, Some((later_ms, Some(0))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_worker_derives_what_is_synced_and_stops_when_asked() {
    let service = Service::start().await;
    service.enrol(&PatientId::new("ada")).await;
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let node = NodeName { name: "node".to_owned(), version: "1".to_owned() };
    let worker = runtime::spawn("engine", jobs::run(service.platform.upkeep.clone(), node, stopped));
    service.sync(&PatientId::new("ada"), vec![minutes_to_noon(&[60])]).await;
    let derived = async {
        while service.day_json(&PatientId::new("ada")).await["heart_rate"] == serde_json::json!({}) {
            runtime::sleep(Duration::from_millis(5)).await;
        }
    };
    runtime::timeout(Duration::from_mins(1), derived).await.unwrap();
    stop.send(true).unwrap();
    worker.await.unwrap();
    // Nothing is of another version here, so nothing becomes due.
    assert_eq!(service.platform.data.mark_other_versions().await.unwrap(), 0);
    assert_eq!(drain(&service).await, 0);
}

/// The lease of the claim would hold for a minute, which never passes here.
#[tokio::test(flavor = "multi_thread")]
async fn claim_whose_answer_is_lost_holds_no_patient_up() {
    let service = Service::start().await;
    service.enrol(&PatientId::new("ada")).await;
    service.sync(&PatientId::new("ada"), vec![minutes_to_noon(&[60])]).await;
    let health = service.platform.core.health();
    health.plan_failure("claims.claim_due", store::FailureMoment::AfterItCommits);
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let node = NodeName { name: "node".to_owned(), version: "1".to_owned() };
    let worker = runtime::spawn("engine", jobs::run(service.platform.upkeep.clone(), node, stopped));
    let begun = runtime::Instant::now();
    let derived = async {
        while service.day_json(&PatientId::new("ada")).await["heart_rate"] == serde_json::json!({}) {
            runtime::sleep(Duration::from_millis(5)).await;
        }
    };
    runtime::timeout(Duration::from_secs(50), derived).await.expect("it is derived");
    assert!(health.failures_to_come().is_empty());
    println!("derived {:?} after the start, although the answer to the first claim was lost", begun.elapsed());
    stop.send(true).unwrap();
    worker.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_version_has_computed_is_computed_again_once() {
    let service = Service::start().await;
    service.enrol(&PatientId::new("ada")).await;
    service.sync(&PatientId::new("ada"), vec![minutes_to_noon(&[60])]).await;
    drain(&service).await;
    let health = service.platform.core.health();
    let derived = health.all_derived(&PatientId::new("ada")).await.unwrap();
    let older = versions().replace("day_sections=", "day_sections=0");
    let claim = health.claim_patient(&PatientId::new("ada"), None, NOON_MS, 1).await.unwrap().unwrap();
    let is_section = |row: &&DerivedRow| row.output == Output::Section;
    let rows: Vec<_> = derived.iter().filter(is_section).map(|row| DerivedRow { body: None, ..row.clone() }).collect();
    assert!(!rows.is_empty());
    health.commit_derivations(vec![DerivationCommit { rows, ..DerivationCommit::nothing(claim) }]).await.unwrap();
    health.derive_again(&PatientId::new("ada"), &older, Vec::new()).await.unwrap();
    assert_eq!(drain(&service).await, 0);

    assert_eq!(service.platform.data.mark_other_versions().await.unwrap(), 1);
    assert_eq!(service.platform.data.mark_other_versions().await.unwrap(), 0);
    assert_eq!(drain(&service).await, 1);
    assert_eq!(health.all_derived(&PatientId::new("ada")).await.unwrap(), derived);
}

/// While nodes of two versions run, each derives what is claimed by it: the newer one has to do that again later.
#[tokio::test(flavor = "multi_thread")]
async fn what_an_older_program_computes_next_to_a_newer_one_is_found_at_the_next_start() {
    let service = Service::start().await;
    service.enrol(&PatientId::new("ada")).await;
    let health = service.platform.core.health();
    let newer = format!("{},figure=1", versions().replace("news=", "news=9"));
    health.derive_again(&PatientId::new("ada"), &newer, Vec::new()).await.unwrap();
    assert_eq!(health.patients_of_other_versions(&newer, None, 9).await.unwrap(), []);

    service.sync(&PatientId::new("ada"), vec![minutes_to_noon(&[60])]).await;
    assert_eq!(drain(&service).await, 1);
    let found = health.patients_of_other_versions(&newer, None, 9).await.unwrap();
    let common = versions().split(',').filter(|version| !version.starts_with("news=")).collect::<Vec<_>>().join(",");
    assert_eq!(found, [(PatientId::new("ada"), common)]);
}

/// Something that happens before an operation panics in the task that asks for it: here the engine's own loop.
#[tokio::test(flavor = "multi_thread")]
async fn engine_that_panics_is_counted_started_again_and_works_on() {
    let service = Service::start().await;
    let ada = PatientId::new("ada");
    service.enrol(&ada).await;
    let health = service.platform.core.health();
    health.plan_meanwhile("claims.claim_due", Box::pin(async { panic!("the engine panics for a test") }));
    let signals = service.platform.core.signals().clone();
    assert_eq!((signals.counts().1, signals.works()), (0, false));
    assert_eq!(signals.engine(), None, "none was started");
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let node = NodeName { name: "node".to_owned(), version: "1".to_owned() };
    let worker = runtime::spawn("engine", jobs::run(service.platform.upkeep.clone(), node, stopped));
    service.sync(&ada, vec![minutes_to_noon(&[60])]).await;
    let until = async |is_reached: &(dyn Fn() -> bool + Sync)| {
        let reached = async {
            while !is_reached() {
                runtime::sleep(Duration::from_millis(5)).await;
            }
        };
        runtime::timeout(Duration::from_secs(30), reached).await.expect("reached");
    };
    until(&|| signals.counts().1 == 1).await;
    assert!(!signals.works(), "no engine works until the next one begins");
    assert_eq!(signals.engine(), Some(EngineState { works: false, restarts: 1 }));
    assert!(health.failures_to_come().is_empty());
    until(&|| signals.works()).await;
    let derived = async {
        while service.heart_rate(&ada).await.is_none() || service.day_json(&ada).await["heart_rate"]["slots"].is_null()
        {
            runtime::sleep(Duration::from_millis(5)).await;
        }
    };
    // The lease of the claim that was under way would hold for a minute of a clock that does not move here.
    runtime::timeout(Duration::from_secs(30), derived).await.expect("derived by the next engine");
    assert_eq!(signals.engine(), Some(EngineState { works: true, restarts: 1 }));
    stop.send(true).unwrap();
    worker.await.unwrap();
    assert!(!signals.works());
}
