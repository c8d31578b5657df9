//! The list of sealed files of a study, page by page.

use aws_lc_rs::digest::{SHA256, digest};
use serde_json::{Value, json};
use store::FailureMoment;

use crate::common::{Answer, text};
use crate::{MIDNIGHT_MS, Study, path_of, ppg2};

async fn lake(study: &Study, query: &str) -> Answer {
    study.story.get_as(&format!("/integration/v1/groups/{}/lake?{query}", study.group), &study.key).await
}

/// Paths of all pages of a size, from the beginning.
async fn walk(study: &Study, per_page: i64) -> Vec<String> {
    let (mut since, mut paths) = (String::new(), Vec::new());
    loop {
        let page = lake(study, &format!("per_page={per_page}&since={since}")).await.ok();
        let files = page["files"].as_array().expect("files");
        assert!(files.len() as i64 <= per_page.max(1), "{page}");
        paths.extend(files.iter().map(|file| text(&file["path"])));
        since = text(&page["next_since"]);
        if page["more"] == json!(false) {
            return paths;
        }
    }
}

async fn with_files() -> Study {
    let study = Study::begin().await;
    let two_days = [MIDNIGHT_MS, MIDNIGHT_MS - 86_400_000];
    study
        .send(json!({
            "ppg2": two_days.map(|start| ppg2(start, 64, "0x7e", 6)),
            "sleep": {"timestamp": two_days, "sleep_state": 1},
            "activity": {"timestamp": two_days, "bpm": 60},
        }))
        .await;
    study.seal().await;
    study
}

#[tokio::test]
async fn pages_of_every_size_name_every_file_once() {
    let study = with_files().await;
    let all = walk(&study, 1000).await;
    assert_eq!(all.len(), 4, "a month of sleep and one of activity, two days of a waveform: {all:?}");
    for per_page in [1, 2, 3, 4, 5] {
        assert_eq!(walk(&study, per_page).await, all, "{per_page} a page");
    }
    for (query, count) in [("", 4), ("per_page=0", 1), ("per_page=-3", 1), ("per_page=5000", 4), ("since=-9", 4)] {
        let page = lake(&study, query).await.ok();
        assert_eq!(page["files"].as_array().map(Vec::len), Some(count), "{query}");
    }
    for query in ["per_page=many", "since=yesterday", "since=1.5"] {
        assert_eq!(lake(&study, query).await.error(), (400, "malformed_parameter"), "{query}");
    }
}

#[tokio::test]
async fn file_that_was_fetched_is_what_the_list_says() {
    let study = with_files().await;
    let page = lake(&study, "").await.ok();
    for file in page["files"].as_array().expect("files") {
        let (status, bytes) = study.story.bytes_of(path_of(&text(&file["url"])), "", "*/*").await;
        assert_eq!((status.as_u16(), file["bytes"].as_u64()), (200, Some(bytes.len() as u64)));
        assert_eq!(file["sha256"], platform::hex(digest(&SHA256, &bytes).as_ref()));
        assert_eq!(file["patient"], study.patient.uuid.as_str());
        let (rows, period) = match file["type"].as_str().expect("a type") {
            "ppg2" => (64, 10),
            _ => (2, 7),
        };
        assert_eq!((&file["rows"], text(&file["period"]).len()), (&json!(rows), period), "{file}");
    }
}

#[tokio::test]
async fn later_file_takes_the_place_of_the_earlier_one_and_comes_as_news() {
    let study = with_files().await;
    let before = lake(&study, "").await.ok();
    let since = text(&before["next_since"]);
    let nothing = lake(&study, &format!("since={since}")).await.ok();
    assert_eq!((&nothing["files"], &nothing["next_since"]), (&json!([]), &json!(since)));
    study.send(json!({"sleep": {"timestamp": [MIDNIGHT_MS + 60_000], "sleep_state": [2]}})).await;
    study.seal().await;
    let news = lake(&study, &format!("since={since}")).await.ok();
    let news = news["files"].as_array().expect("files");
    assert_eq!(news.len(), 1);
    assert_eq!((&news[0]["type"], &news[0]["rows"]), (&json!("sleep"), &json!(3)));
    let all = walk(&study, 1000).await;
    assert_eq!(all.len(), 4, "the earlier file of sleep is listed no more");
    assert!(all.contains(&text(&news[0]["path"])));
}

#[tokio::test]
async fn list_names_the_patients_of_its_study_alone() {
    let study = with_files().await;
    let body = json!({"name": "Other", "description": ""});
    let other = study.story.post_as("/integration/v1/groups", &study.key, body).await.ok();
    let other = text(&other["code"]);
    let hedy = study.story.patient(&study.key, &other, Value::Null).await;
    let data = json!({"data": {"sleep": {"timestamp": [MIDNIGHT_MS], "sleep_state": [1]}}});
    study.story.post_as("/health/v1/sync", &hedy.health_token, data).await.ok();
    study.story.derive().await;
    study.seal().await;
    let patients = async |group: &str| {
        let page = study.story.get_as(&format!("/integration/v1/groups/{group}/lake"), &study.key).await.ok();
        let mut uuids: Vec<String> =
            page["files"].as_array().expect("files").iter().map(|file| text(&file["patient"])).collect();
        uuids.sort_unstable();
        uuids.dedup();
        uuids
    };
    assert_eq!(patients(&study.group).await, std::slice::from_ref(&study.patient.uuid));
    assert_eq!(patients(&other).await, std::slice::from_ref(&hedy.uuid));
    // Who joins is found by listing from the beginning, and who was erased is not found at all.
    let attach = format!("/integration/v1/groups/{}/patients/{}", study.group, hedy.uuid);
    study.story.ask("PUT", &attach, &study.key, Value::Null).await.done();
    assert_eq!(patients(&study.group).await.len(), 2);
    let erase = format!("/integration/v1/patients/{}", hedy.uuid);
    study.story.ask("DELETE", &erase, &study.key, Value::Null).await.ok();
    assert_eq!(patients(&study.group).await, std::slice::from_ref(&study.patient.uuid));
    assert!(patients(&other).await.is_empty());
}

#[tokio::test]
async fn listing_is_an_export_of_each_patient_in_the_log() {
    let study = with_files().await;
    let log = async || {
        let path = "/integration/v1/patients/audit/logs?from=0&to=9999999999999&action_type=PATIENT_API_EXPORT";
        study.story.get_as(path, &study.key).await.ok().as_array().expect("a list").clone()
    };
    lake(&study, "per_page=3").await.ok();
    let entries = log().await;
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0]["primary_entity_id"], study.patient.uuid.as_str());
    assert_eq!(entries[0]["details"], json!({"lake": study.group, "files": 3}));
    let end = text(&lake(&study, "").await.ok()["next_since"]);
    assert_eq!(log().await.len(), 2);
    lake(&study, &format!("since={end}")).await.ok();
    assert_eq!(log().await.len(), 2, "a page without files names nobody");
}

#[tokio::test]
async fn periods_that_are_not_in_files_yet_are_listed_as_open() {
    let study = Study::begin().await;
    assert_eq!(lake(&study, "").await.ok()["open"], json!([]));
    let day = 86_400_000;
    let send = async |start: i64| {
        let data = json!({"ppg2": ppg2(start, 64, "0x7e", 6), "activity": {"timestamp": [start], "bpm": 60}});
        study.send(data).await;
    };
    send(MIDNIGHT_MS).await;
    send(MIDNIGHT_MS - day).await;
    let open = json!([
        {"type": "activity", "from": "2025-11-01T00:00:00.000Z"},
        {"type": "ppg2", "from": "2025-11-18T00:00:00.000Z"},
    ]);
    assert_eq!(lake(&study, "").await.ok()["open"], open);
    study.seal().await;
    assert_eq!(lake(&study, "per_page=1").await.ok()["open"], json!([]), "everything is in files");
    send(MIDNIGHT_MS + 3_600_000).await;
    let page = lake(&study, "per_page=1").await.ok();
    assert_eq!(page["open"][1], json!({"type": "ppg2", "from": "2025-11-19T00:00:00.000Z"}), "{page}");
    // The look is made once a listing, which a failure of the next one shows.
    let health = study.story.platform.core.health();
    let since = text(&page["next_since"]);
    health.plan_failure("segment.lake.open_periods", FailureMoment::BeforeItBegins);
    let next = lake(&study, &format!("per_page=1&since={since}")).await.ok();
    assert_eq!((&next["open"], &next["more"]), (&page["open"], &json!(true)));
    let again = lake(&study, &format!("per_page=1&since={since}")).await.ok();
    assert_eq!(again["files"][0]["path"], next["files"][0]["path"]);
    assert_eq!(health.failures_to_come(), ["segment.lake.open_periods"]);
    assert_eq!(lake(&study, "per_page=1").await.error().0, 503, "a listing that begins looks");
    study.story.pass_ms(10 * 60_000);
    health.plan_failure("segment.lake.open_periods", FailureMoment::BeforeItBegins);
    assert_eq!(
        lake(&study, &format!("per_page=1&since={since}")).await.error().0,
        503,
        "one that was left looks again"
    );
    // Another study's patients are none of this one's business.
    let other = study.story.group(&study.key).await;
    let path = format!("/integration/v1/groups/{other}/lake");
    assert_eq!(study.story.get_as(&path, &study.key).await.ok()["open"], json!([]));
}
