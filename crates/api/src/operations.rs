//! What operators and tools ask: is it alive, is it ready, what does it speak.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use platform::jobs::EngineState;
use platform::{Damage, DamagedEssential, Platform, PlatformError};
use serde::Serialize;
use store::{DamagedRowCount, FailingJobs, ObjectFault, StoreError};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::document::DOCUMENT;
use crate::error::{ApiError, ErrorBody, Result};
use crate::state::ApiState;

/// Longest time of an answer about readiness. What asks has a limit too, often of a second, and takes no answer for a
/// program that has to be started again.
const LONGEST_CHECK: Duration = Duration::from_millis(900);
/// Returns the routes.
pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(livez)).routes(routes!(readyz))
}

/// Returns the route of the OpenAPI document.
pub(crate) fn document_routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new().route("/openapi.json", get(async || ([(CONTENT_TYPE, "application/json")], DOCUMENT)))
}

/// State of the program.
#[derive(Serialize, utoipa::ToSchema)]
struct Health {
    /// `ok`.
    #[schema(example = "ok")]
    status: &'static str,
}

/// Readiness of the service, with what an operator has to know.
#[derive(Serialize, utoipa::ToSchema)]
struct Readiness {
    /// `ok`.
    #[schema(example = "ok")]
    status: &'static str,
    /// Background work that fails; absent when none does. Requests are answered all the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failing_jobs: Vec<FailingKind>,
    /// Engine of background work; absent where the node has not the role.
    #[serde(skip_serializing_if = "Option::is_none")]
    job_engine: Option<JobEngine>,
    /// Sealed files that are missing or damaged; absent when there are none. Everything else is answered all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    damaged_files: Option<DamagedFiles>,
    /// Rows of the database that are damaged; absent when none were found.
    #[serde(skip_serializing_if = "Option::is_none")]
    damaged_rows: Option<DamagedRows>,
    /// Write-ahead logs of databases that were damaged when they were read after a crash, by which acknowledged data were
    /// lost; absent when none were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 1)]
    damaged_logs: Option<u64>,
    /// Tables that are damaged and concern everybody: of keys, of the store's identity, of background work, of notes of damage;
    /// absent when none is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    damaged_tables: Vec<DamagedTable>,
}

/// Engine of background work.
#[derive(Serialize, utoipa::ToSchema)]
struct JobEngine {
    /// Whether it works just now.
    #[schema(example = true)]
    works: bool,
    /// Starts after a panic.
    #[schema(example = 0)]
    restarts: u64,
}

impl From<EngineState> for JobEngine {
    fn from(EngineState { works, restarts }: EngineState) -> Self {
        JobEngine { works, restarts }
    }
}

/// A table that is not what was stored.
#[derive(Serialize, utoipa::ToSchema)]
struct DamagedTable {
    /// Database.
    #[schema(example = "users")]
    database: &'static str,
    /// Table.
    #[schema(example = "signing_key")]
    table: &'static str,
    /// What does not work.
    #[schema(example = "logins are answered 503")]
    effect: &'static str,
}

impl From<DamagedEssential> for DamagedTable {
    fn from(DamagedEssential { database, table, effect, .. }: DamagedEssential) -> Self {
        DamagedTable { database, table, effect }
    }
}

/// Rows that are not what was stored.
#[derive(Serialize, utoipa::ToSchema)]
struct DamagedRows {
    /// Stretches of rows.
    #[schema(example = 1)]
    stretches: u64,
    /// Data type of some of them.
    #[schema(example = "activity")]
    example: Option<String>,
}

impl DamagedRows {
    fn of(found: DamagedRowCount) -> Option<Self> {
        let DamagedRowCount { stretches, example } = found;
        (stretches > 0).then_some(DamagedRows { stretches, example })
    }
}

/// Sealed files that cannot be read. Their patients are not named here: `pulseward doctor` names them.
#[derive(Serialize, utoipa::ToSchema)]
struct DamagedFiles {
    /// Files that are not there.
    #[schema(example = 1)]
    missing: u64,
    /// Files that are not what was written.
    #[schema(example = 0)]
    damaged: u64,
    /// One of them: type, period and file.
    #[schema(example = "type=ppg2/period=2026-11-20/000001-00c0ffee00c0ffee.parquet")]
    example: String,
}

impl DamagedFiles {
    fn of(damage: &Damage) -> Option<Self> {
        damage.any().map(|objects| DamagedFiles {
            missing: damage.count(ObjectFault::Missing),
            damaged: damage.count(ObjectFault::Damaged),
            example: without_patient(&objects.example),
        })
    }
}

/// Returns a path without the part that names the patient: anybody may ask whether the service is ready.
fn without_patient(path: &str) -> String {
    let parts = path.split('/').skip(1).filter(|part| !part.starts_with("patient="));
    parts.collect::<Vec<_>>().join("/")
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
    /// Number of those that were put aside, because they failed too often.
    #[schema(example = 0)]
    put_aside: u64,
}

/// Returns whether the program runs.
///
/// Looks at nothing else: a process that answers should not be restarted. `GET /readyz` says whether requests can be
/// answered.
#[utoipa::path(get, path = "/livez", tag = "operations", responses((status = 200, body = Health)))]
async fn livez() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// Returns whether requests can be answered: both databases and the objects answer.
///
/// Names background work that fails, its engine, sealed files that cannot be read, damaged logs, and damaged tables of
/// keys.
#[utoipa::path(get, path = "/readyz", tag = "operations", responses((status = 200, body = Readiness),
    (status = 503, body = ErrorBody, example = json!({"code": "unavailable",
        "message": "the service is not available just now; nothing was lost"}))))]
async fn readyz(State(state): State<ApiState>) -> Result<Response> {
    let check = async {
        let readiness = check(&state).await?;
        let json = serde_json::to_vec(&readiness).map_err(|error| PlatformError::Internal(error.to_string()))?;
        Ok::<_, ApiError>(Bytes::from(json))
    };
    let answer = state.last_check.answer(check).await?.ok_or_else(|| PlatformError::from(no_answer()))?;
    Ok(([(CONTENT_TYPE, "application/json")], answer).into_response())
}

async fn check(state: &ApiState) -> Result<Readiness> {
    let upkeep = &state.platform.upkeep;
    let checked = async {
        futures::try_join!(
            upkeep.check_stores(),
            unless_damaged(upkeep.failing_jobs()),
            unless_damaged(upkeep.damage()),
            unless_damaged(upkeep.damaged_rows()),
            upkeep.damaged_essentials(),
        )
    };
    let checked = runtime::timeout(LONGEST_CHECK, checked).await;
    let ((), failing_jobs, damage, damaged_rows, essentials) =
        checked.map_err(|_| PlatformError::from(no_answer()))??;
    let notes = [
        ("job", failing_jobs.is_none(), "work other than derivations may not run; uploads and reads go on"),
        ("damaged_object", damage.is_none(), "which sealed files are damaged is not known; everything else goes on"),
        ("damaged_row", damaged_rows.is_none(), "which rows are damaged is not known; everything else goes on"),
    ];
    let of_kind = |FailingJobs { kind, failing, put_aside }| FailingKind { kind, failing, put_aside };
    let failing_jobs = failing_jobs.unwrap_or_default().into_iter().map(of_kind).collect();
    let damaged_files = DamagedFiles::of(&damage.unwrap_or_default());
    let damaged_rows = damaged_rows.and_then(DamagedRows::of);
    let damaged_logs: u64 = upkeep.damaged_log_counts()?.iter().map(|(_, logs)| logs).sum();
    let damaged_logs = (damaged_logs > 0).then_some(damaged_logs);
    let of_notes = notes.into_iter().filter(|(_, is_damaged, _)| *is_damaged);
    let of_notes = of_notes.map(|(table, _, effect)| DamagedTable { database: "health", table, effect });
    let damaged_tables = essentials.into_iter().map(DamagedTable::from).chain(of_notes).collect();
    let job_engine = state.platform.core.signals().engine().map(JobEngine::from);
    let status = "ok";
    Ok(Readiness { status, failing_jobs, job_engine, damaged_files, damaged_rows, damaged_logs, damaged_tables })
}

/// Returns what an operator is to know; none where the table that has it is damaged. That is itself what to know, and no
/// reason to send nobody to this node: requests are answered all the same.
async fn unless_damaged<T>(asked: impl Future<Output = platform::Result<T>>) -> platform::Result<Option<T>> {
    match asked.await {
        Err(PlatformError::Store(error)) if error.is_damage() => {
            tracing::error!(%error, "a table of what readiness names is damaged");
            Ok(None)
        }
        asked => asked.map(Some),
    }
}

/// Returns whether both databases and the objects answer and can be written, within the time of an answer about readiness.
pub(crate) async fn are_stores_ready(platform: &Platform) -> bool {
    runtime::timeout(LONGEST_CHECK, platform.upkeep.check_stores()).await.is_ok_and(|checked| checked.is_ok())
}

fn no_answer() -> StoreError {
    StoreError::Unavailable("a store gave no answer within a second".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_file_is_named_without_its_patient() {
        let path =
            "v1/type=ppg2/period=2026-11-20/patient=6f1c9a52-0b0e-4d0b-9d53-1d7f5b1f0001/000001-00c0ffee.parquet";
        assert_eq!(without_patient(path), "type=ppg2/period=2026-11-20/000001-00c0ffee.parquet");
    }
}
