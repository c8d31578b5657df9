//! Bracelets as an inventory, and who wears which.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use platform::{BraceletChange, Change, ListedBracelet, NewBracelet};
use serde::Serialize;
use store::{Bracelet, SerialNumber};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::body::typed::{Sent, body};
use crate::error::{ErrorBody, Result};
use crate::extract::ResearcherCall;
use crate::path_uuid::PathPatient;
use crate::state::ApiState;
use crate::times::iso_ms;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list, register)).routes(routes!(change, remove)).routes(routes!(attach, detach))
}

/// Pattern of what describes a bracelet: a line without control characters, and without blanks at its ends.
const ONE_LINE: &str = r"^[^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?$";

body! {
    /// A bracelet to register.
    #[schema(as = BraceletRequest)]
    struct BraceletRegistration {
        /// Serial number, as it is printed on the bracelet.
        #[schema(example = "PW-000123")]
        #[schema(min_length = 1, max_length = 100, extensions(("x-pattern" = json!(ONE_LINE))))]
        serial_number: String,
        /// Model.
        #[schema(example = "bracelet")]
        #[schema(min_length = 1, max_length = 100, extensions(("x-pattern" = json!(ONE_LINE))))]
        device_type: String,
        /// Not known of a bracelet that is still in its box.
        #[schema(example = "1.4.2")]
        #[schema(min_length = 1, max_length = 100, extensions(("x-pattern" = json!(ONE_LINE))))]
        firmware_version: Option<String>,
    }
}

body! {
    /// Attributes of a bracelet to change; those that are left out stay as they are, null takes the firmware away.
    #[schema(as = BraceletChange)]
    struct BraceletAttributes {
        /// Model.
        #[schema(example = "bracelet")]
        #[schema(min_length = 1, max_length = 100, extensions(("x-pattern" = json!(ONE_LINE))))]
        #[schema(value_type = String, required = false)]
        device_type: Change<String>,
        /// Version of the firmware.
        #[schema(example = "1.4.2")]
        #[schema(min_length = 1, max_length = 100, extensions(("x-pattern" = json!(ONE_LINE))))]
        #[schema(value_type = Option<String>)]
        firmware_version: Change<String>,
    }
}

impl From<BraceletRegistration> for NewBracelet {
    fn from(sent: BraceletRegistration) -> Self {
        let BraceletRegistration { serial_number, device_type, firmware_version } = sent;
        NewBracelet { serial_number: SerialNumber::new(serial_number), device_type, firmware_version }
    }
}

impl From<BraceletAttributes> for BraceletChange {
    fn from(BraceletAttributes { device_type, firmware_version }: BraceletAttributes) -> Self {
        BraceletChange { device_type, firmware_version }
    }
}

/// A bracelet. What is not known is left out.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Bracelet)]
struct BraceletBody {
    /// Record identifier, 24 hex digits; of one that the caller may act on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "65b1f0c2a4d3e5f60718293a")]
    id: Option<String>,
    /// Serial number, as it is printed on the bracelet.
    #[schema(example = "PW-000123")]
    serial_number: String,
    /// True when it is registered. One that is not was named by syncs alone.
    #[schema(example = true)]
    registered: bool,
    /// Model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "bracelet")]
    device_type: Option<String>,
    /// Version of the firmware.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "1.4.2")]
    firmware_version: Option<String>,
    /// Time of the registration, ISO 8601 in UTC with milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2025-11-20T00:53:20.000Z")]
    created_at: Option<String>,
    /// The patient who wears it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "80876de9-4e89-449a-9a8f-c1e11f720437")]
    patient_uuid: Option<String>,
    /// The patient whose sync last named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "80876de9-4e89-449a-9a8f-c1e11f720437")]
    seen_on: Option<String>,
    /// Time of the last sync that named it, or at which the patient got it; ISO 8601 in UTC with milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2025-11-20T00:53:20.000Z")]
    updated_at: Option<String>,
    /// Charge as it was last reported, %.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 83)]
    battery_level: Option<i64>,
}

impl From<ListedBracelet> for BraceletBody {
    fn from(listed: ListedBracelet) -> Self {
        let ListedBracelet { serial_number, bracelet, is_registered, seen } = listed;
        let (seen_on, device) = seen.unzip();
        // The record is what people have entered; of one without, what the bracelet says of itself.
        let (device_type, firmware_version) = match (&bracelet, &device) {
            (Some(bracelet), _) => (Some(bracelet.device_type.clone()), bracelet.firmware_version.clone()),
            (None, Some(device)) => (device.device_type.clone(), device.firmware_version.clone()),
            (None, None) => (None, None),
        };
        BraceletBody {
            id: bracelet.as_ref().map(|bracelet| bracelet.id.to_string()),
            serial_number: serial_number.to_string(),
            registered: is_registered,
            device_type,
            firmware_version,
            created_at: bracelet.as_ref().map(|bracelet| iso_ms(bracelet.created_ms)),
            patient_uuid: bracelet.and_then(|bracelet| bracelet.worn_by).map(|patient| patient.to_string()),
            seen_on: seen_on.map(|patient| patient.to_string()),
            updated_at: device.as_ref().map(|device| iso_ms(device.updated_ms)),
            battery_level: device.and_then(|device| device.battery_level),
        }
    }
}

impl From<Bracelet> for BraceletBody {
    fn from(bracelet: Bracelet) -> Self {
        ListedBracelet::from(bracelet).into()
    }
}

/// Returns the bracelets that the caller may act on, and those that syncs of their patients have named.
///
/// First those that the caller's patients wear, and those that nobody wears and that a member of the caller's studies
/// has registered; then those that the patients' syncs have named.
#[utoipa::path(get, path = "/v1/bracelets", tag = "bracelets", security(("api_key" = [])),
    responses((status = 200, body = Vec<BraceletBody>), (status = 401, body = ErrorBody)))]
async fn list(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
) -> Result<Json<Vec<BraceletBody>>> {
    let bracelets = state.platform.people.bracelets(&researcher).await?;
    Ok(Json(bracelets.into_iter().map(BraceletBody::from).collect()))
}

/// Registers a bracelet.
///
/// It belongs to the studies of the account until a patient wears it. A key for named studies registers none (403). A
/// serial number that is there already is 409 `duplicate_serial_number`. Registering is not needed for syncs, which may
/// name any bracelet.
#[utoipa::path(post, path = "/v1/bracelets", tag = "bracelets", security(("api_key" = [])),
    request_body = BraceletRegistration,
    responses((status = 200, body = BraceletBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
    (status = 409, body = ErrorBody), (status = 415, body = ErrorBody), (status = 422, body = ErrorBody)))]
async fn register(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    sent: Sent<BraceletRegistration>,
) -> Result<Json<BraceletBody>> {
    let new = sent.judged(NewBracelet::from, |new, _| new.faults())?;
    Ok(Json(state.platform.people.register_bracelet(&researcher, new).await?.into()))
}

/// Changes model or firmware of a bracelet.
///
/// What is not named stays. Null takes a value away; the serial number cannot be changed. The answer is the bracelet as
/// it then is.
#[utoipa::path(patch, path = "/v1/bracelets/{serial}", tag = "bracelets",
    params(("serial" = String, Path)), security(("api_key" = [])),
    request_body = BraceletAttributes,
    responses((status = 200, body = BraceletBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
    (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
    (status = 415, body = ErrorBody), (status = 422, body = ErrorBody)))]
async fn change(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(serial): Path<SerialNumber>,
    sent: Sent<BraceletAttributes>,
) -> Result<Json<BraceletBody>> {
    let change = sent.judged(BraceletChange::from, |change, _| change.faults())?;
    Ok(Json(state.platform.people.change_bracelet(&researcher, &serial, change).await?.into()))
}

/// Removes a bracelet.
///
/// While a patient wears it, the answer is 409 `bracelet_attached`. Rows that it has sent are not touched.
#[utoipa::path(delete, path = "/v1/bracelets/{serial}", tag = "bracelets",
    params(("serial" = String, Path)),
    security(("api_key" = [])),
    responses((status = 204), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn remove(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(serial): Path<SerialNumber>,
) -> Result<StatusCode> {
    // 409 while it is worn: its rows would name a bracelet that is not in the list.
    state.platform.people.remove_bracelet(&researcher, &serial).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Puts a bracelet on a patient's wrist.
///
/// It has to be registered. While another patient wears it, the answer is 409 `bracelet_attached`. Doing it again
/// changes nothing.
#[utoipa::path(put, path = "/v1/patients/{uuid}/bracelets/{serial}", tag = "bracelets",
    params(("uuid" = String, Path), ("serial" = String, Path)),
    security(("api_key" = [])),
    responses((status = 204), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn attach(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path((uuid, serial)): Path<(PathPatient, SerialNumber)>,
) -> Result<StatusCode> {
    // By serial number and not by record id: it is what is printed on the thing that somebody holds.
    state.platform.people.attach_bracelet(&researcher, &uuid.0, &serial).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Takes a bracelet off a patient's wrist.
///
/// What it has sent stays. A bracelet that the patient does not wear is 404 `bracelet_not_found`.
#[utoipa::path(delete, path = "/v1/patients/{uuid}/bracelets/{serial}", tag = "bracelets",
    params(("uuid" = String, Path), ("serial" = String, Path)),
    security(("api_key" = [])),
    responses((status = 204), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody)))]
async fn detach(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path((uuid, serial)): Path<(PathPatient, SerialNumber)>,
) -> Result<StatusCode> {
    state.platform.people.detach_bracelet(&researcher, &uuid.0, &serial).await?;
    Ok(StatusCode::NO_CONTENT)
}
