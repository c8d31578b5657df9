//! A patient uses their voucher.

use axum::Json;
use axum::extract::State;
use platform::{FieldFaults, NewActivation, Person};
use serde::Deserialize;
use store::Profile;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::login::UsersLoginBody;
use crate::body::Fields;
use crate::error::{ErrorBody, Result};
use crate::outer::ClientAddress;
use crate::person::read_gender;
use crate::state::ApiState;

/// The routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(activate))
}

/// A voucher and who uses it.
#[derive(Deserialize, utoipa::ToSchema)]
#[expect(dead_code, reason = "describes the body, whose fields are read one by one")]
struct ActivateRequest {
    /// Voucher code.
    code: String,
    /// At least 10 characters.
    password: String,
    first_name: Option<String>,
    last_name: Option<String>,
    email: Option<String>,
    /// YYYY-MM-DD.
    birthday: Option<String>,
    /// `female`, `male` or `other`.
    gender: Option<String>,
    country: Option<String>,
    /// Centimetres.
    height: Option<f64>,
    /// Kilograms.
    weight: Option<f64>,
    /// Fitzpatrick scale, 1 to 6.
    skin_color: Option<i64>,
    /// 1 to 4.
    hair_density: Option<i64>,
    /// IANA name.
    time_zone: Option<String>,
    agreement_to_terms_of_use: Option<bool>,
}

/// Makes the patient of a voucher a confirmed one and logs him in.
#[utoipa::path(post, path = "/activate", tag = "logins", request_body = ActivateRequest,
    responses((status = 200, body = UsersLoginBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
    (status = 422, body = ErrorBody), (status = 429, body = ErrorBody)))]
async fn activate(
    State(state): State<ApiState>,
    address: ClientAddress,
    mut fields: Fields,
) -> Result<Json<UsersLoginBody>> {
    let mut activation = NewActivation {
        code: fields.required_text("code"),
        password: fields.required_text("password"),
        email: fields.text("email"),
        person: Person {
            first_name: fields.text("first_name"),
            last_name: fields.text("last_name"),
            country: fields.text("country"),
            agreement_to_terms_of_use: fields.flag("agreement_to_terms_of_use"),
            ..Person::default()
        },
        profile: Profile {
            birthday: fields.text("birthday"),
            gender: read_gender(&mut fields),
            height: fields.number("height"),
            weight: fields.number("weight"),
            skin_color: fields.integer("skin_color"),
            hair_density: fields.integer("hair_density"),
            time_zone: fields.text("time_zone"),
        },
        unreadable: FieldFaults::new(),
    };
    activation.unreadable = fields.into_faults();
    // No token is asked for: the voucher is the credential, and guessing it is slowed like guessing a password.
    let patient = state.platform.people.activate(activation, &address.text()).await?;
    // The app would otherwise ask for the password that was chosen a second ago.
    Ok(Json(state.platform.identity.login_activated(patient).await?.into()))
}
