//! An application goes from its request to a patient's data.

use std::convert::Infallible;

use axum::body::Body;
use oauth2::basic::BasicClient;
use oauth2::{
    AccessToken, AuthType, AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, HttpRequest, HttpResponse,
    IntrospectionUrl, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RefreshToken, RevocationUrl, Scope,
    StandardRevocableToken, TokenIntrospectionResponse, TokenResponse, TokenUrl,
};
use serde_json::{Value, json};

use crate::browser::{Browser, parameter};
use crate::common::Story;
use crate::scene::{BACK, CHALLENGE, EMAIL, Scene, VERIFIER, address};

const HEALTH: &str = "http://127.0.0.1:8080/health";

/// Carries a request of the client library to the service.
async fn carry(story: &Story, request: HttpRequest) -> Result<HttpResponse, Infallible> {
    let (mut parts, body) = request.into_parts();
    parts.uri = parts.uri.path().parse().expect("a path");
    let answer = story.send(axum::http::Request::from_parts(parts, Body::from(body))).await;
    let body = if answer.body.is_null() { Vec::new() } else { answer.body.to_string().into_bytes() };
    let mut response = HttpResponse::new(body);
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    Ok(response)
}

/// The whole of it with a client library: with a secret as HTTP Basic and in the body, and with PKCE alone.
#[tokio::test]
async fn a_client_library_goes_from_end_to_end() {
    let scene = Scene::begin().await;
    for (public, auth_type) in
        [(false, AuthType::BasicAuth), (false, AuthType::RequestBody), (true, AuthType::RequestBody)]
    {
        let registered = scene.client("Sleep diary", public).await;
        let http = |request| carry(&scene.story, request);
        let mut client = BasicClient::new(ClientId::new(registered.id.clone()))
            .set_auth_uri(AuthUrl::new(format!("{HEALTH}/oauth/authorize")).expect("an address"))
            .set_token_uri(TokenUrl::new(format!("{HEALTH}/oauth/token")).expect("an address"))
            // The library insists on https here; the service in this process does not mind.
            .set_revocation_url(
                RevocationUrl::new("https://study.example/health/oauth/revoke".to_owned()).expect("an address"),
            )
            .set_introspection_url(IntrospectionUrl::new(format!("{HEALTH}/oauth/introspect")).expect("an address"))
            .set_redirect_uri(RedirectUrl::new(BACK.to_owned()).expect("an address"))
            .set_auth_type(auth_type);
        if let Some(secret) = &registered.secret {
            client = client.set_client_secret(ClientSecret::new(secret.clone()));
        }

        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let (address, state) = client
            .authorize_url(CsrfToken::new_random)
            .add_scope(Scope::new("patient.read".to_owned()))
            .add_scope(Scope::new("patient.sync".to_owned()))
            .set_pkce_challenge(challenge)
            .url();
        let answered = Browser::new(&scene.story).allow(address.as_str(), EMAIL).await;
        assert!(answered.starts_with(&format!("{BACK}&code=")), "{answered}");
        assert_eq!(parameter(&answered, "state").as_deref(), Some(state.secret().as_str()));
        assert_eq!(parameter(&answered, "iss").as_deref(), Some(HEALTH));

        let code = AuthorizationCode::new(parameter(&answered, "code").expect("a code"));
        let verifier = PkceCodeVerifier::new(verifier.secret().clone());
        let tokens = client.exchange_code(code).set_pkce_verifier(verifier).request_async(&http).await;
        let tokens = tokens.expect("tokens");
        assert_eq!(tokens.expires_in().map(|lives| lives.as_secs()), Some(3600));
        let access = tokens.access_token().secret();
        let data = json!({"data": {"activity": {"timestamp": [1_763_599_000_000_i64], "bpm": [61], "bpm_q": [4]}}});
        scene.story.post_as("/health/v1/sync", access, data).await.ok();
        assert!(scene.opens(access).await);

        let refresh = tokens.refresh_token().expect("a refresh token");
        let next = client.exchange_refresh_token(refresh).request_async(&http).await.expect("tokens");
        let access = next.access_token().secret();
        assert!(scene.opens(access).await);
        assert_ne!(next.refresh_token().expect("a refresh token").secret(), refresh.secret());

        if !public {
            let token = AccessToken::new(access.clone());
            let reported = client.introspect(&token).request_async(&http).await.expect("an answer");
            assert!(reported.active());
            assert_eq!(reported.sub(), Some(scene.grace.uuid.as_str()));
        }
        let given_back = RefreshToken::new(next.refresh_token().expect("a refresh token").secret().clone());
        let revoke = client.revoke_token(StandardRevocableToken::RefreshToken(given_back)).expect("a request");
        revoke.request_async(&http).await.expect("revoked");
        assert!(!scene.opens(access).await);
    }
}

#[tokio::test]
async fn the_answer_holds_what_the_standard_names() {
    let scene = Scene::begin().await;
    let client = scene.client("Diary", false).await;
    let code = scene.code(&client, "").await;
    let answer = scene.redeem(&client, &code).await;
    assert_eq!(answer.header("cache-control"), "no-store");
    let body = answer.ok();
    let names: Vec<_> = body.as_object().expect("an object").keys().cloned().collect();
    assert_eq!(names, ["access_token", "expires_in", "refresh_token", "scope", "token_type"]);
    assert_eq!(
        (&body["token_type"], &body["expires_in"], &body["scope"]),
        (&json!("Bearer"), &json!(3600), &json!("patient.read"))
    );
    let claims = claims(body["access_token"].as_str().expect("a token"));
    assert_eq!(
        (&claims["iss"], &claims["aud"], &claims["sub"], &claims["client_id"], &claims["scope"]),
        (&json!(HEALTH), &json!("health"), &json!(scene.grace.uuid), &json!(client.id), &json!("patient.read"))
    );
}

#[tokio::test]
async fn a_token_opens_what_was_consented_to_and_nothing_else() {
    let scene = Scene::begin().await;
    let client = scene.client("Diary", false).await;
    let read = scene.tokens(&client, "patient.read").await;
    let sync = scene.tokens(&client, "patient.sync").await;
    let (read, sync) =
        (read["access_token"].as_str().expect("a token"), sync["access_token"].as_str().expect("a token"));
    let story = &scene.story;
    let summaries = "/health/user-summaries?date_from=2025-11-20&date_to=2025-11-20";
    story.get_as(summaries, read).await.ok();
    let refused = story.get_as(summaries, sync).await;
    assert_eq!(refused.error(), (403, "forbidden"));
    assert_eq!(refused.header("www-authenticate"), "Bearer realm=\"pulseward\", error=\"insufficient_scope\"");
    story.post_as("/health/v1/sync", sync, json!({"data": {}})).await.ok();
    assert_eq!(story.post_as("/health/v1/sync", read, json!({"data": {}})).await.error(), (403, "forbidden"));
    for (token, status) in [(read, 200), (sync, 403)] {
        let devices = axum::http::Request::get("/integration/v1/user-devices").header("x-health-token", token);
        assert_eq!(story.send(devices.body(Body::empty()).expect("a request")).await.status, status);
    }
    // It is no token of the Users Cloud, and is not refreshed like a login.
    assert_eq!(story.get_as("/users/me", read).await.error(), (401, "unauthenticated"));
    assert_eq!(story.get_as("/health/auth/refresh", read).await.error(), (403, "forbidden"));
    let exchange = story.post("/health/login", json!({"user_api_token": read})).await;
    assert_eq!(exchange.error(), (401, "unauthenticated"));
}

#[tokio::test]
async fn a_refresh_can_ask_for_less_and_not_for_more() {
    let scene = Scene::begin().await;
    let client = scene.client("Diary", true).await;
    let both = "patient.read patient.sync";
    let tokens = scene.tokens(&client, both).await;
    let refresh = async |token: &Value, scope: &str| {
        let token = token["refresh_token"].as_str().expect("a token");
        scene
            .call("token", &client, &[("grant_type", "refresh_token"), ("refresh_token", token), ("scope", scope)])
            .await
    };
    let less = refresh(&tokens, "patient.sync").await.ok();
    assert_eq!(less["scope"], "patient.sync");
    assert!(!scene.opens(less["access_token"].as_str().expect("a token")).await);
    assert_eq!(refresh(&less, "patient.admin").await.error(), (400, "invalid_scope"));
    let all = refresh(&less, "").await.ok();
    assert_eq!(all["scope"], both, "the refresh token keeps what was consented to");

    let read = scene.tokens(&client, "patient.read").await;
    assert_eq!(refresh(&read, both).await.error(), (400, "invalid_scope"));
    assert_eq!(refresh(&read, "patient.read").await.ok()["scope"], "patient.read", "a refused try uses nothing up");
}

#[tokio::test]
async fn metadata_say_where_everything_is() {
    let scene = Scene::begin().await;
    let reported = scene.story.get("/health/.well-known/oauth-authorization-server").await.ok();
    assert_eq!(reported, scene.story.get("/.well-known/oauth-authorization-server/health").await.ok());
    let expected = json!({
        "issuer": HEALTH,
        "authorization_endpoint": format!("{HEALTH}/oauth/authorize"),
        "token_endpoint": format!("{HEALTH}/oauth/token"),
        "revocation_endpoint": format!("{HEALTH}/oauth/revoke"),
        "introspection_endpoint": format!("{HEALTH}/oauth/introspect"),
        "jwks_uri": format!("{HEALTH}/.well-known/jwks.json"),
        "scopes_supported": ["patient.read", "patient.sync"],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
        "revocation_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
        "introspection_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        "authorization_response_iss_parameter_supported": true,
    });
    assert_eq!(reported, expected);
}

#[tokio::test]
async fn a_login_for_an_application_is_audited() {
    let scene = Scene::begin().await;
    let client = scene.client("Diary", true).await;
    scene.tokens(&client, "").await;
    let entries = scene.story.audit_entries(&scene.grace.uuid, Some("USER_LOGIN")).await;
    // One of the activation, one of this.
    assert_eq!(entries.len(), 2);
}

#[tokio::test]
async fn a_password_from_staff_is_changed_on_the_page() {
    let scene = Scene::begin().await;
    let client = scene.client("Diary", true).await;
    let reset = format!("/integration/v1/patients/{}/reset-password?token={}", scene.grace.uuid, scene.key);
    scene.story.post(&reset, json!({"password": "chosen by staff"})).await;
    let mut browser = Browser::new(&scene.story);
    let challenge = [("code_challenge", CHALLENGE), ("code_challenge_method", "S256")];
    let page = browser.open(&address(&client, &challenge)).await;
    let again = browser.log_in(&page, EMAIL, "chosen by staff").await;
    assert_eq!(again.status, 403);
    assert!(crate::browser::html(&again).contains("name=\"new_password\""));
    let ticket = crate::browser::ticket(&again);
    let with = async |new: &str| {
        let fields = [
            ("ticket", ticket.as_str()),
            ("action", "login"),
            ("name", EMAIL),
            ("password", "chosen by staff"),
            ("new_password", new),
        ];
        browser.submit(&fields).await
    };
    assert!(crate::browser::html(&with("short").await).contains("at least 10 characters"));
    let consent = with("chosen by grace").await;
    let answer = browser.submit(&[("ticket", &crate::browser::ticket(&consent)), ("action", "allow")]).await;
    let code = parameter(&crate::browser::location(&answer), "code").expect("a code");
    scene.redeem(&client, &code).await.ok();
    let login = json!({"email": EMAIL, "password": "chosen by grace"});
    assert_eq!(scene.story.post("/users/login", login).await.ok()["user"]["must_change_password"], false);
}

#[tokio::test]
async fn a_client_with_a_secret_may_do_without_pkce() {
    let scene = Scene::begin().await;
    let client = scene.client("Diary", false).await;
    let answered = Browser::new(&scene.story).allow(&address(&client, &[("state", "")]), EMAIL).await;
    assert_eq!(parameter(&answered, "state"), None);
    let code = parameter(&answered, "code").expect("a code");
    let fields = [("grant_type", "authorization_code"), ("code", code.as_str()), ("redirect_uri", BACK)];
    scene.call("token", &client, &fields).await.ok();
}

#[tokio::test]
async fn secrets_are_shown_in_one_way() {
    let scene = Scene::begin().await;
    let client = scene.client("Diary", false).await;
    let other = scene.client("Other", false).await;
    let secret = client.secret.clone().expect("a secret");
    let code = scene.code(&client, "").await;
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("redirect_uri", BACK),
        ("code_verifier", VERIFIER),
        ("client_id", client.id.as_str()),
        ("client_secret", secret.as_str()),
    ];
    let both = scene.call("token", &client, &fields).await;
    assert_eq!(both.error(), (400, "invalid_request"));
    let named = [&fields[..4], &[("client_id", other.id.as_str())]].concat();
    assert_eq!(scene.call("token", &client, &named).await.error(), (400, "invalid_request"));
    scene.post("token", None, &fields).await.ok();
}

/// Returns what a token says, without checking its signature.
fn claims(token: &str) -> Value {
    use base64::Engine as _;
    let middle = token.split('.').nth(1).expect("three parts");
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(middle).expect("base64");
    serde_json::from_slice(&bytes).expect("JSON")
}

/// An application on the person's own machine listens at a port that its system gives it at each start (RFC 8252, 7.3).
#[tokio::test]
async fn application_on_ones_own_machine_is_answered_at_its_port_of_the_day() {
    let scene = Scene::begin().await;
    let client = scene.client("Notebook", true).await;
    let today = "http://127.0.0.1:50123/back";
    let asked = [("redirect_uri", today), ("code_challenge", CHALLENGE), ("code_challenge_method", "S256")];
    let answered = Browser::new(&scene.story).allow(&address(&client, &asked), EMAIL).await;
    assert!(answered.starts_with("http://127.0.0.1:50123/back?"), "{answered}");
    let code = parameter(&answered, "code").expect("a code");
    let redeem = async |redirect_uri: &str| {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("redirect_uri", redirect_uri),
            ("code_verifier", VERIFIER),
        ];
        scene.call("token", &client, &fields).await
    };
    // The address that was used, and not the one that was registered or that of another day.
    for other in ["http://127.0.0.1:7777/back", "http://127.0.0.1:50124/back"] {
        assert_eq!(redeem(other).await.error(), (400, "invalid_grant"), "{other}");
    }
    let tokens = redeem(today).await.ok();
    assert!(scene.opens(tokens["access_token"].as_str().expect("a token")).await);
}
