//! What the stories have in common: a patient, clients, and the calls that an application makes.

use axum::body::Body;
use axum::http::Request;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use platform::oauth::NewOauthClient;
use serde_json::{Value, json};
use store::Role;
use url::form_urlencoded::Serializer;

use crate::browser::{Browser, parameter};
use crate::common::{Answer, Enrolled, Story};

pub const BACK: &str = "https://diary.example/back?from=pulseward";
pub const EMAIL: &str = "grace@example.org";
/// The example of RFC 7636, appendix B.
pub const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
pub const HOUR_MS: i64 = 60 * 60_000;

/// A client as its maker knows it.
#[derive(Clone)]
pub struct Client {
    pub id: String,
    pub secret: Option<String>,
}

pub struct Scene {
    pub story: Story,
    pub key: String,
    pub grace: Enrolled,
}

impl Scene {
    pub async fn begin() -> Self {
        Self::begin_with(api::Limits::default()).await
    }

    pub async fn begin_with(limits: api::Limits) -> Self {
        let story = Story::begin_with(limits).await;
        let key = story.key_of("ada@example.org", Role::Researcher).await;
        let group = story.group(&key).await;
        let grace = story.patient(&key, &group, json!({"email": EMAIL})).await;
        Scene { story, key, grace }
    }

    pub async fn client(&self, name: &str, public: bool) -> Client {
        let new = NewOauthClient {
            name: name.to_owned(),
            redirect_uris: vec![BACK.to_owned(), "http://127.0.0.1:7777/back".to_owned()],
            privacy_policy_url: "https://diary.example/privacy".to_owned(),
            public,
        };
        let (client, secret) = self.story.platform.identity.create_oauth_client(new).await.expect("a client");
        Client { id: client.id.to_string(), secret }
    }

    /// Returns a code for a client, bound to [`CHALLENGE`].
    pub async fn code(&self, client: &Client, scope: &str) -> String {
        let address =
            address(client, &[("scope", scope), ("code_challenge", CHALLENGE), ("code_challenge_method", "S256")]);
        let answered = Browser::new(&self.story).allow(&address, EMAIL).await;
        parameter(&answered, "code").expect("a code")
    }

    /// Tokens for a client.
    pub async fn tokens(&self, client: &Client, scope: &str) -> Value {
        let code = self.code(client, scope).await;
        self.redeem(client, &code).await.ok()
    }

    pub async fn redeem(&self, client: &Client, code: &str) -> Answer {
        let fields =
            [("grant_type", "authorization_code"), ("code", code), ("redirect_uri", BACK), ("code_verifier", VERIFIER)];
        self.call("token", client, &fields).await
    }

    pub async fn refresh(&self, client: &Client, token: &str) -> Answer {
        self.call("token", client, &[("grant_type", "refresh_token"), ("refresh_token", token)]).await
    }

    /// Returns a call of an application, which shows its secret as HTTP Basic, or its name alone.
    pub async fn call(&self, endpoint: &str, client: &Client, fields: &[(&str, &str)]) -> Answer {
        let Some(secret) = &client.secret else {
            let fields = [fields, &[("client_id", client.id.as_str())]].concat();
            return self.post(endpoint, None, &fields).await;
        };
        let basic = format!("Basic {}", STANDARD.encode(format!("{}:{secret}", client.id)));
        self.post(endpoint, Some(&basic), fields).await
    }

    pub async fn post(&self, endpoint: &str, authorization: Option<&str>, fields: &[(&str, &str)]) -> Answer {
        let mut request = Request::post(format!("/health/oauth/{endpoint}"))
            .header("content-type", "application/x-www-form-urlencoded");
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        let body = Serializer::new(String::new()).extend_pairs(fields).finish();
        self.story.send(request.body(Body::from(body)).expect("a request")).await
    }

    /// Returns whether an access token opens the patient's data.
    pub async fn opens(&self, token: &str) -> bool {
        let path = "/health/user-summaries?date_from=2025-11-20&date_to=2025-11-20";
        self.story.get_as(path, token).await.status == 200
    }
}

/// Returns where a client sends a person, with parameters in addition to those that are always there. A parameter
/// replaces one of the same name, or takes it out when it is empty.
pub fn address(client: &Client, parameters: &[(&str, &str)]) -> String {
    let mut all =
        vec![("response_type", "code"), ("client_id", client.id.as_str()), ("redirect_uri", BACK), ("state", "s1")];
    all.retain(|(name, _)| !parameters.iter().any(|(other, _)| other == name));
    all.extend(parameters.iter().filter(|(_, value)| !value.is_empty()));
    format!("/health/oauth/authorize?{}", Serializer::new(String::new()).extend_pairs(all).finish())
}

/// Returns the `error` of an answer, whose form is checked.
pub fn error(answer: &Answer) -> (u16, &str) {
    let (status, code) = answer.error();
    assert_eq!(answer.body["error"], code);
    assert!(answer.body["error_description"].is_string());
    (status, code)
}
