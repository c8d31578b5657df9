//! What becomes of a token of the Users Cloud: it is refreshed, ended, or replaced with the password.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use platform::new_password_faults;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::login::UsersLoginBody;
use crate::body::typed::{Sent, body};
use crate::client_address::ClientAddress;
use crate::error::{ErrorBody, Result};
use crate::extract::{BearerToken, PasswordCall};
use crate::refreshed::{RefreshBody, RefreshedToken};
use crate::state::ApiState;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(refresh))
        .routes(routes!(refresh_by_post))
        .routes(routes!(logout))
        .routes(routes!(change_password))
}

/// Returns a new token for an old one, which may have expired.
///
/// The old one ends; for one minute more it can be refreshed again, in case the answer was lost. Anyone who refreshes
/// it later ends the whole login.
///
/// A token of a password that staff chose is not refreshed (403 `password_change_required`).
#[utoipa::path(get, path = "/auth/refresh", tag = "logins",
    security(("users_token" = [])),
    responses((status = 200, body = RefreshBody, headers(("Authorization" = String, description = "Bearer and the new token"))),
    (status = 401, body = ErrorBody), (status = 403, body = ErrorBody), (status = 429, body = ErrorBody)))]
async fn refresh(
    State(state): State<ApiState>,
    address: ClientAddress,
    // Not the extractor of valid tokens: one that has expired is what is refreshed most often.
    BearerToken(token): BearerToken,
) -> Result<RefreshedToken> {
    Ok(RefreshedToken(state.platform.identity.users_refresh(&token, &address.text()).await?))
}

/// Does the same as GET.
///
/// Answers what GET answers, in the same form. The token comes in `Authorization`, and a body is not read.
#[utoipa::path(post, path = "/auth/refresh", tag = "logins",
    security(("users_token" = [])),
    responses((status = 200, body = RefreshBody, headers(("Authorization" = String, description = "Bearer and the new token"))),
    (status = 401, body = ErrorBody), (status = 403, body = ErrorBody), (status = 429, body = ErrorBody)))]
async fn refresh_by_post(state: State<ApiState>, address: ClientAddress, token: BearerToken) -> Result<RefreshedToken> {
    refresh(state, address, token).await
}

/// Ends the login: its tokens of the Users Cloud, and those of the Health Cloud that they were exchanged for.
///
/// A token that has expired is taken as long as it could be refreshed.
#[utoipa::path(post, path = "/auth/logout", tag = "logins", security(("users_token" = [])),
    responses((status = 204), (status = 401, body = ErrorBody)))]
// Takes expired tokens: who logs out late means the login, whose refresh would still be good.
async fn logout(State(state): State<ApiState>, BearerToken(token): BearerToken) -> Result<StatusCode> {
    state.platform.identity.users_logout(&token).await?;
    Ok(StatusCode::NO_CONTENT)
}

body! {
    /// The present password and a new one.
    struct PasswordChange {
        /// The present password.
        #[schema(example = "correct horse battery")]
        password: String,
        /// At least 10 characters.
        #[schema(example = "another long password")]
        #[schema(min_length = 10, max_length = 1024)]
        new_password: String,
    }
}

/// Chooses a new password. Every token on both clouds ends, also the one of this call; the answer is a new login.
///
/// After a login with a password that staff chose, this is all that its token opens.
#[utoipa::path(post, path = "/auth/password", tag = "logins", security(("users_token" = [])),
    request_body = PasswordChange,
    responses((status = 200, body = UsersLoginBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody), (status = 422, body = ErrorBody), (status = 429, body = ErrorBody)))]
async fn change_password(
    State(state): State<ApiState>,
    address: ClientAddress,
    PasswordCall(caller): PasswordCall,
    sent: Sent<PasswordChange>,
) -> Result<Json<UsersLoginBody>> {
    let PasswordChange { password, new_password } =
        sent.judged(|change| change, |change, _| new_password_faults("new_password", &change.new_password))?;
    // The old password is asked for although there is a token: a phone that lies open must not be enough.
    let login = state.platform.identity.change_password(&caller, &password, &new_password, &address.text()).await?;
    Ok(Json(login.into()))
}
