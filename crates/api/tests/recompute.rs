//! Recomputing: nothing differs on healthy data, and what was damaged is found, reported and put right.

mod common;

use std::collections::BTreeSet;

use common::Story;
use platform::derivations::Recomputed;
use serde_json::json;
use store::{DerivationCommit, PatientId, Role};
use vitals::derivation::{DerivedRow, Output, day_and};
use vitals::summary::Section;
use vitals::zone::LocalDay;

/// 2025-11-19T00:00Z.
const MIDNIGHT_MS: i64 = 1_763_510_400_000;

#[tokio::test]
async fn damage_is_found_and_put_right() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let grace = story.patient(&key, &group, json!({})).await;
    let other = story.patient(&key, &group, json!({})).await;
    let times: Vec<i64> = (0..60).map(|minute| MIDNIGHT_MS + minute * 60_000).collect();
    let activity = json!({"timestamp": times, "bpm": 70, "spo2": 97, "respiration_rate": 15});
    let nights = json!({"timestamp": times, "sleep_state": 1});
    for patient in [&grace, &other] {
        story.sync(patient, json!({"activity": activity, "sleep": nights})).await;
    }
    let path = format!("/integration/v1/patients/{}/summary/2025-11-19?token={key}&include_slots=1", grace.uuid);
    let healthy = story.get(&path).await.ok();
    let of_everyone = story.platform.data.recompute(None, |_, _| {}).await.expect("recomputed");
    assert_eq!(of_everyone, Recomputed { windows: 2 * 24, differences: 0 });

    let health = story.platform.core.health();
    let claim = health
        .claim_patient(&PatientId::new(grace.uuid.as_str()), None, story.now_ms(), 1)
        .await
        .expect("an answer")
        .expect("a claim");
    let day = LocalDay::parse("2025-11-19").expect("a day");
    let stored = health.all_derived(&PatientId::new(grace.uuid.as_str())).await.expect("an answer");
    // One value of each output is gone, one cannot be read, and one is there that nothing gives.
    let mut rows: Vec<DerivedRow> = Vec::new();
    for row in &stored {
        if rows.last().is_none_or(|last| last.output != row.output) {
            rows.push(DerivedRow { body: None, ..row.clone() });
        }
    }
    assert!(rows.len() >= 4, "{rows:?}");
    let damaged = stored.iter().find(|row| row.output == Output::DayInputs).expect("inputs of a day");
    rows.push(DerivedRow { body: Some(vec![1, 2, 3]), ..damaged.clone() });
    let key = day_and(day, Section::Stress.number());
    rows.push(DerivedRow { output: Output::Section, key, version: 3, body: Some(b"{}".to_vec()) });
    let damages = rows.iter().map(|row| (row.output, row.key)).collect::<BTreeSet<_>>().len() as u64;
    let damage = DerivationCommit { rows, ..DerivationCommit::nothing(claim) };
    health.commit_derivations(vec![damage]).await.expect("damaged");
    assert_ne!(story.get(&path).await.ok(), healthy);

    let mut reported = Vec::new();
    let found =
        story.platform.data.recompute(None, |patient, found| reported.push((patient.to_owned(), found.differences)));
    let found = found.await.expect("recomputed");
    assert_eq!(found.differences, damages);
    assert_eq!(health.all_derived(&PatientId::new(grace.uuid.as_str())).await.expect("an answer"), stored);
    assert_eq!(
        reported.iter().filter(|(patient, _)| patient.as_str() == other.uuid).map(|(_, found)| *found).sum::<u64>(),
        0
    );
    assert_eq!(story.get(&path).await.ok(), healthy);
    let again =
        story.platform.data.recompute(Some(&PatientId::new(grace.uuid.as_str())), |_, _| {}).await.expect("recomputed");
    assert_eq!(again, Recomputed { windows: 24, differences: 0 });
    assert!(story.platform.data.recompute(Some(&PatientId::new("nobody")), |_, _| {}).await.is_err());
}
