//! Pages of user summaries: walking through them gives every day once, whatever their size.

use serde_json::{Value, json};

use crate::common::{Answer, Enrolled};
use crate::{MIDNIGHT_MS, MINUTE_MS, SECTIONS, Study};

const DAY_MS: i64 = 24 * 60 * MINUTE_MS;
const ORIGIN: &str = "http://127.0.0.1:8080";

async fn ask(study: &Study, patient: &Enrolled, query: &str) -> Answer {
    study.story.get_as(&format!("/health/user-summaries?{query}"), &patient.health_token).await
}

/// Returns a patient with a heart rate on 17, 19 and 20 November.
async fn with_days(study: &Study) -> Enrolled {
    let patient = study.patient().await;
    let times: Vec<i64> = [-3, -1, 0].map(|day| MIDNIGHT_MS + day * DAY_MS + MINUTE_MS).to_vec();
    study.story.sync(&patient, json!({"activity": {"timestamp": times, "bpm": [60, 61, 62]}})).await;
    patient
}

/// Returns all days of the pages from an address on, following one of the links.
async fn walk(study: &Study, patient: &Enrolled, query: &str, link: &str) -> Vec<Value> {
    let mut page = ask(study, patient, query).await.ok();
    let mut days = Vec::new();
    loop {
        let shown = page["data"].as_array().expect("days").clone();
        assert_eq!(page["to"].as_i64().unwrap_or(0) - page["from"].as_i64().unwrap_or(1) + 1, shown.len() as i64);
        if link == "next_page_url" {
            days.extend(shown);
        } else {
            days.splice(0..0, shown);
        }
        let Some(next) = page[link].as_str() else { return days };
        let path = next.strip_prefix(ORIGIN).expect("the public address");
        page = study.story.get_as(path, &patient.health_token).await.ok();
    }
}

#[tokio::test]
async fn pages_of_every_size_give_every_day_once_in_both_directions() {
    let study = Study::begin().await;
    let patient = with_days(&study).await;
    let range = "date_from=2025-11-14&date_to=2025-11-20";
    let all = ask(&study, &patient, &format!("{range}&per_page=100")).await.ok()["data"].clone();
    let all = all.as_array().expect("days");
    let dates: Vec<&Value> = all.iter().map(|day| &day["date"]).collect();
    let expected = ["14", "15", "16", "17", "18", "19", "20"].map(|day| json!(format!("2025-11-{day}")));
    assert_eq!(dates, expected.iter().collect::<Vec<_>>());
    assert_eq!(all.iter().filter(|day| day["heart_rate"] != json!({})).count(), 3);
    for size in [1, 2, 3, 6, 7, 8] {
        let first = format!("{range}&per_page={size}");
        assert_eq!(walk(&study, &patient, &first, "next_page_url").await, *all, "{size} a page");
        let last = format!("{first}&page={}", (7 + size - 1) / size);
        let backwards = walk(&study, &patient, &last, "prev_page_url").await;
        assert_eq!(backwards, *all, "{size} a page, backwards");
    }
}

#[tokio::test]
async fn size_and_number_of_a_page_are_kept_within_their_limits() {
    let study = Study::begin().await;
    let patient = study.patient().await;
    let range = "date_from=2025-01-01&date_to=2025-12-31";
    for (query, per_page, page, shown, last_page) in [
        ("", 10, 1, 10, 37),
        ("&per_page=", 10, 1, 10, 37),
        ("&per_page=0", 1, 1, 1, 365),
        ("&per_page=-5", 1, 1, 1, 365),
        ("&per_page=1", 1, 1, 1, 365),
        ("&per_page=100", 100, 1, 100, 4),
        ("&per_page=101", 100, 1, 100, 4),
        ("&per_page=9223372036854775807", 100, 1, 100, 4),
        ("&per_page=100&page=4", 100, 4, 65, 4),
        ("&page=-1", 10, 1, 10, 37),
        ("&page=37", 10, 37, 5, 37),
        ("&page=38", 10, 38, 0, 37),
        ("&page=9223372036854775807", 10, i64::MAX, 0, 37),
    ] {
        let found = ask(&study, &patient, &format!("{range}{query}")).await.ok();
        let numbers = ["per_page", "current_page", "last_page", "total"].map(|name| found[name].as_i64());
        assert_eq!(numbers, [Some(per_page), Some(page), Some(last_page), Some(365)], "{query}");
        assert_eq!(found["data"].as_array().map(Vec::len), Some(shown), "{query}");
        assert_eq!(found["from"].is_null(), shown == 0, "{query}");
        if shown == 0 {
            let back = found["prev_page_url"].as_str().expect("a way back");
            assert!(back.ends_with("&page=37"), "{query}: {back}");
        }
    }
    for query in ["&per_page=ten", "&per_page=1.0", "&page=", "&page=1e3", "&page=0x1", "&page=9223372036854775808"] {
        let answer = ask(&study, &patient, &format!("{range}{query}")).await;
        if query == "&page=" {
            assert_eq!(answer.ok()["current_page"], 1, "an empty value is none");
        } else {
            assert_eq!(answer.error(), (400, "malformed_parameter"), "{query}");
        }
    }
}

#[tokio::test]
async fn one_day_is_a_range_and_ten_years_are_the_longest() {
    let study = Study::begin().await;
    let patient = with_days(&study).await;
    let one = ask(&study, &patient, "date_from=2025-11-20&date_to=2025-11-20").await.ok();
    assert_eq!((&one["total"], &one["last_page"], &one["next_page_url"]), (&json!(1), &json!(1), &Value::Null));
    let day = study.story.get(&study.path(&patient, "2025-11-20", "")).await.ok();
    assert_eq!(one["data"], json!([day]), "both clouds answer the same day");
    let longest = ask(&study, &patient, "date_from=2016-01-01&date_to=2026-01-07").await.ok();
    assert_eq!(longest["total"], 3660);
    let open = ask(&study, &patient, "date_from=2025-11-01&date_to=9999-12-31&per_page=100").await.ok();
    assert_eq!(open["data"].as_array().and_then(|days| days.last()).expect("a day")["date"], "2025-11-20");
    let too_long = ask(&study, &patient, "date_from=2015-01-01&date_to=2026-01-08").await;
    assert_eq!(crate::common::study::wrong_fields(&too_long), ["date_to"]);
    let leap = ask(&study, &patient, "date_from=2024-02-28&date_to=2024-03-01").await.ok();
    assert_eq!(leap["total"], 3);
    let both = ask(&study, &patient, "date_from=2025-02-29&date_to=x").await;
    assert_eq!(crate::common::study::wrong_fields(&both), ["date_from", "date_to"]);
}

#[tokio::test]
async fn sections_and_slots_of_a_request_are_kept_on_every_page() {
    let study = Study::begin().await;
    let patient = with_days(&study).await;
    let range = "date_from=2025-11-17&date_to=2025-11-20&per_page=1";
    for types in ["&types=heart_rate", "&types[]=heart_rate", "&types%5B0%5D=heart_rate"] {
        let days = walk(&study, &patient, &format!("{range}{types}&include_slots=1"), "next_page_url").await;
        assert_eq!(days.len(), 4);
        for day in &days {
            let mut keys: Vec<&String> = day.as_object().expect("a day").keys().collect();
            keys.sort_unstable();
            assert_eq!(keys, ["date", "heart_rate"], "{types}");
        }
        let slots: Vec<usize> =
            days.iter().map(|day| day["heart_rate"]["slots"].as_array().map_or(0, Vec::len)).collect();
        assert_eq!(slots, [1, 0, 1, 1], "{types}");
    }
    let plain = walk(&study, &patient, range, "next_page_url").await;
    for day in &plain {
        let object = day.as_object().expect("a day");
        assert!(SECTIONS.iter().all(|section| object[*section].is_object()), "{day}");
        assert_eq!(object.len(), SECTIONS.len() + 1, "{day}");
        assert!(day["heart_rate"].get("slots").is_none(), "no slots unless they are asked for");
    }
}

#[tokio::test]
async fn days_of_another_patient_are_never_on_a_page() {
    let study = Study::begin().await;
    let grace = with_days(&study).await;
    let hedy = study.patient().await;
    let range = "date_from=2025-11-17&date_to=2025-11-20";
    let of_hedy = ask(&study, &hedy, range).await.ok();
    assert!(of_hedy["data"].as_array().expect("days").iter().all(|day| day["heart_rate"] == json!({})));
    let named = ask(&study, &hedy, &format!("{range}&uuid={}&user_id={}", grace.uuid, grace.uuid)).await.ok();
    assert_eq!(named["data"], of_hedy["data"], "nothing in the address names a patient");
}
