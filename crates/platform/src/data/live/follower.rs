//! Follows the event logs for those who listen: what has happened since a place is published to boards and to those who
//! read events.
//!
//! Syncs and derivations on this node wake the task at once; what other nodes do it sees by looking every [`POLL`]. It
//! works alike on both engines, and no writer has to know who listens.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use store::GroupCode;
use store::events::Cursor;

use super::listeners::Published;
use crate::core::error::Result;
use crate::data::Data;
use crate::data::group_event::{GroupEvent, studies_of};
use crate::data::log_page::{LogPage, Places, is_shown};
use crate::data::portal::board_event::BoardEvent;
use crate::data::portal::changes::{Changes, rows_of};

/// Interval at which the logs are read when nothing wakes the task.
const POLL: Duration = Duration::from_millis(500);
/// Changes within this time after a read wait for the next one, so that many syncs are one read.
const PAUSE: Duration = Duration::from_millis(100);

/// Publishes what happens to those on this node who listen, until nobody does or the node stops.
pub(crate) async fn follow(data: Data) {
    let _guard = EndAllOnPanic(&data);
    let listeners = &data.listeners;
    let mut changes = listeners.changes.subscribe();
    let mut closed = listeners.closed.subscribe();
    let mut waits = false;
    while let Some(published) = listeners.published() {
        tokio::select! {
            biased;
            _ = closed.wait_for(|closed| *closed) => return,
            // An older transaction hides committed events; nothing will wake this node when it ends.
            () = std::future::ready(()), if waits => {}
            _ = changes.changed() => {}
            () = runtime::sleep(POLL) => {}
        }
        waits = match publish(&data, published).await {
            Ok(waits) => waits,
            Err(error) => {
                tracing::warn!(%error, "events could not be published and are tried again");
                false
            }
        };
        runtime::sleep(PAUSE).await;
    }
}

/// Ends everyone's listening when the task panics, so that they come back and it is started again.
struct EndAllOnPanic<'data>(&'data Data);

impl Drop for EndAllOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.listeners.end_all();
        }
    }
}

/// Publishes what has happened behind a place. Returns whether committed events cannot be read yet.
async fn publish(data: &Data, mut published: Cursor) -> Result<bool> {
    let listeners = &data.listeners;
    loop {
        let Ok(page) = data.events_after(&published).await? else {
            // Older than the events that are kept: what was missed cannot be known, so boards are read again.
            let end = data.end_of_events().await?;
            listeners.publish(end, |_| vec![BoardEvent::Reload], |_| Some(Published::Gap));
            return Ok(false);
        };
        let (next, has_more, waits) = (page.next(), page.has_more(), page.waits());
        if next != published {
            let changes = Changes::of(page.events());
            let rows = rows_of(data, &changes.patients, |code| listeners.is_board_watched(code)).await?;
            let places = Places::of(&next);
            let by_study = by_study(data, page).await?;
            let of_board = |code: &GroupCode| changes.events_for(code, &rows, &published, &next);
            let of_readers = |code: &GroupCode| {
                by_study.as_ref().map_or(Some(Published::Gap), |by_study| {
                    Some(Published::Events(by_study.get(code)?.as_slice().into(), places))
                })
            };
            listeners.publish(next.clone(), of_board, of_readers);
        }
        if !has_more {
            return Ok(waits);
        }
        published = next;
    }
}

/// Returns the events of each study; `None` where nobody read events when it was looked, so that those who have come since have
/// to read them from the logs.
async fn by_study(data: &Data, page: LogPage) -> Result<Option<BTreeMap<GroupCode, Vec<Arc<GroupEvent>>>>> {
    if !data.listeners.has_readers() {
        return Ok(None);
    }
    let mut placed = page.into_order();
    placed.retain(|placed| is_shown(placed.event.event_type));
    let attachments = data.attachments_of(&placed).await?;
    let mut by_study: BTreeMap<GroupCode, Vec<Arc<GroupEvent>>> = BTreeMap::new();
    for placed in placed {
        let studies = studies_of(&placed, &attachments);
        let event = Arc::new(GroupEvent::new(placed));
        for code in studies {
            by_study.entry(code).or_default().push(event.clone());
        }
    }
    Ok(Some(by_study))
}
