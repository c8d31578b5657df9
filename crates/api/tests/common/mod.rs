//! A service in process for story tests: SQLite files of its own, a clock that moves only when it is moved, and
//! randomness from a seed, so that every answer is the same in every run.

#![allow(dead_code, reason = "each story uses a part of it")]

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use platform::{Environment, NewAccount, NewApiKey, Platform, Settings, SubscriptionStart};
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use store::engine::Address;
use store::{AccountId, ActionCode, AuditEntry, AuditQuery, HealthDb, Objects, Role, UsersDb};
use tower::ServiceExt;

mod documented;
pub mod event_stream;
pub mod schema;
pub mod study;

/// Time at which the stories begin, ms: 2025-11-20T00:53:20Z.
pub const START_MS: i64 = 1_763_600_000_000;

/// What the clock says when it panics: nobody outside may hear it.
pub const SAID_BY_THE_CLOCK: &str = "the clock of grace.hopper@example.org has stopped";

/// A time at which the clock panics.
const BROKEN_MS: i64 = i64::MIN;

/// The password of everyone in the stories.
pub const PASSWORD: &str = "correct horse battery";

/// A service, and the means to move its clock.
pub struct Story {
    /// The operations, for what the story's operator does.
    pub platform: Platform,
    /// What handlers share.
    pub state: api::ApiState,
    router: Router,
    now_ms: Arc<AtomicI64>,
    folder: tempfile::TempDir,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// Status.
    pub status: StatusCode,
    /// Headers.
    pub headers: HeaderMap,
    /// Body; `Null` when there is none.
    pub body: Value,
}

/// A patient who has used their voucher.
pub struct Enrolled {
    /// The patient.
    pub uuid: String,
    /// Their voucher code.
    pub code: String,
    /// Their token of the Users Cloud.
    pub users_token: String,
    /// Their token of the Health Cloud.
    pub health_token: String,
}

impl Story {
    /// Makes a new, empty service.
    pub async fn begin() -> Self {
        Self::begin_with(api::Limits::default()).await
    }

    /// Makes a new, empty service with limits.
    pub async fn begin_with(limits: api::Limits) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let users = Address::File(folder.path().join("users.sqlite"));
        let health = Address::File(folder.path().join("health.sqlite"));
        Story::begin_at(users, health, folder, limits).await
    }

    /// Makes a new, empty service over two databases, with its objects in a folder.
    pub async fn begin_at(users: Address, health: Address, folder: tempfile::TempDir, limits: api::Limits) -> Self {
        let users = UsersDb::open(users).await.expect("a database");
        let objects = Objects::folder(&folder.path().join("objects")).expect("a folder");
        let health = HealthDb::open(health, objects.clone()).await.expect("a database");
        let now_ms = Arc::new(AtomicI64::new(START_MS));
        let clock = now_ms.clone();
        let random = Mutex::new(rand_chacha::ChaCha20Rng::seed_from_u64(7));
        let platform = Platform::new(Environment {
            users,
            health,
            objects,
            clock: Arc::new(move || {
                let now_ms = clock.load(Ordering::SeqCst);
                assert!(now_ms != BROKEN_MS, "{SAID_BY_THE_CLOCK}");
                now_ms
            }),
            random: Arc::new(move |bytes: &mut [u8]| random.lock().expect("no test panics here").fill_bytes(bytes)),
            master_key: [7; 32],
            settings: Settings::default(),
        });
        platform.upkeep.seal_new_audit_log().await.expect("sealed");
        let state = api::ApiState::new(platform.clone(), limits);
        Story { platform, router: documented::checked(api::router(state.clone())), state, now_ms, folder }
    }

    /// Returns where its files are.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Lets time pass.
    pub fn pass_ms(&self, ms: i64) {
        self.now_ms.fetch_add(ms, Ordering::SeqCst);
    }

    /// From now on whatever asks for the time panics.
    pub fn break_clock(&self) {
        self.now_ms.store(BROKEN_MS, Ordering::SeqCst);
    }

    /// The clock goes again, from the beginning of the story.
    pub fn mend_clock(&self) {
        self.now_ms.store(START_MS, Ordering::SeqCst);
    }

    /// Returns the time, ms.
    pub fn now_ms(&self) -> i64 {
        self.now_ms.load(Ordering::SeqCst)
    }

    /// Creates an account and a key that acts on all its groups; answers the key.
    pub async fn key_of(&self, email: &str, role: Role) -> String {
        let account = NewAccount {
            email: email.to_owned(),
            role,
            first_name: None,
            last_name: None,
            password: Some(PASSWORD.to_owned()),
            subscription: SubscriptionStart::Active,
        };
        let (account, _) = self.platform.identity.create_account(account).await.expect("an account");
        self.platform.identity.create_api_key(&account, NewApiKey::default()).await.expect("a key").1
    }

    /// Returns all entries of the audit log in which somebody appears, of one action code when one is named.
    pub async fn audit_entries(&self, appears: &str, action_type: Option<&str>) -> Vec<AuditEntry> {
        let code = |code| ActionCode::new(platform::Action::of_code(code).expect("an action code").code());
        let query = AuditQuery {
            appears: AccountId::new(appears),
            from_ms: 0,
            to_ms: i64::MAX,
            action_type: action_type.map(code),
            scoped_key: None,
        };
        let mut reader = self.platform.core.users().read_audit(query, self.now_ms()).await.expect("a reader");
        let mut entries = Vec::new();
        while let Some(page) = reader.next_page().await.expect("a page") {
            entries.extend(page);
        }
        entries
    }

    /// Creates a group; answers its code.
    pub async fn group(&self, key: &str) -> String {
        let body = json!({"name": "Sleep", "description": "of nurses"});
        let created = self.post(&format!("/integration/v1/groups?token={key}"), body).await.ok();
        text(&created["code"])
    }

    /// Adds a patient to a group, who uses their voucher with a profile and logs in on both clouds.
    pub async fn patient(&self, key: &str, group: &str, profile: Value) -> Enrolled {
        let created =
            self.post(&format!("/integration/v1/groups/{group}/patients?token={key}"), Value::Null).await.ok();
        let code = text(&created["code"]);
        let mut activation = json!({"code": code, "password": PASSWORD});
        for (name, value) in profile.as_object().into_iter().flatten() {
            activation[name] = value.clone();
        }
        let users_token = text(&self.post("/users/activate", activation).await.ok()["token"]);
        let health = self.post("/health/login", json!({"user_api_token": users_token})).await.ok();
        Enrolled { uuid: text(&created["uuid"]), code, users_token, health_token: text(&health["token"]) }
    }

    /// Sends a GET without headers.
    pub async fn get(&self, path: &str) -> Answer {
        self.send(Request::get(path).body(Body::empty()).expect("a request")).await
    }

    /// Sends a GET with a token as Bearer.
    pub async fn get_as(&self, path: &str, token: &str) -> Answer {
        let request = Request::get(path).header("authorization", format!("Bearer {token}"));
        self.send(request.body(Body::empty()).expect("a request")).await
    }

    /// Sends a POST of JSON; without a body when it is `Null`.
    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.with_json(Method::POST, path, "", body).await
    }

    /// Sends a POST of JSON with a token as Bearer.
    pub async fn post_as(&self, path: &str, token: &str, body: Value) -> Answer {
        self.with_json(Method::POST, path, token, body).await
    }

    /// Returns any method, with JSON unless the body is `Null`, and with a token as Bearer unless it is empty.
    pub async fn ask(&self, method: &str, path: &str, token: &str, body: Value) -> Answer {
        self.with_json(method.parse().expect("a method"), path, token, body).await
    }

    async fn with_json(&self, method: Method, path: &str, token: &str, body: Value) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        if !token.is_empty() {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = match body {
            Value::Null => request.body(Body::empty()),
            body => request.header("content-type", "application/json").body(Body::from(body.to_string())),
        };
        self.send(request.expect("a request")).await
    }

    /// Returns the bytes of an answer in a form, as they are; a token goes as Bearer.
    pub async fn bytes_of(&self, path: &str, token: &str, accept: &str) -> (StatusCode, Bytes) {
        let mut request = Request::get(path).header("accept", accept);
        if !token.is_empty() {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(Body::empty()).expect("a request");
        let response = self.router.clone().oneshot(request).await.expect("the router answers");
        let (parts, body) = response.into_parts();
        (parts.status, axum::body::to_bytes(body, usize::MAX).await.expect("a body"))
    }

    /// Sends a PUT of JSON.
    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.with_json(Method::PUT, path, "", body).await
    }

    /// Sends samples of a patient, by type, and derives them.
    pub async fn sync(&self, patient: &Enrolled, data: Value) {
        self.post_as("/health/v1/sync", &patient.health_token, json!({ "data": data })).await.ok();
        self.derive().await;
    }

    /// Computes all that is due.
    pub async fn derive(&self) {
        self.jobs(&["derive"]).await;
    }

    /// Runs jobs of these kinds that are due; returns how many runs there were.
    pub async fn jobs(&self, kinds: &[&str]) -> usize {
        platform::jobs::drain(&self.platform.upkeep, kinds).await.expect("worked")
    }

    /// Returns any request, answered with its bytes as they are.
    pub async fn raw(&self, request: Request<Body>) -> (axum::http::response::Parts, Bytes) {
        let response = self.router.clone().oneshot(request).await.expect("the router answers");
        let (parts, body) = response.into_parts();
        (parts, axum::body::to_bytes(body, usize::MAX).await.expect("a body"))
    }

    /// Returns the status of an answer, whose body may have no end.
    pub async fn status(&self, request: Request<Body>) -> StatusCode {
        self.open(request).await.status()
    }

    /// Returns an answer whose body is still to be read.
    pub async fn open(&self, request: Request<Body>) -> axum::response::Response {
        self.router.clone().oneshot(request).await.expect("the router answers")
    }

    /// Returns any request.
    pub async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.expect("the router answers");
        let (parts, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, usize::MAX).await.expect("a body");
        let body = if bytes.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&bytes)
                .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()))
        };
        Answer { status: parts.status, headers: parts.headers, body }
    }
}

impl Answer {
    /// Returns the body of an answer that has to be 200.
    pub fn ok(self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.body);
        self.body
    }

    /// Checks that there is no content.
    pub fn done(self) {
        assert_eq!((self.status, &self.body), (StatusCode::NO_CONTENT, &Value::Null));
    }

    /// Status and code of an error, whose shape is checked.
    pub fn error(&self) -> (u16, &str) {
        assert!(self.body["message"].is_string(), "{self:?}");
        assert_eq!(self.body["errors"].is_object(), self.status == 422, "{self:?}");
        (self.status.as_u16(), self.body["code"].as_str().expect("a code"))
    }

    /// Returns a header as text.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }
}

/// Returns the text of a JSON value that has to be one.
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is not a text")).to_owned()
}
