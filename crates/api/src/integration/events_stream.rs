//! The events of a study as they happen.

use std::convert::Infallible;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures::{Stream, StreamExt as _};
use platform::{EventListener, EventsQuery, MOST_EVENTS};
use store::GroupCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::event::{Detail, EventBody};
use super::events::{detail, from, types};
use crate::error::{ErrorBody, Result};
use crate::load::NoRoom;
use crate::parameters::{Parameters, both};
use crate::portal::StreamCall;
use crate::state::ApiState;
use crate::stream_of_study::{CHECK_EVERY, COMMENT_EVERY, NO_BUFFERING, StudyStream, last_event_id};

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(stream))
}

/// An event of the stream. It has no name, so that it reaches `onmessage` of an `EventSource`.
#[derive(utoipa::ToSchema)]
#[allow(dead_code, reason = "says in the document what is written below; the parts go to the library one by one")]
struct StreamedEvent {
    /// Cursor behind the event, for `Last-Event-ID` or `after`.
    #[schema(example = "1.5f0c2a4d.21.0.65b1f0c2.1204.0")]
    id: String,
    /// The event as JSON, as a page has it.
    #[schema(example = "{}")]
    data: String,
}

/// Returns what happens to the patients of a study as server-sent events, each once.
///
/// The `id` of an event is a cursor; a client that comes back with `Last-Event-ID` gets what it has missed. A comment comes
/// every 15 seconds, with the cursor behind what was of no concern to the study. The stream ends with the session or the API
/// key, and when the node stops.
#[utoipa::path(get, path = "/v1/groups/{group_code}/events/stream", tag = "events",
    params(("group_code" = String, Path),
        ("after" = Option<String>, Query, description = "a cursor, or `oldest`; from now on by default"),
        ("types[]" = Option<Vec<String>>, Query, description = "names without `pulseward.`; all by default"),
        ("full" = Option<String>, Query, description = "1 for values as well"),
        ("Last-Event-ID" = Option<String>, Header, description = "cursor of the last event that was seen; browsers send it")),
    security(("portal_cookie" = []), ("api_key_header" = []), ("api_key_bearer" = []), ("api_key_parameter" = [])),
    responses((status = 200, body = StreamedEvent, content_type = "text/event-stream"), (status = 400, body = ErrorBody),
        (status = 401, body = ErrorBody), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody),
        (status = 410, body = ErrorBody), (status = 422, body = ErrorBody)))]
async fn stream(
    State(state): State<ApiState>,
    StreamCall { researcher, credential, owner }: StreamCall,
    Path(group_code): Path<GroupCode>,
    parameters: Parameters,
    headers: HeaderMap,
) -> Result<Response> {
    let (types, detail) = both(types(&parameters), detail(&parameters))?;
    // What a client has seen last says more than the address with which it began.
    let from = from(last_event_id(&headers).or_else(|| parameters.one("after")));
    let place = state.streams.enter_for(owner).ok_or(NoRoom::JustNow)?;
    let query = EventsQuery { from, limit: MOST_EVENTS, types };
    let listener = state.platform.data.listen_to_events(&researcher, &group_code, query).await?;
    let study = StudyStream { platform: state.platform.clone(), credential, code: group_code };
    let events = events_of(study, listener, detail).map(move |event| {
        // The place is given back with the stream, which ends when the client goes away.
        let _held = &place;
        event
    });
    Ok(([NO_BUFFERING], Sse::new(events)).into_response())
}

fn events_of(
    study: StudyStream,
    mut listener: EventListener,
    detail: Detail,
) -> impl Stream<Item = std::result::Result<Event, Infallible>> {
    async_stream::stream! {
        let (mut check, mut comment) = (runtime::interval(CHECK_EVERY), runtime::interval(COMMENT_EVERY));
        // The first tick of the check is ready at once, and who listens has just been checked.
        check.tick().await;
        let source = study.platform.core.settings().integration_url.clone();
        loop {
            tokio::select! {
                // The check first: a study that always has news must not keep an ended session alive.
                biased;
                () = check.tick() => {
                    if !study.is_open().await {
                        return;
                    }
                }
                // At once, and then again: with a place from which a client goes on that has heard nothing for long.
                () = comment.tick() => {
                    yield Ok(Event::default().comment("listening").id(listener.cursor().to_string()));
                }
                heard = listener.next() => match heard {
                    Ok(Some(event)) => {
                        let body = EventBody::new(&event, &study.code, &source, detail);
                        // Plain data become JSON without fail.
                        let data = serde_json::to_string(&body).unwrap_or_default();
                        yield Ok(Event::default().id(listener.cursor().to_string()).data(data));
                    }
                    Ok(None) => return,
                    // The client comes back with its cursor, and learns then what is wrong.
                    Err(error) => {
                        tracing::warn!(%error, "a stream of events ended");
                        return;
                    }
                },
            }
        }
    }
}
