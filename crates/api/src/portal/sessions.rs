//! One's own sessions.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Serialize;
use store::PortalSessionId;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::caller::PortalCall;
use crate::error::{ErrorBody, Result};
use crate::state::ApiState;
use crate::times::iso_ms;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(end))
}

/// A session of the portal. Times are ISO 8601 in UTC.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = OpenSession)]
struct OwnSessionBody {
    /// Identity of the session.
    #[schema(example = "65b1f0c2a4d3e5f60718293a")]
    id: String,
    /// ISO 8601 in UTC with milliseconds.
    #[schema(example = "2025-11-20T00:53:20.000Z")]
    created_at: String,
    /// Time at which it was last used.
    #[schema(example = "2025-11-20T00:58:20.000Z")]
    last_seen_at: String,
    /// Address that it was begun from.
    #[schema(example = "192.0.2.7")]
    address: String,
    /// Name by which the browser identifies itself.
    #[schema(example = "Mozilla/5.0")]
    user_agent: String,
    /// True when it is the one that asks.
    #[schema(example = true)]
    current: bool,
    /// True when it only reads.
    #[schema(example = false)]
    wall_display: bool,
}

/// Returns the sessions of the account.
///
/// Oldest first, those that have not ended; `current` marks the one that asks.
#[utoipa::path(get, path = "/sessions", tag = "portal", security(("portal_cookie" = [])),
    responses((status = 200, body = Vec<OwnSessionBody>), (status = 401, body = ErrorBody),
    (status = 403, body = ErrorBody)))]
async fn list(State(state): State<ApiState>, PortalCall(caller): PortalCall) -> Result<Json<Vec<OwnSessionBody>>> {
    let sessions = state.platform.identity.portal_sessions(&caller).await?.into_iter().map(|session| OwnSessionBody {
        current: session.id == *caller.session_id(),
        id: session.id.to_string(),
        created_at: iso_ms(session.created_ms),
        last_seen_at: iso_ms(session.last_seen_ms),
        address: session.address,
        user_agent: session.user_agent,
        wall_display: session.view_only,
    });
    Ok(Json(sessions.collect()))
}

/// Ends a session of the account.
///
/// The one that asks may end itself. A session of another account is 404.
#[utoipa::path(delete, path = "/sessions/{id}", tag = "portal", params(("id" = String, Path)),
    security(("portal_cookie" = [], "csrf_token" = [])),
    responses((status = 204), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody)))]
async fn end(
    State(state): State<ApiState>,
    PortalCall(caller): PortalCall,
    Path(id): Path<PortalSessionId>,
) -> Result<StatusCode> {
    state.platform.identity.end_portal_session(&caller, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
