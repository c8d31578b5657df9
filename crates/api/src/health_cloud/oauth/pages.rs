//! The pages that a person sees: login, consent, and what went wrong. They work without JavaScript, which is not even
//! allowed on them.

use askama::Template;
use axum::http::header::{
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use platform::oauth::AuthorizationRequest;

/// A page and the headers that it is sent with.
pub(super) struct Page {
    status: StatusCode,
    html: askama::Result<String>,
    /// Part of its policy about where its forms lead.
    forms: &'static str,
    /// Allows the page's own inline style, and nothing else, in its content security policy.
    nonce: String,
}

/// Forms that lead to this server.
const FORMS_LEAD_HERE: &str = "form-action 'self'; ";
/// The answer to a decision redirects to the application, which may redirect on to wherever it likes. Browsers hold the
/// policy against all of that, after the code was spent, so that any list of places would stop some application.
const FORMS_LEAD_TO_APPLICATIONS: &str = "";

/// Content that the login page shows again after a failed attempt.
#[derive(Default)]
pub(super) struct LoginTry<'a> {
    /// Reason of the failure.
    pub wrong: Option<&'a str>,
    /// The name that was typed.
    pub name: &'a str,
    /// True when a new password has to be chosen.
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
        Page { status, html, forms: FORMS_LEAD_HERE, nonce }
    }

    /// Returns where a patient decides what an application may do.
    pub(super) fn consent(nonce: String, request: &AuthorizationRequest, ticket: &str) -> Self {
        let html = Consent { nonce: &nonce, request, ticket }.render();
        Page { status: StatusCode::OK, html, forms: FORMS_LEAD_TO_APPLICATIONS, nonce }
    }

    /// Returns what went wrong, when only the person can be informed.
    pub(super) fn wrong(nonce: String, status: StatusCode, what: &str) -> Self {
        let html = Wrong { nonce: &nonce, what }.render();
        Page { status, html, forms: FORMS_LEAD_HERE, nonce }
    }

    /// Returns the same page with another status.
    pub(super) fn with_status(self, status: StatusCode) -> Self {
        Page { status, ..self }
    }
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        let policy = format!(
            "default-src 'none'; style-src 'nonce-{}'; {}frame-ancestors 'none'; base-uri 'none'",
            self.nonce, self.forms
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
