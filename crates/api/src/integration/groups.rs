//! Groups: the studies.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use store::Group;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::ApiState;
use crate::body::Fields;
use crate::error::{ErrorBody, Result};
use crate::extract::ResearcherCall;

/// The routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list, create))
}

/// A study to create.
#[derive(Deserialize, utoipa::ToSchema)]
#[expect(dead_code, reason = "describes the body, whose fields are read one by one")]
struct NewStudy {
    name: String,
    /// May be empty.
    description: String,
}

/// A study.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct Study {
    name: String,
    description: String,
    /// Its name in paths, `groupCode`.
    code: String,
    /// `HCP-<code>-<suffix>`.
    #[serde(rename = "hcpCode")]
    hcp_code: String,
    /// Record identifier.
    id: String,
    /// Creation, Unix epoch ms.
    timestamp: i64,
}

impl From<Group> for Study {
    fn from(group: Group) -> Self {
        Study {
            name: group.name,
            description: group.description,
            code: group.code,
            hcp_code: group.hcp_code,
            id: group.id,
            timestamp: group.created_ms,
        }
    }
}

/// The studies that the caller belongs to.
#[utoipa::path(get, path = "/v1/groups", tag = "studies", params(("token" = Option<String>, Query)),
    responses((status = 200, body = Vec<Study>), (status = 401, body = ErrorBody)))]
async fn list(State(state): State<ApiState>, ResearcherCall(researcher): ResearcherCall) -> Result<Json<Vec<Study>>> {
    let groups = state.platform.groups(&researcher).await?;
    Ok(Json(groups.into_iter().map(Study::from).collect()))
}

/// Creates a study with the caller as its first member.
#[utoipa::path(post, path = "/v1/groups", tag = "studies", params(("token" = Option<String>, Query)),
    request_body = NewStudy, responses((status = 200, body = Study), (status = 400, body = ErrorBody),
    (status = 401, body = ErrorBody), (status = 403, body = ErrorBody), (status = 422, body = ErrorBody)))]
async fn create(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    mut fields: Fields,
) -> Result<Json<Study>> {
    let name = fields.required_text("name");
    let description = fields.required_text("description");
    fields.finish()?;
    Ok(Json(state.platform.create_group(&researcher, &name, &description).await?.into()))
}
