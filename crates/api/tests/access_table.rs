//! Who may do what: every route of the OpenAPI document with everyone who could call it.
//!
//! A row of the table is a route, with a body that is good where it needs one, and the status that each of [`CALLERS`]
//! gets. Where that is neither a refusal nor success, the caller may do it and something else prevents it: a group
//! that is not empty (409), an upload that is (400), a strip that is not there (404). A route without a row fails the
//! test, and so does a row without a route.
#![allow(clippy::disallowed_types, reason = "a client of the service, outside the runtime seam")]

mod common;
#[path = "access_table/table.rs"]
mod table;

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::sync::Mutex;

use axum::body::Body;
use axum::http::Request;
use common::{Enrolled, PASSWORD, START_MS, Story, text};
use platform::NewApiKey;
use serde_json::{Value, json};
use store::{GroupCode, Role};
use table::{CALLERS, Row, Spoils};

/// A session of the portal.
#[derive(Clone)]
struct Page {
    cookie: String,
    csrf: String,
}

/// A service with everyone in it.
struct World {
    story: Story,
    group: String,
    export_id: String,
    hal: String,
    own: Enrolled,
    /// Sessions of the portal that have been needed so far, by caller.
    pages: Mutex<HashMap<usize, Page>>,
    /// Credentials of the integration API, the Users Cloud and the Health Cloud, by caller.
    credentials: [[String; 12]; 3],
}

async fn login(story: &Story, email: &str) -> String {
    text(&story.post("/users/login", json!({"email": email, "password": PASSWORD})).await.ok()["token"])
}

/// Tokens of both clouds for a patient who logs in once more.
async fn login_patient(story: &Story, patient: &Enrolled) -> (String, String) {
    let users = story.post("/users/login", json!({"code": patient.code, "password": PASSWORD})).await.ok();
    let health = story.post("/health/login", json!({"user_api_token": users["token"]})).await.ok();
    (text(&users["token"]), text(&health["token"]))
}

async fn fill(story: &Story, key: &str, patient: &Enrolled) {
    let row = json!({
        "timestamp": [START_MS], "bpm": [61], "respiration_rate": [14], "spo2": [97], "core_temp": [37],
        "nibp_systolic": [120], "nibp_diastolic": [80],
    });
    story.sync(patient, json!({ "activity": row })).await;
    for (serial, worn) in [("idle", false), ("worn", true)] {
        let bracelet = json!({"serial_number": serial, "device_type": "wrist"});
        story.post_as("/integration/v1/bracelets", key, bracelet).await.ok();
        if worn {
            let path = format!("/integration/v1/patients/{}/bracelets/{serial}", patient.uuid);
            story.ask("PUT", &path, key, Value::Null).await.done();
        }
    }
}

impl World {
    async fn new() -> Self {
        let story = Story::begin().await;
        let member = story.key_of("ada@example.org", Role::Researcher).await;
        let (group, second, third) =
            (story.group(&member).await, story.group(&member).await, story.group(&member).await);
        let own = story.patient(&member, &group, json!({"email": "own@example.org"})).await;
        let another = story.patient(&member, &group, Value::Null).await;
        let ada = story.platform.identity.account_by_email("ada@example.org").await.expect("an account");
        let key = async |new: NewApiKey| story.platform.identity.create_api_key(&ada, new).await.expect("a key");
        let expired = key(NewApiKey { expires_ms: Some(story.now_ms() + 1), ..NewApiKey::default() }).await.1;
        // What has been issued until here ends by itself.
        let (expired_users, expired_health) = (own.users_token.clone(), own.health_token.clone());
        story.pass_ms(61 * 60_000);
        let (revoked_key, revoked) = key(NewApiKey::default()).await;
        story.platform.identity.revoke_api_key(&revoked_key.id).await.expect("revoked");
        let (_, scoped) = key(NewApiKey { groups: vec![GroupCode::new(second)], ..NewApiKey::default() }).await;

        let hcp = story.key_of("hal@example.org", Role::Hcp).await;
        let stranger = story.key_of("bob@example.org", Role::Researcher).await;
        let admin = story.key_of("root@example.org", Role::Admin).await;
        let hcps = format!("/integration/v1/groups/{group}/hcps");
        let hal = text(&story.post_as(&hcps, &member, json!({"email": "hal@example.org"})).await.ok()["uuid"]);
        let held = format!("/integration/v1/groups/{third}/patients/{}", own.uuid);
        story.ask("PUT", &held, &member, Value::Null).await.done();

        let (revoked_users, revoked_health) = login_patient(&story, &own).await;
        story.post_as("/health/auth/logout", &revoked_health, Value::Null).await;
        story.post_as("/users/auth/logout", &revoked_users, Value::Null).await;
        let (own_users, own_health) = login_patient(&story, &own).await;
        let (another_users, another_health) = login_patient(&story, &another).await;
        let own = Enrolled { users_token: own_users.clone(), health_token: own_health.clone(), ..own };
        fill(&story, &member, &own).await;
        let export = format!("/integration/v1/create-export/{}/activity", another.uuid);
        let range = json!({"client_date_from": "2025-11-20T00:00:00.000", "client_date_to": "2025-11-20T01:00:00.000"});
        let export_id = text(&story.post_as(&export, &member, range).await.ok()["id"]);

        let reading = format!("/integration/v1/patients/{}/health-token", own.uuid);
        let member_health = text(&story.get_as(&reading, &member).await.ok()["token"]);
        let hcp_health = text(&story.get_as(&reading, &hcp).await.ok()["token"]);
        let accounts = ["ada@example.org", "hal@example.org", "bob@example.org", "root@example.org"];
        let [member_users, hcp_users, stranger_users, admin_users] = [
            login(&story, accounts[0]).await,
            login(&story, accounts[1]).await,
            login(&story, accounts[2]).await,
            login(&story, accounts[3]).await,
        ];
        let rubbish = || "pwk_rubbish".to_owned();
        let none = String::new;
        let credentials = [
            [
                none(),
                rubbish(),
                expired,
                revoked,
                member_users.clone(),
                own_health.clone(),
                another_health.clone(),
                member,
                hcp,
                stranger.clone(),
                admin.clone(),
                scoped.clone(),
            ],
            [
                none(),
                rubbish(),
                expired_users,
                revoked_users,
                own_health.clone(),
                own_users.clone(),
                another_users,
                member_users,
                hcp_users,
                stranger_users,
                admin_users,
                scoped.clone(),
            ],
            [
                none(),
                rubbish(),
                expired_health,
                revoked_health,
                own_users,
                own_health,
                another_health,
                member_health,
                hcp_health,
                stranger,
                admin,
                scoped,
            ],
        ];
        World { story, group, export_id, hal, own, pages: Mutex::default(), credentials }
    }

    fn path(&self, row: &Row) -> String {
        let serial = if row.path.contains("/patients/") && row.method == "DELETE" { "worn" } else { "idle" };
        let uuid = if row.path.contains("/hcps/") { &self.hal } else { &self.own.uuid };
        let places = [
            ("{group_code}", self.group.as_str()),
            ("{code}", &self.group),
            ("{uuid}", uuid),
            ("{serial}", serial),
            ("{date}", "2025-11-20"),
            ("{voucher_code}", &self.own.code),
            ("{export_id}", &self.export_id),
            ("{data_type}", "activity"),
            ("{raw_metric_type}", "activity"),
            ("{type}", "activity"),
            ("{id}", "000000000000000000000000"),
            ("{client_id}", "000000000000000000000000"),
            ("{name}", "nothing"),
        ];
        let mut path = row.path.clone();
        for (place, value) in places {
            path = path.replace(place, value);
        }
        assert!(!path.contains('{'), "nothing replaces a part of {path}");
        path
    }

    /// Returns the session of the portal that a caller has; none where the caller shows something else.
    async fn page(&self, caller: usize) -> Option<Page> {
        const REVOKED: &str = "revoked";
        let (email, wall) = match CALLERS[caller] {
            "expired" | REVOKED | "member" => ("ada@example.org", false),
            "hcp" => ("hal@example.org", false),
            "stranger" => ("bob@example.org", false),
            "admin" => ("root@example.org", false),
            "scoped" => ("ada@example.org", true),
            _ => return None,
        };
        let known = self.pages.lock().expect("no test panics here").get(&caller).cloned();
        if known.is_some() {
            return known;
        }
        let body = json!({"email": email, "password": PASSWORD, "wall_display": wall});
        let answer = self.story.post("/portal/session", body).await;
        let cookie = answer.header("set-cookie").split(';').next().unwrap_or_default().to_owned();
        let page = Page { cookie, csrf: text(&answer.ok()["csrf_token"]) };
        if CALLERS[caller] == REVOKED {
            let request = Request::delete("/portal/session").header("cookie", &page.cookie);
            let request = request.header("x-csrf-token", &page.csrf).body(Body::empty()).expect("a request");
            self.story.send(request).await.done();
        }
        if CALLERS[caller] == "expired" {
            // What was used until here is locked as well, and is begun again when it is needed.
            self.pages.lock().expect("no test panics here").clear();
            self.story.pass_ms(16 * 60_000);
        }
        self.pages.lock().expect("no test panics here").insert(caller, page.clone());
        Some(page)
    }

    async fn status(&self, row: &Row, caller: usize) -> u16 {
        let cloud = match row.path.split('/').nth(1) {
            Some("users") => 1,
            Some("health") => 2,
            _ => 0,
        };
        let header = if row.path.ends_with("/user-devices") { "x-health-token" } else { "authorization" };
        let cloud = if header == "x-health-token" { 2 } else { cloud };
        let credential = &self.credentials[cloud][caller];
        let mut request = Request::builder().method(row.method.as_str()).uri(self.path(row));
        let page = if row.path.starts_with("/portal") { self.page(caller).await } else { None };
        if let Some(page) = page {
            request = request.header("cookie", page.cookie).header("x-csrf-token", page.csrf);
        } else if !credential.is_empty() {
            let value = if header == "authorization" { format!("Bearer {credential}") } else { credential.clone() };
            request = request.header(header, value);
        }
        let kind = if row.path.contains("/sync/") { "application/vnd.apache.arrow.stream" } else { "application/json" };
        let kind = if row.path.contains("/oauth/") { "application/x-www-form-urlencoded" } else { kind };
        let body = match &row.body {
            Value::Null => Body::empty(),
            body => {
                let body = body.to_string().replace("OWN-CODE", &self.own.code);
                Body::from(body.replace("CALLER", CALLERS[caller]))
            }
        };
        let request = request.header("content-type", kind).body(body).expect("a request");
        self.story.status(request).await.as_u16()
    }
}

#[test]
fn every_route_has_its_row() {
    let document = api::document();
    let mut routes = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for method in methods.as_object().expect("methods").keys() {
            if ["get", "post", "put", "patch", "delete"].contains(&method.as_str()) {
                routes.insert((method.clone(), path.clone()));
            }
        }
    }
    let rows: BTreeSet<(String, String)> = Row::all().iter().map(Row::route).collect();
    let without: Vec<_> = routes.difference(&rows).collect();
    assert!(without.is_empty(), "routes without a row: {without:#?}");
    let gone: Vec<_> = rows.difference(&routes).collect();
    assert!(gone.is_empty(), "rows without a route: {gone:#?}");
}

async fn check(rows: impl Iterator<Item = Row>) {
    let mut world = World::new().await;
    let mut wrong = String::new();
    for row in rows {
        for (caller, expected) in row.statuses.iter().enumerate() {
            let status = world.status(&row, caller).await;
            if status != *expected {
                let _ = writeln!(wrong, "{} {}: {} gets {status}", row.method, row.path, CALLERS[caller]);
            }
            if row.spoils() == Spoils::LaterCells && (200..300).contains(&status) {
                world = World::new().await;
            }
        }
        if row.spoils() == Spoils::LaterRows {
            world = World::new().await;
        }
    }
    assert!(wrong.is_empty(), "not as the table says:\n{wrong}");
}

fn is_read(row: &Row) -> bool {
    row.method == "GET"
}

// Three tests, so that they run side by side.

#[tokio::test]
async fn everyone_reads_what_the_table_says() {
    check(Row::all().into_iter().filter(is_read)).await;
}

#[tokio::test]
async fn everyone_changes_what_the_table_says_on_the_integration_api() {
    let is_integration = |row: &Row| row.path.starts_with("/integration");
    check(Row::all().into_iter().filter(|row| !is_read(row) && is_integration(row))).await;
}

#[tokio::test]
async fn everyone_changes_what_the_table_says_elsewhere() {
    let is_integration = |row: &Row| row.path.starts_with("/integration");
    check(Row::all().into_iter().filter(|row| !is_read(row) && !is_integration(row))).await;
}
