//! The events of a study, page by page and as a stream.
#![allow(clippy::disallowed_methods, reason = "a client of the service, outside the runtime seam")]

mod common;

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use common::event_stream::EventStream;
use common::{Enrolled, PASSWORD, START_MS, Story, text};
use serde_json::{Value, json};
use store::Role;

/// A study with a patient.
struct Study {
    story: Story,
    key: String,
    group: String,
    grace: Enrolled,
}

fn beats(at_ms: i64) -> Value {
    json!({"activity": {"timestamp": [at_ms, at_ms + 60_000], "bpm": [61, 64]}})
}

impl Study {
    async fn begin() -> Self {
        Study::of(Story::begin().await).await
    }

    async fn of(story: Story) -> Self {
        let key = story.key_of("ada@example.org", Role::Researcher).await;
        let group = story.group(&key).await;
        let grace = story.patient(&key, &group, Value::Null).await;
        Study { story, key, group, grace }
    }

    async fn send(&self, patient: &Enrolled, at_ms: i64) {
        self.story.post_as("/health/v1/sync", &patient.health_token, json!({"data": beats(at_ms)})).await.ok();
    }

    async fn page_of(&self, group: &str, query: &str) -> Value {
        self.story.get_as(&format!("/integration/v1/groups/{group}/events?{query}"), &self.key).await.ok()
    }

    async fn page(&self, query: &str) -> Value {
        self.page_of(&self.group, query).await
    }

    async fn stream(&self, query: &str, last_seen: &str) -> EventStream {
        let path = format!("/integration/v1/groups/{}/events/stream?{query}", self.group);
        let request = Request::get(path).header("x-api-key", &self.key).header("last-event-id", last_seen);
        EventStream::of(self.story.open(request.body(Body::empty()).expect("a request")).await)
    }

    /// Lets another study hold the patient as well, or lets it go.
    async fn attach(&self, method: &str, group: &str, patient: &Enrolled) {
        let path = format!("/integration/v1/groups/{group}/patients/{}", patient.uuid);
        self.story.ask(method, &path, &self.key, Value::Null).await.done();
    }
}

fn types(page: &Value) -> Vec<&str> {
    let events = page["data"].as_array().expect("events").iter();
    events
        .map(|event| event["type"].as_str().and_then(|name| name.strip_prefix("pulseward.")).expect("a type"))
        .collect()
}

fn ids(page: &Value) -> Vec<String> {
    page["data"].as_array().expect("events").iter().map(|event| text(&event["id"])).collect()
}

#[tokio::test]
async fn events_are_cloud_events_and_name_what_changed_and_no_value() {
    let study = Study::begin().await;
    study.story.sync(&study.grace, beats(START_MS - 600_000)).await;
    let page = study.page("after=oldest").await;
    assert_eq!(page["more"], false);
    assert_eq!(types(&page)[..2], ["patient.attached", "patient.activated"]);
    let uuid = &study.grace.uuid;
    let stored = page["data"].as_array().expect("events").iter().find(|event| event["type"] == "pulseward.sync.stored");
    let stored = stored.expect("a stored sync");
    let expected = json!({
        "specversion": "1.0", "id": stored["id"], "source": "http://127.0.0.1:8080/integration",
        "type": "pulseward.sync.stored", "subject": uuid, "time": stored["time"], "datacontenttype": "application/json",
        "group": study.group, "sequence": stored["sequence"], "log": "health",
        "data": {"types": ["activity"],
            "href": format!("http://127.0.0.1:8080/integration/v1/patients/{uuid}/raw-data-compliance")},
    });
    assert_eq!(stored, &expected);
    let sequence: u64 = text(&stored["sequence"]).parse().expect("a number");
    assert_eq!(stored["id"], format!("health.{uuid}.{sequence}"));
    let day = page["data"].as_array().expect("events").iter().find(|event| event["type"] == "pulseward.day.updated");
    let day = day.expect("a day");
    assert!(day["data"]["sections"].as_array().expect("sections").contains(&json!("heart_rate")), "{day}");
    let date = text(&day["data"]["day"]);
    assert!(text(&day["data"]["href"]).ends_with(&format!("/v1/patients/{uuid}/summary/{date}")), "{day}");
    let full = study.page("after=oldest&full=1&types[]=sync.stored").await;
    let rows =
        json!([{"type": "activity", "from": START_MS - 600_000, "to": START_MS - 540_000, "stored": 2, "replaced": 0}]);
    assert_eq!(full["data"][0]["data"]["rows"], rows);
    assert_eq!(full["data"].as_array().expect("events").len(), 1);
}

#[tokio::test]
async fn pages_of_any_size_are_the_same_events_each_once() {
    let study = Study::begin().await;
    for at in 1..=5 {
        study.story.sync(&study.grace, beats(START_MS - at * 900_000)).await;
    }
    let whole = study.page("after=oldest&limit=1000").await;
    assert!(ids(&whole).len() > 10, "{whole}");
    for limit in [1, 3, 7] {
        let (mut found, mut after) = (Vec::new(), "oldest".to_owned());
        loop {
            let page = study.page(&format!("after={after}&limit={limit}")).await;
            assert!(ids(&page).len() <= limit);
            found.extend(ids(&page));
            after = text(&page["next"]);
            if page["more"] == false {
                break;
            }
        }
        assert_eq!(found, ids(&whole), "limit {limit}");
        assert_eq!(study.page(&format!("after={after}")).await["data"], json!([]));
    }
    // Without a cursor reading begins now.
    assert_eq!(study.page("").await["data"], json!([]));
    let mut numbers: Vec<(String, u64)> = Vec::new();
    for event in whole["data"].as_array().expect("events") {
        numbers.push((text(&event["log"]), text(&event["sequence"]).parse().expect("a number")));
    }
    for log in ["users", "health"] {
        let of_log: Vec<u64> = numbers.iter().filter(|(of, _)| of == log).map(|(_, number)| *number).collect();
        assert!(of_log.is_sorted_by(|one, next| one < next), "{log}: {of_log:?}");
    }
}

#[tokio::test]
async fn study_reads_events_of_the_time_at_which_it_held_the_patient() {
    let study = Study::begin().await;
    let other = study.story.group(&study.key).await;
    study.send(&study.grace, START_MS - 3_600_000).await;
    study.story.pass_ms(1000);
    study.attach("PUT", &other, &study.grace).await;
    study.story.pass_ms(1000);
    study.send(&study.grace, START_MS - 1_800_000).await;
    study.story.pass_ms(1000);
    study.attach("DELETE", &study.group, &study.grace).await;
    study.story.pass_ms(1000);
    study.send(&study.grace, START_MS - 600_000).await;
    let query = "after=oldest&types[]=sync.stored,patient.attached,patient.detached";
    let first = study.page(query).await;
    assert_eq!(types(&first), ["patient.attached", "sync.stored", "sync.stored", "patient.detached"]);
    let second = study.page_of(&other, query).await;
    assert_eq!(types(&second), ["patient.attached", "sync.stored", "sync.stored"]);
    // What both read is one event, of each study once.
    assert_eq!(first["data"][2]["id"], second["data"][1]["id"]);
    assert_eq!((&first["data"][2]["group"], &second["data"][1]["group"]), (&json!(study.group), &json!(other)));
}

#[tokio::test]
async fn erased_patient_leaves_the_event_of_the_erasure_to_the_studies_of_that_moment() {
    let study = Study::begin().await;
    study.send(&study.grace, START_MS - 600_000).await;
    let before = text(&study.page("").await["next"]);
    let path = format!("/integration/v1/patients/{}", study.grace.uuid);
    study.story.ask("DELETE", &path, &study.key, Value::Null).await.ok();
    let page = study.page(&format!("after={before}")).await;
    assert_eq!(types(&page), ["patient.erased"]);
    assert_eq!(page["data"][0]["subject"], json!(study.grace.uuid));
    let data = page["data"][0]["data"].as_object().expect("data");
    assert_eq!(data.keys().collect::<Vec<_>>(), ["href"], "no other study is named");
    assert_eq!(types(&study.page("after=oldest&full=1").await), ["patient.erased"]);
}

#[tokio::test]
async fn parameters_that_are_wrong_are_named() {
    let study = Study::begin().await;
    let refused = async |query: &str| {
        let path = format!("/integration/v1/groups/{}/events?{query}", study.group);
        let answer = study.story.get_as(&path, &study.key).await;
        (answer.error().0, answer.body["errors"].clone(), answer.body["message"].clone())
    };
    for (query, field) in [
        ("after=x", "after"),
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("wait=31", "wait"),
        ("wait=-1", "wait"),
        ("types[]=sync.repeated", "types"),
    ] {
        let (status, errors, _) = refused(query).await;
        assert_eq!((status, errors[field].is_array()), (422, true), "{query}: {errors}");
    }
    for query in ["limit=x", "wait=soon", "full=yes"] {
        assert_eq!(refused(query).await.0, 400, "{query}");
    }
    let (_, errors, _) = refused("types[]=sync.repeated").await;
    assert!(text(&errors["types"][0]).contains("sync.stored"), "the known ones are listed: {errors}");
}

#[tokio::test]
async fn cursor_whose_events_are_gone_is_refused_with_the_oldest_one() {
    let study = Study::begin().await;
    study.send(&study.grace, START_MS - 600_000).await;
    let before = text(&study.page("").await["next"]);
    let gone = async |code: &str| {
        let answer = study
            .story
            .get_as(&format!("/integration/v1/groups/{}/events?after={before}", study.group), &study.key)
            .await;
        assert_eq!(answer.error(), (410, code));
        let oldest = text(&answer.body["oldest"]);
        study.page(&format!("after={oldest}")).await
    };
    let core = &study.story.platform.core;
    for log in [core.users().events(), core.health().events()] {
        log.begin_epoch(&store::LogEpoch::new("another")).await.expect("another life");
    }
    assert!(types(&gone("cursor_of_another_store").await).contains(&"sync.stored"));
    let path = format!("/integration/v1/groups/{}/events/stream?after={before}", study.group);
    assert_eq!(study.story.get_as(&path, &study.key).await.error(), (410, "cursor_of_another_store"));
}

#[tokio::test]
async fn wait_holds_an_answer_back_until_there_is_an_event() {
    let study = Study::begin().await;
    let next = text(&study.page("").await["next"]);
    let nothing = study.page(&format!("after={next}&wait=1")).await;
    assert_eq!((&nothing["data"], &nothing["more"]), (&json!([]), &json!(false)));
    let waited = async { study.page(&format!("after={next}&wait=30&types[]=sync.stored")).await };
    let sent = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        study.send(&study.grace, START_MS - 600_000).await;
    };
    let begin = std::time::Instant::now();
    let (page, ()) = tokio::join!(waited, sent);
    assert_eq!(types(&page), ["sync.stored"]);
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}

#[tokio::test]
async fn stream_has_each_event_once_and_goes_on_where_it_was_left() {
    let study = Study::begin().await;
    let mut stream = study.stream("types[]=sync.stored", "").await;
    let begin = stream.begin().await;
    study.send(&study.grace, START_MS - 1_800_000).await;
    study.send(&study.grace, START_MS - 900_000).await;
    let (name, first, event) = stream.event().await.expect("an event");
    assert_eq!((name.as_str(), &event["type"]), ("", &json!("pulseward.sync.stored")));
    let (_, second, last) = stream.event().await.expect("an event");
    drop(stream);
    study.send(&study.grace, START_MS - 300_000).await;
    // From each place the same events, whether they are read from the logs or heard.
    for (place, expected) in [(&begin, 3), (&first, 2), (&second, 1)] {
        let mut again = study.stream("types[]=sync.stored", place).await;
        let mut found = Vec::new();
        for _ in 0..expected {
            found.push(text(&again.event().await.expect("an event").2["id"]));
        }
        let page = study.page(&format!("after={place}&types[]=sync.stored")).await;
        assert_eq!(found, ids(&page));
    }
    assert_ne!(event["id"], last["id"]);
}

#[tokio::test]
async fn streams_of_two_studies_hear_of_their_own_patients_only() {
    let study = Study::begin().await;
    let other_group = study.story.group(&study.key).await;
    let eve = study.story.patient(&study.key, &other_group, Value::Null).await;
    let mut stream = study.stream("types[]=sync.stored", "").await;
    stream.begin().await;
    for at in 1..=20 {
        study.send(&eve, START_MS - at * 600_000).await;
        if at % 5 == 0 {
            study.send(&study.grace, START_MS - at * 600_000).await;
        }
    }
    for _ in 0..4 {
        assert_eq!(stream.event().await.expect("an event").2["subject"], json!(study.grace.uuid));
    }
    study.story.platform.data.end_listening();
    assert!(stream.event().await.is_none(), "the node is about to stop");
}

/// State, time of the event and time of the sample, of the events of the bracelet.
async fn bracelet_changes(study: &Study) -> Vec<(String, String, i64)> {
    let page = study.page("after=oldest&full=1&types[]=device.changed").await;
    let change = |event: &Value| {
        (text(&event["data"]["state"]), text(&event["time"]), event["data"]["time_ms"].as_i64().expect("a time"))
    };
    page["data"].as_array().expect("events").iter().map(change).collect()
}

#[tokio::test]
async fn bracelet_that_charges_is_not_worn_or_falls_silent_is_an_event_and_so_is_its_return() {
    const MINUTE_MS: i64 = 60_000;
    let study = Study::begin().await;
    let minute = |at: i64| START_MS + at * MINUTE_MS;
    // Signs in each time: a token ends before a silence does.
    let send = async |rows: Value| {
        let login = json!({"code": study.grace.code, "password": PASSWORD});
        let users_token = text(&study.story.post("/users/login", login).await.ok()["token"]);
        let health = study.story.post("/health/login", json!({"user_api_token": users_token})).await.ok();
        let body = json!({"data": {"activity": rows}});
        study.story.post_as("/health/v1/sync", &text(&health["token"]), body).await.ok();
    };
    send(json!({"timestamp": [minute(-40), minute(-31)], "wearing": [4, 0]})).await;
    send(json!({"timestamp": [minute(-1)], "wearing": [0]})).await;
    send(json!({"timestamp": [minute(-1), minute(0)], "charging": [0, 1], "wearing": [0, 0]})).await;
    // What comes late is an older state.
    send(json!({"timestamp": [minute(-30), minute(-29)], "charging": [0, 0], "wearing": [4, 4]})).await;
    let begun = "2025-11-20T00:53:20.000Z";
    let first = [("not_worn", begun, minute(-1)), ("charging", begun, minute(0))];

    study.story.pass_ms(60 * MINUTE_MS - 1);
    study.story.jobs(&["note_silence"]).await;
    let named = |changes: &[(&str, &str, i64)]| {
        changes.iter().map(|(state, at, ms)| ((*state).to_owned(), (*at).to_owned(), *ms)).collect::<Vec<_>>()
    };
    assert_eq!(bracelet_changes(&study).await, named(&first));
    study.story.pass_ms(60 * MINUTE_MS);
    for _ in 0..2 {
        study.story.jobs(&["note_silence"]).await;
        study.story.pass_ms(MINUTE_MS);
    }
    let silent = ("silent", "2025-11-20T02:53:19.999Z", minute(0));
    assert_eq!(bracelet_changes(&study).await[2..], named(&[silent]));

    send(json!({"timestamp": [minute(-2)], "bpm": [70]})).await;
    assert_eq!(bracelet_changes(&study).await.len(), 3, "an older sample is no sign of life");
    send(json!({"timestamp": [minute(110)], "charging": [0], "wearing": [3]})).await;
    let back = "2025-11-20T02:55:19.999Z";
    let last = [("heard", back, minute(110)), ("not_charging", back, minute(110)), ("worn", back, minute(110))];
    assert_eq!(bracelet_changes(&study).await[3..], named(&last));
    let thin = study.page("after=oldest&types[]=device.changed").await;
    assert_eq!(thin["data"][0]["data"]["state"], "not_worn");
    assert_eq!(thin["data"][0]["data"].get("time_ms"), None, "{thin}");

    study.story.ask("DELETE", &format!("/integration/v1/patients/{}", study.grace.uuid), &study.key, Value::Null).await;
    study.story.pass_ms(24 * 60 * MINUTE_MS);
    study.story.jobs(&["note_silence"]).await;
    assert_eq!(bracelet_changes(&study).await, []);
}
