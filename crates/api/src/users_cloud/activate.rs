//! A patient uses their voucher.

use axum::Json;
use axum::extract::State;
use platform::{NewActivation, ProfileChange};
use store::VoucherCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::login::UsersLoginBody;
use crate::body::typed::{Sent, body};
use crate::client_address::ClientAddress;
use crate::error::{ErrorBody, Result};
use crate::person::OwnAttributes;
use crate::state::ApiState;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(activate))
}

body! {
    /// A voucher and who uses it.
    struct Activation {
        /// Voucher code.
        #[schema(example = "K7QXM2PA")]
        code: String,
        /// At least 10 characters.
        #[schema(example = "correct horse battery")]
        #[schema(min_length = 10, max_length = 1024)]
        password: String,
        #[serde(flatten)]
        own: OwnAttributes,
    }
}

/// Makes the patient of a voucher a confirmed one, and logs them in.
///
/// The voucher is the credential, and works once (409 `voucher_used`). The answer is a login. Person and body may be
/// named at once, as in `PATCH /users/me`. Wrong codes are slowed down as wrong passwords are (429).
#[utoipa::path(post, path = "/activate", tag = "logins", request_body = Activation,
    responses((status = 200, body = UsersLoginBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
    (status = 422, body = ErrorBody), (status = 429, body = ErrorBody)))]
async fn activate(
    State(state): State<ApiState>,
    address: ClientAddress,
    Sent { body, faults }: Sent<Activation>,
) -> Result<Json<UsersLoginBody>> {
    let Activation { code, password, own } = body;
    let ProfileChange { email, person, profile, .. } = own.into();
    let activation = NewActivation {
        code: VoucherCode::new(code),
        password,
        email,
        person,
        profile,
        unreadable: faults.into_faults(),
    };
    // No token is asked for: the voucher is the credential, and guessing it is slowed like guessing a password.
    let activated = state.platform.people.activate(activation, &address.text()).await?;
    // The app would otherwise ask for the password that was chosen a second ago.
    Ok(Json(state.platform.identity.login_activated(activated, &address.text()).await?.into()))
}
