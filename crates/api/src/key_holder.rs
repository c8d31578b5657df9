//! From the API key of a request to who holds it.

use axum::http::request::Parts;
use platform::{Researcher, SecurityActor};

use crate::call_rejection::CallRejection;
use crate::client_address::client_address;
use crate::error::ApiError;
use crate::proof::{mark_authenticated, name_actor};
use crate::state::ApiState;

/// Returns who holds an API key of a request, which counts for it from here on. A refusal is noted with the caller's
/// address.
pub(crate) async fn researcher_of_key(parts: &Parts, state: &ApiState, key: &str) -> Result<Researcher, ApiError> {
    let address = client_address(&parts.extensions).text();
    let found = state.platform.identity.researcher_from(key, address).await;
    let researcher = found.map_err(CallRejection::Refused)?;
    let actor = SecurityActor::researcher(&researcher);
    mark_authenticated(parts, key, actor.id.as_str())?;
    name_actor(parts, actor);
    Ok(researcher)
}
