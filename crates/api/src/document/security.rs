//! By which credentials operations are called.

use serde_json::{Map, Value, json};

use crate::portal::cookie::SESSION_COOKIE;

/// Scheme that routes name which take an API key.
const API_KEY: &str = "api_key";
/// What pages send in addition to their cookie.
const CSRF_TOKEN: &str = "csrf_token";
/// The API key, in the three ways that it may come.
const KEY_SCHEMES: [&str; 3] = ["api_key_parameter", "api_key_header", "api_key_bearer"];

/// Returns the schemes by name.
pub(super) fn schemes() -> Value {
    json!({
        "api_key_parameter": {"type": "apiKey", "in": "query", "name": "token",
            "description": "API key of a researcher. Addresses end up in logs of proxies: prefer a header."},
        "api_key_header": {"type": "apiKey", "in": "header", "name": "X-Api-Key", "description": "API key of a researcher."},
        "api_key_bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "pwk_…",
            "description": "API key of a researcher."},
        "portal_cookie": {"type": "apiKey", "in": "cookie", "name": SESSION_COOKIE,
            "description": "Session of a page of the portal; the name is `__Host-pulseward_session` where the public address is \
            https."},
        CSRF_TOKEN: {"type": "apiKey", "in": "header", "name": "X-CSRF-Token",
            "description": "Value of the session, shown so that no other site can act in its name. The integration \
            API asks for it with every method, the portal's own routes with those that change something."},
        "users_token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT",
            "description": "Token of a login or an activation on the Users Cloud."},
        "health_token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT",
            "description": "Token of a login on the Health Cloud, or a health token for a patient."},
        "oauth2": {"type": "oauth2",
            "description": "Token of the Health Cloud for an application that a patient has granted access. PKCE with S256 is asked \
            of public clients and taken from all.",
            "flows": {"authorizationCode": {
                "authorizationUrl": "/health/oauth/authorize",
                "tokenUrl": "/health/oauth/token",
                "refreshUrl": "/health/oauth/token",
                "scopes": {"patient.read": "read the patient's summaries and samples", "patient.sync": "send samples"}}}},
        "oauth_client": {"type": "http", "scheme": "basic",
            "description": "Identity and secret of an OAuth client, which may also be in the body."},
        "health_token_header": {"type": "apiKey", "in": "header", "name": "x-health-token",
            "description": "Token of the Health Cloud, for this one address of the integration API."},
    })
}

/// Spells out the ways in which an API key may come, and the page's cookie that represents one. Answers whether any
/// credential is asked for.
pub(super) fn complete(operation: &mut Map<String, Value>) -> bool {
    let Some(named) = operation.get("security").and_then(Value::as_array) else {
        operation.insert("security".to_owned(), json!([]));
        return false;
    };
    let mut security = Vec::new();
    for one in named {
        if one.get(API_KEY).is_some() {
            security.extend(KEY_SCHEMES.iter().map(|scheme| json!({ *scheme: [] })));
            security.push(json!({"portal_cookie": [], CSRF_TOKEN: []}));
        } else {
            security.push(one.clone());
        }
    }
    let is_secured = security.iter().any(|one| one.as_object().is_some_and(|one| !one.is_empty()));
    operation.insert("security".to_owned(), json!(security));
    is_secured
}

/// Returns whether a completed operation takes the cookie of a page, which has to come with a token.
pub(super) fn is_for_pages(operation: &Map<String, Value>) -> bool {
    let mut security = operation.get("security").and_then(Value::as_array).into_iter().flatten();
    security.any(|one| one.get(CSRF_TOKEN).is_some())
}
