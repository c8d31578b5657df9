//! The board of a study, as it is and as it changes.
#![allow(clippy::disallowed_methods, reason = "a client of the service, outside the runtime seam")]

use axum::body::Body;
use axum::http::Request;
use platform::NewApiKey;
use serde_json::{Value, json};
use store::{
    Address, DerivationCommit, HealthChange, HealthMessage, MessageId, PatientId, PersonChange, Profile, Role,
};
use testkit::Postgres;
use vitals::derivation::{DerivedRow, Output};

use crate::browser::Browser;
use crate::common::event_stream::EventStream;
use crate::common::{Enrolled, PASSWORD, START_MS, Story, text};

const MINUTE_MS: i64 = 60_000;

struct Ward {
    story: Story,
    browser: Browser,
    key: String,
    group: String,
}

impl Ward {
    async fn open() -> Self {
        Ward::of(Story::begin().await).await
    }

    async fn of(story: Story) -> Self {
        let (browser, key) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
        let group = story.group(&key).await;
        Ward { story, browser, key, group }
    }

    async fn patient(&self, profile: Value) -> Enrolled {
        self.story.patient(&self.key, &self.group, profile).await
    }

    async fn board(&self) -> Value {
        self.browser.get(&self.story, &format!("/portal/api/groups/{}/board", self.group)).await.ok()
    }

    /// Sends samples without computing anything of them.
    async fn send(&self, patient: &Enrolled, data: Value) {
        self.story.post_as("/health/v1/sync", &patient.health_token, json!({ "data": data })).await.ok();
    }

    async fn events(&self, last_seen: &str) -> EventStream {
        let path = format!("/portal/api/groups/{}/board/events", self.group);
        let request = Request::get(path).header("cookie", &self.browser.cookie).header("last-event-id", last_seen);
        let response = self.story.open(request.body(Body::empty()).expect("a request")).await;
        EventStream::of(response)
    }
}

/// Returns the next row of a board's stream.
async fn next_row(events: &mut EventStream) -> (String, Value) {
    let (name, id, row) = events.event().await.expect("an event");
    assert_eq!(name, "row");
    (id, row)
}

fn vitals(at_ms: i64, bpm: i64) -> Value {
    json!({"activity": {"timestamp": [at_ms], "bpm": [bpm], "respiration_rate": [14], "spo2": [97.5], "core_temp": [37],
        "nibp_systolic": [121], "nibp_diastolic": [79]}})
}

#[tokio::test]
async fn the_board_shows_what_the_list_of_patients_shows() {
    let ward = Ward::open().await;
    let rita = json!({"first_name": "Rita", "last_name": "Rossi", "time_zone": "Europe/Zurich"});
    let (rita, nobody) = (ward.patient(rita).await, ward.patient(Value::Null).await);
    let (at, now) = (START_MS - 30 * MINUTE_MS, START_MS);
    ward.story.sync(&rita, vitals(at, 61)).await;
    ward.story.sync(&rita, json!({"activity": {"timestamp": [at + MINUTE_MS, now - 1], "bpm": [64, 90], "wearing": [4, 0], "charging": [0, 1]}})).await;
    let patch = format!("/integration/v1/patients/{}", rita.uuid);
    ward.browser.ask(&ward.story, "PATCH", &patch, json!({"external_patient_id": "K-0042"})).await.ok();

    let board = ward.board().await;
    assert_eq!(board["at"], now);
    let rows = board["patients"].as_array().expect("rows");
    assert_eq!(rows.len(), 2);
    let row = &rows[0];
    assert_eq!((&row["name"], &row["external_id"]), (&json!("Rita Rossi"), &json!("K-0042")));
    let list = format!("/integration/v1/groups/{}/patients?with_latest_values=1", ward.group);
    let list = ward.browser.ask(&ward.story, "GET", &list, Value::Null).await.ok();
    let latest = &list[0]["latest_values"];
    for name in ["heart_rate", "respiration_rate", "spo2", "temperature"] {
        assert_eq!(row[name]["value"], latest[name], "{name}");
        assert_eq!(row[name]["timestamp"], latest[format!("{name}_timestamp")], "{name}");
        assert!(row[name]["value"].is_number(), "{name}");
    }
    assert_eq!(
        row["heart_rate"],
        json!({"value": 64.0, "timestamp": at + MINUTE_MS}),
        "what was off the wrist is not the patient's"
    );
    assert_eq!(row["blood_pressure"], json!({"systolic": 121.0, "diastolic": 79.0, "timestamp": at}));
    assert_eq!(row["news"]["score"], latest["news_score"]);
    assert_eq!(row["news"]["timestamp"], latest["news_score_timestamp"]);
    assert_eq!((&row["news"]["colour"], &row["news"]["red_parameter"]), (&json!("low"), &json!(false)));
    assert_eq!((&row["news"]["missing"], &row["news"]["stale"]), (&json!([]), &json!([])));
    assert_eq!((&row["worn"], &row["charging"], &row["last_sync"]), (&json!(false), &json!(true), &json!(now)));

    let spark = &row["spark"];
    let last_window = now.div_euclid(300_000);
    assert_eq!((&spark["step_ms"], &spark["from"]), (&json!(300_000), &json!((last_window - 71) * 300_000)));
    let place = (at.div_euclid(300_000) - (last_window - 71)) as usize;
    assert_eq!(spark["heart_rate"].as_array().map(Vec::len), Some(72));
    assert_eq!(spark["heart_rate"][place], 62.5, "the mean of both");
    assert_eq!((&spark["spo2"][place], &spark["respiration_rate"][place]), (&json!(97.5), &json!(14.0)));
    assert_eq!(spark["heart_rate"].as_array().expect("values").iter().filter(|value| !value.is_null()).count(), 1);

    let empty = &rows[1];
    assert_eq!((&empty["uuid"], &empty["name"]), (&json!(nobody.uuid), &json!(nobody.uuid[..8])));
    for name in ["heart_rate", "blood_pressure", "news", "battery", "worn", "charging", "last_sync"] {
        assert!(empty[name].is_null(), "{name}");
    }
}

#[tokio::test]
async fn what_was_measured_poorly_is_not_called_missing() {
    let ward = Ward::open().await;
    let patient = ward.patient(Value::Null).await;
    let poor = json!({"activity": {"timestamp": [START_MS], "bpm": [140], "bpm_q": [1]}});
    ward.story.sync(&patient, poor).await;
    let news = &ward.board().await["patients"][0]["news"];
    assert_eq!(news["low_quality"], json!(["heart_rate"]));
    assert!(!news["missing"].as_array().expect("names").contains(&json!("heart_rate")), "{news}");
}

#[tokio::test]
async fn a_score_without_a_total_says_what_it_lacks() {
    let ward = Ward::open().await;
    let patient = ward.patient(Value::Null).await;
    let old = vitals(START_MS - 8 * 60 * MINUTE_MS, 61);
    ward.story.sync(&patient, old).await;
    ward.story.sync(&patient, json!({"activity": {"timestamp": [START_MS], "bpm": [140]}})).await;
    let row = &ward.board().await["patients"][0];
    assert_eq!((&row["news"]["score"], &row["news"]["colour"]), (&Value::Null, &json!("none")));
    assert_eq!(row["news"]["red_parameter"], true, "a pulse of 140 scores 3");
    assert_eq!(row["news"]["parts"]["heart_rate"], 3);
    let stale = row["news"]["stale"].as_array().expect("names");
    assert!(stale.contains(&json!("spo2")) && !stale.contains(&json!("heart_rate")), "{row}");
}

#[tokio::test]
async fn a_sync_and_its_derivation_are_reported_and_who_comes_back_misses_nothing() {
    let ward = Ward::open().await;
    let (rita, rosa) = (ward.patient(Value::Null).await, ward.patient(Value::Null).await);
    let mut events = ward.events("").await;
    ward.send(&rita, vitals(START_MS, 61)).await;
    let (first, row) = next_row(&mut events).await;
    assert_eq!((&row["uuid"], &row["heart_rate"]["value"]), (&json!(rita.uuid), &json!(61.0)));
    assert!(row["news"].is_null(), "nothing has been derived yet");
    ward.story.derive().await;
    let (second, row) = next_row(&mut events).await;
    assert_eq!((&row["uuid"], &row["news"]["score"]), (&json!(rita.uuid), &json!(0)));
    assert_eq!(row, ward.board().await["patients"][0], "a row is what the board shows");
    // What was reported is kept while anybody listens.
    let mut other = ward.events("").await;
    drop(events);
    let mut back = ward.events(&first).await;
    let (again, _) = next_row(&mut back).await;
    assert_eq!(again, second, "what was missed");
    ward.send(&rosa, vitals(START_MS, 70)).await;
    for events in [&mut other, &mut back] {
        assert_eq!(next_row(events).await.1["uuid"], rosa.uuid);
    }
    for unknown in ["long-ago-7", "1.aa.1.0.bb.1.0"] {
        let (name, ..) = ward.events(unknown).await.event().await.expect("an event");
        assert_eq!(name, "reload", "{unknown}");
    }
}

/// What happens while nobody looks is in the event log.
#[tokio::test]
async fn one_who_comes_back_later_gets_what_happened_while_nobody_looked() {
    let ward = Ward::open().await;
    let (rita, rosa) = (ward.patient(Value::Null).await, ward.patient(Value::Null).await);
    let mut events = ward.events("").await;
    let begin = events.begin().await;
    ward.send(&rita, vitals(START_MS, 61)).await;
    let (seen, _) = next_row(&mut events).await;
    drop(events);
    ward.send(&rosa, vitals(START_MS, 70)).await;
    ward.story.derive().await;
    ward.send(&rosa, vitals(START_MS + MINUTE_MS, 71)).await;
    for last_seen in [&seen, &begin] {
        let mut events = ward.events(last_seen).await;
        let mut reported = [next_row(&mut events).await, next_row(&mut events).await];
        reported.sort_by_key(|(_, row)| row["uuid"] != rita.uuid);
        assert_eq!(reported[0].1["news"]["score"], 0, "{last_seen}");
        assert_eq!(reported[1].1["heart_rate"]["value"], 71.0, "the newest, once");
        assert!(reported.iter().any(|(id, _)| id == last_seen), "going away between two rows loses none");
        assert!(reported.iter().any(|(id, _)| id != last_seen), "the last one leads on");
    }
    let path = format!("/integration/v1/patients/{}", rita.uuid);
    ward.browser.ask(&ward.story, "DELETE", &path, Value::Null).await.ok();
    let (name, ..) = ward.events(&seen).await.event().await.expect("an event");
    assert_eq!(name, "reload", "somebody has left meanwhile");
}

/// Makes the person of a patient what nothing can be read from.
async fn damage_person(ward: &Ward, patient: &Enrolled) {
    let users = ward.story.platform.core.users();
    let uuid = PatientId::new(patient.uuid.clone());
    let stored = users.patient(&uuid).await.expect("an answer").expect("a patient");
    let (person, now_ms) = ("{".to_owned(), START_MS);
    let change =
        PersonChange { uuid: uuid.clone(), email: None, removes_email: false, known: stored.person, person, now_ms };
    let nothing = HealthChange::PutPatient {
        uuid,
        record_id: stored.record_id,
        customer_code: None,
        profile: Profile::default(),
        at_ms: now_ms,
    };
    let message = HealthMessage { id: MessageId::new("m"), change: nothing, entries: Vec::new(), created_ms: now_ms };
    assert!(users.change_person(change, message).await.expect("written"), "damaged");
}

/// Makes the newest score of a patient what nothing can be read from.
async fn damage_score(ward: &Ward, patient: &Enrolled) {
    let health = ward.story.platform.core.health();
    let uuid = PatientId::new(patient.uuid.clone());
    let claim = health.claim_patient(&uuid, None, START_MS, 1).await.expect("an answer").expect("a claim");
    let row = DerivedRow { output: Output::News, key: START_MS, version: 1, body: Some(b"{".to_vec()) };
    let damage = DerivationCommit { rows: vec![row], ..DerivationCommit::nothing(claim) };
    health.commit_derivations(vec![damage]).await.expect("damaged");
}

/// Of three patients two are damaged, each in another database.
async fn damaged_patients_have_rows_that_say_so(ward: Ward) {
    let named = json!({"first_name": "Rita", "last_name": "Rossi"});
    let (rita, rosa, ruth) =
        (ward.patient(named.clone()).await, ward.patient(named.clone()).await, ward.patient(named).await);
    for patient in [&rita, &rosa, &ruth] {
        ward.send(patient, vitals(START_MS, 61)).await;
    }
    let whole = ward.board().await;
    assert!(whole["patients"][0].get("unreadable").is_none(), "{whole}");
    damage_person(&ward, &rita).await;
    damage_score(&ward, &rosa).await;
    let board = ward.board().await;
    assert_eq!(board["patients"].as_array().expect("rows").len(), 3);
    assert_eq!(board["patients"][2], whole["patients"][2], "the third one is whole");
    for (at, patient, name) in [(0, &rita, &rita.uuid[..8]), (1, &rosa, "Rita Rossi")] {
        let row = &board["patients"][at];
        let reported = (&row["uuid"], &row["name"], &row["unreadable"]);
        assert_eq!(reported, (&json!(patient.uuid), &json!(name), &json!(true)), "what is known is sent");
        for field in ["heart_rate", "news", "battery", "worn", "last_sync"] {
            assert_eq!(row[field], Value::Null, "{field}");
        }
        assert_eq!(row["spark"]["heart_rate"].as_array().map(Vec::len), Some(72));
        assert_eq!(row["spark"]["from"], whole["patients"][2]["spark"]["from"]);
    }
}

#[tokio::test]
async fn damaged_patients_cost_nobody_else_a_row() {
    damaged_patients_have_rows_that_say_so(Ward::open().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_patients_cost_nobody_else_a_row_on_postgres() {
    let (Some(users), Some(health)) = (Postgres::start(), Postgres::start()) else { return };
    let [at_users, at_health] = [&users, &health].map(|database| Address::Postgres(database.url.clone()));
    let folder = tempfile::tempdir().expect("a folder");
    let story = Story::begin_at(at_users, at_health, folder, api::Limits::default()).await;
    damaged_patients_have_rows_that_say_so(Ward::of(story).await).await;
}

#[tokio::test]
async fn a_row_that_cannot_be_read_does_not_hold_up_the_others() {
    let ward = Ward::open().await;
    let (rita, rosa) = (ward.patient(Value::Null).await, ward.patient(Value::Null).await);
    damage_person(&ward, &rita).await;
    let mut events = ward.events("").await;
    events.begin().await;
    ward.send(&rita, vitals(START_MS, 61)).await;
    ward.send(&rosa, vitals(START_MS, 70)).await;
    assert_eq!(next_row(&mut events).await.1["uuid"], rosa.uuid);
}

#[tokio::test]
async fn a_repeated_sync_is_reported_because_the_board_shows_the_last_one() {
    let ward = Ward::open().await;
    let rita = ward.patient(Value::Null).await;
    ward.send(&rita, vitals(START_MS, 61)).await;
    ward.story.derive().await;
    let mut events = ward.events("").await;
    events.begin().await;
    ward.story.pass_ms(MINUTE_MS);
    ward.send(&rita, vitals(START_MS, 61)).await;
    assert_eq!(next_row(&mut events).await.1["last_sync"], START_MS + MINUTE_MS);
}

#[tokio::test]
async fn who_joins_is_reported_and_who_goes_has_the_board_read_again() {
    let ward = Ward::open().await;
    let mut events = ward.events("").await;
    let rita = ward.patient(Value::Null).await;
    // The patient is reported as soon as the health database knows them; using the voucher may be reported as well.
    assert_eq!(next_row(&mut events).await.1["uuid"], rita.uuid);
    let path = format!("/integration/v1/patients/{}", rita.uuid);
    ward.browser.ask(&ward.story, "DELETE", &path, Value::Null).await.ok();
    loop {
        let (name, ..) = events.event().await.expect("an event");
        if name == "reload" {
            break;
        }
    }
    assert_eq!(ward.board().await["patients"], json!([]));
}

#[tokio::test]
async fn unused_voucher_has_a_row_from_its_activation_on() {
    let ward = Ward::open().await;
    let mut events = ward.events("").await;
    events.begin().await;
    let patients = format!("/integration/v1/groups/{}/patients", ward.group);
    let created = ward.browser.ask(&ward.story, "POST", &patients, Value::Null).await.ok();
    let path = format!("/integration/v1/patients/{}", text(&created["uuid"]));
    ward.browser.ask(&ward.story, "PATCH", &path, json!({"external_patient_id": "K-0042"})).await.ok();
    assert_eq!(ward.board().await["patients"], json!([]));
    // Somebody else's row comes after whatever the voucher would have caused.
    let rita = ward.patient(Value::Null).await;
    ward.send(&rita, vitals(START_MS, 61)).await;
    loop {
        let (_, row) = next_row(&mut events).await;
        assert_eq!(row["uuid"], rita.uuid, "an unused voucher has no row");
        if !row["last_sync"].is_null() {
            break;
        }
    }
    let activation = json!({"code": created["code"], "password": PASSWORD, "time_zone": "Europe/Zurich"});
    ward.story.post("/users/activate", activation).await.ok();
    while next_row(&mut events).await.1["uuid"] != created["uuid"] {}
    let board = ward.board().await;
    let uuids: Vec<&Value> = board["patients"].as_array().expect("rows").iter().map(|row| &row["uuid"]).collect();
    assert_eq!(uuids, [&created["uuid"], &json!(rita.uuid)], "in the order in which they joined");
}

/// Requests for the board and for its stream, each with an API key in one of the places where one may be.
fn with_key(ward: &Ward, key: &str) -> Vec<Request<Body>> {
    let base = format!("/portal/api/groups/{}/board", ward.group);
    let each = [base.clone(), format!("{base}/events")].into_iter().flat_map(|path| {
        [
            Request::get(&path).header("x-api-key", key),
            Request::get(&path).header("authorization", format!("Bearer {key}")),
            Request::get(format!("{path}?token={key}")),
        ]
    });
    each.map(|request| request.body(Body::empty()).expect("a request")).collect()
}

#[tokio::test]
async fn board_and_stream_take_an_api_key_in_each_of_its_places() {
    let ward = Ward::open().await;
    let rita = ward.patient(Value::Null).await;
    let board = ward.board().await;
    let mut requests = with_key(&ward, &ward.key);
    let streams = requests.split_off(3);
    for request in requests {
        assert_eq!(ward.story.send(request).await.ok()["patients"], board["patients"]);
    }
    for (number, request) in (0..).zip(streams) {
        let response = ward.story.open(request).await;
        assert_eq!(
            (response.status().as_u16(), &response.headers()["content-type"]),
            (200, &"text/event-stream".parse().expect("a header"))
        );
        let mut events = EventStream::of(response);
        events.begin().await;
        ward.send(&rita, vitals(START_MS, 61 + number)).await;
        assert_eq!(next_row(&mut events).await.1["uuid"], rita.uuid);
    }
    for request in with_key(&ward, "pwk_rubbish") {
        assert_eq!(ward.story.send(request).await.error(), (401, "unauthenticated"));
    }
    let bob = ward.story.key_of("bob@example.org", Role::Researcher).await;
    for request in with_key(&ward, &bob) {
        assert_eq!(ward.story.send(request).await.error(), (403, "forbidden"), "not a member");
    }
}

#[tokio::test]
async fn stream_ends_with_its_api_key() {
    let ward = Ward::open().await;
    let identity = &ward.story.platform.identity;
    let ada = identity.account_by_email("ada@example.org").await.expect("an account");
    let (key, token) = identity.create_api_key(&ada, NewApiKey::default()).await.expect("a key");
    let response = ward.story.open(with_key(&ward, &token).pop().expect("a request")).await;
    let mut events = EventStream::of(response);
    events.begin().await;
    identity.revoke_api_key(&key.id).await.expect("revoked");
    assert!(events.event().await.is_none(), "the key was revoked");
}

#[tokio::test]
async fn a_stream_ends_with_its_session_its_membership_and_its_node() {
    let ward = Ward::open().await;
    let (hal, _) = Browser::of(&ward.story, "hal@example.org", Role::Hcp).await;
    let hcps = format!("/integration/v1/groups/{}/hcps", ward.group);
    let added = ward.browser.ask(&ward.story, "POST", &hcps, json!({"email": "hal@example.org"})).await.ok();
    let of_hal = Ward { browser: hal, story: ward.story, ..ward };
    let mut events = of_hal.events("").await;
    let ada = Browser::sign_in(&of_hal.story, json!({"email": "ada@example.org", "password": PASSWORD})).await;
    let path = format!("{hcps}/{}", text(&added["uuid"]));
    ada.ask(&of_hal.story, "DELETE", &path, Value::Null).await.done();
    assert!(events.event().await.is_none(), "no longer a member");

    let ward = Ward { browser: ada, ..of_hal };
    let mut events = ward.events("").await;
    ward.browser.ask(&ward.story, "DELETE", "/portal/session", Value::Null).await.done();
    assert!(events.event().await.is_none(), "the session has ended");

    let ada = Browser::sign_in(&ward.story, json!({"email": "ada@example.org", "password": PASSWORD})).await;
    let ward = Ward { browser: ada, ..ward };
    let mut events = ward.events("").await;
    ward.story.platform.data.end_listening();
    assert!(events.event().await.is_none(), "the node is about to stop");
}
