//! The portal in a real browser: the built program on a real socket, and the journeys of `crates/portal/tests/browser`,
//! which node drives through Debian's Chromium.
//!
//! Without node, npm or Chromium the tests say so loudly and do nothing; with `CI` set they fail instead.

#![allow(clippy::unwrap_used)] // a test that cannot go on says so by stopping
#![allow(clippy::disallowed_methods, reason = "a client of the service, outside the runtime seam")]

#[allow(dead_code)] // the patients of these journeys enrol from the browser's side
#[path = "../real_socket/harness.rs"]
mod harness;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use harness::{Service, admin};
use serde_json::Value;
use tempfile::tempdir;

/// The researcher of the journeys.
const RITA: &str = "rita@study.example";
/// Who is a member of nothing.
const OTTO: &str = "otto@study.example";
const PASSWORD: &str = "a password for tests";
/// The application of the journeys, on one's own machine and with pages.
const CLIENT: [&str; 10] = [
    "create-oauth-client",
    "--name",
    "Diary",
    "--public",
    "--redirect-uri",
    "http://127.0.0.1/back",
    "--redirect-uri",
    "https://diary.example/back",
    "--privacy-policy-url",
    "https://diary.example/privacy",
];

#[tokio::test]
async fn a_researcher_goes_from_the_sign_in_to_the_audit_log() {
    run("journey.test.mjs").await;
}

#[tokio::test]
async fn what_goes_wrong_is_shown_and_mends_itself() {
    run("refusals.test.mjs").await;
}

#[tokio::test]
async fn every_page_is_fit_for_a_screen_reader_a_phone_and_a_wall() {
    run("pages.test.mjs").await;
}

#[tokio::test]
async fn the_documentation_is_searched_and_tried_out() {
    run("docs.test.mjs").await;
}

#[tokio::test]
async fn an_application_gets_access_and_its_page_reads() {
    run("oauth.test.mjs").await;
}

/// Runs one file of journeys against a service of its own.
async fn run(journeys: &str) {
    let Some(browser) = browser() else { return };
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let account = |email, role| ["create-account", "--email", email, "--role", role, "--password", PASSWORD];
    admin(data.path(), &account(RITA, "researcher"));
    admin(data.path(), &account(OTTO, "hcp"));
    let key = admin(data.path(), &["create-api-key", "--account", RITA]);
    let client = admin(data.path(), &CLIENT);

    let mut node = Command::new("node");
    node.args(["--test", "--test-reporter=spec", journeys]).current_dir(&browser.scripts);
    node.env("PORTAL_URL", &service.url)
        .env("PORTAL_KEY", key["token"].as_str().unwrap())
        .env("OAUTH_CLIENT", client["client_id"].as_str().unwrap())
        .env("CHROMIUM", &browser.chromium);
    node.env("PORTAL_EMAIL", RITA).env("PORTAL_PASSWORD", PASSWORD);
    node.env("OTHER_EMAIL", OTTO).env("OTHER_PASSWORD", PASSWORD);
    if std::env::var_os("UPDATE_SCREENSHOTS").is_some() {
        node.env("UPDATE_SCREENSHOTS", repository().join("docs/portal"));
    }
    let output = tokio::task::spawn_blocking(move || node.output().unwrap()).await.unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(output.status.success(), "{journeys}\n{said}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// What the journeys run with.
struct Browser {
    chromium: PathBuf,
    /// The scripts, copied to where their packages may be installed.
    scripts: PathBuf,
}

/// Returns the browser and the scripts, prepared once; none where something is missing.
fn browser() -> Option<&'static Browser> {
    static BROWSER: OnceLock<Option<Browser>> = OnceLock::new();
    BROWSER.get_or_init(prepare).as_ref()
}

fn prepare() -> Option<Browser> {
    let chromium = found(&["chromium", "chromium-browser", "google-chrome"]);
    let (Some(chromium), Some(_), Some(_)) = (chromium, found(&["node"]), found(&["npm"])) else {
        let missing = "the portal's journeys need node, npm and chromium (apt-get install nodejs npm chromium)";
        assert!(std::env::var_os("CI").is_none(), "{missing}");
        eprintln!("SKIPPED: {missing}");
        return None;
    };
    let scripts = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("browser");
    install(&scripts);
    Some(Browser { chromium, scripts })
}

/// Returns the first of some programs that is in the search path.
fn found(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let places = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places.into_iter().find(|place| place.is_file())
}

/// Copies the scripts and installs their packages, again only when the lock file has changed.
fn install(scripts: &Path) {
    let sources = repository().join("crates/portal/tests/browser");
    std::fs::create_dir_all(scripts).unwrap();
    for file in std::fs::read_dir(&sources).unwrap() {
        let file = file.unwrap();
        if file.file_type().unwrap().is_file() {
            std::fs::copy(file.path(), scripts.join(file.file_name())).unwrap();
        }
    }
    let lock = std::fs::read(sources.join("package-lock.json")).unwrap();
    // Written by npm when it has finished; names the versions that lie there.
    let installed = scripts.join("installed-lock.json");
    if std::fs::read(&installed).is_ok_and(|known| known == lock) {
        return;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]).current_dir(scripts);
    let output = npm.output().unwrap();
    assert!(output.status.success(), "npm ci: {}", String::from_utf8_lossy(&output.stderr));
    std::fs::write(installed, lock).unwrap();
}

/// Returns the root of the repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_lock_file_names_no_place() {
    for lock in ["crates/portal/tests/browser/package-lock.json", "crates/portal/web/package-lock.json"] {
        let text = std::fs::read_to_string(repository().join(lock)).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        let packages = value["packages"].as_object().unwrap();
        assert!(packages.len() > 1 && packages.values().all(|package| package["resolved"].is_null()), "{lock}");
    }
}
