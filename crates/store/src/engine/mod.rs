//! One way to speak to two database engines.
//!
//! Every statement is one text in the common subset of SQLite and PostgreSQL, with `$1` parameters. A store operation is
//! an async closure over a [`Tx`], handed over as a value: the engine decides on which thread it runs and how often.
//! Statements whose parameters need no earlier answer are one group, and PostgreSQL gets a group in one round trip. On
//! SQLite an operation runs inline on the writer's or a reader's thread: a statement costs a function call and not a
//! trip to another thread and back (measured: 10 against 115 µs for a point look-up; see docs/benchmarks.md).

mod address;
pub(crate) mod backup;
mod blocking;
mod body;
mod check;
mod counts;
mod database_files;
mod deadlines;
mod durations;
mod found;
pub(crate) mod line;
mod migrate;
mod operations;
mod pages;
pub(crate) mod param;
#[cfg(any(test, feature = "planned-failures"))]
mod planned_failures;
mod postgres;
pub(crate) mod row;
mod row_texts;
mod schema_state;
mod sqlite;
mod statement;

use std::any::type_name;
use std::hash::Hash;
use std::sync::Arc;

use futures::future::BoxFuture;
use runtime::HashMap;

pub use address::{Address, Limits};
pub(crate) use blocking::blocking;
pub use counts::{DbCounts, PoolCounts};
pub use database_files::DatabaseFiles;
pub(crate) use deadlines::Work;
pub use durations::{BUCKETS_US, DurationCounts};
pub use found::{DamagedPage, EngineCheck, PagesPart};
pub use migrate::Migrations;
pub use operations::OperationCounts;
pub use param::{Owned, Param};
#[cfg(any(test, feature = "planned-failures"))]
pub use planned_failures::FailureMoment;
pub use row::{Columns, FromColumn, Row};
pub use schema_state::SchemaState;
pub(crate) use sqlite::file::open_to_read;
pub use sqlite::kept_logs::DamagedLog;
pub use statement::Tx;

use self::body::{Answer, Body};
use self::line::Line;
use self::operations::Operations;
use self::postgres::Writing;
use crate::error::Result;
use crate::texts::in_lists;

/// A database on either engine. Clones share it. Each operation is counted under the name of the function that calls
/// [`Db::read`] or one of its siblings with a closure of its own.
#[derive(Clone, Debug)]
pub struct Db {
    engine: Engine,
    operations: Arc<Operations>,
    work: Work,
}

#[derive(Clone, Debug)]
enum Engine {
    Sqlite(sqlite::Sqlite),
    Postgres(postgres::Postgres),
}

impl Db {
    /// Opens the database, creates it where it is a file that is not there, and brings its schema up to date. `name` is
    /// what metrics and spans call it; `limits` are those of a PostgreSQL database.
    ///
    /// # Errors
    /// [`StoreError::SchemaVersion`](crate::StoreError::SchemaVersion) when the schema is newer than this program.
    pub async fn open(name: &'static str, address: Address, limits: Limits, migrations: Migrations) -> Result<Self> {
        let engine = match address {
            Address::File(path) => Engine::Sqlite(blocking(move || sqlite::Sqlite::open(&path, migrations)).await?),
            Address::Postgres(url) => Engine::Postgres(postgres::Postgres::open(&url, migrations, limits).await?),
        };
        Ok(Db { engine, operations: Arc::new(Operations::new(name)), work: Work::Request })
    }

    /// The same database for operations with other deadlines than those of a request. SQLite has none.
    pub(crate) fn with_deadlines_of(&self, work: Work) -> Self {
        Db { work, ..self.clone() }
    }

    /// Reads in one consistent snapshot.
    pub async fn read<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFn(&Tx<'_>) -> Result<T> + Send + 'static,
    {
        let answer = Answer::none_yet();
        self.run(type_name::<F>(), Manner::Read, answer.to(work)).await?;
        answer.take()
    }

    /// Reads with one statement, which is a consistent snapshot by itself: PostgreSQL is spared BEGIN and COMMIT.
    pub async fn read_single<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFn(&Tx<'_>) -> Result<T> + Send + 'static,
    {
        let answer = Answer::none_yet();
        self.run(type_name::<F>(), Manner::ReadSingle, answer.to(work)).await?;
        answer.take()
    }

    /// Reads with one statement that finds its few rows by an index, as every request does to know its caller.
    ///
    /// On SQLite it runs where it is called: the trip to a blocking thread and back costs several times what the
    /// statement does. It has connections of its own, so that it does not wait behind long reads.
    pub async fn look_up<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFn(&Tx<'_>) -> Result<T> + Send + 'static,
    {
        let answer = Answer::none_yet();
        self.run(type_name::<F>(), Manner::LookUp, answer.to(work)).await?;
        answer.take()
    }

    /// Reads with one statement that finds its few rows by an index, in less than a second whatever else the database is
    /// asked: on PostgreSQL on connections that nothing else uses.
    pub(crate) async fn probe<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFn(&Tx<'_>) -> Result<T> + Clone + Send + 'static,
    {
        let answer = Answer::none_yet();
        let again = answer.to(work.clone());
        self.run(type_name::<F>(), Manner::Probe { again }, answer.to(work)).await?;
        answer.take()
    }

    /// Writes in one transaction. When this returns `Ok`, the effects are durable; when it returns an error, there
    /// are none.
    ///
    /// On SQLite, transactions that wait for the single writer are committed together, each behind a savepoint of
    /// its own, so that one flush of the disk serves them all. On PostgreSQL, `work` may run again when the engine
    /// asks for it, so it must not have effects of its own.
    pub async fn write<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFnMut(&Tx<'_>) -> Result<T> + Send + 'static,
    {
        let answer = Answer::none_yet();
        self.run(type_name::<F>(), Manner::Write(self.of_everybody()), answer.to(work)).await?;
        answer.take()
    }

    /// The same for a write that waits for rows of one owner alone, such as a patient. On PostgreSQL few of them run at the
    /// same time, so that those who wait for a row of one patient leave the connections to all others.
    pub(crate) async fn write_of<T, F>(&self, owner: Line<'_>, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFnMut(&Tx<'_>) -> Result<T> + Send + 'static,
    {
        let (answer, owners) = (Answer::none_yet(), [owner]);
        self.run(type_name::<F>(), Manner::Write(self.of_owners(Work::OneOwner, &owners)), answer.to(work)).await?;
        answer.take()
    }

    /// The same for a write that comes to hold rows which those of many owners hold, such as the head of a log; `lines` names
    /// them and the owner, in an order in which all writes name theirs. On PostgreSQL few of each line run at the same
    /// time, and none of them holds such a row for long.
    pub(crate) async fn write_in_line<T, F>(&self, lines: &[Line<'_>], work: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFnMut(&Tx<'_>) -> Result<T> + Send + 'static,
    {
        let answer = Answer::none_yet();
        self.run(type_name::<F>(), Manner::Write(self.of_owners(Work::InLine, lines)), answer.to(work)).await?;
        answer.take()
    }

    /// Writes with one statement, which is a transaction by itself: PostgreSQL is spared BEGIN and COMMIT.
    pub async fn write_single<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFnMut(&Tx<'_>) -> Result<T> + Send + 'static,
    {
        let answer = Answer::none_yet();
        self.run(type_name::<F>(), Manner::WriteSingle(self.of_everybody()), answer.to(work)).await?;
        answer.take()
    }

    /// The same for a write that waits for rows of one owner alone; see [`Db::write_of`].
    pub(crate) async fn write_single_of<T, F>(&self, owner: Line<'_>, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFnMut(&Tx<'_>) -> Result<T> + Send + 'static,
    {
        let (answer, owners) = (Answer::none_yet(), [owner]);
        let writing = self.of_owners(Work::OneOwner, &owners);
        self.run(type_name::<F>(), Manner::WriteSingle(writing), answer.to(work)).await?;
        answer.take()
    }

    fn of_everybody(&self) -> Writing<'static> {
        Writing { work: self.work, owners: &[] }
    }

    fn of_owners<'owners>(&self, of_request: Work, owners: &'owners [Line<'owners>]) -> Writing<'owners> {
        let work = if self.work == Work::Request { of_request } else { self.work };
        Writing { work, owners }
    }

    /// Runs an operation, counted under the name of the function that wrote the closure of this type. Boxed, because each
    /// crate compiles for itself what it awaits, down to the first box.
    fn run<'run>(&'run self, closure: &'static str, manner: Manner<'run>, body: Body) -> BoxFuture<'run, Result<()>> {
        let work = async move {
            match &self.engine {
                Engine::Sqlite(sqlite) => on_sqlite(sqlite, manner, body).await,
                // Boxed: what waits for a server is ten times as large as what SQLite needs.
                Engine::Postgres(postgres) => Box::pin(on_postgres(postgres, self.work, manner, body)).await,
            }
        };
        Box::pin(self.operations.observe(closure, work))
    }

    /// Sends a wake-up to all nodes that listen; on SQLite there are none.
    pub(crate) async fn notify(&self, message: &str) -> Result<()> {
        match &self.engine {
            Engine::Sqlite(_) => Ok(()),
            Engine::Postgres(postgres) => postgres.notify(message).await,
        }
    }

    /// Lets the next operation of a name fail, for tests; the names are those of [`OperationCounts`].
    #[cfg(feature = "planned-failures")]
    pub(crate) fn plan_failure(&self, operation: &str, moment: FailureMoment) {
        self.operations.planned_failures.plan(operation, moment);
    }

    /// Lets something happen before the next operation of a name, for tests.
    #[cfg(feature = "planned-failures")]
    pub(crate) fn plan_meanwhile(&self, operation: &str, meanwhile: BoxFuture<'static, ()>) {
        self.operations.planned_failures.plan_meanwhile(operation, meanwhile);
    }

    /// The operations whose planned failure has not come yet.
    #[cfg(feature = "planned-failures")]
    pub(crate) fn failures_to_come(&self) -> Vec<String> {
        self.operations.planned_failures.outstanding()
    }

    /// Whether statements run inline on a thread of this process.
    #[cfg(test)]
    pub(crate) fn is_sqlite(&self) -> bool {
        matches!(self.engine, Engine::Sqlite(_))
    }

    /// What has been done since the database was opened, and what is under way.
    pub fn counts(&self) -> DbCounts {
        let (pool, writer_queue) = match &self.engine {
            Engine::Sqlite(sqlite) => (sqlite.reader_counts(), Some(sqlite.writer_queue())),
            Engine::Postgres(postgres) => (postgres.pool_counts(), None),
        };
        DbCounts { database: self.operations.database(), operations: self.operations.counts(), pool, writer_queue }
    }

    /// Runs a query that takes a list for all of some values; answers what `read` makes of the rows, each under the name
    /// that it gives. Of several rows of one name the last wins.
    pub(crate) async fn read_by_name<K, T, R>(
        &self,
        values: Vec<K>,
        text: &'static str,
        read: R,
    ) -> Result<HashMap<K, T>>
    where
        K: Param + Hash + Eq + Send + 'static,
        T: Send + 'static,
        R: Fn(&Row<'_>) -> Result<(K, T)> + Send + 'static,
    {
        let work = async move |tx: &Tx<'_>| {
            let mut found = HashMap::default();
            // All lists in one snapshot, so that what changes between two of them is neither missed nor found twice.
            in_lists(&values, async |list| {
                found.extend(tx.query(text, list, &read).await?);
                Ok(())
            })
            .await?;
            Ok(found)
        };
        let answer = Answer::none_yet();
        // Named by the closure of the caller.
        self.run(type_name::<R>(), Manner::Read, answer.to(work)).await?;
        answer.take()
    }

    /// Asks the smallest question, which fails where nothing can be read.
    pub(crate) async fn check_reading(&self) -> Result<()> {
        const ASK: &str = "SELECT version FROM schema_version";
        self.read_single(async |tx| tx.query_opt(ASK, &[], |row| row.get::<i64>(0)).await.map(drop)).await
    }

    /// Writes what changes nothing, which fails where nothing can be written.
    pub(crate) async fn check_writing(&self) -> Result<()> {
        // There and back: SQLite writes no page whose row is overwritten by the same.
        const TURN: &str = "UPDATE schema_version SET version = -version";
        if let Engine::Postgres(postgres) = &self.engine {
            return postgres.check_writing().await;
        }
        if let Engine::Sqlite(sqlite) = &self.engine {
            sqlite.check_room().await?;
        }
        self.write(async |tx| {
            tx.put(TURN, &[]).await?;
            tx.put(TURN, &[]).await
        })
        .await
    }

    /// Empties the write-ahead log of a database file, and damaged logs that were kept, so that what was deleted is in none
    /// of them; false when somebody reads the log. On PostgreSQL, whose files are not ours, nothing is done.
    pub async fn empty_log(&self) -> Result<bool> {
        match &self.engine {
            Engine::Sqlite(sqlite) => {
                sqlite.empty_kept_logs().await?;
                sqlite.empty_log().await
            }
            Engine::Postgres(_) => Ok(true),
        }
    }

    /// Returns whether the database is a file of ours.
    pub fn is_file(&self) -> bool {
        matches!(self.engine, Engine::Sqlite(_))
    }

    /// Rewrites a database file without anything that was deleted, and empties its write-ahead log and damaged logs that
    /// were kept; writers wait meanwhile. On PostgreSQL, whose files are not ours, dead rows are removed, and nobody waits.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`](crate::StoreError::Unavailable) when somebody reads for too long or the disk has no room for a second copy; trying
    /// again later is safe.
    pub async fn rewrite(&self) -> Result<()> {
        match &self.engine {
            Engine::Sqlite(sqlite) => {
                sqlite.rewrite().await?;
                sqlite.empty_kept_logs().await
            }
            Engine::Postgres(postgres) => postgres.vacuum().await,
        }
    }

    /// Ends all connections once what is under way has ended, and moves what is in the write-ahead log of a database file
    /// into the file, so that the file alone holds everything. Operations fail afterwards, on clones too.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`](crate::StoreError::Unavailable) when somebody else reads the log, or reads here go on for too long. Nothing is lost
    /// then: the log stays, and the next program that opens the file reads it.
    pub async fn close(&self) -> Result<()> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.close().await,
            // The server holds what was committed, whether connections end or break.
            Engine::Postgres(_) => Ok(()),
        }
    }

    /// Prepares a statement without running it: how the tests show that a text is understood by both engines.
    pub async fn prepare(&self, text: &'static str) -> Result<()> {
        self.read(async move |tx| tx.prepare(text).await).await
    }
}

/// How an operation runs.
enum Manner<'owner> {
    Read,
    ReadSingle,
    LookUp,
    /// The same statements once more, for a second question where the first gets no answer.
    Probe {
        again: Body,
    },
    Write(Writing<'owner>),
    WriteSingle(Writing<'owner>),
}

async fn on_sqlite(sqlite: &sqlite::Sqlite, manner: Manner<'_>, mut body: Body) -> Result<()> {
    match manner {
        Manner::Read | Manner::ReadSingle => sqlite.read(body).await,
        Manner::LookUp | Manner::Probe { .. } => sqlite.look_up(&mut *body),
        Manner::Write(kind) | Manner::WriteSingle(kind) => sqlite.write(kind.work, body).await,
    }
}

async fn on_postgres(postgres: &postgres::Postgres, work: Work, manner: Manner<'_>, body: Body) -> Result<()> {
    match manner {
        Manner::Read => postgres.read(work, body).await,
        Manner::ReadSingle | Manner::LookUp => postgres.read_single(work, body).await,
        Manner::Probe { again } => postgres.probe(body, again).await,
        Manner::Write(kind) => postgres.write(kind, body).await,
        Manner::WriteSingle(kind) => postgres.write_single(kind, body).await,
    }
}

/// Hands wake-ups that nodes send through a PostgreSQL database to `wake` until the connection breaks; see
/// [`crate::HealthDb::wake_nodes`]. The address must lead to the server directly and not to a pooler.
pub async fn listen_for_wake_ups(url: &str, wake: impl Fn(&str)) -> Result<()> {
    postgres::listen(url, wake).await
}
