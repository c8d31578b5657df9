//! Who may do what: every route of the OpenAPI document with everyone who could call it.
//!
//! A row of [`TABLE`] is a route, with a body that is good where it needs one, and the status that each of [`CALLERS`]
//! gets. Where that is neither a refusal nor success, the caller may do it and something else stands in the way: a group
//! that is not empty (409), an upload that is (400), a strip that is not there (404). A route without a row fails the
//! test, and so does a row without a route.
#![allow(clippy::disallowed_types, reason = "a client of the service, outside the runtime seam")]

mod common;

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::sync::Mutex;

use axum::body::Body;
use axum::http::Request;
use common::{Enrolled, PASSWORD, START_MS, Story, text};
use platform::NewApiKey;
use serde_json::{Value, json};
use store::{GroupCode, Role};

/// Who calls, in the order of the columns.
///
/// `none` brings no credential, `rubbish` one that nobody issued, `expired` and `revoked` one that has ended, and
/// `other` one of another cloud. `own` is the patient whom the path names, `another` a patient of the same group, each
/// with a token of the cloud that is called, or on the integration API one of the Health Cloud. `member` is a
/// researcher of the group, `hcp` a practitioner of it, `stranger` a researcher and `admin` an administrator who are not
/// in it: on the integration API with an API key; on the Users Cloud with a token; on the Health Cloud with a health
/// token for the patient, or, where they get none, with the key. `scoped` is a key of the member for another group.
///
/// On the routes of the portal, those five have a session of its pages, `expired` and `revoked` one that was locked and
/// one that was signed out; `other` shows the member's key, patients show their tokens, and `scoped` is a session of the
/// member that only reads.
const CALLERS: [&str; 12] = [
    "none", "rubbish", "expired", "revoked", "other", "own", "another", "member", "hcp", "stranger", "admin", "scoped",
];

const TABLE: &str = r#"
                                                                     none rub exp rev oth | own ano | mem hcp str adm sco

# Studies.
GET    /integration/v1/groups                                      | 401 401 401 401 401 | 401 401 | 200 200 200 200 200
POST   /integration/v1/groups {"name": "New", "description": ""}   | 401 401 401 401 401 | 401 401 | 200 403 200 200 403
PATCH  /integration/v1/groups/{group_code} {"name": "Other"}       | 401 401 401 401 401 | 401 401 | 200 403 403 403 403
DELETE /integration/v1/groups/{group_code}                         | 401 401 401 401 401 | 401 401 | 409 403 403 403 403
GET    /integration/v1/groups/{group_code}/settings                | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
PUT    /integration/v1/groups/{group_code}/settings {"activity_goal_steps": 8000} | 401 401 401 401 401 | 401 401 | 200 403 403 403 403
GET    /integration/v1/groups/{group_code}/hcps                    | 401 401 401 401 401 | 401 401 | 200 403 403 403 403
POST   /integration/v1/groups/{group_code}/hcps {"email": "hal@example.org"} | 401 401 401 401 401 | 401 401 | 200 403 403 403 403
DELETE /integration/v1/groups/{group_code}/hcps/{uuid}             | 401 401 401 401 401 | 401 401 | 204 403 403 403 403
PUT    /integration/v1/groups/{group_code}/patients/{uuid}         | 401 401 401 401 401 | 401 401 | 204 403 403 403 403
DELETE /integration/v1/groups/{group_code}/patients/{uuid}         | 401 401 401 401 401 | 401 401 | 204 403 403 403 403

# Patients.
GET    /integration/v1/groups/{group_code}/patients                | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
POST   /integration/v1/groups/{group_code}/patients                | 401 401 401 401 401 | 401 401 | 200 403 403 403 403
GET    /integration/v1/check-voucher-code/{voucher_code}           | 401 401 401 401 401 | 401 401 | 200 200 200 200 200
PATCH  /integration/v1/patients/{uuid} {"external_patient_id": "7"} | 401 401 401 401 401 | 401 401 | 200 403 403 403 403
DELETE /integration/v1/patients/{uuid}                             | 401 401 401 401 401 | 401 401 | 200 403 403 200 403
PUT    /integration/v1/patients/{uuid}/profile {"weight": 61}      | 401 401 401 401 401 | 401 401 | 200 403 403 403 403
POST   /integration/v1/patients/{uuid}/reset-password {"password": "another long one"} | 401 401 401 401 401 | 401 401 | 204 403 403 403 403
GET    /integration/v1/patients/{uuid}/health-token                | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
GET    /integration/v1/patients/{uuid}/latest-news-score           | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
GET    /integration/v1/patients/{uuid}/news-settings               | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
PUT    /integration/v1/patients/{uuid}/news-settings {"oxygen": false} | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
GET    /integration/v1/patients/{uuid}/alarms                      | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
PUT    /integration/v1/patients/{uuid}/alarms {"alarms": []}       | 401 401 401 401 401 | 401 401 | 200 200 403 403 403

# Summaries, compliance, exports.
GET    /integration/v1/groups/{group_code}/summaries?date=2025-11-20 | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
GET    /integration/v1/patients/{uuid}/summary/{date}              | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
GET    /integration/v1/patients/{uuid}/compliance/{date}           | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
GET    /integration/v1/patients/{uuid}/raw-data-compliance/{date}  | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
GET    /integration/v1/patients/{uuid}/raw-data-compliance?utc_date_from=2025-11-20T00:00:00.000Z&utc_date_to=2025-11-20T01:00:00.000Z | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
POST   /integration/v1/create-export/{uuid}/{data_type} {"client_date_from": "2025-11-20T00:00:00.000", "client_date_to": "2025-11-20T01:00:00.000"} | 401 401 401 401 401 | 401 401 | 200 403 403 403 403
POST   /integration/v1/create-export/{uuid} {"client_date_from": "2025-11-20T00:00:00.000", "client_date_to": "2025-11-20T01:00:00.000", "types": ["activity"]} | 401 401 401 401 401 | 401 401 | 200 403 403 403 403
GET    /integration/v1/export/{export_id}                          | 401 401 401 401 401 | 401 401 | 200 403 403 403 403
GET    /integration/v1/groups/{group_code}/lake                    | 401 401 401 401 401 | 401 401 | 200 403 403 403 403
GET    /integration/downloads/{name}                               | 403
POST   /integration/v1/create-afib-export/{uuid} {"timestamp_from": 0, "timestamp_to": 1} | 401 401 401 401 401 | 401 401 | 200 403 403 403 403
GET    /integration/v1/patients/{uuid}/afib/{id}/strip.svg         | 401 401 401 401 401 | 401 401 | 404 404 403 403 403

# Audit log.
GET    /integration/v1/patients/audit/logs?from=0&to=1             | 401 401 401 401 401 | 401 401 | 200 200 200 200 200

# Bracelets. The member's own idle bracelet is his also with a key for another of his groups.
GET    /integration/v1/user-devices                                | 401 401 401 401 401 | 200 200 | 200 200 401 401 401
GET    /integration/v1/bracelets                                   | 401 401 401 401 401 | 401 401 | 200 200 200 200 200
POST   /integration/v1/bracelets {"serial_number": "of CALLER", "device_type": "wrist"} | 401 401 401 401 401 | 401 401 | 200 200 200 200 403
PATCH  /integration/v1/bracelets/{serial} {"firmware_version": "2"} | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
DELETE /integration/v1/bracelets/{serial}                          | 401 401 401 401 401 | 401 401 | 204 204 403 403 403
PUT    /integration/v1/patients/{uuid}/bracelets/{serial}          | 401 401 401 401 401 | 401 401 | 204 204 403 403 403
DELETE /integration/v1/patients/{uuid}/bracelets/{serial}          | 401 401 401 401 401 | 401 401 | 204 204 403 403 403

# Users Cloud. An expired token can be refreshed and logged out; nobody else's is named anywhere, so everyone acts on himself.
POST   /users/login {"code": "OWN-CODE", "password": "correct horse battery"} | 200
POST   /users/activate {"code": "OWN-CODE", "password": "correct horse battery"} | 409
GET    /users/me                                                   | 401 401 401 401 401 | 200 200 | 200 200 200 200 401
PATCH  /users/me {"first_name": "N"}                               | 401 401 401 401 401 | 200 200 | 200 200 200 200 401
DELETE /users/me                                                   | 401 401 401 401 401 | 200 200 | 409 200 200 200 401
POST   /users/auth/logout                                          | 401 401 204 401 401 | 204 204 | 204 204 204 204 401
GET    /users/auth/refresh                                         | 401 401 200 401 401 | 200 200 | 200 200 200 200 401
POST   /users/auth/refresh                                         | 401 401 200 401 401 | 200 200 | 200 200 200 200 401
POST   /users/auth/password {"password": "correct horse battery", "new_password": "incorrect horse battery"} | 401 401 401 401 401 | 200 200 | 200 200 200 200 401
GET    /users/auth/consents                                        | 401 401 401 401 401 | 200 200 | 200 200 200 200 401
DELETE /users/auth/consents/{id}                                   | 401 401 401 401 401 | 404 404 | 404 404 404 404 401
GET    /users/.well-known/jwks.json                                | 200

# Health Cloud. Who reads in a patient's stead neither sends nor refreshes.
POST   /health/login {"user_api_token": "rubbish"}                 | 401
POST   /health/auth/logout                                         | 401 401 204 401 401 | 204 204 | 204 204 401 401 401
GET    /health/auth/refresh                                        | 401 401 200 401 401 | 200 200 | 403 403 401 401 401
POST   /health/auth/refresh                                        | 401 401 200 401 401 | 200 200 | 403 403 401 401 401
POST   /health/v1/sync {"data": {}}                                | 401 401 401 401 401 | 200 200 | 403 403 401 401 401
POST   /health/v1/sync/{type}                                      | 401 401 401 401 401 | 400 400 | 403 403 401 401 401
GET    /health/v2/raw-metrics/{raw_metric_type}?from_date=2025-11-20T00:00:00Z&to_date=2025-11-20T01:00:00Z | 401 401 401 401 401 | 200 200 | 200 200 401 401 401
GET    /health/user-summaries?date_from=2025-11-19&date_to=2025-11-20 | 401 401 401 401 401 | 200 200 | 200 200 401 401 401
GET    /health/.well-known/jwks.json                               | 200

# OAuth: a client proves itself, or nobody does; none of these credentials is one of a client.
GET    /health/.well-known/oauth-authorization-server              | 200
GET    /health/oauth/authorize                                     | 400
POST   /health/oauth/authorize                                     | 403
POST   /health/oauth/token                                         | 401
POST   /health/oauth/introspect                                    | 401
POST   /health/oauth/revoke                                        | 401

# Portal. Everyone acts on himself; a session that only reads may end and choose a password.
POST   /portal/session {"email": "ada@example.org", "password": "correct horse battery"} | 200
GET    /portal/session                                             | 401 401 401 401 401 | 401 401 | 200 200 200 200 200
DELETE /portal/session                                             | 401 401 401 401 401 | 401 401 | 204 204 204 204 204
GET    /portal/api/account                                         | 401 401 401 401 401 | 401 401 | 200 200 200 200 200
PUT    /portal/api/account/password {"current": "correct horse battery", "new": "incorrect horse battery"} | 401 401 401 401 401 | 401 401 | 204 204 204 204 204
GET    /portal/api/keys                                            | 401 401 401 401 401 | 401 401 | 200 200 200 200 200
POST   /portal/api/keys {"name": "New"}                            | 401 401 401 401 401 | 401 401 | 201 201 201 201 403
DELETE /portal/api/keys/{id}                                       | 401 401 401 401 401 | 401 401 | 404 404 404 404 403
GET    /portal/api/clients                                         | 401 401 401 401 401 | 401 401 | 403 403 403 200 403
POST   /portal/api/clients {"name": "N", "redirect_uris": ["https://a.example/b"], "privacy_policy_url": "https://a.example/p"} | 401 401 401 401 401 | 401 401 | 403 403 403 201 403
DELETE /portal/api/clients/{client_id}                             | 401 401 401 401 401 | 401 401 | 403 403 403 404 403
GET    /portal/api/sessions                                        | 401 401 401 401 401 | 401 401 | 200 200 200 200 200
DELETE /portal/api/sessions/{id}                                   | 401 401 401 401 401 | 401 401 | 404 404 404 404 403
POST   /portal/api/totp                                            | 401 401 401 401 401 | 401 401 | 200 200 200 200 403
PUT    /portal/api/totp {"code": "000000"}                         | 401 401 401 401 401 | 401 401 | 422 422 422 422 403
DELETE /portal/api/totp {"password": "correct horse battery"}      | 401 401 401 401 401 | 401 401 | 204 404 404 404 403
GET    /portal/api/groups/{code}/board                             | 401 401 401 401 401 | 401 401 | 200 200 403 403 200
GET    /portal/api/groups/{code}/board/events                      | 401 401 401 401 401 | 401 401 | 200 200 403 403 200
GET    /portal/api/groups/{code}/compliance?from=2025-11-19&to=2025-11-20 | 401 401 401 401 401 | 401 401 | 200 200 403 403 200
GET    /portal/api/patients/{uuid}/series?from=0&to=1&series[]=activity.bpm | 401 401 401 401 401 | 401 401 | 200 200 403 403 200
GET    /portal/api/patients/{uuid}/news?from=0&to=1               | 401 401 401 401 401 | 401 401 | 200 200 403 403 200
GET    /portal/api/patients/{uuid}/compliance?date=2025-11-20      | 401 401 401 401 401 | 401 401 | 200 200 403 403 200

# Operations.
GET    /livez                                                      | 200
GET    /readyz                                                     | 200
"#;

/// A row of the table.
struct Row {
    method: String,
    path: String,
    body: Value,
    statuses: [u16; 12],
}

impl Row {
    fn read(line: &str) -> Self {
        let (head, statuses) = line.split_once('|').unwrap_or_else(|| panic!("no statuses: {line}"));
        let mut words = head.trim().splitn(3, ' ').filter(|word| !word.is_empty());
        let method = words.next().expect("a method").to_owned();
        let rest = words.next().map(|path| format!("{path} {}", words.next().unwrap_or_default()));
        let rest = rest.expect("a path");
        let (path, body) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
        let body = if body.trim().is_empty() { Value::Null } else { serde_json::from_str(body.trim()).expect("JSON") };
        let numbers = statuses.split(|sign: char| !sign.is_ascii_digit()).filter(|number| !number.is_empty());
        let statuses: Vec<u16> = numbers.map(|number| number.parse().expect("a status")).collect();
        let statuses = match statuses[..] {
            [same] => [same; 12],
            _ => statuses.try_into().unwrap_or_else(|found| panic!("not twelve: {found:?} in {line}")),
        };
        Row { method, path: path.to_owned(), body, statuses }
    }

    fn all() -> Vec<Self> {
        let lines = TABLE
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with("none") && !line.starts_with('#'));
        lines.map(Row::read).collect()
    }

    /// The route as the document has it.
    fn route(&self) -> (String, String) {
        let path = self.path.split('?').next().unwrap_or_default();
        (self.method.to_lowercase(), path.to_owned())
    }

    /// When a new service is needed for what follows, because doing it takes something away.
    fn spoils(&self) -> Spoils {
        if self.path.contains("/auth/") {
            // Everyone ends his own token.
            return Spoils::LaterRows;
        }
        let takes = ["reset-password", "create-export", "account/password"];
        if self.method == "DELETE" || takes.iter().any(|part| self.path.contains(part)) {
            return Spoils::LaterCells;
        }
        Spoils::Nothing
    }
}

/// What cannot be asked any more after a row or a cell of it.
#[derive(PartialEq)]
enum Spoils {
    Nothing,
    LaterRows,
    LaterCells,
}

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
        assert!(!path.contains('{'), "nothing stands for a part of {path}");
        path
    }

    /// The session of the portal that a caller has; none for whom shows something else.
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
            // What was used until here is locked as well, and is begun anew when it is needed.
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

// Three tests, so that they run beside each other.

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
