//! SQLite: one writer thread that commits in groups, and a handful of readers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use runtime::{Instant, Queue, Waiting};
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::blocking::blocking;
use super::body::{Body, Statements};
use super::counts::{self, PoolCounts};
use super::deadlines::Work;
use super::durations::Durations;
use super::migrate::{Migrations, Target, text_for};
use super::statement::Tx;
use crate::error::{Result, StoreError};
use room::Room;

pub(crate) mod file;
pub(crate) mod kept_logs;
mod room;

// Each has a page cache of its own, and more than a few only wait for the same disk.
const READERS: usize = 4;
const PREPARED_STATEMENTS: usize = 256;
/// How long the writer keeps adding waiting transactions to the group at hand.
const GROUP_TIME: Duration = Duration::from_millis(10);
/// How long closing waits for reads that are under way.
const LONGEST_READ: Duration = Duration::from_secs(5);
/// What a savepoint needs to be undone are the few pages that its group of transactions has changed. In files, each group
/// made one, and half of all writes went there.
const UNDO_IN_MEMORY: &str = "PRAGMA temp_store = MEMORY";
const UNDO_IN_FILES: &str = "PRAGMA temp_store = FILE";
/// Transactions that may wait for the writer before callers wait to be admitted.
const WRITER_QUEUE: usize = 1024;

/// A SQLite database file. Clones share its connections.
#[derive(Clone, Debug)]
pub(super) struct Sqlite {
    writer: Queue<Job>,
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

/// Longest wait of a connection for another process that holds the file.
const FILE_WAIT: Duration = Duration::from_secs(10);

/// What waits for the writer.
enum Job {
    /// A transaction, to be committed with others.
    Transaction(Transaction),
    /// The whole file is to be rewritten. The reply is how that ended.
    Rewrite(oneshot::Sender<Result<()>>),
    /// The write-ahead log is to be emptied, if nobody reads it. The reply is whether it was.
    EmptyLog(oneshot::Sender<Result<bool>>),
    /// The write-ahead log is to be emptied and nothing written any more. The reply is how that ended.
    Close(oneshot::Sender<Result<()>>),
}

/// With what others a transaction is committed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Company {
    /// With those that wait. It runs behind a savepoint, and what undoes that is kept in memory: every page as it was.
    Others,
    /// With none, and without a savepoint: it may change more pages than fit into memory.
    Alone,
}

/// A transaction that waits for the writer.
struct Transaction {
    /// An error of it rolls back what it has done.
    body: Body,
    company: Company,
    /// How the body ended; nothing where it was not begun.
    ended: Option<Result<()>>,
    /// Informs the caller, once the group is committed or has failed.
    reply: oneshot::Sender<Result<()>>,
}

impl Sqlite {
    pub(super) fn open(path: &Path, migrations: Migrations) -> Result<Self> {
        let connection = connect(path)?;
        page_sums::mark(&connection)?;
        // By now SQLite has read the log of a process that was killed.
        kept_logs::report(path);
        let connection = migrated(connection, migrations)?;
        // Only now: a migration may rewrite a whole table, and what undoes that need not fit into memory.
        connection.execute_batch(UNDO_IN_MEMORY)?;

        let mut connection = Some(connection);
        let room = Arc::new(Room::next_to(path));
        let known = room.clone();
        let serve = move |job, waiting: &mut Waiting<Job>| serve(&mut connection, job, waiting, &known);
        let writer = runtime::serve("sqlite-writer", WRITER_QUEUE, serve)
            .map_err(|error| StoreError::Unavailable(error.to_string()))?;
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
        let (reply, ended) = oneshot::channel();
        let company = if work == Work::Deletion { Company::Alone } else { Company::Others };
        let transaction = Transaction { body, company, ended: None, reply };
        self.writer.add(Job::Transaction(transaction)).await.map_err(|_| stopped())?;
        ended.await.unwrap_or_else(|_| Err(stopped()))
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
        let (reply, answer) = oneshot::channel();
        self.writer.add(Job::Rewrite(reply)).await.map_err(|_| stopped())?;
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// Moves everything from the write-ahead log into the file and empties the log; false when somebody reads it.
    pub(super) async fn empty_log(&self) -> Result<bool> {
        let (reply, answer) = oneshot::channel();
        self.writer.add(Job::EmptyLog(reply)).await.map_err(|_| stopped())?;
        answer.await.unwrap_or_else(|_| Err(stopped()))
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
        let (reply, answer) = oneshot::channel();
        self.writer.add(Job::Close(reply)).await.map_err(|_| stopped())?;
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }
}

impl Transaction {
    /// Runs the body, and keeps how it ended; false when what it did is to be undone.
    fn run(&mut self, tx: &Tx<'_>) -> bool {
        // One operation that panics must not end the thread that everybody writes through.
        let ended = catch_unwind(AssertUnwindSafe(|| at_once(self.body.run(tx))))
            .unwrap_or_else(|_| Err(StoreError::Database("store work panicked".to_owned())));
        self.ended.insert(ended).is_ok()
    }

    /// Informs the caller how the group of transactions ended, and this one in it.
    fn finish(self, committed: Result<()>) {
        // Nothing is there where the savepoint failed, since the work was then not begun.
        let ended = self.ended.unwrap_or_else(|| Err(StoreError::Unavailable("not run".to_owned())));
        // A caller that no longer listens has been cut off; the work is done all the same.
        // The commit decides: what worked in a group that was not committed has no effects.
        let _ = self.reply.send(committed.and(ended));
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

impl Target for Connection {
    async fn run(&mut self, text: &str) -> Result<()> {
        let text = text_for("sqlite", text).replace("/*clustered*/", "WITHOUT ROWID");
        Ok(self.execute_batch(&text)?)
    }

    async fn version(&mut self) -> Result<i64> {
        Ok(self.query_row("SELECT version FROM schema_version", [], |row| row.get(0))?)
    }
}

/// The outcome of store work. It runs on SQLite, where each statement is answered when it is asked, so there is nothing
/// to wait for.
fn at_once(work: impl Future<Output = Result<()>>) -> Result<()> {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => Err(StoreError::Database("store work waits for something that is no statement".to_owned())),
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable("the database is closed".to_owned())
}

fn stopped() -> StoreError {
    StoreError::Unavailable("the writer has stopped".to_owned())
}

/// Brings the schema of a database up to date.
pub(super) fn migrated(mut connection: Connection, migrations: Migrations) -> Result<Connection> {
    // The writer's lock from the start: two processes that first read the version could both find it old, and one of
    // them would fail where it now waits.
    connection.execute_batch("BEGIN IMMEDIATE")?;
    at_once(migrations.apply(&mut connection))?;
    connection.execute_batch("COMMIT")?;
    Ok(connection)
}

fn connect(path: &Path) -> Result<Connection> {
    let connection = file::open(path)?;
    // The time-out comes first: the pragmas below can meet another process that holds the file.
    connection.busy_timeout(FILE_WAIT)?;
    connection.execute_batch(
        // Size first, since it cannot be changed once there is a write-ahead log. With synchronous below FULL the last
        // commits would not outlive a loss of power, and 200 has been answered for them. Checkpoints are rare, so that
        // a page that many syncs write is moved into the file once. What is deleted is overwritten where that costs no
        // write of its own; erasure asks for more. SQLite leaves foreign keys unchecked unless each connection asks.
        "PRAGMA page_size = 8192;
         PRAGMA journal_mode = WAL;
         PRAGMA synchronous = FULL;
         PRAGMA wal_autocheckpoint = 4000;
         PRAGMA cache_size = -2048;
         PRAGMA secure_delete = FAST;
         PRAGMA foreign_keys = ON;",
    )?;
    // Otherwise a statement with a range is compiled again for each new bound of it, to look into statistics that
    // nobody gathers.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
    Ok(connection)
}

/// The writer: takes what waits, runs each behind a savepoint, commits once, then answers each caller. What deletes much is
/// run and committed alone. The writer has no connection once the database is closed.
fn serve(connection: &mut Option<Connection>, job: Job, waiting: &mut Waiting<Job>, room: &Room) {
    let mut next = Some(job);
    while let Some(job) = next.take() {
        let open = connection.as_ref().ok_or_else(closed);
        match job {
            Job::Transaction(first) => match (open, first.company) {
                (Ok(connection), Company::Others) => next = write_group(connection, waiting, first, room),
                (Ok(connection), Company::Alone) => write_alone(connection, first, room),
                (Err(closed), _) => first.finish(Err(closed)),
            },
            // A caller that no longer listens has been cut off; the work is done all the same.
            Job::Rewrite(reply) => drop(reply.send(open.and_then(rewrite))),
            Job::EmptyLog(reply) => drop(reply.send(open.and_then(empty_log_between))),
            Job::Close(reply) => drop(reply.send(connection.take().map_or(Ok(()), close))),
        }
    }
}

/// Runs one group, which ends with the first transaction that does not wait yet; answers what came instead of one.
fn write_group(connection: &Connection, waiting: &mut Waiting<Job>, first: Transaction, room: &Room) -> Option<Job> {
    // The lock before the first look: a transaction that begins by reading could find at its first write that another
    // process has written since, and fail however long it would wait.
    if let Err(error) = connection.execute_batch("BEGIN IMMEDIATE") {
        // Only the one at hand: those that wait have a group of their own, which may find the file free.
        first.finish(Err(error.into()));
        return None;
    }
    let started = Instant::now();
    let mut finished = Vec::new();
    let mut next = Some(first);
    let mut other = None;
    while let Some(mut transaction) = next.take() {
        run_behind_savepoint(connection, &mut transaction);
        finished.push(transaction);
        // A disk that is full undoes the whole group at once. What came after it would be committed by itself, and its
        // caller be informed that it was not.
        if connection.is_autocommit() {
            room.doubt();
            break;
        }
        if started.elapsed() < GROUP_TIME {
            match waiting.take() {
                Some(Job::Transaction(transaction)) if transaction.company == Company::Others => {
                    next = Some(transaction);
                }
                job => other = job,
            }
        }
    }
    let committed = connection.execute_batch("COMMIT");
    if let Err(error) = &committed {
        room.note(error);
        // The commit may have rolled back by itself; a second rollback then fails and changes nothing.
        let _ = connection.execute_batch("ROLLBACK");
    }
    // Everybody in the group is informed, also those whose work had failed anyway: each asks for its own answer only
    // after the commit.
    let failure = committed.err().map(|error| StoreError::from(error).to_string());
    for transaction in finished {
        transaction.finish(failure.clone().map_or(Ok(()), |message| Err(StoreError::Unavailable(message))));
    }
    other
}

/// Runs one transaction that has no savepoint: what undoes it is the write-ahead log, which is in a file.
fn write_alone(connection: &Connection, mut transaction: Transaction, room: &Room) {
    let begun = connection.execute_batch("BEGIN IMMEDIATE");
    if let Err(error) = begun {
        return transaction.finish(Err(error.into()));
    }
    let has_run = transaction.run(&Tx::on_sqlite(connection));
    if connection.is_autocommit() {
        // A disk that is full has undone it.
        room.doubt();
    }
    if !has_run {
        // Nothing to roll back where it is undone already.
        let _ = connection.execute_batch("ROLLBACK");
        return transaction.finish(Ok(()));
    }
    let committed = connection.execute_batch("COMMIT");
    if let Err(error) = &committed {
        room.note(error);
        // The commit may have rolled back by itself; a second rollback then fails and changes nothing.
        let _ = connection.execute_batch("ROLLBACK");
    }
    transaction.finish(committed.map_err(|error| StoreError::Unavailable(StoreError::from(error).to_string())));
}

/// Writes every row into new pages, and then over the old ones: deleted rows can lie in pages that are in use, where a
/// row once was that has moved since, and the pragma for secure deletion does not reach these.
fn rewrite(connection: &Connection) -> Result<()> {
    // The copy that is made must not lie in memory.
    connection.execute_batch(UNDO_IN_FILES)?;
    // Right before it: setting the size of pages takes the wish for room back.
    page_sums::reserve(connection)?;
    let rewritten = connection.execute_batch("VACUUM");
    connection.execute_batch(UNDO_IN_MEMORY)?;
    rewritten?;
    empty_log(connection)?;
    Ok(page_sums::mark(connection)?)
}

/// Moves everything from the write-ahead log into the file, and closes both.
fn close(connection: Connection) -> Result<()> {
    // Nobody waits: writers of another process would have to wait with us, and the log is safe where it is.
    connection.busy_timeout(Duration::ZERO)?;
    empty_log(&connection)?;
    connection.close().map_err(|(_, error)| error.into())
}

fn empty_log(connection: &Connection) -> Result<()> {
    if truncate_log(connection)? {
        return Ok(());
    }
    Err(StoreError::Unavailable("the write-ahead log is being read".to_owned()))
}

/// Empties the log between two groups of transactions, unless somebody reads it.
fn empty_log_between(connection: &Connection) -> Result<bool> {
    // No transaction waits for somebody who reads: the caller that wants the log empty asks again.
    connection.busy_timeout(Duration::ZERO)?;
    let emptied = truncate_log(connection);
    connection.busy_timeout(FILE_WAIT)?;
    emptied
}

/// Moves everything from the log into the file and cuts the log to no bytes; false when somebody reads it.
fn truncate_log(connection: &Connection) -> Result<bool> {
    let is_busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0))?;
    Ok(!is_busy)
}

fn run_behind_savepoint(connection: &Connection, job: &mut Transaction) {
    let step = |text: &str| connection.prepare_cached(text).and_then(|mut statement| statement.execute([]));
    if step("SAVEPOINT job").is_err() {
        return;
    }
    if !job.run(&Tx::on_sqlite(connection)) {
        let _ = step("ROLLBACK TO job");
    }
    // After ROLLBACK TO the savepoint is still open, and the next one would lie inside it.
    let _ = step("RELEASE job");
}

#[cfg(test)]
mod tests;
