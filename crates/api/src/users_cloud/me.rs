//! The caller.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use platform::ProfileChange;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::login::UserBody;
use crate::body::typed::Sent;
use crate::client_address::ClientAddress;
use crate::error::{ErrorBody, Result};
use crate::extract::UsersCall;
use crate::person::{OwnProfileChange, ReceiptBody, receipt_of};
use crate::state::ApiState;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(read, change, erase))
}

/// Returns the caller.
///
/// As a login returns them, and a patient's time zone as well. A token of a password that staff chose is refused (403
/// `password_change_required`).
#[utoipa::path(get, path = "/me", tag = "users",
    security(("users_token" = [])),
    responses((status = 200, body = UserBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn read(State(state): State<ApiState>, UsersCall(caller): UsersCall) -> Result<Json<UserBody>> {
    Ok(Json(UserBody::of_caller(state.platform.identity.owner(&caller).await?)))
}

/// Changes the caller's own attributes.
///
/// Another e-mail needs the present password as well. An account has only its names here.
#[utoipa::path(patch, path = "/me", tag = "users", security(("users_token" = [])),
    request_body = OwnProfileChange,
    responses((status = 200, body = UserBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
    (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody), (status = 415, body = ErrorBody),
    (status = 422, body = ErrorBody), (status = 429, body = ErrorBody)))]
async fn change(
    State(state): State<ApiState>,
    address: ClientAddress,
    UsersCall(caller): UsersCall,
    Sent { body, faults }: Sent<OwnProfileChange>,
) -> Result<Json<UserBody>> {
    let change = ProfileChange { unreadable: faults.into_faults(), ..body.into() };
    Ok(Json(UserBody::of_caller(state.platform.people.change_self(&caller, change, &address.text()).await?)))
}

/// Erases the caller with everything that was measured of them, for good.
///
/// An account cannot go (409 `last_manager`) while a study would have patients and nobody who manages it.
#[utoipa::path(delete, path = "/me", tag = "users",
    security(("users_token" = [])),
    responses((status = 200, body = ReceiptBody),
    (status = 202, body = ReceiptBody, description = "Erased; a write-ahead log is still being read, and `remains` says until \
        when it can hold something. There is no address to ask again: the caller's credentials end with the caller"),
    (status = 401, body = ErrorBody), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn erase(State(state): State<ApiState>, UsersCall(caller): UsersCall) -> Result<(StatusCode, Json<ReceiptBody>)> {
    Ok(receipt_of(state.platform.people.erase_self(&caller).await?))
}
