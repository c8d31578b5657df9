//! Patients: lists, vouchers, and what a researcher does for one of them.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use futures::StreamExt;
use platform::{Enrolled, ROWS_AT_ONCE, Readable, VoucherCheck};
use serde::Serialize;
use store::{GroupCode, VoucherCode};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::patient_row::{PatientBody, Wanted};
use crate::body::typed::{Valid, body};
use crate::choices::PatientStateName;
use crate::error::{ErrorBody, Result};
use crate::extract::ResearcherCall;
use crate::parameters::Parameters;
use crate::path_uuid::PathPatient;
use crate::state::ApiState;
use crate::streamed::{Frame, streamed};
use crate::times::iso_ms;
use store::PatientId;

/// The routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list, enrol))
        .routes(routes!(check_voucher))
        .routes(routes!(reset_password))
        .routes(routes!(health_token))
}

/// Parts of the list that are read ahead while one is written.
const PARTS_AHEAD: usize = 2;

/// An anonymous patient.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = EnrolledPatient)]
struct EnrolledBody {
    /// Uuid of the patient.
    #[schema(example = "80876de9-4e89-449a-9a8f-c1e11f720437")]
    uuid: String,
    /// Voucher code.
    #[schema(example = "K7QXM2PA")]
    code: String,
    /// `pre_created`.
    #[schema(value_type = PatientStateName)]
    state: &'static str,
    /// Record identifier.
    #[serde(rename = "_id")]
    #[schema(example = "65b1f0c2a4d3e5f60718293a")]
    id: String,
}

impl From<Enrolled> for EnrolledBody {
    fn from(enrolled: Enrolled) -> Self {
        EnrolledBody {
            uuid: enrolled.uuid.to_string(),
            code: enrolled.voucher_code.to_string(),
            state: enrolled.state.name(),
            id: enrolled.record_id.to_string(),
        }
    }
}

/// Answer to the check of a voucher code.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Voucher)]
struct VoucherBody {
    /// True when the code is one of a voucher.
    #[schema(example = true)]
    exists: bool,
    /// The patient's state.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PatientStateName>)]
    state: Option<&'static str>,
    /// ISO 8601 in UTC with milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2025-11-20T00:53:20.000Z")]
    created_at: Option<String>,
}

impl From<Option<VoucherCheck>> for VoucherBody {
    fn from(found: Option<VoucherCheck>) -> Self {
        VoucherBody {
            // 200 also for an unknown code: the question was whether it exists.
            exists: found.is_some(),
            created_at: found.as_ref().map(|voucher| iso_ms(voucher.created_ms)),
            state: found.map(|voucher| voucher.state.name()),
        }
    }
}

body! { of the specification:
    /// A new password.
    struct NewPassword {
        /// At least 10 characters.
        #[schema(example = "correct horse battery")]
        #[schema(min_length = 10, max_length = 1024)]
        password: String,
    }
}

/// A token of the Health Cloud.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = HealthToken)]
struct TokenBody {
    /// The token, good for this patient.
    #[schema(example = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIuLi4ifQ.c2lnbmF0dXJl")]
    token: String,
}

/// Returns the patients of a study.
///
/// In the order in which they joined, all in one answer, which is streamed. `fields[]` chooses attributes, and
/// `with_latest_values=1` adds the newest vital signs and score of each. Attributes that are not set are left out. A
/// patient whose stored data are damaged has `unreadable: true`.
#[utoipa::path(get, path = "/v1/groups/{group_code}/patients", tag = "patients",
    params(("group_code" = String, Path), ("fields[]" = Option<Vec<String>>, Query),
    ("with_latest_values" = Option<i64>, Query)),
    security(("api_key" = [])),
    responses((status = 200, body = Vec<PatientBody>), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody), (status = 422, body = ErrorBody)))]
async fn list(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(group_code): Path<GroupCode>,
    parameters: Parameters,
) -> Result<Response> {
    let wanted = Wanted::read(&parameters, &researcher)?;
    let (platform, columns) = (state.platform.clone(), wanted.columns());
    // The right is checked here, for the whole list at once, before the first batch is read.
    let patients = platform.people.readable_members(&researcher, &group_code).await?;
    // A study of ten thousand is answered with the memory of a few hundred rows.
    let parts = patients.into_parts(ROWS_AT_ONCE);
    let read = move |part: Readable<Vec<PatientId>>| {
        let platform = platform.clone();
        async move { platform.data.patient_rows(part, columns).await }
    };
    let batches = futures::stream::iter(parts).map(read).buffered(PARTS_AHEAD);
    let wanted = Arc::new(wanted);
    streamed(batches, Frame::array(), ROWS_AT_ONCE, move |out, row| serde_json::to_writer(out, &wanted.body(row))).await
}

/// Adds an anonymous patient to a study.
///
/// The answer has the uuid, by which data are asked for, and `code`, the voucher by which the patient chooses a
/// password (`POST /users/activate`). Nothing is known of the person until then. The request has no body.
#[utoipa::path(post, path = "/v1/groups/{group_code}/patients", tag = "patients",
    params(("group_code" = String, Path)),
    security(("api_key" = [])),
    responses((status = 200, body = EnrolledBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody)))]
async fn enrol(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(group_code): Path<GroupCode>,
) -> Result<Json<EnrolledBody>> {
    Ok(Json(state.platform.people.enrol_patient(&researcher, &group_code).await?.into()))
}

/// Checks a voucher code.
///
/// Answers the state of its patient, before and after the voucher was used. A code that is not known is 404
/// `voucher_not_found`, also one of a study that the key is not for.
#[utoipa::path(get, path = "/v1/check-voucher-code/{voucher_code}", tag = "patients",
    params(("voucher_code" = String, Path)),
    security(("api_key" = [])),
    responses((status = 200, body = VoucherBody), (status = 401, body = ErrorBody)))]
async fn check_voucher(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(voucher_code): Path<String>,
) -> Result<Json<VoucherBody>> {
    Ok(Json(state.platform.people.check_voucher(&researcher, &VoucherCode::new(voucher_code)).await?.into()))
}

/// Gives a confirmed patient a new password and ends their tokens.
///
/// All tokens of the patient on both clouds end. The new password opens `POST /users/auth/password` alone, where the
/// patient chooses another. A patient who has not used the voucher has none to reset (409 `patient_not_confirmed`).
#[utoipa::path(post, path = "/v1/patients/{uuid}/reset-password", tag = "patients",
    params(("uuid" = String, Path)), security(("api_key" = [])),
    request_body = NewPassword,
    responses((status = 204), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody), (status = 409, body = ErrorBody), (status = 422, body = ErrorBody)))]
async fn reset_password(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(PathPatient(uuid)): Path<PathPatient>,
    Valid(NewPassword { password }): Valid<NewPassword>,
) -> Result<StatusCode> {
    // 204: there is nothing to report, least of all the password.
    state.platform.identity.reset_password(&researcher, &uuid, &password).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns a token of the Health Cloud for reading a patient's data on their behalf.
///
/// It opens the Health Cloud for reading (`patient.read`) and names the account that asked. It cannot be refreshed, and
/// ends with the key that it was asked for with, or with the access to the patient.
#[utoipa::path(get, path = "/v1/patients/{uuid}/health-token", tag = "patients",
    params(("uuid" = String, Path)),
    security(("api_key" = [])),
    responses((status = 200, body = TokenBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody)))]
async fn health_token(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(PathPatient(uuid)): Path<PathPatient>,
) -> Result<Json<TokenBody>> {
    let issued = state.platform.identity.health_token(&researcher, &uuid).await?;
    Ok(Json(TokenBody { token: issued.token }))
}
