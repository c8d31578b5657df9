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

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(login))
}

body! { of the specification:
    /// Token that is exchanged for one of the Health Cloud.
    struct TokenExchange {
        /// The token from the Users Cloud login.
        #[schema(example = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIuLi4ifQ.c2lnbmF0dXJl")]
        user_api_token: String,
    }
}

/// A login on the Health Cloud.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = HealthLogin)]
struct HealthLoginBody {
    /// A token of the Health Cloud.
    #[schema(example = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIuLi4ifQ.c2lnbmF0dXJl")]
    token: String,
    /// Minutes that the token lives.
    #[schema(example = 60)]
    ttl: i64,
    /// Minutes from its first issue within which the token can be refreshed.
    #[schema(example = "518400")]
    refresh_ttl: String,
    /// The patient.
    user: HealthUser,
}

/// A patient, as the Health Cloud knows them.
#[derive(Serialize, utoipa::ToSchema)]
struct HealthUser {
    /// Record identifier.
    #[serde(rename = "_id")]
    #[schema(example = "65b1f0c2a4d3e5f60718293a")]
    id: String,
    /// Uuid of the patient.
    #[schema(example = "80876de9-4e89-449a-9a8f-c1e11f720437")]
    uuid: String,
    /// YYYY-MM-DD.
    #[schema(example = "1984-06-02")]
    birthday: Option<String>,
    /// ISO 8601 in UTC with milliseconds.
    #[schema(example = "2025-11-20T00:53:20.000Z")]
    created_at: String,
    /// Code of the study that the patient was enrolled in.
    #[schema(example = "JYVPQ")]
    customer_code: Option<String>,
    /// Gender, where it is known.
    #[schema(value_type = Option<GenderName>)]
    gender: Option<&'static str>,
    /// Centimetres.
    #[schema(example = 172)]
    height: Option<f64>,
    /// Role.
    #[schema(value_type = UserRoleName)]
    role: &'static str,
    /// ISO 8601 in UTC with milliseconds.
    #[schema(example = "2025-11-20T00:53:20.000Z")]
    updated_at: String,
    /// Kilograms.
    #[schema(example = 64.5)]
    weight: Option<f64>,
    /// Fitzpatrick scale, 1 to 6.
    #[schema(example = 2)]
    skin_color: Option<i64>,
    /// 1 to 4.
    #[schema(example = 2)]
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
                id: patient.record_id.to_string(),
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
///
/// A token of a password that staff chose is refused (403 `password_change_required`).
#[utoipa::path(post, path = "/login", tag = "logins", security(()),
    request_body = TokenExchange,
    responses((status = 200, body = HealthLoginBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 422, body = ErrorBody)))]
async fn login(
    State(state): State<ApiState>,
    Valid(TokenExchange { user_api_token }): Valid<TokenExchange>,
) -> Result<Json<HealthLoginBody>> {
    Ok(Json(state.platform.identity.health_login(&user_api_token).await?.into()))
}
