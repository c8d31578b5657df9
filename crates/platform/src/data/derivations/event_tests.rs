//! The events that a derivation leaves, as readers of the log find them, on both engines.

use serde_json::{Value, json};
use store::{Address, EventType, PatientId};
use testkit::Postgres;
use vitals::block::{Block, Cells};
use vitals::registry::{Channel, DataType, NULL};
use vitals::zone::ZoneRuns;

use crate::jobs;
use crate::test_service::{MINUTE_MS, NOON_MS, Service};

const VITALS: [(&str, i32); 4] =
    [("spo2", 970), ("respiration_rate", 160), ("core_temp", 3700), ("nibp_systolic", 120)];

/// Runs a test on a service over each engine.
macro_rules! on_both_engines {
    ($($name:ident)+) => {
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name(super::Service::start().await).await;
            })+
        }

        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                let (Some(users), Some(health)) = (super::Postgres::start(), super::Postgres::start()) else { return };
                let address = |server: &super::Postgres| super::Address::Postgres(server.url.clone());
                super::$name(super::Service::on(address(&users), address(&health)).await).await;
            })+
        }
    };
}

on_both_engines! {
    part_of_three_without_a_total_is_an_event
    score_and_parts_are_those_of_the_newest_entry
    day_and_score_of_a_sync_are_named
    what_keeps_the_total_away_is_named_by_its_reason
}

/// Rows with a heart rate each, at minutes before noon; `None` has no value at all.
fn rows(rates: &[(i64, Option<i32>)], others: &[(&str, i32)]) -> Block {
    let mut block = Block::empty(DataType::Activity, Channel::default());
    block.times_us = rates.iter().map(|(before, _)| (NOON_MS - before * MINUTE_MS) * 1000).collect();
    block.zones = ZoneRuns::constant("Europe/Zurich".into(), rates.len());
    let column = |name: &str| DataType::Activity.column_index(name).unwrap();
    let cells = |cell: i32| rates.iter().map(|(_, rate)| rate.map_or(NULL, |_| cell)).collect();
    block.columns[column("bpm")] =
        Cells::Values(rates.iter().map(|(_, rate)| rate.unwrap_or(NULL)).collect()).simplified();
    for (name, cell) in others {
        block.columns[column(name)] = Cells::Values(cells(*cell)).simplified();
    }
    // A row says something, if only that it was measured.
    block.columns[column("battery")] = Cells::Constant(80);
    block
}

async fn ada(service: &Service) -> PatientId {
    let ada = PatientId::new("ada");
    service.enrol(&ada).await;
    ada
}

/// Stores and derives a sync; returns the events that derivations have left of it.
async fn derived(service: &Service, patient: &PatientId, block: Block) -> Vec<(EventType, Value)> {
    let events = service.platform.core.health().events().clone();
    let before = events.after(patient, 0, 1_000).await.unwrap().last().map_or(0, |event| event.sequence);
    service.sync(patient, vec![block]).await;
    jobs::drain(&service.platform.upkeep, &["derive"]).await.unwrap();
    let left = events.after(patient, before, 1_000).await.unwrap().into_iter();
    left.map(|event| (event.event_type, event.body)).filter(|(of, _)| *of != EventType::SyncStored).collect()
}

async fn news_of(service: &Service, patient: &PatientId, block: Block) -> Vec<Value> {
    let events = derived(service, patient, block).await.into_iter();
    events.filter(|(of, _)| *of == EventType::NewsScored).map(|(_, body)| body).collect()
}

/// A pulse of 140 scores 3, whatever else is not known.
async fn part_of_three_without_a_total_is_an_event(service: Service) {
    let ada = ada(&service).await;
    let missing = ["respiration_rate", "spo2", "blood_pressure", "temperature"];
    let body = |time_ms: i64, heart_rate: i64| {
        json!({
            "score": null, "band": null, "time_ms": time_ms, "missing": missing, "low_quality": [], "stale": [],
            "sub_scores": {"respiration_rate": null, "spo2": null, "blood_pressure": null, "temperature": null,
                "heart_rate": heart_rate, "oxygen": 0, "consciousness": 0},
        })
    };
    let calm = news_of(&service, &ada, rows(&[(1, Some(60))], &[])).await;
    assert_eq!(calm, [body(NOON_MS - MINUTE_MS, 0)]);
    assert_eq!(news_of(&service, &ada, rows(&[(0, Some(140))], &[])).await, [body(NOON_MS, 3)]);
    // A late row before it is no news, and nor is the same again.
    assert_eq!(news_of(&service, &ada, rows(&[(2, Some(150))], &[])).await, [Value::Null; 0]);
    assert_eq!(news_of(&service, &ada, rows(&[(0, Some(140))], &[])).await, [Value::Null; 0]);
}

/// One sync changes the entry of 08:00 and takes that of noon back, so that 11:59 is the newest again.
async fn score_and_parts_are_those_of_the_newest_entry(service: Service) {
    let ada = ada(&service).await;
    let first = rows(&[(240, Some(60)), (1, Some(95)), (0, Some(60))], &VITALS);
    let scored = news_of(&service, &ada, first).await;
    assert_eq!(
        (&scored[0]["score"], &scored[0]["band"], &scored[0]["time_ms"]),
        (&json!(0), &json!("low"), &json!(NOON_MS))
    );
    let news = news_of(&service, &ada, rows(&[(240, Some(140)), (0, None)], &VITALS)).await;
    let sub_scores = json!({"respiration_rate": 0, "spo2": 0, "blood_pressure": 0, "temperature": 0, "heart_rate": 1,
        "oxygen": 0, "consciousness": 0});
    let expected = json!({
        "score": 1, "band": "low", "time_ms": NOON_MS - MINUTE_MS, "sub_scores": sub_scores,
        "missing": [], "low_quality": [], "stale": [],
    });
    assert_eq!(news, [expected]);
    let removed = news_of(&service, &ada, rows(&[(240, None), (1, None)], &VITALS)).await;
    assert_eq!(removed.len(), 1);
    assert_eq!((&removed[0]["score"], &removed[0]["time_ms"]), (&Value::Null, &Value::Null), "none is left");
}

async fn day_and_score_of_a_sync_are_named(service: Service) {
    let ada = ada(&service).await;
    let left = derived(&service, &ada, rows(&[(0, Some(140))], &VITALS)).await;
    let types: Vec<EventType> = left.iter().map(|(of, _)| *of).collect();
    assert_eq!(types, [EventType::DayUpdated, EventType::NewsScored]);
    assert_eq!(left[0].1["day"], "2025-11-20");
    let sections = left[0].1["sections"].as_array().unwrap();
    assert!(sections.contains(&json!("heart_rate")), "{sections:?}");
    assert_eq!((&left[1].1["score"], &left[1].1["band"]), (&json!(3), &json!("low-medium")));
}

async fn what_keeps_the_total_away_is_named_by_its_reason(service: Service) {
    let ada = ada(&service).await;
    news_of(&service, &ada, rows(&[(40, Some(60))], &VITALS)).await;
    let poor = [("bpm_q", 0), ("respiration_rate", 160)];
    let news = news_of(&service, &ada, rows(&[(0, Some(140))], &poor)).await;
    assert_eq!(news.len(), 1);
    assert_eq!((&news[0]["low_quality"], &news[0]["missing"]), (&json!(["heart_rate"]), &json!([])));
    assert_eq!(news[0]["stale"], json!(["spo2", "temperature"]), "a pressure counts for twelve hours");
    assert_eq!(news[0]["sub_scores"]["blood_pressure"], 0);
}
