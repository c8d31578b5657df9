//! The authorization address: a person logs in, sees what an application asks for, and decides.

use axum::extract::{RawQuery, State};
use axum::http::header::{HOST, LOCATION, ORIGIN, RETRY_AFTER, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use platform::oauth::{Asked, AuthorizationRequest, Decision, LoginStep};
use platform::{Credentials, LoginName, Platform, PlatformError};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::browser::Browser;
use super::form::{Form, FormText, pairs};
use super::pages::{LoginTry, Page};
use crate::body::typed::body;
use crate::client_address::ClientAddress;
use crate::error::{ApiError, Result};
use crate::state::ApiState;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(ask)).routes(routes!(submit))
}

/// Returns the login page for an application's request.
///
/// What is wrong with the request is reported to the application, at its own address; only when client and address do
/// not belong together, to the person.
#[utoipa::path(get, path = "/oauth/authorize", tag = "oauth",
    params(("response_type" = String, Query, description = "`code`"), ("client_id" = String, Query),
        ("redirect_uri" = String, Query, description = "one of the client's, byte by byte; the port may differ on the loopback interface"),
        ("scope" = Option<String>, Query, description = "`patient.read` (default), `patient.sync`"),
        ("state" = Option<String>, Query), ("code_challenge" = Option<String>, Query),
        ("code_challenge_method" = Option<String>, Query, description = "`S256`")),
    responses((status = 200, body = String, content_type = "text/html"),
        (status = 303, description = "to the application, with `error`"),
        (status = 400, body = String, content_type = "text/html")))]
async fn ask(State(state): State<ApiState>, browser: Browser, RawQuery(query): RawQuery) -> Result<Response> {
    let parameters = pairs(query.unwrap_or_default().as_bytes());
    let request = match state.platform.identity.authorization_request(&parameters).await? {
        Asked::Request(request) => request,
        // Only when client and address have been found to belong together: else this would send people anywhere.
        Asked::Refused(address) => return Ok(redirect(&address)),
        Asked::Unanswerable(what) => {
            return Ok(Page::wrong(nonce(&state.platform), StatusCode::BAD_REQUEST, what).into_response());
        }
    };
    // The whole request travels in the sealed ticket: no state is kept for people who never come back.
    let ticket = state.platform.identity.begin_authorization((*request).clone(), &browser.id)?;
    let mut page = Page::login(nonce(&state.platform), &request, &ticket, &LoginTry::default()).into_response();
    if let Some(cookie) = browser.cookie() {
        page.headers_mut().insert(SET_COOKIE, cookie);
    }
    Ok(page)
}

body! {
    /// Fields of the forms of the pages.
    struct AuthorizationForm {
        /// Request that the page was made for, sealed for the browser.
        #[schema(value_type = String)]
        #[schema(example = json!(concat!(
            "bjQLnP-zepicpUTmu3gKLHiQHT-zNzh2hRGjBhevoB1L9RIvNEVUxTveLruM0rfj0WAK1jHDhaXXzOI8d4VFmtvBtMkA_-SN",
            "V1tdpcY4BAEl9l2w_j4kSUt26phkV9mGCE_tCLl4r019GWp0RqhrWACeY2thHbFiEbZamq3_KcXlLZxQjFAjRzRNjAetkcvW",
            "Bor8df9ikvBioJyjgcieced7mprp4wsNvbb1EKJk753ngVAde2uSronrBZxat0PbZ1humPrSfaC5lovAOaHvNMk5ubjlI6i-",
            "-J1HhgjF7PbKNYdY9tJ-bPRScpN5d6dI_Yg5HbZ5ztp9x78fAF7oeb7q13mUz1czQewXtYu_frNNJxHJk8HZdrEosxiNwYKa"
        )))]
        ticket: FormText,
        /// `login`, `allow` or `deny`.
        #[schema(value_type = String, pattern = "^(login|allow|deny)$")]
        #[schema(example = "login")]
        action: FormText,
        /// E-mail or voucher code.
        #[schema(value_type = Option<String>)]
        #[schema(example = "rita@study.example")]
        name: FormText,
        /// The password.
        #[schema(value_type = Option<String>)]
        #[schema(example = "correct horse battery")]
        password: FormText,
        /// A new password of at least 10 characters, where staff has set the present one.
        #[schema(value_type = Option<String>)]
        #[schema(example = "another long password")]
        new_password: FormText,
    }
}

/// Takes the forms of the pages.
///
/// The login leads to the consent page, and the decision leads back to the application.
#[utoipa::path(post, path = "/oauth/authorize", tag = "oauth",
    request_body(content = AuthorizationForm, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, body = String, content_type = "text/html"),
        (status = 303, description = "to the application, with `code` or `error`"),
        (status = 400, body = String, content_type = "text/html"),
        (status = 403, body = String, content_type = "text/html"),
        (status = 429, body = String, content_type = "text/html")))]
async fn submit(
    State(state): State<ApiState>,
    address: ClientAddress,
    browser: Browser,
    headers: HeaderMap,
    form: Result<Form<AuthorizationForm>>,
) -> Result<Response> {
    let platform = &state.platform;
    let wrong = |status, what: &str| Ok(Page::wrong(nonce(platform), status, what).into_response());
    let answer = async {
        let Form(form) = form?;
        // In addition to the ticket, which a page of another site cannot read: browsers that report the origin are
        // believed.
        if !is_from_our_page(&headers, &platform.core.settings().health_url) {
            return wrong(StatusCode::FORBIDDEN, "The form was sent by another site.");
        }
        take(platform, &form, &browser, &address.text()).await
    };
    match answer.await {
        Err(ApiError::Platform(PlatformError::Oauth { .. })) => {
            wrong(StatusCode::BAD_REQUEST, "The form cannot be read.")
        }
        answer => answer,
    }
}

async fn take(platform: &Platform, form: &AuthorizationForm, browser: &Browser, address: &str) -> Result<Response> {
    let wrong = |status, what: &str| Ok(Page::wrong(nonce(platform), status, what).into_response());
    let ticket = form.ticket.one()?.unwrap_or_default();
    let action = form.action.one()?.unwrap_or_default();
    let request = match platform.identity.authorization_of(ticket, &browser.id) {
        Ok(request) => request,
        Err(PlatformError::Forbidden(_)) => {
            return wrong(StatusCode::FORBIDDEN, "This page is no longer valid, or your browser refuses cookies.");
        }
        Err(error) => return Err(error.into()),
    };
    match action {
        "login" => login(platform, &request, LoginForm { ticket, browser, form }, address).await,
        // The ticket of the login page opens the login only; a consent needs the one that was made after it.
        "allow" | "deny" if platform.identity.is_logged_in(ticket, &browser.id)? => {
            let decision = if action == "allow" { Decision::Allow } else { Decision::Deny };
            match platform.identity.authorization_decision(ticket, &browser.id, decision).await {
                Ok(address) => Ok(redirect(&address)),
                Err(PlatformError::Forbidden(_)) => {
                    wrong(StatusCode::FORBIDDEN, "This page has been answered already, or is no longer valid.")
                }
                Err(error) => Err(error.into()),
            }
        }
        "allow" | "deny" => wrong(StatusCode::FORBIDDEN, "Nobody has logged in on this page."),
        _ => wrong(StatusCode::BAD_REQUEST, "The form cannot be read."),
    }
}

/// A login page as it comes back.
struct LoginForm<'a> {
    /// The state that the page carried.
    ticket: &'a str,
    browser: &'a Browser,
    form: &'a AuthorizationForm,
}

async fn login(
    platform: &Platform,
    request: &AuthorizationRequest,
    sent: LoginForm<'_>,
    address: &str,
) -> Result<Response> {
    let LoginForm { ticket, browser, form } = sent;
    let (name, password) = (form.name.one()?.unwrap_or_default(), form.password.one()?.unwrap_or_default());
    let new_password = form.new_password.one()?;
    let login_name =
        // One field for both: people do not know which of the two the service calls a name.
        if name.contains('@') { LoginName::Email(name.to_owned()) } else { LoginName::Code(name.to_owned()) };
    let credentials = Credentials { name: login_name, password: password.to_owned() };
    let again = |wrong: &str, choose_password| {
        let tried = LoginTry { wrong: Some(wrong), name, choose_password };
        Page::login(nonce(platform), request, ticket, &tried)
    };
    let outcome = platform.identity.authorization_login(ticket, &browser.id, credentials, new_password, address).await;
    match outcome {
        Ok(LoginStep::Consent(ticket)) => Ok(Page::consent(nonce(platform), request, &ticket).into_response()),
        Ok(LoginStep::ChangePassword) => {
            Ok(again("Your password was set by staff. Choose a new one to go on.", true).into_response())
        }
        Ok(LoginStep::NotAPatient) => Ok(again("Only a patient has data to share.", false).into_response()),
        // The same page again with what was typed, but for the password.
        Err(PlatformError::Unauthenticated(_)) => {
            Ok(again("The name or the password is not right.", new_password.is_some()).into_response())
        }
        Err(PlatformError::Invalid(errors)) => {
            let messages: Vec<&str> = errors.values().flatten().map(String::as_str).collect();
            Ok(again(&format!("The new password {}.", messages.join(", ")), true).into_response())
        }
        Err(PlatformError::TooMany { retry_after_s }) => {
            let page = again(&format!("Too many tries. Wait {retry_after_s} seconds."), new_password.is_some());
            let mut page = page.with_status(StatusCode::TOO_MANY_REQUESTS).into_response();
            page.headers_mut().insert(RETRY_AFTER, HeaderValue::from(retry_after_s));
            Ok(page)
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns what browsers report of the place that a form comes from. Others say nothing; the ticket protects those who
/// do not.
fn is_from_our_page(headers: &HeaderMap, our_url: &str) -> bool {
    let is_ours = |origin: &HeaderValue| {
        let origin = origin.to_str().unwrap_or_default();
        let Some((_, place)) = origin.split_once("://") else { return false };
        // Behind a proxy the page may be served under a name that the configuration does not have.
        let is_named = headers.get(HOST).is_some_and(|host| host.as_bytes().eq_ignore_ascii_case(place.as_bytes()));
        is_named || our_url.strip_prefix(origin).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    headers.get_all(ORIGIN).iter().all(is_ours)
        && headers.get("sec-fetch-site").is_none_or(|site| site == "same-origin" || site == "none")
}

/// Returns the nonce by which a page's content security policy allows its style, drawn for each page.
fn nonce(platform: &Platform) -> String {
    STANDARD.encode(platform.core.random_bytes::<16>())
}

/// With 303 the browser comes with GET, and so never brings the form with the password along.
fn redirect(address: &str) -> Response {
    match HeaderValue::from_str(address) {
        Ok(address) => (StatusCode::SEE_OTHER, [(LOCATION, address)]).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
