//! What a researcher manages: groups and their members, settings, profiles, alarms, bracelets.

mod common;
#[path = "management/group_texts.rs"]
mod group_texts;
#[path = "management/practitioner.rs"]
mod practitioner;
#[path = "management/profile_limits.rs"]
mod profile_limits;
#[path = "management/rule_limits.rs"]
mod rule_limits;
#[path = "management/seen_bracelets.rs"]
mod seen_bracelets;
#[path = "management/vouchers.rs"]
mod vouchers;

use common::{PASSWORD, START_MS, Story, text};
use platform::NewApiKey;
use serde_json::{Value, json};
use store::{GroupCode, Role};

const HOUR_MS: i64 = 3_600_000;

#[tokio::test]
async fn a_group_is_changed_and_deleted() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let path = format!("/integration/v1/groups/{group}");
    let changed = story.ask("PATCH", &path, &key, json!({"name": "Rest"})).await.ok();
    assert_eq!((&changed["name"], &changed["description"]), (&json!("Rest"), &json!("of nurses")));
    assert_eq!(story.get_as("/integration/v1/groups", &key).await.ok(), json!([changed]));
    assert_eq!(story.ask("PATCH", &path, &key, json!({})).await.error(), (422, "invalid"));
    assert_eq!(story.ask("PATCH", &path, &key, json!({"name": " "})).await.error(), (422, "invalid"));

    let created = story.post_as(&format!("{path}/patients"), &key, Value::Null).await.ok();
    assert_eq!(story.ask("DELETE", &path, &key, Value::Null).await.error(), (409, "group_has_patients"));
    let patient = format!("/integration/v1/patients/{}", text(&created["uuid"]));
    story.ask("DELETE", &patient, &key, Value::Null).await.ok();
    story.ask("DELETE", &path, &key, Value::Null).await.done();
    assert_eq!(story.ask("DELETE", &path, &key, Value::Null).await.error(), (404, "group_not_found"));
    assert_eq!(story.get_as("/integration/v1/groups", &key).await.ok(), json!([]));
}

#[tokio::test]
async fn a_key_scoped_to_a_deleted_group_acts_on_nothing() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let (first, second) = (story.group(&key).await, story.group(&key).await);
    let account = story.platform.identity.account_by_email("ada@example.org").await.expect("an account");
    let scope = NewApiKey { groups: vec![GroupCode::new(first.clone())], ..NewApiKey::default() };
    let (_, scoped) = story.platform.identity.create_api_key(&account, scope).await.expect("a key");
    story.ask("DELETE", &format!("/integration/v1/groups/{first}"), &scoped, Value::Null).await.done();
    assert_eq!(story.get_as("/integration/v1/groups", &scoped).await.ok(), json!([]));
    let other = format!("/integration/v1/groups/{second}/patients");
    assert_eq!(story.get_as(&other, &scoped).await.error(), (403, "forbidden"));
}

#[tokio::test]
async fn members_come_and_go_and_their_tokens_with_them() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let hcp = story.key_of("hcp@example.org", Role::Hcp).await;
    let group = story.group(&key).await;
    let grace = story.patient(&key, &group, Value::Null).await;
    let hcps = format!("/integration/v1/groups/{group}/hcps");
    let account = async |email: &str| story.platform.identity.account_by_email(email).await.expect("an account").uuid;
    let (ada, hal) = (account("ada@example.org").await, account("hcp@example.org").await);

    let added = story.post_as(&hcps, &key, json!({"email": " HCP@example.org"})).await.ok();
    assert_eq!(added, json!({"uuid": hal, "email": "hcp@example.org", "role": "hcp"}));
    let unknown = story.post_as(&hcps, &key, json!({"email": "nobody@example.org"})).await;
    assert_eq!(unknown.error(), (404, "account_not_found"));
    assert_eq!(story.post_as(&hcps, &key, json!({})).await.error(), (422, "invalid"));
    let listed = story.get_as(&hcps, &key).await.ok();
    assert_eq!(listed, json!([{"uuid": ada, "email": "ada@example.org", "role": "researcher"}, added]));

    let health_token = format!("/integration/v1/patients/{}/health-token", grace.uuid);
    let token = text(&story.get_as(&health_token, &hcp).await.ok()["token"]);
    assert!(story.platform.identity.health_caller(&token).await.is_ok());
    let last = story.ask("DELETE", &format!("{hcps}/{ada}"), &key, Value::Null).await;
    assert_eq!(last.error(), (409, "last_manager"));
    story.ask("DELETE", &format!("{hcps}/{hal}"), &key, Value::Null).await.done();
    assert_eq!(story.ask("DELETE", &format!("{hcps}/{hal}"), &key, Value::Null).await.error(), (404, "hcp_not_found"));
    assert!(story.platform.identity.health_caller(&token).await.is_err(), "the token outlived the membership");
    assert_eq!(story.get_as(&health_token, &hcp).await.error(), (403, "forbidden"));
}

#[tokio::test]
async fn a_patient_moves_between_groups_of_the_caller() {
    let story = Story::begin().await;
    let ada = story.key_of("ada@example.org", Role::Researcher).await;
    let bob = story.key_of("bob@example.org", Role::Researcher).await;
    let (first, second, bobs) = (story.group(&ada).await, story.group(&ada).await, story.group(&bob).await);
    let grace = story.patient(&ada, &first, Value::Null).await;
    let path = |group: &str| format!("/integration/v1/groups/{group}/patients/{}", grace.uuid);
    let ask = async |method: &str, group: &str, key: &str| story.ask(method, &path(group), key, Value::Null).await;

    // Neither into a group of somebody else's, nor a patient of somebody else's into one's own.
    assert_eq!(ask("PUT", &bobs, &ada).await.error(), (403, "forbidden"));
    assert_eq!(ask("PUT", &bobs, &bob).await.error(), (403, "forbidden"));
    assert_eq!(ask("DELETE", &first, &ada).await.error(), (409, "last_group"));
    assert_eq!(ask("DELETE", &second, &ada).await.error(), (404, "patient_not_found"));
    ask("PUT", &second, &ada).await.done();
    let health_token = format!("/integration/v1/patients/{}/health-token", grace.uuid);
    let reading = text(&story.get_as(&health_token, &ada).await.ok()["token"]);
    ask("DELETE", &first, &ada).await.done();
    assert!(story.platform.identity.health_caller(&reading).await.is_err(), "the token outlived the attachment");
    assert!(story.platform.identity.health_caller(&grace.health_token).await.is_ok());
    let list = async |group: &str| {
        let patients = story.get_as(&format!("/integration/v1/groups/{group}/patients"), &ada).await.ok();
        patients.as_array().expect("a list").len()
    };
    assert_eq!((list(&first).await, list(&second).await), (0, 1));
}

#[tokio::test]
async fn settings_hold_from_the_moment_they_are_set() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let grace = story.patient(&key, &group, json!({"birthday": "1980-01-01", "time_zone": "UTC"})).await;
    let path = format!("/integration/v1/groups/{group}/settings");
    let default = json!({"activity_goal_steps": 10_000, "max_heart_rate_rule": "fox", "retention": {}});
    assert_eq!(story.get_as(&path, &key).await.ok(), default);
    // Yesterday and today, two hundred steps each.
    let steps =
        |time_ms: i64| json!({"activity": {"timestamp": [time_ms, time_ms + 60_000], "bpm": 60, "last_steps": 100}});
    story.sync(&grace, steps(START_MS - 2 * HOUR_MS)).await;
    story.sync(&grace, steps(START_MS - HOUR_MS / 2)).await;
    let percents = async || {
        story.derive().await;
        let mut percents = Vec::new();
        for day in ["2025-11-19", "2025-11-20"] {
            let path = format!("/integration/v1/patients/{}/summary/{day}", grace.uuid);
            percents.push(story.get_as(&path, &key).await.ok()["activity"]["daily_percent"].as_f64().expect("percent"));
        }
        percents
    };
    let before = percents().await;
    let change = json!({"activity_goal_steps": 400, "retention": {"ppg2": 30}});
    let changed = story.ask("PUT", &path, &key, change).await.ok();
    let expected = json!({"activity_goal_steps": 400, "max_heart_rate_rule": "fox", "retention": {"ppg2": 30}});
    assert_eq!(changed, expected);
    assert_eq!(story.get_as(&path, &key).await.ok(), expected);
    let after = percents().await;
    assert_eq!(after[0].to_bits(), before[0].to_bits(), "yesterday keeps its goal");
    assert!((after[1] - 50.0).abs() < 0.01, "{before:?} {after:?}");

    // Another group that joins later changes nothing; the first gives the goal until it lets the patient go.
    let second = story.group(&key).await;
    let other = json!({"activity_goal_steps": 200});
    story.ask("PUT", &format!("/integration/v1/groups/{second}/settings"), &key, other).await.ok();
    story.pass_ms(1000);
    let attach = |group: &str| format!("/integration/v1/groups/{group}/patients/{}", grace.uuid);
    story.ask("PUT", &attach(&second), &key, Value::Null).await.done();
    assert!((percents().await[1] - 50.0).abs() < 0.01);
    story.pass_ms(1000);
    story.ask("DELETE", &attach(&group), &key, Value::Null).await.done();
    assert!((percents().await[1] - 100.0).abs() < 0.01);

    let wrong = json!({"activity_goal_steps": 0, "max_heart_rate_rule": "guess", "retention": {"mood": 1}});
    let refused = story.ask("PUT", &path, &key, wrong).await;
    assert_eq!(refused.error(), (422, "invalid"));
    let fields: Vec<&String> = refused.body["errors"].as_object().expect("fields").keys().collect();
    assert_eq!(fields, ["activity_goal_steps", "max_heart_rate_rule", "retention.mood"]);
    assert_eq!(story.ask("PUT", &path, &key, json!({"retention": 7})).await.error(), (422, "invalid"));
    assert_eq!(story.ask("PUT", &path, &key, json!({})).await.error(), (422, "invalid"));
}

#[tokio::test]
async fn a_new_patient_has_the_settings_of_their_group() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let settings = json!({"activity_goal_steps": 200});
    story.ask("PUT", &format!("/integration/v1/groups/{group}/settings"), &key, settings).await.ok();
    let grace = story.patient(&key, &group, json!({"time_zone": "UTC"})).await;
    let minute = json!({"activity": {"timestamp": [START_MS], "bpm": 60, "last_steps": 100}});
    story.sync(&grace, minute).await;
    let path = format!("/integration/v1/patients/{}/summary/2025-11-20", grace.uuid);
    let percent = story.get_as(&path, &key).await.ok()["activity"]["daily_percent"].as_f64();
    assert!((percent.expect("percent") - 50.0).abs() < 0.01);
}

#[tokio::test]
async fn staff_corrects_a_patient() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let created = story.post_as(&format!("/integration/v1/groups/{group}/patients"), &key, Value::Null).await.ok();
    let uuid = text(&created["uuid"]);
    let path = format!("/integration/v1/patients/{uuid}");

    let filed = json!({"external_patient_id": "MRN 7", "customer_tag": "AB12C", "time_zone": "Europe/Zurich"});
    let row = story.ask("PATCH", &path, &key, filed).await.ok();
    assert_eq!((&row["external_patient_id"], &row["customer_tag"]), (&json!("MRN 7"), &json!("AB12C")));
    let row = story.ask("PATCH", &path, &key, json!({"external_patient_id": ""})).await.ok();
    assert_eq!((&row["external_patient_id"], &row["customer_tag"]), (&Value::Null, &json!("AB12C")));

    let profile = json!({
        "first_name": "Grace", "last_name": "H", "email": "Grace@Example.org", "birthday": "1966-12-09",
        "gender": "female", "country": "Switzerland", "height": 165.5, "weight": 61, "skin_color": 2, "hair_density": 3,
    });
    let row = story.ask("PUT", &format!("{path}/profile"), &key, profile).await.ok();
    let expected = json!({
        "uuid": uuid, "_id": created["_id"], "code": created["code"], "state": "pre_created", "customer_tag": "AB12C",
        "first_name": "Grace", "last_name": "H", "email": "grace@example.org", "birthday": "1966-12-09",
        "gender": "female", "country": "Switzerland", "height": 165.5, "weight": 61.0, "skin_color": 2,
        "hair_density": 3,
    });
    assert_eq!(row, expected);

    // What staff has entered stays when the patient activates themselves and says something else only.
    let activation = json!({"code": created["code"], "password": PASSWORD, "last_name": "Hopper"});
    let activated = story.post("/users/activate", activation).await.ok();
    let user = &activated["user"];
    assert_eq!((&user["first_name"], &user["last_name"]), (&json!("Grace"), &json!("Hopper")));
    story.post("/users/login", json!({"email": "grace@example.org", "password": PASSWORD})).await.ok();

    // And they change it themselves.
    let token = text(&activated["token"]);
    let own = json!({"first_name": "G.", "weight": 62, "time_zone": "Asia/Tokyo", "agreement_to_terms_of_use": true});
    let user = story.ask("PATCH", "/users/me", &token, own).await.ok();
    assert_eq!((&user["first_name"], &user["agreement_to_terms_of_use"]), (&json!("G."), &json!(true)));
    let list = format!("/integration/v1/groups/{group}/patients?fields=weight,first_name");
    assert_eq!(story.get_as(&list, &key).await.ok(), json!([{"uuid": uuid, "weight": 62.0, "first_name": "G."}]));

    let user = story.ask("PATCH", "/users/me", &token, json!({"time_zone": "us/pacific"})).await.ok();
    assert_eq!(user["time_zone"], "US/Pacific", "as the tables spell it");

    let taken = story.ask("PUT", &format!("{path}/profile"), &key, json!({"email": "ada@example.org"})).await;
    assert_eq!(taken.error(), (409, "duplicate_email"));
    let own = json!({"email": "ada@example.org", "password": PASSWORD});
    let taken = story.ask("PATCH", "/users/me", &token, own).await;
    assert_eq!(taken.error(), (409, "duplicate_email"));
    let wrong = json!({"email": "grace", "birthday": "2030-01-01", "height": 3});
    let refused = story.ask("PUT", &format!("{path}/profile"), &key, wrong).await;
    let fields: Vec<&String> = refused.body["errors"].as_object().expect("fields").keys().collect();
    assert_eq!(fields, ["birthday", "email", "height"]);
    assert_eq!(story.ask("PUT", &format!("{path}/profile"), &key, json!({})).await.error(), (422, "invalid"));
    for wrong in [json!({"customer_tag": "TOOLONG"}), json!({"time_zone": "Mars/Olympus"}), json!({})] {
        assert_eq!(story.ask("PATCH", &path, &key, wrong).await.error(), (422, "invalid"));
    }
}

#[tokio::test]
async fn an_account_changes_its_names_and_nothing_else() {
    let story = Story::begin().await;
    story.key_of("ada@example.org", Role::Researcher).await;
    let login = story.post("/users/login", json!({"email": "ada@example.org", "password": PASSWORD})).await.ok();
    let token = text(&login["token"]);
    let user = story.ask("PATCH", "/users/me", &token, json!({"first_name": "Ada"})).await.ok();
    assert_eq!((&user["first_name"], &user["email"]), (&json!("Ada"), &json!("ada@example.org")));
    let refused = story.ask("PATCH", "/users/me", &token, json!({"first_name": "A", "weight": 60})).await;
    assert_eq!(refused.body["errors"], json!({"weight": ["is an attribute of patients only"]}));
}

#[tokio::test]
async fn a_corrected_body_computes_its_days_again() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let grace = story.patient(&key, &group, json!({"birthday": "1950-01-01", "time_zone": "UTC"})).await;
    let times: Vec<i64> = (0..10).map(|minute| START_MS - HOUR_MS / 2 + minute * 60_000).collect();
    story.sync(&grace, json!({"activity": {"timestamp": times, "bpm": 130, "bpm_q": 4, "wearing": 4}})).await;
    let summary = format!("/integration/v1/patients/{}/summary/2025-11-20?types=heart_rate", grace.uuid);
    let before = story.get_as(&summary, &key).await.ok();
    let profile = format!("/integration/v1/patients/{}/profile", grace.uuid);
    story.ask("PUT", &profile, &key, json!({"birthday": "2005-01-01"})).await.ok();
    story.derive().await;
    let after = story.get_as(&summary, &key).await.ok();
    assert_ne!(before, after, "zones of somebody of 75 and of 20 are the same");
    assert_eq!(before["heart_rate"]["max_daily_heart_rate"], after["heart_rate"]["max_daily_heart_rate"]);
}

#[tokio::test]
async fn alarms_are_kept_as_they_are_set() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let grace = story.patient(&key, &group, Value::Null).await;
    let path = format!("/integration/v1/patients/{}/alarms", grace.uuid);
    assert_eq!(story.get_as(&path, &key).await.ok(), json!({"alarms": []}));
    let alarms = json!({"alarms": [
        {"vital": "heart_rate", "below": 40.0, "above": 130.0, "for_s": 300},
        {"vital": "news_score", "above": 4.0, "for_s": 0},
    ]});
    assert_eq!(story.ask("PUT", &path, &key, alarms.clone()).await.ok(), alarms);
    assert_eq!(story.get_as(&path, &key).await.ok(), alarms);
    let cases = [
        (json!({}), "alarms"),
        (json!({"alarms": {}}), "alarms"),
        (json!({"alarms": ["spo2"]}), "alarms.0"),
        (json!({"alarms": [{"vital": "mood", "below": 1}]}), "alarms.0.vital"),
        (json!({"alarms": [{"vital": "spo2", "below": 92, "above": 90}]}), "alarms.0.below"),
        (json!({"alarms": [{"vital": "spo2"}]}), "alarms.0.below"),
        (json!({"alarms": [{"vital": "spo2", "below": 92, "for_s": -1}]}), "alarms.0.for_s"),
        (json!({"alarms": [{"vital": "spo2", "below": "low"}]}), "alarms.0.below"),
    ];
    for (body, field) in cases {
        let refused = story.ask("PUT", &path, &key, body.clone()).await;
        assert_eq!(refused.error(), (422, "invalid"), "{body}");
        assert!(refused.body["errors"][field].is_array(), "{body}: {}", refused.body);
    }
    assert_eq!(story.get_as(&path, &key).await.ok(), alarms);
    story.ask("PUT", &path, &key, json!({"alarms": []})).await.ok();
    assert_eq!(story.get_as(&path, &key).await.ok(), json!({"alarms": []}));
}

#[tokio::test]
async fn a_bracelet_is_registered_worn_and_given_back() {
    let story = Story::begin().await;
    let ada = story.key_of("ada@example.org", Role::Researcher).await;
    let bob = story.key_of("bob@example.org", Role::Researcher).await;
    let group = story.group(&ada).await;
    let (grace, hedy) =
        (story.patient(&ada, &group, Value::Null).await, story.patient(&ada, &group, Value::Null).await);
    let all = "/integration/v1/bracelets";
    let new = json!({"serial_number": "PB-1", "device_type": "wrist"});
    let bracelet = story.post_as(all, &ada, new.clone()).await.ok();
    assert_eq!(text(&bracelet["id"]).len(), 24);
    let expected = json!({
        "id": bracelet["id"], "serial_number": "PB-1", "device_type": "wrist", "created_at": "2025-11-20T00:53:20.000Z",
        "registered": true,
    });
    assert_eq!(bracelet, expected);
    assert_eq!(story.post_as(all, &bob, new).await.error(), (409, "duplicate_serial_number"));
    assert_eq!(story.post_as(all, &ada, json!({"serial_number": " "})).await.error(), (422, "invalid"));
    for unseen in ["PB-1 ", "PB-1\u{feff}", "\u{85}PB-1", "PB\t1", ""] {
        let new = json!({"serial_number": unseen, "device_type": "wrist"});
        assert_eq!(story.post_as(all, &ada, new).await.error(), (422, "invalid"), "{unseen:?}");
    }
    assert_eq!(story.get_as(all, &ada).await.ok(), json!([bracelet]));
    assert_eq!(story.get_as(all, &bob).await.ok(), json!([]));
    let one = format!("{all}/PB-1");
    assert_eq!(story.ask("PATCH", &one, &bob, json!({"firmware_version": "2"})).await.error(), (403, "forbidden"));
    assert_eq!(story.ask("PATCH", &one, &ada, json!({})).await.error(), (422, "invalid"));
    let unknown = story.ask("PATCH", &format!("{all}/PB-2"), &ada, json!({"firmware_version": "2"})).await;
    assert_eq!(unknown.error(), (404, "bracelet_not_found"));

    let worn = |uuid: &str| format!("/integration/v1/patients/{uuid}/bracelets/PB-1");
    let ask = async |method: &str, uuid: &str| story.ask(method, &worn(uuid), &ada, Value::Null).await;
    ask("PUT", &grace.uuid).await.done();
    assert_eq!(ask("PUT", &hedy.uuid).await.error(), (409, "bracelet_attached"));
    assert_eq!(story.ask("DELETE", &one, &ada, Value::Null).await.error(), (409, "bracelet_attached"));
    assert_eq!(story.get_as(all, &ada).await.ok()[0]["patient_uuid"], json!(grace.uuid));
    let patched = story.ask("PATCH", &one, &ada, json!({"firmware_version": "2.1"})).await.ok();
    assert_eq!(patched["firmware_version"], "2.1");
    // Their list shows it, as it would after the report of a sync.
    let devices = async || {
        let path = format!("/integration/v1/groups/{group}/patients?fields=device");
        story.get_as(&path, &ada).await.ok()[0]["device"].clone()
    };
    let device = devices().await;
    assert_eq!((&device["serial_number"], &device["firmware_version"]), (&json!("PB-1"), &json!("2.1")));
    assert_eq!(ask("DELETE", &hedy.uuid).await.error(), (404, "bracelet_not_found"));
    ask("DELETE", &grace.uuid).await.done();
    assert_eq!(devices().await, Value::Null);
    ask("PUT", &hedy.uuid).await.done();
    ask("DELETE", &hedy.uuid).await.done();
    story.ask("DELETE", &one, &ada, Value::Null).await.done();
    assert_eq!(story.get_as(all, &ada).await.ok(), json!([]));
}

#[tokio::test]
async fn a_scoped_key_reaches_no_further_than_its_groups() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let (first, second) = (story.group(&key).await, story.group(&key).await);
    let (grace, hedy) =
        (story.patient(&key, &first, Value::Null).await, story.patient(&key, &second, Value::Null).await);
    let account = story.platform.identity.account_by_email("ada@example.org").await.expect("an account");
    let scope = NewApiKey { groups: vec![GroupCode::new(first.clone())], ..NewApiKey::default() };
    let (_, scoped) = story.platform.identity.create_api_key(&account, scope).await.expect("a key");
    let all = "/integration/v1/bracelets";
    for (serial_number, wearer) in [("PB-1", Some(&grace)), ("PB-2", Some(&hedy)), ("PB-3", None)] {
        story.post_as(all, &key, json!({"serial_number": serial_number, "device_type": "wrist"})).await.ok();
        if let Some(wearer) = wearer {
            let worn = format!("/integration/v1/patients/{}/bracelets/{serial_number}", wearer.uuid);
            story.ask("PUT", &worn, &key, Value::Null).await.done();
        }
    }
    let listed = story.get_as(all, &scoped).await.ok();
    let serials: Vec<&Value> = listed.as_array().expect("a list").iter().map(|one| &one["serial_number"]).collect();
    assert_eq!(serials, ["PB-1"]);
    let new = json!({"serial_number": "PB-4", "device_type": "wrist"});
    assert_eq!(story.post_as(all, &scoped, new).await.error(), (403, "forbidden"));
    for other in ["PB-2", "PB-3"] {
        let one = format!("{all}/{other}");
        let patched = story.ask("PATCH", &one, &scoped, json!({"firmware_version": "2"})).await;
        assert_eq!(patched.error(), (403, "forbidden"), "{other}");
        assert_eq!(story.ask("DELETE", &one, &scoped, Value::Null).await.error(), (403, "forbidden"), "{other}");
    }
    story.ask("PATCH", &format!("{all}/PB-1"), &scoped, json!({"firmware_version": "2"})).await.ok();

    let voucher =
        async |code: &str| story.get_as(&format!("/integration/v1/check-voucher-code/{code}"), &scoped).await.ok();
    assert_eq!(voucher(&grace.code).await["state"], "confirmed");
    assert_eq!(voucher(&hedy.code).await, voucher("AAAAAAAA").await);

    let log = story.get_as("/integration/v1/patients/audit/logs?from=0&to=9999999999999", &scoped).await.ok();
    assert!(log.to_string().contains(&grace.uuid) && !log.to_string().contains(&hedy.uuid), "{log}");
    let created = log.as_array().expect("a list").iter().filter(|entry| entry["action_type"] == "GROUP_CREATE");
    assert_eq!(created.count(), 1);
    let bracelets = log.as_array().expect("a list").iter().filter(|entry| entry["action_type"] == "BRACELET_CREATE");
    assert_eq!(bracelets.count(), 1);
}
