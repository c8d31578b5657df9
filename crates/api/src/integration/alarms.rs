//! Alarms of a patient.

use axum::Json;
use axum::extract::{Path, State};
use platform::{ALARM_VITALS, alarm_faults};
use serde::Serialize;
use store::Alarm;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::body::typed::{Sent, body};
use crate::choices::one_of;
use crate::error::{ErrorBody, Result};
use crate::extract::ResearcherCall;
use crate::path_uuid::PathPatient;
use crate::state::ApiState;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(read, change))
}

body! {
    /// A threshold at which somebody wants to be informed.
    #[derive(Serialize)]
    #[schema(as = Alarm)]
    struct AlarmBody {
        /// A name of latest values, or `news_score`.
        #[schema(example = "heart_rate", extensions(("x-pattern" = json!(one_of(ALARM_VITALS)))))]
        vital: String,
        /// Values below this alarm.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(minimum = 0, maximum = 1000)]
        #[schema(example = 45)]
        below: Option<f64>,
        /// Values above this alarm.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(minimum = 0, maximum = 1000)]
        #[schema(example = 130)]
        above: Option<f64>,
        // Left out it means at once, which alarms too often rather than too late.
        /// For how long, s; 0 when it is left out.
        #[schema(minimum = 0, maximum = 86_400)]
        #[schema(example = 60)]
        for_s: Option<i64>,
    }
}

body! {
    /// All alarms of a patient.
    #[derive(Serialize)]
    #[schema(as = Alarms)]
    struct AlarmsBody {
        /// The alarms; at most 50.
        #[schema(max_items = 50)]
        alarms: Vec<AlarmBody>,
    }
}

impl From<Vec<Alarm>> for AlarmsBody {
    fn from(alarms: Vec<Alarm>) -> Self {
        let body = |alarm: Alarm| AlarmBody {
            vital: alarm.vital,
            below: alarm.below,
            above: alarm.above,
            for_s: Some(alarm.for_s),
        };
        AlarmsBody { alarms: alarms.into_iter().map(body).collect() }
    }
}

impl From<AlarmBody> for Alarm {
    fn from(AlarmBody { vital, below, above, for_s }: AlarmBody) -> Self {
        Alarm { vital, below, above, for_s: for_s.unwrap_or(0) }
    }
}

/// Returns the alarms of a patient.
///
/// In the order in which they were set. A patient without any has an empty list.
#[utoipa::path(get, path = "/v1/patients/{uuid}/alarms", tag = "patients",
    params(("uuid" = String, Path)),
    security(("api_key" = [])),
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
///
/// The whole list, at most 50: an empty one takes all away. Each names a vital sign and at least one of `below` and
/// `above`, of which `below` is the lower. Every member of the study may do this. The answer is what is set then.
#[utoipa::path(put, path = "/v1/patients/{uuid}/alarms", tag = "patients",
    params(("uuid" = String, Path)), security(("api_key" = [])),
    request_body = AlarmsBody,
    responses((status = 200, body = AlarmsBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
    (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 415, body = ErrorBody),
    (status = 422, body = ErrorBody)))]
async fn change(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(PathPatient(uuid)): Path<PathPatient>,
    sent: Sent<AlarmsBody>,
) -> Result<Json<AlarmsBody>> {
    // The whole list and no single alarm: clients cannot leave one behind that they did not see.
    let alarms_of = |body: AlarmsBody| body.alarms.into_iter().map(Alarm::from).collect::<Vec<_>>();
    let alarms = sent.judged(alarms_of, |alarms, unreadable| alarm_faults(alarms, unreadable))?;
    Ok(Json(state.platform.people.set_alarms(&researcher, &uuid, alarms).await?.into()))
}
