//! The studies of this node that somebody listens to, and what is published to them.
//!
//! Each listener has a queue of limited length; one that falls behind has to read what it missed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runtime::HashMap;
use store::GroupCode;
use store::events::Cursor;
use tokio::sync::{broadcast, watch};

use super::listening::Listening;
use crate::data::group_event::GroupEvent;
use crate::data::log_page::Places;
use crate::data::portal::board_event::BoardEvent;

/// What waits at most for a listener that is slow.
pub(crate) const KEPT: usize = 2048;

/// The studies of this node that somebody listens to.
pub(crate) struct Listeners {
    watched: Mutex<Watched>,
    /// Counts the changes that this node has made.
    pub(crate) changes: watch::Sender<u64>,
    pub(crate) closed: watch::Sender<bool>,
}

#[derive(Default)]
struct Watched {
    /// Up to where the logs have been published; none while nobody listens and no task follows the logs.
    published: Option<Cursor>,
    boards: Studies<BoardEvent>,
    readers: Studies<Published>,
}

type Studies<T> = HashMap<GroupCode, broadcast::Sender<T>>;

/// What is published to those who read a study's events.
#[derive(Clone, Debug)]
pub(crate) enum Published {
    /// These events, and places up to which the study has no other.
    Events(Arc<[Arc<GroupEvent>]>, Places),
    /// Events are missing here, and have to be read from the logs.
    Gap,
}

/// How somebody has begun to listen.
pub(crate) struct Joined<T> {
    pub listening: Listening<T>,
    /// Place behind which everything is heard.
    pub begins_at: Cursor,
    /// Whether nobody listened on this node before, so that the task has to be started.
    pub is_first: bool,
}

impl Default for Listeners {
    fn default() -> Self {
        Listeners { watched: Mutex::default(), changes: watch::Sender::new(0), closed: watch::Sender::new(false) }
    }
}

impl Listeners {
    fn lock(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to listen to the board of a study. `end` is where the logs end, the place of the first listener.
    pub fn join_board(&self, group_code: &GroupCode, end: Cursor) -> Joined<BoardEvent> {
        self.join(group_code, end, |watched| &mut watched.boards)
    }

    /// Begins to listen to the events of a study.
    pub fn join_readers(&self, group_code: &GroupCode, end: Cursor) -> Joined<Published> {
        self.join(group_code, end, |watched| &mut watched.readers)
    }

    fn join<T: Clone>(
        &self,
        group_code: &GroupCode,
        end: Cursor,
        studies: impl FnOnce(&mut Watched) -> &mut Studies<T>,
    ) -> Joined<T> {
        let mut watched = self.lock();
        let is_first = watched.published.is_none();
        let begins_at = watched.published.get_or_insert(end).clone();
        let study = studies(&mut watched).entry(group_code.clone()).or_insert_with(|| broadcast::Sender::new(KEPT));
        let listening = Listening { receiver: study.subscribe(), closed: self.closed.subscribe() };
        Joined { listening, begins_at, is_first }
    }

    /// Up to where the logs have been published. `None` without any listener: then the task has to end.
    pub fn published(&self) -> Option<Cursor> {
        let mut watched = self.lock();
        // Under the lock that `join` takes: a listener that comes just now is either counted or starts a new task.
        watched.boards.retain(|_, study| study.receiver_count() > 0);
        watched.readers.retain(|_, study| study.receiver_count() > 0);
        if watched.boards.is_empty() && watched.readers.is_empty() {
            watched.published = None;
        }
        watched.published.clone()
    }

    /// Places up to which a listener has heard everything, when nothing waits for it.
    pub fn heard_up_to<T: Clone>(&self, listening: &Listening<T>) -> Option<Places> {
        // Under the lock, under which is published: what is not in the queue then is not behind the place.
        let watched = self.lock();
        watched.published.as_ref().filter(|_| listening.receiver.is_empty()).map(Places::of)
    }

    /// Returns whether somebody listens to the board of a study.
    pub fn is_board_watched(&self, group_code: &GroupCode) -> bool {
        self.lock().boards.contains_key(group_code)
    }

    /// Returns whether somebody reads events.
    pub fn has_readers(&self) -> bool {
        !self.lock().readers.is_empty()
    }

    /// Publishes to each study what is made for its board and for those who read its events, and moves to a place of the
    /// logs. The lock is held meanwhile: a listener that joins either gets it or has its place behind it.
    pub fn publish(
        &self,
        next: Cursor,
        mut of_board: impl FnMut(&GroupCode) -> Vec<BoardEvent>,
        mut of_readers: impl FnMut(&GroupCode) -> Option<Published>,
    ) {
        let mut watched = self.lock();
        // The last listener may have gone: then sending fails, and nobody misses it.
        for (code, study) in &watched.boards {
            for event in of_board(code) {
                let _ = study.send(event);
            }
        }
        for (code, study) in &watched.readers {
            if let Some(published) = of_readers(code) {
                let _ = study.send(published);
            }
        }
        watched.published = Some(next);
    }

    /// Ends everyone's listening; they come back and begin again.
    pub fn end_all(&self) {
        *self.lock() = Watched::default();
    }
}

#[cfg(test)]
mod tests {
    use store::PatientId;
    use store::events::{LogCursor, Place};

    use super::*;
    use crate::data::live::listening::Heard;
    use crate::data::portal::board_row::BoardRow;

    fn cursor(position: i64) -> Cursor {
        let log = LogCursor { epoch: store::LogEpoch::new("e"), place: Place { position, offset: 0 } };
        Cursor { users: log.clone(), health: log }
    }

    fn row(number: usize) -> BoardEvent {
        let row = BoardRow::empty(PatientId::new(number.to_string()), 0);
        BoardEvent::Row { id: number.to_string(), row: Arc::new(row) }
    }

    fn code(text: &str) -> GroupCode {
        GroupCode::new(text)
    }

    fn publish_rows(listeners: &Listeners, position: i64, of_board: impl FnMut(&GroupCode) -> Vec<BoardEvent>) {
        listeners.publish(cursor(position), of_board, |_| None);
    }

    async fn next(joined: &mut Joined<BoardEvent>) -> String {
        match joined.listening.next().await {
            Heard::Published(BoardEvent::Row { id, .. }) => id,
            Heard::Published(BoardEvent::Reload) => "reload".to_owned(),
            Heard::FellBehind => "fell behind".to_owned(),
            Heard::Ended => "end".to_owned(),
        }
    }

    #[tokio::test]
    async fn listener_gets_what_is_published_to_its_study_after_it_joined() {
        let listeners = Listeners::default();
        let mut first = listeners.join_board(&code("A"), cursor(5));
        assert!(first.is_first);
        assert_eq!(first.begins_at, cursor(5));
        publish_rows(&listeners, 7, |of| if of.as_str() == "A" { vec![row(1)] } else { vec![row(2)] });
        let mut second = listeners.join_board(&code("B"), cursor(99));
        assert!(!second.is_first);
        assert_eq!(second.begins_at, cursor(7), "published up to there, wherever the log ends");
        publish_rows(&listeners, 8, |of| if of.as_str() == "B" { vec![row(3)] } else { Vec::new() });
        assert_eq!((next(&mut first).await, next(&mut second).await), ("1".to_owned(), "3".to_owned()));
        drop(first);
        assert!(
            listeners.published().is_some()
                && !listeners.is_board_watched(&code("A"))
                && listeners.is_board_watched(&code("B"))
        );
        drop(second);
        assert_eq!(listeners.published(), None, "no listener is left");
        assert!(listeners.join_readers(&code("A"), cursor(11)).is_first);
    }

    #[tokio::test]
    async fn listener_that_falls_behind_hears_of_it_and_goes_on() {
        let listeners = Listeners::default();
        let mut slow = listeners.join_board(&code("A"), cursor(0));
        for number in 0..=KEPT {
            publish_rows(&listeners, 1, |_| vec![row(number)]);
        }
        assert_eq!(next(&mut slow).await, "fell behind");
        publish_rows(&listeners, 2, |_| vec![row(KEPT + 1)]);
        assert_eq!(next(&mut slow).await, (KEPT + 1).to_string());
        listeners.end_all();
        assert_eq!(next(&mut slow).await, "end");
    }

    #[tokio::test]
    async fn reader_has_heard_everything_when_nothing_waits_for_it() {
        let listeners = Listeners::default();
        let mut reader = listeners.join_readers(&code("A"), cursor(3));
        assert!(listeners.has_readers() && !listeners.is_board_watched(&code("A")));
        assert_eq!(listeners.heard_up_to(&reader.listening), Some(Places::of(&cursor(3))));
        listeners.publish(cursor(4), |_| Vec::new(), |_| Some(Published::Gap));
        assert_eq!(listeners.heard_up_to(&reader.listening), None, "something waits");
        assert!(matches!(reader.listening.next().await, Heard::Published(Published::Gap)));
        assert_eq!(listeners.heard_up_to(&reader.listening), Some(Places::of(&cursor(4))));
    }
}
