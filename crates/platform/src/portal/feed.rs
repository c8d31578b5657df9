//! What tells boards that patients have changed.
//!
//! While somebody looks at the board of a study, one task of this node watches how far its patients' data are, reads
//! the rows of those who have changed once, and hands them to everyone who looks. Syncs and folds on this node wake it
//! at once; what other nodes do it sees by looking every [`POLL`]. So it works alike on both engines, and nothing has to
//! know who looks at what.
//!
//! Everyone who looks has a queue of limited length; whoever falls behind is told to read the board anew.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use runtime::{HashMap, HashSet};
use store::Progress;
use tokio::sync::{broadcast, watch};

use super::board::BoardRow;
use crate::access::Researcher;
use crate::environment::Platform;
use crate::error::Result;
use crate::patients::ROWS_AT_ONCE;

/// How often a watched study is looked at when nothing wakes the task.
const POLL: Duration = Duration::from_millis(500);
/// Changes within this time after a look wait for the next one, so that many syncs are one look.
const PAUSE: Duration = Duration::from_millis(100);
/// Events that are kept for whoever was away for a moment, and that wait at most for one who is slow.
const KEPT: usize = 2048;

/// The boards of this node that somebody looks at.
pub(crate) struct Boards {
    feeds: Mutex<HashMap<String, Weak<Feed>>>,
    /// Counts the changes that this node has made.
    changes: watch::Sender<u64>,
    closed: watch::Sender<bool>,
}

impl Default for Boards {
    fn default() -> Self {
        Boards { feeds: Mutex::default(), changes: watch::Sender::new(0), closed: watch::Sender::new(false) }
    }
}

/// Something that has happened on a board.
#[derive(Clone, Debug)]
pub enum BoardEvent {
    /// A row is now this one.
    Row {
        /// Name of the event, for whoever comes back and wants what he has missed.
        id: String,
        /// The row.
        row: Arc<BoardRow>,
    },
    /// The board has to be read anew.
    Reload,
}

/// The events of one study.
struct Feed {
    /// Tells this feed's events from those of an earlier one.
    name: String,
    kept: Mutex<Kept>,
    sender: broadcast::Sender<(u64, BoardEvent)>,
}

#[derive(Default)]
struct Kept {
    last: u64,
    events: VecDeque<(u64, BoardEvent)>,
}

/// One who looks at a board.
pub struct BoardListener {
    feed: Arc<Feed>,
    waiting: VecDeque<BoardEvent>,
    receiver: broadcast::Receiver<(u64, BoardEvent)>,
    closed: watch::Receiver<bool>,
    /// Number of the last event that was taken over when the listening began.
    from: u64,
}

impl Platform {
    /// Listens to the board of a study. `last_seen` is the name of the last event that the caller has seen, when he
    /// comes back: what he missed comes first, or he is told to read the board anew.
    pub async fn listen_to_board(
        &self,
        researcher: &Researcher,
        group_code: &str,
        last_seen: Option<&str>,
    ) -> Result<BoardListener> {
        let group = self.group_access(researcher, group_code).await?;
        let boards = &self.memory.boards;
        if let Some(feed) = boards.feed(&group.code) {
            return Ok(BoardListener::new(feed, last_seen, boards.closed.subscribe()));
        }
        let uuids = self.users.uuids_of(&group.code).await?;
        let seen = self.health.progress_of_patients(uuids).await?;
        let mut feeds = boards.lock();
        // Somebody else may have begun meanwhile.
        let feed = feeds.get(&group.code).and_then(Weak::upgrade).unwrap_or_else(|| {
            let feed = Arc::new(Feed::new(self.new_record_id()));
            feeds.retain(|_, feed| feed.strong_count() > 0);
            feeds.insert(group.code.clone(), Arc::downgrade(&feed));
            let watching = watch_study(self.clone(), group.code, Arc::downgrade(&feed), seen);
            runtime::spawn("watch a board", watching);
            feed
        });
        drop(feeds);
        Ok(BoardListener::new(feed, last_seen, boards.closed.subscribe()))
    }

    /// Ends everyone's listening, because this node is about to stop.
    pub fn close_boards(&self) {
        self.memory.boards.closed.send_replace(true);
    }

    /// Notes that a sync was stored or a fold has ended here.
    pub(crate) fn wake_boards(&self) {
        self.memory.boards.changes.send_modify(|changes| *changes = changes.wrapping_add(1));
    }
}

impl Boards {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Weak<Feed>>> {
        self.feeds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn feed(&self, group_code: &str) -> Option<Arc<Feed>> {
        self.lock().get(group_code).and_then(Weak::upgrade)
    }
}

impl Feed {
    fn new(name: String) -> Self {
        Feed { name, kept: Mutex::default(), sender: broadcast::Sender::new(KEPT) }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, row: Option<BoardRow>) {
        let mut kept = self.kept();
        kept.last += 1;
        let number = kept.last;
        let event = match row {
            Some(row) => BoardEvent::Row { id: format!("{}-{number}", self.name), row: Arc::new(row) },
            None => BoardEvent::Reload,
        };
        if kept.events.len() >= KEPT {
            kept.events.pop_front();
        }
        kept.events.push_back((number, event.clone()));
        // Sent while the lock is held: whoever begins to listen gets an event from here or from there, and once.
        let _ = self.sender.send((number, event));
    }
}

impl BoardListener {
    fn new(feed: Arc<Feed>, last_seen: Option<&str>, closed: watch::Receiver<bool>) -> Self {
        let (waiting, receiver, from) = {
            let kept = feed.kept();
            (missed(&feed.name, &kept, last_seen), feed.sender.subscribe(), kept.last)
        };
        BoardListener { feed, waiting, receiver, closed, from }
    }

    /// The next event; `None` when this node is about to stop.
    pub async fn next(&mut self) -> Option<BoardEvent> {
        if let Some(event) = self.waiting.pop_front() {
            return Some(event);
        }
        loop {
            tokio::select! {
                biased;
                _ = self.closed.wait_for(|closed| *closed) => return None,
                received = self.receiver.recv() => match received {
                    Ok((number, event)) if number > self.from => return Some(event),
                    Ok(_) => {}
                    Err(broadcast::error::RecvError::Lagged(_)) => {
                        // What is still in the queue is part of what will be read anew.
                        self.receiver = self.feed.sender.subscribe();
                        return Some(BoardEvent::Reload);
                    }
                    Err(broadcast::error::RecvError::Closed) => return None,
                },
            }
        }
    }
}

/// What somebody has missed since an event.
fn missed(name: &str, kept: &Kept, last_seen: Option<&str>) -> VecDeque<BoardEvent> {
    let Some(last_seen) = last_seen else { return VecDeque::new() };
    let number = last_seen.strip_prefix(name).and_then(|rest| rest.strip_prefix('-')?.parse::<u64>().ok());
    let oldest = kept.events.front().map_or(kept.last + 1, |(number, _)| *number);
    match number {
        Some(number) if number + 1 >= oldest && number <= kept.last => {
            kept.events.iter().filter(|(kept, _)| *kept > number).map(|(_, event)| event.clone()).collect()
        }
        _ => VecDeque::from([BoardEvent::Reload]),
    }
}

/// Watches the patients of a study while somebody listens.
async fn watch_study(platform: Platform, group_code: String, feed: Weak<Feed>, mut seen: HashMap<String, Progress>) {
    let mut changes = platform.memory.boards.changes.subscribe();
    let mut closed = platform.memory.boards.closed.subscribe();
    loop {
        tokio::select! {
            biased;
            _ = closed.wait_for(|closed| *closed) => return,
            _ = changes.changed() => {}
            () = runtime::sleep(POLL) => {}
        }
        let Some(feed) = feed.upgrade() else { return };
        match look(&platform, &group_code, &feed, &seen).await {
            Ok(now) => seen = now,
            Err(error) => tracing::warn!(%error, "a board could not be looked at"),
        }
        drop(feed);
        runtime::sleep(PAUSE).await;
    }
}

/// Tells what has changed since a look; answers how far everyone is now.
async fn look(
    platform: &Platform,
    group_code: &str,
    feed: &Feed,
    seen: &HashMap<String, Progress>,
) -> Result<HashMap<String, Progress>> {
    let uuids = platform.users.uuids_of(group_code).await?;
    let now = platform.health.progress_of_patients(uuids.clone()).await?;
    let there: HashSet<&String> = uuids.iter().collect();
    if seen.keys().any(|uuid| !there.contains(uuid)) {
        feed.tell(None);
    }
    let has_changed = |uuid: &&String| match (seen.get(*uuid), now.get(*uuid)) {
        (Some(before), Some(after)) => step(before) != step(after),
        (None, Some(_)) => true,
        (_, None) => false,
    };
    let changed: Vec<String> = uuids.iter().filter(has_changed).cloned().collect();
    for part in changed.chunks(ROWS_AT_ONCE) {
        for row in platform.board_rows(part).await? {
            feed.tell(Some(row));
        }
    }
    Ok(now)
}

/// How far a patient is: a fold that is under way has changed nothing yet.
fn step(progress: &Progress) -> (i64, i64) {
    (progress.arrivals, progress.folds - i64::from(progress.is_folding))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(uuid: &str) -> BoardRow {
        BoardRow {
            uuid: uuid.to_owned(),
            name: String::new(),
            external_id: None,
            latest: vitals::latest::LatestValues::default(),
            news: None,
            battery: None,
            worn: None,
            charging: None,
            last_sync_ms: None,
            spark: super::super::board::Spark::default(),
        }
    }

    fn listen(feed: &Arc<Feed>, last_seen: Option<&str>) -> BoardListener {
        BoardListener::new(feed.clone(), last_seen, watch::Sender::new(false).subscribe())
    }

    async fn next(listener: &mut BoardListener) -> String {
        let (_open, closed) = watch::channel(false);
        listener.closed = closed;
        match listener.next().await {
            Some(BoardEvent::Row { id, row }) => format!("{id} {}", row.uuid),
            Some(BoardEvent::Reload) => "reload".to_owned(),
            None => "end".to_owned(),
        }
    }

    #[tokio::test]
    async fn who_comes_back_gets_what_he_missed_once() {
        let feed = Arc::new(Feed::new("f".to_owned()));
        let mut first = listen(&feed, None);
        feed.tell(Some(row("a")));
        feed.tell(Some(row("b")));
        assert_eq!((next(&mut first).await, next(&mut first).await), ("f-1 a".to_owned(), "f-2 b".to_owned()));
        let mut back = listen(&feed, Some("f-1"));
        feed.tell(Some(row("c")));
        assert_eq!((next(&mut back).await, next(&mut back).await), ("f-2 b".to_owned(), "f-3 c".to_owned()));
        let mut up_to_date = listen(&feed, Some("f-3"));
        feed.tell(Some(row("d")));
        assert_eq!(next(&mut up_to_date).await, "f-4 d");
    }

    #[tokio::test]
    async fn what_is_too_old_or_of_another_feed_is_read_anew() {
        let feed = Arc::new(Feed::new("f".to_owned()));
        for number in 0..=KEPT {
            feed.tell(Some(row(&number.to_string())));
        }
        for last_seen in ["f-0", "g-5", "f-9999999", "f-", "", "f-x"] {
            assert_eq!(next(&mut listen(&feed, Some(last_seen))).await, "reload", "{last_seen}");
        }
        assert_eq!(next(&mut listen(&feed, Some("f-1"))).await, "f-2 1");
    }

    #[tokio::test]
    async fn who_falls_behind_reads_anew_and_goes_on() {
        let feed = Arc::new(Feed::new("f".to_owned()));
        let mut slow = listen(&feed, None);
        for _ in 0..=KEPT {
            feed.tell(Some(row("a")));
        }
        assert_eq!(next(&mut slow).await, "reload");
        feed.tell(Some(row("b")));
        assert_eq!(next(&mut slow).await, format!("f-{} b", KEPT + 2));
    }

    #[test]
    fn a_fold_counts_when_it_has_ended() {
        let before = Progress { arrivals: 3, folds: 7, is_folding: false, last_sync_ms: None };
        let claimed = Progress { folds: 8, is_folding: true, ..before };
        let folded = Progress { folds: 8, ..before };
        assert_eq!(step(&before), step(&claimed));
        assert_ne!(step(&claimed), step(&folded));
        assert_ne!(step(&before), step(&Progress { arrivals: 4, ..before }));
    }
}
