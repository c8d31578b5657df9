//! Alarms of a patient.

use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use store::Alarm;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::body::Fields;
use crate::error::{ErrorBody, Result};
use crate::extract::ResearcherCall;
use crate::path_uuid::PathPatient;
use crate::state::ApiState;

/// The routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(read, change))
}

/// A threshold at which somebody wants to be told.
#[derive(Deserialize, Serialize, utoipa::ToSchema)]
struct AlarmBody {
    /// A name of latest values, or `news_score`.
    vital: String,
    /// Values below this alarm.
    #[serde(skip_serializing_if = "Option::is_none")]
    below: Option<f64>,
    /// Values above this alarm.
    #[serde(skip_serializing_if = "Option::is_none")]
    above: Option<f64>,
    /// For how long, s.
    for_s: i64,
}

/// All alarms of a patient.
#[derive(Deserialize, Serialize, utoipa::ToSchema)]
struct AlarmsBody {
    alarms: Vec<AlarmBody>,
}

impl From<Vec<Alarm>> for AlarmsBody {
    fn from(alarms: Vec<Alarm>) -> Self {
        let body =
            |alarm: Alarm| AlarmBody { vital: alarm.vital, below: alarm.below, above: alarm.above, for_s: alarm.for_s };
        AlarmsBody { alarms: alarms.into_iter().map(body).collect() }
    }
}

fn read_alarm(fields: &mut Fields) -> Alarm {
    Alarm {
        vital: fields.required_text("vital"),
        below: fields.number("below"),
        above: fields.number("above"),
        // Left out it means at once, which alarms too often rather than too late.
        for_s: fields.integer("for_s").unwrap_or(0),
    }
}

/// The alarms of a patient.
#[utoipa::path(get, path = "/v1/patients/{uuid}/alarms", tag = "patients",
    params(("uuid" = String, Path), ("token" = Option<String>, Query)),
    responses((status = 200, body = AlarmsBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody)))]
async fn read(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(PathPatient(uuid)): Path<PathPatient>,
) -> Result<Json<AlarmsBody>> {
    Ok(Json(state.platform.people.alarms(&researcher, &uuid).await?.into()))
}

/// Puts alarms in the place of those that a patient has.
#[utoipa::path(put, path = "/v1/patients/{uuid}/alarms", tag = "patients",
    params(("uuid" = String, Path), ("token" = Option<String>, Query)), request_body = AlarmsBody,
    responses((status = 200, body = AlarmsBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
    (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 415, body = ErrorBody),
    (status = 422, body = ErrorBody)))]
async fn change(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(PathPatient(uuid)): Path<PathPatient>,
    mut fields: Fields,
) -> Result<Json<AlarmsBody>> {
    // The whole list and no single alarm: clients cannot leave one behind that they did not see.
    let alarms = fields.required_list("alarms", read_alarm);
    fields.finish()?;
    Ok(Json(state.platform.people.set_alarms(&researcher, &uuid, alarms).await?.into()))
}
