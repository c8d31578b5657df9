//! Daily summaries: of a whole study, and of one patient.

use axum::extract::{Path, State};
use axum::response::Response;
use futures::StreamExt;
use platform::{PATIENTS_AT_ONCE, Readable};
use store::GroupCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::days::{Arrangement, DayForm, date, many_days, one_day, required_date};
use crate::error::{ErrorBody, Result};
use crate::extract::ResearcherCall;
use crate::parameters::Parameters;
use crate::path_uuid::PathPatient;
use crate::state::ApiState;
use store::PatientId;

/// Batches that are read ahead while one is written.
const BATCHES_AHEAD: usize = 2;

/// The routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(of_group)).routes(routes!(of_patient))
}

/// Returns the daily summaries of all patients of a study, by uuid.
///
/// One local day of each patient, which is streamed while it is read. Sections without data are empty objects;
/// `include_slots=1` adds slots, `types[]` chooses sections. What a sync brings is there some seconds later. A patient
/// whose stored data are damaged has `unreadable: true`.
#[utoipa::path(get, path = "/v1/groups/{group_code}/summaries", tag = "summaries",
    params(("group_code" = String, Path),
        ("date" = String, Query, description = "YYYY-MM-DD"),
        ("include_slots" = Option<i64>, Query, description = "1 to include slots"),
        ("include_extra" = Option<i64>, Query, description = "1 to include `extra`")),
    security(("api_key" = [])),
    responses((status = 200, body = ref("#/components/schemas/StudySummaries"), content_type = "application/json",
            description = "daily summaries by patient uuid"),
        (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 422, body = ErrorBody), (status = 503, body = ErrorBody)))]
async fn of_group(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(group_code): Path<GroupCode>,
    parameters: Parameters,
) -> Result<Response> {
    let day = required_date(&parameters, "date")?;
    let form = DayForm::of_all_sections(&parameters)?;
    let parts = form.parts;
    let platform = state.platform.clone();
    let patients = platform.people.readable_members(&researcher, &group_code).await?;
    let batches = patients.into_parts(PATIENTS_AT_ONCE);
    let read = move |part: Readable<Vec<PatientId>>| {
        let platform = platform.clone();
        async move { platform.data.days_of_patients(part, day, parts).await }
    };
    let batches = futures::stream::iter(batches).map(read).buffered(BATCHES_AHEAD);
    many_days(batches, form, Arrangement::ByPatient).await
}

/// Returns the daily summary of a patient.
///
/// One local day of the samples. Sections without data are empty objects; `types[]` chooses sections, `include_slots=1`
/// adds slots and `include_extra=1` figures beyond the specification. What a sync brings is there some seconds later.
#[utoipa::path(get, path = "/v1/patients/{uuid}/summary/{date}", tag = "summaries",
    params(("uuid" = String, Path), ("date" = String, Path, description = "YYYY-MM-DD"),
        ("include_slots" = Option<i64>, Query, description = "1 to include slots"),
        ("include_extra" = Option<i64>, Query, description = "1 to include `extra`"),
        ("types[]" = Option<Vec<String>>, Query, description = "sections to show; all without it")),
    security(("api_key" = [])),
    responses((status = 200, body = ref("#/components/schemas/DailySummary"), content_type = "application/json",
            description = "a daily summary"),
        (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 422, body = ErrorBody), (status = 503, body = ErrorBody)))]
async fn of_patient(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path((uuid, day)): Path<(PathPatient, String)>,
    parameters: Parameters,
) -> Result<Response> {
    let day = date("date", &day)?;
    let form = DayForm::read(&parameters)?;
    let found = state.platform.data.patient_day(&researcher, &uuid.0, day, form.parts).await?;
    one_day(found, form).await
}
