//! Every example of the OpenAPI document is answered as it is written there: path, query and body of each operation are sent
//! to a prepared service, whose answer has to have a status of success and to fit its schema.
//!
//! The examples are one story. `ada@study.example` manages a study, `hal@study.example` joins it, and Rita is its patient, who
//! logs in as `rita@study.example`; the password of all is `correct horse battery`. What the service makes up itself, no
//! document can know: wherever such an example is written, what the service has made takes its place ([`Scene::made_of`]), and
//! in a path by the name of its parameter.

mod common;
#[path = "portal/totp_code.rs"]
mod totp_code;

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::Request;
use common::schema::faults;
use common::{Answer, PASSWORD, Story, text};
use serde_json::{Value, json};
use store::Role;

/// Operations whose requests are no examples of the document, each with the reason.
const WITHOUT_EXAMPLE: [(&str, &str); 8] = [
    ("GET /health/oauth/authorize", "a step of a flow, which the stories of OAuth go through"),
    ("POST /health/oauth/authorize", "its ticket comes with the page before"),
    ("POST /health/oauth/token", "its code comes with the page before"),
    ("POST /health/oauth/introspect", "its token comes from the flow"),
    ("POST /health/oauth/revoke", "its token comes from the flow"),
    ("DELETE /users/auth/consents/{id}", "a consent comes from the flow"),
    ("POST /health/v1/sync/{type}", "bytes of Arrow have no example"),
    ("GET /integration/downloads/{name}", "a signed link is fetched whole, as it comes with its export"),
];
/// Answered for as long as somebody listens; stories of the board and of events read them.
const ENDLESS: [&str; 2] =
    ["GET /portal/api/groups/{code}/board/events", "GET /integration/v1/groups/{group_code}/events/stream"];

/// What the others need, in this order.
const FIRST: [&str; 11] = [
    "POST /integration/v1/groups",
    "POST /integration/v1/groups/{group_code}/patients",
    "GET /integration/v1/check-voucher-code/{voucher_code}",
    "POST /users/activate",
    "POST /users/login",
    "POST /health/login",
    "POST /health/v1/sync",
    "POST /portal/session",
    "POST /integration/v1/bracelets",
    "POST /integration/v1/create-export/{uuid}",
    "POST /portal/api/totp",
];
/// What ends something, in this order.
const LAST: [&str; 24] = [
    "DELETE /portal/api/totp",
    "DELETE /portal/api/keys/{id}",
    "DELETE /portal/api/clients/{client_id}",
    "DELETE /portal/api/sessions/{id}",
    "PUT /portal/api/account/password",
    "DELETE /portal/session",
    "DELETE /integration/v1/patients/{uuid}/bracelets/{serial}",
    "DELETE /integration/v1/bracelets/{serial}",
    "DELETE /integration/v1/groups/{group_code}/hcps/{uuid}",
    "DELETE /integration/v1/groups/{group_code}/patients/{uuid}",
    "DELETE /integration/v1/groups/{group_code}",
    "GET /health/auth/refresh",
    "POST /health/auth/refresh",
    "POST /health/auth/logout",
    "GET /users/auth/refresh",
    "POST /users/auth/refresh",
    "POST /users/auth/logout",
    "POST /users/auth/password",
    "POST /integration/v1/patients/{uuid}/reset-password",
    "DELETE /users/me",
    "DELETE /integration/v1/patients/{uuid}",
    "GET /integration/v1/erasures/{uuid}",
    "GET /livez",
    "GET /readyz",
];

/// The service, and what it has made.
struct Scene {
    story: Story,
    document: Value,
    made: BTreeMap<&'static str, String>,
}

impl Scene {
    async fn begin() -> Self {
        let story = Story::begin().await;
        let key = story.key_of("ada@study.example", Role::Researcher).await;
        story.key_of("hal@study.example", Role::Hcp).await;
        let root_key = story.key_of("root@study.example", Role::Admin).await;
        let mut made =
            BTreeMap::from([("key", key.clone()), ("root_key", root_key), ("serial", "PW-000123".to_owned())]);
        made.insert("second_group", story.group(&key).await);
        made.insert("empty_group", story.group(&key).await);
        Scene { story, document: api::document(), made }
    }

    fn made(&self, name: &str) -> String {
        // Then the operation that should have made it is reported first.
        self.made.get(name).cloned().unwrap_or_else(|| format!("not-made-{name}"))
    }

    /// Returns what the service has made in the place of an example that it makes up itself, else the example.
    fn made_of(&self, example: &str) -> String {
        let name = match example {
            "80876de9-4e89-449a-9a8f-c1e11f720437" => "uuid",
            "JYVPQ" => "group_code",
            "K7QXM2PA" => "voucher_code",
            "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIuLi4ifQ.c2lnbmF0dXJl" => "users_token",
            "287082" => "totp",
            _ => return example.to_owned(),
        };
        self.made.get(name).cloned().unwrap_or_else(|| example.to_owned())
    }

    fn substituted(&self, example: &Value) -> Value {
        match example {
            Value::String(text) => json!(self.made_of(text)),
            Value::Array(elements) => elements.iter().map(|element| self.substituted(element)).collect(),
            Value::Object(members) => {
                members.iter().map(|(name, member)| (name.clone(), self.substituted(member))).collect()
            }
            other => other.clone(),
        }
    }

    /// Returns the value of a parameter of a path.
    fn in_path(&self, operation: &str, name: &str, schema: &Value) -> String {
        let made = match (operation, name) {
            (
                "PUT /integration/v1/groups/{group_code}/patients/{uuid}"
                | "DELETE /integration/v1/groups/{group_code}/patients/{uuid}",
                "group_code",
            ) => "second_group",
            ("DELETE /integration/v1/groups/{group_code}", _) => "empty_group",
            ("DELETE /integration/v1/groups/{group_code}/hcps/{uuid}", "uuid") => "hcp",
            ("DELETE /portal/api/keys/{id}", _) => "key_id",
            ("DELETE /portal/api/sessions/{id}", _) => "session_id",
            ("GET /integration/v1/patients/{uuid}/afib/{id}/strip.svg", "id") => "afib",
            (_, "code") => "group_code",
            (_, "uuid" | "group_code" | "voucher_code" | "serial" | "export_id" | "client_id") => name,
            _ => return text(stated(schema).unwrap_or_else(|| panic!("{operation}: {name} has no example"))),
        };
        self.made(made)
    }

    /// Returns the request of an operation's examples.
    fn request(&self, name: &str, operation: &Value) -> Request<Body> {
        let (method, path) = name.split_once(' ').expect("a method");
        let (mut path, mut query) = (path.to_owned(), Vec::new());
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let (at, schema) = (text(&parameter["name"]), &parameter["schema"]);
            match (parameter["in"].as_str(), stated(schema)) {
                (Some("path"), _) => path = path.replace(&format!("{{{at}}}"), &self.in_path(name, &at, schema)),
                // A list of names states the first of them; a parameter that may be left out says what it is for otherwise.
                (Some("query"), Some(example)) if parameter["required"] == true || !schema["example"].is_null() => {
                    let example = self.substituted(example);
                    let value = example.as_str().map_or_else(|| example.to_string(), str::to_owned);
                    query.push(format!("{at}={}", value.replace('+', "%2B")));
                }
                _ => {}
            }
        }
        let mut request = Request::builder().method(method);
        // The first of the ways in; an empty one is of those who have no credential yet.
        let ways = operation["security"].as_array().into_iter().flatten().filter_map(Value::as_object);
        let credentials = ways.into_iter().find(|way| !way.is_empty()).cloned().unwrap_or_default();
        for scheme in credentials.keys() {
            request = match scheme.as_str() {
                "api_key_parameter" => {
                    // The security log is the administrator's.
                    let key = if name.contains("/security/") { "root_key" } else { "key" };
                    query.push(format!("token={}", self.made(key)));
                    request
                }
                "users_token" | "health_token" => {
                    request.header("authorization", format!("Bearer {}", self.made(scheme)))
                }
                "health_token_header" => request.header("x-health-token", self.made("health_token")),
                // Clients of OAuth are the administrator's.
                "portal_cookie" if name.contains("/clients") => request.header("cookie", self.made("root_cookie")),
                "csrf_token" if name.contains("/clients") => request.header("x-csrf-token", self.made("root_csrf")),
                "portal_cookie" => request.header("cookie", self.made("cookie")),
                "csrf_token" => request.header("x-csrf-token", self.made("csrf")),
                other => panic!("{name}: no credential of {other}"),
            };
        }
        let body = example_of_body(&self.document, operation).map(|example| self.substituted(&example).to_string());
        let request = request.uri(if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) });
        let request = if body.is_some() { request.header("content-type", "application/json") } else { request };
        request.body(body.map_or_else(Body::empty, Body::from)).expect("a request")
    }

    /// Prepares what an operation needs that no other operation makes, or that an earlier one has ended.
    async fn prepare(&mut self, name: &str) {
        let ends_patient = LAST.contains(&name) && !name.contains("/portal/") && !name.contains("bracelets");
        if ends_patient && name != "GET /integration/v1/erasures/{uuid}" && self.made.contains_key("group_code") {
            let patient = self.story.patient(&self.made("key"), &self.made("group_code"), json!({})).await;
            self.made.extend([
                ("uuid", patient.uuid),
                ("users_token", patient.users_token),
                ("health_token", patient.health_token),
            ]);
        }
        match name {
            // One export of a patient in five minutes.
            "POST /integration/v1/create-export/{uuid}/{data_type}" => self.story.pass_ms(301_000),
            "DELETE /integration/v1/groups/{group_code}/patients/{uuid}" => {
                let (group, uuid, key) = (self.made("second_group"), self.made("uuid"), self.made("key"));
                let path = format!("/integration/v1/groups/{group}/patients/{uuid}");
                self.story.ask("PUT", &path, &key, Value::Null).await.done();
            }
            "GET /integration/v1/patients/{uuid}/afib/{id}/strip.svg" => {
                let beats = |beat: i64| 450 + (beat * 7919 + beat * beat * 31) % 601;
                let times: Vec<i64> = (0..200)
                    .scan(1_763_546_400_000, |time, beat| {
                        *time += beats(beat);
                        Some(*time)
                    })
                    .collect();
                let intervals: Vec<i64> = (0..200).map(beats).collect();
                let rows = json!({"data": {"rr-interval": {"timestamp": times, "rr": intervals, "quality": 4}}});
                self.story.post_as("/health/v1/sync", &self.made("health_token"), rows).await.ok();
                self.story.derive().await;
                let range = json!({"timestamp_from": 1_763_546_400_000_i64, "timestamp_to": 1_763_600_000_000_i64});
                let path =
                    format!("/integration/v1/create-afib-export/{}?token={}", self.made("uuid"), self.made("key"));
                let records = self.story.post(&path, range).await.ok();
                self.made.insert("afib", text(&records[0]["_id"]));
            }
            "PUT /portal/api/totp" => {
                let code = totp_code::code(&self.made("secret"), self.story.now_ms());
                self.made.insert("totp", code);
            }
            "DELETE /portal/api/sessions/{id}" => {
                self.story
                    .post("/portal/session", json!({"email": "ada@study.example", "password": PASSWORD}))
                    .await
                    .ok();
                let request = Request::get("/portal/api/sessions").header("cookie", self.made("cookie"));
                let sessions = self.story.send(request.body(Body::empty()).expect("a request")).await.ok();
                let other = sessions.as_array().expect("sessions").iter().find(|session| session["current"] != true);
                self.made.insert("session_id", text(&other.expect("another session")["id"]));
            }
            _ => {}
        }
    }

    /// Keeps what an answer has brought.
    async fn keep(&mut self, name: &str, answer: &Answer) {
        let kept: &[(&'static str, &str)] = match name {
            "POST /integration/v1/groups" => &[("group_code", "code")],
            "POST /integration/v1/groups/{group_code}/patients" => &[("uuid", "uuid"), ("voucher_code", "code")],
            "POST /users/login" => &[("users_token", "token")],
            "POST /health/login" => &[("health_token", "token")],
            "POST /portal/session" => &[("csrf", "csrf_token")],
            "POST /integration/v1/groups/{group_code}/hcps" => &[("hcp", "uuid")],
            "POST /integration/v1/create-export/{uuid}" => &[("export_id", "id")],
            "POST /portal/api/totp" => &[("secret", "secret")],
            "POST /portal/api/keys" => &[("key_id", "id")],
            "POST /portal/api/clients" => &[("client_id", "client_id")],
            _ => &[],
        };
        self.made.extend(kept.iter().map(|(made, field)| (*made, text(&answer.body[*field]))));
        if name == "POST /portal/session" {
            self.made.insert("cookie", cookie_of(answer));
            let root =
                self.story.post("/portal/session", json!({"email": "root@study.example", "password": PASSWORD})).await;
            self.made.extend([("root_cookie", cookie_of(&root)), ("root_csrf", text(&root.body["csrf_token"]))]);
        }
        if name == "POST /health/v1/sync" {
            self.story.derive().await;
        }
    }
}

fn cookie_of(answer: &Answer) -> String {
    answer.header("set-cookie").split(';').next().unwrap_or_default().to_owned()
}

/// Returns the example that a schema states.
fn stated(schema: &Value) -> Option<&Value> {
    let first = |name: &str| schema.get(name).and_then(|list| list.get(0));
    schema.get("example").or_else(|| first("examples")).or_else(|| first("enum")).or_else(|| {
        schema
            .get("items")
            .and_then(|items| items.get("example").or_else(|| items.get("enum").and_then(|names| names.get(0))))
    })
}

fn referred<'document>(document: &'document Value, value: &'document Value) -> &'document Value {
    let pointer = value["$ref"].as_str().and_then(|path| path.strip_prefix('#'));
    pointer.and_then(|pointer| document.pointer(pointer)).unwrap_or(value)
}

fn example_of_body(document: &Value, operation: &Value) -> Option<Value> {
    let media = operation["requestBody"]["content"].get("application/json")?;
    let usual = referred(document, &media["examples"]["usual"])["value"].clone();
    Some(if usual.is_null() { media["example"].clone() } else { usual })
}

/// Returns the operations in the order of the story.
fn operations(document: &Value) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            all.push((format!("{} {path}", method.to_uppercase()), operation.clone()));
        }
    }
    let place = |name: &str| {
        let of = |names: &[&str]| names.iter().position(|one| *one == name);
        of(&FIRST).map_or_else(|| of(&LAST).map_or((1, 0), |at| (2, at)), |at| (0, at))
    };
    // What reads comes after what makes, and is next to it in the document otherwise.
    all.sort_by_key(|(name, _)| (place(name), name.starts_with("GET")));
    all
}

#[tokio::test]
async fn every_example_of_the_document_is_answered_as_it_is_written() {
    let mut scene = Scene::begin().await;
    let operations = operations(&scene.document);
    let left_out: Vec<&str> = ENDLESS.into_iter().chain(WITHOUT_EXAMPLE.map(|(name, _)| name)).collect();
    for name in &left_out {
        assert!(operations.iter().any(|(one, _)| one == name), "{name} is no operation");
    }
    for name in FIRST.iter().chain(&LAST) {
        assert!(operations.iter().any(|(one, _)| one == name), "{name} is no operation");
    }
    let (mut wrong, mut asked) = (Vec::new(), 0);
    for (name, operation) in operations.iter().filter(|(name, _)| !left_out.contains(&name.as_str())) {
        scene.prepare(name).await;
        let answer = scene.story.send(scene.request(name, operation)).await;
        asked += 1;
        let status = answer.status.as_u16().to_string();
        let documented = referred(&scene.document, &operation["responses"][status.as_str()]).clone();
        if !answer.status.is_success() || documented.is_null() {
            wrong.push(format!("{name}: {status} {}", answer.body));
            continue;
        }
        let schema = &documented["content"]["application/json"]["schema"];
        if !schema.is_null() {
            let found = faults(&answer.body, schema, &scene.document["components"]["schemas"], "answer");
            wrong.extend(found.into_iter().map(|fault| format!("{name}: {fault}")));
        }
        scene.keep(name, &answer).await;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(asked > 80, "{asked} examples");
}
