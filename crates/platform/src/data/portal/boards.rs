//! The boards of this node that have listeners, and what is published to them.
//!
//! Each listener has a queue of limited length; one that falls behind has to read the board again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runtime::HashMap;
use store::GroupCode;
use store::events::Cursor;
use tokio::sync::{broadcast, watch};

use super::board_row::BoardRow;

/// Events that wait at most for a listener that is slow.
const KEPT: usize = 2048;

/// Something that has happened on a board.
#[derive(Clone, Debug)]
pub enum BoardEvent {
    /// A row is now this one.
    Row {
        /// Cursor of the event logs: a listener that comes back with it gets everything behind it.
        id: String,
        /// The row.
        row: Arc<BoardRow>,
    },
    /// The board has to be read again.
    Reload,
}

/// The boards of this node that have listeners.
pub(crate) struct Boards {
    watched: Mutex<Watched>,
    /// Counts the changes that this node has made.
    pub(super) changes: watch::Sender<u64>,
    pub(super) closed: watch::Sender<bool>,
}

#[derive(Default)]
struct Watched {
    /// Up to where the logs have been published; none while no board has a listener and no task follows the logs.
    published: Option<Cursor>,
    /// By study.
    studies: HashMap<GroupCode, broadcast::Sender<BoardEvent>>,
}

/// A listener of a board.
pub struct BoardListener {
    pub(super) begins_at: Option<String>,
    pub(super) waiting: VecDeque<BoardEvent>,
    pub(super) receiver: broadcast::Receiver<BoardEvent>,
    pub(super) closed: watch::Receiver<bool>,
}

impl Default for Boards {
    fn default() -> Self {
        Boards { watched: Mutex::default(), changes: watch::Sender::new(0), closed: watch::Sender::new(false) }
    }
}

impl Boards {
    fn lock(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to listen to a study. Returns the place behind which the listener hears of everything, which is `end` for
    /// the first one, and whether it is the first one, for which the task has to be started.
    pub(super) fn join(&self, group_code: &GroupCode, end: Cursor) -> (broadcast::Receiver<BoardEvent>, Cursor, bool) {
        let mut watched = self.lock();
        let is_first = watched.published.is_none();
        let published = watched.published.get_or_insert(end).clone();
        let study = watched.studies.entry(group_code.clone()).or_insert_with(|| broadcast::Sender::new(KEPT));
        (study.subscribe(), published, is_first)
    }

    /// Up to where the logs have been published. `None` without any listener: then the task has to end.
    pub(super) fn published(&self) -> Option<Cursor> {
        let mut watched = self.lock();
        // Under the lock that `join` takes: a listener that comes just now is either counted or starts a new task.
        watched.studies.retain(|_, study| study.receiver_count() > 0);
        if watched.studies.is_empty() {
            watched.published = None;
        }
        watched.published.clone()
    }

    /// Returns whether a study has a listener.
    pub(super) fn is_watched(&self, group_code: &GroupCode) -> bool {
        self.lock().studies.contains_key(group_code)
    }

    /// Publishes to each study the events that `of_study` makes for it, and moves to a place of the logs. The lock is held
    /// meanwhile: a listener that joins either gets them or has its place behind them.
    pub(super) fn publish(&self, next: Cursor, mut of_study: impl FnMut(&GroupCode) -> Vec<BoardEvent>) {
        let mut watched = self.lock();
        for (code, study) in &watched.studies {
            for event in of_study(code) {
                // The last listener may have gone.
                let _ = study.send(event);
            }
        }
        watched.published = Some(next);
    }

    /// Ends everyone's listening; they come back and begin again.
    pub(super) fn end_all(&self) {
        *self.lock() = Watched::default();
    }
}

impl BoardListener {
    /// Cursor behind which this listener hears of everything; none when it has come back with one.
    pub fn begins_at(&self) -> Option<&str> {
        self.begins_at.as_deref()
    }

    /// Returns the next event; `None` when this node is about to stop, or the listening has to begin again.
    pub async fn next(&mut self) -> Option<BoardEvent> {
        if let Some(event) = self.waiting.pop_front() {
            return Some(event);
        }
        tokio::select! {
            // Stopping comes first, so that a busy study cannot keep a node from ending.
            biased;
            _ = self.closed.wait_for(|closed| *closed) => None,
            received = self.receiver.recv() => match received {
                Ok(event) => Some(event),
                Err(broadcast::error::RecvError::Lagged(_)) => {
                    // What is still in the queue is part of what will be read again.
                    self.receiver = self.receiver.resubscribe();
                    Some(BoardEvent::Reload)
                }
                Err(broadcast::error::RecvError::Closed) => None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use store::PatientId;
    use store::events::{LogCursor, Place};

    fn cursor(position: i64) -> Cursor {
        let log = LogCursor { epoch: "e".to_owned(), place: Place { position, offset: 0 } };
        Cursor { users: log.clone(), health: log }
    }

    fn row(number: usize) -> BoardEvent {
        let row = BoardRow::empty(PatientId::new(number.to_string()), 0);
        BoardEvent::Row { id: number.to_string(), row: Arc::new(row) }
    }

    fn listen(boards: &Boards, group_code: &GroupCode, position: i64) -> (BoardListener, bool) {
        let (receiver, published, is_first) = boards.join(group_code, cursor(position));
        let begins_at = Some(published.to_string());
        let closed = boards.closed.subscribe();
        (BoardListener { begins_at, waiting: VecDeque::new(), receiver, closed }, is_first)
    }

    async fn next(listener: &mut BoardListener) -> String {
        match listener.next().await {
            Some(BoardEvent::Row { id, .. }) => id,
            Some(BoardEvent::Reload) => "reload".to_owned(),
            None => "end".to_owned(),
        }
    }

    #[tokio::test]
    async fn listener_gets_what_is_published_to_its_study_after_it_joined() {
        let boards = Boards::default();
        let (mut first, is_first) = listen(&boards, &GroupCode::new("A"), 5);
        assert!(is_first);
        assert_eq!(first.begins_at(), Some(cursor(5).to_string().as_str()));
        boards.publish(cursor(7), |code| if code.as_str() == "A" { vec![row(1)] } else { vec![row(2)] });
        let (mut second, is_first) = listen(&boards, &GroupCode::new("B"), 99);
        assert!(!is_first);
        assert_eq!(
            second.begins_at(),
            Some(cursor(7).to_string().as_str()),
            "published up to there, wherever the log ends"
        );
        boards.publish(cursor(8), |code| if code.as_str() == "B" { vec![row(3)] } else { Vec::new() });
        assert_eq!((next(&mut first).await, next(&mut second).await), ("1".to_owned(), "3".to_owned()));
        drop(first);
        assert!(
            boards.published().is_some()
                && !boards.is_watched(&GroupCode::new("A"))
                && boards.is_watched(&GroupCode::new("B"))
        );
        drop(second);
        assert_eq!(boards.published(), None, "no listener is left");
        assert!(listen(&boards, &GroupCode::new("A"), 11).1);
    }

    #[tokio::test]
    async fn listener_that_falls_behind_reads_again_and_goes_on() {
        let boards = Boards::default();
        let (mut slow, _) = listen(&boards, &GroupCode::new("A"), 0);
        for number in 0..=KEPT {
            boards.publish(cursor(1), |_| vec![row(number)]);
        }
        assert_eq!(next(&mut slow).await, "reload");
        boards.publish(cursor(2), |_| vec![row(KEPT + 1)]);
        assert_eq!(next(&mut slow).await, (KEPT + 1).to_string());
        boards.end_all();
        assert_eq!(next(&mut slow).await, "end");
    }
}
