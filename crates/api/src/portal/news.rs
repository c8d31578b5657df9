//! The history of a patient's NEWS, for the charts.

use axum::Json;
use axum::extract::{Path, State};
use platform::portal::NewsHistory;
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vitals::news_timeline::NewsEntry;
use vitals::news2::Parameter;

use super::caller::PortalCall;
use super::range;
use crate::error::{ErrorBody, Result};
use crate::parameters::Parameters;
use crate::path_uuid::PathPatient;
use crate::range_end::AskedRange;
use crate::state::ApiState;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(history))
}

/// The scores of a patient over time.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = NewsHistory)]
struct NewsHistoryBody {
    /// The patient's zone; null when nobody has named one.
    #[schema(example = "Europe/Zurich")]
    time_zone: Option<String>,
    /// The entry that holds at the begin of the range, and those within it; each holds until the next.
    entries: Vec<NewsHistoryEntry>,
}

/// One evaluation. Sub-scores are null unless their measurement was good and fresh.
#[derive(Serialize, utoipa::ToSchema)]
struct NewsHistoryEntry {
    /// Time at which it was scored, Unix epoch ms.
    #[schema(example = 1_763_600_000_000_i64)]
    timestamp: i64,
    /// Total; null unless all five measurements were good and fresh.
    #[schema(example = 0)]
    value: Option<u8>,
    /// Part of the respiration rate.
    #[schema(example = 0)]
    score_respiration_rate: Option<u8>,
    /// Part of the oxygen saturation.
    #[schema(example = 0)]
    score_spo2: Option<u8>,
    /// Part of supplemental oxygen.
    #[schema(example = 0)]
    score_oxygen: u8,
    /// Part of the blood pressure.
    #[schema(example = 0)]
    score_blood_pressure: Option<u8>,
    /// Part of the heart rate.
    #[schema(example = 0)]
    score_heart_rate: Option<u8>,
    /// Part of consciousness.
    #[schema(example = 0)]
    score_consciousness: u8,
    /// Part of the temperature.
    #[schema(example = 0)]
    score_temperature: Option<u8>,
}

impl From<NewsEntry> for NewsHistoryEntry {
    fn from(entry: NewsEntry) -> Self {
        let score = |parameter| entry.part(parameter).score;
        NewsHistoryEntry {
            timestamp: entry.time_ms,
            value: entry.total,
            score_respiration_rate: score(Parameter::RespirationRate),
            score_spo2: score(Parameter::Spo2),
            score_oxygen: entry.score_oxygen,
            score_blood_pressure: score(Parameter::BloodPressure),
            score_heart_rate: score(Parameter::HeartRate),
            score_consciousness: entry.score_consciousness,
            score_temperature: score(Parameter::Temperature),
        }
    }
}

/// Returns the history of a patient's NEWS.
///
/// An entry is made when a sub-score, the total or the set of missing parts changes.
///
/// At most 400 days; a later end, such as 9999-12-31, is brought to the longest range.
#[utoipa::path(get, path = "/patients/{uuid}/news", tag = "portal",
    params(("uuid" = String, Path), ("from" = i64, Query, minimum = 0, maximum = 8_796_093_022_207_i64),
        ("to" = i64, Query, minimum = 0)),
    security(("portal_cookie" = [])),
    responses((status = 200, body = NewsHistoryBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 422, body = ErrorBody)))]
async fn history(
    State(state): State<ApiState>,
    PortalCall(caller): PortalCall,
    Path(PathPatient(uuid)): Path<PathPatient>,
    parameters: Parameters,
) -> Result<Json<NewsHistoryBody>> {
    let AskedRange { from_ms, to_ms } = range::read(&parameters, 0, state.platform.core.now_ms())?;
    let history = state.platform.data.news_history(&caller.researcher()?, &uuid, from_ms, to_ms).await?;
    let NewsHistory { time_zone, entries } = history;
    Ok(Json(NewsHistoryBody { time_zone, entries: entries.into_iter().map(NewsHistoryEntry::from).collect() }))
}
