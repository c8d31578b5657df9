//! What applications call: the token address, revocation and introspection.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use platform::PlatformError;
use platform::oauth::{Grant, Inspected, OauthTokens};
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::client::credentials;
use super::form::{Form, FormText};
use crate::body::typed::body;
use crate::client_address::ClientAddress;
use crate::error::{ApiError, ErrorBody, Result};
use crate::state::ApiState;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(token)).routes(routes!(revoke)).routes(routes!(introspect))
}

body! {
    /// Grant for which tokens are issued. A client with a secret sends it as HTTP Basic, or here.
    struct TokenRequest {
        /// `authorization_code` or `refresh_token`.
        #[schema(value_type = String, pattern = "^(authorization_code|refresh_token)$")]
        #[schema(example = "authorization_code")]
        grant_type: FormText,
        /// With `authorization_code`: the code.
        #[schema(value_type = Option<String>)]
        #[schema(example = "1a2B3c4D5e6F7g8H9i0J1k2L3m4N5o6P7q8R9s0T1u0")]
        code: FormText,
        /// With `authorization_code`: the address that the code was sent to.
        #[schema(value_type = Option<String>)]
        #[schema(example = "https://diary.example/callback")]
        redirect_uri: FormText,
        /// With `authorization_code`: what `code_challenge` was made of.
        #[schema(value_type = Option<String>)]
        #[schema(example = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")]
        code_verifier: FormText,
        /// With `refresh_token`: the token.
        #[schema(value_type = Option<String>)]
        #[schema(example = "pwr_1a2B3c4D5e6F7g8H9i0J1k2L3m4N5o6P7q8R9s0T1u0")]
        refresh_token: FormText,
        /// With `refresh_token`: what the new access token is to allow, if less than was consented to.
        #[schema(value_type = Option<String>)]
        #[schema(example = "patient.read")]
        scope: FormText,
        /// Identity of the OAuth client.
        #[schema(value_type = Option<String>)]
        #[schema(example = "65b1f0c2a4d3e5f60718293a")]
        client_id: FormText,
        /// Secret of the client, unless it is public or shows it as HTTP Basic.
        #[schema(value_type = Option<String>)]
        #[schema(example = "pws_1a2B3c4D5e6F7g8H9i0J1k2L3m4N5o6P7q8R9s0T1u0")]
        client_secret: FormText,
    }
}

/// New tokens.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = OauthTokens)]
struct TokenBody {
    /// A token of the Health Cloud.
    #[schema(example = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIuLi4ifQ.c2lnbmF0dXJl")]
    access_token: String,
    /// `Bearer`.
    #[schema(example = "Bearer")]
    token_type: &'static str,
    /// Seconds that the access token lives.
    #[schema(example = 3600)]
    expires_in: i64,
    /// Token with which the next tokens are requested, once.
    #[schema(example = "pwr_1a2B3c4D5e6F7g8H9i0J1k2L3m4N5o6P7q8R9s0T1u0")]
    refresh_token: String,
    /// Scopes of the access token, separated by blanks.
    #[schema(example = "patient.read")]
    scope: String,
}

impl From<OauthTokens> for TokenBody {
    fn from(tokens: OauthTokens) -> Self {
        TokenBody {
            access_token: tokens.access_token,
            token_type: "Bearer",
            expires_in: tokens.expires_in_s,
            refresh_token: tokens.refresh_token,
            scope: tokens.scope,
        }
    }
}

/// Gives tokens for a code or for a refresh token.
///
/// A code counts once and for 60 seconds; a refresh token counts once. Either of them used again ends the tokens that
/// came from it.
#[utoipa::path(post, path = "/oauth/token", tag = "oauth",
    security((), ("oauth_client" = [])),
    request_body(content = TokenRequest, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, body = TokenBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
    (status = 429, body = ErrorBody)))]
async fn token(
    State(state): State<ApiState>,
    address: ClientAddress,
    headers: HeaderMap,
    Form(form): Form<TokenRequest>,
) -> Result<Json<TokenBody>> {
    // Before the grant is looked at: who cannot prove to be a client learns nothing of codes.
    let client = credentials(&headers, &form.client_id, &form.client_secret)?;
    let text = |value: Option<&str>| value.map(str::to_owned);
    // Missing parts are 400 `invalid_request`, which libraries distinguish from a code that is not good.
    let grant = match form.grant_type.required("grant_type is required")? {
        "authorization_code" => Grant::Code {
            code: form.code.required("code is required")?.to_owned(),
            redirect_uri: form.redirect_uri.required("redirect_uri is required")?.to_owned(),
            verifier: text(form.code_verifier.one()?),
        },
        "refresh_token" => Grant::Refresh {
            token: form.refresh_token.required("refresh_token is required")?.to_owned(),
            scope: text(form.scope.one()?),
        },
        _ => {
            let message = "grant_type must be authorization_code or refresh_token";
            return Err(PlatformError::Oauth { code: "unsupported_grant_type", message }.into());
        }
    };
    let tokens =
        // `of_oauth`: a client that is slowed reads `error` as well.
        state.platform.identity.oauth_tokens(&client, grant, &address.text()).await.map_err(ApiError::of_oauth)?;
    Ok(Json(tokens.into()))
}

body! {
    /// A token of the calling client.
    struct TokenQuery {
        /// An access token or a refresh token.
        #[schema(value_type = String, min_length = 1)]
        #[schema(example = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIuLi4ifQ.c2lnbmF0dXJl")]
        token: FormText,
        /// Taken and not needed.
        #[schema(value_type = Option<String>)]
        #[expect(dead_code, reason = "a client may say it, and a server may do without (RFC 7009, 2.1)")]
        #[schema(example = "refresh_token")]
        token_type_hint: FormText,
        /// Identity of the OAuth client.
        #[schema(value_type = Option<String>)]
        #[schema(example = "65b1f0c2a4d3e5f60718293a")]
        client_id: FormText,
        /// Secret of the client, unless it is public or shows it as HTTP Basic.
        #[schema(value_type = Option<String>)]
        #[schema(example = "pws_1a2B3c4D5e6F7g8H9i0J1k2L3m4N5o6P7q8R9s0T1u0")]
        client_secret: FormText,
    }
}

/// Gives a token back (RFC 7009).
///
/// Whichever of its family it is, all of them end. A token that is not known, or has ended, is 200 as well.
#[utoipa::path(post, path = "/oauth/revoke", tag = "oauth",
    security((), ("oauth_client" = [])),
    request_body(content = TokenQuery, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
    (status = 429, body = ErrorBody)))]
async fn revoke(
    State(state): State<ApiState>,
    address: ClientAddress,
    headers: HeaderMap,
    Form(form): Form<TokenQuery>,
) -> Result<StatusCode> {
    let client = credentials(&headers, &form.client_id, &form.client_secret)?;
    let token = form.token.required("token is required")?;
    state.platform.identity.give_back(&client, token, &address.text()).await.map_err(ApiError::of_oauth)?;
    // Also for a token that nobody knows (RFC 7009, 2.2): the caller wants it gone, and gone it is.
    Ok(StatusCode::OK)
}

/// Introspection of a token. Everything but `active` is left out when the token is not valid.
#[derive(Serialize, utoipa::ToSchema)]
struct Introspection {
    /// True when the token is good.
    #[schema(example = true)]
    active: bool,
    /// Scopes, separated by blanks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "patient.read")]
    scope: Option<String>,
    /// The client that it was given to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "65b1f0c2a4d3e5f60718293a")]
    client_id: Option<String>,
    /// `Bearer`, of an access token.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Bearer")]
    token_type: Option<&'static str>,
    /// Time at which it expires, s since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 1_763_603_600)]
    exp: Option<i64>,
    /// Time at which it was issued, s since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 1_763_600_000)]
    iat: Option<i64>,
    /// The patient.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "80876de9-4e89-449a-9a8f-c1e11f720437")]
    sub: Option<String>,
    /// The cloud that takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "health")]
    aud: Option<&'static str>,
    /// Issuer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "https://study.example/health")]
    iss: Option<String>,
    /// Identity of the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "65b1f0c2a4d3e5f60718293b")]
    jti: Option<String>,
}

impl Introspection {
    fn of(inspected: Option<Inspected>, issuer: &str) -> Self {
        // Nothing but `active` (RFC 7662, 2.2): why a token is not good is nobody's business.
        let Some(found) = inspected else {
            return Introspection {
                active: false,
                scope: None,
                client_id: None,
                token_type: None,
                exp: None,
                iat: None,
                sub: None,
                aud: None,
                iss: None,
                jti: None,
            };
        };
        Introspection {
            active: true,
            scope: Some(found.scope),
            client_id: Some(found.client.to_string()),
            token_type: found.is_access.then_some("Bearer"),
            exp: Some(found.expires_s),
            iat: found.issued_s,
            sub: Some(found.patient.to_string()),
            // The one cloud that takes such tokens.
            aud: Some("health"),
            iss: Some(issuer.to_owned()),
            jti: found.token_id.map(|session| session.to_string()),
        }
    }
}

/// Returns what a token of the calling client is worth (RFC 7662).
///
/// A token that has ended, is not known, or belongs to another client answers `active: false` alone, and never an
/// error. The client proves itself by its secret, in `Authorization` or in the form.
#[utoipa::path(post, path = "/oauth/introspect", tag = "oauth",
    security((), ("oauth_client" = [])),
    request_body(content = TokenQuery, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, body = Introspection), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
    (status = 429, body = ErrorBody)))]
async fn introspect(
    State(state): State<ApiState>,
    address: ClientAddress,
    headers: HeaderMap,
    Form(form): Form<TokenQuery>,
) -> Result<Json<Introspection>> {
    let client = credentials(&headers, &form.client_id, &form.client_secret)?;
    let token = form.token.required("token is required")?;
    let inspected =
        state.platform.identity.introspect(&client, token, &address.text()).await.map_err(ApiError::of_oauth)?;
    Ok(Json(Introspection::of(inspected, &state.platform.core.settings().health_url)))
}
