//! What an operator does on the command line while the service runs on the same store.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::harness::{Service, admin, database_file, pulseward, run, store_command};

#[tokio::test]
async fn an_account_and_a_key_count_at_once_and_end_at_once() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let groups = async |key: &Value| {
        let address = format!("{}/integration/v1/groups", service.url);
        let request = reqwest::Client::new().get(address).header("X-Api-Key", key["token"].as_str().unwrap());
        request.send().await.unwrap().status().as_u16()
    };
    let account = admin(data.path(), &["create-account", "--email", "Rita@Study.example", "--role", "researcher"]);
    assert_eq!((&account["email"], &account["role"]), (&json!("rita@study.example"), &json!("researcher")));
    for field in ["id", "uuid", "password"] {
        assert!(account[field].is_string(), "{field}");
    }
    let create = ["create-api-key", "--account", "rita@study.example", "--name", "test", "--expires", "90d"];
    let (first, second) = (admin(data.path(), &create), admin(data.path(), &create));
    assert!(first["token"].as_str().unwrap().starts_with(first["prefix"].as_str().unwrap()));
    assert!(first["expires_at"].is_string());
    assert_eq!((groups(&first).await, groups(&second).await), (200, 200));

    let revoked = admin(data.path(), &["revoke-api-key", "--id", first["id"].as_str().unwrap()]);
    assert_eq!(revoked["id"], first["id"]);
    assert_eq!((groups(&first).await, groups(&second).await), (401, 200));
    let again = admin(data.path(), &["revoke-api-key", "--id", first["id"].as_str().unwrap()]);
    assert_eq!(again, revoked, "the time of the first revocation is kept");

    let listed = admin(data.path(), &["list-api-keys", "--account", "rita@study.example"]);
    let revoked_at: Vec<&Value> = listed["api_keys"].as_array().unwrap().iter().map(|key| &key["revoked_at"]).collect();
    assert_eq!(revoked_at, [&revoked["revoked_at"], &Value::Null]);
    assert!(!listed.to_string().contains(second["token"].as_str().unwrap()));

    let disabled = admin(data.path(), &["disable-account", "--account", "rita@study.example"]);
    assert!(disabled["disabled_at"].is_string());
    assert_eq!(groups(&second).await, 401);
}

#[tokio::test]
async fn a_password_is_set_and_replaced() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let login = async |password: &str| {
        let body = json!({"email": "rita@study.example", "password": password});
        let request = reqwest::Client::new().post(format!("{}/users/login", service.url)).json(&body);
        request.send().await.unwrap().status().as_u16()
    };
    let account =
        ["create-account", "--email", "rita@study.example", "--role", "hcp", "--password", "an early password"];
    assert_eq!(admin(data.path(), &account)["password"], "an early password");
    assert_eq!(login("an early password").await, 200);
    let made_up = admin(data.path(), &["reset-password", "--account", "rita@study.example"]);
    assert_eq!(login("an early password").await, 401);
    assert_eq!(login(made_up["password"].as_str().unwrap()).await, 200);

    let arguments = ["admin", "reset-password", "--account", "rita@study.example", "--password-stdin", "--json"];
    let folder = data.path().to_str().unwrap();
    let mut child = pulseward(&[&arguments[..], &["--data", folder]].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"from standard input\n").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(login("from standard input").await, 200);
}

#[tokio::test]
async fn second_factor_that_its_owner_has_lost_is_removed() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let login = async || {
        let body = json!({"email": "rita@study.example", "password": "an early password"});
        let request = reqwest::Client::new().post(format!("{}/users/login", service.url)).json(&body);
        request.send().await.unwrap().status().as_u16()
    };
    let account =
        ["create-account", "--email", "rita@study.example", "--role", "hcp", "--password", "an early password"];
    let uuid = admin(data.path(), &account)["uuid"].as_str().unwrap().to_owned();
    assert_eq!(login().await, 200);
    let users = database_file(&data.path().join("users.db"));
    let confirmed = "INSERT INTO totp (account, sealed_secret, confirmed_ms, last_step) VALUES (?1, x'00', 1, 1)";
    users.execute(confirmed, [&uuid]).unwrap();
    drop(users);
    assert_eq!(login().await, 403, "an account with a second factor signs in on the portal");

    let remove = ["reset-second-factor", "--account", "Rita@study.example"];
    assert_eq!(admin(data.path(), &remove), json!({"email": "rita@study.example", "second_factor": null}));
    assert_eq!(login().await, 200);
    let folder = data.path().to_str().unwrap();
    for (account, said) in
        [("rita@study.example", "second factor not found"), ("nobody@study.example", "account not found")]
    {
        let output = run(&["admin", "remove-second-factor", "--account", account, "--data", folder, "--json"]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{account}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(said), "{output:?}");
    }
}

#[test]
fn a_subscription_has_an_end_or_none() {
    let data = tempdir().unwrap();
    let until = |arguments: &[&str]| admin(data.path(), arguments)["subscription_until"].clone();
    admin(data.path(), &["create-account", "--email", "a@study.example", "--role", "admin", "--no-subscription"]);
    let accounts = admin(data.path(), &["list-accounts"]);
    assert_eq!(accounts["accounts"][0]["subscription_until"], Value::Null);
    let set = ["set-subscription", "--account", "a@study.example", "--until"];
    assert_eq!(until(&[&set[..], &["2027-01-31"]].concat()), "2027-01-31T23:59:59.999Z");
    assert_eq!(until(&[&set[..], &["none"]].concat()), Value::Null);
}

#[test]
fn refusals_are_one_wrong_usage_is_two_and_standard_output_stays_empty() {
    let data = tempdir().unwrap();
    let folder = data.path().to_str().unwrap();
    let tail = ["--data", folder, "--json"];
    store_command(data.path(), &["migrate"]);
    let status = |arguments: &[&str]| {
        let output = run(&[arguments, &tail].concat());
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{arguments:?}");
        output.status.code()
    };
    assert_eq!(status(&["admin", "create-api-key", "--account", "nobody@study.example"]), Some(1));
    assert_eq!(status(&["admin", "create-account", "--email", "not an address", "--role", "hcp"]), Some(1));
    assert_eq!(status(&["admin", "create-account", "--email", "a@b.example", "--role", "king"]), Some(2));
    assert_eq!(status(&["admin", "create-account", "--role", "hcp"]), Some(2));
    assert_eq!(status(&["admin", "set-subscription", "--account", "a@b.example", "--until", "soon"]), Some(2));
    assert_eq!(status(&["migrate", "--users-db", "mysql://db.example/users"]), Some(2));
    let create = ["admin", "create-account", "--email", "a@b.example", "--role", "hcp"];
    assert!(run(&[&create[..], &tail].concat()).status.success());
    assert_eq!(status(&create), Some(1), "the e-mail is taken");
}

#[tokio::test]
async fn role_is_changed_unless_a_study_would_have_no_manager() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    for email in ["rita@study.example", "ruth@study.example"] {
        admin(data.path(), &["create-account", "--email", email, "--role", "researcher"]);
    }
    let key = |email: &str| {
        let made = admin(data.path(), &["create-api-key", "--account", email]);
        made["token"].as_str().unwrap().to_owned()
    };
    let client = reqwest::Client::new();
    let groups = format!("{}/integration/v1/groups", service.url);
    let status = async |key: &str| client.get(&groups).bearer_auth(key).send().await.unwrap().status().as_u16();
    let (rita, ruth) = (key("rita@study.example"), key("ruth@study.example"));
    let made = client
        .post(&groups)
        .bearer_auth(&rita)
        .json(&json!({"name": "Sleep", "description": ""}))
        .send()
        .await
        .unwrap();
    let code = made.json::<Value>().await.unwrap()["code"].as_str().unwrap().to_owned();

    let folder = data.path().to_str().unwrap();
    let change =
        ["admin", "change-role", "--account", "rita@study.example", "--role", "hcp", "--data", folder, "--json"];
    let refused = run(&change);
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(1), 0));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains(&format!("rita@study.example is the only one who manages {code}")), "{said}");
    assert_eq!(status(&rita).await, 200, "nothing was changed");

    let join = client.post(format!("{groups}/{code}/hcps")).bearer_auth(&rita);
    let joined = join.json(&json!({"email": "ruth@study.example"})).send().await.unwrap();
    assert!(joined.status().is_success(), "{joined:?}");
    let change = ["change-role", "--account", "Rita@study.example", "--role", "hcp"];
    let expected = json!({"email": "rita@study.example", "role": "hcp", "ended_api_keys": 1});
    assert_eq!(admin(data.path(), &change), expected);
    assert_eq!((status(&rita).await, status(&ruth).await), (401, 200));
    let again = json!({"email": "rita@study.example", "role": "hcp", "ended_api_keys": 0});
    assert_eq!(admin(data.path(), &change), again);
    let made = client
        .post(&groups)
        .bearer_auth(key("rita@study.example"))
        .json(&json!({"name": "Another", "description": ""}));
    assert_eq!(made.send().await.unwrap().status(), 403, "a practitioner founds no study");
}

#[tokio::test]
async fn security_log_is_printed_line_by_line_and_goes_on_behind_the_last() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let account =
        ["create-account", "--email", "rita@study.example", "--role", "hcp", "--password", "an early password"];
    let uuid = admin(data.path(), &account)["uuid"].as_str().unwrap().to_owned();
    let login = async |email: &str, password: &str| {
        let body = json!({"email": email, "password": password});
        let request = reqwest::Client::new().post(format!("{}/users/login", service.url)).json(&body);
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(login("nobody@study.example", "an early password").await, 401);
    assert_eq!(login("rita@study.example", "an early password").await, 200);

    let folder = data.path().to_str().unwrap();
    let log = |arguments: &[&str]| -> Vec<Value> {
        let output = run(&[&["admin", "security-log", "--data", folder], arguments].concat());
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.contains("study.example"), "{text}");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let all = log(&[]);
    let types: Vec<&str> = all.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["account_created", "login_failed", "login_succeeded"]);
    assert_eq!((&all[0]["actor_role"], &all[0]["subject"]), (&json!("operator"), &json!(uuid)));
    assert_eq!((&all[1]["address"], all[1]["name_hash"].as_str().map(str::len)), (&json!("127.0.0.1"), Some(32)));
    assert_eq!((&all[2]["actor"], &all[2]["address"]), (&json!(uuid), &json!("127.0.0.1")));
    assert_eq!(log(&["--type", "login_failed"]), all[1..2]);
    assert_eq!(log(&["--since", all[0]["cursor"].as_str().unwrap()]), all[1..]);
    assert_eq!(log(&["--since", "2020-01-01T00:00:00Z"]), all);
    assert_eq!(log(&["--since", "2100-01-01T00:00:00Z"]), Vec::<Value>::new());
    let last = all[2]["cursor"].as_str().unwrap();
    assert_eq!(log(&["--since", last]), Vec::<Value>::new());

    // Read while the service writes, until it is ended.
    let mut following = pulseward(&["admin", "security-log", "--data", folder, "--since", last, "--follow"]);
    let mut child = following.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(login("rita@study.example", "an early password").await, 200);
    let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!((&line["type"], &line["actor"]), (&json!("login_succeeded"), &json!(uuid)));
}
