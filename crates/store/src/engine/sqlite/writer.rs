//! The writer: one thread that commits in groups.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use runtime::{Instant, Queue, Waiting};
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::connection::{FILE_WAIT, at_once, closed};
use super::room::Room;
use crate::engine::body::Body;
use crate::engine::deadlines::Work;
use crate::engine::statement::Tx;
use crate::error::{Result, StoreError};

/// How long the writer keeps adding waiting transactions to the group at hand.
pub(super) const GROUP_TIME: Duration = Duration::from_millis(10);
/// What a savepoint needs to be undone are the few pages that its group of transactions has changed. In files, each group
/// made one, and half of all writes went there.
const UNDO_IN_MEMORY: &str = "PRAGMA temp_store = MEMORY";
const UNDO_IN_FILES: &str = "PRAGMA temp_store = FILE";
/// Transactions that may wait for the writer before callers wait to be admitted.
const WRITER_QUEUE: usize = 1024;

/// The thread that writes, as its callers see it. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Writer(Queue<Job>);

impl Writer {
    /// Begins to write over a connection, whose schema is up to date.
    pub fn begin(connection: Connection, room: Arc<Room>) -> Result<Self> {
        // Only now: a migration may rewrite a whole table, and what undoes that need not fit into memory.
        connection.execute_batch(UNDO_IN_MEMORY)?;
        let mut connection = Some(connection);
        let serve = move |job, waiting: &mut Waiting<Job>| serve(&mut connection, job, waiting, &room);
        let queue = runtime::serve("sqlite-writer", WRITER_QUEUE, serve);
        queue.map(Writer).map_err(|error| StoreError::Unavailable(error.to_string()))
    }

    pub async fn write(&self, work: Work, body: Body) -> Result<()> {
        let company = if work == Work::Deletion { Company::Alone } else { Company::Others };
        self.ask(|reply| Job::Transaction(Transaction { body, company, ended: None, reply })).await
    }

    pub async fn rewrite(&self) -> Result<()> {
        self.ask(Job::Rewrite).await
    }

    pub async fn empty_log(&self) -> Result<bool> {
        self.ask(Job::EmptyLog).await
    }

    pub async fn close(&self) -> Result<()> {
        self.ask(Job::Close).await
    }

    /// How many transactions wait.
    pub fn waiting(&self) -> usize {
        self.0.waiting()
    }

    async fn ask<T>(&self, job: impl FnOnce(oneshot::Sender<Result<T>>) -> Job) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        self.0.add(job(reply)).await.map_err(|_| stopped())?;
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }
}

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
    let log = checkpoint(&connection)?;
    let file = connection.path().unwrap_or_default().to_owned();
    connection.close().map_err(|(_, error)| StoreError::from(error))?;
    // A reader of the newest state keeps the log from being cut and not from being moved: the file holds everything then.
    if log.is_moved() {
        return Ok(());
    }
    Err(StoreError::Unavailable(format!(
        "another process reads {file}, so what was written last lies only in {file}-wal: keep both files together, and end \
         that process; the log is moved into the file at the next start, or by `pulseward doctor`"
    )))
}

fn empty_log(connection: &Connection) -> Result<()> {
    if !checkpoint(connection)?.is_busy {
        return Ok(());
    }
    Err(StoreError::Unavailable("the write-ahead log is being read".to_owned()))
}

/// Empties the log between two groups of transactions, unless somebody reads it.
fn empty_log_between(connection: &Connection) -> Result<bool> {
    // No transaction waits for somebody who reads: the caller that wants the log empty asks again.
    connection.busy_timeout(Duration::ZERO)?;
    let emptied = checkpoint(connection).map(|log| !log.is_busy);
    connection.busy_timeout(FILE_WAIT)?;
    emptied
}

/// A write-ahead log after it was to be moved into its file.
struct Checkpointed {
    /// Whether somebody reads or writes it, so that it could not be cut.
    is_busy: bool,
    /// Pages in the log.
    pages: i64,
    /// Those of them that are in the file as well.
    moved: i64,
}

impl Checkpointed {
    fn is_moved(&self) -> bool {
        !self.is_busy || self.moved == self.pages && self.pages >= 0
    }
}

/// Moves everything from the log into the file and cuts the log to no bytes, as far as nobody reads it.
fn checkpoint(connection: &Connection) -> Result<Checkpointed> {
    let read =
        |row: &rusqlite::Row<'_>| Ok(Checkpointed { is_busy: row.get(0)?, pages: row.get(1)?, moved: row.get(2)? });
    Ok(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], read)?)
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

fn stopped() -> StoreError {
    StoreError::Unavailable("the writer has stopped".to_owned())
}
