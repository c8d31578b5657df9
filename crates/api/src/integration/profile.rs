//! What staff changes of a patient, and their erasure.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use platform::{Change, PatientChange, ProfileChange};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::patient_row::PatientBody;
use crate::body::typed::{Sent, body};
use crate::error::{ErrorBody, Result};
use crate::extract::ResearcherCall;
use crate::parameters::{Parameters, malformed};
use crate::path_uuid::PathPatient;
use crate::person::{PersonalProfileChange, ReceiptBody, receipt_of};
use crate::state::ApiState;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(change, erase)).routes(routes!(erasure)).routes(routes!(change_profile))
}

body! {
    /// Filing data of a patient; a field that is left out stays as it is, null and an empty string take it away.
    struct PatientFilingChange {
        /// Identifier in the customer's own system.
        #[schema(example = "K-0042")]
        #[schema(max_length = 200)]
        #[schema(value_type = Option<String>)]
        external_patient_id: Change<String>,
        /// Five letters or digits.
        #[schema(example = "JYVPQ")]
        #[schema(pattern = "^([0-9A-Za-z]{5})?$")]
        #[schema(value_type = Option<String>)]
        customer_tag: Change<String>,
        /// IANA name; an empty string is none.
        #[schema(example = "Europe/Zurich")]
        #[schema(value_type = Option<String>)]
        time_zone: Change<String>,
    }
}

/// Changes how a patient is filed.
///
/// An external id, a tag and the time zone; what is not named stays, and null takes a value away. The zone counts for
/// syncs that name none, from now on. Person and body are changed by `PUT .../profile`.
#[utoipa::path(patch, path = "/v1/patients/{uuid}", tag = "patients",
    params(("uuid" = String, Path)), security(("api_key" = [])),
    request_body = PatientFilingChange,
    responses((status = 200, body = PatientBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
    (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 415, body = ErrorBody),
    (status = 422, body = ErrorBody)))]
async fn change(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(PathPatient(uuid)): Path<PathPatient>,
    Sent { body, faults }: Sent<PatientFilingChange>,
) -> Result<Json<PatientBody>> {
    let PatientFilingChange { external_patient_id, customer_tag, time_zone } = body;
    let change = PatientChange { external_patient_id, customer_tag, time_zone, unreadable: faults.into_faults() };
    Ok(Json(state.platform.people.change_patient(&researcher, &uuid, change).await?.into()))
}

/// Erases a patient with everything that was measured of them, for good.
///
/// With `state=pre_created`, only a voucher that nobody has used; of one that was used (409 `voucher_used`) nothing is erased.
#[utoipa::path(delete, path = "/v1/patients/{uuid}", tag = "patients",
    params(("uuid" = String, Path), ("state" = Option<String>, Query, description = "`pre_created`: of a voucher alone")),
    security(("api_key" = [])),
    responses((status = 200, body = ReceiptBody),
    (status = 202, body = ReceiptBody, description = "Erased; a write-ahead log is still being read",
        headers(("Location" = String, description = "address at which the receipt can be read again"))),
    (status = 401, body = ErrorBody), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody),
    (status = 409, body = ErrorBody)))]
async fn erase(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(PathPatient(uuid)): Path<PathPatient>,
    parameters: Parameters,
) -> Result<Response> {
    let people = &state.platform.people;
    let receipt = match parameters.one("state") {
        None if !parameters.has("state") => people.erase_patient(&researcher, &uuid).await?,
        Some("pre_created") => people.withdraw_voucher(&researcher, &uuid).await?,
        // Passed over it would erase a patient that the caller means to spare.
        _ => return Err(malformed("state", "must be pre_created").into()),
    };
    let (status, receipt) = receipt_of(receipt);
    // Relative, because the cloud may be at the root of its host or below a path.
    let address = [(LOCATION, format!("../erasures/{uuid}"))];
    Ok(match status {
        StatusCode::ACCEPTED => (status, address, receipt).into_response(),
        _ => (status, receipt).into_response(),
    })
}

/// Returns the receipt of an erasure again, with what is left of it now.
///
/// For the account that has erased and for administrators.
#[utoipa::path(get, path = "/v1/erasures/{uuid}", tag = "patients",
    params(("uuid" = String, Path)),
    security(("api_key" = [])),
    responses((status = 200, body = ReceiptBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody)))]
async fn erasure(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(PathPatient(uuid)): Path<PathPatient>,
) -> Result<Json<ReceiptBody>> {
    Ok(Json(state.platform.people.erasure(&researcher, &uuid).await?.into()))
}

/// Changes person and body of a patient.
///
/// What is not named stays, and null takes a value away. Days whose figures follow from the body (energy, zones,
/// distance) are computed again. The answer is the patient after the change.
#[utoipa::path(put, path = "/v1/patients/{uuid}/profile", tag = "patients",
    params(("uuid" = String, Path)), security(("api_key" = [])),
    request_body = PersonalProfileChange,
    responses((status = 200, body = PatientBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
    (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
    (status = 415, body = ErrorBody), (status = 422, body = ErrorBody)))]
async fn change_profile(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(PathPatient(uuid)): Path<PathPatient>,
    Sent { body, faults }: Sent<PersonalProfileChange>,
) -> Result<Json<PatientBody>> {
    let change = ProfileChange { unreadable: faults.into_faults(), ..body.into() };
    Ok(Json(state.platform.people.change_profile(&researcher, &uuid, change).await?.into()))
}
