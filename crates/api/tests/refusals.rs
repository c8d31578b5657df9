//! What is not answered, and how: every error has a status, a code, a sentence and a request id.

#[path = "refusals/bodies.rs"]
mod bodies;
mod common;
#[path = "refusals/faults.rs"]
mod faults;
#[path = "refusals/readiness.rs"]
mod readiness;
#[path = "refusals/taken_away.rs"]
mod taken_away;
#[path = "refusals/unknown.rs"]
mod unknown;

use axum::body::Body;
use axum::http::Request;
use common::{PASSWORD, Story, text};
use platform::NewApiKey;
use serde_json::{Value, json};
use store::{Failures, GroupCode, JobFailure, JobKind, JobSubject, NEVER_MS, NewJob, NodeId, PatientId, Role};

#[tokio::test]
async fn nobody_gets_in_without_a_credential() {
    let story = Story::begin().await;
    let uuid = "00000000-0000-4000-8000-000000000000";
    let paths = [
        "/integration/v1/groups".to_owned(),
        "/integration/v1/groups/AAAAA/patients".to_owned(),
        "/integration/v1/check-voucher-code/AAAAAAAA".to_owned(),
        format!("/integration/v1/patients/{uuid}/health-token"),
        "/integration/v1/user-devices".to_owned(),
        "/integration/v1/patients/audit/logs?from=0&to=1".to_owned(),
        "/users/me".to_owned(),
    ];
    for path in &paths {
        let answer = story.get(path).await;
        assert_eq!(answer.error(), (401, "unauthenticated"), "{path}");
        assert!(answer.header("www-authenticate").starts_with("Bearer"), "{path}");
        assert_eq!(answer.header("x-request-id").len(), 16, "{path}");
        assert_eq!(story.get_as(path, "pwk_wrong").await.error(), (401, "unauthenticated"), "{path}");
    }
    for (path, place) in [
        ("/integration/v1/groups", "X-Api-Key"),
        ("/integration/v1/user-devices", "x-health-token"),
        ("/users/me", "Authorization: Bearer"),
        ("/health/user-summaries", "Authorization: Bearer"),
    ] {
        let message = text(&story.get(path).await.body["message"]);
        assert!(message.contains(place), "{path} says where its credential goes: {message}");
    }
    let wrong = story.get_as("/users/me", "wrong").await;
    assert_eq!(wrong.header("www-authenticate"), "Bearer realm=\"pulseward\", error=\"invalid_token\"");
    assert_eq!(story.get("/users/me").await.header("www-authenticate"), "Bearer realm=\"pulseward\"");
    assert_eq!(story.get("/integration/v1/groups?token=pwk_wrong").await.error(), (401, "unauthenticated"));
    assert_eq!(story.get("/integration/v1/groups?token=").await.error(), (401, "unauthenticated"));
    let basic = Request::get("/users/me").header("authorization", "Basic YTpi").body(Body::empty());
    assert_eq!(story.send(basic.expect("a request")).await.error(), (401, "unauthenticated"));
}

#[tokio::test]
async fn unknown_addresses_and_methods_are_distinguished() {
    let story = Story::begin().await;
    for path in ["/nowhere", "/integration/v1/nowhere", "/users/", "/health/v1/nothing"] {
        assert_eq!(story.get(path).await.error(), (404, "not_found"), "{path}");
    }
    let wrong = story.send(Request::delete("/integration/v1/groups").body(Body::empty()).expect("a request")).await;
    assert_eq!(wrong.error(), (405, "method_not_allowed"));
    let mut allowed: Vec<_> = wrong.header("allow").split(',').map(str::trim).collect();
    allowed.sort_unstable();
    assert_eq!(allowed, ["GET", "HEAD", "POST"]);
    let gone = story.get("/integration/v1/patients/anybody/audit/logs").await;
    assert_eq!(gone.error(), (410, "gone"));
}

#[tokio::test]
async fn what_is_not_known_and_what_is_not_yours_differ() {
    let story = Story::begin().await;
    let ada = story.key_of("ada@example.org", Role::Researcher).await;
    let bob = story.key_of("bob@example.org", Role::Researcher).await;
    let group = story.group(&ada).await;
    let grace = story.patient(&ada, &group, Value::Null).await;

    let list = |group: &str, key: &str| format!("/integration/v1/groups/{group}/patients?token={key}");
    assert_eq!(story.get(&list("ZZZZZ", &ada)).await.error(), (404, "group_not_found"));
    assert_eq!(story.get(&list(&group, &bob)).await.error(), (403, "forbidden"));
    assert_eq!(story.post(&list(&group, &bob), Value::Null).await.error(), (403, "forbidden"));
    let token = |uuid: &str, key: &str| format!("/integration/v1/patients/{uuid}/health-token?token={key}");
    assert_eq!(story.get(&token("nobody", &ada)).await.error(), (404, "patient_not_found"));
    assert_eq!(story.get(&token(&grace.uuid, &bob)).await.error(), (403, "forbidden"));
    let reset = format!("/integration/v1/patients/{}/reset-password?token={bob}", grace.uuid);
    assert_eq!(story.post(&reset, json!({"password": PASSWORD})).await.error(), (403, "forbidden"));
    assert_eq!(story.get(&format!("/integration/v1/groups?token={bob}")).await.ok(), json!([]));
}

#[tokio::test]
async fn a_practitioner_reads_but_does_not_manage() {
    let story = Story::begin().await;
    let ada = story.key_of("ada@example.org", Role::Researcher).await;
    let hcp = story.key_of("hcp@example.org", Role::Hcp).await;
    let group = story.group(&ada).await;
    let grace = story.patient(&ada, &group, Value::Null).await;
    let account = story.platform.identity.account_by_email("hcp@example.org").await.expect("an account");
    story
        .platform
        .core
        .users()
        .add_member(&account.uuid, &GroupCode::new(group.as_str()), story.now_ms())
        .await
        .expect("a member");

    story.get(&format!("/integration/v1/groups/{group}/patients?token={hcp}")).await.ok();
    story.get(&format!("/integration/v1/patients/{}/health-token?token={hcp}", grace.uuid)).await.ok();
    let reset = format!("/integration/v1/patients/{}/reset-password?token={hcp}", grace.uuid);
    assert_eq!(story.post(&reset, json!({"password": PASSWORD})).await.error(), (403, "forbidden"));
    let enrol = format!("/integration/v1/groups/{group}/patients?token={hcp}");
    assert_eq!(story.post(&enrol, Value::Null).await.error(), (403, "forbidden"));
    let create =
        story.post(&format!("/integration/v1/groups?token={hcp}"), json!({"name": "Own", "description": ""})).await;
    assert_eq!(create.error(), (403, "forbidden"));
}

#[tokio::test]
async fn a_key_for_one_group_reaches_no_other() {
    let story = Story::begin().await;
    let ada = story.key_of("ada@example.org", Role::Researcher).await;
    let (first, second) = (story.group(&ada).await, story.group(&ada).await);
    let grace = story.patient(&ada, &first, Value::Null).await;
    let account = story.platform.identity.account_by_email("ada@example.org").await.expect("an account");
    let scope = NewApiKey {
        groups: vec![GroupCode::new(second.clone())],
        expires_ms: Some(story.now_ms() + 10),
        ..NewApiKey::default()
    };
    let (_, scoped) = story.platform.identity.create_api_key(&account, scope).await.expect("a key");

    let groups = story.get(&format!("/integration/v1/groups?token={scoped}")).await.ok();
    assert_eq!(
        groups.as_array().expect("a list").iter().map(|group| text(&group["code"])).collect::<Vec<_>>(),
        std::slice::from_ref(&second)
    );
    let list = |group: &str| format!("/integration/v1/groups/{group}/patients?token={scoped}");
    assert_eq!(story.get(&list(&first)).await.error(), (403, "forbidden"));
    story.get(&list(&second)).await.ok();
    let token = format!("/integration/v1/patients/{}/health-token?token={scoped}", grace.uuid);
    assert_eq!(story.get(&token).await.error(), (403, "forbidden"));
    let create =
        story.post(&format!("/integration/v1/groups?token={scoped}"), json!({"name": "Own", "description": ""})).await;
    assert_eq!(create.error(), (403, "forbidden"));
    story.pass_ms(10);
    assert_eq!(story.get(&list(&second)).await.error(), (401, "unauthenticated"));
}

#[tokio::test]
async fn a_body_is_refused_for_what_is_wrong_with_it() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let path = format!("/integration/v1/groups?token={key}");
    let send = async |kind: &str, body: String| {
        story.send(Request::post(&path).header("content-type", kind).body(Body::from(body)).expect("a request")).await
    };
    assert_eq!(send("application/json", "{\"name\":".to_owned()).await.error(), (400, "not_json"));
    assert_eq!(send("application/json", String::new()).await.error(), (400, "not_json"));
    assert_eq!(send("application/json", "[".repeat(200)).await.error(), (400, "not_json"));
    assert_eq!(send("text/plain", "{}".to_owned()).await.error(), (415, "unsupported_media_type"));
    let large = json!({"name": "x".repeat(70_000)}).to_string();
    assert_eq!(send("application/json", large).await.error(), (413, "too_large"));
    let wrong = send("application/json; charset=utf-8", "{\"description\": 7}".to_owned()).await;
    assert_eq!(wrong.error(), (422, "invalid"));
    assert_eq!(wrong.body["errors"], json!({"name": ["is required"], "description": ["must be a text"]}));
    let blank = send("application/json", "{\"name\": \" \", \"description\": \"\"}".to_owned()).await;
    assert_eq!(blank.body["errors"], json!({"name": ["must not be empty"]}));
    let short = send("application/json", "{\"name\": \"Sleep\", \"description\": null}".to_owned()).await;
    assert_eq!(short.error(), (422, "invalid"));
    assert_eq!(short.body["errors"], json!({"description": ["is required"]}));
    assert_eq!(send("application/json", "{\"name\": \"Sleep\", \"description\": \"\"}".to_owned()).await.status, 200);
    for other in ["[]", "7", "null", "\"name\""] {
        let answer = send("application/json", other.to_owned()).await;
        assert_eq!(answer.error(), (422, "invalid"), "{other}");
        assert_eq!(answer.body["errors"], json!({"body": ["must be a JSON object"]}), "{other}");
    }
    let cut = send("application/json", "{\"name\": }".to_owned()).await;
    assert_eq!(cut.body["message"], "the body is not JSON: line 1, column 10");
}

#[tokio::test]
async fn no_text_has_a_nul_character() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let create = format!("/integration/v1/groups?token={key}");
    let answer = story.post(&create, json!({"name": "a\0b", "description": "\0"})).await;
    assert_eq!(answer.error(), (422, "invalid"));
    let nul = json!(["must not have a NUL character"]);
    assert_eq!(answer.body["errors"], json!({"name": nul, "description": nul}));
    let enrol = format!("/integration/v1/groups/{group}/patients?token={key}");
    let code = text(&story.post(&enrol, Value::Null).await.ok()["code"]);
    let texts = ["first_name", "last_name", "email", "country", "birthday", "gender", "time_zone"];
    let mut body = json!({"code": code, "password": format!("{PASSWORD}\0")});
    for field in texts {
        body[field] = json!("x\0");
    }
    let answer = story.post("/users/activate", body).await;
    assert_eq!(answer.error(), (422, "invalid"));
    for field in texts.iter().chain(&["password"]) {
        assert_eq!(answer.body["errors"][field], nul, "{field}");
    }
    // A path that names such a thing names nothing.
    for path in ["/integration/v1/groups/AB%00CD/patients", "/integration/v1/check-voucher-code/%00"] {
        assert_eq!(story.get(&format!("{path}?token={key}")).await.error(), (404, "not_found"), "{path}");
    }
}

#[tokio::test]
async fn the_form_asked_for_does_not_matter_where_there_is_only_json() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    for accept in ["text/html", "application/xml", "application/json;q=0", "image/*", "not a type"] {
        let (status, body) = story.bytes_of(&format!("/integration/v1/groups?token={key}"), "", accept).await;
        assert_eq!((status.as_u16(), &body[..]), (200, &b"[]"[..]), "{accept}");
    }
}

#[tokio::test]
async fn an_activation_is_checked_as_a_whole() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let enrol = format!("/integration/v1/groups/{group}/patients?token={key}");
    let code = text(&story.post(&enrol, Value::Null).await.ok()["code"]);
    let body = json!({
        "code": code, "password": "short", "email": "grace", "birthday": "2030-01-01", "gender": "f", "height": 3,
        "weight": 0, "skin_color": 7, "hair_density": 0, "time_zone": "Mars/Olympus",
    });
    let answer = story.post("/users/activate", body).await;
    assert_eq!(answer.error(), (422, "invalid"));
    let fields: Vec<_> = answer.body["errors"].as_object().expect("fields").keys().cloned().collect();
    let expected =
        ["birthday", "email", "gender", "hair_density", "height", "password", "skin_color", "time_zone", "weight"];
    assert_eq!(fields, expected);

    let unknown = story.post("/users/activate", json!({"code": "ZZZZZZZZ", "password": PASSWORD})).await;
    assert_eq!(unknown.error(), (404, "voucher_not_found"));
    let taken = json!({"code": code, "password": PASSWORD, "email": "ADA@example.org"});
    assert_eq!(story.post("/users/activate", taken).await.error(), (409, "duplicate_email"));
    story.pass_ms(90 * 24 * 60 * 60 * 1000);
    let late = story.post("/users/activate", json!({"code": code, "password": PASSWORD})).await;
    assert_eq!(late.error(), (409, "voucher_expired"));
}

#[tokio::test]
async fn guessing_is_slowed_and_reveals_nothing() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let grace = story.patient(&key, &group, json!({"email": "grace@example.org"})).await;
    let login = async |email: &str, password: &str| {
        story.post("/users/login", json!({"email": email, "password": password})).await
    };
    let wrong = login("grace@example.org", "not the password").await;
    let unknown = login("nobody@example.org", "not the password").await;
    assert_eq!(wrong.error(), (401, "unauthenticated"));
    assert_eq!(wrong.body, unknown.body);

    for _ in 0..4 {
        assert_eq!(login("grace@example.org", "not the password").await.error(), (401, "unauthenticated"));
    }
    let slowed = login("grace@example.org", PASSWORD).await;
    assert_eq!(slowed.error(), (429, "too_many_requests"));
    assert_eq!(slowed.header("retry-after"), "1");
    // Another account from the same address is not touched, and the wait ends.
    login("ada@example.org", PASSWORD).await.ok();
    story.pass_ms(1000);
    login("grace@example.org", PASSWORD).await.ok();

    let both = json!({"email": "grace@example.org", "code": grace.code, "password": PASSWORD});
    assert_eq!(story.post("/users/login", both).await.error(), (422, "invalid"));
    let neither = story.post("/users/login", json!({})).await;
    assert_eq!(neither.error(), (422, "invalid"));
    assert_eq!(neither.body["errors"].as_object().expect("fields").len(), 2);
}

#[tokio::test]
async fn a_token_opens_its_own_cloud_until_it_ends() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let grace = story.patient(&key, &group, Value::Null).await;

    story.get_as("/users/me", &grace.users_token).await.ok();
    assert_eq!(story.get_as("/users/me", &grace.health_token).await.error(), (401, "unauthenticated"));
    assert!(story.platform.identity.health_caller(&grace.users_token).await.is_err());
    let exchange = story.post("/health/login", json!({"user_api_token": grace.health_token})).await;
    assert_eq!(exchange.error(), (401, "unauthenticated"));

    // A changed signature, a changed claim.
    let parts: Vec<&str> = grace.users_token.split('.').collect();
    let other: Vec<&str> = grace.health_token.split('.').collect();
    for forged in [format!("{}.{}.{}", parts[0], parts[1], other[2]), format!("{}.{}.{}", parts[0], other[1], parts[2])]
    {
        assert_eq!(story.get_as("/users/me", &forged).await.error(), (401, "unauthenticated"));
    }

    // A rotated key goes on verifying, and both are published.
    let kid = story.platform.identity.rotate_signing_key(platform::Cloud::Users).await.expect("a key").to_string();
    story.get_as("/users/me", &grace.users_token).await.ok();
    let keys = story.get("/users/.well-known/jwks.json").await.ok();
    let kids: Vec<_> = keys["keys"].as_array().expect("keys").iter().map(|key| text(&key["kid"])).collect();
    assert!(kids.len() == 2 && kids.contains(&kid), "{kids:?}");
    assert_eq!(story.get("/health/.well-known/jwks.json").await.ok()["keys"].as_array().expect("keys").len(), 1);

    let out = story.post_as("/health/auth/logout", &grace.health_token, Value::Null).await;
    assert_eq!(out.status, 204);
    assert!(story.platform.identity.health_caller(&grace.health_token).await.is_err());
    story.pass_ms(60 * 60 * 1000 - 1);
    story.get_as("/users/me", &grace.users_token).await.ok();
    story.pass_ms(1);
    assert_eq!(story.get_as("/users/me", &grace.users_token).await.error(), (401, "unauthenticated"));
}

#[tokio::test]
async fn an_account_has_no_health_data() {
    let story = Story::begin().await;
    story.key_of("ada@example.org", Role::Researcher).await;
    let login = story.post("/users/login", json!({"email": "ada@example.org", "password": PASSWORD})).await.ok();
    assert_eq!(login["user"]["role"], "researcher");
    let exchange = story.post("/health/login", json!({"user_api_token": login["token"]})).await;
    assert_eq!(exchange.error(), (403, "forbidden"));
}

#[tokio::test]
async fn probes_and_the_document_are_open() {
    let story = Story::begin().await;
    assert_eq!(story.get("/livez").await.ok(), json!({"status": "ok"}));
    assert_eq!(story.get("/readyz").await.ok(), json!({"status": "ok"}));
    let document = story.get("/openapi.json").await.ok();
    let paths = document["paths"].as_object().expect("paths");
    for path in
        ["/integration/v1/groups", "/integration/v1/groups/{group_code}/patients", "/users/login", "/health/login"]
    {
        assert!(paths.contains_key(path), "{path} is not in {:?}", paths.keys());
    }
}

/// Background work that fails is named, and requests are answered all the same.
#[tokio::test]
async fn readiness_names_background_work_that_fails_and_stays_ready() {
    let story = Story::begin().await;
    let health = story.platform.core.health();
    let now_ms = story.now_ms();
    let patient = "11111111-1111-4111-8111-111111111111".to_owned();
    let job = NewJob {
        subject: JobSubject::new(format!("{patient}/ppg2/0")),
        patient: Some(PatientId::new(patient.clone())),
    };
    health.enqueue_jobs(JobKind::new("seal"), vec![job], now_ms).await.expect("enqueued");
    let lease = health
        .claim_jobs(JobKind::new("seal"), &NodeId::new("a node"), now_ms, now_ms + 1, 1)
        .await
        .expect("claimed")
        .remove(0);
    let failures = Failures { runs: 3, panics: 3 };
    let (error, put_aside) = ("panicked".to_owned(), Some("0.1.0".to_owned()));
    let failure = JobFailure { failures, error, failed_ms: now_ms, retry_ms: NEVER_MS, put_aside };
    assert!(health.fail_job(&lease, failure).await.expect("noted"));
    let ready = story.get("/readyz").await.ok();
    assert_eq!(ready, json!({"status": "ok", "failing_jobs": [{"kind": "seal", "failing": 1, "put_aside": 1}]}));
    assert!(!ready.to_string().contains(&patient), "anyone may ask");
    assert_eq!(story.platform.upkeep.take_jobs_up().await.expect("taken up"), 1);
    assert_eq!(story.get("/readyz").await.ok(), json!({"status": "ok"}));
}
