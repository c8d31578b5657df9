//! What RFC 9700 warns of, tried one after the other.

use serde_json::{Value, json};
use store::Role;

use crate::browser::{Browser, html, location, parameter, ticket};
use crate::common::PASSWORD;
use crate::scene::{BACK, CHALLENGE, Client, EMAIL, HOUR_MS, Scene, VERIFIER, address, error};

fn text<'a>(tokens: &'a Value, name: &str) -> &'a str {
    tokens[name].as_str().expect("a token")
}

#[tokio::test]
async fn an_address_that_is_not_the_clients_is_never_answered() {
    let scene = Scene::begin().await;
    let client = scene.client("Diary", false).await;
    let wrong = [
        "https://diary.example/back",
        "https://diary.example/back?from=pulseward&more=1",
        "https://diary.example/back?from=Pulseward",
        "https://diary.example/back?from=pulseward#x",
        "https://diary.example/back/../evil?from=pulseward",
        "https://diary.example:443/back?from=pulseward",
        "https://DIARY.example/back?from=pulseward",
        "https://evil.example/back?from=pulseward",
        "https://diary.example@evil.example/back?from=pulseward",
        "https://diary.example.evil.example/back?from=pulseward",
        "//evil.example",
        "javascript:alert(1)",
        // RFC 8252, 7.3 lets the port differ on the loopback interface, and nothing else.
        "http://127.0.0.1:7778/other",
        "http://localhost:7777/back",
        "https://127.0.0.1:7777/back",
        "",
    ];
    for redirect_uri in wrong {
        // Also when something else is wrong, which would be reported to the client.
        for more in [("scope", "patient.read"), ("response_type", "token")] {
            let address = address(&client, &[("redirect_uri", redirect_uri), more]);
            let page = Browser::new(&scene.story).open(&address).await;
            assert_eq!((page.status.as_u16(), page.header("location")), (400, ""), "{redirect_uri}");
            assert!(html(&page).contains("not its own"), "{redirect_uri}");
        }
    }
    for id in ["", "nobody", "<script>", "a\0b"] {
        let page = Browser::new(&scene.story).open(&address(&client, &[("client_id", id)])).await;
        assert_eq!((page.status.as_u16(), page.header("location")), (400, ""), "{id}");
    }
    let twice = format!("{}&redirect_uri=https%3A%2F%2Fevil.example", address(&client, &[]));
    assert_eq!(Browser::new(&scene.story).open(&twice).await.status, 400);
    let twice = format!("{}&client_id={}", address(&client, &[]), client.id);
    assert_eq!(Browser::new(&scene.story).open(&twice).await.status, 400);
}

#[tokio::test]
async fn what_else_is_wrong_is_reported_to_the_client_at_its_address() {
    type Parameters<'a> = &'a [(&'a str, &'a str)];
    let scene = Scene::begin().await;
    let (secret, public) = (scene.client("Diary", false).await, scene.client("Phone", true).await);
    let pkce = ("code_challenge", CHALLENGE);
    let cases: [(&Client, Parameters<'_>, &str); 15] = [
        (&secret, &[("response_type", "")], "invalid_request"),
        (&secret, &[("response_type", "token")], "unsupported_response_type"),
        (&secret, &[("response_type", "code token")], "unsupported_response_type"),
        (&secret, &[("scope", "openid")], "invalid_scope"),
        (&secret, &[("response_mode", "fragment")], "invalid_request"),
        (&secret, &[("request", "e30.e30.")], "request_not_supported"),
        (&secret, &[("request_uri", "https://evil.example/")], "request_uri_not_supported"),
        // PKCE cannot be taken down: not left out by a public client, not "plain", not half.
        (&public, &[], "invalid_request"),
        (&public, &[pkce], "invalid_request"),
        (&public, &[pkce, ("code_challenge_method", "plain")], "invalid_request"),
        (&secret, &[pkce, ("code_challenge_method", "plain")], "invalid_request"),
        (&secret, &[("code_challenge_method", "S256")], "invalid_request"),
        (&secret, &[("code_challenge", "short"), ("code_challenge_method", "S256")], "invalid_request"),
        (&secret, &[("scope", "patient.read"), ("scope", "patient.sync")], "invalid_request"),
        (&secret, &[("code_challenge", "\0")], "invalid_request"),
    ];
    for (client, parameters, expected) in cases {
        let answer = Browser::new(&scene.story).open(&address(client, parameters)).await;
        let answered = location(&answer);
        assert!(answered.starts_with(&format!("{BACK}&error=")), "{answered}");
        assert_eq!(parameter(&answered, "error").as_deref(), Some(expected), "{parameters:?}");
        assert_eq!(parameter(&answered, "state").as_deref(), Some("s1"));
        assert_eq!(parameter(&answered, "iss").as_deref(), Some("http://127.0.0.1:8080/health"));
        assert_eq!(parameter(&answered, "code"), None);
    }
    let long = "x".repeat(2001);
    let answered = location(&Browser::new(&scene.story).open(&address(&secret, &[("state", &long)])).await);
    assert_eq!(parameter(&answered, "error").as_deref(), Some("invalid_request"));
    assert_eq!(parameter(&answered, "state"), None);
}

#[tokio::test]
async fn a_replayed_code_ends_the_tokens_that_it_was_given_for() {
    let scene = Scene::begin().await;
    let client = scene.client("Diary", false).await;
    let code = scene.code(&client, "").await;
    let tokens = scene.redeem(&client, &code).await.ok();
    let refreshed = scene.refresh(&client, text(&tokens, "refresh_token")).await.ok();
    assert!(scene.opens(text(&tokens, "access_token")).await);
    let replay = scene.redeem(&client, &code).await;
    assert_eq!(error(&replay), (400, "invalid_grant"));
    for ended in [&tokens, &refreshed] {
        assert!(!scene.opens(text(ended, "access_token")).await);
        assert_eq!(error(&scene.refresh(&client, text(ended, "refresh_token")).await), (400, "invalid_grant"));
    }
}

#[tokio::test]
async fn a_code_counts_for_its_client_address_and_verifier_and_for_a_minute() {
    let scene = Scene::begin().await;
    let client = scene.client("Diary", false).await;
    let (other, public) = (scene.client("Other", false).await, scene.client("Phone", true).await);
    let code = scene.code(&client, "").await;
    let fields = |redirect_uri: &'static str, verifier: &'static str| {
        [("grant_type", "authorization_code"), ("redirect_uri", redirect_uri), ("code_verifier", verifier)]
    };
    let send = async |client: &Client, redirect_uri: &'static str, verifier: &'static str| {
        let fields = [&fields(redirect_uri, verifier)[..], &[("code", code.as_str())]].concat();
        scene.call("token", client, &fields).await
    };
    for thief in [&other, &public] {
        assert_eq!(error(&send(thief, BACK, VERIFIER).await), (400, "invalid_grant"));
    }
    // Registered, but not the one that the code was sent to.
    assert_eq!(error(&send(&client, "http://127.0.0.1:7777/back", VERIFIER).await), (400, "invalid_grant"));
    assert_eq!(error(&send(&client, "", VERIFIER).await), (400, "invalid_request"));
    // A missing verifier, another one, and the challenge itself, which "plain" would take.
    assert_eq!(error(&send(&client, BACK, "").await), (400, "invalid_grant"));
    assert_eq!(
        error(&send(&client, BACK, "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXX").await),
        (400, "invalid_grant")
    );
    assert_eq!(error(&send(&client, BACK, CHALLENGE).await), (400, "invalid_grant"));
    // None of this has used it up, and only time does.
    scene.story.pass_ms(59_999);
    send(&client, BACK, VERIFIER).await.ok();
    let late = scene.code(&client, "").await;
    scene.story.pass_ms(60_000);
    assert_eq!(error(&scene.redeem(&client, &late).await), (400, "invalid_grant"));
    assert_eq!(error(&scene.redeem(&client, "rubbish").await), (400, "invalid_grant"));
}

#[tokio::test]
async fn a_verifier_without_a_challenge_is_refused() {
    let scene = Scene::begin().await;
    let client = scene.client("Diary", false).await;
    // Somebody took the challenge out of the request; the client does not know and sends its verifier.
    let answered = Browser::new(&scene.story).allow(&address(&client, &[]), EMAIL).await;
    let code = parameter(&answered, "code").expect("a code");
    assert_eq!(error(&scene.redeem(&client, &code).await), (400, "invalid_grant"));
}

#[tokio::test]
async fn a_reused_refresh_token_ends_its_family_and_no_other() {
    let scene = Scene::begin().await;
    let client = scene.client("Phone", true).await;
    let untouched = scene.tokens(&client, "").await;
    let first = scene.tokens(&client, "").await;
    let second = scene.refresh(&client, text(&first, "refresh_token")).await.ok();
    let third = scene.refresh(&client, text(&second, "refresh_token")).await.ok();
    assert!(scene.opens(text(&third, "access_token")).await);
    assert_eq!(error(&scene.refresh(&client, text(&first, "refresh_token")).await), (400, "invalid_grant"));
    for ended in [&first, &second, &third] {
        assert!(!scene.opens(text(ended, "access_token")).await);
    }
    assert_eq!(error(&scene.refresh(&client, text(&third, "refresh_token")).await), (400, "invalid_grant"));
    assert!(scene.opens(text(&untouched, "access_token")).await);
    scene.refresh(&client, text(&untouched, "refresh_token")).await.ok();
}

#[tokio::test]
async fn a_refresh_token_counts_for_its_client_alone() {
    let scene = Scene::begin().await;
    let (client, other) = (scene.client("Phone", true).await, scene.client("Other", true).await);
    let tokens = scene.tokens(&client, "").await;
    assert_eq!(error(&scene.refresh(&other, text(&tokens, "refresh_token")).await), (400, "invalid_grant"));
    for wrong in [text(&tokens, "access_token"), "rubbish"] {
        assert_eq!(error(&scene.refresh(&client, wrong).await), (400, "invalid_grant"));
    }
    let next = scene.refresh(&client, text(&tokens, "refresh_token")).await.ok();
    // It lives as long as a login can be refreshed.
    scene.story.pass_ms(518_400 * 60_000 - 1);
    let last = scene.refresh(&client, text(&next, "refresh_token")).await.ok();
    scene.story.pass_ms(1);
    assert_eq!(error(&scene.refresh(&client, text(&last, "refresh_token")).await), (400, "invalid_grant"));
}

#[tokio::test]
async fn a_wrong_secret_is_refused_and_slowed() {
    let scene = Scene::begin().await;
    let (client, public) = (scene.client("Diary", false).await, scene.client("Phone", true).await);
    let code = scene.code(&client, "").await;
    let wrong = Client { secret: Some("pws_wrong".to_owned()), ..client.clone() };
    let none = Client { secret: None, ..client.clone() };
    let secretive = Client { secret: Some("pws_wrong".to_owned()), ..public };
    let unknown = Client { id: "nobody".to_owned(), secret: None };
    for thief in [&wrong, &none, &secretive, &unknown] {
        let answer = scene.redeem(thief, &code).await;
        assert_eq!(error(&answer), (401, "invalid_client"));
        assert!(answer.header("www-authenticate").starts_with("Basic"));
    }
    for endpoint in ["revoke", "introspect"] {
        assert_eq!(error(&scene.call(endpoint, &wrong, &[("token", "x")]).await), (401, "invalid_client"));
    }
    let none_at_all = scene.post("token", None, &[("grant_type", "refresh_token"), ("refresh_token", "x")]).await;
    assert_eq!(error(&none_at_all), (401, "invalid_client"));
    let bearer = scene.post("token", Some("Bearer x"), &[("grant_type", "refresh_token")]).await;
    assert_eq!(error(&bearer), (401, "invalid_client"));
    // The fifth failure, and then the right one has to wait too.
    assert_eq!(error(&scene.redeem(&wrong, &code).await), (401, "invalid_client"));
    let slowed = scene.redeem(&client, &code).await;
    assert_eq!((slowed.error(), slowed.header("retry-after")), ((429, "too_many_requests"), "1"));
    scene.story.pass_ms(1000);
    scene.redeem(&client, &code).await.ok();
}

#[tokio::test]
async fn a_request_for_tokens_has_to_be_readable() {
    let scene = Scene::begin().await;
    let client = scene.client("Phone", true).await;
    let send = async |fields: &[(&str, &str)]| scene.call("token", &client, fields).await;
    assert_eq!(error(&send(&[]).await), (400, "invalid_request"));
    for grant_type in ["password", "client_credentials", "implicit"] {
        assert_eq!(error(&send(&[("grant_type", grant_type)]).await), (400, "unsupported_grant_type"));
    }
    let refresh = ("grant_type", "refresh_token");
    assert_eq!(
        error(&send(&[refresh, ("refresh_token", "a"), ("refresh_token", "b")]).await),
        (400, "invalid_request")
    );
    assert_eq!(error(&send(&[refresh, refresh, ("refresh_token", "a")]).await), (400, "invalid_request"));
    assert_eq!(error(&send(&[refresh, ("refresh_token", "a\0b")]).await), (400, "invalid_request"));
    let json = scene.story.post("/health/oauth/token", serde_json::json!({"grant_type": "refresh_token"})).await;
    assert_eq!(error(&json), (400, "invalid_request"));
    assert_eq!(scene.story.get("/health/oauth/token").await.error(), (405, "method_not_allowed"));
}

#[tokio::test]
async fn a_form_of_another_browser_site_or_time_does_nothing() {
    let scene = Scene::begin().await;
    let client = scene.client("Diary", false).await;
    let mut browser = Browser::new(&scene.story);
    let login = browser.open(&address(&client, &[])).await;
    let fields = |ticket: &str| {
        [
            ("ticket", ticket.to_owned()),
            ("action", "login".to_owned()),
            ("name", EMAIL.to_owned()),
            ("password", PASSWORD.to_owned()),
        ]
    };
    let submit = async |browser: &Browser<'_>, ticket: &str| {
        let fields = fields(ticket);
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        browser.submit(&fields).await
    };
    // Without a ticket, with a changed one, without the cookie, with another browser's cookie.
    let good = ticket(&login);
    let mut changed = good.clone().into_bytes();
    changed[40] ^= 1;
    let changed = String::from_utf8(changed).expect("text");
    for wrong in ["", "rubbish", changed.as_str()] {
        assert_eq!(submit(&browser, wrong).await.status, 403, "{wrong}");
    }
    assert_eq!(submit(&Browser::new(&scene.story), &good).await.status, 403);
    let mut victim = Browser::new(&scene.story);
    victim.open(&address(&client, &[])).await;
    assert_eq!(submit(&victim, &good).await.status, 403, "a form that an attacker has prepared");
    // A browser that says where the form comes from.
    let foreign = axum::http::Request::post("/health/oauth/authorize")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "cross-site")
        .header("cookie", browser.cookie.clone().expect("a cookie"));
    let body = format!("ticket={good}&action=login&name=grace%40example.org&password=x");
    let foreign = scene.story.send(foreign.body(axum::body::Body::from(body)).expect("a request")).await;
    assert_eq!(foreign.status, 403);
    for origin in ["https://evil.example", "null", "http://127.0.0.1:8080.evil.example"] {
        let foreign = axum::http::Request::post("/health/oauth/authorize")
            .header("content-type", "application/x-www-form-urlencoded")
            .header("origin", origin)
            .header("cookie", browser.cookie.clone().expect("a cookie"));
        let body = format!("ticket={good}&action=login&name=grace%40example.org&password=x");
        let foreign = scene.story.send(foreign.body(axum::body::Body::from(body)).expect("a request")).await;
        assert_eq!(foreign.status, 403, "{origin}");
        assert!(html(&foreign).contains("another site"), "{origin}");
    }
    // The login page's form cannot decide.
    for action in ["allow", "deny"] {
        let early = browser.submit(&[("ticket", &good), ("action", action)]).await;
        assert_eq!((early.status.as_u16(), early.header("location")), (403, ""));
    }
    assert_eq!(browser.submit(&[("ticket", &good), ("action", "dance")]).await.status, 400);
    let twice = browser.submit(&[("ticket", &good), ("ticket", &good), ("action", "login")]).await;
    assert_eq!(twice.status, 400);
    assert!(html(&twice).contains("cannot be read"));
    // After a quarter of an hour nothing works.
    let consent = submit(&browser, &good).await;
    assert_eq!(consent.status, 200);
    scene.story.pass_ms(HOUR_MS / 4);
    assert_eq!(browser.submit(&[("ticket", &ticket(&consent)), ("action", "allow")]).await.status, 403);
    assert_eq!(submit(&browser, &good).await.status, 403);
}

#[tokio::test]
async fn guessing_on_the_page_is_slowed_together_with_the_login() {
    let scene = Scene::begin().await;
    let client = scene.client("Diary", false).await;
    let mut browser = Browser::new(&scene.story);
    let page = browser.open(&address(&client, &[])).await;
    let wrong = browser.log_in(&page, EMAIL, "not the password").await;
    let unknown = browser.log_in(&page, "nobody@example.org", "not the password").await;
    assert_eq!((wrong.status, unknown.status), (axum::http::StatusCode::FORBIDDEN, axum::http::StatusCode::FORBIDDEN));
    assert!(html(&wrong).contains("The name or the password is not right."));
    for _ in 0..2 {
        browser.log_in(&page, EMAIL, "not the password").await;
    }
    let body = serde_json::json!({"email": EMAIL, "password": "not the password"});
    for _ in 0..2 {
        assert_eq!(scene.story.post("/users/login", body.clone()).await.error(), (401, "unauthenticated"));
    }
    let slowed = browser.log_in(&page, EMAIL, PASSWORD).await;
    assert_eq!((slowed.status.as_u16(), slowed.header("retry-after")), (429, "1"));
    assert!(html(&slowed).contains("Too many tries"));
    scene.story.pass_ms(1000);
    assert_eq!(browser.log_in(&page, EMAIL, PASSWORD).await.status, 200);
    // By their code as well, and staff have nothing to share.
    assert_eq!(browser.log_in(&page, &scene.grace.code.to_lowercase(), PASSWORD).await.status, 200);
    let staff = browser.log_in(&page, "ada@example.org", PASSWORD).await;
    assert!(html(&staff).contains("Only a patient"));
}

#[tokio::test]
async fn nonsense_in_a_clients_name_holds_up_nobody_who_brings_what_is_good() {
    let scene = Scene::begin().await;
    let (phone, diary) = (scene.client("Phone", true).await, scene.client("Diary", false).await);
    let tokens = scene.tokens(&phone, "").await;
    let code = scene.code(&diary, "").await;
    for _ in 0..5 {
        assert_eq!(error(&scene.refresh(&phone, "nonsense").await), (400, "invalid_grant"));
    }
    let slowed = scene.refresh(&phone, "nonsense").await;
    assert_eq!((error(&slowed), slowed.header("retry-after")), ((429, "too_many_requests"), "1"));
    assert!(slowed.body["error_description"].is_string());
    assert_eq!(error(&scene.redeem(&phone, "nonsense").await), (429, "too_many_requests"));
    scene.refresh(&phone, text(&tokens, "refresh_token")).await.ok();
    scene.redeem(&diary, &code).await.ok();
    assert_eq!(error(&scene.refresh(&phone, "nonsense").await), (400, "invalid_grant"), "success clears");
}

#[tokio::test]
async fn a_consent_page_is_answered_once() {
    let scene = Scene::begin().await;
    let client = scene.client("Diary", false).await;
    let mut browser = Browser::new(&scene.story);
    for first in ["allow", "deny"] {
        let login = browser.open(&address(&client, &[])).await;
        let consent = browser.log_in(&login, EMAIL, PASSWORD).await;
        let decide = async |action| browser.submit(&[("ticket", &ticket(&consent)), ("action", action)]).await;
        assert_eq!(decide(first).await.status, 303);
        for again in ["allow", "deny"] {
            let answer = decide(again).await;
            assert_eq!((answer.status.as_u16(), answer.header("location")), (403, ""), "{first}, then {again}");
        }
    }
}

#[tokio::test]
async fn wrong_secrets_of_clients_are_written_down_without_them() {
    let scene = Scene::begin().await;
    let root = scene.story.key_of("root@example.org", Role::Admin).await;
    let (client, public) = (scene.client("Diary", false).await, scene.client("Phone", true).await);
    let guess = |id: &str| Client { id: id.to_owned(), secret: Some("pws_a guess of mallory".to_owned()) };
    let (wrong, needless, unknown) = (guess(&client.id), guess(&public.id), guess("an id of mallory"));
    let missing = Client { id: client.id.clone(), secret: None };
    let grant = ("grant_type", "refresh_token");
    for (endpoint, of) in [("token", &wrong), ("introspect", &needless), ("revoke", &unknown), ("token", &missing)] {
        let answer = scene.call(endpoint, of, &[grant, ("refresh_token", "x"), ("token", "x")]).await;
        assert_eq!(error(&answer), (401, "invalid_client"), "{endpoint}");
    }
    let events = async || {
        let path = "/integration/v1/security/events?event_type=client_authentication_failed";
        scene.story.get_as(path, &root).await.ok()["events"].as_array().expect("a list").clone()
    };
    let all = events().await;
    let subjects: Vec<&Value> = all.iter().map(|event| &event["subject"]).collect();
    assert_eq!(subjects, [&json!(client.id), &json!(public.id), &Value::Null], "the fourth is counted with the first");
    assert_eq!((all[2]["name_hash"].as_str().map(str::len), &all[0]["name_hash"]), (Some(32), &Value::Null));
    assert!(all.iter().all(|event| event["actor"].is_null() && event["count"] == 1), "{all:?}");
    let whole = scene.story.get_as("/integration/v1/security/events", &root).await.ok().to_string();
    assert!(!whole.contains("mallory"), "{whole}");

    // What is no guess of a secret is none: a good client that has only its token wrong.
    assert_eq!(error(&scene.refresh(&client, "pwr_wrong").await), (400, "invalid_grant"));
    scene.story.pass_ms(60_000);
    assert_eq!(error(&scene.call("token", &wrong, &[grant, ("refresh_token", "x")]).await), (401, "invalid_client"));
    let later = events().await;
    assert_eq!(later.iter().filter(|event| event["subject"] == client.id).count(), 3, "{later:?}");
}
