//! Compliance: how much of a patient's data has reached the service.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Path, State};
use jiff::Timestamp;
use platform::{ComplianceCounts, CountedSpan, LONGEST_RANGE_MS, PlatformError};
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vitals::instant;
use vitals::registry::DataType;

use crate::days::date;
use crate::error::{ErrorBody, Result};
use crate::extract::ResearcherCall;
use crate::parameters::{Parameters, both, malformed};
use crate::path_uuid::PathPatient;
use crate::range_end::AskedRange;
use crate::state::ApiState;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(of_heart_rate)).routes(routes!(counts_of_day)).routes(routes!(counts_of_range))
}

/// Share of a day's heart rate that has reached the service.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = HeartRateCompliance)]
struct ComplianceBody {
    /// YYYY-MM-DD.
    #[schema(example = "2025-11-20")]
    date: String,
    /// Percent of the five-minute slots of the local day, with one decimal.
    #[schema(example = 93.1)]
    compliance: f64,
}

/// Counts by name, `raw_data_*` and `summary_data_*_slots`. What there is nothing of is left out.
#[derive(Serialize, utoipa::ToSchema)]
#[serde(transparent)]
#[schema(as = ComplianceCounts, example = json!({"raw_data_activity": 1440, "summary_data_heart_rate_slots": 288}))]
struct CountsBody(BTreeMap<String, u64>);

fn counts_body(counts: ComplianceCounts) -> CountsBody {
    let rows = counts.rows.into_iter().map(|(data_type, rows)| (key_of(data_type), rows));
    let slots = counts.slots.into_iter();
    let slots = slots.map(|(section, slots)| (format!("summary_data_{}_slots", section.name()), slots));
    CountsBody(rows.chain(slots).collect())
}

/// Returns the key of the count of a type's rows.
fn key_of(data_type: DataType) -> String {
    format!("raw_data_{}", data_type.declaration().counted_as())
}

/// Returns the percentage of a day for which heart rate has arrived.
///
/// The share of the five-minute slots of a local day that have a heart rate, with one decimal; of today, of the slots
/// that have elapsed. A day without data is 0.
#[utoipa::path(get, path = "/v1/patients/{uuid}/compliance/{date}", tag = "compliance",
    params(("uuid" = String, Path), ("date" = String, Path, description = "YYYY-MM-DD")),
    security(("api_key" = [])),
    responses((status = 200, body = ComplianceBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 422, body = ErrorBody)))]
async fn of_heart_rate(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path((uuid, day)): Path<(PathPatient, String)>,
) -> Result<Json<ComplianceBody>> {
    let day = date("date", &day)?;
    let compliance = state.platform.data.heart_rate_compliance(&researcher, &uuid.0, day).await?;
    Ok(Json(ComplianceBody { date: day.to_string(), compliance }))
}

/// Counts of a day.
///
/// Of the patient's local day, or with `utc=yes` of the day in UTC. What there is nothing of is left out.
#[utoipa::path(get, path = "/v1/patients/{uuid}/raw-data-compliance/{date}", tag = "compliance",
    params(("uuid" = String, Path), ("date" = String, Path, description = "YYYY-MM-DD"), ("utc" = Option<String>, Query, description = "`yes` to count the day of UTC")),
    security(("api_key" = [])),
    responses((status = 200, body = CountsBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 422, body = ErrorBody)))]
async fn counts_of_day(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path((uuid, day)): Path<(PathPatient, String)>,
    parameters: Parameters,
) -> Result<Json<CountsBody>> {
    let day = date("date", &day)?;
    let span = match parameters.one("utc") {
        // The specification has `yes` and nothing else; `no` is what people try for the opposite.
        Some("yes") => CountedSpan::utc_day(day),
        None | Some("no") => CountedSpan::LocalDay(day),
        Some(_) => return Err(malformed("utc", "must be yes or no").into()),
    };
    Ok(Json(counts_body(state.platform.data.compliance_counts(&researcher, &uuid.0, span).await?)))
}

/// Counts of a range of UTC of at most 48 hours, both ends included, exact to the millisecond.
///
/// An end more than a day ahead, such as 9999-12-31, is brought to 48 hours where it then reaches the present.
#[utoipa::path(get, path = "/v1/patients/{uuid}/raw-data-compliance", tag = "compliance",
    params(("uuid" = String, Path),
        ("utc_date_from" = String, Query, description = "YYYY-MM-DDTHH:MM:SS.SSSZ"),
        ("utc_date_to" = String, Query, description = "YYYY-MM-DDTHH:MM:SS.SSSZ, at most 48 hours later")),
    security(("api_key" = [])),
    responses((status = 200, body = CountsBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 422, body = ErrorBody)))]
async fn counts_of_range(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(PathPatient(uuid)): Path<PathPatient>,
    parameters: Parameters,
) -> Result<Json<CountsBody>> {
    // Both are looked at, so that one answer names everything that is wrong.
    let (from_ms, to_ms) = both(utc_ms(&parameters, "utc_date_from"), utc_ms(&parameters, "utc_date_to"))?;
    let to_ms = AskedRange { from_ms, to_ms }.clamped_end(LONGEST_RANGE_MS, state.platform.core.now_ms());
    let span = CountedSpan::Utc { from_ms, to_ms };
    Ok(Json(counts_body(state.platform.data.compliance_counts(&researcher, &uuid, span).await?)))
}

/// Milliseconds since 1970 of a time in UTC. Invalid when it is not there, not in UTC, or finer than milliseconds.
fn utc_ms(parameters: &Parameters, field: &'static str) -> std::result::Result<i64, PlatformError> {
    let text = parameters.one(field).ok_or_else(|| PlatformError::invalid(field, "is required"))?;
    let timestamp = text.strip_suffix('Z').and_then(|_| instant::parse(text));
    // The last time there is has all digits, and represents 9999-12-31 with as many as were sent.
    let is_whole = |time: Timestamp| time.subsec_nanosecond() % 1_000_000 == 0 || time == Timestamp::MAX;
    match timestamp {
        Some(time) if text.as_bytes().get(10) == Some(&b'T') && is_whole(time) => Ok(time.as_millisecond()),
        _ => Err(PlatformError::invalid(field, "must be a time in UTC as YYYY-MM-DDTHH:MM:SS.SSSZ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<i64> {
        utc_ms(&Parameters::of(&format!("/?at={text}").parse().expect("an address")), "at").ok()
    }

    #[test]
    fn only_times_in_utc_are_read() {
        assert_eq!(read("2025-11-20T00:53:20.007Z"), Some(1_763_600_000_007));
        assert_eq!(read("2025-11-20T00:53:20Z"), Some(1_763_600_000_000));
        assert_eq!(read("9999-12-31T23:59:59.999Z"), Some(Timestamp::MAX.as_millisecond()));
        for wrong in [
            "",
            "2025-11-20",
            "2025-11-20T00:53:20",
            "2025-11-20T00:53:20.0071Z",
            "2025-11-20T01:53:20.000%2B01:00",
            "2025-11-20%2000:53:20.000Z",
            "2025-13-20T00:53:20.000Z",
            "1763600000000",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn every_type_has_the_key_of_the_specification() {
        let keys: Vec<String> = DataType::ALL.into_iter().map(key_of).collect();
        for key in
            ["activity", "hrv", "rr_interval", "sleep", "temperature", "acc", "ppg1", "ppg2", "bioz", "ecg", "tests"]
        {
            assert!(keys.contains(&format!("raw_data_{key}")), "{key}");
        }
    }
}
