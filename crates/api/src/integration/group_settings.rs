//! Settings of a study that enter a formula or say how long data are kept.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Path, State};
use platform::{GroupSettings, GroupSettingsChange};
use serde::{Deserialize, Serialize};
use store::GroupCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::body::Fields;
use crate::error::{ErrorBody, Result};
use crate::extract::ResearcherCall;
use crate::state::ApiState;

/// The routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(read, change))
}

/// The settings of a study, with defaults where nothing is set.
#[derive(Serialize, utoipa::ToSchema)]
struct GroupSettingsBody {
    /// The day's goal, steps.
    activity_goal_steps: i64,
    /// How the highest heart rate follows from age: `fox` or `tanaka`.
    max_heart_rate_rule: String,
    /// Days that raw data are kept, by data type; types that are not named are kept for good.
    retention: BTreeMap<String, i64>,
}

impl From<GroupSettings> for GroupSettingsBody {
    fn from(settings: GroupSettings) -> Self {
        GroupSettingsBody {
            activity_goal_steps: settings.activity_goal_steps,
            max_heart_rate_rule: settings.max_heart_rate_rule,
            retention: settings.retention_days,
        }
    }
}

/// Settings to change; those that are left out stay as they are.
#[derive(Deserialize, utoipa::ToSchema)]
#[expect(dead_code, reason = "describes the body, whose fields are read one by one")]
struct NewGroupSettings {
    /// Steps, 1 to 200000.
    activity_goal_steps: Option<i64>,
    /// `fox` or `tanaka`.
    max_heart_rate_rule: Option<String>,
    /// Days, 1 to 36500, by data type; takes the place of all that were named before.
    retention: Option<BTreeMap<String, i64>>,
}

/// The settings of a study.
#[utoipa::path(get, path = "/v1/groups/{group_code}/settings", tag = "studies",
    params(("group_code" = String, Path), ("token" = Option<String>, Query)),
    responses((status = 200, body = GroupSettingsBody), (status = 401, body = ErrorBody),
    (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn read(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(group_code): Path<GroupCode>,
) -> Result<Json<GroupSettingsBody>> {
    Ok(Json(state.platform.people.group_settings(&researcher, &group_code).await?.into()))
}

/// Changes settings of a study. They hold from now on: days before keep what was valid then.
#[utoipa::path(put, path = "/v1/groups/{group_code}/settings", tag = "studies",
    params(("group_code" = String, Path), ("token" = Option<String>, Query)), request_body = NewGroupSettings,
    responses((status = 200, body = GroupSettingsBody), (status = 400, body = ErrorBody),
    (status = 401, body = ErrorBody), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody),
    (status = 415, body = ErrorBody), (status = 422, body = ErrorBody)))]
async fn change(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(group_code): Path<GroupCode>,
    mut fields: Fields,
) -> Result<Json<GroupSettingsBody>> {
    let change = GroupSettingsChange {
        activity_goal_steps: fields.integer("activity_goal_steps"),
        max_heart_rate_rule: fields.text("max_heart_rate_rule"),
        // Read as it is and judged by type name later, so that each wrong entry is reported with its own field.
        retention: fields.object("retention"),
    };
    fields.finish()?;
    Ok(Json(state.platform.people.change_group_settings(&researcher, &group_code, change).await?.into()))
}
