//! PostgreSQL: lanes of connections, each on a thread of its own.
//!
//! A store operation is sent to a lane and runs there from its first statement to its commit, so its future need not
//! move between threads, and what it sends in one go leaves in one packet: the connections of a lane are driven by the
//! same thread. Decoding rows stays off the threads that answer requests.
//!
//! A read ends with its caller: what the server does for it is cancelled. A write that was called is done, whether its
//! caller stays or not, as on SQLite; deadlines bound what it waits for.

mod connection;
pub(super) mod flight;
mod held;
mod lanes;
mod pool;
#[cfg(test)]
mod tests;
mod wake_ups;

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{HookError, Manager, ManagerConfig, PoolError, RecyclingMethod};
use tokio_postgres::config::SslMode;
use tokio_postgres::{Config, NoTls};
use tokio_util::task::{AbortOnDropHandle, LocalPoolHandle};

use self::flight::Flight;
use self::flight::Mode;
use self::held::Held;
use self::lanes::{Lanes, Place};
use self::pool::{Counters, Pool};
pub(super) use self::wake_ups::listen;
use super::address::Limits;
use super::counts::PoolCounts;
use super::migrate::{Migrations, Target, text_for};
use super::statement::Tx;
use crate::error::{Result, StoreError};

/// How often a transaction is tried when the engine says that it met another one, or its connection broke before the
/// commit was sent.
const TRIES: usize = 4;
/// Threads that drive connections: more than a few do not help, since the server does the work.
const MOST_LANES: usize = 4;
/// The advisory lock under which one node at a time changes the schema.
// The letters `pulse`: it has to differ from what other programs in the same database lock.
const MIGRATION_LOCK: i64 = 0x70_75_6c_73_65;

/// A PostgreSQL database. Clones share its connections.
#[derive(Clone)]
pub(super) struct Postgres {
    threads: LocalPoolHandle,
    lanes: Arc<Lanes>,
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The configuration holds a password.
        formatter.write_str("Postgres")
    }
}

/// How a transaction ended that may be tried again.
enum Attempt<T> {
    /// It ended, and trying again would be wrong.
    Ended(Result<T>),
    /// Nothing of it has happened.
    Again(StoreError),
}

impl Postgres {
    pub(super) async fn open(url: &str, migrations: Migrations, limits: Limits) -> Result<Self> {
        let config = connection::config(url)?;
        let lanes = std::thread::available_parallelism().map_or(1, usize::from).clamp(1, MOST_LANES);
        // A lane without a connection would keep its operations waiting for ever.
        let lanes = lanes.min(limits.connections.max(1));
        let counters: Arc<Counters> = Arc::default();
        let pools = (0..lanes).map(|lane| {
            // What cannot be divided goes to the first lanes.
            let connections = limits.connections / lanes + usize::from(lane < limits.connections % lanes);
            let connections = connections.max(1);
            Ok((pool(&config, connections, limits.wait, &counters)?, connections))
        });
        let pools = pools.collect::<Result<Vec<_>>>()?;
        let postgres = Postgres {
            threads: LocalPoolHandle::new(lanes),
            lanes: Arc::new(Lanes::new(pools, limits.wait, counters)),
        };
        postgres.on_a_lane(async move |place| migrate(&place, migrations).await).await?;
        Ok(postgres)
    }

    /// Reads in one snapshot; once more on another connection when the first one broke.
    pub(super) async fn read<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFn(&Tx<'_>) -> Result<T> + Send + 'static,
    {
        self.read_as(Mode::Snapshot, work).await
    }

    /// Reads with one statement, which is a snapshot by itself.
    pub(super) async fn read_single<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFn(&Tx<'_>) -> Result<T> + Send + 'static,
    {
        self.read_as(Mode::Single, work).await
    }

    async fn read_as<T, F>(&self, mode: Mode, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFn(&Tx<'_>) -> Result<T> + Send + 'static,
    {
        self.on_a_lane(async move |place| match read_once(&place, mode, &work).await {
            // A read has no effects, so a second one is as good as the first. Once is enough: the broken connection
            // took those of its age with it, so the next one is new.
            Err(StoreError::Unavailable(_)) => read_once(&place, mode, &work).await,
            answer => answer,
        })
        .await
    }

    /// Writes with one statement. It is not tried again: where its answer was lost, it may have been carried out.
    pub(super) async fn write_single<T, F>(&self, mut work: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFnMut(&Tx<'_>) -> Result<T> + Send + 'static,
    {
        let work = async move |place: Arc<Place>| {
            let client = connect(&place).await?;
            let flight = Flight::begin(client.clone(), Mode::Single);
            let tx = Tx::on_postgres(&flight);
            let answer = work(&tx).await;
            flight.end();
            if answer.is_err() {
                place.pool().close_older(&client);
            }
            answer
        };
        self.on_a_lane_to_the_end(work).await
    }

    pub(super) async fn write<T, F>(&self, mut work: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFnMut(&Tx<'_>) -> Result<T> + Send + 'static,
    {
        let work = async move |place: Arc<Place>| {
            let mut last = StoreError::Unavailable("not tried".to_owned());
            // At once and without a pause: the one that was met has ended by the time this is reported, and waits for
            // row locks are in the server.
            for _ in 0..TRIES {
                match write_once(&place, &mut work).await {
                    Attempt::Ended(ended) => return ended,
                    Attempt::Again(error) => last = error,
                }
            }
            Err(last)
        };
        self.on_a_lane_to_the_end(work).await
    }

    /// Sends a wake-up to everyone who listens, in a transaction of its own.
    pub(super) async fn notify(&self, message: &str) -> Result<()> {
        let text = wake_ups::notify(message)?;
        self.on_a_lane(async move |place| Flight::begin(connect(&place).await?, Mode::Single).run(&text).await).await
    }

    /// How many connections there are and what waits for one.
    pub(super) fn pool_counts(&self) -> PoolCounts {
        self.lanes.counts()
    }

    /// Runs work on a lane; it ends when the caller goes away, and what the server does for it is cancelled.
    async fn on_a_lane<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFnOnce(Arc<Place>) -> Result<T> + Send + 'static,
    {
        let place = self.lanes.place().await?;
        // Otherwise a request that was broken off would leave a long read running, and a place taken.
        joined(AbortOnDropHandle::new(self.spawn(place, work)).await)
    }

    /// Runs work on a lane. A caller that goes away does not end it, as on SQLite: nobody could say whether a commit that
    /// is under way has happened. Deadlines end it if it waits.
    async fn on_a_lane_to_the_end<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFnOnce(Arc<Place>) -> Result<T> + Send + 'static,
    {
        let postgres = self.clone();
        let work = runtime::spawn("store", async move {
            let place = postgres.lanes.place().await?;
            joined(postgres.spawn(place, work).await)
        });
        joined(work.await)
    }

    fn spawn<T, F>(&self, place: Place, work: F) -> tokio::task::JoinHandle<Result<T>>
    where
        T: Send + 'static,
        F: AsyncFnOnce(Arc<Place>) -> Result<T> + Send + 'static,
    {
        let lane = place.lane();
        self.threads.spawn_pinned_by_idx(move || async move { work(Arc::new(place)).await }, lane)
    }
}

fn joined<T>(ended: std::result::Result<Result<T>, impl std::fmt::Display>) -> Result<T> {
    ended.unwrap_or_else(|error| Err(StoreError::Database(format!("store work stopped: {error}"))))
}

async fn read_once<T>(place: &Arc<Place>, mode: Mode, work: &impl AsyncFn(&Tx<'_>) -> Result<T>) -> Result<T> {
    let client = connect(place).await?;
    let flight = Flight::begin(client.clone(), mode);
    let tx = Tx::on_postgres(&flight);
    let answer = work(&tx).await;
    flight.end();
    if answer.is_err() {
        place.pool().close_older(&client);
    }
    answer
}

async fn write_once<T>(place: &Arc<Place>, work: &mut impl AsyncFnMut(&Tx<'_>) -> Result<T>) -> Attempt<T> {
    let client = match connect(place).await {
        Ok(client) => client,
        // Not again: waiting for a connection has already taken as long as an operation may wait.
        Err(error) => return Attempt::Ended(Err(error)),
    };
    let flight = Flight::begin(client.clone(), Mode::Write);
    let tx = Tx::on_postgres(&flight);
    let worked = work(&tx).await;
    let attempt = ended(flight, worked).await;
    if !matches!(attempt, Attempt::Ended(Ok(_))) {
        place.pool().close_older(&client);
    }
    attempt
}

/// Commits what has worked, and ends what has not.
async fn ended<T>(flight: Flight, worked: Result<T>) -> Attempt<T> {
    match worked {
        Ok(answer) => match flight.commit().await {
            Ok(()) => Attempt::Ended(Ok(answer)),
            Err(failure) if failure.is_undone => again_or_ended(failure.error),
            Err(failure) => Attempt::Ended(Err(failure.error)),
        },
        Err(error) => {
            // A statement that was only sent may have failed first. Its error says what happened, while later ones say
            // that the transaction is aborted.
            let error = flight.cause(error).await;
            flight.end();
            again_or_ended(error)
        }
    }
}

fn again_or_ended<T>(error: StoreError) -> Attempt<T> {
    match error {
        StoreError::Unavailable(_) => Attempt::Again(error),
        error => Attempt::Ended(Err(error)),
    }
}

async fn connect(place: &Arc<Place>) -> Result<Arc<Held>> {
    Held::take(place).await.map(Arc::new).map_err(|error| match error {
        PoolError::Timeout(_) => StoreError::Unavailable("no database connection became free in time".to_owned()),
        PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => error.into(),
        error => StoreError::Unavailable(error.to_string()),
    })
}

fn pool(config: &Config, connections: usize, wait: Duration, counters: &Arc<Counters>) -> Result<Pool> {
    // A connection whose peer has gone is noticed by the task that drives it, so looking whether it is closed is enough.
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let tls = if config.get_ssl_mode() == SslMode::Disable { None } else { Some(connection::tls()?) };
    let manager = match tls.clone() {
        None => Manager::from_config(config.clone(), NoTls, recycling),
        Some(tls) => Manager::from_config(config.clone(), tls, recycling),
    };
    Pool::new(manager, tls, connections, wait, counters)
}

/// Brings the schema up to date, one node at a time.
async fn migrate(place: &Arc<Place>, migrations: Migrations) -> Result<()> {
    let client = connect(place).await?;
    // Another node's migration may be waited for longer than for any other lock.
    client.batch_execute("BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0").await?;
    // A lock of the transaction: one of the session would stay, behind a pooler, on a connection that somebody else is
    // given.
    client.execute("SELECT pg_advisory_xact_lock($1)", &[&MIGRATION_LOCK]).await?;
    let mut target: &tokio_postgres::Client = &client;
    let migrated = migrations.apply(&mut target).await;
    // In either case, so that the pool does not get back a connection with an open transaction.
    client.batch_execute(if migrated.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
    migrated
}

impl Target for &tokio_postgres::Client {
    async fn run(&mut self, text: &str) -> Result<()> {
        Ok(self.batch_execute(&text_for("postgres", text)).await?)
    }

    async fn version(&mut self) -> Result<i64> {
        Ok(self.query_one("SELECT version FROM schema_version", &[]).await?.get(0))
    }
}
