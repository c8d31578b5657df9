//! One's own second factor and its recovery codes.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::caller::PortalCall;
use crate::body::typed::{Valid, body};
use crate::client_address::ClientAddress;
use crate::error::{ErrorBody, Result};
use crate::state::ApiState;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(begin, confirm, remove)).routes(routes!(left, renew))
}

/// A secret for an app, shown this once.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = TotpSecret)]
struct TotpBody {
    /// In base 32.
    #[schema(example = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")]
    secret: String,
    /// The same as an address, for a QR code.
    #[schema(
        example = "otpauth://totp/Pulseward:ada@study.example?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Pulseward"
    )]
    otpauth_url: String,
}

/// Recovery codes, shown this once.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = RecoveryCodes)]
struct RecoveryCodesBody {
    /// Each signs in once in the place of a code of the app.
    #[schema(example = json!(["gayt-emzu-gu3d-oobz"]))]
    recovery_codes: Vec<String>,
}

/// Number of recovery codes that are left.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = RecoveryCodesLeft)]
struct LeftBody {
    /// Codes that have not been used.
    #[schema(example = 9)]
    left: i64,
}

body! {
    /// A code of the app.
    #[schema(example = json!({"code": "287082"}))]
    struct TotpCode {
        /// Six digits; a blank between two groups is skipped.
        #[schema(min_length = 6, max_length = 7, pattern = "^[0-9]{3} ?[0-9]{3}$")]
        code: String,
    }
}

body! {
    /// One's own password.
    struct OwnPassword {
        /// The password.
        #[schema(example = "correct horse battery")]
        password: String,
    }
}

/// Makes a secret for a second factor.
///
/// It counts once a code of it has been shown (PUT). Until then it may be made again, which ends the one before. An
/// account that has a second factor gets 409 `totp_is_set`.
#[utoipa::path(post, path = "/totp", tag = "portal", security(("portal_cookie" = [], "csrf_token" = [])),
    responses((status = 200, body = TotpBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 409, body = ErrorBody)))]
async fn begin(State(state): State<ApiState>, PortalCall(caller): PortalCall) -> Result<Json<TotpBody>> {
    // Nothing is asked for until a code was shown: somebody whose app failed would be locked out.
    let new = state.platform.identity.begin_totp(&caller).await?;
    Ok(Json(TotpBody { secret: new.secret, otpauth_url: new.otpauth_url }))
}

/// Shows a first code, from when on each sign-in asks for one.
///
/// Answers ten recovery codes, which cannot be read again. A code works once, and from 30 s before to 60 s after its
/// time.
#[utoipa::path(put, path = "/totp", tag = "portal", request_body = TotpCode,
    security(("portal_cookie" = [], "csrf_token" = [])),
    responses((status = 200, body = RecoveryCodesBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 422, body = ErrorBody),
        (status = 429, body = ErrorBody)))]
async fn confirm(
    State(state): State<ApiState>,
    address: ClientAddress,
    PortalCall(caller): PortalCall,
    Valid(TotpCode { code }): Valid<TotpCode>,
) -> Result<Json<RecoveryCodesBody>> {
    let recovery_codes = state.platform.identity.confirm_totp(&caller, &code, &address.text()).await?;
    Ok(Json(RecoveryCodesBody { recovery_codes }))
}

/// Removes the second factor and its recovery codes.
///
/// The password is asked for, and no code: somebody who has lost the phone has none. Afterwards sign-ins need the
/// password alone.
#[utoipa::path(delete, path = "/totp", tag = "portal", request_body = OwnPassword,
    security(("portal_cookie" = [], "csrf_token" = [])),
    responses((status = 204), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 422, body = ErrorBody), (status = 429, body = ErrorBody)))]
async fn remove(
    State(state): State<ApiState>,
    address: ClientAddress,
    PortalCall(caller): PortalCall,
    Valid(OwnPassword { password }): Valid<OwnPassword>,
) -> Result<StatusCode> {
    // The password and not a code: who has lost the phone has no code.
    state.platform.identity.remove_totp(&caller, &password, &address.text()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns how many recovery codes have not been used.
///
/// An account without a second factor is 404.
#[utoipa::path(get, path = "/totp/recovery-codes", tag = "portal", security(("portal_cookie" = [])),
    responses((status = 200, body = LeftBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody)))]
async fn left(State(state): State<ApiState>, PortalCall(caller): PortalCall) -> Result<Json<LeftBody>> {
    Ok(Json(LeftBody { left: state.platform.identity.recovery_codes_left(&caller).await? }))
}

/// Makes ten new recovery codes.
///
/// They cannot be read again; those of before are good no more. The password is asked for. An account without a second
/// factor is 404.
#[utoipa::path(post, path = "/totp/recovery-codes", tag = "portal", request_body = OwnPassword,
    security(("portal_cookie" = [], "csrf_token" = [])),
    responses((status = 200, body = RecoveryCodesBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 422, body = ErrorBody),
        (status = 429, body = ErrorBody)))]
async fn renew(
    State(state): State<ApiState>,
    address: ClientAddress,
    PortalCall(caller): PortalCall,
    Valid(OwnPassword { password }): Valid<OwnPassword>,
) -> Result<Json<RecoveryCodesBody>> {
    // The password again: codes would open the account for anyone who finds the page open.
    let recovery_codes = state.platform.identity.renew_recovery_codes(&caller, &password, &address.text()).await?;
    Ok(Json(RecoveryCodesBody { recovery_codes }))
}
