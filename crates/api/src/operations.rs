//! What operators and tools ask: is it alive, is it ready, what does it speak.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;
use store::FailingJobs;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::document::DOCUMENT;
use crate::error::Result;
use crate::state::ApiState;

/// The routes.
pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(livez)).routes(routes!(readyz))
}

/// The route of the OpenAPI document.
pub(crate) fn document_routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new().route("/openapi.json", get(async || ([(CONTENT_TYPE, "application/json")], DOCUMENT)))
}

/// How it is.
#[derive(Serialize, utoipa::ToSchema)]
struct Health {
    /// `ok`.
    #[schema(example = "ok")]
    status: &'static str,
}

/// How ready it is.
#[derive(Serialize, utoipa::ToSchema)]
struct Readiness {
    /// `ok`.
    #[schema(example = "ok")]
    status: &'static str,
    /// Background work that fails; absent when none does. Requests are answered all the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failing_jobs: Vec<FailingKind>,
}

/// Background work of a kind that fails. Whose data it works on is not said here: `pulseward doctor` does.
#[derive(Serialize, utoipa::ToSchema)]
struct FailingKind {
    /// Kind of work.
    #[schema(example = "derive")]
    kind: String,
    /// Jobs whose last run failed.
    #[schema(example = 1)]
    failing: u64,
    /// How many of them were put aside, because they failed too often.
    #[schema(example = 0)]
    put_aside: u64,
}

/// Whether the program runs.
#[utoipa::path(get, path = "/livez", tag = "operations", responses((status = 200, body = Health)))]
async fn livez() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// Whether requests can be answered: both databases answer. Names background work that fails.
#[utoipa::path(get, path = "/readyz", tag = "operations", responses((status = 200, body = Readiness), (status = 503)))]
async fn readyz(State(state): State<ApiState>) -> Result<Json<Readiness>> {
    state.platform.upkeep.check_stores().await?;
    let of_kind = |FailingJobs { kind, failing, put_aside }| FailingKind { kind, failing, put_aside };
    let failing_jobs = state.platform.upkeep.failing_jobs().await?.into_iter().map(of_kind).collect();
    Ok(Json(Readiness { status: "ok", failing_jobs }))
}
