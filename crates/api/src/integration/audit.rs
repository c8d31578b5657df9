//! The audit log of the caller.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use platform::{Action, PlatformError, alternatives};
use serde::Serialize;
use serde_json::value::RawValue;
use store::AuditEntry;
use utoipa::openapi::schema::{Object, ObjectBuilder, SchemaType, Type};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::{ApiError, ErrorBody, Result};
use crate::extract::ResearcherCall;
use crate::parameters::{Parameters, both};
use crate::state::ApiState;
use crate::streamed::{Frame, streamed};

/// Entries that are written in one go.
const AT_ONCE: usize = 256;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list)).route("/v1/patients/{uuid}/audit/logs", get(of_patient))
}

/// An entry of the audit log.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = AuditEntry)]
struct EntryBody {
    /// Record identifier.
    #[schema(example = "65b1f0c2a4d3e5f60718293a")]
    id: String,
    /// Time of completion, Unix epoch ms.
    #[schema(example = 1_763_600_000_000_i64)]
    timestamp: i64,
    /// Action code.
    #[schema(example = "PATIENT_PROFILE_UPDATE")]
    action_type: String,
    /// Account, patient or client that did it.
    #[schema(example = "80876de9-4e89-449a-9a8f-c1e11f720437")]
    user_id: String,
    /// In which role.
    #[schema(example = "researcher")]
    user_role: String,
    /// Entity that it was done to.
    #[schema(example = "6f1c9a52-0b0e-4d0b-9d53-1d7f5b1f0001")]
    primary_entity_id: String,
    /// Kind of that.
    #[schema(example = "patient.id")]
    primary_entity_type: String,
    /// Other entity that is concerned; null when there is none.
    #[schema(example = "80876de9-4e89-449a-9a8f-c1e11f720437")]
    secondary_entity_id: Option<String>,
    /// Kind of that.
    #[schema(example = "hcp_admin.id")]
    secondary_entity_type: Option<String>,
    /// Details of the action.
    #[schema(schema_with = details)]
    details: Option<Box<RawValue>>,
}

/// Returns an object, whose members differ from action to action.
fn details() -> Object {
    let kinds = SchemaType::from_iter([Type::Object, Type::Null]);
    let object = ObjectBuilder::new().schema_type(kinds).description(Some("Particulars of the action."));
    object.examples([serde_json::json!({"fields": ["height"]})]).build()
}

impl From<AuditEntry> for EntryBody {
    fn from(entry: AuditEntry) -> Self {
        let (secondary_entity_id, secondary_entity_type) =
            entry.secondary.map(|entity| (entity.id.to_string(), entity.kind)).unzip();
        EntryBody {
            id: entry.id.to_string(),
            timestamp: entry.time_ms,
            action_type: entry.action_type,
            user_id: entry.user_id.to_string(),
            user_role: entry.user_role,
            primary_entity_id: entry.primary.id.to_string(),
            primary_entity_type: entry.primary.kind,
            secondary_entity_id,
            secondary_entity_type,
            // As it was written, byte by byte, which the chain covers. All of it is JSON that this program has written.
            details: entry.details.and_then(|details| RawValue::from_string(details).ok()),
        }
    }
}

/// Returns the audit entries in which the caller appears, oldest first.
///
/// Entries say which account did what and when, and are never changed. Both ends are included. `action_type` chooses
/// one action. Without an active subscription the answer is 403, whatever was asked.
#[utoipa::path(get, path = "/v1/patients/audit/logs", tag = "audit logs",
    params(("from" = f64, Query), ("to" = f64, Query),
    ("action_type" = Option<String>, Query)),
    security(("api_key" = [])),
    responses((status = 200, body = Vec<EntryBody>), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 422, body = ErrorBody)))]
async fn list(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    parameters: Parameters,
) -> Result<Response> {
    // Before the parameters: without a subscription the answer is 403 whatever was asked (specification, 7).
    researcher.require_subscription(state.platform.core.now_ms())?;
    let (from_ms, to_ms) = both(parameters.required_ms("from"), parameters.required_ms("to"))?;
    // An empty answer would be taken for "nothing happened".
    if to_ms < from_ms {
        return Err(PlatformError::invalid("to", "must not be before from").into());
    }
    let action = parameters.one("action_type").map(action_of).transpose()?;
    let pages = state.platform.people.audit_log(&researcher, from_ms, to_ms, action).await?;
    let write = |out: &mut Vec<u8>, entry: AuditEntry| serde_json::to_writer(out, &EntryBody::from(entry));
    streamed(pages, Frame::array(), AT_ONCE, write).await
}

fn action_of(code: &str) -> std::result::Result<Action, PlatformError> {
    let known = || alternatives(Action::ALL.iter().map(|action| action.code()));
    let unknown = || PlatformError::invalid("action_type", format!("is not an action code: must be {}", known()));
    Action::of_code(code).ok_or_else(unknown)
}

/// Answers 410: `list` has replaced the endpoint. It is not in the OpenAPI document, since no new client should call it.
async fn of_patient() -> ApiError {
    ApiError::Particular {
        // Without looking at any credential (specification, 7): who still calls this needs to learn it.
        status: StatusCode::GONE,
        code: "gone",
        message: "this address was removed; GET /v1/patients/audit/logs takes its place".into(),
    }
}
