//! One's own API keys.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use jiff::Timestamp;
use platform::NewApiKey;
use platform::portal::ApiKeyView;
use serde::Serialize;
use store::{ApiKeyId, GroupCode};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::caller::PortalCall;
use crate::body::SHORT_LINE;
use crate::body::typed::{Sent, body};
use crate::error::{ErrorBody, Result};
use crate::state::ApiState;
use crate::times::iso_ms;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(revoke))
}

/// An API key, without what would let anyone use it. Times are ISO 8601 in UTC.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = ApiKey)]
struct KeyBody {
    /// Record identifier.
    #[schema(example = "65b1f0c2a4d3e5f60718293a")]
    id: String,
    /// Name that distinguishes it from others.
    #[schema(example = "nightly analysis")]
    name: Option<String>,
    /// The first characters of the key, to distinguish keys.
    #[schema(example = "pwk_1a2B3c")]
    prefix: String,
    /// True when it acts on the studies in `groups` only. A key whose studies are all gone acts on none.
    #[schema(example = true)]
    is_scoped: bool,
    /// Codes of the studies that it acts on; empty for all of its owner's where it is not scoped.
    #[schema(example = json!(["JYVPQ"]))]
    groups: Vec<String>,
    /// Time at which it ends by itself.
    #[schema(example = "2026-11-20T00:00:00.000Z")]
    expires_at: Option<String>,
    /// To the minute.
    #[schema(example = "2025-11-20T00:53:00.000Z")]
    last_used_at: Option<String>,
    /// ISO 8601 in UTC with milliseconds.
    #[schema(example = "2025-11-20T00:53:20.000Z")]
    created_at: String,
    /// Time at which it was revoked; null while it was not.
    #[schema(example = json!(null))]
    revoked_at: Option<String>,
}

impl From<ApiKeyView> for KeyBody {
    fn from(view: ApiKeyView) -> Self {
        let ApiKeyView { key, groups } = view;
        KeyBody {
            id: key.id.to_string(),
            name: key.name,
            prefix: key.prefix,
            is_scoped: key.is_scoped,
            groups: groups.iter().map(GroupCode::to_string).collect(),
            expires_at: key.expires_ms.map(iso_ms),
            last_used_at: key.last_used_ms.map(iso_ms),
            created_at: iso_ms(key.created_ms),
            revoked_at: key.revoked_ms.map(iso_ms),
        }
    }
}

/// A new API key.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = CreatedApiKey)]
struct NewKeyBody {
    #[serde(flatten)]
    key_of: KeyBody,
    /// The key itself, which is shown this once.
    #[schema(example = "pwk_1a2B3c4D5e6F7g8H9i0J1k2L3m4N5o6P7q8R9s0T1u0")]
    key: String,
}

body! {
    /// Name of a new key, and the studies that it is limited to.
    #[schema(example = json!({"name": "nightly analysis", "groups": ["JYVPQ"], "expires_at": "2030-11-20T00:00:00.000Z"}))]
    #[schema(as = ApiKeyRequest)]
    struct NewKey {
        /// Name that distinguishes the key from others.
        #[schema(min_length = 1, max_length = 100, extensions(("x-pattern" = json!(SHORT_LINE))))]
        name: String,
        /// Codes of studies that its owner is a member of; all of them without it.
        groups: Option<Vec<String>>,
        /// ISO 8601 with a zone.
        #[schema(value_type = Option<String>, format = DateTime)]
        expires_at: Option<Timestamp>,
    }
}

impl From<NewKey> for NewApiKey {
    fn from(NewKey { name, groups, expires_at }: NewKey) -> Self {
        let groups = groups.unwrap_or_default().into_iter().map(GroupCode::new).collect();
        NewApiKey { name: Some(name), expires_ms: expires_at.map(Timestamp::as_millisecond), groups }
    }
}

/// Returns the API keys of the account.
///
/// Oldest first, also those that have ended. The keys themselves cannot be read again.
#[utoipa::path(get, path = "/keys", tag = "portal", security(("portal_cookie" = [])),
    responses((status = 200, body = Vec<KeyBody>), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody)))]
async fn list(State(state): State<ApiState>, PortalCall(caller): PortalCall) -> Result<Json<Vec<KeyBody>>> {
    let keys = state.platform.identity.portal_keys(&caller).await?;
    Ok(Json(keys.into_iter().map(KeyBody::from).collect()))
}

/// Creates an API key.
///
/// The key is in this answer alone. `groups` limits it to studies that the account is a member of; without it, it
/// reaches what the account reaches. `expires_at` has to lie ahead.
#[utoipa::path(post, path = "/keys", tag = "portal", request_body = NewKey,
    security(("portal_cookie" = [], "csrf_token" = [])),
    responses((status = 201, body = NewKeyBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 422, body = ErrorBody)))]
async fn create(
    State(state): State<ApiState>,
    PortalCall(caller): PortalCall,
    sent: Sent<NewKey>,
) -> Result<(StatusCode, Json<NewKeyBody>)> {
    let new = sent.judged(NewApiKey::from, |new, _| state.platform.identity.portal_key_faults(new))?;
    let (view, key) = state.platform.identity.create_portal_key(&caller, new).await?;
    Ok((StatusCode::CREATED, Json(NewKeyBody { key_of: view.into(), key })))
}

/// Revokes an API key.
///
/// Programs that use it are refused from the next request on. Health tokens that were asked for with it end as well.
/// The key of another account is 404.
#[utoipa::path(delete, path = "/keys/{id}", tag = "portal", params(("id" = String, Path)),
    security(("portal_cookie" = [], "csrf_token" = [])),
    responses((status = 204), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody)))]
async fn revoke(
    State(state): State<ApiState>,
    PortalCall(caller): PortalCall,
    Path(id): Path<ApiKeyId>,
) -> Result<StatusCode> {
    state.platform.identity.revoke_portal_key(&caller, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
