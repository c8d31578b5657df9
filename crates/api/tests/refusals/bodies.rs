//! Every route that takes a body, with bodies that cannot be taken: which status, which code, and that nothing is done.

use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::{Value, json};

use crate::common::study::{Study, wrong_fields};
use crate::common::{Answer, PASSWORD, text};

/// A route with a credential and a body that it would take.
struct Route {
    method: &'static str,
    path: String,
    credential: String,
    good: Value,
}

/// Routes whose bodies are JSON objects, in an order in which each could be carried out.
fn routes(study: &Study, voucher: &str) -> Vec<Route> {
    let route =
        |method, path: String, credential: &str, good| Route { method, path, credential: credential.to_owned(), good };
    let integration = |method, path: String, good| route(method, format!("/integration{path}"), &study.key, good);
    let uuid = &study.grace.uuid;
    let dates = json!({"client_date_from": "2025-11-19T00:00:00", "client_date_to": "2025-11-19T01:00:00"});
    let login = json!({"code": study.grace.code, "password": PASSWORD});
    vec![
        integration("POST", "/v1/groups".to_owned(), json!({"name": "New", "description": ""})),
        integration("PATCH", study.of_group(""), json!({"name": "Renamed"})),
        integration("PUT", study.of_group("/settings"), json!({"activity_goal_steps": 77})),
        integration("POST", study.of_group("/hcps"), json!({"email": "hal@example.org"})),
        integration("PATCH", study.of_grace(""), json!({"external_patient_id": "7"})),
        integration("PUT", study.of_grace("/profile"), json!({"weight": 61})),
        integration("PUT", study.of_grace("/alarms"), json!({"alarms": [{"vital": "spo2", "below": 92}]})),
        integration("PUT", study.of_grace("/news-settings"), json!({"oxygen": true})),
        integration("POST", "/v1/bracelets".to_owned(), json!({"serial_number": "PB-2", "device_type": "wrist"})),
        integration("PATCH", "/v1/bracelets/PB-1".to_owned(), json!({"firmware_version": "9"})),
        integration("POST", format!("/v1/create-export/{uuid}/acc"), dates.clone()),
        integration("POST", format!("/v1/create-afib-export/{uuid}"), json!({"timestamp_from": 0, "timestamp_to": 1})),
        integration("POST", study.of_grace("/reset-password"), json!({"password": "chosen by staff"})),
        route("POST", "/users/activate".to_owned(), "", json!({"code": voucher, "password": PASSWORD})),
        route("POST", "/users/login".to_owned(), "", login),
        route("PATCH", "/users/me".to_owned(), &study.grace.users_token, json!({"first_name": "Grace"})),
        route(
            "POST",
            "/users/auth/password".to_owned(),
            &study.grace.users_token,
            json!({"password": PASSWORD, "new_password": "another long password"}),
        ),
        route("POST", "/health/login".to_owned(), "", json!({"user_api_token": study.grace.users_token})),
    ]
}

async fn send(study: &Study, route: &Route, headers: &[(&str, &str)], body: Vec<u8>) -> Answer {
    let method: Method = route.method.parse().expect("a method");
    let mut request = Request::builder().method(method).uri(&route.path);
    if !route.credential.is_empty() {
        request = request.header("authorization", format!("Bearer {}", route.credential));
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    study.story.send(request.body(Body::from(body)).expect("a request")).await
}

/// Returns what all those routes could change.
async fn state(study: &Study, voucher: &str) -> Value {
    let mut reported = Vec::new();
    for path in [
        "/v1/groups".to_owned(),
        study.of_group("/patients"),
        study.of_group("/settings"),
        study.of_group("/hcps"),
        study.of_grace("/alarms"),
        study.of_grace("/news-settings"),
        "/v1/bracelets".to_owned(),
        format!("/v1/check-voucher-code/{voucher}"),
    ] {
        reported.push(study.read(&path).await);
    }
    reported.push(json!(study.log_as(&study.key).await.len()));
    reported.push(study.story.get_as("/users/me", &study.grace.users_token).await.ok());
    Value::from(reported)
}

pub(super) async fn begin() -> (Study, String) {
    let study = Study::begin().await;
    study.story.key_of("hal@example.org", store::Role::Hcp).await;
    study.ask("POST", "/v1/bracelets", json!({"serial_number": "PB-1", "device_type": "wrist"})).await.ok();
    let voucher = study.voucher().await;
    (study, voucher)
}

const JSON: (&str, &str) = ("content-type", "application/json");

#[tokio::test]
async fn bodies_that_cannot_be_read_have_one_answer_on_every_route() {
    let (study, voucher) = begin().await;
    let before = state(&study, &voucher).await;
    for route in routes(&study, &voucher) {
        let at = format!("{} {}", route.method, route.path);
        let good = route.good.to_string().into_bytes();
        let cut = good[..good.len() - 1].to_vec();
        let large = format!("{}{}", " ".repeat(70_000), route.good).into_bytes();
        let deep = "{\"a\":".repeat(200).into_bytes();
        for (headers, body, error) in [
            (&[JSON][..], cut, (400, "not_json")),
            (&[JSON][..], Vec::new(), (400, "not_json")),
            (&[JSON][..], b"\xff\xfe".to_vec(), (400, "not_json")),
            (&[JSON][..], deep, (400, "not_json")),
            (&[JSON][..], b"[]".to_vec(), (422, "invalid")),
            (&[JSON][..], b"\"text\"".to_vec(), (422, "invalid")),
            (&[JSON][..], large, (413, "too_large")),
            (&[][..], good.clone(), (415, "unsupported_media_type")),
            (&[("content-type", "text/plain")][..], good.clone(), (415, "unsupported_media_type")),
            (&[JSON, ("content-encoding", "gzip")][..], good.clone(), (415, "unsupported_encoding")),
        ] {
            let refused = send(&study, &route, headers, body).await;
            assert_eq!(refused.error(), error, "{at}, {headers:?}");
            assert_eq!(refused.header("x-request-id").len(), 16, "{at}");
        }
    }
    assert_eq!(state(&study, &voucher).await, before);
}

#[tokio::test]
async fn fields_of_the_wrong_kind_are_named_on_every_route() {
    let (study, voucher) = begin().await;
    let before = state(&study, &voucher).await;
    for route in routes(&study, &voucher) {
        let at = format!("{} {}", route.method, route.path);
        let names: Vec<String> = route.good.as_object().expect("an object").keys().cloned().collect();
        for name in &names {
            // Nothing takes an object in the place of a text, a number, a flag or a list.
            let mut body = route.good.clone();
            body[name] = json!({"a": [1]});
            let refused = send(&study, &route, &[JSON], body.to_string().into_bytes()).await;
            // A name that cannot be read leaves a login without any, which is reported as well.
            let mut reported = wrong_fields(&refused);
            reported.retain(|reported| names.contains(reported));
            assert_eq!(reported, [name.as_str()], "{at}");
        }
        // With all of them wrong, each is reported.
        let all = names.iter().fold(json!({}), |mut body, name| {
            body[name] = json!({});
            body
        });
        let refused = send(&study, &route, &[JSON], all.to_string().into_bytes()).await;
        let mut reported = wrong_fields(&refused);
        // Either of two names is reported where one of them is needed.
        reported.retain(|name| names.contains(name));
        assert!(
            !reported.is_empty() && reported.len() >= names.len().saturating_sub(1),
            "{at}: {reported:?} of {names:?}"
        );
    }
    assert_eq!(state(&study, &voucher).await, before);
}

#[tokio::test]
async fn unreadable_field_and_value_that_is_not_valid_come_in_one_answer() {
    let (study, voucher) = begin().await;
    let before = state(&study, &voucher).await;
    let alarms = |alarms: Value| ("PUT", study.of_grace("/alarms"), json!({ "alarms": alarms }));
    let (users_token, key) = (&study.grace.users_token, &study.key);
    for ((method, path, body), wrong) in [
        (("POST", "/v1/groups".to_owned(), json!({"name": " ", "description": 7})), vec!["description", "name"]),
        (("POST", "/v1/groups".to_owned(), json!({"description": "d".repeat(10_001)})), vec!["description", "name"]),
        (("PATCH", study.of_group(""), json!({"name": null, "description": 7})), vec!["description", "name"]),
        (("PATCH", study.of_group(""), json!({"descriptions": "", "name": ""})), vec!["descriptions", "name"]),
        // What is missing is not asked for where something is there that could not be read.
        (("PATCH", study.of_group(""), json!({"description": 7})), vec!["description"]),
        (
            (
                "PUT",
                study.of_group("/settings"),
                json!({"activity_goal_steps": "x", "max_heart_rate_rule": "y",
                "retention": {"mood": 1}}),
            ),
            vec!["activity_goal_steps", "max_heart_rate_rule", "retention.mood"],
        ),
        (("PUT", study.of_group("/settings"), json!({"retention": 7})), vec!["retention"]),
        (("POST", study.of_group("/hcps"), json!({"email": "nobody", "role": "hcp"})), vec!["email", "role"]),
        (
            ("PATCH", study.of_grace(""), json!({"external_patient_id": 7, "customer_tag": "x"})),
            vec!["customer_tag", "external_patient_id"],
        ),
        (("PUT", study.of_grace("/profile"), json!({"weight": "x", "height": 1})), vec!["height", "weight"]),
        (
            alarms(json!([{"vital": "spo2", "below": "x"}, {"vital": "mood", "below": 1}])),
            vec!["alarms.0.below", "alarms.1.vital"],
        ),
        (alarms(json!([{"vital": "spo2", "above": "x", "for_s": -1}])), vec!["alarms.0.above", "alarms.0.for_s"]),
        (alarms(json!([7, {"vital": "mood", "below": 1}])), vec!["alarms.0", "alarms.1.vital"]),
        (alarms(json!([{"below": 1}, {"vital": "spo2"}])), vec!["alarms.0.vital", "alarms.1.below"]),
        (
            ("PUT", study.of_grace("/news-settings"), json!({"spo2_scale": 3, "oxygen": "x"})),
            vec!["oxygen", "spo2_scale"],
        ),
        (("PUT", study.of_grace("/news-settings"), json!({"oxygen": "x"})), vec!["oxygen"]),
        (
            ("POST", "/v1/bracelets".to_owned(), json!({"serial_number": " ", "firmware_version": 7})),
            vec!["device_type", "firmware_version", "serial_number"],
        ),
        (
            ("PATCH", "/v1/bracelets/PB-1".to_owned(), json!({"device_type": null, "firmware_version": 7})),
            vec!["device_type", "firmware_version"],
        ),
        (
            ("POST", format!("/v1/create-export/{}", study.grace.uuid), json!({"types": ["mood"], "format": 7})),
            vec!["client_date_from", "client_date_to", "format", "types"],
        ),
    ] {
        let refused = study.story.ask(method, &format!("/integration{path}"), key, body.clone()).await;
        assert_eq!(wrong_fields(&refused), wrong, "{method} {path} {body}");
        let faults = refused.body["errors"].as_object().expect("faults");
        assert!(faults.values().all(|faults| faults.as_array().is_some_and(|faults| faults.len() == 1)), "{refused:?}");
    }
    for (method, path, token, body, wrong) in [
        (
            "POST",
            "/users/activate",
            "",
            json!({"code": voucher, "password": "x", "height": "y"}),
            ["height", "password"],
        ),
        (
            "POST",
            "/users/login",
            "",
            json!({"code": "x", "password": 7, "new_password": "x"}),
            ["new_password", "password"],
        ),
        ("PATCH", "/users/me", users_token, json!({"first_name": 7, "weight": 0}), ["first_name", "weight"]),
        (
            "POST",
            "/users/auth/password",
            users_token,
            json!({"password": 7, "new_password": "short"}),
            ["new_password", "password"],
        ),
    ] {
        let refused = study.story.ask(method, path, token, body.clone()).await;
        assert_eq!(wrong_fields(&refused), wrong, "{method} {path} {body}");
    }
    assert_eq!(state(&study, &voucher).await, before);
}

/// Returns whether the document lets the body of a route have fields that it does not name.
fn takes_other_fields(document: &Value, route: &Route) -> bool {
    let path = route.path.split('?').next().unwrap_or_default();
    let literals = |template: &str| {
        let (asked, known) = (path.split('/'), template.split('/'));
        let fits = asked.clone().count() == known.clone().count();
        let is_same = |(asked, known): (&str, &str)| known.starts_with('{') || asked == known;
        (fits && asked.zip(known.clone()).all(is_same)).then(|| known.filter(|part| !part.starts_with('{')).count())
    };
    let method = route.method.to_lowercase();
    let paths = document["paths"].as_object().expect("paths").iter();
    let found = paths.filter(|(_, operations)| operations[&method].is_object());
    // A template of words is meant rather than one that takes them for the value of a parameter.
    let (_, operations) = found
        .filter_map(|(template, operations)| Some((literals(template)?, operations)))
        .max_by_key(|(literals, _)| *literals)
        .expect("an operation");
    let schema = &operations[&method]["requestBody"]["content"]["application/json"]["schema"]["$ref"];
    let name = schema.as_str().expect("a schema").rsplit('/').next().expect("a name");
    document["components"]["schemas"][name]["additionalProperties"] != false
}

#[tokio::test]
async fn fields_that_there_are_not_are_refused_on_our_routes_and_ignored_on_those_of_the_specification() {
    let (study, voucher) = begin().await;
    let before = state(&study, &voucher).await;
    // The routes of `interface.md`, 4, that take a body.
    let parts = ["/create-export/", "/create-afib-export/", "/reset-password", "/users/login", "/health/login"];
    let document = api::document();
    let is_specified = |route: &Route| {
        let is_named = parts.iter().any(|part| route.path.contains(part));
        is_named || (route.method, route.path.as_str()) == ("POST", "/integration/v1/groups")
    };
    for route in routes(&study, &voucher).into_iter().filter(|route| !is_specified(route)) {
        let at = format!("{} {}", route.method, route.path);
        let name = route.good.as_object().and_then(|good| good.keys().next().cloned()).expect("a field");
        let mut body = route.good.clone();
        body[format!("{name}s")] = json!({"deep": [1, {"er": null}]});
        body["__proto__"] = json!("polluted");
        let refused = send(&study, &route, &[JSON], body.to_string().into_bytes()).await;
        assert_eq!(wrong_fields(&refused), ["__proto__".to_owned(), format!("{name}s")], "{at}");
        let fault = json!([format!("is no field here; did you mean {name}?")]);
        assert_eq!(refused.body["errors"][format!("{name}s")], fault, "{at}");
        let all = text(&refused.body["errors"]["__proto__"][0]);
        assert!(all.starts_with("is no field here: must be ") && all.contains(&name), "{at}: {all}");
        assert_eq!(refused.headers.get("x-ignored-fields"), None, "{at}");
        assert!(!takes_other_fields(&document, &route), "{at} in the document");
    }
    let inside = json!({"alarms": [{"vital": "spo2", "below": 92, "belw": 1}]});
    let refused = study.ask("PUT", &study.of_grace("/alarms"), inside).await;
    let fault = json!({"alarms.0.belw": ["is no field here; did you mean below?"]});
    assert_eq!(refused.body["errors"], fault);
    assert_eq!(state(&study, &voucher).await, before);
    // A new password ends the tokens that the others need.
    let mut specified: Vec<Route> = routes(&study, &voucher).into_iter().filter(is_specified).collect();
    specified.sort_by_key(|route| route.path.ends_with("/reset-password"));
    assert_eq!(specified.len(), 6);
    for route in specified {
        let at = format!("{} {}", route.method, route.path);
        let mut body = route.good.clone();
        body["no_such_field"] = json!({"deep": [1, {"er": null}]});
        body["__proto__"] = json!("polluted");
        body["größe"] = json!("ignored");
        let answer = send(&study, &route, &[JSON], body.to_string().into_bytes()).await;
        assert_eq!(answer.header("x-ignored-fields"), "__proto__, gr%C3%B6%C3%9Fe, no_such_field", "{at}");
        assert!(takes_other_fields(&document, &route), "{at} in the document");
        if route.path.ends_with("/reset-password") {
            answer.done();
            continue;
        }
        assert_eq!(answer.status, 200, "{at}: {answer:?}");
    }
    let groups = study.read("/v1/groups").await;
    assert!(!groups.to_string().contains("polluted"));
    assert_eq!(groups.as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn good_bodies_under_other_credentials_are_not_judged() {
    let (study, voucher) = begin().await;
    let before = state(&study, &voucher).await;
    for route in routes(&study, &voucher) {
        if route.credential.is_empty() {
            continue;
        }
        let at = format!("{} {}", route.method, route.path);
        for credential in ["rubbish", study.grace.health_token.as_str()] {
            let other =
                Route { credential: credential.to_owned(), path: route.path.clone(), good: Value::Null, ..route };
            // Not even what is wrong with a body is reported.
            for body in [route.good.to_string(), "{".to_owned(), "[]".to_owned()] {
                let refused = send(&study, &other, &[JSON], body.into_bytes()).await;
                assert_eq!(refused.error(), (401, "unauthenticated"), "{at}");
            }
        }
    }
    assert_eq!(state(&study, &voucher).await, before);
    assert_eq!(text(&before[0][0]["code"]), study.group);
}

/// Returns the fields of a body as the OpenAPI document has them, each with its example.
pub(super) fn documented(schema: &str) -> Vec<(String, Value)> {
    let document: Value = serde_json::from_str(include_str!("../../../../docs/openapi.json")).expect("JSON");
    let schema = &document["components"]["schemas"][schema];
    assert_eq!(schema["minProperties"], 1, "the document says that one field has to be there");
    let mut left = vec![schema];
    let mut fields = Vec::new();
    while let Some(schema) = left.pop() {
        left.extend(schema["allOf"].as_array().into_iter().flatten());
        left.extend(schema["$ref"].as_str().and_then(|path| document.pointer(&path[1..])));
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let example = field.get("example").unwrap_or(&field["examples"][0]);
            fields.push((name.clone(), example.clone()));
        }
    }
    fields
}

#[tokio::test]
async fn change_names_one_field_at_least_and_any_of_those_in_the_document() {
    let (study, _) = begin().await;
    let integration = |path: &str| format!("/integration{path}");
    for (method, path, token, schema, count) in [
        ("PATCH", integration("/v1/bracelets/PB-1"), &study.key, "BraceletChange", 2),
        ("PATCH", integration(&study.of_group("")), &study.key, "StudyChange", 2),
        ("PUT", integration(&study.of_group("/settings")), &study.key, "StudySettingsChange", 3),
        ("PATCH", integration(&study.of_grace("")), &study.key, "PatientFilingChange", 3),
        ("PUT", integration(&study.of_grace("/profile")), &study.key, "ProfileChange", 10),
        ("PUT", integration(&study.of_grace("/news-settings")), &study.key, "NewsSettingsChange", 3),
        ("PATCH", "/users/me".to_owned(), &study.grace.users_token, "OwnProfileChange", 13),
    ] {
        let fields = documented(schema);
        assert_eq!(fields.len(), count, "{schema}");
        let send = async |body: Value| study.story.ask(method, &path, token, body).await;
        assert_eq!(wrong_fields(&send(json!({})).await).len(), 1, "{method} {path}");
        let password = fields.iter().any(|(name, _)| name == "password").then_some(PASSWORD);
        for (name, example) in fields.into_iter().filter(|(_, example)| !example.is_null()) {
            match (name.as_str(), password) {
                // It changes nothing by itself.
                ("password", _) => {}
                ("email", Some(password)) => drop(send(json!({ name: example, "password": password })).await.ok()),
                _ => drop(send(json!({ name: example })).await.ok()),
            }
        }
    }
}

#[tokio::test]
async fn byte_order_mark_is_skipped_and_an_integer_may_have_a_fraction_of_zeros() {
    let (study, voucher) = begin().await;
    let mark = |json: &str| [b"\xef\xbb\xbf", json.as_bytes()].concat();
    for route in routes(&study, &voucher) {
        let at = format!("{} {}", route.method, route.path);
        let name = route.good.as_object().and_then(|good| good.keys().next().cloned()).expect("a field");
        let mut body = route.good.clone();
        body[&name] = json!({});
        let refused = send(&study, &route, &[JSON], mark(&body.to_string())).await;
        assert!(wrong_fields(&refused).iter().any(|wrong| *wrong == name || wrong == "email"), "{at}: {refused:?}");
    }
    let put = async |path: String, body: &str| {
        let path = format!("/integration{path}");
        let route = Route { method: "PUT", path, credential: study.key.clone(), good: Value::Null };
        send(&study, &route, &[JSON], mark(body)).await.ok()
    };
    let settings = put(study.of_group("/settings"), r#"{"activity_goal_steps": 2.0}"#).await;
    assert_eq!(settings["activity_goal_steps"], 2);
    assert_eq!(put(study.of_grace("/news-settings"), r#"{"spo2_scale": 2.0}"#).await["spo2_scale"], 2);
}
