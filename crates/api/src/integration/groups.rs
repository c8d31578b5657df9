//! Groups: the studies.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use platform::{Change, GroupChange, group_faults};
use serde::Serialize;
use store::{Group, GroupCode};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::body::NOT_BLANK;
use crate::body::typed::{Sent, body};
use crate::error::{ErrorBody, Result};
use crate::extract::ResearcherCall;
use crate::path_uuid::PathPatient;
use crate::state::ApiState;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(change, delete)).routes(routes!(attach, detach))
}

body! { of the specification:
    /// A study to create.
    #[schema(as = StudyRequest)]
    struct NewStudy {
        /// Name.
        #[schema(example = "Sleep")]
        #[schema(min_length = 1, max_length = 200, extensions(("x-pattern" = json!(NOT_BLANK))))]
        name: String,
        // Required although it may be empty: leaving it out by mistake is reported, leaving it empty is a choice.
        /// May be empty.
        #[schema(example = "of nurses")]
        #[schema(max_length = 10_000)]
        description: String,
    }
}

body! {
    /// Texts of a study to change; those that are left out stay as they are, null empties the description.
    struct StudyChange {
        /// Name.
        #[schema(example = "Sleep")]
        #[schema(min_length = 1, max_length = 200, extensions(("x-pattern" = json!(NOT_BLANK))))]
        #[schema(value_type = String, required = false)]
        name: Change<String>,
        /// Description.
        #[schema(example = "of nurses")]
        #[schema(max_length = 10_000)]
        #[schema(value_type = Option<String>)]
        description: Change<String>,
    }
}

/// A study.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct Study {
    /// Name.
    #[schema(example = "Sleep")]
    name: String,
    /// Description.
    #[schema(example = "of nurses")]
    description: String,
    /// Its name in paths, `groupCode`.
    #[schema(example = "JYVPQ")]
    code: String,
    /// `HCP-<code>-<suffix>`.
    #[serde(rename = "hcpCode")]
    #[schema(example = "HCP-JYVPQ-0h3qfs")]
    hcp_code: String,
    /// Record identifier.
    #[schema(example = "YergInqASE")]
    id: String,
    /// Creation, Unix epoch ms.
    #[schema(example = 1_763_600_000_000_i64)]
    timestamp: i64,
}

impl From<Group> for Study {
    fn from(group: Group) -> Self {
        Study {
            name: group.name,
            description: group.description,
            code: group.code.to_string(),
            hcp_code: group.hcp_code.to_string(),
            id: group.id.to_string(),
            timestamp: group.created_ms,
        }
    }
}

/// Returns the studies that the caller belongs to.
///
/// Oldest first. A key for named studies shows these alone.
#[utoipa::path(get, path = "/v1/groups", tag = "studies", security(("api_key" = [])),
    responses((status = 200, body = Vec<Study>), (status = 401, body = ErrorBody)))]
async fn list(State(state): State<ApiState>, ResearcherCall(researcher): ResearcherCall) -> Result<Json<Vec<Study>>> {
    let groups = state.platform.people.groups(&researcher).await?;
    Ok(Json(groups.into_iter().map(Study::from).collect()))
}

/// Creates a study with the caller as its first member.
///
/// The answer is the study with its `code`, by which all other addresses name it. An account that only reads (`hcp`) and a
/// key for named studies create none (403).
#[utoipa::path(post, path = "/v1/groups", tag = "studies", security(("api_key" = [])),
    request_body = NewStudy, responses((status = 200, body = Study), (status = 400, body = ErrorBody),
    (status = 401, body = ErrorBody), (status = 403, body = ErrorBody), (status = 422, body = ErrorBody)))]
async fn create(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    sent: Sent<NewStudy>,
) -> Result<Json<Study>> {
    let NewStudy { name, description } =
        sent.judged(|study| study, |study, _| group_faults(&study.name, &study.description))?;
    // 200 and not 201: the specification shows the created study as an ordinary answer.
    Ok(Json(state.platform.people.create_group(&researcher, &name, &description).await?.into()))
}

/// Changes name and description of a study.
///
/// What is not named stays; the code cannot be changed. The answer is the study as it then is.
#[utoipa::path(patch, path = "/v1/groups/{group_code}", tag = "studies",
    params(("group_code" = String, Path)), security(("api_key" = [])),
    request_body = StudyChange,
    responses((status = 200, body = Study), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
    (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 415, body = ErrorBody),
    (status = 422, body = ErrorBody)))]
async fn change(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(group_code): Path<GroupCode>,
    sent: Sent<StudyChange>,
) -> Result<Json<Study>> {
    let change_of = |StudyChange { name, description }| GroupChange { name, description };
    let change = sent.judged(change_of, |change, _| change.faults())?;
    Ok(Json(state.platform.people.change_group(&researcher, &group_code, change).await?.into()))
}

/// Deletes a study that holds no patient.
///
/// A study that holds a patient is kept (409 `group_has_patients`). Memberships end with it, and keys for it act on it
/// no more.
#[utoipa::path(delete, path = "/v1/groups/{group_code}", tag = "studies",
    params(("group_code" = String, Path)),
    security(("api_key" = [])),
    responses((status = 204), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn delete(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(group_code): Path<GroupCode>,
) -> Result<StatusCode> {
    state.platform.people.delete_group(&researcher, &group_code).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Adds a patient of another study of the caller to this one.
///
/// The caller has to be a member of both studies. Members of this one see all data of the patient then, also those of
/// before. Doing it again changes nothing.
#[utoipa::path(put, path = "/v1/groups/{group_code}/patients/{uuid}", tag = "studies",
    params(("group_code" = String, Path), ("uuid" = String, Path)),
    security(("api_key" = [])),
    responses((status = 204), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody)))]
async fn attach(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path((group_code, uuid)): Path<(GroupCode, PathPatient)>,
) -> Result<StatusCode> {
    // Doing it again is 204 as well, since PUT is repeated by clients that lost an answer.
    state.platform.people.attach_patient(&researcher, &group_code, &uuid.0).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Takes a patient out of a study.
///
/// A patient that no other study holds stays (409 `last_group`), since nobody could reach the data any more. Health
/// tokens for the patient end; an account that still has access asks for another.
#[utoipa::path(delete, path = "/v1/groups/{group_code}/patients/{uuid}", tag = "studies",
    params(("group_code" = String, Path), ("uuid" = String, Path)),
    security(("api_key" = [])),
    responses((status = 204), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn detach(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path((group_code, uuid)): Path<(GroupCode, PathPatient)>,
) -> Result<StatusCode> {
    // 409 when no other study holds the patient: nobody could reach the data any more, and they would stay for good.
    state.platform.people.detach_patient(&researcher, &group_code, &uuid.0).await?;
    Ok(StatusCode::NO_CONTENT)
}
