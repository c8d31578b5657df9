//! Who calls: a researcher with an API key, a patient or someone on the patient's behalf with a token of the Health
//! Cloud, or someone with a token of the Users Cloud.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use platform::{HealthCaller, Researcher, SecurityActor, UsersCaller};

use crate::call_rejection::{CallRejection, KEY_PLACES, TOKEN_PLACES};
use crate::credentials::{api_key, bearer};
use crate::error::ApiError;
use crate::key_holder::researcher_of_key;
use crate::portal::researcher_of_cookie;
use crate::proof::{mark_authenticated, mark_checked_by_route, name_actor};
use crate::state::ApiState;

/// A call of the integration API. The key comes as `?token=`, as `Authorization: Bearer` or as `X-Api-Key`; a page of
/// the portal brings its cookie and the header `X-CSRF-Token` instead.
pub struct ResearcherCall(pub Researcher);

/// A call of the Health Cloud, with a token as `Authorization: Bearer`.
pub struct HealthCall(pub HealthCaller);

/// A call of the Users Cloud, with a token as `Authorization: Bearer`, by someone who has chosen their password.
pub struct UsersCall(pub UsersCaller);

/// A call of the Users Cloud by anyone with a token, also of a password that staff chose: the choice of another one.
pub struct PasswordCall(pub UsersCaller);

/// A token as `Authorization: Bearer`, not looked at yet: what is refreshed may have expired.
pub struct BearerToken(pub String);

impl FromRequestParts<ApiState> for ResearcherCall {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Self::Rejection> {
        let key = match api_key(parts) {
            // Anyone who brings a key means the key, whatever cookie their browser adds.
            Err(CallRejection::NoCredential(_)) => match researcher_of_cookie(parts, state).await? {
                Some(researcher) => return Ok(ResearcherCall(researcher)),
                None => return Err(CallRejection::NoCredential(KEY_PLACES).into()),
            },
            key => key?,
        };
        Ok(ResearcherCall(researcher_of_key(parts, state, &key).await?))
    }
}

impl FromRequestParts<ApiState> for HealthCall {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Self::Rejection> {
        let token = bearer(parts)?.ok_or(CallRejection::NoCredential(TOKEN_PLACES))?;
        let caller = state.platform.identity.health_caller(token).await.map_err(CallRejection::Refused)?;
        // A patient's, also where staff sends for them: a hospital's gateway does that for many patients with one account.
        mark_authenticated(parts, token, caller.patient().as_str())?;
        name_actor(parts, caller.security_actor());
        Ok(HealthCall(caller))
    }
}

impl FromRequestParts<ApiState> for UsersCall {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Self::Rejection> {
        let caller = users_caller(parts, state).await?;
        // After the token has proven valid: the call counts for its bearer and not for the address.
        caller.require_own_password()?;
        Ok(UsersCall(caller))
    }
}

impl FromRequestParts<ApiState> for PasswordCall {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Self::Rejection> {
        users_caller(parts, state).await.map(PasswordCall)
    }
}

impl<S: Sync> FromRequestParts<S> for BearerToken {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Self::Rejection> {
        let token = bearer(parts)?.ok_or(CallRejection::NoCredential(TOKEN_PLACES))?.to_owned();
        mark_checked_by_route(parts);
        Ok(BearerToken(token))
    }
}

async fn users_caller(parts: &mut Parts, state: &ApiState) -> Result<UsersCaller, ApiError> {
    let token = bearer(parts)?.ok_or(CallRejection::NoCredential(TOKEN_PLACES))?;
    let caller = state.platform.identity.users_caller(token).await.map_err(CallRejection::Refused)?;
    let actor = SecurityActor::user(caller.user());
    mark_authenticated(parts, token, actor.id.as_str())?;
    name_actor(parts, actor);
    Ok(caller)
}
