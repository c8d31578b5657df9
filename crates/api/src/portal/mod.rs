//! What the pages of the portal ask beyond the integration API, which takes their cookie as well.

mod account;
mod board;
pub(crate) mod caller;
mod clients;
mod compliance;
pub(crate) mod cookie;
mod keys;
mod news;
mod range;
mod series;
mod session;
mod sessions;
mod totp;

use utoipa_axum::router::OpenApiRouter;

use crate::state::ApiState;

pub(crate) use caller::{StreamCall, researcher_of_cookie};

/// Returns the routes.
pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    let below = OpenApiRouter::new()
        .merge(account::routes())
        .merge(keys::routes())
        .merge(clients::routes())
        .merge(sessions::routes())
        .merge(totp::routes())
        .merge(board::routes())
        .merge(series::routes())
        .merge(news::routes())
        .merge(compliance::routes());
    OpenApiRouter::new().merge(session::routes()).nest("/api", below)
}
