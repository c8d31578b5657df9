//! What becomes of a token of the Health Cloud: it is refreshed, or ended.

use axum::extract::State;
use axum::http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::client_address::ClientAddress;
use crate::error::{ErrorBody, Result};
use crate::extract::BearerToken;
use crate::refreshed::{RefreshBody, RefreshedToken};
use crate::state::ApiState;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(refresh)).routes(routes!(refresh_by_post)).routes(routes!(logout))
}

/// Returns a new token for an old one, which may have expired.
///
/// The old one ends; for one minute more it can be refreshed again, in case the answer was lost. Anyone who refreshes
/// it later ends all tokens that go back to the same exchange. Tokens of OAuth and those by which someone reads on a
/// patient's behalf are refused.
#[utoipa::path(get, path = "/auth/refresh", tag = "logins",
    security(("health_token" = [])),
    responses((status = 200, body = RefreshBody, headers(("Authorization" = String, description = "Bearer and the new token"))),
    (status = 401, body = ErrorBody), (status = 403, body = ErrorBody), (status = 429, body = ErrorBody)))]
async fn refresh(
    State(state): State<ApiState>,
    address: ClientAddress,
    BearerToken(token): BearerToken,
) -> Result<RefreshedToken> {
    Ok(RefreshedToken(state.platform.identity.health_refresh(&token, &address.text()).await?))
}

/// Does the same as GET.
///
/// Answers what GET answers, in the same form. The token comes in `Authorization`, and a body is not read.
#[utoipa::path(post, path = "/auth/refresh", tag = "logins",
    security(("health_token" = [])),
    responses((status = 200, body = RefreshBody, headers(("Authorization" = String, description = "Bearer and the new token"))),
    (status = 401, body = ErrorBody), (status = 403, body = ErrorBody), (status = 429, body = ErrorBody)))]
async fn refresh_by_post(state: State<ApiState>, address: ClientAddress, token: BearerToken) -> Result<RefreshedToken> {
    refresh(state, address, token).await
}

/// Ends the token, and those that it was refreshed from.
///
/// A token that has expired is taken as long as it could be refreshed.
#[utoipa::path(post, path = "/auth/logout", tag = "logins", security(("health_token" = [])),
    responses((status = 204), (status = 401, body = ErrorBody)))]
async fn logout(State(state): State<ApiState>, BearerToken(token): BearerToken) -> Result<StatusCode> {
    state.platform.identity.health_logout(&token).await?;
    Ok(StatusCode::NO_CONTENT)
}
