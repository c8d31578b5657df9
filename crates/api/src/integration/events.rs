//! The events of a study, page by page.

use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use platform::{EventsFrom, EventsPage, EventsQuery, MOST_EVENTS, PlatformError, alternatives};
use serde::Serialize;
use store::{EventType, GroupCode};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::event::{Detail, EventBody};
use crate::error::{ErrorBody, Result};
use crate::extract::ResearcherCall;
use crate::load::NoRoom;
use crate::parameters::{Parameters, both, malformed};
use crate::proof::Owner;
use crate::state::ApiState;

/// Events of a page where nothing is asked for.
const DEFAULT_PAGE: usize = 100;
/// The longest wait for an event, s: shorter than what proxies give an answer.
const LONGEST_WAIT_S: u64 = 30;
/// Value of `after` for the oldest event that is kept.
const OLDEST: &str = "oldest";

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list))
}

/// A page of events.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = EventPage)]
struct PageBody {
    /// The events: by time, those of one patient and log in their order.
    data: Vec<EventBody>,
    /// Value of `after` for the next request: now, when there is more, or later.
    #[schema(example = "1.5f0c2a4d.21.0.65b1f0c2.1204.0")]
    next: String,
    /// True when there is more now.
    #[schema(example = false)]
    more: bool,
}

/// Returns what has happened to the patients of a study, oldest first, each event once.
///
/// An event whose transaction ended late is not skipped. Give `next` as `after` to go on. Without `after` reading begins now, with `oldest` at the oldest event that is kept. With
/// `wait` an answer without events is held back until there is one. A study reads the events of the time at which it held
/// the patient. 410 says that events behind the cursor are not there any more, and from where to go on: after a restore
/// from a backup (`cursor_of_another_store`), or because of their age (`cursor_expired`).
#[utoipa::path(get, path = "/v1/groups/{group_code}/events", tag = "events",
    params(("group_code" = String, Path),
        ("after" = Option<String>, Query, description = "`next` of an earlier answer, or `oldest`"),
        ("limit" = Option<i64>, Query, description = "1 to 1000, default 100"),
        ("wait" = Option<i64>, Query, description = "seconds, 0 to 30, default 0"),
        ("types[]" = Option<Vec<String>>, Query, description = "names without `pulseward.`; all by default"),
        ("full" = Option<String>, Query, description = "1 for values as well")),
    security(("api_key" = [])),
    responses((status = 200, body = PageBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 410, body = ErrorBody),
        (status = 422, body = ErrorBody)))]
async fn list(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    // Behind the call, which shows the owner.
    Owner(owner): Owner,
    Path(group_code): Path<GroupCode>,
    parameters: Parameters,
) -> Result<Json<PageBody>> {
    let limit = number(&parameters, "limit", DEFAULT_PAGE as u64, 1..=MOST_EVENTS as u64);
    let (limit, wait_s) = both(limit, number(&parameters, "wait", 0, 0..=LONGEST_WAIT_S))?;
    let (types, detail) = both(types(&parameters), detail(&parameters))?;
    let query = EventsQuery { from: from(parameters.one("after")), limit: limit as usize, types };
    // One who waits takes the place of a stream meanwhile: those who wait may not shut out the requests of apps.
    let _place = if wait_s > 0 { Some(state.streams.enter_for(owner).ok_or(NoRoom::JustNow)?) } else { None };
    let data = &state.platform.data;
    let page = data.await_events(&researcher, &group_code, query, Duration::from_secs(wait_s)).await?;
    Ok(Json(body(&state, &group_code, &page, detail)))
}

fn body(state: &ApiState, group_code: &GroupCode, page: &EventsPage, detail: Detail) -> PageBody {
    let source = &state.platform.core.settings().integration_url;
    let data = page.events.iter().map(|event| EventBody::new(event, group_code, source, detail)).collect();
    PageBody { data, next: page.next.to_string(), more: page.has_more }
}

/// Where a caller begins to read.
pub(super) fn from(after: Option<&str>) -> EventsFrom {
    match after {
        None => EventsFrom::Now,
        Some(OLDEST) => EventsFrom::Oldest,
        Some(cursor) => EventsFrom::Cursor(cursor.to_owned()),
    }
}

/// The types that are asked for; all where there are none.
pub(super) fn types(parameters: &Parameters) -> std::result::Result<Vec<EventType>, PlatformError> {
    let known = || alternatives(EventType::SHOWN.iter().map(|event_type| event_type.name()));
    let of_name = |name: &str| {
        let event_type = EventType::from_name(name);
        let unknown = || PlatformError::invalid("types", format!("{name} is no type of events: must be {}", known()));
        if EventType::SHOWN.contains(&event_type) { Ok(event_type) } else { Err(unknown()) }
    };
    parameters.list("types")?.into_iter().map(of_name).collect()
}

/// Whether values are asked for.
pub(super) fn detail(parameters: &Parameters) -> std::result::Result<Detail, PlatformError> {
    Ok(if parameters.flag("full")? { Detail::Values } else { Detail::Names })
}

fn number(
    parameters: &Parameters,
    key: &'static str,
    default: u64,
    range: std::ops::RangeInclusive<u64>,
) -> std::result::Result<u64, PlatformError> {
    let Some(text) = parameters.one(key) else { return Ok(default) };
    let number: i64 = text.parse().map_err(|_| malformed(key, "must be an integer"))?;
    let outside = || PlatformError::invalid(key, format!("must be from {} to {}", range.start(), range.end()));
    u64::try_from(number).ok().filter(|number| range.contains(number)).ok_or_else(outside)
}
