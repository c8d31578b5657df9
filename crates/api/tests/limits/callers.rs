//! The rate limit on every cloud: what it counts, what it leaves out, and what it says.

use api::ClientAddress;
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use store::Role;

use crate::common::{PASSWORD, Story, text};
use crate::{get_from, limited, rate};

#[tokio::test]
async fn each_token_of_a_person_has_its_own_minute_on_its_cloud() {
    let story = Story::begin_with(limited(30)).await;
    let key = story.key_of("rita@study.example", Role::Researcher).await;
    let group = story.group(&key).await;
    let patient = story.patient(&key, &group, Value::Null).await;
    let summaries = "/health/user-summaries?date_from=2025-11-20&date_to=2025-11-20";
    for remaining in ["29", "28", "27"] {
        assert_eq!(rate(&story.get_as("/users/me", &patient.users_token).await), (200, "30", remaining));
        assert_eq!(rate(&story.get_as(summaries, &patient.health_token).await), (200, "30", remaining));
    }
    let login = json!({"code": patient.code, "password": PASSWORD});
    let second = text(&story.post("/users/login", login).await.ok()["token"]);
    assert_eq!(rate(&story.get_as("/users/me", &second).await), (200, "30", "29"), "another token, another minute");
    assert_eq!(rate(&story.get_as("/users/me", &patient.users_token).await), (200, "30", "26"));
}

#[tokio::test]
async fn every_answer_says_what_is_left_also_one_that_refuses() {
    let story = Story::begin_with(limited(100)).await;
    let key = story.key_of("rita@study.example", Role::Researcher).await;
    let group = story.group(&key).await;
    let mut left = None;
    for (method, path, body, status) in [
        ("GET", "/integration/v1/groups".to_owned(), Value::Null, 200),
        ("POST", "/integration/v1/groups".to_owned(), json!({}), 422),
        ("GET", "/integration/v1/groups/ZZZZZ/patients".to_owned(), Value::Null, 404),
        ("DELETE", format!("/integration/v1/groups/{group}"), Value::Null, 204),
        ("GET", format!("/integration/v1/groups/{group}/patients"), Value::Null, 404),
        ("GET", "/integration/v1/patients/audit/logs".to_owned(), Value::Null, 422),
        ("GET", "/integration/v1/patients/audit/logs?from=x&to=1".to_owned(), Value::Null, 400),
    ] {
        let answer = story.ask(method, &path, &key, body).await;
        assert_eq!(answer.status.as_u16(), status, "{method} {path}");
        assert_eq!(answer.header("x-ratelimit-limit"), "100", "{method} {path}");
        let remaining: i64 = answer.header("x-ratelimit-remaining").parse().expect("a number");
        assert!(left.is_none_or(|left| remaining == left - 1), "{method} {path}: {left:?}, then {remaining}");
        left = Some(remaining);
    }
    for path in ["/nowhere", "/users/me", "/health/v1/sync", "/integration/v1/patients/x/audit/logs", "/docs"] {
        let answer = story.get(path).await;
        assert!(!answer.header("x-ratelimit-remaining").is_empty(), "{path}: {answer:?}");
        assert_eq!(answer.header("x-request-id").len(), 16, "{path}");
    }
}

#[tokio::test]
async fn credential_that_ends_is_counted_by_its_address_again() {
    let story = Story::begin_with(limited(3)).await;
    let key = story.key_of("rita@study.example", Role::Researcher).await;
    let path = format!("/integration/v1/groups?token={key}");
    assert_eq!(rate(&get_from(&story, &path, "192.0.2.1").await), (200, "3", "2"));
    let account = story.platform.identity.account_by_email("rita@study.example").await.expect("an account");
    story.platform.identity.disable_account(&account).await.expect("disabled");
    let mut statuses = Vec::new();
    for _ in 0..5 {
        statuses.push(get_from(&story, &path, "192.0.2.1").await.status.as_u16());
    }
    assert!(statuses.starts_with(&[401, 401]) && statuses.ends_with(&[429, 429]), "{statuses:?}");
    // Guesses under new names all count for the address that they come from.
    for guess in 0..3 {
        let path = format!("/integration/v1/groups?token=pwk_guess{guess}");
        assert_eq!(get_from(&story, &path, "192.0.2.9").await.status, 401, "{guess}");
    }
    assert_eq!(get_from(&story, "/integration/v1/groups?token=pwk_guess3", "192.0.2.9").await.status, 429);
}

#[tokio::test]
async fn refused_request_is_not_carried_out() {
    let story = Story::begin_with(limited(8)).await;
    let key = story.key_of("rita@study.example", Role::Researcher).await;
    let create = async || {
        let body = json!({"name": "Study", "description": ""});
        story.post_as("/integration/v1/groups", &key, body).await.status.as_u16()
    };
    let mut statuses = Vec::new();
    for _ in 0..10 {
        statuses.push(create().await);
    }
    assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 200, 200, 429, 429]);
    story.pass_ms(60_000);
    let groups = story.get_as("/integration/v1/groups", &key).await.ok();
    assert_eq!(groups.as_array().map(Vec::len), Some(8));
}

#[tokio::test]
async fn key_is_one_caller_in_all_three_places() {
    let story = Story::begin_with(limited(10)).await;
    let key = story.key_of("rita@study.example", Role::Researcher).await;
    let path = "/integration/v1/groups";
    let with = |name: &'static str, value: &str| {
        Request::get(path).header(name, value).body(Body::empty()).expect("a request")
    };
    let mut left = Vec::new();
    for _ in 0..2 {
        let answers = [
            story.get(&format!("{path}?token={key}")).await,
            story.send(with("x-api-key", &key)).await,
            story.send(with("authorization", &format!("Bearer {key}"))).await,
        ];
        left.extend(answers.iter().map(|answer| rate(answer).2.parse::<i64>().expect("a number")));
    }
    assert_eq!(left, [9, 8, 7, 6, 5, 4]);
}

/// Sends a GET with headers, from an address.
async fn get_with(story: &Story, path: &str, headers: &[(&'static str, &str)], address: &str) -> u16 {
    let mut request = Request::get(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut request = request.body(Body::empty()).expect("a request");
    request.extensions_mut().insert(ClientAddress(Some(address.parse().expect("an address"))));
    story.send(request).await.status.as_u16()
}

#[tokio::test]
async fn rubbish_next_to_a_valid_credential_gives_no_further_minute() {
    let story = Story::begin_with(limited(20)).await;
    let key = story.key_of("rita@study.example", Role::Researcher).await;
    let group = story.group(&key).await;
    let patient = story.patient(&key, &group, Value::Null).await;
    story.pass_ms(60_000);
    let (users, health) = (format!("Bearer {}", patient.users_token), format!("Bearer {}", patient.health_token));
    let summaries = "/health/user-summaries?date_from=2025-11-20&date_to=2025-11-20";
    let devices = "/integration/v1/user-devices?x=1";
    let cases: [(&str, (&'static str, &str), &str); 3] = [
        ("/users/me?x=1", ("authorization", &users), "192.0.2.1"),
        (summaries, ("authorization", &health), "192.0.2.2"),
        (devices, ("x-health-token", &patient.health_token), "192.0.2.3"),
    ];
    for (path, credential, address) in cases {
        story.pass_ms(60_000);
        let mut answered = 0;
        for guess in 0..60 {
            let junk = format!("junk{guess}");
            let headers = [credential, ("x-api-key", &junk), ("cookie", "pulseward_session=junk")];
            let status = get_with(&story, &format!("{path}&token={junk}"), &headers, address).await;
            assert!(status == 200 || status == 429, "{path}: {status}");
            answered += u32::from(status == 200);
        }
        assert_eq!(answered, 20, "{path}");
        assert_eq!(get_with(&story, path, &[credential], address).await, 429, "{path}: it is the same minute");
        assert_eq!(get_with(&story, "/openapi.json", &[], address).await, 200, "{path}: nothing is the address's");
    }
}

#[tokio::test]
async fn two_valid_credentials_count_for_the_one_that_the_route_checks() {
    let story = Story::begin_with(limited(20)).await;
    let key = story.key_of("rita@study.example", Role::Researcher).await;
    let group = story.group(&key).await;
    let patient = story.patient(&key, &group, Value::Null).await;
    story.pass_ms(60_000);
    let bearer = format!("Bearer {}", patient.users_token);
    let mut answered = 0;
    for _ in 0..30 {
        let path = format!("/users/me?token={key}");
        answered += u32::from(get_with(&story, &path, &[("authorization", &bearer)], "192.0.2.1").await == 200);
    }
    assert_eq!(answered, 20);
    let path = format!("/integration/v1/groups?token={key}");
    assert_eq!(get_with(&story, &path, &[], "192.0.2.1").await, 200, "the key has paid for tries alone");
}

#[tokio::test]
async fn credential_that_was_valid_once_pays_for_no_guesses() {
    let story = Story::begin_with(limited(20)).await;
    let key = story.key_of("rita@study.example", Role::Researcher).await;
    let group = story.group(&key).await;
    let mut tokens = Vec::new();
    for _ in 0..3 {
        tokens.push(story.patient(&key, &group, Value::Null).await.users_token);
    }
    for path in ["/users/login", "/users/activate"] {
        story.pass_ms(60_000);
        // Each proves itself: it has a minute of its own.
        for token in &tokens {
            let bearer = format!("Bearer {token}");
            assert_eq!(get_with(&story, "/users/me", &[("authorization", &bearer)], "192.0.2.1").await, 200);
        }
        let mut tried = 0;
        for guess in 0..60 {
            let body = json!({"code": format!("GUESS{guess:03}"), "password": "correct horse battery"});
            let mut request = Request::post(path)
                .header("content-type", "application/json")
                .header("x-api-key", &tokens[guess % 3])
                .body(Body::from(body.to_string()))
                .expect("a request");
            request.extensions_mut().insert(ClientAddress(Some("192.0.2.1".parse().expect("an address"))));
            tried += u32::from(story.send(request).await.status != 429);
        }
        assert_eq!(tried, 20, "{path}: as many as the address has");
        // Where they are checked they are worth what they were, once the address has a request to show that with.
        story.pass_ms(60_000);
        let bearer = format!("Bearer {}", tokens[0]);
        assert_eq!(get_with(&story, "/users/me", &[("authorization", &bearer)], "192.0.2.1").await, 200);
    }
}

/// Sends a request with a credential, and a body where there is one, from the address that others attack.
async fn from_attacked(story: &Story, method: &str, path: &str, bearer: &str, body: Value) -> (u16, Value) {
    let mut request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    if !bearer.is_empty() {
        request = request.header("authorization", format!("Bearer {bearer}"));
    }
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    let mut request = request.body(body).expect("a request");
    request.extensions_mut().insert(ClientAddress(Some("192.0.2.1".parse().expect("an address"))));
    let answer = story.send(request).await;
    (answer.status.as_u16(), answer.body)
}

#[tokio::test]
async fn rubbish_of_an_address_keeps_out_no_credential_that_is_new_to_the_node() {
    let story = Story::begin_with(limited(180)).await;
    let rita = story.key_of("rita@study.example", Role::Researcher).await;
    let group = story.group(&rita).await;
    let patient = story.patient(&rita, &group, Value::Null).await;
    // None of these has been shown before.
    let key = story.key_of("omar@study.example", Role::Researcher).await;
    let login = json!({"code": patient.code, "password": PASSWORD});
    let users_token = text(&story.post("/users/login", login.clone()).await.ok()["token"]);
    let refreshed_later = text(&story.post("/users/login", login.clone()).await.ok()["token"]);
    let health = story.post("/health/login", json!({"user_api_token": users_token})).await.ok();
    let summaries = "/health/user-summaries?date_from=2025-11-20&date_to=2025-11-20";
    let groups = "/integration/v1/groups";
    for guess in 0..180 {
        let (status, _) = from_attacked(&story, "GET", groups, &format!("pwk_guess{guess}"), Value::Null).await;
        assert_eq!(status, 401, "{guess}");
    }
    for (method, path, bearer, status) in [
        ("GET", groups, &key, 200),
        ("GET", summaries, &text(&health["token"]), 200),
        ("GET", "/users/auth/refresh", &refreshed_later, 200),
        ("GET", groups, &"pwk_guess".to_owned(), 429),
        ("GET", "/openapi.json", &"pwk_guess".to_owned(), 429),
        ("GET", "/users/auth/refresh", &"no.token.atall".to_owned(), 429),
        ("GET", "/openapi.json", &String::new(), 429),
        ("GET", groups, &key, 200),
    ] {
        let (answered, body) = from_attacked(&story, method, path, bearer, Value::Null).await;
        assert_eq!(answered, status, "{path} with {bearer:.12}: {body}");
    }
    // What is shown in addition tries no password.
    for bearer in ["pwk_guess", ""] {
        let (status, body) = from_attacked(&story, "POST", "/users/login", bearer, login.clone()).await;
        assert_eq!(status, 429, "{bearer}: {body}");
    }
}
