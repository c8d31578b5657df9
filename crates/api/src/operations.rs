//! What operators and tools ask: is it alive, is it ready, what does it speak.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::ApiState;
use crate::error::Result;

/// The routes.
pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(livez)).routes(routes!(readyz))
}

/// The route of the OpenAPI document.
pub(crate) fn document_routes(document: &OpenApi) -> Router<ApiState> {
    // Serialising plain data into memory cannot fail.
    let text = document.to_json().unwrap_or_default();
    Router::new().route("/openapi.json", get(async move || ([(CONTENT_TYPE, "application/json")], text)))
}

/// How it is.
#[derive(Serialize, utoipa::ToSchema)]
struct Health {
    /// `ok`.
    status: &'static str,
}

/// Whether the program runs.
#[utoipa::path(get, path = "/livez", tag = "operations", responses((status = 200, body = Health)))]
async fn livez() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// Whether requests can be answered: both databases answer.
#[utoipa::path(get, path = "/readyz", tag = "operations", responses((status = 200, body = Health), (status = 503)))]
async fn readyz(State(state): State<ApiState>) -> Result<Json<Health>> {
    state.platform.check_stores().await?;
    Ok(Json(Health { status: "ok" }))
}
