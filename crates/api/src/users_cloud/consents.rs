//! What a patient has allowed applications, and how they take it back.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use platform::oauth::GivenConsent;
use serde::Serialize;
use store::ConsentId;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::{ErrorBody, Result};
use crate::extract::UsersCall;
use crate::state::ApiState;
use crate::times::iso_ms;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(withdraw))
}

/// An application that the caller has granted access.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Consent)]
struct ConsentBody {
    /// Record identifier.
    #[schema(example = "65b1f0c2a4d3e5f60718293a")]
    id: String,
    /// Name of the application.
    #[schema(example = "Sleep diary")]
    client_name: String,
    /// Address of the privacy policy that patients are shown.
    #[schema(example = "https://diary.example/privacy")]
    privacy_policy_url: String,
    /// Words with blanks between.
    #[schema(example = "patient.read patient.sync")]
    scope: String,
    /// ISO 8601 in UTC with milliseconds.
    #[schema(example = "2025-11-20T00:53:20.000Z")]
    created_at: String,
}

impl From<GivenConsent> for ConsentBody {
    fn from(given: GivenConsent) -> Self {
        ConsentBody {
            id: given.consent.id.to_string(),
            client_name: given.client_name,
            privacy_policy_url: given.privacy_policy_url,
            scope: given.consent.scope,
            created_at: iso_ms(given.consent.given_ms),
        }
    }
}

/// Returns the applications that the caller has granted access, oldest first.
///
/// An application whose tokens have all ended is left out: it has to ask again.
#[utoipa::path(get, path = "/auth/consents", tag = "oauth",
    security(("users_token" = [])),
    responses((status = 200, body = Vec<ConsentBody>), (status = 401, body = ErrorBody),
    (status = 403, body = ErrorBody)))]
async fn list(State(state): State<ApiState>, UsersCall(caller): UsersCall) -> Result<Json<Vec<ConsentBody>>> {
    let given = state.platform.identity.consents(&caller).await?;
    Ok(Json(given.into_iter().map(ConsentBody::from).collect()))
}

/// Withdraws a consent.
///
/// The tokens of the application end at once; it has to ask again.
#[utoipa::path(delete, path = "/auth/consents/{id}", tag = "oauth", params(("id" = String, Path)),
    security(("users_token" = [])),
    responses((status = 204), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn withdraw(
    State(state): State<ApiState>,
    UsersCall(caller): UsersCall,
    Path(id): Path<ConsentId>,
) -> Result<StatusCode> {
    state.platform.identity.withdraw_consent(&caller, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
