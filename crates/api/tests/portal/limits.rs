//! What the pages may ask for at most, and what their forms take.

use serde_json::{Value, json};
use store::Role;

use crate::browser::Browser;
use crate::common::study::wrong_fields;
use crate::common::{PASSWORD, Story, text};

#[tokio::test]
async fn names_and_ends_of_keys_have_limits() {
    let story = Story::begin().await;
    let (ada, _) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let create = async |body: Value| ada.ask(&story, "POST", "/portal/api/keys", body).await;
    for name in ["n".to_owned(), "ü".repeat(100), format!("  {}  ", "n".repeat(100))] {
        let created = create(json!({ "name": name })).await;
        assert_eq!((created.status.as_u16(), &created.body["name"]), (201, &json!(name.trim())));
    }
    for name in [json!(""), json!("   "), json!("ü".repeat(101)), json!("a\tb"), json!(7), json!(null)] {
        assert_eq!(wrong_fields(&create(json!({ "name": name })).await), ["name"], "{name}");
    }
    // The clock says 00:53:20.000.
    for (expires_at, is_good) in [
        ("2025-11-20T00:53:20.001Z", true),
        ("2025-11-20T01:53:20.001+01:00", true),
        ("2125-01-01T00:00:00Z", true),
        ("2025-11-20T00:53:20.000Z", false),
        ("2025-11-20T00:53:20.001+01:00", false),
        ("2025-11-20", false),
        ("soon", false),
        ("", false),
    ] {
        let created = create(json!({"name": "n", "expires_at": expires_at})).await;
        if is_good {
            assert_eq!(created.status, 201, "{expires_at}: {created:?}");
        } else {
            assert_eq!(wrong_fields(&created), ["expires_at"], "{expires_at}");
        }
    }
    let listed = ada.get(&story, "/portal/api/keys").await.ok();
    assert_eq!(listed.as_array().map(Vec::len), Some(1 + 3 + 3), "refused keys were not made");
    for key in listed.as_array().expect("keys") {
        assert!(key.get("key").is_none() && text(&key["prefix"]).starts_with("pwk_"), "{key}");
    }
}

#[tokio::test]
async fn key_ends_to_the_millisecond_and_stays_in_the_list() {
    let story = Story::begin().await;
    let (ada, _) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let body = json!({"name": "short", "expires_at": "2025-11-20T00:53:25.000Z"});
    let key = text(&ada.ask(&story, "POST", "/portal/api/keys", body).await.body["key"]);
    story.pass_ms(4_999);
    story.get_as("/integration/v1/groups", &key).await.ok();
    story.pass_ms(1);
    assert_eq!(story.get_as("/integration/v1/groups", &key).await.error(), (401, "unauthenticated"));
    let listed = ada.get(&story, "/portal/api/keys").await.ok();
    let last = listed.as_array().expect("keys").last().expect("a key");
    assert_eq!((&last["name"], &last["revoked_at"]), (&json!("short"), &Value::Null));
}

#[tokio::test]
async fn clients_name_addresses_that_can_be_answered() {
    let story = Story::begin().await;
    let (root, _) = Browser::of(&story, "root@example.org", Role::Admin).await;
    let create = async |body: Value| root.ask(&story, "POST", "/portal/api/clients", body).await;
    let with = |uris: Value| json!({"name": "Diary", "redirect_uris": uris, "privacy_policy_url": "https://diary.example/privacy"});
    for uris in [
        json!(["https://diary.example/back"]),
        json!(["http://127.0.0.1:7777/back", "http://localhost/back", "http://[::1]:80/"]),
        json!(["org.example.diary:/back"]),
    ] {
        let created = create(with(uris.clone())).await;
        assert_eq!((created.status.as_u16(), &created.body["redirect_uris"]), (201, &uris));
        assert_eq!(created.body["public"], false);
    }
    let count = root.get(&story, "/portal/api/clients").await.ok().as_array().map(Vec::len);
    for uris in [
        json!([]),
        json!(["http://diary.example/back"]),
        json!(["https://diary.example/back#part"]),
        json!(["javascript:alert(1)"]),
        json!(["/back"]),
        json!(["https://"]),
        json!([7]),
        json!("https://diary.example/back"),
    ] {
        let refused = create(with(uris.clone())).await;
        assert_eq!(refused.error(), (422, "invalid"), "{uris}");
    }
    for (field, value) in [
        ("name", json!("")),
        ("name", json!(" ")),
        ("privacy_policy_url", json!("ftp://diary.example")),
        ("privacy_policy_url", json!("")),
        ("public", json!("yes")),
    ] {
        let mut body = with(json!(["https://diary.example/back"]));
        body[field] = value.clone();
        assert_eq!(create(body).await.error(), (422, "invalid"), "{field} {value}");
    }
    assert_eq!(root.get(&story, "/portal/api/clients").await.ok().as_array().map(Vec::len), count);
}

/// Names of the fields that the document has of a body.
fn documented(schema: &str) -> Vec<String> {
    let document: Value = serde_json::from_str(include_str!("../../../../docs/openapi.json")).expect("JSON");
    let properties = document["components"]["schemas"][schema]["properties"].as_object().expect("fields").clone();
    properties.into_iter().map(|(name, _)| name).collect()
}

#[tokio::test]
async fn faults_of_a_form_come_at_once_under_the_names_of_its_fields() {
    let story = Story::begin().await;
    let (root, _) = Browser::of(&story, "root@example.org", Role::Admin).await;
    for (method, path, schema, body, wrong) in [
        (
            "POST",
            "/portal/api/clients",
            "OauthClientRequest",
            json!({"name": "\u{feff}", "redirect_uris": [], "privacy_policy_url": "", "public": "yes"}),
            vec!["name", "privacy_policy_url", "public", "redirect_uris"],
        ),
        (
            "POST",
            "/portal/api/clients",
            "OauthClientRequest",
            json!({"name": 7, "redirect_uris": ["/back"], "privacy_policy_url": "http://diary.example"}),
            vec!["name", "privacy_policy_url", "redirect_uris"],
        ),
        (
            "POST",
            "/portal/api/clients",
            "OauthClientRequest",
            json!({}),
            vec!["name", "privacy_policy_url", "redirect_uris"],
        ),
        (
            "POST",
            "/portal/api/keys",
            "ApiKeyRequest",
            json!({"name": " ", "groups": 7, "expires_at": "2025-11-20T00:00:00Z"}),
            vec!["expires_at", "groups", "name"],
        ),
        ("POST", "/portal/api/keys", "ApiKeyRequest", json!({"name": "\u{feff}"}), vec!["name"]),
        (
            "PUT",
            "/portal/api/account/password",
            "PortalPasswordChange",
            json!({"current": 7, "new": "short"}),
            vec!["current", "new"],
        ),
        ("PUT", "/portal/api/totp", "TotpCode", json!({"code": "12345"}), vec!["code"]),
    ] {
        let refused = root.ask(&story, method, path, body.clone()).await;
        assert_eq!(wrong_fields(&refused), wrong, "{method} {path} {body}");
        let fields = documented(schema);
        assert!(wrong.iter().all(|name| fields.contains(&(*name).to_owned())), "{wrong:?} of {fields:?}");
    }
}

#[tokio::test]
async fn fields_that_there_are_not_are_refused_on_every_form() {
    let story = Story::begin().await;
    let (root, _) = Browser::of(&story, "root@example.org", Role::Admin).await;
    let client =
        json!({"name": "Diary", "redirect_uris": ["https://d.example"], "privacy_policy_url": "https://d.example"});
    for (method, path, mut body) in [
        ("POST", "/portal/session", json!({"email": "root@example.org", "password": PASSWORD})),
        ("POST", "/portal/api/clients", client),
        ("POST", "/portal/api/keys", json!({"name": "n"})),
        ("PUT", "/portal/api/account/password", json!({"current": PASSWORD, "new": "another long password"})),
        ("PUT", "/portal/api/totp", json!({"code": "123456"})),
        ("DELETE", "/portal/api/totp", json!({"password": PASSWORD})),
        ("POST", "/portal/api/totp/recovery-codes", json!({"password": PASSWORD})),
    ] {
        let name = body.as_object().and_then(|fields| fields.keys().next().cloned()).expect("a field");
        body[format!("{name}s")] = json!(1);
        let refused = root.ask(&story, method, path, body).await;
        let fault = json!({format!("{name}s"): [format!("is no field here; did you mean {name}?")]});
        assert_eq!((refused.error(), &refused.body["errors"]), ((422, "invalid"), &fault), "{method} {path}");
    }
}

#[tokio::test]
async fn heat_map_of_a_study_is_of_ninety_two_days_at_most() {
    let story = Story::begin().await;
    let (ada, key) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    for profile in [json!({"first_name": "Grace", "last_name": "Hopper"}), Value::Null] {
        story.patient(&key, &group, profile).await;
    }
    let ask = async |query: &str| ada.get(&story, &format!("/portal/api/groups/{group}/compliance?{query}")).await;
    for (query, days) in [
        ("from=2025-11-20&to=2025-11-20", 1),
        ("from=2025-08-21&to=2025-11-20", 92),
        ("from=2024-02-28&to=2024-03-01", 3),
    ] {
        let map = ask(query).await.ok();
        assert_eq!(map["days"].as_array().map(Vec::len), Some(days), "{query}");
        let patients = map["patients"].as_array().expect("patients");
        assert_eq!(patients.len(), 2, "{query}");
        for patient in patients {
            for name in ["percent", "received", "expected"] {
                assert_eq!(patient[name].as_array().map(Vec::len), Some(days), "{query} {name}");
            }
        }
        assert!(patients.iter().any(|patient| patient["name"] == "Grace Hopper"), "{map}");
    }
    for query in [
        "from=2025-08-20&to=2025-11-20",
        "from=2025-11-20&to=2025-11-19",
        "from=2025-11-20",
        "to=2025-11-20",
        "from=yesterday&to=today",
        "",
    ] {
        assert_eq!(ask(query).await.error(), (422, "invalid"), "{query}");
    }
}

#[tokio::test]
async fn series_have_two_to_so_many_points() {
    let story = Story::begin().await;
    let (ada, key) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let patient = story.patient(&key, &group, json!({"time_zone": "UTC"})).await;
    let now_ms = story.now_ms();
    let times: Vec<i64> = (0..240).map(|minute| now_ms - minute * 60_000).collect();
    story.sync(&patient, json!({"activity": {"timestamp": times, "bpm": 60}})).await;
    let from_ms = now_ms - 240 * 60_000;
    let ask = async |points: &str| {
        let range = format!("from={from_ms}&to={now_ms}&series[]=activity.bpm{points}");
        ada.get(&story, &format!("/portal/api/patients/{}/series?{range}", patient.uuid)).await
    };
    for points in [2, 3, 60, 239] {
        let chart = ask(&format!("&points={points}")).await.ok();
        let shown = chart["series"][0]["t"].as_array().map_or(0, Vec::len);
        assert!((1..=points).contains(&shown), "{points}: {shown} shown");
        let bucket_ms = chart["bucket_ms"].as_f64().expect("a length");
        assert!(bucket_ms * points as f64 >= (now_ms - from_ms) as f64, "{points}: {bucket_ms} ms");
    }
    assert_eq!(ask("").await.ok()["series"][0]["raw"], true, "fewer rows than points are shown as they are");
    for points in ["&points=1", "&points=0", "&points=1000000"] {
        assert_eq!(wrong_fields(&ask(points).await), ["points"], "{points}");
    }
    for points in ["&points=-2", "&points=many", "&points=2.5"] {
        assert_eq!(ask(points).await.error(), (400, "malformed_parameter"), "{points}");
    }
}

#[tokio::test]
async fn form_of_the_login_is_checked_before_any_password() {
    let story = Story::begin().await;
    story.key_of("ada@example.org", Role::Researcher).await;
    for (body, fields) in [
        (json!({}), vec!["email", "password"]),
        (json!({"email": "ada@example.org"}), vec!["password"]),
        (json!({"password": PASSWORD}), vec!["email"]),
        (json!({"email": 7, "password": []}), vec!["email", "password"]),
        (json!({"email": "ada@example.org", "password": PASSWORD, "wall_display": "yes"}), vec!["wall_display"]),
        (json!({"email": "ada@example.org", "password": PASSWORD, "totp": 123_456}), vec!["totp"]),
    ] {
        let refused = story.post("/portal/session", body.clone()).await;
        assert_eq!(wrong_fields(&refused), fields, "{body}");
        assert_eq!(refused.header("set-cookie"), "", "{body}");
    }
    let ada = Browser::sign_in(&story, json!({"email": "ada@example.org", "password": PASSWORD})).await;
    for query in ["peek=yes", "optional=2", "peek=null&peek=1"] {
        let refused = ada.get(&story, &format!("/portal/session?{query}")).await;
        assert_eq!(refused.error(), (400, "malformed_parameter"), "{query}");
    }
    ada.get(&story, "/portal/session?peek=1&optional=0").await.ok();
}
