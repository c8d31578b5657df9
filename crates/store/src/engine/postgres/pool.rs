//! The connections of a lane, counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use deadpool_postgres::{Hook, Manager, Object, PoolError};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::connection;
use super::rules::Rules;
use crate::engine::counts::PoolCounts;
use crate::engine::deadlines::LONGEST_CONNECT;
use crate::engine::durations::Durations;
use crate::error::{Result, StoreError};

/// The connections of a lane. Clones share them.
#[derive(Clone)]
pub(super) struct Pool {
    connections: deadpool_postgres::Pool,
    /// What connections are encrypted with, where they are.
    tls: Option<MakeRustlsConnect>,
    counters: Arc<Counters>,
}

/// What all lanes of a database add to.
#[derive(Debug, Default)]
pub(super) struct Counters {
    opened: AtomicU64,
    waits: Durations,
}

impl Counters {
    /// Counts how long an operation waited.
    pub fn add_wait(&self, waited: Duration) {
        self.waits.add(waited);
    }

    /// Returns what the lanes of a database hold together.
    pub fn of_lanes(&self, lanes: &[Pool]) -> PoolCounts {
        let counts = PoolCounts {
            opened: self.opened.load(Ordering::Relaxed),
            waits: self.waits.counts(),
            ..PoolCounts::default()
        };
        lanes.iter().map(|lane| lane.connections.status()).fold(counts, |counts, lane| PoolCounts {
            size: counts.size + lane.size,
            in_use: counts.in_use + lane.size.saturating_sub(lane.available),
            waiting: counts.waiting + lane.waiting,
            limit: counts.limit + lane.max_size,
            ..counts
        })
    }
}

impl Pool {
    /// Makes a pool that opens connections when they are asked for, at most so many.
    pub fn new(
        manager: Manager,
        tls: Option<MakeRustlsConnect>,
        connections: usize,
        rules: &Rules,
        counters: &Arc<Counters>,
    ) -> Result<Self> {
        let opening = counters.clone();
        let count_opened = Hook::sync_fn(move |_, _| {
            opening.opened.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        let builder = deadpool_postgres::Pool::builder(manager)
            .max_size(connections)
            .wait_timeout(Some(rules.wait))
            .create_timeout(Some(LONGEST_CONNECT))
            // Without limits a server that takes connections and says nothing would keep an operation for ever.
            .recycle_timeout(Some(LONGEST_CONNECT))
            .runtime(deadpool_postgres::Runtime::Tokio1)
            .post_create(count_opened)
            .post_create(connection::set_deadlines(&rules.statements));
        let connections = builder.build().map_err(|error| StoreError::Unavailable(error.to_string()))?;
        Ok(Pool { connections, tls, counters: counters.clone() })
    }

    /// Closes idle connections that were made before a time.
    pub fn close_idle_from_before(&self, time: std::time::Instant) {
        self.connections.retain(|_, idle| idle.created > time);
    }

    /// Returns a connection, opened if there is none.
    pub async fn connection(&self) -> std::result::Result<Object, PoolError> {
        self.connections.get().await
    }

    /// Counts how long an operation waited for a connection.
    pub fn add_wait(&self, waited: Duration) {
        self.counters.add_wait(waited);
    }

    /// Returns what connections are encrypted with, where they are.
    pub fn tls(&self) -> Option<MakeRustlsConnect> {
        self.tls.clone()
    }

    /// Closes idle connections that were made before `broken` was taken for its last use, if that one is closed. Where one
    /// connection died without a word, as when the server's host was replaced, the others that led there have died too, and
    /// each would fail the next operation.
    pub fn close_older(&self, broken: &Object) {
        if !broken.is_closed() {
            return;
        }
        let metrics = Object::metrics(broken);
        let taken = metrics.recycled.unwrap_or(metrics.created);
        self.close_idle_from_before(taken);
    }
}
