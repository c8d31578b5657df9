//! The events of a study: of the patients that it held when they happened.

use std::sync::Arc;

use boxed_futures::boxed_futures;
use runtime::HashMap;
use store::events::Cursor;
use store::{EventType, GroupCode, PatientId, StudyAttachment};

use super::group_event::{GroupEvent, studies_of};
use super::log_page::{LogPage, LostCursor, PlacedEvent, is_shown};
use crate::core::access::Researcher;
use crate::core::error::{PlatformError, Result};
use crate::data::Data;

/// Events that are looked through for one answer. A study whose patients are few among many gets a short page and reads on.
const MOST_LOOKED_THROUGH: usize = 10_000;
/// The most events that one answer can have.
pub const MOST_EVENTS: usize = 1000;

/// Place from which events are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventsFrom {
    /// From now on.
    Now,
    /// From the oldest that is kept.
    Oldest,
    /// Behind a cursor of an earlier answer.
    Cursor(String),
}

/// Which events of a study are asked for.
#[derive(Clone, Debug)]
pub struct EventsQuery {
    /// Where to begin.
    pub from: EventsFrom,
    /// At most so many, 1 to [`MOST_EVENTS`].
    pub limit: usize,
    /// Only these; all where there are none.
    pub types: Vec<EventType>,
}

/// Events of a study.
#[derive(Debug)]
pub struct EventsPage {
    /// The events: by time, those of one patient and log in their order.
    pub events: Vec<Arc<GroupEvent>>,
    /// Where to read on.
    pub next: Cursor,
    /// Whether there is more now.
    pub has_more: bool,
}

impl EventsQuery {
    /// Returns whether events of a type are asked for.
    pub(crate) fn wants(&self, event_type: EventType) -> bool {
        is_shown(event_type) && (self.types.is_empty() || self.types.contains(&event_type))
    }
}

#[boxed_futures]
impl Data {
    /// Reads events of a study. A caller who goes on with `next` sees each event once, those of a patient in their order.
    ///
    /// [`PlatformError::CursorGone`] when events behind the cursor are not there any more.
    pub async fn events_of_group(
        &self,
        researcher: &Researcher,
        group_code: &GroupCode,
        query: &EventsQuery,
    ) -> Result<EventsPage> {
        let group = self.core.group_access(researcher, group_code).await?;
        let begin = self.first_cursor(&query.from).await?;
        self.page_of_group(&group.code, begin, query).await
    }

    /// Returns the cursor at which reading begins.
    pub(crate) async fn first_cursor(&self, from: &EventsFrom) -> Result<Cursor> {
        match from {
            EventsFrom::Now => self.end_of_events().await,
            EventsFrom::Oldest => self.oldest_of_events().await,
            EventsFrom::Cursor(text) => text.parse().map_err(|_| {
                PlatformError::invalid("after", "is no cursor: give `next` of an earlier answer, or `oldest`")
            }),
        }
    }

    /// Reads events of a study behind a cursor, for a caller whose access was checked.
    pub(crate) async fn page_of_group(
        &self,
        group_code: &GroupCode,
        begin: Cursor,
        query: &EventsQuery,
    ) -> Result<EventsPage> {
        let (mut events, mut cursor, mut looked_through) = (Vec::new(), begin, 0);
        loop {
            let page = match self.events_after(&cursor).await? {
                Ok(page) => page,
                Err(lost) => return Err(self.gone(lost).await?),
            };
            let (behind_all, has_more) = (page.next(), page.has_more());
            let placed = wanted(page, query, &mut looked_through);
            let attachments = self.attachments_of(&placed).await?;
            let mut rest =
                placed.into_iter().filter(|placed| studies_of(placed, &attachments).contains(group_code)).peekable();
            while let Some(placed) = rest.next() {
                let behind = placed.behind;
                events.push(Arc::new(GroupEvent::new(placed)));
                if events.len() >= query.limit {
                    let is_last = rest.peek().is_none();
                    let next = if is_last { behind_all } else { behind.in_lives_of(&behind_all) };
                    return Ok(EventsPage { events, next, has_more: !is_last || has_more });
                }
            }
            cursor = behind_all;
            if !has_more || looked_through >= MOST_LOOKED_THROUGH {
                return Ok(EventsPage { events, next: cursor, has_more });
            }
        }
    }

    /// Returns which studies held the patients of some events, by patient.
    pub(crate) async fn attachments_of(
        &self,
        placed: &[PlacedEvent],
    ) -> Result<HashMap<PatientId, Vec<StudyAttachment>>> {
        let mut patients: Vec<PatientId> = placed.iter().map(|placed| placed.event.patient.clone()).collect();
        patients.sort_unstable();
        patients.dedup();
        let mut by_patient: HashMap<PatientId, Vec<StudyAttachment>> = HashMap::default();
        for attachment in self.core.users().study_attachments(patients).await? {
            by_patient.entry(attachment.patient.clone()).or_default().push(attachment);
        }
        Ok(by_patient)
    }

    async fn gone(&self, lost: LostCursor) -> Result<PlatformError> {
        let code = match lost {
            LostCursor::AnotherStore => "cursor_of_another_store",
            LostCursor::Expired => "cursor_expired",
        };
        Ok(PlatformError::CursorGone { code, oldest: self.oldest_of_events().await?.to_string() })
    }
}

fn wanted(page: LogPage, query: &EventsQuery, looked_through: &mut usize) -> Vec<PlacedEvent> {
    let placed = page.into_order();
    *looked_through += placed.len();
    placed.into_iter().filter(|placed| query.wants(placed.event.event_type)).collect()
}
