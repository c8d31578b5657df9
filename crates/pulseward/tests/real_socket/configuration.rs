//! Where a setting comes from: the flag, then the environment, then the file, then the default.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use crate::harness::{PATIENT_PASSWORD, Researcher, Service, pulseward, run};

/// A folder with a configuration file in it.
struct Place {
    folder: TempDir,
}

impl Place {
    fn with(text: &str) -> Self {
        let folder = tempdir().unwrap();
        std::fs::write(folder.path().join("pulseward.toml"), text).unwrap();
        Place { folder }
    }

    fn file(&self) -> String {
        self.folder.path().join("pulseward.toml").to_str().unwrap().to_owned()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Makes a store and an account with more arguments and variables; the account is then in the store that was meant.
fn create_account(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let made = pulseward(&[&["migrate"], arguments].concat()).envs(environment.iter().copied()).output().unwrap();
    if !made.status.success() {
        return made;
    }
    let basic = ["admin", "create-account", "--email", "a@study.example", "--role", "hcp", "--json"];
    pulseward(&[&basic[..], arguments].concat()).envs(environment.iter().copied()).output().unwrap()
}

fn has_account(data: &Path) -> bool {
    if !data.exists() {
        return false;
    }
    let output = run(&["admin", "list-accounts", "--json", "--data", data.to_str().unwrap()]);
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    listed["accounts"].as_array().unwrap().len() == 1
}

#[test]
fn flag_overrides_environment_overrides_file() {
    let place = Place::with("");
    let [of_flag, of_environment, of_file] = ["flag", "environment", "file"].map(|name| place.path(name));
    std::fs::write(place.path("pulseward.toml"), format!("data = {of_file:?}\n")).unwrap();
    let file = place.file();
    let environment = [("PULSEWARD_DATA", of_environment.to_str().unwrap())];
    let flag = ["--data", of_flag.to_str().unwrap(), "--config", &file];
    assert!(create_account(&flag, &environment).status.success());
    assert_eq!([&of_flag, &of_environment, &of_file].map(|data| has_account(data)), [true, false, false]);
    assert!(create_account(&["--config", &file], &environment).status.success());
    assert_eq!([&of_flag, &of_environment, &of_file].map(|data| has_account(data)), [true, true, false]);
    assert!(create_account(&["--config", &file], &[]).status.success());
    assert_eq!([&of_flag, &of_environment, &of_file].map(|data| has_account(data)), [true, true, true]);
    // The file itself can be named by the environment.
    let taken = create_account(&[], &[("PULSEWARD_CONFIG", &file)]);
    assert_eq!(taken.status.code(), Some(1), "the account is there already: {}", said(&taken));
}

#[test]
fn flag_that_repeats_the_default_still_overrides_the_file() {
    let place = Place::with("");
    let of_file = place.path("file");
    std::fs::write(place.path("pulseward.toml"), format!("data = {of_file:?}\n")).unwrap();
    let file = place.file();
    let output = pulseward(&["migrate", "--json", "--config", &file, "--data", "./pulseward-data"])
        .current_dir(place.folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert!(!of_file.exists() && place.path("pulseward-data").exists());
}

#[tokio::test]
async fn settings_of_a_file_are_those_of_the_service() {
    let place = Place::with(
        "voucher_days = 1\ntoken_ttl_minutes = 7\ntoken_refresh_minutes = 11\nrate_limit = 1000\n\
         public_url = \"https://study.example/\"\n[hosts]\nusers = [\"users.example\"]\n",
    );
    let data = place.path("data");
    let service = Service::start_with(&data, &["--config", &place.file(), "--rate-limit", "999"]);
    let researcher = Researcher::new(&data, &service.url).await;
    let client = reqwest::Client::new();
    let (status, created) =
        researcher.post(&format!("/integration/v1/groups/{}/patients", researcher.group), None, &json!({})).await;
    assert_eq!(status, 200, "{created}");
    let body = json!({"code": created["code"], "password": PATIENT_PASSWORD});
    let request = client.post(format!("{}/activate", service.url)).header("host", "users.example").json(&body);
    let answer = request.send().await.unwrap();
    assert_eq!(answer.headers()["x-ratelimit-limit"], "999", "the flag overrides the file");
    let login: Value = answer.json().await.unwrap();
    assert_eq!((&login["ttl"], &login["refresh_ttl"]), (&json!(7), &json!("11")));
    let metadata = format!("{}/health/.well-known/oauth-authorization-server", service.url);
    let metadata: Value = reqwest::get(metadata).await.unwrap().json().await.unwrap();
    assert_eq!(metadata["issuer"], "https://study.example/health", "addresses come from the public one");
}

#[test]
fn mistakes_in_a_file_are_named_with_status_two() {
    for (text, named) in [
        ("lissen = \"127.0.0.1:0\"", "lissen"),
        ("config = \"other.toml\"", "config"),
        ("[hosts]\nportal = [\"a.example\"]", "hosts_portal"),
        ("voucher_days = \"many\"", "voucher_days"),
        ("behind_proxy = 1", "behind_proxy"),
        ("listen = 8080", "listen"),
        ("roles = [\"cook\"]", "cook"),
        ("roles = \"worker\"", "roles"),
        ("rate_limit = 0", "rate_limit"),
        ("export_interval = \"300\"", "300"),
        ("event_retention = \"1h\"", "1h"),
        ("db_connections = 1001", "db_connections"),
        ("listen = ", "pulseward.toml"),
        ("listen = \"a\"\nlisten = \"b\"", "listen"),
        ("\u{0}", "pulseward.toml"),
    ] {
        let place = Place::with(text);
        let data = place.path("data");
        let output = run(&["serve", "--data", data.to_str().unwrap(), "--config", &place.file()]);
        let said = said(&output);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{text:?}: {said}");
        let is_named = said.contains(named) || (named == "pulseward.toml" && said.contains("configuration"));
        assert!(said.starts_with("error: ") && is_named, "{text:?}: {said}");
        assert!(!data.exists(), "{text:?}");
    }
}

#[test]
fn bounds_of_options_hold_in_a_file_as_well() {
    for text in [
        "voucher_days = 0",
        "voucher_days = -1",
        "token_ttl_minutes = 0",
        "token_refresh_minutes = 0",
        "portal_idle_minutes = 0",
        "portal_idle_minutes = 1441",
        "portal_session_hours = 8761",
        "requests_at_once = 0",
        "connections_at_once = 0",
        "upload_memory_mib = 0",
        "sync_mib = 0",
        "sync_expanded_mib = 0",
        "header_kib = 7",
        "header_seconds = 0",
        "body_seconds = 0",
    ] {
        let place = Place::with(text);
        let data = place.path("data");
        let mut command = pulseward(&["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()]);
        let mut child = command.args(["--config", &place.file()]).stderr(std::process::Stdio::piped()).spawn().unwrap();
        let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stderr.take().unwrap()));
        let first = lines.find_map(|line| line.ok().filter(|line| !line.is_empty())).unwrap_or_default();
        // A service that starts says so and goes on; it is ended here, and the test fails.
        let is_refused = first.starts_with("error: ");
        if !is_refused {
            let _ = child.kill();
        }
        let status = child.wait().unwrap();
        assert!(is_refused, "{text}: {first}");
        assert_eq!(status.code(), Some(2), "{text}: {first}");
        assert!(first.contains(text.split(' ').next().unwrap()), "{text}: {first}");
    }
}

#[test]
fn file_that_cannot_be_read_is_reported() {
    let place = Place::with("");
    let data = place.path("data");
    for path in [place.path("missing.toml"), place.folder.path().to_owned()] {
        let file = path.to_str().unwrap();
        let output = run(&["doctor", "--data", data.to_str().unwrap(), "--config", file]);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).contains(file), "{}", said(&output));
    }
    std::fs::write(place.path("latin.toml"), b"listen = \"\xe4\"").unwrap();
    let file = place.path("latin.toml");
    let output = run(&["doctor", "--data", data.to_str().unwrap(), "--config", file.to_str().unwrap()]);
    assert_ne!(output.status.code(), Some(0));
    assert!(said(&output).contains("latin.toml"), "{}", said(&output));
}

#[test]
fn one_file_serves_every_command() {
    let place = Place::with("");
    let data = place.path("data");
    let text = format!(
        "data = {data:?}\nlisten = \"127.0.0.1:0\"\nlog = \"warn\"\nlog_format = \"json\"\nroles = [\"users\", \"worker\"]\n\
         export_interval = \"60s\"\ntrusted_proxies = [\"10.0.0.0/8\"]\n"
    );
    std::fs::write(place.path("pulseward.toml"), text).unwrap();
    let file = place.file();
    assert!(create_account(&["--config", &file], &[]).status.success());
    for command in [
        &["admin", "list-accounts"][..],
        &["audit", "verify"],
        &["migrate"],
        &["seal", "--now"],
        &["doctor"],
        &["recompute"],
        &["admin", "rotate-keys"],
    ] {
        let output = run(&[command, &["--json", "--config", &file]].concat());
        assert!(output.status.success(), "{command:?}: {}", said(&output));
        let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(printed.is_object(), "{command:?}");
    }
    assert!(has_account(&data));
}
