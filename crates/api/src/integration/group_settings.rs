//! Settings of a study that enter a formula or say how long data are kept.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Path, State};
use platform::{Change, GroupSettings, GroupSettingsChange};
use serde::Serialize;
use serde_json::{Map, Value};
use store::GroupCode;
use utoipa::openapi::schema::{KnownFormat, Object, ObjectBuilder, SchemaFormat, SchemaType, Type};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::body::typed::{Sent, body};
use crate::choices::one_of_data_types;
use crate::error::{ErrorBody, Result};
use crate::extract::ResearcherCall;
use crate::state::ApiState;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(read, change))
}

/// The settings of a study, with defaults where nothing is set.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = StudySettings)]
struct GroupSettingsBody {
    /// The day's goal, steps.
    #[schema(example = 10000)]
    activity_goal_steps: i64,
    /// Rule by which the highest heart rate follows from age: `fox` or `tanaka`.
    #[schema(example = "fox")]
    max_heart_rate_rule: String,
    /// Days that raw data are kept, by data type; types that are not named are kept for good.
    #[schema(example = json!({"ppg2": 30, "acc": 90}))]
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

body! {
    /// Settings to change; those that are left out stay as they are, null brings the default back.
    struct StudySettingsChange {
        /// Steps, 1 to 200000.
        #[schema(minimum = 1, maximum = 200_000)]
        #[schema(example = 10000)]
        #[schema(value_type = Option<i64>)]
        activity_goal_steps: Change<i64>,
        /// `fox` or `tanaka`.
        #[schema(example = "fox")]
        #[schema(pattern = "^(fox|tanaka)$")]
        #[schema(value_type = Option<String>)]
        max_heart_rate_rule: Change<String>,
        // Judged by type name later, so that each wrong entry is reported with its own field.
        #[schema(schema_with = retention, required = false)]
        retention: Change<Map<String, Value>>,
    }
}

impl From<StudySettingsChange> for GroupSettingsChange {
    fn from(sent: StudySettingsChange) -> Self {
        let StudySettingsChange { activity_goal_steps, max_heart_rate_rule, retention } = sent;
        GroupSettingsChange { activity_goal_steps, max_heart_rate_rule, retention }
    }
}

/// Returns an object of days by data type.
fn retention() -> Object {
    // Null is as good as left out, since what is named takes the place of everything.
    let days = ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Integer, Type::Null]))
        .minimum(Some(1))
        .maximum(Some(36_500));
    // As in the answer, whose numbers have no maximum.
    let days = days.format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)));
    let data_type = ObjectBuilder::new().schema_type(Type::String).pattern(Some(one_of_data_types()));
    let meaning = "Days, 1 to 36500, by data type; takes the place of all that were named before.";
    let object = ObjectBuilder::new().schema_type(SchemaType::from_iter([Type::Object, Type::Null]));
    let object = object.property_names(Some(data_type)).additional_properties(Some(days));
    object.description(Some(meaning)).examples([serde_json::json!({"ppg2": 30, "acc": 90})]).build()
}

/// Returns the settings of a study.
///
/// Those that were never set have their default. Every member may read them.
#[utoipa::path(get, path = "/v1/groups/{group_code}/settings", tag = "studies",
    params(("group_code" = String, Path)),
    security(("api_key" = [])),
    responses((status = 200, body = GroupSettingsBody), (status = 401, body = ErrorBody),
    (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn read(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(group_code): Path<GroupCode>,
) -> Result<Json<GroupSettingsBody>> {
    Ok(Json(state.platform.people.group_settings(&researcher, &group_code).await?.into()))
}

/// Changes settings of a study.
///
/// What is not named stays; null brings a default back. Settings hold from now on: days before keep what was valid
/// then. A shorter `retention` deletes samples for good.
#[utoipa::path(put, path = "/v1/groups/{group_code}/settings", tag = "studies",
    params(("group_code" = String, Path)), security(("api_key" = [])),
    request_body = StudySettingsChange,
    responses((status = 200, body = GroupSettingsBody), (status = 400, body = ErrorBody),
    (status = 401, body = ErrorBody), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody),
    (status = 415, body = ErrorBody), (status = 422, body = ErrorBody)))]
async fn change(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(group_code): Path<GroupCode>,
    sent: Sent<StudySettingsChange>,
) -> Result<Json<GroupSettingsBody>> {
    let change = sent.judged(GroupSettingsChange::from, |change, _| change.faults())?;
    Ok(Json(state.platform.people.change_group_settings(&researcher, &group_code, change).await?.into()))
}
