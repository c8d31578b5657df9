//! The authorization server: a patient lets an application read or send their data (RFC 6749, 7636, 7009, 7662, 8414,
//! 9207, as RFC 9700 advises).

mod authorize;
mod browser;
mod client;
mod escaping;
mod form;
mod metadata;
mod pages;
mod token;

use utoipa_axum::router::OpenApiRouter;

use crate::state::ApiState;

pub(crate) use metadata::at_the_root;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().merge(authorize::routes()).merge(token::routes()).merge(metadata::routes())
}
