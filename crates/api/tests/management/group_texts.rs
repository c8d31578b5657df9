//! Studies: texts and settings at their limits, partial changes, and what a refused change leaves as it was.

use serde_json::{Value, json};
use store::Role;

use crate::common::study::{Study, wrong_fields};
use crate::common::{START_MS, text};

async fn of_code(study: &Study, code: &str) -> Value {
    let groups = study.read("/v1/groups").await;
    let groups = groups.as_array().expect("a list");
    groups.iter().find(|group| group["code"] == code).expect("the study is listed").clone()
}

#[tokio::test]
async fn texts_of_a_study_have_a_first_and_a_last_length() {
    let study = Study::begin().await;
    let (longest_name, longest_description) = ("ß".repeat(200), "語".repeat(10_000));
    let created =
        study.ask("POST", "/v1/groups", json!({"name": longest_name, "description": longest_description})).await.ok();
    assert_eq!((&created["name"], &created["description"]), (&json!(longest_name), &json!(longest_description)));
    let shortest = study.ask("POST", "/v1/groups", json!({"name": "a", "description": ""})).await.ok();
    assert_eq!((&shortest["name"], &shortest["description"]), (&json!("a"), &json!("")));
    let count = study.read("/v1/groups").await.as_array().map(Vec::len);
    for (body, fields) in [
        (json!({"name": "ß".repeat(201), "description": ""}), vec!["name"]),
        (json!({"name": "a", "description": "語".repeat(10_001)}), vec!["description"]),
        (json!({"name": "\t\n ", "description": "x".repeat(10_001)}), vec!["description", "name"]),
        (json!({"name": "\u{feff}\u{85}", "description": ""}), vec!["name"]),
        (json!({"description": "x"}), vec!["name"]),
        (json!({"name": "x"}), vec!["description"]),
        (json!({}), vec!["description", "name"]),
        (json!({"name": ["x"], "description": false}), vec!["description", "name"]),
    ] {
        let refused = study.ask("POST", "/v1/groups", body).await;
        assert_eq!(wrong_fields(&refused), fields);
    }
    assert_eq!(study.read("/v1/groups").await.as_array().map(Vec::len), count, "a refused study was created");
}

#[tokio::test]
async fn partial_change_of_a_study_leaves_the_rest() {
    let study = Study::begin().await;
    let path = study.of_group("");
    let before = of_code(&study, &study.group).await;
    let named = study.ask("PATCH", &path, json!({"name": "Rest"})).await.ok();
    assert_eq!((&named["name"], &named["description"]), (&json!("Rest"), &before["description"]));
    let described = study.ask("PATCH", &path, json!({"description": ""})).await.ok();
    assert_eq!((&described["name"], &described["description"]), (&json!("Rest"), &json!("")));
    for field in ["code", "hcpCode", "id", "timestamp"] {
        assert_eq!(described[field], before[field], "{field} is given once");
    }
    for body in [json!({"name": ""}), json!({"name": "x".repeat(201)}), json!({"name": 5}), json!({"description": []})]
    {
        let refused = study.ask("PATCH", &path, body.clone()).await;
        assert_eq!(refused.error(), (422, "invalid"), "{body}");
    }
    assert_eq!(of_code(&study, &study.group).await, described);
}

#[tokio::test]
async fn studies_are_listed_in_the_order_of_their_creation_for_their_members_alone() {
    let study = Study::begin().await;
    let bob = study.story.key_of("bob@example.org", Role::Researcher).await;
    let mut codes = vec![study.group.clone()];
    for name in ["b", "a", "c"] {
        study.story.pass_ms(1);
        let created = study.ask("POST", "/v1/groups", json!({"name": name, "description": ""})).await.ok();
        assert_eq!(created["timestamp"], study.story.now_ms());
        codes.push(text(&created["code"]));
        let of_bob = json!({"name": name, "description": "of Bob"});
        study.ask_as(&bob, "POST", "/v1/groups", of_bob).await.ok();
    }
    let listed = study.read("/v1/groups").await;
    let listed: Vec<String> = listed.as_array().expect("a list").iter().map(|group| text(&group["code"])).collect();
    assert_eq!(listed, codes);
    let of_bob = study.ask_as(&bob, "GET", "/v1/groups", Value::Null).await.ok();
    assert!(of_bob.as_array().expect("a list").iter().all(|group| group["description"] == "of Bob"), "{of_bob}");
}

#[tokio::test]
async fn identifiers_of_a_study_have_the_shapes_that_are_promised() {
    let study = Study::begin().await;
    let mut codes = Vec::new();
    for number in 0..20 {
        let body = json!({"name": format!("Study {number}"), "description": ""});
        let group = study.ask("POST", "/v1/groups", body).await.ok();
        let (code, id, hcp) = (text(&group["code"]), text(&group["id"]), text(&group["hcpCode"]));
        assert!(code.len() == 5 && code.bytes().all(|letter| letter.is_ascii_uppercase()), "{code}");
        assert!(id.len() == 10 && id.bytes().all(|sign| sign.is_ascii_alphanumeric()), "{id}");
        let suffix = hcp.strip_prefix(&format!("HCP-{code}-")).unwrap_or_else(|| panic!("{hcp} of {code}"));
        let is_plain = |sign: u8| sign.is_ascii_lowercase() || sign.is_ascii_digit();
        assert!(suffix.len() == 6 && suffix.bytes().all(is_plain), "{hcp}");
        codes.push(code);
    }
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), 20, "no code is given twice");
}

#[tokio::test]
async fn settings_of_a_study_have_limits_and_keep_what_is_not_named() {
    let study = Study::begin().await;
    let path = study.of_group("/settings");
    let put = async |body: Value| study.ask("PUT", &path, body).await;
    for steps in [1, 200_000] {
        assert_eq!(put(json!({"activity_goal_steps": steps})).await.ok()["activity_goal_steps"], steps);
    }
    for days in [1, 36_500] {
        let body = json!({"retention": {"acc": days, "ppg2": days}});
        assert_eq!(put(body.clone()).await.ok()["retention"], body["retention"]);
    }
    put(json!({"max_heart_rate_rule": "tanaka"})).await.ok();
    let expected = json!({"activity_goal_steps": 200_000, "max_heart_rate_rule": "tanaka",
        "retention": {"acc": 36_500, "ppg2": 36_500}});
    assert_eq!(study.read(&path).await, expected);
    for (body, field) in [
        (json!({"activity_goal_steps": 0}), "activity_goal_steps"),
        (json!({"activity_goal_steps": 200_001}), "activity_goal_steps"),
        (json!({"activity_goal_steps": 1.5}), "activity_goal_steps"),
        (json!({"activity_goal_steps": "many"}), "activity_goal_steps"),
        (json!({"max_heart_rate_rule": "Fox"}), "max_heart_rate_rule"),
        (json!({"max_heart_rate_rule": 220}), "max_heart_rate_rule"),
        (json!({"retention": {"acc": 0}}), "retention.acc"),
        (json!({"retention": {"acc": 36_501}}), "retention.acc"),
        (json!({"retention": {"acc": 1.5}}), "retention.acc"),
        (json!({"retention": {"acc": "30"}}), "retention.acc"),
        (json!({"retention": {"heart_rate": 30}}), "retention.heart_rate"),
        (json!({"retention": ["acc"]}), "retention"),
    ] {
        // What is right in the same body is not stored either.
        let mut body = body;
        if body.get("activity_goal_steps").is_none() {
            body["activity_goal_steps"] = json!(77);
        }
        assert_eq!(wrong_fields(&put(body.clone()).await), [field], "{body}");
        assert_eq!(study.read(&path).await, expected, "{body}");
    }
    // The types that are named take the place of all that were named before.
    assert_eq!(put(json!({"retention": {"ecg": 7}})).await.ok()["retention"], json!({"ecg": 7}));
    assert_eq!(put(json!({"retention": {}})).await.ok()["retention"], json!({}));
    let other = study.ask("POST", "/v1/groups", json!({"name": "Other", "description": ""})).await.ok();
    let of_other = study.read(&format!("/v1/groups/{}/settings", text(&other["code"]))).await;
    assert_eq!(of_other["activity_goal_steps"], 10_000, "settings are those of one study");
}

#[tokio::test]
async fn deleted_study_is_gone_for_everybody_and_its_code_opens_nothing() {
    let study = Study::begin().await;
    let hal = study.practitioner("hal@example.org").await;
    let created = study.ask("POST", "/v1/groups", json!({"name": "Short", "description": ""})).await.ok();
    let code = text(&created["code"]);
    let path = |what: &str| format!("/v1/groups/{code}{what}");
    study.ask("POST", &path("/hcps"), json!({"email": "hal@example.org"})).await.ok();
    assert_eq!(study.ask_as(&hal, "GET", "/v1/groups", Value::Null).await.ok().as_array().map(Vec::len), Some(2));
    study.ask("DELETE", &path(""), Value::Null).await.done();
    assert_eq!(study.ask_as(&hal, "GET", "/v1/groups", Value::Null).await.ok().as_array().map(Vec::len), Some(1));
    let attach = path(&format!("/patients/{}", study.grace.uuid));
    for (method, path, body) in [
        ("GET", path("/patients"), Value::Null),
        ("POST", path("/patients"), Value::Null),
        ("PATCH", path(""), json!({"name": "Back"})),
        ("GET", path("/settings"), Value::Null),
        ("PUT", path("/settings"), json!({"activity_goal_steps": 5})),
        ("GET", path("/hcps"), Value::Null),
        ("POST", path("/hcps"), json!({"email": "hal@example.org"})),
        ("GET", path("/summaries?date=2025-11-20"), Value::Null),
        ("PUT", attach.clone(), Value::Null),
        ("DELETE", attach, Value::Null),
    ] {
        assert_eq!(study.ask(method, &path, body).await.error(), (404, "group_not_found"), "{method} {path}");
    }
    assert_eq!(study.last_entry().await["action_type"], "GROUP_DELETE");
    assert_eq!(study.last_entry().await["timestamp"], START_MS);
}
