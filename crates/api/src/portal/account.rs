//! One's own account.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use platform::{OwnAccount, new_password_faults};
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::caller::{OwnCall, PortalCall};
use crate::body::typed::{Sent, body};
use crate::choices::RoleName;
use crate::client_address::ClientAddress;
use crate::error::{ErrorBody, Result};
use crate::state::ApiState;
use crate::times::iso_ms;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(show)).routes(routes!(change_password))
}

/// An account.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Account)]
pub(super) struct AccountBody {
    /// Uuid of the account.
    #[schema(example = "80876de9-4e89-449a-9a8f-c1e11f720437")]
    uuid: String,
    /// E-mail address.
    #[schema(example = "ada@study.example")]
    email: String,
    /// `researcher`, `hcp` or `admin`.
    #[schema(value_type = RoleName)]
    role: &'static str,
    /// First name.
    #[schema(example = "Rita")]
    first_name: Option<String>,
    /// Last name.
    #[schema(example = "Rossi")]
    last_name: Option<String>,
    /// True when its subscription is active, which audit logs ask for.
    #[schema(example = true)]
    has_subscription: bool,
    /// Time until which the subscription is or was active, ISO 8601 in UTC; null without one.
    #[schema(example = "2025-12-20T00:53:20.000Z")]
    subscription_until: Option<String>,
    /// ISO 8601 in UTC with milliseconds.
    #[schema(example = "2025-11-20T00:53:20.000Z")]
    created_at: String,
}

impl AccountBody {
    pub(super) fn of(account: OwnAccount, now_ms: i64) -> Self {
        AccountBody {
            uuid: account.uuid.to_string(),
            email: account.email,
            role: account.role.name(),
            first_name: account.first_name,
            last_name: account.last_name,
            has_subscription: account.subscription_until_ms.is_some_and(|until_ms| now_ms < until_ms),
            subscription_until: account.subscription_until_ms.map(iso_ms),
            created_at: iso_ms(account.created_ms),
        }
    }
}

body! {
    /// The present password and another.
    #[schema(example = json!({"current": "correct horse battery", "new": "another long password"}))]
    struct PortalPasswordChange {
        /// The present password.
        current: String,
        /// At least 10 characters.
        #[schema(min_length = 10, max_length = 1024)]
        new: String,
    }
}

/// Returns the account of the session.
///
/// Name, e-mail, role and subscription of the account that is signed in.
#[utoipa::path(get, path = "/account", tag = "portal", security(("portal_cookie" = [])),
    responses((status = 200, body = AccountBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody)))]
async fn show(State(state): State<ApiState>, PortalCall(caller): PortalCall) -> Result<Json<AccountBody>> {
    let account = state.platform.identity.portal_account(&caller).await?;
    Ok(Json(AccountBody::of(account, state.platform.core.now_ms())))
}

/// Chooses another password for the account of the session.
///
/// The present password has to be named. Other sessions and all tokens of the account end; API keys stay. A password
/// that is easily guessed is 422.
#[utoipa::path(put, path = "/account/password", tag = "portal", request_body = PortalPasswordChange,
    security(("portal_cookie" = [], "csrf_token" = [])),
    responses((status = 204), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 422, body = ErrorBody), (status = 429, body = ErrorBody)))]
async fn change_password(
    State(state): State<ApiState>,
    address: ClientAddress,
    OwnCall(caller): OwnCall,
    sent: Sent<PortalPasswordChange>,
) -> Result<StatusCode> {
    let PortalPasswordChange { current, new } =
        sent.judged(|change| change, |change, _| new_password_faults("new", &change.new))?;
    state.platform.identity.change_portal_password(&caller, &current, &new, &address.text()).await?;
    Ok(StatusCode::NO_CONTENT)
}
