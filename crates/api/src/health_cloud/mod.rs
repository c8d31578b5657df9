//! The Health Cloud: samples of uuids, sent and read with a token.

mod auth;
mod login;
pub(crate) mod oauth;
mod raw_metrics;
pub(crate) mod sync;
mod user_summaries;

use axum::Json;
use axum::extract::State;
use platform::Cloud;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::Result;
use crate::state::ApiState;
use crate::well_known::{JsonWebKeys, public_keys};

/// Returns the routes.
pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .merge(login::routes())
        .merge(auth::routes())
        .merge(oauth::routes())
        .merge(sync::routes())
        .merge(raw_metrics::routes())
        .merge(user_summaries::routes())
        .routes(routes!(keys))
}

/// Returns the public keys of the Health Cloud.
///
/// A JSON Web Key Set (RFC 7517) of Ed25519 keys, by which others check tokens. The Users Cloud has keys of its own, so that
/// no token is valid on both. No credential is needed.
#[utoipa::path(get, path = "/.well-known/jwks.json", tag = "keys", responses((status = 200, body = JsonWebKeys)))]
async fn keys(State(state): State<ApiState>) -> Result<Json<JsonWebKeys>> {
    public_keys(&state.platform, Cloud::Health).await
}
