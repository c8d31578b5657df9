//! PostgreSQL: lanes of connections, each on a thread of its own.
//!
//! A store operation is sent to a lane and runs there from its first statement to its commit, so its future need not
//! move between threads, and what it sends in one go leaves in one packet: the connections of a lane are driven by the
//! same thread. Decoding rows stays off the threads that answer requests.
//!
//! An operation ends with its caller: what the server does for it is cancelled, its transaction is rolled back and its
//! connection closed, so that callers who go away keep nothing from others. Only a write that has begun has a second to
//! end by itself, since most are faster than that.
//!
//! Everything has a limit ([`super::deadlines`]), and while the server answers nothing at all, operations fail at once
//! ([`breaker`]).

mod breaker;
mod connection;
mod direct;
pub(super) mod flight;
mod held;
mod lanes;
mod open;
#[cfg(test)]
mod outage_tests;
mod owners;
mod pool;
mod pooled;
#[cfg(test)]
mod pooler_tests;
mod probes;
mod rules;
mod statements;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod unwatched_tests;
mod vacuum;
mod wake_ups;
mod write_places;

use std::sync::Arc;

use deadpool_postgres::{HookError, PoolError};
use futures::future::LocalBoxFuture;
use runtime::{Instant, Left};
use tokio::sync::oneshot;
use tokio_util::task::{AbortOnDropHandle, LocalPoolHandle};

use self::breaker::{Breaker, away};
pub(super) use self::direct::{connect_directly, first_value};
use self::flight::{Flight, Mode};
use self::held::Held;
use self::lanes::{Lanes, Place};
pub(super) use self::wake_ups::listen;
use super::body::{Body, Statements};
use super::counts::PoolCounts;
use super::deadlines::{LONGEST_UNWATCHED, SUSPICIOUS, TRY_AGAIN_WITHIN, Work};
use super::statement::Tx;
use crate::error::{Result, StoreError};

/// Number of times that a transaction is tried when the engine says that it met another one, or its connection broke
/// before the commit was sent.
const TRIES: usize = 4;

/// A PostgreSQL database. Clones share its connections.
#[derive(Clone)]
pub(super) struct Postgres {
    /// What operations use.
    operations: Connections,
    /// What the server is asked on whether it is there.
    probes: Connections,
    breaker: Arc<Breaker>,
    /// Address, for connections of their own.
    url: Arc<str>,
    /// How statements are sent: a pooler gives each transaction another connection of the server.
    statements: statements::Statements,
}

/// Connections, and the threads that drive them.
#[derive(Clone)]
struct Connections {
    threads: LocalPoolHandle,
    lanes: Arc<Lanes>,
}

/// What a write is, as far as limits go.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Writing<'owners> {
    /// Which deadlines it has.
    pub work: Work,
    /// Whose rows alone it touches, and which rows of all it waits for; writes of each of them take few connections.
    pub owners: &'owners [&'owners str],
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The configuration holds a password.
        formatter.write_str("Postgres")
    }
}

/// How a transaction ended that may be tried again.
enum Attempt {
    /// It ended, and trying again would be wrong.
    Ended(Result<()>),
    /// Nothing of it has happened.
    Again(StoreError),
}

impl Postgres {
    /// Reads in one snapshot; once more on another connection when the first one broke.
    pub(super) async fn read(&self, kind: Work, body: Body) -> Result<()> {
        self.guarded(self.operations.run(async move |place| read(&place, Mode::Snapshot(kind), body).await)).await
    }

    /// Reads with one statement, which is a snapshot by itself.
    pub(super) async fn read_single(&self, kind: Work, body: Body) -> Result<()> {
        let mode = self.mode_of_single(kind);
        self.guarded(self.operations.run(async move |place| read(&place, mode, body).await)).await
    }

    /// Writes with one statement. It is not tried again: where its answer was lost, it may have been carried out.
    pub(super) async fn write_single(&self, kind: Writing<'_>, mut body: Body) -> Result<()> {
        if self.mode_of_single(kind.work) != Mode::Single {
            return self.write(kind, body).await;
        }
        let work = async move |place: Arc<Place>| {
            let client = connect(&place).await?;
            let flight = Flight::begin(client.clone(), Mode::Single);
            let ended = body.run(&Tx::on_postgres(&flight)).await;
            flight.end();
            if ended.is_err() {
                place.pool().close_older(&client);
            }
            if ended.is_ok() || !flight.has_met_pooler() {
                return ended;
            }
            // The server had no such statement, so nothing was carried out.
            match write_once(&place, Mode::Write(kind.work), &mut *body).await {
                Attempt::Ended(ended) => ended,
                Attempt::Again(error) => Err(error),
            }
        };
        self.run_write(kind.owners, work).await
    }

    pub(super) async fn write(&self, kind: Writing<'_>, mut body: Body) -> Result<()> {
        let mode = Mode::Write(kind.work);
        let work = async move |place: Arc<Place>| {
            let begun = Instant::now();
            let mut last = StoreError::Unavailable("not tried".to_owned());
            // At once and without a pause: the one that was met has ended by the time this is reported, and waits for
            // row locks are in the server.
            for _ in 0..TRIES {
                match write_once(&place, mode, &mut *body).await {
                    Attempt::Ended(ended) => return ended,
                    Attempt::Again(error) => last = error,
                }
                if begun.elapsed() >= TRY_AGAIN_WITHIN {
                    break;
                }
            }
            Err(last)
        };
        self.run_write(kind.owners, work).await
    }

    /// Returns how a single statement runs that reads: by itself, unless its deadlines have to travel with it.
    fn mode_of_single(&self, kind: Work) -> Mode {
        if self.statements.is_unnamed() || kind.needs_transaction() { Mode::Snapshot(kind) } else { Mode::Single }
    }

    /// Sends a wake-up to everyone who listens, in a transaction of its own.
    pub(super) async fn notify(&self, message: &str) -> Result<()> {
        let text = wake_ups::notify(message)?;
        let send = async move |place| Flight::begin(connect(&place).await?, Mode::Single).run(&text).await;
        self.guarded(self.operations.run(send)).await
    }

    /// Returns how many connections there are and what waits for one.
    pub(super) fn pool_counts(&self) -> PoolCounts {
        let (breaks, is_broken) = self.breaker.counts();
        PoolCounts { breaks, is_broken, ..self.operations.lanes.counts() }
    }

    /// Runs what writes. A caller that goes away ends it: at once while it waits for a connection, and after some time when
    /// it has begun.
    async fn run_write<F>(&self, owners: &[&str], work: F) -> Result<()>
    where
        F: AsyncFnOnce(Arc<Place>) -> Result<()> + Send + 'static,
    {
        let place = self.guarded(self.operations.lanes.place(owners)).await?;
        let running = self.operations.spawn(place, work);
        let (caller, gone) = oneshot::channel::<()>();
        let postgres = self.clone();
        let ended = runtime::spawn("store", async move {
            let unwatched = async {
                // It fails when the caller is gone, who sends nothing.
                let _ = gone.await;
                runtime::sleep(LONGEST_UNWATCHED).await;
            };
            tokio::select! {
                biased;
                ended = postgres.guarded(running.ended()) => ended,
                () = unwatched => Err(StoreError::Unavailable("the caller of a write has gone".to_owned())),
            }
        });
        let ended = joined(ended.await);
        drop(caller);
        ended
    }

    /// Runs work until the server gives no answer to anything any more. It is then dropped.
    async fn guarded<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let mut state = self.breaker.subscribe();
        if *state.borrow() {
            return Err(away());
        }
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                answer = &mut work => {
                    if !matches!(answer, Err(StoreError::Unavailable(_))) {
                        self.breaker.note_answer();
                    }
                    return answer;
                }
                _ = state.wait_for(|is_open| *is_open) => return Err(away()),
                () = runtime::sleep(SUSPICIOUS) => self.suspect(),
            }
        }
    }
}

impl Connections {
    /// Runs work on a lane; it ends when the caller goes away, and what the server does for it is cancelled.
    async fn run<F>(&self, work: F) -> Result<()>
    where
        F: AsyncFnOnce(Arc<Place>) -> Result<()> + Send + 'static,
    {
        let place = self.lanes.place(&[]).await?;
        // Otherwise a request that was broken off would leave a long read running, and a place taken.
        self.spawn(place, work).ended().await
    }

    fn spawn<F>(&self, place: Place, work: F) -> OnLane
    where
        F: AsyncFnOnce(Arc<Place>) -> Result<()> + Send + 'static,
    {
        let lane = place.lane();
        let (result, leave) = Left::new();
        let begin: Begin = Box::new(move || Box::pin(async move { leave.put(work(Arc::new(place)).await) }));
        #[expect(clippy::disallowed_methods, reason = "the work of a connection stays on the thread of its lane")]
        let task = self.threads.spawn_pinned_by_idx(begin, lane);
        OnLane { task: AbortOnDropHandle::new(task), result }
    }
}

/// Work as a lane takes it: of one type, so that what drives tasks is compiled once and not for each operation.
type Begin = Box<dyn FnOnce() -> LocalBoxFuture<'static, ()> + Send>;

/// Work on a lane, which ends when this is dropped.
struct OnLane {
    task: AbortOnDropHandle<()>,
    result: Left<Result<()>>,
}

impl OnLane {
    async fn ended(self) -> Result<()> {
        let stopped = || StoreError::Database("store work stopped".to_owned());
        joined(self.task.await.map(|()| self.result.take().unwrap_or_else(|| Err(stopped()))))
    }
}

fn joined<T>(ended: std::result::Result<Result<T>, impl std::fmt::Display>) -> Result<T> {
    ended.unwrap_or_else(|error| Err(StoreError::Database(format!("store work stopped: {error}"))))
}

async fn read(place: &Arc<Place>, mode: Mode, mut body: Body) -> Result<()> {
    let begun = Instant::now();
    match read_once(place, mode, &mut *body).await {
        // A read has no effects, so a second one is as good as the first. Once is enough: the broken connection took
        // those of its age with it, so the next one is new.
        Err(StoreError::Unavailable(_)) if begun.elapsed() < TRY_AGAIN_WITHIN => {
            // Where a pooler has been found meanwhile, a single statement has to travel in a transaction.
            let is_pooled = place.rules().statements.is_unnamed();
            let mode = if is_pooled && mode == Mode::Single { Mode::Snapshot(Work::default()) } else { mode };
            read_once(place, mode, &mut *body).await
        }
        ended => ended,
    }
}

async fn read_once(place: &Arc<Place>, mode: Mode, body: &mut dyn Statements) -> Result<()> {
    let client = connect(place).await?;
    let flight = Flight::begin(client.clone(), mode);
    let ended = body.run(&Tx::on_postgres(&flight)).await;
    flight.end();
    if ended.is_err() {
        place.pool().close_older(&client);
    }
    ended
}

async fn write_once(place: &Arc<Place>, mode: Mode, body: &mut dyn Statements) -> Attempt {
    let client = match connect(place).await {
        Ok(client) => client,
        // Not again: waiting for a connection has already taken as long as an operation may wait.
        Err(error) => return Attempt::Ended(Err(error)),
    };
    let flight = Flight::begin(client.clone(), mode);
    let worked = body.run(&Tx::on_postgres(&flight)).await;
    let attempt = ended(flight, worked).await;
    if !matches!(attempt, Attempt::Ended(Ok(()))) {
        place.pool().close_older(&client);
    }
    attempt
}

/// Commits what has worked, and ends what has not.
async fn ended(flight: Flight, worked: Result<()>) -> Attempt {
    match worked {
        Ok(()) => match flight.commit().await {
            Ok(()) => Attempt::Ended(Ok(())),
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

fn again_or_ended(error: StoreError) -> Attempt {
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
