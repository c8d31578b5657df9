//! The members of a study: researchers and practitioners.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use platform::email_faults;
use serde::Serialize;
use store::{AccountId, GroupCode, Member};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::body::typed::{Sent, body};
use crate::choices::RoleName;
use crate::error::{ErrorBody, Result};
use crate::extract::ResearcherCall;
use crate::path_uuid::PathUuid;
use crate::person::EMAIL;
use crate::state::ApiState;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list, add)).routes(routes!(remove))
}

body! {
    /// Account that becomes a member.
    #[schema(as = MemberRequest)]
    struct NewMember {
        /// Of an account that is there.
        #[schema(example = "hal@study.example")]
        #[schema(max_length = 254, extensions(("x-pattern" = json!(EMAIL))))]
        email: String,
    }
}

/// A member.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Member)]
struct HcpBody {
    /// Uuid of the account.
    #[schema(example = "80876de9-4e89-449a-9a8f-c1e11f720437")]
    uuid: String,
    /// E-mail address.
    #[schema(example = "hal@study.example")]
    email: String,
    /// `researcher`, `hcp` or `admin`.
    #[schema(value_type = RoleName)]
    role: &'static str,
}

impl From<Member> for HcpBody {
    fn from(member: Member) -> Self {
        HcpBody { uuid: member.uuid.to_string(), email: member.email, role: member.role.name() }
    }
}

/// Returns the members of a study, longest first.
///
/// A role says what the member may do: `hcp` reads, `researcher` and `admin` manage the study as well.
#[utoipa::path(get, path = "/v1/groups/{group_code}/hcps", tag = "studies",
    params(("group_code" = String, Path)),
    security(("api_key" = [])),
    responses((status = 200, body = Vec<HcpBody>), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody)))]
async fn list(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(group_code): Path<GroupCode>,
) -> Result<Json<Vec<HcpBody>>> {
    let members = state.platform.people.hcps(&researcher, &group_code).await?;
    Ok(Json(members.into_iter().map(HcpBody::from).collect()))
}

/// Makes an account a member of a study.
///
/// The account has to be there (404 `account_not_found`): nobody is invited. An account that is a member stays it, so
/// the request may be repeated. From then on the account has access to all patients of the study.
#[utoipa::path(post, path = "/v1/groups/{group_code}/hcps", tag = "studies",
    params(("group_code" = String, Path)), security(("api_key" = [])),
    request_body = NewMember,
    responses((status = 200, body = HcpBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
    (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
    (status = 415, body = ErrorBody), (status = 422, body = ErrorBody)))]
async fn add(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(group_code): Path<GroupCode>,
    sent: Sent<NewMember>,
) -> Result<Json<HcpBody>> {
    let email = sent.judged(|member| member.email, |email, _| email_faults(email))?;
    // The account has to exist: an invitation would send mail to addresses that nobody has checked.
    Ok(Json(state.platform.people.add_hcp(&researcher, &group_code, &email).await?.into()))
}

/// Ends a membership.
///
/// The last member who can manage the study stays (409 `last_manager`). Tokens by which the account reads on behalf of
/// patients end; for those that it still has access to it asks for others.
#[utoipa::path(delete, path = "/v1/groups/{group_code}/hcps/{uuid}", tag = "studies",
    params(("group_code" = String, Path), ("uuid" = String, Path)),
    security(("api_key" = [])),
    responses((status = 204), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn remove(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path((group_code, uuid)): Path<(GroupCode, PathUuid)>,
) -> Result<StatusCode> {
    // The last one who manages a study cannot leave it (409): its patients would belong to nobody.
    state.platform.people.remove_hcp(&researcher, &group_code, &AccountId::new(&*uuid)).await?;
    Ok(StatusCode::NO_CONTENT)
}
