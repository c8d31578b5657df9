//! SQLite: one writer thread that commits in groups, and a handful of readers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use runtime::{Instant, Queue, Waiting};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::{Semaphore, oneshot};

use super::migrate::{Migrations, Target, text_for};
use super::statement::Tx;
use crate::error::{Result, StoreError};

const READERS: usize = 4;
const PREPARED_STATEMENTS: usize = 256;
/// How long the writer keeps adding waiting transactions to the group at hand.
const GROUP_TIME: Duration = Duration::from_millis(10);
/// Transactions that may wait for the writer before callers wait to be let in.
const WRITER_QUEUE: usize = 1024;

/// A SQLite database file. Clones share its connections.
#[derive(Clone, Debug)]
pub(super) struct Sqlite {
    writer: Queue<Job>,
    readers: Arc<Readers>,
}

#[derive(Debug)]
struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    /// Idle connections for look-ups; there are as many as have been made at the same time.
    idle_for_look_ups: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
}

/// The work of a transaction; an error asks for a rollback and says nothing more, for the caller is told elsewhere.
type Work = dyn FnMut(&Tx<'_>) -> std::result::Result<(), ()> + Send;

/// What waits for the writer.
enum Job {
    /// A transaction, to be committed with others.
    Transaction(Transaction),
    /// The whole file is to be rewritten. The reply is how that ended.
    Rewrite(oneshot::Sender<Result<()>>),
}

/// A transaction that waits for the writer.
struct Transaction {
    /// Does the work behind a savepoint; `Err` rolls it back.
    run: Box<Work>,
    /// Tells the caller how it ended, once the group is committed or has failed.
    finish: Box<dyn FnOnce(Result<()>) + Send>,
}

impl Sqlite {
    pub(super) fn open(path: &Path, migrations: Migrations) -> Result<Self> {
        let mut connection = connect(path)?;
        connection.execute_batch("BEGIN IMMEDIATE")?;
        at_once(migrations.apply(&mut connection))?;
        connection.execute_batch("COMMIT")?;

        let writer =
            runtime::serve("sqlite-writer", WRITER_QUEUE, move |job, waiting| serve(&connection, job, waiting))
                .map_err(|error| StoreError::Unavailable(error.to_string()))?;
        let readers = Readers {
            path: path.to_owned(),
            idle: Mutex::default(),
            idle_for_look_ups: Mutex::default(),
            permits: Arc::new(Semaphore::new(READERS)),
        };
        Ok(Sqlite { writer, readers: Arc::new(readers) })
    }

    pub(super) async fn read<T, F>(self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFn(&Tx<'_>) -> Result<T> + Send + 'static,
    {
        let permit = self.readers.permits.clone().acquire_owned().await;
        let permit = permit.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        super::blocking(move || {
            let _permit = permit;
            let connection = self.readers.take()?;
            connection.execute_batch("BEGIN")?;
            let answer = at_once(work(&Tx::on_sqlite(&connection)));
            connection.execute_batch("COMMIT")?;
            self.readers.put_back(connection);
            answer
        })
        .await
    }

    pub(super) fn look_up<T>(&self, work: &impl AsyncFn(&Tx<'_>) -> Result<T>) -> Result<T> {
        let lock = || self.readers.idle_for_look_ups.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = lock().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => connect(&self.readers.path)?,
        };
        let answer = at_once(work(&Tx::on_sqlite(&connection)));
        lock().push(connection);
        answer
    }

    pub(super) async fn write<T, F>(&self, mut work: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFnMut(&Tx<'_>) -> Result<T> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let outcome: Arc<Mutex<Option<Result<T>>>> = Arc::new(Mutex::new(None));
        let written = outcome.clone();
        let run = Box::new(move |tx: &Tx<'_>| {
            let result = catch_unwind(AssertUnwindSafe(|| at_once(work(tx))))
                .unwrap_or_else(|_| Err(StoreError::Database("store work panicked".to_owned())));
            let ended = if result.is_ok() { Ok(()) } else { Err(()) };
            *written.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            ended
        });
        let finish = Box::new(move |committed: Result<()>| {
            let result = outcome.lock().unwrap_or_else(PoisonError::into_inner).take();
            let result = result.unwrap_or_else(|| Err(StoreError::Unavailable("not run".to_owned())));
            // A caller that no longer listens has been cut off; the work is done all the same.
            let _ = reply.send(committed.and(result));
        });
        self.writer.add(Job::Transaction(Transaction { run, finish })).await.map_err(|_| stopped())?;
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// Rewrites the file without what was deleted.
    pub(super) async fn rewrite(&self) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.writer.add(Job::Rewrite(reply)).await.map_err(|_| stopped())?;
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }
}

impl Readers {
    fn take(&self) -> Result<Connection> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(connection) => Ok(connection),
            None => connect(&self.path),
        }
    }

    fn put_back(&self, connection: Connection) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
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
fn at_once<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => Err(StoreError::Database("store work waits for something that is no statement".to_owned())),
    }
}

fn stopped() -> StoreError {
    StoreError::Unavailable("the writer has stopped".to_owned())
}

fn connect(path: &Path) -> Result<Connection> {
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    // The time-out comes first: the pragmas below can meet another process that holds the file.
    connection.busy_timeout(Duration::from_secs(10))?;
    connection.execute_batch(
        "PRAGMA page_size = 8192;
         PRAGMA journal_mode = WAL;
         PRAGMA synchronous = FULL;
         PRAGMA wal_autocheckpoint = 4000;
         PRAGMA cache_size = -2048;
         PRAGMA secure_delete = FAST;
         PRAGMA foreign_keys = ON;",
    )?;
    // Otherwise a statement with a range is compiled anew for each new bound of it, to look into statistics that nobody
    // gathers.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
    Ok(connection)
}

/// The writer: takes what waits, runs each behind a savepoint, commits once, then tells each caller.
fn serve(connection: &Connection, job: Job, waiting: &mut Waiting<Job>) {
    let mut next = Some(job);
    while let Some(job) = next.take() {
        match job {
            Job::Transaction(first) => next = write_group(connection, waiting, first),
            // A caller that no longer listens has been cut off; the work is done all the same.
            Job::Rewrite(reply) => drop(reply.send(rewrite(connection))),
        }
    }
}

/// Runs one group, which ends with the first transaction that does not wait yet; answers what came instead of one.
fn write_group(connection: &Connection, waiting: &mut Waiting<Job>, first: Transaction) -> Option<Job> {
    if let Err(error) = connection.execute_batch("BEGIN IMMEDIATE") {
        (first.finish)(Err(error.into()));
        return None;
    }
    let started = Instant::now();
    let mut finished = Vec::new();
    let mut next = Some(first);
    let mut other = None;
    while let Some(mut transaction) = next.take() {
        run_behind_savepoint(connection, &mut transaction);
        finished.push(transaction.finish);
        if started.elapsed() < GROUP_TIME {
            match waiting.take() {
                Some(Job::Transaction(transaction)) => next = Some(transaction),
                job => other = job,
            }
        }
    }
    let committed = connection.execute_batch("COMMIT");
    if committed.is_err() {
        // The commit may have rolled back by itself; a second rollback then fails and changes nothing.
        let _ = connection.execute_batch("ROLLBACK");
    }
    let failure = committed.err().map(|error| StoreError::from(error).to_string());
    for finish in finished {
        finish(failure.clone().map_or(Ok(()), |message| Err(StoreError::Unavailable(message))));
    }
    other
}

/// Writes every row into new pages, and then over the old ones: deleted rows can lie in pages that are in use, where a
/// row once stood that was moved since, and the pragma for secure deletion does not reach these.
fn rewrite(connection: &Connection) -> Result<()> {
    connection.execute_batch("VACUUM")?;
    let is_busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0))?;
    if is_busy {
        return Err(StoreError::Unavailable("the write-ahead log is being read".to_owned()));
    }
    Ok(())
}

fn run_behind_savepoint(connection: &Connection, job: &mut Transaction) {
    let step = |text: &str| connection.prepare_cached(text).and_then(|mut statement| statement.execute([]));
    if step("SAVEPOINT job").is_err() {
        return;
    }
    if (job.run)(&Tx::on_sqlite(connection)).is_err() {
        let _ = step("ROLLBACK TO job");
    }
    let _ = step("RELEASE job");
}
