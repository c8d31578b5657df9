//! Heat maps of compliance.

use axum::Json;
use axum::extract::{Path, State};
use axum::response::Response;
use futures::StreamExt as _;
use platform::portal::{MOST_DAYS, PatientDays, TypeHours};
use platform::{PlatformError, Readable};
use serde::Serialize;
use store::GroupCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vitals::zone::LocalDay;

use super::caller::PortalCall;
use crate::days::date;
use crate::error::{ErrorBody, Result};
use crate::parameters::Parameters;
use crate::path_uuid::PathPatient;
use crate::state::ApiState;
use crate::streamed::{Frame, streamed};
use store::PatientId;

/// Patients that are counted together.
const PATIENTS_AT_ONCE: usize = 64;

/// The routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(of_group)).routes(routes!(of_patient))
}

/// A study by patient and day.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = StudyCompliance)]
struct GroupDaysBody {
    /// YYYY-MM-DD.
    #[schema(example = json!(["2025-11-19", "2025-11-20"]))]
    days: Vec<String>,
    /// Every patient of the study.
    patients: Vec<PatientDaysBody>,
}

/// A patient's days, each in the order of `days`.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = PatientCompliance)]
struct PatientDaysBody {
    /// Uuid of the patient.
    #[schema(example = "80876de9-4e89-449a-9a8f-c1e11f720437")]
    uuid: String,
    /// First and last name, else the identifier of the customer, else the first eight characters of the uuid.
    #[schema(example = "Rita Rossi")]
    name: String,
    /// Percent of the five-minute slots that have a heart rate, with one decimal; null before the patient was there and
    /// after today.
    #[schema(example = json!([93.1, null]))]
    percent: Vec<Option<f64>>,
    /// Slots with a heart rate.
    #[schema(example = json!([268, 0]))]
    received: Vec<u32>,
    /// Slots that have elapsed.
    #[schema(example = json!([288, 0]))]
    expected: Vec<u32>,
    /// True where what the days are counted by is damaged: nothing but who it is is known then. Left out otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = json!(null))]
    unreadable: Option<bool>,
}

impl From<PatientDays> for PatientDaysBody {
    fn from(patient: PatientDays) -> Self {
        PatientDaysBody {
            uuid: patient.uuid.to_string(),
            name: patient.name,
            percent: patient.days.iter().map(|day| day.percent).collect(),
            received: patient.days.iter().map(|day| day.received).collect(),
            expected: patient.days.iter().map(|day| day.expected).collect(),
            unreadable: patient.is_unreadable.then_some(true),
        }
    }
}

/// A patient's day by type and hour.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = DayByHour)]
struct DayHoursBody {
    /// Hours of the local day: 23 to 25.
    #[schema(example = 24)]
    hours: usize,
    /// One for each type that has rows.
    types: Vec<TypeHoursBody>,
}

/// Rows of a type by hour, from the begin of the local day.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = TypeByHour)]
struct TypeHoursBody {
    /// Data type.
    #[serde(rename = "type")]
    #[schema(example = "activity")]
    data_type: &'static str,
    /// Rows that are stored.
    #[schema(example = json!([60, 60, 58]))]
    received: Vec<u64>,
    /// Rows at the rate of the fullest quarter of an hour of this day and the week before; 0 for what has not elapsed
    /// and for what is measured now and then.
    #[schema(example = json!([60, 60, 60]))]
    expected: Vec<u64>,
}

impl From<TypeHours> for TypeHoursBody {
    fn from(hours: TypeHours) -> Self {
        TypeHoursBody { data_type: hours.data_type.name(), received: hours.received, expected: hours.expected }
    }
}

/// Share of the heart rate of each patient that has arrived on each local day.
///
/// As `/v1/patients/{uuid}/compliance/{date}` counts it.
///
/// At most 92 days, and a later last day, such as 9999-12-31, becomes the present day.
#[utoipa::path(get, path = "/groups/{code}/compliance", tag = "portal", params(("code" = String, Path),
        ("from" = String, Query, description = "first day, YYYY-MM-DD"),
        ("to" = String, Query, description = "last day, YYYY-MM-DD, included")),
    security(("portal_cookie" = [])),
    responses((status = 200, body = GroupDaysBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 422, body = ErrorBody)))]
async fn of_group(
    State(state): State<ApiState>,
    PortalCall(caller): PortalCall,
    Path(code): Path<GroupCode>,
    parameters: Parameters,
) -> Result<Response> {
    let (first, last) = (day(&parameters, "from")?, day(&parameters, "to")?);
    let platform = state.platform.clone();
    let is_too_long = i64::from(last.0) - i64::from(first.0) >= i64::from(MOST_DAYS);
    let last = if is_too_long { last.min(latest_day(platform.core.now_ms()).max(first)) } else { last };
    let patients = platform.data.heat_map_patients(&caller.researcher()?, &code, first, last).await?;
    let days: Vec<String> = (first.0..=last.0).map(|day| format!("\"{}\"", LocalDay(day))).collect();
    let before = format!("{{\"days\":[{}],\"patients\":[", days.join(",")).into_bytes();
    let parts = patients.into_parts(PATIENTS_AT_ONCE);
    let read = move |part: Readable<Vec<PatientId>>| {
        let platform = platform.clone();
        async move { platform.data.heat_map(part, first, last).await }
    };
    let batches = futures::stream::iter(parts).then(read);
    let frame = Frame { before, after: b"]}".to_vec() };
    let write = |out: &mut Vec<u8>, patient| serde_json::to_writer(out, &PatientDaysBody::from(patient));
    streamed(batches, frame, PATIENTS_AT_ONCE, write).await
}

/// Returns how many rows of each type have arrived in each hour of a day.
///
/// A local day has 23 to 25 hours. `expected` is the rate of the fullest quarter of an hour of this day and the week before;
/// 0 for what has not elapsed and for what is measured now and then.
#[utoipa::path(get, path = "/patients/{uuid}/compliance", tag = "portal", params(("uuid" = String, Path),
        ("date" = String, Query)), security(("portal_cookie" = [])),
    responses((status = 200, body = DayHoursBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 422, body = ErrorBody)))]
async fn of_patient(
    State(state): State<ApiState>,
    PortalCall(caller): PortalCall,
    Path(PathPatient(uuid)): Path<PathPatient>,
    parameters: Parameters,
) -> Result<Json<DayHoursBody>> {
    let day = day(&parameters, "date")?;
    let (hours, types) = state.platform.data.day_by_hour(&caller.researcher()?, &uuid, day).await?;
    Ok(Json(DayHoursBody { hours, types: types.into_iter().map(TypeHoursBody::from).collect() }))
}

/// Returns the day that it is where clocks are furthest ahead.
fn latest_day(now_ms: i64) -> LocalDay {
    const FURTHEST_AHEAD_MS: i64 = 14 * 3_600_000;
    const DAY_MS: i64 = 24 * 3_600_000;
    let day = (now_ms + FURTHEST_AHEAD_MS).div_euclid(DAY_MS);
    LocalDay(i32::try_from(day).unwrap_or(i32::MAX))
}

fn day(parameters: &Parameters, key: &'static str) -> Result<LocalDay> {
    let text = parameters.one(key).ok_or_else(|| PlatformError::invalid(key, "is required"))?;
    Ok(date(key, text)?)
}
