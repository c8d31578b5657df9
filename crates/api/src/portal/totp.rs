//! One's own second factor.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::caller::PortalCall;
use crate::body::typed::{Valid, body};
use crate::error::{ErrorBody, Result};
use crate::outer::ClientAddress;
use crate::state::ApiState;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(begin, confirm, remove))
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

body! {
    /// A code of the app.
    #[schema(example = json!({"code": "287082"}))]
    struct TotpCode {
        /// Six digits.
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

/// Makes a secret for a second factor, which counts once a code of it has been shown.
#[utoipa::path(post, path = "/totp", tag = "portal", security(("portal_cookie" = [], "csrf_token" = [])),
    responses((status = 200, body = TotpBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 409, body = ErrorBody)))]
async fn begin(State(state): State<ApiState>, PortalCall(caller): PortalCall) -> Result<Json<TotpBody>> {
    // Nothing is asked for until a code was shown: somebody whose app failed would be locked out.
    let new = state.platform.identity.begin_totp(&caller).await?;
    Ok(Json(TotpBody { secret: new.secret, otpauth_url: new.otpauth_url }))
}

/// Shows a first code, from when on each sign-in asks for one. A code works once, and from 30 s before to 60 s after
/// its time.
#[utoipa::path(put, path = "/totp", tag = "portal", request_body = TotpCode,
    security(("portal_cookie" = [], "csrf_token" = [])),
    responses((status = 204), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 422, body = ErrorBody), (status = 429, body = ErrorBody)))]
async fn confirm(
    State(state): State<ApiState>,
    address: ClientAddress,
    PortalCall(caller): PortalCall,
    Valid(TotpCode { code }): Valid<TotpCode>,
) -> Result<StatusCode> {
    state.platform.identity.confirm_totp(&caller, &code, &address.text()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Removes the second factor.
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
