//! The pages that a person sees: login, consent, and what went wrong. They work without JavaScript, which is not even
//! allowed on them.

use askama::Template;
use axum::http::header::{
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use platform::oauth::AuthorizationRequest;
use url::Url;

/// A page and the headers that it is sent with.
pub(super) struct Page {
    status: StatusCode,
    html: askama::Result<String>,
    /// Address that its forms may lead to besides this server, for its policy.
    leads_to: Option<String>,
    /// Allows the page's own inline style, and nothing else, in its content security policy.
    nonce: String,
}

/// Content that the login page shows again after a failed attempt.
#[derive(Default)]
pub(super) struct LoginTry<'a> {
    /// Reason of the failure.
    pub wrong: Option<&'a str>,
    /// The name that was typed.
    pub name: &'a str,
    /// Whether a new password has to be chosen.
    pub choose_password: bool,
}

#[derive(Template)]
#[template(path = "oauth/login.html")]
struct Login<'a> {
    nonce: &'a str,
    client_name: &'a str,
    ticket: &'a str,
    tried: &'a LoginTry<'a>,
}

#[derive(Template)]
#[template(path = "oauth/consent.html")]
struct Consent<'a> {
    nonce: &'a str,
    request: &'a AuthorizationRequest,
    ticket: &'a str,
}

#[derive(Template)]
#[template(path = "oauth/wrong.html")]
struct Wrong<'a> {
    nonce: &'a str,
    what: &'a str,
}

impl Page {
    /// Returns where a patient logs in.
    pub(super) fn login(nonce: String, request: &AuthorizationRequest, ticket: &str, tried: &LoginTry<'_>) -> Self {
        let html = Login { nonce: &nonce, client_name: &request.client_name, ticket, tried }.render();
        let status = if tried.wrong.is_some() { StatusCode::FORBIDDEN } else { StatusCode::OK };
        Page { status, html, leads_to: None, nonce }
    }

    /// Returns where a patient decides what an application may do.
    pub(super) fn consent(nonce: String, request: &AuthorizationRequest, ticket: &str) -> Self {
        let html = Consent { nonce: &nonce, request, ticket }.render();
        let leads_to = Some(policy_source(&request.redirect_uri));
        Page { status: StatusCode::OK, html, leads_to, nonce }
    }

    /// Returns what went wrong, when only the person can be informed.
    pub(super) fn wrong(nonce: String, status: StatusCode, what: &str) -> Self {
        let html = Wrong { nonce: &nonce, what }.render();
        Page { status, html, leads_to: None, nonce }
    }

    /// Returns the same page with another status.
    pub(super) fn with_status(self, status: StatusCode) -> Self {
        Page { status, ..self }
    }
}

/// Returns how a policy names where an address leads. Browsers apply `form-action` also to where an answer redirects
/// to.
fn policy_source(address: &str) -> String {
    let Ok(url) = Url::parse(address) else { return "'none'".to_owned() };
    match url.scheme() {
        // A policy has no way to write an address of IPv6.
        "http" | "https" if !matches!(url.host(), Some(url::Host::Ipv6(_))) => url.origin().ascii_serialization(),
        scheme => format!("{scheme}:"),
    }
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        let policy = format!(
            "default-src 'none'; style-src 'nonce-{}'; form-action 'self' {}; frame-ancestors 'none'; base-uri 'none'",
            self.nonce,
            self.leads_to.unwrap_or_default()
        );
        // Without a policy there would be a page on which scripts run, so the page is not sent then.
        let html = self.html.inspect_err(|error| tracing::error!(%error, "a page cannot be written"));
        let (Ok(html), Ok(policy)) = (html, HeaderValue::from_str(&policy)) else {
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        };
        let mut response = (self.status, html).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        headers.insert(CONTENT_SECURITY_POLICY, policy);
        // With none at all a browser would not say either that a form comes from here. Others learn nothing.
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
        headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        response
    }
}

#[cfg(test)]
mod tests {
    use super::policy_source;

    #[test]
    fn a_policy_names_where_the_answer_goes() {
        let cases = [
            ("https://diary.example/back?x=1", "https://diary.example"),
            ("https://diary.example:8443/back", "https://diary.example:8443"),
            ("http://127.0.0.1:7777/back", "http://127.0.0.1:7777"),
            ("http://[::1]:7777/back", "http:"),
            ("org.example.diary:/back", "org.example.diary:"),
        ];
        for (address, source) in cases {
            assert_eq!(policy_source(address), source);
        }
    }
}
