//! Waveforms: damage far behind the first rows of an answer, and rows that come over damaged ones.

use std::path::PathBuf;

use platform::seal::Until;
use serde_json::{Value, json};
use store::DamageTarget;
use vitals::registry::DataType;

use crate::common::{Answer, Enrolled, Story};
use crate::{MIDNIGHT_MS, activity, damage, story_of_two};

const RATE_HZ: usize = 256;
/// Many pages of a sealed file, and several chunks.
const SECONDS: usize = 600;
const JSON: &str = "application/json";

/// Samples that no encoding makes small, so that their pages are most of a file.
fn values(seconds: usize) -> Vec<f64> {
    let mut state = 7_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) % 8_000) as f64 / 1_000.0 - 4.0
    };
    (0..seconds * RATE_HZ).map(|_| next()).collect()
}

fn ecg(seconds: usize) -> Value {
    json!({"ecg": [{"start": MIDNIGHT_MS, "rate_hz": RATE_HZ, "ecg": values(seconds)}]})
}

/// The same samples at the whole milliseconds that represent them.
fn ecg_at_milliseconds(seconds: usize) -> Value {
    let times = (0..seconds * RATE_HZ).map(|row| MIDNIGHT_MS + (row * 1_000 / RATE_HZ) as i64);
    json!({"ecg": {"timestamp": times.collect::<Vec<i64>>(), "ecg": values(seconds)}})
}

async fn send(story: &Story, patient: &Enrolled, data: Value) -> Answer {
    story.post_as("/health/v1/sync", &patient.health_token, json!({ "data": data })).await
}

fn path() -> String {
    "/health/v2/raw-metrics/ecg?from_date=2025-11-19T00:00:00Z&to_date=2025-11-19T00:10:00Z".to_owned()
}

async fn raw(story: &Story, patient: &Enrolled) -> axum::body::Bytes {
    let (status, bytes) = story.bytes_of(&path(), &patient.health_token, JSON).await;
    assert_eq!(status, 200);
    bytes
}

async fn assert_refused(story: &Story, patient: &Enrolled) {
    let refused = story.get_as(&path(), &patient.health_token).await;
    assert_eq!((refused.status.as_u16(), &refused.body["code"]), (503, &json!("data_damaged")));
    assert!(refused.headers.contains_key("retry-after"));
}

async fn sealed_file(story: &Story, data_type: DataType) -> PathBuf {
    let core = &story.platform.core;
    let sealed = core.health().segments_by_path("").await.expect("a list");
    let sealed = sealed.into_iter().find(|row| row.data_type == data_type).expect("a sealed file");
    core.objects().as_folder().expect("a folder").join(sealed.object.path)
}

#[tokio::test]
async fn bit_behind_the_first_rows_of_a_sealed_file_is_found_before_the_first_byte() {
    let (story, _, _, [grace, _]) = story_of_two().await;
    send(&story, &grace, ecg(SECONDS)).await.ok();
    story.platform.upkeep.seal(Until::Now, |_| {}).await.expect("sealed");
    let sound = raw(&story, &grace).await;
    let file = sealed_file(&story, DataType::Ecg).await;
    let bytes = std::fs::read(&file).expect("bytes");
    for percent in [5, 30, 60, 80, 93] {
        let mut flipped = bytes.clone();
        flipped[bytes.len() * percent / 100] ^= 4;
        std::fs::write(&file, &flipped).expect("written");
        assert_refused(&story, &grace).await;
    }
    std::fs::write(&file, &bytes).expect("written");
    assert_eq!(raw(&story, &grace).await, sound);
}

#[tokio::test]
async fn last_chunk_of_an_answer_is_checked_before_the_first_byte() {
    let (story, _, _, [grace, _]) = story_of_two().await;
    send(&story, &grace, ecg(SECONDS)).await.ok();
    raw(&story, &grace).await;
    damage(&story, &grace, DamageTarget::LastChunk(DataType::Ecg)).await;
    assert_refused(&story, &grace).await;
}

#[tokio::test]
async fn waveform_over_a_missing_file_is_stored_with_all_else_and_compared_when_it_is_back() {
    let (story, _, _, [grace, _]) = story_of_two().await;
    send(&story, &grace, ecg(2)).await.ok();
    story.platform.upkeep.seal(Until::Now, |_| {}).await.expect("sealed");
    let sound = raw(&story, &grace).await;
    let file = sealed_file(&story, DataType::Ecg).await;
    let away = file.with_extension("away");
    std::fs::rename(&file, &away).expect("away");

    // What a phone sends again whose answer was lost, at the milliseconds that it knows, and what is new.
    let mut data = ecg_at_milliseconds(2);
    data["activity"] = activity(600);
    let receipt = send(&story, &grace, data.clone()).await.ok();
    let rows = 2 * RATE_HZ;
    assert_eq!(receipt["types"]["ecg"]["unverified"], json!(rows), "{receipt}");
    assert_eq!(receipt["types"]["ecg"]["stored"], json!(0), "{receipt}");
    assert_eq!(receipt["types"]["activity"]["stored"], json!(60), "{receipt}");
    assert_eq!(send(&story, &grace, data.clone()).await.ok()["types"]["activity"]["duplicate"], json!(60));
    assert_refused(&story, &grace).await;

    std::fs::rename(&away, &file).expect("back");
    // Until they are compared nobody can say which of them are the same samples.
    assert_refused(&story, &grace).await;
    let receipt = send(&story, &grace, ecg_at_milliseconds(1)).await.ok();
    assert_eq!(receipt["types"]["ecg"]["unverified"], json!(RATE_HZ), "{receipt}");
    story.pass_ms(60_000);
    story.jobs(&["verify_rows"]).await;
    assert_eq!(raw(&story, &grace).await, sound);
    story.platform.upkeep.seal(Until::Now, |_| {}).await.expect("sealed");
    assert_eq!(raw(&story, &grace).await, sound);
    let receipt = send(&story, &grace, ecg_at_milliseconds(2)).await.ok();
    assert_eq!(receipt["types"]["ecg"]["duplicate"], json!(rows), "{receipt}");
}
