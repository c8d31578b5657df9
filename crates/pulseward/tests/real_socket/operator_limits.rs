//! What an operator's commands take and print, up to their limits, and what a refusal leaves undone.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::harness::{Researcher, Service, admin, run, store_command};

/// The status and the words of an administrator's command that has to be refused.
fn refused(data: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = run(&[&["admin"], arguments, &["--data", data.to_str().unwrap(), "--json"]].concat());
    assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn accounts(data: &Path) -> Vec<Value> {
    admin(data, &["list-accounts"])["accounts"].as_array().unwrap().clone()
}

#[test]
fn accounts_are_listed_in_the_order_of_their_creation_with_what_was_given() {
    let data = tempdir().unwrap();
    let data = data.path();
    for (email, role, more) in [
        ("c@study.example", "admin", &["--first-name", "Carol"][..]),
        ("a@study.example", "researcher", &["--last-name", "Adams", "--no-subscription"]),
        // A name of blanks alone is none.
        ("b@study.example", "hcp", &["--first-name", "  ", "--last-name", "\u{feff}"]),
    ] {
        let create = ["create-account", "--email", email, "--role", role];
        let created = admin(data, &[&create[..], more].concat());
        let mut names: Vec<&String> = created.as_object().unwrap().keys().collect();
        names.sort_unstable();
        assert_eq!(names, ["email", "id", "password", "role", "uuid"]);
        assert!(created["password"].as_str().unwrap().len() >= 10, "{created}");
    }
    let listed = accounts(data);
    let reported: Vec<Value> = listed
        .iter()
        .map(|account| json!([account["email"], account["role"], account["first_name"], account["last_name"]]))
        .collect();
    let expected = [
        json!(["c@study.example", "admin", "Carol", null]),
        json!(["a@study.example", "researcher", null, "Adams"]),
        json!(["b@study.example", "hcp", null, null]),
    ];
    assert_eq!(reported, expected);
    assert_eq!(listed[1]["subscription_until"], Value::Null);
    assert!(listed[0]["subscription_until"].is_string() && listed[2]["disabled_at"].is_null());
    assert!(!json!(listed).to_string().contains("password"), "a password is shown once");
}

#[test]
fn refused_accounts_are_not_made() {
    let data = tempdir().unwrap();
    let data = data.path();
    let create = |email: &'static str, password: &'static str| {
        ["create-account", "--role", "hcp", "--email", email, "--password", password]
    };
    admin(data, &create("taken@study.example", "these odd letters"));
    let long = "p".repeat(1025);
    for (arguments, named) in [
        (create("taken@study.example", "another long password"), "mail"),
        (create("TAKEN@study.example ", "another long password"), "mail"),
        (create("no address", "another long password"), "email"),
        (create("@study.example", "another long password"), "email"),
        (create("new@study.example", "nine char"), "password"),
    ] {
        let (status, said) = refused(data, &arguments);
        assert_eq!(status, Some(1), "{arguments:?}: {said}");
        assert!(said.contains(named), "{arguments:?}: {said}");
    }
    let too_long = ["create-account", "--role", "hcp", "--email", "new@study.example", "--password", &long];
    assert_eq!(refused(data, &too_long).0, Some(1));
    let long = "n".repeat(201);
    let too_long = ["create-account", "--role", "hcp", "--email", "new", "--first-name", &long];
    let (status, said) = refused(data, &too_long);
    assert!(status == Some(1) && said.contains("email") && said.contains("first_name"), "{said}");
    assert_eq!(accounts(data).len(), 1);
}

#[test]
fn what_is_not_there_is_reported_and_nothing_changes() {
    let data = tempdir().unwrap();
    let data = data.path();
    admin(data, &["create-account", "--email", "a@study.example", "--role", "researcher"]);
    let before = accounts(data);
    let nobody = "nobody@study.example";
    for arguments in [
        &["set-subscription", "--account", nobody, "--until", "none"][..],
        &["reset-password", "--account", nobody],
        &["disable-account", "--account", nobody],
        &["create-api-key", "--account", nobody],
        &["list-api-keys", "--account", nobody],
        &["create-api-key", "--account", "a@study.example", "--group", "ZZZZZ"],
        &["revoke-api-key", "--id", "000000000000000000000000"],
        &["remove-oauth-client", "--id", "000000000000000000000000"],
        &["erase-patient", "7f1f1c0a-5f0e-4b8e-9d5d-0a2f6c1e9b11"],
        &["set-export-limit", "--patient", "7f1f1c0a-5f0e-4b8e-9d5d-0a2f6c1e9b11", "--interval", "60s"],
    ] {
        let (status, said) = refused(data, arguments);
        assert_eq!(status, Some(1), "{arguments:?}: {said}");
        let is_reported = said.contains("not found") || said.contains("not there");
        assert!(said.contains("error: ") && is_reported, "{arguments:?}: {said}");
    }
    assert_eq!(accounts(data), before);
    assert_eq!(admin(data, &["list-api-keys", "--account", "a@study.example"])["api_keys"], json!([]));
}

#[test]
fn keys_end_at_their_time() {
    let data = tempdir().unwrap();
    let data = data.path();
    admin(data, &["create-account", "--email", "a@study.example", "--role", "researcher"]);
    let create = |more: &[&str]| admin(data, &[&["create-api-key", "--account", "a@study.example"], more].concat());
    assert_eq!(create(&[])["expires_at"], Value::Null);
    for (span, seconds) in [("1s", 1), ("30m", 1800), ("12h", 43_200), ("90d", 7_776_000), ("2w", 1_209_600)] {
        create(&["--expires", span, "--name", span]);
        let listed = admin(data, &["list-api-keys", "--account", "a@study.example"]);
        let last = listed["api_keys"].as_array().unwrap().last().unwrap().clone();
        let time = |name: &str| last[name].as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_millisecond();
        let lived_ms = time("expires_at") - time("created_at");
        assert_eq!(last["name"], span);
        assert!((lived_ms - seconds * 1000).abs() < 1000, "{span}: {lived_ms} ms");
    }
    assert_eq!(
        admin(data, &["list-api-keys", "--account", "a@study.example"])["api_keys"].as_array().unwrap().len(),
        6
    );
}

#[test]
fn clients_are_made_listed_and_removed() {
    let data = tempdir().unwrap();
    let data = data.path();
    store_command(data, &["migrate"]);
    let create = |more: &[&str]| {
        let basic = ["create-oauth-client", "--privacy-policy-url", "https://diary.example/privacy"];
        admin(data, &[&basic[..], more].concat())
    };
    let secret = create(&[
        "--name",
        "Diary",
        "--redirect-uri",
        "https://diary.example/a",
        "--redirect-uri",
        "org.example.diary:/b",
    ]);
    let public = create(&["--name", "Phone", "--redirect-uri", "http://127.0.0.1:7777/back", "--public"]);
    assert!(secret["client_secret"].as_str().unwrap().starts_with("pws_"));
    assert!(public.get("client_secret").is_none(), "{public}");
    for (uri, name) in [("ftp://diary.example", "Diary"), ("http://diary.example", "Diary"), ("https://d.example", "")]
    {
        let arguments =
            ["create-oauth-client", "--name", name, "--redirect-uri", uri, "--privacy-policy-url", "https://d"];
        let (status, message) = refused(data, &arguments);
        assert_eq!(status, Some(1), "{uri} {name}");
        let option = if name.is_empty() { "--name" } else { "--redirect-uri" };
        assert!(message.contains(&format!("{option} must ")), "{message}");
    }
    let removed = admin(data, &["remove-oauth-client", "--id", public["client_id"].as_str().unwrap()]);
    assert_eq!(removed["client_id"], public["client_id"]);
    let again = admin(data, &["remove-oauth-client", "--id", public["client_id"].as_str().unwrap()]);
    assert_eq!(again, removed, "the time of the first removal is kept");
    let listed = admin(data, &["list-oauth-clients"]);
    let reported: Vec<Value> = listed["oauth_clients"]
        .as_array()
        .unwrap()
        .iter()
        .map(|client| json!([client["name"], client["redirect_uris"], client["public"], client["removed_at"]]))
        .collect();
    let expected = [
        json!(["Diary", ["https://diary.example/a", "org.example.diary:/b"], false, null]),
        json!(["Phone", ["http://127.0.0.1:7777/back"], true, removed["removed_at"]]),
    ];
    assert_eq!(reported, expected);
    assert!(!listed.to_string().contains("pws_"));
}

#[tokio::test]
async fn interval_of_exports_is_set_next_to_the_running_service() {
    let data = tempdir().unwrap();
    let service = Service::start_with(data.path(), &["--export-interval", "1h"]);
    let researcher = Researcher::new(data.path(), &service.url).await;
    let (first, second) = (researcher.enrol().await, researcher.enrol().await);
    let ask = async |uuid: &str| {
        let body = json!({"client_date_from": "2025-11-19T00:00:00", "client_date_to": "2025-11-19T01:00:00"});
        researcher.post(&format!("/integration/v1/create-export/{uuid}/acc"), None, &body).await.0
    };
    assert_eq!((ask(&first.uuid).await, ask(&first.uuid).await), (200, 429));
    let set = |arguments: &[&str]| admin(data.path(), &[&["set-export-limit"], arguments].concat());
    assert_eq!(set(&["--patient", &first.uuid, "--interval", "0s"]), json!({"interval_s": 0}));
    assert_eq!((ask(&first.uuid).await, ask(&first.uuid).await), (200, 200), "that patient has no limit any more");
    assert_eq!((ask(&second.uuid).await, ask(&second.uuid).await), (200, 429));
    assert_eq!(set(&["--default", "--interval", "0s"]), json!({"interval_s": 0}));
    assert_eq!(ask(&second.uuid).await, 200);
    assert_eq!(set(&["--default", "--interval", "5m"]), json!({"interval_s": 300}));
    assert_eq!((ask(&second.uuid).await, ask(&first.uuid).await), (429, 200), "what is set for one overrides it");
}

#[tokio::test]
async fn commands_print_one_object_and_numbers_that_add_up() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    let times: Vec<i64> = (0..120).map(|minute| 1_763_500_000_000 + minute * 60_000).collect();
    let body = json!({"data": {"activity": {"timestamp": times, "bpm": 60}}});
    assert_eq!(researcher.sync(&patient, &body).await.unwrap().0, 200);
    let sealed = store_command(data.path(), &["seal", "--now"]);
    assert_eq!((&sealed["segments"], &sealed["rows"]), (&json!(1), &json!(120)));
    assert!(sealed["bytes"].as_u64().unwrap() > 0);
    let again = store_command(data.path(), &["seal", "--now"]);
    assert_eq!(again, json!({"segments": 0, "rows": 0, "bytes": 0}));
    let computed = store_command(data.path(), &["recompute", "--patient", &patient.uuid]);
    assert_eq!(computed["differences"], 0, "{computed}");
    assert!(computed["windows"].as_u64().unwrap() > 0, "{computed}");
    let verified = store_command(data.path(), &["audit", "verify"]);
    assert_eq!(verified["intact"], true);
    // The study, the patient twice, the registration and the login.
    assert_eq!(verified["entries"], 5);
    let keys = store_command(data.path(), &["admin", "rotate-keys"]);
    assert_ne!(keys["users_kid"], keys["health_kid"]);
    // Tokens that were signed before stay good.
    let path = "/health/user-summaries?date_from=2025-11-18&date_to=2025-11-18";
    assert_eq!(researcher.get(path, Some(&patient.token)).await.0, 200);
    let receipt = admin(data.path(), &["erase-patient", &patient.uuid]);
    assert_eq!(receipt["uuid"], patient.uuid.as_str());
    assert_eq!(researcher.get(path, Some(&patient.token)).await.0, 401);
}
