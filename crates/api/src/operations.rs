//! What operators and tools ask: is it alive, is it ready, what does it speak.

use axum::extract::State;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use platform::PlatformError;
use serde::Serialize;
use store::FailingJobs;
use tokio::sync::OnceCell;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::document::{DOCUMENT, STYLE, page};
use crate::error::Result;
use crate::state::ApiState;

/// The page shows text and its style, and nothing else can be made to run or load in it.
const PAGE_POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The routes.
pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(livez)).routes(routes!(readyz))
}

/// The routes of the OpenAPI document and of the page that shows it.
pub(crate) fn document_routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let as_json = get(async || ([(CONTENT_TYPE, "application/json")], DOCUMENT));
    let style = get(async || ([(CONTENT_TYPE, "text/css; charset=utf-8")], STYLE));
    Router::new().route("/openapi.json", as_json).route("/docs", get(document_page)).route("/docs/style.css", style)
}

async fn document_page() -> Result<Response> {
    /// Written when it is first asked for: most nodes never are.
    static PAGE: OnceCell<String> = OnceCell::const_new();
    let write = async || {
        let written = runtime::blocking("write the page of the document", || {
            serde_json::from_str(DOCUMENT).map(|document| page(&document))
        });
        written.await.map_err(broken)?.map_err(broken)
    };
    let html = PAGE.get_or_try_init(write).await?.as_str();
    Ok(([(CONTENT_TYPE, "text/html; charset=utf-8"), (CONTENT_SECURITY_POLICY, PAGE_POLICY)], html).into_response())
}

fn broken(error: impl std::fmt::Display) -> PlatformError {
    PlatformError::Internal(format!("the page of the document: {error}"))
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
