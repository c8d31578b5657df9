//! What a client may do by the letter of the specification and few do: every such use has its documented answer.

mod common;

use axum::body::Body;
use axum::http::{Method, Request};
use common::{Answer, Enrolled, START_MS, Story, text};
use serde_json::{Value, json};
use store::Role;

struct Study {
    story: Story,
    key: String,
    group: String,
    grace: Enrolled,
}

impl Study {
    async fn begin() -> Self {
        let story = Story::begin().await;
        let key = story.key_of("ada@example.org", Role::Researcher).await;
        let group = story.group(&key).await;
        let grace = story.patient(&key, &group, json!({"time_zone": "Europe/Zurich"})).await;
        Study { story, key, group, grace }
    }

    /// Returns any request with the API key, with a body as it is and with headers.
    async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let method: Method = method.parse().expect("a method");
        let mut request = Request::builder().method(method).uri(format!("/integration{path}"));
        request = request.header("x-api-key", &self.key);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.story.send(request.body(Body::from(body.to_owned())).expect("a request")).await
    }

    async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "").await
    }
}

const JSON: (&str, &str) = ("content-type", "application/json");

#[tokio::test]
async fn what_takes_no_body_takes_any() {
    let study = Study::begin().await;
    let enrol = format!("/v1/groups/{}/patients", study.group);
    for (headers, body) in [
        (&[][..], ""),
        (&[JSON][..], ""),
        (&[JSON][..], "{}"),
        (&[JSON][..], "null"),
        (&[("content-type", "application/x-www-form-urlencoded")][..], ""),
        (&[("content-length", "0")][..], ""),
    ] {
        let created = study.ask("POST", &enrol, headers, body).await.ok();
        assert_eq!(created["state"], "pre_created", "{headers:?} {body:?}");
    }
    // The Health Cloud asks for the header on every request, also on those without a body.
    let path = "/health/user-summaries?date_from=2025-11-20&date_to=2025-11-20";
    let bearer = format!("Bearer {}", study.grace.health_token);
    for scheme in [bearer.clone(), bearer.replace("Bearer", "bearer"), bearer.replace("Bearer ", "BEARER  ")] {
        let request = Request::get(path).header("authorization", scheme).header(JSON.0, JSON.1).body(Body::empty());
        study.story.send(request.expect("a request")).await.ok();
    }
}

#[tokio::test]
async fn json_has_to_be_called_json() {
    let study = Study::begin().await;
    let body = json!({"name": "Sleep", "description": "of nurses"}).to_string();
    for kind in ["application/json", "Application/JSON", "application/json;charset=utf-8", "application/vnd.x+json"] {
        study.ask("POST", "/v1/groups", &[("content-type", kind)], &body).await.ok();
    }
    for headers in [
        &[][..],
        &[("content-type", "text/json")][..],
        &[("content-type", "application/x-www-form-urlencoded")][..],
        &[("content-type", "multipart/form-data; boundary=x")][..],
        &[("content-type", "")][..],
    ] {
        let answer = study.ask("POST", "/v1/groups", headers, &body).await;
        assert_eq!(answer.error(), (415, "unsupported_media_type"), "{headers:?}");
    }
}

#[tokio::test]
async fn answers_are_json_whatever_is_accepted() {
    let study = Study::begin().await;
    let list = format!("/v1/groups/{}/patients", study.group);
    for accept in ["application/json", "*/*", "application/*;q=0.1", "text/html", "image/png", "rubbish", ""] {
        let answer = study.ask("GET", &list, &[("accept", accept)], "").await;
        assert_eq!(answer.header("content-type"), "application/json", "{accept}");
        answer.ok();
    }
    let raw = "/health/v2/raw-metrics/activity?from_date=2025-11-20T00:00:00Z&to_date=2025-11-20T01:00:00Z";
    for (accept, status, kind) in [
        ("application/json", 200, "application/json"),
        ("text/html, application/xhtml+xml, */*;q=0.8", 200, "application/json"),
        ("text/csv;q=0.9, application/json;q=0.5", 200, "text/csv"),
        ("TEXT/CSV", 200, "text/csv"),
        ("application/json;q=0, text/csv", 200, "text/csv"),
        ("image/png", 406, "application/json"),
    ] {
        let request = Request::get(raw).header("accept", accept);
        let request = request.header("authorization", format!("Bearer {}", study.grace.health_token));
        let answer = study.story.send(request.body(Body::empty()).expect("a request")).await;
        assert_eq!(answer.status.as_u16(), status, "{accept}: {answer:?}");
        assert!(answer.header("content-type").starts_with(kind), "{accept}: {answer:?}");
    }
}

#[tokio::test]
async fn head_is_get_without_a_body_and_other_methods_name_those_that_there_are() {
    let study = Study::begin().await;
    let uuid = &study.grace.uuid;
    for path in [
        "/v1/groups".to_owned(),
        format!("/v1/groups/{}/patients", study.group),
        format!("/v1/patients/{uuid}/summary/2025-11-20"),
        format!("/v1/patients/{uuid}/raw-data-compliance/2025-11-20"),
    ] {
        let head = study.ask("HEAD", &path, &[], "").await;
        assert_eq!((head.status.as_u16(), &head.body), (200, &Value::Null), "{path}");
        assert_eq!(head.header("content-type"), "application/json", "{path}");
    }
    for (method, path, allowed) in [
        ("OPTIONS", "/integration/v1/groups".to_owned(), "GET,HEAD,POST"),
        ("PUT", "/integration/v1/groups".to_owned(), "GET,HEAD,POST"),
        ("POST", format!("/integration/v1/patients/{uuid}/summary/2025-11-20"), "GET,HEAD"),
        ("GET", format!("/integration/v1/create-export/{uuid}/activity"), "POST"),
        ("HEAD", format!("/integration/v1/create-afib-export/{uuid}"), "POST"),
        ("GET", "/users/login".to_owned(), "POST"),
        ("PUT", "/users/auth/refresh".to_owned(), "GET,HEAD,POST"),
        ("GET", "/health/login".to_owned(), "POST"),
        ("DELETE", "/health/user-summaries".to_owned(), "GET,HEAD"),
        ("PATCH", "/health/v2/raw-metrics/acc".to_owned(), "GET,HEAD"),
    ] {
        let request = Request::builder().method(method).uri(&path).header("x-api-key", &study.key).body(Body::empty());
        let answer = study.story.send(request.expect("a request")).await;
        assert_eq!(answer.status.as_u16(), 405, "{method} {path}");
        let mut methods: Vec<&str> = answer.header("allow").split(',').map(str::trim).collect();
        methods.sort_unstable();
        assert_eq!(methods.join(","), allowed, "{method} {path}");
    }
}

#[tokio::test]
async fn trace_is_refused_at_every_address_with_the_methods_that_there_are() {
    let story = Story::begin().await;
    for (path, allowed) in
        [("/integration/v1/groups", "GET,HEAD,POST"), ("/livez", "GET,HEAD"), ("/", ""), ("/users/nowhere", "")]
    {
        let request = Request::builder().method(Method::TRACE).uri(path).header("x-api-key", "pwk_secret");
        let answer = story.send(request.body(Body::empty()).expect("a request")).await;
        assert_eq!(answer.error(), (405, "method_not_allowed"), "{path}");
        let mut methods: Vec<&str> = answer.headers["allow"].to_str().expect("text").split(',').collect();
        methods.sort_unstable();
        assert_eq!(methods.join(","), allowed, "{path}");
        assert!(!answer.body.to_string().contains("pwk_secret"), "nothing of the request comes back: {answer:?}");
    }
}

#[tokio::test]
async fn codes_may_be_percent_encoded_and_uuids_in_capitals() {
    let study = Study::begin().await;
    let encoded = study.group.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat();
    let plain = study.get(&format!("/v1/groups/{}/patients", study.group)).await.ok();
    assert_eq!(study.get(&format!("/v1/groups/{encoded}/patients")).await.ok(), plain);
    assert_eq!(study.get(&format!("/v1/groups/{}/patients/", study.group)).await.error(), (404, "not_found"));
    let voucher = text(&study.ask("POST", &format!("/v1/groups/{}/patients", study.group), &[], "").await.ok()["code"]);
    let encoded = voucher.bytes().map(|byte| format!("%{byte:02x}")).collect::<Vec<_>>().concat();
    assert_eq!(study.get(&format!("/v1/check-voucher-code/{encoded}")).await.ok()["exists"], true);

    let (small, capitals) = (&study.grace.uuid, study.grace.uuid.to_uppercase());
    study.story.sync(&study.grace, json!({"activity": {"timestamp": [START_MS - 60_000], "bpm": [60]}})).await;
    for path in [
        "summary/2025-11-20",
        "compliance/2025-11-20",
        "raw-data-compliance/2025%2D11%2D20",
        "latest-news-score",
        "alarms",
        "news-settings",
    ] {
        let of = async |uuid: &str| study.get(&format!("/v1/patients/{uuid}/{path}")).await.ok();
        assert_eq!(of(&capitals).await, of(small).await, "{path}");
    }
    let range = json!({"timestamp_from": 0, "timestamp_to": 1}).to_string();
    assert_eq!(study.ask("POST", &format!("/v1/create-afib-export/{capitals}"), &[JSON], &range).await.ok(), json!([]));
    let tag = json!({"external_patient_id": "7"}).to_string();
    let row = study.ask("PATCH", &format!("/v1/patients/{capitals}"), &[JSON], &tag).await.ok();
    assert_eq!(row["uuid"], small.as_str());
}

#[tokio::test]
async fn an_export_is_asked_for_in_the_path_and_in_the_body() {
    let study = Study::begin().await;
    let dates = json!({"client_date_from": "2025-11-19T00:00:00.000", "client_date_to": "2025-11-19T23:59:59.999"});
    let types = [
        "activity",
        "rr-interval",
        "sleep",
        "temperature",
        "heart-rate-variability",
        "ppg1",
        "ppg2",
        "bioz",
        "acc",
        "ecg",
        "tests",
    ];
    let create = async |data_type: &str, types: Option<Value>| {
        study.story.pass_ms(300_000);
        let mut body = dates.clone();
        if let Some(types) = types {
            body["types"] = types;
        }
        let path = format!("/v1/create-export/{}/{data_type}", study.grace.uuid);
        study.ask("POST", &path, &[JSON], &body.to_string()).await
    };
    for data_type in types {
        for named in [None, Some(json!([])), Some(json!([data_type])), Some(json!(types)), Some(json!(["acc", "acc"]))]
        {
            let created = create(data_type, named.clone()).await.ok();
            assert_eq!(created["status"], "in_progress", "{data_type} {named:?}");
        }
    }
    assert_eq!(create("heart_rate", None).await.error(), (404, "data_type_not_found"));
    for wrong in [json!(["heart_rate"]), json!("acc"), json!([7]), json!({"0": "acc"})] {
        assert_eq!(create("acc", Some(wrong.clone())).await.error(), (422, "invalid"), "{wrong}");
    }
}

#[tokio::test]
async fn times_of_the_audit_log_are_numbers() {
    let study = Study::begin().await;
    let log = async |from: &str, to: &str| {
        let path = format!("/v1/patients/audit/logs?from={from}&to={to}&action_type=GROUP_CREATE");
        study.get(&path).await.ok().as_array().map(Vec::len)
    };
    let at = START_MS.to_string();
    assert_eq!(log(&at, &at).await, Some(1));
    assert_eq!(log(&format!("{at}.0"), &format!("{at}.9")).await, Some(1));
    assert_eq!(log(&format!("{at}.1"), &format!("{at}.9")).await, Some(1), "fractions are cut off");
    assert_eq!(log("0", "1.7636e12").await, Some(1));
    assert_eq!(log("0", &format!("{}.9", START_MS - 1)).await, Some(0));
    assert_eq!(log("-1e300", "1e300").await, Some(1));
}
