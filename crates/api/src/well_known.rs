//! The public keys of a cloud, by which anyone can check its tokens (RFC 7517, RFC 8037).

use axum::Json;
use platform::{Cloud, Platform};
use serde::Serialize;

use crate::error::Result;

/// Public keys.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct JsonWebKeys {
    /// The keys; more than one while keys are changed.
    keys: Vec<JsonWebKey>,
}

/// An Ed25519 public key.
#[derive(Serialize, utoipa::ToSchema)]
struct JsonWebKey {
    /// Type of the key: `OKP`.
    #[schema(example = "OKP")]
    kty: &'static str,
    /// Curve: `Ed25519`.
    #[schema(example = "Ed25519")]
    crv: &'static str,
    /// Algorithm: `EdDSA`.
    #[schema(example = "EdDSA")]
    alg: &'static str,
    /// Use: `sig`.
    #[serde(rename = "use")]
    #[schema(example = "sig")]
    usage: &'static str,
    /// Name of the key, as tokens have it in their header.
    #[schema(example = "65b1f0c2a4d3e5f60718293a")]
    kid: String,
    /// The key, base64url.
    #[schema(example = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")]
    x: String,
}

/// Returns the public keys of a cloud.
pub(crate) async fn public_keys(platform: &Platform, cloud: Cloud) -> Result<Json<JsonWebKeys>> {
    let keys = platform.identity.public_keys(cloud).await?;
    let keys = keys.into_iter().map(|(kid, x)| JsonWebKey {
        kty: "OKP",
        crv: "Ed25519",
        alg: "EdDSA",
        usage: "sig",
        kid: kid.to_string(),
        x,
    });
    Ok(Json(JsonWebKeys { keys: keys.collect() }))
}
