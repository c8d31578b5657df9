//! The integration API: what researchers and practitioners call with an API key.

mod afib;
mod alarms;
mod audit;
mod bracelets;
mod compliance;
mod devices;
mod event;
mod events;
mod events_stream;
mod exports;
mod group_settings;
mod groups;
mod hcps;
mod lake;
mod news;
mod patient_row;
mod patients;
mod profile;
mod security;
mod summaries;

use utoipa_axum::router::OpenApiRouter;

use crate::state::ApiState;

pub(crate) use patient_row::FIELD_NAMES;

/// Returns the routes, in the order of the specification; then those that its audit codes imply.
pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .merge(groups::routes())
        .merge(patients::routes())
        .merge(devices::routes())
        .merge(news::routes())
        .merge(summaries::routes())
        .merge(compliance::routes())
        .merge(afib::routes())
        .merge(exports::routes())
        .merge(lake::routes())
        .merge(audit::routes())
        .merge(security::routes())
        .merge(crate::downloads::routes())
        .merge(group_settings::routes())
        .merge(hcps::routes())
        .merge(profile::routes())
        .merge(alarms::routes())
        .merge(bracelets::routes())
        .merge(events::routes())
        .merge(events_stream::routes())
}
