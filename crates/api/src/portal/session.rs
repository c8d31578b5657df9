//! Sign in, ask whether the session goes on, sign out.

use axum::Json;
use axum::extract::State;
use axum::http::header::{SET_COOKIE, USER_AGENT};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use platform::portal::{NewPortalLogin, PortalCaller, PortalLogin};
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::account::AccountBody;
use super::caller::{OwnCall, is_session_expired};
use super::cookie;
use crate::body::typed::{Valid, body};
use crate::client_address::ClientAddress;
use crate::error::{ApiError, ErrorBody, Result};
use crate::parameters::Parameters;
use crate::state::ApiState;
use crate::times::iso_ms;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(open, show, close))
}

body! {
    /// Name, password and, where there is a second factor, its code.
    struct SignIn {
        /// Of an account; patients have no portal.
        #[schema(example = "ada@study.example")]
        email: String,
        /// The password.
        #[schema(example = "correct horse battery")]
        password: String,
        /// Six digits, or a recovery code.
        #[schema(example = "287082")]
        totp: Option<String>,
        /// True when the session is for a display on a wall: it only reads, and is not locked when nobody touches it.
        #[schema(example = false)]
        wall_display: Option<bool>,
    }
}

/// A session of the portal.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = PortalSession)]
struct SessionBody {
    /// Value to send as `X-CSRF-Token`.
    #[schema(example = "3q2-7wAAB0RlYWRiZWVmLWRlYWRiZWVmLWRlYWRiZWU")]
    csrf_token: String,
    /// Whose session it is.
    account: AccountBody,
    /// Seconds after which the session is locked when nobody uses it; null for a display on a wall.
    #[schema(example = 900)]
    idle_s: Option<i64>,
    /// Time at which the session ends whatever happens, ISO 8601 in UTC.
    #[schema(example = "2025-11-20T12:53:20.000Z")]
    ends_at: String,
    /// True when an operator chose the password: nothing else can be done until it is changed.
    #[schema(example = false)]
    must_change_password: bool,
    /// True when there is a second factor.
    #[schema(example = true)]
    totp: bool,
    /// True when the session only reads.
    #[schema(example = false)]
    wall_display: bool,
}

/// Signs in.
///
/// The session is in the cookie `pulseward_session` (`__Host-pulseward_session` where the public address is https),
/// which scripts cannot read. An unknown name, a wrong password and a wrong code answer the same.
#[utoipa::path(post, path = "/session", tag = "portal", request_body = SignIn, security(()),
    responses((status = 200, body = SessionBody), (status = 401, body = ErrorBody,
        description = "`invalid_credentials`, or `totp_required` when a code has to come along"),
    (status = 409, body = ErrorBody, description = "`second_factor_unreadable`: the store was restored without its \
        master key, and an operator has to take the second factor away"),
    (status = 422, body = ErrorBody), (status = 429, body = ErrorBody)))]
async fn open(
    State(state): State<ApiState>,
    address: ClientAddress,
    headers: HeaderMap,
    Valid(SignIn { email, password, totp, wall_display }): Valid<SignIn>,
) -> Result<Response> {
    // Shown in the list of one's sessions, so that a person recognises a device that is not theirs.
    let user_agent = headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let wall_display = wall_display.unwrap_or(false);
    let login = NewPortalLogin { email, password, totp, wall_display, user_agent };
    match state.platform.identity.open_portal(login, &address.text()).await? {
        PortalLogin::Refused => Err(refused("invalid_credentials", "the credentials are not valid")),
        // Reported only after the password was right: before, it would say who has a second factor.
        PortalLogin::TotpRequired => Err(refused("totp_required", "a code of the second factor is needed")),
        PortalLogin::Opened(opened) => {
            let body = session_body(&state, &opened.caller).await?;
            Ok((
                [(SET_COOKIE, cookie::opened(&state.platform.core.settings().integration_url, &opened.cookie))],
                Json(body),
            )
                .into_response())
        }
    }
}

/// Returns the session of the cookie.
///
/// With the token for the header `X-CSRF-Token`. Asking keeps the session from being locked, except with `peek=1`.
/// Without a session the answer is 401, with `optional=1` 204.
#[utoipa::path(get, path = "/session", tag = "portal", params(("peek" = Option<i64>, Query,
        description = "1 to ask without keeping the session from being locked"), ("optional" = Option<i64>, Query,
        description = "1 to be answered 204 and not 401 where there is no session")), security((), ("portal_cookie" = [])),
    responses((status = 200, body = SessionBody), (status = 204, description = "no session, with `optional=1`"),
        (status = 401, body = ErrorBody)))]
async fn show(State(state): State<ApiState>, parameters: Parameters, caller: Result<OwnCall>) -> Result<Response> {
    let is_optional = parameters.flag("optional")?;
    // Read by the caller's extractor, which takes anything else for no.
    parameters.flag("peek")?;
    match caller {
        Ok(OwnCall(caller)) => Ok(Json(session_body(&state, &caller).await?).into_response()),
        // At a first visit there is none, and browsers report a 401 as an error of the page.
        Err(error) if is_optional && is_session_expired(&error) => Ok(StatusCode::NO_CONTENT.into_response()),
        Err(error) => Err(error),
    }
}

/// Signs out.
///
/// The session ends in the store, and the cookie is taken away.
#[utoipa::path(delete, path = "/session", tag = "portal", security(("portal_cookie" = [], "csrf_token" = [])),
    responses((status = 204), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody)))]
async fn close(State(state): State<ApiState>, OwnCall(caller): OwnCall) -> Result<Response> {
    state.platform.identity.close_portal(&caller).await?;
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, cookie::closed(&state.platform.core.settings().integration_url))])
        .into_response())
}

async fn session_body(state: &ApiState, caller: &PortalCaller) -> Result<SessionBody> {
    let account = state.platform.identity.portal_account(caller).await?;
    Ok(SessionBody {
        csrf_token: caller.csrf_token().to_owned(),
        account: AccountBody::of(account, state.platform.core.now_ms()),
        // A display on a wall has nobody to touch it, and cannot write.
        idle_s: (!caller.view_only()).then_some(state.platform.core.settings().portal_idle_minutes * 60),
        ends_at: iso_ms(caller.ends_ms()),
        must_change_password: caller.must_change_password(),
        totp: caller.has_totp(),
        wall_display: caller.view_only(),
    })
}

fn refused(code: &'static str, message: &'static str) -> ApiError {
    ApiError::Particular { status: StatusCode::UNAUTHORIZED, code, message: message.into() }
}
