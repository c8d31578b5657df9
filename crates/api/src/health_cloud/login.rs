//! Login on the Health Cloud: a token of the Users Cloud is exchanged for one of this cloud.

use axum::Json;
use axum::extract::State;
use platform::HealthLogin;
use serde::Serialize;
use store::{Gender, UserRole};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::body::typed::{Valid, body};
use crate::choices::{GenderName, UserRoleName};
use crate::error::{ErrorBody, Result};
use crate::state::ApiState;
use crate::times::iso_ms;

/// The routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(login))
}

body! {
    /// What is exchanged.
    struct TokenExchange {
        /// The token from the Users Cloud login.
        user_api_token: String,
    }
}

/// A login on the Health Cloud.
#[derive(Serialize, utoipa::ToSchema)]
struct HealthLoginBody {
    token: String,
    /// Minutes that the token lives.
    ttl: i64,
    /// Minutes from its first issue within which the token can be refreshed.
    refresh_ttl: String,
    user: HealthUser,
}

/// A patient, as the Health Cloud knows him.
#[derive(Serialize, utoipa::ToSchema)]
struct HealthUser {
    #[serde(rename = "_id")]
    id: String,
    uuid: String,
    birthday: Option<String>,
    created_at: String,
    customer_code: Option<String>,
    #[schema(value_type = Option<GenderName>)]
    gender: Option<&'static str>,
    /// Centimetres.
    height: Option<f64>,
    #[schema(value_type = UserRoleName)]
    role: &'static str,
    updated_at: String,
    /// Kilograms.
    weight: Option<f64>,
    skin_color: Option<i64>,
    hair_density: Option<i64>,
}

impl From<HealthLogin> for HealthLoginBody {
    fn from(login: HealthLogin) -> Self {
        let HealthLogin { issued, patient } = login;
        HealthLoginBody {
            token: issued.token,
            ttl: issued.ttl_minutes,
            refresh_ttl: issued.refresh_minutes.to_string(),
            user: HealthUser {
                id: patient.record_id,
                uuid: patient.uuid.to_string(),
                birthday: patient.profile.birthday,
                created_at: iso_ms(patient.created_ms),
                customer_code: patient.customer_code.map(|code| code.to_string()),
                gender: patient.profile.gender.map(Gender::name),
                height: patient.profile.height,
                role: UserRole::Patient.name(),
                updated_at: iso_ms(patient.updated_ms),
                weight: patient.profile.weight,
                skin_color: patient.profile.skin_color,
                hair_density: patient.profile.hair_density,
            },
        }
    }
}

/// Exchanges a token of the Users Cloud for one of the Health Cloud.
#[utoipa::path(post, path = "/login", tag = "logins", request_body = TokenExchange,
    responses((status = 200, body = HealthLoginBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 422, body = ErrorBody)))]
async fn login(
    State(state): State<ApiState>,
    Valid(TokenExchange { user_api_token }): Valid<TokenExchange>,
) -> Result<Json<HealthLoginBody>> {
    Ok(Json(state.platform.identity.health_login(&user_api_token).await?.into()))
}
