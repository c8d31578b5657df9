//! The end of a person: what goes, what stays, and that nothing comes back.
#![allow(clippy::disallowed_methods, reason = "a client of the service, outside the runtime seam")]

mod common;

use std::path::Path;

use api::ClientAddress;
use axum::body::Body;
use axum::http::Request;
use common::{Enrolled, PASSWORD, START_MS, Story, text};
use platform::seal::Until;
use serde_json::{Value, json};
use store::{
    ActorRole, Address, AuditEntryId, EntityId, HealthChange, HealthMessage, MessageId, NewAuditEntry, PatientErasure,
    PatientId, Role, UserId, UserRole,
};
use testkit::Postgres;

/// The jobs that look once more for what is left of the erased.
const ERASURE_CHECKS: [&str; 2] = ["plan_erasure_checks", "check_erasure"];

/// What would show who the erased are, as they were entered and sent.
const NAMING: [&str; 12] = [
    "Gracelle",
    "Hopperling",
    "gracelle@hopper.example",
    "EXT-778899",
    "1906-12-09",
    "Ruritania",
    "SN-SYNCED-7777",
    "FW-9.8.7-odd",
    "5f1c0de5-aaaa-4bbb-8ccc-123456789abc",
    "note-marker-k2Vq8ZtYw",
    "203.0.113.77",
    "203.0.113.78",
];

/// A researcher, and two patients with everything that can be known of them.
struct Cast {
    key: String,
    group: String,
    grace: Enrolled,
    hedy: Enrolled,
}

fn rows(first_minute: i64) -> Value {
    let times: Vec<i64> = (0..10).map(|minute| START_MS - 3_600_000 + (first_minute + minute) * 60_000).collect();
    json!({
        "activity": {"timestamp": times, "bpm": [61, 62, 63, 64, 65, 66, 67, 68, 69, 70], "spo2": 97},
        "ppg1": {"start": times[0], "rate_hz": 25, "ppg": [1, 2, 3, 4]},
    })
}

async fn gather(story: &Story) -> Cast {
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let person = json!({
        "first_name": "Gracelle", "last_name": "Hopperling", "email": "gracelle@hopper.example",
        "birthday": "1906-12-09", "country": "Ruritania", "time_zone": "Europe/Zurich",
    });
    // Before the e-mail is anybody's: the log knows a hash of it, and where from.
    assert_eq!(log_in(story, "not the password", "203.0.113.78").await, 401);
    let grace = story.patient(&key, &group, person).await;
    let hedy = story.patient(&key, &group, json!({"first_name": "Hedy"})).await;
    let of_grace = |what: &str| format!("/integration/v1/patients/{}{what}", grace.uuid);
    story.ask("PATCH", &of_grace(""), &key, json!({"external_patient_id": "EXT-778899"})).await.ok();
    story.ask("PUT", &of_grace("/profile"), &key, json!({"weight": 61})).await.ok();
    let alarms = json!({"alarms": [{"vital": "spo2", "below": 92, "for_s": 60}]});
    story.ask("PUT", &of_grace("/alarms"), &key, alarms).await.ok();
    story.ask("PUT", &of_grace("/news-settings"), &key, json!({"oxygen": true})).await.ok();
    let bracelet = json!({"serial_number": "SN-STOCK-1", "device_type": "wrist"});
    story.post_as("/integration/v1/bracelets", &key, bracelet).await.ok();
    story.ask("PUT", &of_grace("/bracelets/SN-STOCK-1"), &key, Value::Null).await.done();
    story.get_as(&of_grace("/health-token"), &key).await.ok();
    // The security log says where from: a good login and one that fails.
    for (password, status) in [(PASSWORD, 200), ("not the password", 401)] {
        assert_eq!(log_in(story, password, "203.0.113.77").await, status);
    }
    send(story, &grace, 0, Telling::Yes).await.ok();
    send(story, &hedy, 0, Telling::No).await.ok();
    story.derive().await;
    story.platform.upkeep.seal(Until::Now, |_| {}).await.expect("sealed");
    send(story, &grace, 10, Telling::Yes).await.ok();
    send(story, &hedy, 10, Telling::No).await.ok();
    story.derive().await;
    Cast { key, group, grace, hedy }
}

/// Logs in with the e-mail of the first patient, from an address.
async fn log_in(story: &Story, password: &str, address: &str) -> u16 {
    let body = json!({"email": "gracelle@hopper.example", "password": password}).to_string();
    let request = Request::post("/users/login").header("content-type", "application/json").body(Body::from(body));
    let mut request = request.expect("a request");
    request.extensions_mut().insert(ClientAddress(Some(address.parse().expect("an address"))));
    story.send(request).await.status.as_u16()
}

#[derive(PartialEq)]
enum Telling {
    Yes,
    No,
}

async fn send(story: &Story, patient: &Enrolled, first_minute: i64, telling: Telling) -> common::Answer {
    let mut body = json!({"data": rows(first_minute)});
    if telling == Telling::Yes && first_minute == 0 {
        body["sync_id"] = NAMING[8].into();
    }
    if telling == Telling::Yes {
        body["device"] = json!({"serial_number": "SN-SYNCED-7777", "firmware_version": "FW-9.8.7-odd"});
        let time_ms = START_MS - 3_600_000 + first_minute * 60_000;
        body["data"]["tests"] = json!([{
            "timestamp": time_ms, "test_type": "weight", "value": 61, "unit": "kg", "note": "note-marker-k2Vq8ZtYw",
        }]);
    }
    story.post_as("/health/v1/sync", &patient.health_token, body).await
}

/// Returns the names of `NAMING` that lie in any file of a folder, and how many files there are.
fn found_in(folder: &Path, found: &mut Vec<&'static str>) -> usize {
    let mut files = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files += found_in(&path, found);
            continue;
        }
        files += 1;
        let bytes = std::fs::read(&path).expect("a file");
        let names = |name: &&&str| bytes.windows(name.len()).any(|window| window == name.as_bytes());
        found.extend(NAMING.iter().filter(names));
    }
    files
}

/// Returns the names of `NAMING` that lie anywhere, sorted.
fn found(story: &Story, databases: &[&Postgres]) -> Vec<&'static str> {
    let mut found = Vec::new();
    found_in(story.folder(), &mut found);
    for database in databases {
        let dump = database.dump();
        found.extend(NAMING.iter().filter(|name| dump.contains(**name)));
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn all_telling() -> Vec<&'static str> {
    let mut all = NAMING.to_vec();
    all.sort_unstable();
    all
}

#[tokio::test]
async fn nothing_is_left_in_the_files() {
    let story = Story::begin().await;
    let cast = gather(&story).await;
    assert_eq!(found(&story, &[]), all_telling(), "the test could not find what it looks for");
    erase_and_look(&story, &cast, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_in_the_tables() {
    let (Some(users), Some(health)) = (Postgres::start(), Postgres::start()) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let addresses = [&users, &health].map(|database| Address::Postgres(database.url.clone()));
    let [users_address, health_address] = addresses;
    let story = Story::begin_at(users_address, health_address, folder, api::Limits::default()).await;
    let cast = gather(&story).await;
    let before = found(&story, &[&users, &health]);
    // A dump shows payloads as digits, so a note that is not sealed yet is not found in it; the sealed one is.
    assert_eq!(before, all_telling(), "the test could not find what it looks for");
    erase_and_look(&story, &cast, &[&users, &health]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn receipt_names_files_and_the_server_where_there_is_one_database_of_each() {
    for users_on_server in [true, false] {
        let Some(server) = Postgres::start() else { return };
        let folder = tempfile::tempdir().expect("a folder");
        let file = Address::File(folder.path().join("one.db"));
        let on_server = Address::Postgres(server.url.clone());
        let (users, health) = if users_on_server { (on_server, file) } else { (file, on_server) };
        let story = Story::begin_at(users, health, folder, api::Limits::default()).await;
        let key = story.key_of("ada@example.org", Role::Researcher).await;
        let group = story.group(&key).await;
        let grace = story.patient(&key, &group, Value::Null).await;
        let path = format!("/integration/v1/patients/{}", grace.uuid);
        let receipt = story.ask("DELETE", &path, &key, Value::Null).await.ok();
        let left: Vec<&Value> =
            receipt["remains"].as_array().expect("a list").iter().map(|left| &left["where"]).collect();
        assert_eq!(
            left,
            ["database_files", "database_server", "database_server_logs", "backups"],
            "users on the server: {users_on_server}"
        );
    }
}

async fn erase_and_look(story: &Story, cast: &Cast, databases: &[&Postgres]) {
    let Cast { key, group, grace, hedy } = cast;
    let path = format!("/integration/v1/patients/{}", grace.uuid);
    let hedys_day = format!("/integration/v1/patients/{}/summary/2025-11-20?include_slots=1", hedy.uuid);
    let hedys_day_before = story.get_as(&hedys_day, key).await.ok();
    let receipt = story.ask("DELETE", &path, key, Value::Null).await.ok();
    assert_eq!((&receipt["uuid"], &receipt["erased_at"]), (&json!(grace.uuid), &json!("2025-11-20T00:53:20.000Z")));
    // The receipt is true when it is given: nothing is in any file, logs included, but what it names.
    let left: Vec<&Value> = receipt["remains"].as_array().expect("a list").iter().map(|left| &left["where"]).collect();
    if databases.is_empty() {
        assert_eq!(left, ["database_files", "backups"]);
        assert_eq!(receipt["remains"][0]["until"], "2025-11-20T01:53:20.000Z");
        assert_eq!(found(story, &[]), Vec::<&str>::new(), "in a file when the receipt was given");
    } else {
        assert_eq!(left, ["database_server", "database_server_logs", "backups"]);
        assert_eq!(receipt["remains"][0]["until"], "2025-11-20T01:53:20.000Z");
    }
    let count = |kind: &str| receipt["counts"][kind].as_u64().unwrap_or_else(|| panic!("no {kind}: {receipt}"));
    // Twenty rows of activity, eight of ppg1, two of tests.
    assert_eq!(count("samples"), 30);
    for kind in [
        "chunks",
        "segments",
        "slots",
        "summaries",
        "latest_values",
        "news_entries",
        "settings",
        "alarms",
        "devices",
        "health_sessions",
        "users_sessions",
        "syncs",
        "profiles",
        "persons",
        "groups",
        "audit_details",
        "security_events",
        "bracelet_attachments",
    ] {
        assert!(count(kind) > 0, "no {kind} were erased: {receipt}");
    }

    // They are gone for everybody.
    assert_eq!(story.ask("DELETE", &path, key, Value::Null).await.error(), (404, "patient_not_found"));
    assert_eq!(story.get_as(&format!("{path}/health-token"), key).await.error(), (404, "patient_not_found"));
    assert_eq!(story.get_as("/users/me", &grace.users_token).await.error(), (401, "unauthenticated"));
    let late = send(story, grace, 20, Telling::Yes).await;
    assert_eq!(late.error(), (401, "unauthenticated"));
    let login = json!({"email": "gracelle@hopper.example", "password": PASSWORD});
    assert_eq!(story.post("/users/login", login).await.error(), (401, "unauthenticated"));
    let patients = story.get_as(&format!("/integration/v1/groups/{group}/patients"), key).await.ok();
    let left: Vec<String> = patients.as_array().expect("a list").iter().map(|patient| text(&patient["uuid"])).collect();
    assert_eq!(left, std::slice::from_ref(&hedy.uuid));
    // Everybody else keeps everything, and the study keeps its bracelet.
    assert_eq!(story.get_as(&hedys_day, key).await.ok(), hedys_day_before);
    let bracelets = story.get_as("/integration/v1/bracelets", key).await.ok();
    assert_eq!((&bracelets[0]["serial_number"], &bracelets[0]["patient_uuid"]), (&json!("SN-STOCK-1"), &Value::Null));

    // The trail stays, without what it said of them.
    let log = format!("/integration/v1/patients/audit/logs?from=0&to={}", story.now_ms());
    let entries = story.get_as(&log, key).await.ok();
    let of_grace: Vec<&Value> = entries
        .as_array()
        .expect("a list")
        .iter()
        .filter(|entry| entry["primary_entity_id"] == json!(grace.uuid) || entry["action_type"] == "BRACELET_ATTACH")
        .collect();
    assert!(of_grace.len() >= 7, "{of_grace:?}");
    assert!(of_grace.iter().all(|entry| entry["details"].is_null()), "{of_grace:?}");
    assert_eq!(of_grace.last().expect("an entry")["action_type"], "PATIENT_DELETE");
    assert_eq!(story.platform.core.users().verify_audit().await.expect("an answer").1, None);

    assert_eq!(story.platform.upkeep.overwrite_erased().await.expect("rewritten"), 1);
    assert_eq!(story.platform.upkeep.overwrite_erased().await.expect("nothing to do"), 0);
    let later = story.get_as(&format!("/integration/v1/erasures/{}", grace.uuid), key).await.ok();
    assert_eq!((&later["counts"], &later["erased_at"]), (&receipt["counts"], &receipt["erased_at"]));
    let left: Vec<&Value> = later["remains"].as_array().expect("a list").iter().map(|left| &left["where"]).collect();
    assert_eq!(left, if databases.is_empty() { vec!["backups"] } else { vec!["database_server_logs", "backups"] });
    // For the account that has erased, and administrators; nobody else learns that there was such a patient.
    let receipt_path = format!("/integration/v1/erasures/{}", grace.uuid);
    let stranger = story.key_of("eve@example.org", Role::Researcher).await;
    assert_eq!(story.get_as(&receipt_path, &stranger).await.error(), (404, "patient_not_found"));
    let admin = story.key_of("root@example.org", Role::Admin).await;
    assert_eq!(story.get_as(&receipt_path, &admin).await.ok()["counts"], receipt["counts"]);
    let nobody = story.get_as(&format!("/integration/v1/erasures/{}", hedy.uuid), key).await;
    assert_eq!(nobody.error(), (404, "patient_not_found"));
    assert_eq!(found(story, databases), Vec::<&str>::new());
    assert_eq!(story.platform.core.objects().erased().await.expect("a list"), [PatientId::new(grace.uuid.as_str())]);
    // An object that a sealing left after all is found by the second look, an hour later.
    // Also where periods lay before there was one key for all types.
    let late = ["period=2025-11-01", "month=2025-11"].map(|period| {
        let folder = story.folder().join(format!("objects/v1/type=tests/{period}/patient={}", grace.uuid));
        std::fs::create_dir_all(&folder).expect("made");
        let file = folder.join("000009-0000000000000001.parquet");
        std::fs::write(&file, b"note-marker-k2Vq8ZtYw").expect("written");
        file
    });
    assert_eq!(story.jobs(&ERASURE_CHECKS).await, 1, "a sealing could still be under way");
    story.pass_ms(3_600_001);
    assert_eq!(story.jobs(&ERASURE_CHECKS).await, 2, "one look, and one for the patient");
    assert!(!late.iter().any(|file| file.exists()));
}

/// Begins the erasure of a patient as the service does, and stops as if killed after so many steps.
async fn erase_in_part(story: &Story, uuid: &str, steps: usize) {
    let (platform, at_ms) = (&story.platform, story.now_ms());
    let entry = NewAuditEntry {
        id: AuditEntryId::new(format!("entry-{steps}")),
        action_type: "PATIENT_DELETE".to_owned(),
        user_id: UserId::new("ada"),
        user_role: ActorRole::User(UserRole::Account(Role::Researcher)),
        primary: store::Entity { id: EntityId::new(uuid), kind: "patient.id".to_owned() },
        secondary: None,
        details: None,
        salt: [1; 16],
    };
    let change = HealthChange::ErasePatient { uuid: PatientId::new(uuid), at_ms };
    let message = HealthMessage {
        id: MessageId::new(format!("message-{steps}")),
        change,
        entries: vec![entry],
        created_ms: at_ms,
    };
    let names = platform.identity.forget_names(["gracelle@hopper.example".to_owned()]);
    let erasure = PatientErasure { names, in_state: None };
    platform.core.users().erase_patient(&PatientId::new(uuid), erasure, at_ms, message).await.expect("step 1");
    if steps >= 2 {
        platform.core.objects().note_erased(&PatientId::new(uuid), at_ms).await.expect("step 2");
    }
    if steps >= 3 {
        platform.core.health().erase_rows(&PatientId::new(uuid), at_ms).await.expect("step 3");
    }
    if steps >= 4 {
        platform.core.health().erase_objects(&PatientId::new(uuid)).await.expect("step 4");
    }
}

#[tokio::test]
async fn an_erasure_that_was_killed_is_finished() {
    for steps in 1..=4 {
        let story = Story::begin().await;
        let cast = gather(&story).await;
        let (before, _) = story.platform.core.users().verify_audit().await.expect("an answer");
        erase_in_part(&story, &cast.grace.uuid, steps).await;
        // At once they can no longer log in, and nobody reads them by name.
        let path = format!("/integration/v1/patients/{}/summary/2025-11-20", cast.grace.uuid);
        assert_eq!(story.get_as(&path, &cast.key).await.error(), (404, "patient_not_found"), "after {steps}");
        story.derive().await;
        assert_eq!(story.platform.core.deliver_pending(0).await.expect("finished"), 1, "after {steps}");
        assert_eq!(story.platform.upkeep.overwrite_erased().await.expect("rewritten"), 1);
        assert_eq!(found(&story, &[]), Vec::<&str>::new(), "after {steps}");
        assert_eq!(story.platform.core.users().verify_audit().await.expect("an answer"), (before + 1, None));
        // An operator who asks again gets the receipt, however it came about.
        let receipt = story
            .platform
            .people
            .erase_patient_as_operator(&PatientId::new(cast.grace.uuid.as_str()))
            .await
            .expect("a receipt");
        assert_eq!((receipt.counts["samples"], receipt.counts["persons"]), (30, 1), "after {steps}");
    }
}

#[tokio::test]
async fn what_was_enqueued_before_does_not_bring_a_patient_back() {
    let story = Story::begin().await;
    let cast = gather(&story).await;
    // Killed between its commit and the health change.
    let uuid = cast.grace.uuid.clone();
    let alarms = vec![store::Alarm { vital: "spo2".to_owned(), below: Some(90.0), above: None, for_s: 0 }];
    let change = HealthChange::SetAlarms { uuid: PatientId::new(uuid.clone()), alarms };
    let message = HealthMessage { id: MessageId::new("left"), change, entries: Vec::new(), created_ms: story.now_ms() };
    story.platform.core.users().enqueue(message).await.expect("noted");
    story.ask("DELETE", &format!("/integration/v1/patients/{uuid}"), &cast.key, Value::Null).await.ok();
    assert_eq!(story.platform.core.deliver_pending(0).await.expect("nothing is left"), 0);
    assert!(story.platform.core.health().alarms(&PatientId::new(uuid.as_str())).await.expect("an answer").is_empty());
    assert!(story.platform.core.health().patient(&PatientId::new(uuid.as_str())).await.expect("an answer").is_none());
}

/// Syncs, derivations and sealings go on while the patient is erased.
async fn erase_under_fire(story: &Story, databases: &[&Postgres]) {
    let cast = gather(story).await;
    let uuid = cast.grace.uuid.clone();
    let sending = async {
        let mut refused = 0;
        for round in 0.. {
            let answer = send(story, &cast.grace, round % 50, Telling::Yes).await;
            match answer.status.as_u16() {
                200 => assert_eq!(refused, 0, "a sync was taken after one was refused"),
                // 404 is a sync that was accepted by its token and came too late for the patient.
                401 | 404 => refused += 1,
                _ => panic!("{answer:?}"),
            }
            if refused == 3 {
                break;
            }
        }
    };
    let working = async {
        for _ in 0..10 {
            story.derive().await;
            story.platform.upkeep.seal(Until::Now, |_| {}).await.expect("sealed");
        }
    };
    let erasing = async {
        tokio::time::sleep(std::time::Duration::from_millis(60)).await;
        let path = format!("/integration/v1/patients/{uuid}");
        story.ask("DELETE", &path, &cast.key, Value::Null).await.ok();
    };
    futures::join!(sending, working, erasing);
    story.derive().await;
    story.platform.upkeep.seal(Until::Now, |_| {}).await.expect("sealed");
    story.pass_ms(3_600_001);
    story.jobs(&ERASURE_CHECKS).await;
    story.platform.upkeep.overwrite_erased().await.expect("rewritten");
    assert_eq!(found(story, databases), Vec::<&str>::new());
    assert!(story.platform.core.health().patient(&PatientId::new(uuid.as_str())).await.expect("an answer").is_none());
    assert_eq!(story.platform.core.health().chunk_count(&PatientId::new(uuid.as_str())).await.expect("an answer"), 0);
    let objects = story.platform.core.objects().listed("v1").await.expect("a list");
    assert!(objects.iter().all(|object| !object.path.contains(&uuid)), "{objects:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_wins_over_what_is_under_way() {
    erase_under_fire(&Story::begin().await, &[]).await;
    let (Some(users), Some(health)) = (Postgres::start(), Postgres::start()) else { return };
    let addresses = [&users, &health].map(|database| Address::Postgres(database.url.clone()));
    let [users_address, health_address] = addresses;
    let story =
        Story::begin_at(users_address, health_address, tempfile::tempdir().expect("a folder"), api::Limits::default())
            .await;
    erase_under_fire(&story, &[&users, &health]).await;
}

/// The hour of a receipt begins with the erasure, and the job counts from the end of its last run.
#[tokio::test]
async fn files_are_rewritten_before_the_time_that_a_receipt_names() {
    let story = Story::begin().await;
    let cast = gather(&story).await;
    assert_eq!(story.jobs(&["overwrite_erased"]).await, 1, "a look at nothing");
    story.pass_ms(60_000);
    let path = format!("/integration/v1/patients/{}", cast.grace.uuid);
    let receipt = story.ask("DELETE", &path, &cast.key, Value::Null).await.ok();
    let until = &receipt["remains"][0]["until"];
    assert_eq!(*until, "2025-11-20T01:54:20.000Z");
    // Half an hour before that time, so that a run that takes long or begins late keeps it.
    story.pass_ms(30 * 60_000);
    assert_eq!(story.jobs(&["overwrite_erased"]).await, 1);
    let later = story.get_as(&format!("/integration/v1/erasures/{}", cast.grace.uuid), &cast.key).await.ok();
    let left = later["remains"].as_array().expect("a list");
    assert!(left.iter().all(|left| left["where"] != "database_files"), "{later}");
}

#[tokio::test]
async fn people_erase_themselves() {
    let story = Story::begin().await;
    let cast = gather(&story).await;
    let receipt = story.ask("DELETE", "/users/me", &cast.grace.users_token, Value::Null).await.ok();
    assert_eq!((&receipt["uuid"], &receipt["counts"]["samples"]), (&json!(cast.grace.uuid), &json!(30)));
    let again = story.ask("DELETE", "/users/me", &cast.grace.users_token, Value::Null).await;
    assert_eq!(again.error(), (401, "unauthenticated"));

    // An account goes as well, but not while its patients would be left alone.
    let token = |email: &'static str| {
        let login = story.post("/users/login", json!({"email": email, "password": PASSWORD}));
        async move { text(&login.await.ok()["token"]) }
    };
    let ada = token("ada@example.org").await;
    assert_eq!(story.ask("DELETE", "/users/me", &ada, Value::Null).await.error(), (409, "last_manager"));
    let bob = story.key_of("bob@example.org", Role::Researcher).await;
    let hcps = format!("/integration/v1/groups/{}/hcps", cast.group);
    story.post_as(&hcps, &cast.key, json!({"email": "bob@example.org"})).await.ok();
    let health_token = format!("/integration/v1/patients/{}/health-token", cast.hedy.uuid);
    let reading = text(&story.get_as(&health_token, &cast.key).await.ok()["token"]);
    let receipt = story.ask("DELETE", "/users/me", &ada, Value::Null).await.ok();
    assert_eq!((&receipt["counts"]["api_keys"], &receipt["counts"]["memberships"]), (&json!(1), &json!(1)));
    assert_eq!(receipt["remains"][0], json!({"where": "database_files", "until": "2025-11-20T01:53:20.000Z"}));
    // Until then events about the account can come, which look for its erasure.
    story.pass_ms(120_001);
    // What the receipt promises is done: of the account as of the patient.
    assert_eq!(story.platform.upkeep.overwrite_erased().await.expect("rewritten"), 2);
    assert_eq!(story.platform.upkeep.overwrite_erased().await.expect("nothing to do"), 0);
    assert_eq!(story.get_as("/users/me", &ada).await.error(), (401, "unauthenticated"));
    assert_eq!(story.get_as("/integration/v1/groups", &cast.key).await.error(), (401, "unauthenticated"));
    assert!(story.platform.identity.health_caller(&reading).await.is_err());
    story.get_as(&health_token, &bob).await.ok();
    // Ada's bracelet is Bob's now.
    assert_eq!(story.get_as("/integration/v1/bracelets", &bob).await.ok()[0]["serial_number"], "SN-STOCK-1");
    assert_eq!(story.platform.core.users().verify_audit().await.expect("an answer").1, None);
}
