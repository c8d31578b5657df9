//! SQLite: one writer thread that commits in groups, and a handful of readers.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use runtime::Instant;
use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::blocking::blocking;
use super::body::{Body, Statements};
use super::counts::{self, PoolCounts};
use super::deadlines::Work;
use super::durations::Durations;
use super::migrate::Migrations;
use super::statement::Tx;
use crate::error::{Result, StoreError};
use connection::{at_once, closed, connect};
use room::Room;
use writer::Writer;

mod connection;
pub(crate) mod file;
pub(crate) mod kept_logs;
mod room;
mod writer;

pub(super) use connection::migrated;

// Each has a page cache of its own, and more than a few only wait for the same disk.
const READERS: usize = 4;
/// How long closing waits for reads that are under way.
const LONGEST_READ: Duration = Duration::from_secs(5);

/// A SQLite database file. Clones share its connections.
#[derive(Clone, Debug)]
pub(super) struct Sqlite {
    writer: Writer,
    readers: Arc<Readers>,
    room: Arc<Room>,
}

#[derive(Debug)]
struct Readers {
    idle: Idle,
    /// For look-ups; there are as many as have been made at the same time.
    idle_for_look_ups: Idle,
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    waits: Durations,
}

/// Connections that nobody uses just now.
#[derive(Debug)]
struct Idle {
    path: PathBuf,
    opened: AtomicU64,
    /// `None` once the database is closed.
    connections: Mutex<Option<Vec<Connection>>>,
}

impl Sqlite {
    pub(super) fn open(path: &Path, migrations: Migrations) -> Result<Self> {
        let connection = connect(path)?;
        page_sums::mark(&connection)?;
        // By now SQLite has read the log of a process that was killed.
        kept_logs::report(path);
        let connection = migrated(connection, migrations)?;
        let room = Arc::new(Room::next_to(path));
        let writer = Writer::begin(connection, room.clone())?;
        let readers = Readers {
            idle: Idle::new(path),
            idle_for_look_ups: Idle::new(path),
            permits: Arc::new(Semaphore::new(READERS)),
            waiting: AtomicUsize::default(),
            waits: Durations::default(),
        };
        Ok(Sqlite { writer, readers: Arc::new(readers), room })
    }

    pub(super) async fn read(&self, mut body: Body) -> Result<()> {
        let permit = self.readers.permit().await?;
        let readers = self.readers.clone();
        blocking(move || {
            let _permit = permit;
            let connection = readers.idle.take()?;
            // All statements of the work see one state, while the writer goes on.
            connection.execute_batch("BEGIN")?;
            let ended = at_once(body.run(&Tx::on_sqlite(&connection)));
            connection.execute_batch("COMMIT")?;
            // Not after a failure of BEGIN or COMMIT, nor after a panic: the connection is dropped then, so the next
            // operation never finds a transaction open.
            readers.idle.put_back(connection);
            ended
        })
        .await
    }

    pub(super) fn look_up(&self, body: &mut dyn Statements) -> Result<()> {
        let connection = self.readers.idle_for_look_ups.take()?;
        let ended = at_once(body.run(&Tx::on_sqlite(&connection)));
        self.readers.idle_for_look_ups.put_back(connection);
        ended
    }

    pub(super) async fn write(&self, work: Work, body: Body) -> Result<()> {
        self.writer.write(work, body).await
    }

    /// How many readers there are and what waits for one; look-ups have connections of their own and wait for none.
    pub(super) fn reader_counts(&self) -> PoolCounts {
        let in_use = READERS.saturating_sub(self.readers.permits.available_permits());
        let idle = self.readers.idle.lock().as_ref().map_or(0, Vec::len);
        PoolCounts {
            size: idle + in_use,
            in_use,
            waiting: self.readers.waiting.load(Ordering::Relaxed),
            limit: READERS,
            opened: self.readers.idle.opened.load(Ordering::Relaxed),
            waits: self.readers.waits.counts(),
            ..PoolCounts::default()
        }
    }

    /// How many transactions wait for the writer.
    pub(super) fn writer_queue(&self) -> usize {
        self.writer.waiting()
    }

    /// Fails while there is no room for the file to grow, although what is small may still find a place in it.
    pub(super) async fn check_room(&self) -> Result<()> {
        let room = self.room.clone();
        if room.is_doubtful() { blocking(move || room.check()).await } else { Ok(()) }
    }

    /// Rewrites the file without what was deleted; its pages then have checksums.
    pub(super) async fn rewrite(&self) -> Result<()> {
        self.writer.rewrite().await
    }

    /// Moves everything from the write-ahead log into the file and empties the log; false when somebody reads it.
    pub(super) async fn empty_log(&self) -> Result<bool> {
        self.writer.empty_log().await
    }

    /// Deletes the damaged logs that were kept.
    pub(super) async fn empty_kept_logs(&self) -> Result<()> {
        let path = self.path().to_owned();
        blocking(move || kept_logs::empty(&path)).await
    }

    /// Returns whether the pages of the file have checksums.
    pub(super) fn has_page_checksums(&self) -> Result<bool> {
        let connection = self.readers.idle_for_look_ups.take()?;
        let has_checksums = page_sums::are_in(&connection)?;
        self.readers.idle_for_look_ups.put_back(connection);
        Ok(has_checksums)
    }

    /// Reads pages of the file behind one and compares them with their checksums.
    pub(super) async fn read_pages(&self, behind: u64, most: u64) -> Result<page_sums::PagesRead> {
        let permit = self.readers.permit().await?;
        let readers = self.readers.clone();
        blocking(move || {
            let _permit = permit;
            let connection = readers.idle.take()?;
            let read = page_sums::read_pages(&connection, behind, most)?;
            readers.idle.put_back(connection);
            Ok(read)
        })
        .await
    }

    pub(super) fn path(&self) -> &Path {
        &self.readers.idle.path
    }

    /// Ends all connections and leaves the write-ahead log empty, so that the file alone holds everything. What is
    /// asked afterwards fails.
    pub(super) async fn close(&self) -> Result<()> {
        // A log that is read cannot be emptied. Reads that go on for longer lose: the log then stays, whole.
        let ended = runtime::timeout(LONGEST_READ, self.readers.permits.acquire_many(READERS as u32)).await;
        // Readers end before the writer empties the log: a snapshot that is open keeps it from being emptied.
        self.readers.permits.close();
        self.readers.idle.close();
        self.readers.idle_for_look_ups.close();
        drop(ended);
        self.writer.close().await
    }
}

impl Readers {
    /// The right to use one of the readers, once one is free.
    async fn permit(&self) -> Result<OwnedSemaphorePermit> {
        if let Ok(permit) = self.permits.clone().try_acquire_owned() {
            self.waits.add(Duration::ZERO);
            return Ok(permit);
        }
        let begun = Instant::now();
        let _waits = counts::Waiting::begin(&self.waiting);
        let permit = self.permits.clone().acquire_owned().await;
        self.waits.add(begun.elapsed());
        permit.map_err(|error| StoreError::Unavailable(error.to_string()))
    }
}

impl Idle {
    fn new(path: &Path) -> Self {
        Idle { path: path.to_owned(), opened: AtomicU64::default(), connections: Mutex::new(Some(Vec::new())) }
    }

    /// An idle connection, or a new one.
    fn take(&self) -> Result<Connection> {
        let idle = self.lock().as_mut().ok_or_else(closed)?.pop();
        idle.map_or_else(|| self.open(), Ok)
    }

    fn open(&self) -> Result<Connection> {
        let connection = connect(&self.path)?;
        self.opened.fetch_add(1, Ordering::Relaxed);
        Ok(connection)
    }

    fn put_back(&self, connection: Connection) {
        if let Some(connections) = self.lock().as_mut() {
            connections.push(connection);
        }
    }

    fn close(&self) {
        let connections = self.lock().take();
        drop(connections);
    }

    fn lock(&self) -> MutexGuard<'_, Option<Vec<Connection>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
