//! The public keys of a cloud, by which anyone can check its tokens (RFC 7517, RFC 8037).

use axum::Json;
use platform::{Cloud, Platform};
use serde::Serialize;

use crate::error::Result;

/// Public keys.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct JsonWebKeys {
    keys: Vec<JsonWebKey>,
}

/// An Ed25519 public key.
#[derive(Serialize, utoipa::ToSchema)]
struct JsonWebKey {
    kty: &'static str,
    crv: &'static str,
    alg: &'static str,
    #[serde(rename = "use")]
    usage: &'static str,
    kid: String,
    x: String,
}

/// The public keys of a cloud.
pub(crate) async fn public_keys(platform: &Platform, cloud: Cloud) -> Result<Json<JsonWebKeys>> {
    let keys = platform.identity.public_keys(cloud).await?;
    let keys =
        keys.into_iter().map(|(kid, x)| JsonWebKey { kty: "OKP", crv: "Ed25519", alg: "EdDSA", usage: "sig", kid, x });
    Ok(Json(JsonWebKeys { keys: keys.collect() }))
}
