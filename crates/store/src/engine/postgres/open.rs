//! Opening a PostgreSQL database: its pools, and its schema.

use std::sync::Arc;
use std::time::Duration;

use super::breaker::Breaker;
use super::connections::{Connections, connect};
use super::lanes::Place;
use super::pooled::refuse_pooler;
use super::rules::Rules;
use super::watch::{PROBES, Watch};
use super::{Postgres, connection};
use crate::engine::address::Limits;
use crate::engine::deadlines::{LONGEST_CANCEL, LONGEST_PROBE};
use crate::engine::migrate::{MIGRATION_LOCK, Migrations, Target, text_for};
use crate::error::Result;

/// Threads that drive connections: more than a few do not help, since the server does the work.
const MOST_LANES: usize = 4;

impl Postgres {
    pub(in crate::engine) async fn open(url: &str, migrations: Migrations, limits: Limits) -> Result<Self> {
        let config = connection::config(url)?;
        let breaker = Arc::new(Breaker::new());
        let lanes = std::thread::available_parallelism().map_or(1, usize::from).clamp(1, MOST_LANES);
        let statements = connection::statements(url)?;
        if !statements.is_unnamed() {
            refuse_pooler(url).await?;
        }
        let rules = Rules {
            wait: limits.wait,
            longest_cancel: LONGEST_CANCEL,
            breaker: breaker.clone(),
            statements: statements.clone(),
        };
        // What gets no answer there is not waited for: the answer is that there is none.
        let of_probes = Rules { wait: LONGEST_PROBE, longest_cancel: Duration::ZERO, ..rules.clone() };
        let operations = Connections::open(&config, limits.connections, lanes, rules)?;
        let probes = Connections::open(&config, PROBES, 1, of_probes)?;
        let watch = Watch { probes, operations: operations.clone(), breaker, statements };
        let postgres = Postgres { operations, watch, url: url.into() };
        postgres.operations.run(async move |place| migrate(&place, migrations).await).await?;
        Ok(postgres)
    }
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
