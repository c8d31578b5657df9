//! The integration API: what researchers and practitioners call with an API key.

mod afib;
mod audit;
mod compliance;
mod devices;
mod groups;
mod news;
mod patients;
mod summaries;

use utoipa_axum::router::OpenApiRouter;

use crate::ApiState;

/// The routes, in the order of the specification.
pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .merge(groups::routes())
        .merge(patients::routes())
        .merge(devices::routes())
        .merge(news::routes())
        .merge(summaries::routes())
        .merge(compliance::routes())
        .merge(afib::routes())
        .merge(audit::routes())
}
