//! The integration API: what researchers and practitioners call with an API key.

mod audit;
mod devices;
mod groups;
mod patients;

use utoipa_axum::router::OpenApiRouter;

use crate::ApiState;

/// The routes, in the order of the specification.
pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .merge(groups::routes())
        .merge(patients::routes())
        .merge(devices::routes())
        // MERGE: summaries::routes(), compliance::routes().
        .merge(audit::routes())
}
