//! The bracelets that a patient's data came from.

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use platform::HealthCaller;
use serde::Serialize;
use store::Device;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::call_rejection::{CallRejection, HEALTH_TOKEN_PLACES, header_text};
use crate::error::{ApiError, ErrorBody, Result};
use crate::proof::{mark_authenticated, name_actor};
use crate::state::ApiState;
use crate::times::iso_ms;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list))
}

/// A call with a token of the Health Cloud in the header `x-health-token`.
struct HealthTokenCall(HealthCaller);

impl FromRequestParts<ApiState> for HealthTokenCall {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self> {
        // This header alone, as the specification has it: with a key in addition, one request would
        // have two callers.
        let token = header_text(parts, "x-health-token")?.ok_or(CallRejection::NoCredential(HEALTH_TOKEN_PLACES))?;
        let caller = state.platform.identity.health_caller(token).await.map_err(CallRejection::Refused)?;
        mark_authenticated(parts, token, caller.patient().as_str())?;
        name_actor(parts, caller.security_actor());
        Ok(HealthTokenCall(caller))
    }
}

/// A bracelet. What is not known is left out.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Device)]
pub(super) struct DeviceBody {
    /// Model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "bracelet")]
    device_type: Option<String>,
    /// Serial number, as it is printed on the bracelet.
    #[schema(example = "PW-000123")]
    serial_number: String,
    /// Version of the firmware.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "1.4.2")]
    firmware_version: Option<String>,
    /// Charge, %.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 83)]
    battery_level: Option<i64>,
    /// ISO 8601 in UTC with milliseconds.
    #[schema(example = "2025-11-20T00:53:20.000Z")]
    updated_at: String,
}

impl From<Device> for DeviceBody {
    fn from(device: Device) -> Self {
        DeviceBody {
            device_type: device.device_type,
            serial_number: device.serial_number.to_string(),
            firmware_version: device.firmware_version,
            battery_level: device.battery_level,
            updated_at: iso_ms(device.updated_ms),
        }
    }
}

/// Returns the bracelets of the patient that the token is for, newest first.
///
/// The credential is a token of the Health Cloud in `x-health-token`, and no API key. Bracelets are those that syncs
/// have named.
#[utoipa::path(get, path = "/v1/user-devices", tag = "patients", security(("health_token_header" = [])),
    responses((status = 200, body = Vec<DeviceBody>), (status = 401, body = ErrorBody),
    (status = 403, body = ErrorBody)))]
async fn list(
    State(state): State<ApiState>,
    HealthTokenCall(caller): HealthTokenCall,
) -> Result<Json<Vec<DeviceBody>>> {
    let devices = state.platform.people.devices(&caller).await?;
    Ok(Json(devices.into_iter().map(DeviceBody::from).collect()))
}
