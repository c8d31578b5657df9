//! Stored bytes that are not what was written: what needs them is refused and says which they are, and all else goes on.

mod common;
#[path = "damaged_data/lists.rs"]
mod lists;
#[path = "damaged_data/waveforms.rs"]
mod waveforms;

use common::{Enrolled, Story};
use platform::PlatformError;
use serde_json::{Value, json};
use store::{DamageTarget, PatientId, Role};
use vitals::derivation::Output;
use vitals::measured::Measured;

const DAY: &str = "2025-11-19";
/// 2025-11-19T00:00Z.
const MIDNIGHT_MS: i64 = 1_763_510_400_000;

async fn story_of_two() -> (Story, String, String, [Enrolled; 2]) {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let first = story.patient(&key, &group, json!({})).await;
    // Lists are in the order in which patients joined.
    story.pass_ms(1);
    let patients = [first, story.patient(&key, &group, json!({})).await];
    for patient in &patients {
        story.sync(patient, json!({"activity": activity(0)})).await;
    }
    (story, key, group, patients)
}

/// An hour of minutes.
fn activity(first_minute: i64) -> Value {
    let times: Vec<i64> = (first_minute..first_minute + 60).map(|minute| MIDNIGHT_MS + minute * 60_000).collect();
    json!({"timestamp": times, "bpm": 70, "spo2": 97, "respiration_rate": 15})
}

async fn damage(story: &Story, patient: &Enrolled, target: DamageTarget) {
    let uuid = PatientId::new(patient.uuid.as_str());
    story.platform.core.health().damage(&uuid, target).await.expect("damaged");
}

fn summary(patient: &Enrolled, key: &str) -> String {
    format!("/integration/v1/patients/{}/summary/{DAY}?token={key}&include_slots=1", patient.uuid)
}

#[tokio::test]
async fn damaged_summary_is_refused_with_its_day_and_recompute_brings_it_back() {
    let (story, key, _, [grace, other]) = story_of_two().await;
    let sound = story.get(&summary(&grace, &key)).await.ok();
    for (output, what) in [(Output::Section, "daily summaries"), (Output::Slots, "activity")] {
        damage(&story, &grace, DamageTarget::Derived(output)).await;
        let refused = story.get(&summary(&grace, &key)).await;
        assert_eq!(refused.status, 503, "{refused:?}");
        assert_eq!(refused.body["code"], "data_damaged");
        let expected =
            format!("stored {what} from {DAY}T00:00:00Z to {DAY}T23:59:59.999999Z are damaged and are not shown");
        assert_eq!(refused.body["message"], expected);
        assert_eq!(refused.headers["retry-after"], "300");
        story.get(&summary(&other, &key)).await.ok();

        let uuid = PatientId::new(grace.uuid.as_str());
        let found = story.platform.data.recompute(Some(&uuid), |_, _| {}).await.expect("recomputed");
        assert!(found.differences > 0);
        assert_eq!(story.get(&summary(&grace, &key)).await.ok(), sound);
    }
}

#[tokio::test]
async fn damaged_latest_values_are_not_shown_until_they_are_computed_again() {
    let (story, key, group, [grace, _]) = story_of_two().await;
    let health = story.platform.core.health();
    let uuid = PatientId::new(grace.uuid.as_str());
    let sound = health.stored_latest(&uuid).await.expect("values");
    damage(&story, &grace, DamageTarget::Latest).await;
    let of_list = format!("/integration/v1/groups/{group}/patients?token={key}&with_latest_values=1");
    let of_grace = format!("/integration/v1/patients/{}/latest-news-score?token={key}", grace.uuid);
    let hidden = async || {
        let list = story.get(&of_list).await.ok();
        assert_eq!((&list[0]["unreadable"], &list[0]["latest_values"]), (&json!(true), &json!({})), "{list}");
        assert_eq!(story.get(&of_grace).await.error(), (503, "data_damaged"));
    };
    hidden().await;

    // Rows are taken all the same and do not hide the damage.
    let sync = json!({"data": {"activity": activity(600)}});
    story.post_as("/health/v1/sync", &grace.health_token, sync).await.ok();
    hidden().await;
    story.platform.data.recompute(Some(&uuid), |_, _| {}).await.expect("recomputed");
    let list = story.get(&of_list).await.ok();
    assert_eq!((&list[0]["unreadable"], &list[0]["latest_values"]["heart_rate"]), (&Value::Null, &json!(70.0)));
    story.get(&of_grace).await.ok();
    let again = health.stored_latest(&uuid).await.expect("values");
    let newest_ms = |values: Measured| values.valid.heart_rate.expect("a heart rate").timestamp_ms;
    assert!(newest_ms(again) > newest_ms(sound), "{again:?}");
}

#[tokio::test]
async fn patient_who_cannot_be_recomputed_does_not_stop_the_others() {
    let (story, key, _, mut patients) = story_of_two().await;
    // Patients are taken in the order of their uuids.
    patients.sort_by(|one, other| one.uuid.cmp(&other.uuid));
    let [first, second] = patients;
    let sound = story.get(&summary(&second, &key)).await.ok();
    damage(&story, &first, DamageTarget::Chunks).await;
    damage(&story, &second, DamageTarget::Derived(Output::Section)).await;
    let failed = story.platform.data.recompute(None, |_, _| {}).await.expect_err("rows cannot be read");
    assert!(matches!(failed, PlatformError::Store(error) if error.is_damage()));
    assert_eq!(story.get(&summary(&second, &key)).await.ok(), sound);
}

#[tokio::test]
async fn damaged_rows_stop_the_derivations_of_their_patient_alone() {
    let (story, key, _, [grace, other]) = story_of_two().await;
    let sound = story.get(&summary(&grace, &key)).await.ok();
    damage(&story, &grace, DamageTarget::Chunks).await;
    for patient in [&grace, &other] {
        // Within a window of damaged rows, and not over any of them.
        let row = json!({"activity": {"timestamp": [MIDNIGHT_MS + 30_000], "bpm": [90], "spo2": [91]}});
        let sync = json!({"time_zone": "UTC", "data": row});
        story.post_as("/health/v1/sync", &patient.health_token, sync).await;
    }
    story.jobs(&["derive"]).await;
    assert_eq!(story.get(&summary(&grace, &key)).await.ok(), sound, "as before");
    assert_ne!(story.get(&summary(&other, &key)).await.ok()["heart_rate"], sound["heart_rate"]);
}
