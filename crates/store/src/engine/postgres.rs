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

mod attempts;
mod breaker;
mod connection;
mod connections;
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
mod rules;
mod statements;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod unwatched_tests;
mod vacuum;
mod wake_ups;
mod watch;
mod write_places;

use std::sync::Arc;

use runtime::Instant;
use tokio::sync::oneshot;

use self::attempts::{Attempt, read, write_once};
use self::connections::{Connections, connect, joined};
pub(super) use self::direct::{connect_directly, first_value};
use self::flight::{Flight, Mode};
use self::lanes::Place;
pub(super) use self::wake_ups::listen;
use self::watch::Watch;
use super::body::Body;
use super::counts::PoolCounts;
use super::deadlines::{LONGEST_UNWATCHED, TRY_AGAIN_WITHIN, Work};
use super::line::Line;
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
    /// What ends operations while the server does not answer.
    watch: Watch,
    /// Address, for connections of their own.
    url: Arc<str>,
}

/// What a write is, as far as limits go.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Writing<'owners> {
    /// Which deadlines it has.
    pub work: Work,
    /// Whose rows alone it touches, and which rows of all it waits for; writes of each of them take few connections.
    pub owners: &'owners [Line<'owners>],
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The configuration holds a password.
        formatter.write_str("Postgres")
    }
}

impl Postgres {
    /// Reads with one statement, in less than a second; at once while it is known that the server does not answer.
    pub(super) async fn probe(&self, body: Body, again: Body) -> Result<()> {
        self.watch.probe(body, again).await
    }

    /// Fails where nothing can be read or written, in less than a second for each.
    pub(super) async fn check_writing(&self) -> Result<()> {
        self.watch.check_writing().await
    }

    /// Reads in one snapshot; once more on another connection when the first one broke.
    pub(super) async fn read(&self, kind: Work, body: Body) -> Result<()> {
        self.watch.guarded(self.operations.run(async move |place| read(&place, Mode::Snapshot(kind), body).await)).await
    }

    /// Reads with one statement, which is a snapshot by itself.
    pub(super) async fn read_single(&self, kind: Work, body: Body) -> Result<()> {
        let mode = self.watch.mode_of_single(kind);
        self.watch.guarded(self.operations.run(async move |place| read(&place, mode, body).await)).await
    }

    /// Writes with one statement. It is not tried again: where its answer was lost, it may have been carried out.
    pub(super) async fn write_single(&self, kind: Writing<'_>, mut body: Body) -> Result<()> {
        if self.watch.mode_of_single(kind.work) != Mode::Single {
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

    /// Sends a wake-up to everyone who listens, in a transaction of its own.
    pub(super) async fn notify(&self, message: &str) -> Result<()> {
        let text = wake_ups::notify(message)?;
        let send = async move |place| Flight::begin(connect(&place).await?, Mode::Single).run(&text).await;
        self.watch.guarded(self.operations.run(send)).await
    }

    /// Returns how many connections there are and what waits for one.
    pub(super) fn pool_counts(&self) -> PoolCounts {
        let (breaks, is_broken) = self.watch.breaker_counts();
        PoolCounts { breaks, is_broken, ..self.operations.lanes.counts() }
    }

    /// Runs what writes. A caller that goes away ends it: at once while it waits for a connection, and after some time when
    /// it has begun.
    async fn run_write<F>(&self, owners: &[Line<'_>], work: F) -> Result<()>
    where
        F: AsyncFnOnce(Arc<Place>) -> Result<()> + Send + 'static,
    {
        let place = self.watch.guarded(self.operations.lanes.place(owners)).await?;
        let running = self.operations.spawn(place, work);
        let (caller, gone) = oneshot::channel::<()>();
        let watch = self.watch.clone();
        let ended = runtime::spawn("store", async move {
            let unwatched = async {
                // It fails when the caller is gone, who sends nothing.
                let _ = gone.await;
                runtime::sleep(LONGEST_UNWATCHED).await;
            };
            tokio::select! {
                biased;
                ended = watch.guarded(running.ended()) => ended,
                () = unwatched => Err(StoreError::Unavailable("the caller of a write has gone".to_owned())),
            }
        });
        let ended = joined(ended.await);
        drop(caller);
        ended
    }
}
