//! Waveforms: damage far behind the first rows of an answer.

use std::path::PathBuf;

use platform::seal::Until;
use serde_json::{Value, json};
use store::DamageTarget;
use vitals::registry::DataType;

use crate::common::{Answer, Enrolled, Story};
use crate::{MIDNIGHT_MS, damage, story_of_two};

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
