//! The security log: logins, credentials and refusals, for administrators.

use axum::Json;
use axum::extract::State;
use platform::{PlatformError, SecurityLogQuery, alternatives};
use serde::Serialize;
use store::{SecurityEvent, SecurityEventType};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::{ErrorBody, Result};
use crate::extract::ResearcherCall;
use crate::parameters::{Parameters, both, malformed};
use crate::state::ApiState;
use crate::times::iso_ms;

/// Events of a page where nothing is asked for.
const DEFAULT_PAGE: i64 = 500;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list))
}

/// A page of the security log.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = SecurityLog)]
struct LogBody {
    /// The events, oldest first.
    events: Vec<EventBody>,
    /// Value of `after` for the next request: now, when there is more, or later.
    #[schema(example = "5f0c2a4d3e5f60718293a65b1f0c2a4d.17")]
    next: String,
    /// True when there is more now.
    #[schema(example = false)]
    more: bool,
}

/// A security event. What is not known is null, as is what was erased since.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = SecurityEvent)]
struct EventBody {
    /// ISO 8601 in UTC with milliseconds; of several, when they were written.
    #[schema(example = "2025-11-20T00:53:20.000Z")]
    time: String,
    /// Type.
    #[serde(rename = "type")]
    #[schema(example = "login_failed")]
    event_type: String,
    /// Number of equal events that it represents.
    #[schema(example = 1)]
    count: i64,
    /// Uuid of the patient or account that did it; `system` for an operator.
    #[schema(example = "80876de9-4e89-449a-9a8f-c1e11f720437")]
    actor: Option<String>,
    /// Role of that.
    #[schema(example = "researcher")]
    actor_role: Option<String>,
    /// Uuid or record identifier of the patient, account or API key that it was done to.
    #[schema(example = "65b1f0c2a4d3e5f60718293a")]
    subject: Option<String>,
    /// Keyed hash of a name that nobody has: the same for the same name.
    #[schema(example = "9f86d081884c7d659a2feaa0c55ad015")]
    name_hash: Option<String>,
    /// Address that it came from.
    #[schema(example = "192.0.2.7")]
    address: Option<String>,
    /// Route that was refused, cloud that was logged in to, new role.
    #[schema(example = "GET /integration/v1/patients/{uuid}")]
    detail: Option<String>,
}

impl From<SecurityEvent> for EventBody {
    fn from(event: SecurityEvent) -> Self {
        EventBody {
            time: iso_ms(event.time_ms),
            event_type: event.event_type,
            count: event.count,
            actor: event.actor.map(|actor| actor.to_string()),
            actor_role: event.actor_role,
            subject: event.subject.map(|subject| subject.to_string()),
            name_hash: event.name_hash,
            address: event.address,
            detail: event.detail,
        }
    }
}

/// Returns what bears on security, oldest first.
///
/// Logins, second factors, keys, resets, accounts, and what was denied. For administrators.
///
/// Give `next` as `after` while there is more, and later to learn what is new.
#[utoipa::path(get, path = "/v1/security/events", tag = "audit logs",
    params(("after" = Option<String>, Query, description = "`next` of an earlier answer"),
        ("from" = Option<f64>, Query),
        ("to" = Option<f64>, Query),
        ("event_type" = Option<String>, Query),
        ("limit" = Option<i64>, Query, description = "1 to 1000, default 500")),
    security(("api_key" = [])),
    responses((status = 200, body = LogBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 422, body = ErrorBody)))]
async fn list(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    parameters: Parameters,
) -> Result<Json<LogBody>> {
    let time = |key: &'static str| parameters.one(key).map(|_| parameters.required_ms(key)).transpose();
    let (from_ms, to_ms) = both(time("from"), time("to"))?;
    // An empty answer would be taken for "nothing happened".
    if from_ms.zip(to_ms).is_some_and(|(from_ms, to_ms)| to_ms < from_ms) {
        return Err(PlatformError::invalid("to", "must not be before from").into());
    }
    let limit = match parameters.one("limit") {
        None => DEFAULT_PAGE,
        Some(text) => text.parse().map_err(|_| malformed("limit", "must be an integer"))?,
    };
    let event_type = parameters.one("event_type").map(type_of).transpose()?;
    let after = parameters.one("after").map(str::to_owned);
    let query = SecurityLogQuery { after, from_ms, to_ms, event_type, limit };
    let page = state.platform.identity.security_events(&researcher, query).await?;
    let events = page.events.into_iter().map(|(event, _)| EventBody::from(event)).collect();
    Ok(Json(LogBody { events, next: page.next, more: page.more }))
}

fn type_of(name: &str) -> std::result::Result<SecurityEventType, PlatformError> {
    let known = || alternatives(SecurityEventType::ALL.iter().map(|kind| kind.name()));
    let unknown =
        || PlatformError::invalid("event_type", format!("is no type of security events: must be {}", known()));
    SecurityEventType::parse(name).ok_or_else(unknown)
}
