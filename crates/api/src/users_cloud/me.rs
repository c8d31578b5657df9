//! The caller himself.

use axum::Json;
use axum::extract::State;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::login::UserBody;
use crate::ApiState;
use crate::error::{ErrorBody, Result};
use crate::extract::UsersCall;

/// The routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(read))
}

/// The caller, as a login tells him.
#[utoipa::path(get, path = "/me", tag = "users",
    responses((status = 200, body = UserBody), (status = 401, body = ErrorBody)))]
async fn read(State(state): State<ApiState>, UsersCall(caller): UsersCall) -> Result<Json<UserBody>> {
    Ok(Json(state.platform.owner(&caller.owner).await?.into()))
}
