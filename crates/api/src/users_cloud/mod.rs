//! The Users Cloud: who people are.

mod activate;
mod auth;
mod consents;
mod login;
mod me;

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
        .merge(consents::routes())
        .merge(activate::routes())
        .merge(me::routes())
        .routes(routes!(keys))
}

/// Returns the public keys of the Users Cloud.
///
/// A JSON Web Key Set (RFC 7517) of Ed25519 keys, by which others check tokens of logins. No credential is needed.
#[utoipa::path(get, path = "/.well-known/jwks.json", tag = "keys", responses((status = 200, body = JsonWebKeys)))]
async fn keys(State(state): State<ApiState>) -> Result<Json<JsonWebKeys>> {
    public_keys(&state.platform, Cloud::Users).await
}
