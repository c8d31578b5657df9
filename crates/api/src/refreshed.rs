//! The answer of a refresh, the same on both clouds.

use axum::Json;
use axum::http::HeaderValue;
use axum::http::header::AUTHORIZATION;
use axum::response::{IntoResponse, Response};
use platform::Issued;
use serde::Serialize;

/// A new token. It is also in the header `Authorization`.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = RefreshedLogin)]
pub(crate) struct RefreshBody {
    /// The token.
    #[schema(example = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIuLi4ifQ.c2lnbmF0dXJl")]
    token: String,
    /// Minutes that the token lives.
    #[schema(example = 60)]
    ttl: i64,
    /// Minutes from the first token of this login within which tokens can be refreshed.
    #[schema(example = "518400")]
    refresh_ttl: String,
}

/// A refreshed token on its way out.
pub(crate) struct RefreshedToken(pub Issued);

impl IntoResponse for RefreshedToken {
    fn into_response(self) -> Response {
        let RefreshedToken(issued) = self;
        let header = HeaderValue::from_str(&format!("Bearer {}", issued.token));
        let body = RefreshBody {
            token: issued.token,
            ttl: issued.ttl_minutes,
            refresh_ttl: issued.refresh_minutes.to_string(),
        };
        let mut response = Json(body).into_response();
        if let Ok(mut header) = header {
            // Kept out of traces, and out of the index that HTTP/2 keeps of headers.
            header.set_sensitive(true);
            // In addition to the body: apps of older interfaces of this kind look for it here.
            response.headers_mut().insert(AUTHORIZATION, header);
        }
        response
    }
}
