//! What the authorization server is and can do, for clients that set themselves up (RFC 8414).

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use platform::oauth::SCOPES;
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::ApiState;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(metadata))
}

/// Returns the same below the root: RFC 8414 puts the well-known part before the path of the issuer, which is
/// `/health`.
pub(crate) fn at_the_root() -> Router<ApiState> {
    Router::new().route("/.well-known/oauth-authorization-server/health", get(metadata))
}

/// Metadata of the authorization server.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = AuthorizationServerMetadata)]
struct Metadata {
    /// The authorization server, as `iss` of its tokens has it.
    #[schema(example = "https://study.example/health")]
    issuer: String,
    /// Address that a patient is sent to.
    #[schema(example = "https://study.example/health/oauth/authorize")]
    authorization_endpoint: String,
    /// Address at which tokens are issued.
    #[schema(example = "https://study.example/health/oauth/token")]
    token_endpoint: String,
    /// Address at which tokens are revoked.
    #[schema(example = "https://study.example/health/oauth/revoke")]
    revocation_endpoint: String,
    /// Address at which tokens are introspected.
    #[schema(example = "https://study.example/health/oauth/introspect")]
    introspection_endpoint: String,
    /// The public keys.
    #[schema(example = "https://study.example/health/.well-known/jwks.json")]
    jwks_uri: String,
    /// Scopes of tokens.
    #[schema(example = json!(["patient.read", "patient.sync"]))]
    scopes_supported: [&'static str; 2],
    /// Always `code`.
    #[schema(example = json!(["code"]))]
    response_types_supported: [&'static str; 1],
    /// Ways in which the code is returned.
    #[schema(example = json!(["query"]))]
    response_modes_supported: [&'static str; 1],
    /// For what tokens are given.
    #[schema(example = json!(["authorization_code", "refresh_token"]))]
    grant_types_supported: [&'static str; 2],
    /// PKCE.
    #[schema(example = json!(["S256"]))]
    code_challenge_methods_supported: [&'static str; 1],
    /// Ways in which a client authenticates for tokens.
    #[schema(example = json!(["client_secret_basic", "client_secret_post", "none"]))]
    token_endpoint_auth_methods_supported: [&'static str; 3],
    /// Ways in which a client authenticates to revoke tokens.
    #[schema(example = json!(["client_secret_basic", "client_secret_post", "none"]))]
    revocation_endpoint_auth_methods_supported: [&'static str; 3],
    /// Ways in which a client authenticates to introspect tokens.
    #[schema(example = json!(["client_secret_basic", "client_secret_post"]))]
    introspection_endpoint_auth_methods_supported: [&'static str; 2],
    /// True when redirects name the issuer (RFC 9207).
    #[schema(example = true)]
    authorization_response_iss_parameter_supported: bool,
}

/// Returns what the authorization server is and can do.
///
/// It is also at `/.well-known/oauth-authorization-server/health` of the service.
#[utoipa::path(get, path = "/.well-known/oauth-authorization-server", tag = "oauth",
    responses((status = 200, body = Metadata)))]
async fn metadata(State(state): State<ApiState>) -> Json<Metadata> {
    let issuer = state.platform.core.settings().health_url.clone();
    let at = |path: &str| format!("{issuer}{path}");
    Json(Metadata {
        authorization_endpoint: at("/oauth/authorize"),
        token_endpoint: at("/oauth/token"),
        revocation_endpoint: at("/oauth/revoke"),
        introspection_endpoint: at("/oauth/introspect"),
        jwks_uri: at("/.well-known/jwks.json"),
        // Clients set themselves up by what is named here, so nothing is named that is not done.
        scopes_supported: SCOPES,
        response_types_supported: ["code"],
        response_modes_supported: ["query"],
        grant_types_supported: ["authorization_code", "refresh_token"],
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post", "none"],
        revocation_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post", "none"],
        introspection_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post"],
        // Against mixed-up servers (RFC 9207): the client can check who answered.
        authorization_response_iss_parameter_supported: true,
        issuer,
    })
}
