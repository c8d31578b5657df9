//! Uploads of kilobytes that become gigabytes where they are believed: whatever they are, all of them together stay within the
//! memory that an operator allows, and others' syncs go on.
//!
//! The limits are an eighth of the usual ones, so that a program which is not optimised gets through them in seconds.

mod bodies;
mod full_size;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use tempfile::tempdir;

use self::bodies::{Bomb, bombs};
use crate::harness::{Patient, Researcher, Service};
use crate::meanwhile::Meanwhile;

const UPLOADS_MIB: u64 = 96;
const EXPANDED_MIB: usize = 32;
/// What a node may take above rest and the setting.
const SLACK_MIB: u64 = 64;
/// Ten times what the benchmark holds others' syncs to.
const LONGEST_P95: Duration = Duration::from_secs(2);
const AT_ONCE: usize = 4;
/// Minutes after which a patient's day begins again, so that all of it can be read at once.
const DAY: i64 = 1000;

async fn service(data: &std::path::Path) -> (Service, Researcher) {
    let memory = UPLOADS_MIB.to_string();
    let options = ["--upload-memory-mib", memory.as_str(), "--sync-expanded-mib", "32", "--sync-mib", "8"];
    let service = Service::start_with(data, &options);
    let researcher = Researcher::new(data, &service.url).await;
    (service, researcher)
}

/// Sends a bomb; its status and what the answer says.
async fn throw(url: &str, patient: &Patient, bomb: &Bomb) -> (u16, String) {
    let mut request = reqwest::Client::new().post(format!("{url}{}", bomb.path)).bearer_auth(&patient.token);
    request = request.header("content-type", bomb.content_type).header("content-encoding", bomb.encoding);
    let response = request.body(bomb.body.clone()).send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// A minute of ordinary life, and memory at rest after it, MiB.
async fn rest_mib(service: &Service, researcher: &Researcher, patient: &Patient) -> u64 {
    for minute in 0..20 {
        sync(researcher, patient, minute).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    service.forget_peak();
    service.memory_kib("VmRSS") >> 10
}

async fn sync(researcher: &Researcher, patient: &Patient, minute: i64) {
    let body = json!({"data": {"activity": {"timestamp": [1_763_467_200_000_i64 + 60_000 * minute], "bpm": [61]}}});
    let (status, answer) = researcher.sync(patient, &body).await.unwrap();
    assert_eq!(status, 200, "{answer}");
}

async fn rows_of(researcher: &Researcher, patient: &Patient) -> serde_json::Value {
    let path = format!("/integration/v1/patients/{}/raw-data-compliance/2025-11-18", patient.uuid);
    researcher.get(&path, None).await.1
}

#[tokio::test(flavor = "multi_thread")]
async fn each_bomb_is_refused_with_the_reason_and_stays_within_the_memory() {
    let data = tempdir().unwrap();
    let (service, researcher) = service(data.path()).await;
    let (bomber, other) = (researcher.enrol().await, researcher.enrol().await);
    let rest = rest_mib(&service, &researcher, &other).await;
    for bomb in bombs(EXPANDED_MIB) {
        service.forget_peak();
        let (status, said) = throw(&service.url, &bomber, &bomb).await;
        let peak = service.memory_kib("VmHWM") >> 10;
        println!("{}: {} KiB, {status}, {peak} MiB of {rest} at rest: {said:.200}", bomb.name, bomb.body.len() >> 10);
        assert!([400, 413, 422].contains(&status), "{}: {status} {said}", bomb.name);
        assert!(said.contains("\"message\"") && said.len() < 2_000, "{}: {said}", bomb.name);
        assert!(peak <= rest + UPLOADS_MIB + SLACK_MIB, "{}: {peak} MiB, {rest} at rest", bomb.name);
    }
    assert_eq!(rows_of(&researcher, &bomber).await, json!({}), "nothing of them is stored");
}

#[tokio::test(flavor = "multi_thread")]
async fn four_bombs_at_once_stay_within_the_memory_and_others_go_on() {
    let data = tempdir().unwrap();
    let (service, researcher) = service(data.path()).await;
    let other = researcher.enrol().await;
    let rest = rest_mib(&service, &researcher, &other).await;
    let bombs = Arc::new(bombs(EXPANDED_MIB));
    let is_over = Arc::new(AtomicBool::new(false));
    let mut throwing = Vec::new();
    for first in 0..AT_ONCE {
        let (bombs, bomber, url) = (bombs.clone(), researcher.enrol().await, service.url.clone());
        throwing.push(tokio::spawn(async move {
            for bomb in bombs.iter().skip(first).step_by(AT_ONCE) {
                let (status, said) = throw(&url, &bomber, bomb).await;
                // 503 as well: the memory can be another bomb's just now.
                assert!([400, 413, 422, 503].contains(&status), "{}: {status} {said}", bomb.name);
            }
            bomber
        }));
    }
    let watched = is_over.clone();
    let ending = tokio::spawn(async move {
        let mut bombers = Vec::new();
        for one in throwing {
            bombers.push(one.await);
        }
        watched.store(true, Ordering::Relaxed);
        bombers
    });
    let mut meanwhile = Meanwhile::default();
    for minute in 20.. {
        meanwhile.ask(&researcher, &other, minute % DAY, 200).await;
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for bomber in ending.await.unwrap() {
        assert_eq!(rows_of(&researcher, &bomber.unwrap()).await, json!({}), "nothing of them is stored");
    }
    let (p95, peak) = (meanwhile.syncs.p95(), service.memory_kib("VmHWM") >> 10);
    println!("syncs of another, p95 {p95:.0?}; {peak} MiB, {rest} at rest");
    meanwhile.report("four bombs at once");
    assert!(p95 <= LONGEST_P95, "{p95:?}");
    assert!(peak <= rest + UPLOADS_MIB + SLACK_MIB, "{peak} MiB, {rest} at rest");
}
