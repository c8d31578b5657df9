//! Opening a PostgreSQL database: its pools, and its schema.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, RecyclingMethod};
use tokio_postgres::config::SslMode;
use tokio_postgres::{Config, NoTls};
use tokio_util::task::LocalPoolHandle;

use super::breaker::Breaker;
use super::lanes::{Lanes, Place};
use super::pool::{Counters, Pool};
use super::pooled::refuse_pooler;
use super::rules::Rules;
use super::{Connections, Postgres, connect, connection};
use crate::engine::address::Limits;
use crate::engine::deadlines::{LONGEST_CANCEL, LONGEST_PROBE};
use crate::engine::migrate::{MIGRATION_LOCK, Migrations, Target, text_for};
use crate::error::Result;

/// Threads that drive connections: more than a few do not help, since the server does the work.
const MOST_LANES: usize = 4;
/// Connections on which the server is asked whether it is there: one, and another one where that has died.
pub(super) const PROBES: usize = 2;

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
        let postgres = Postgres { operations, probes, breaker, url: url.into(), statements };
        postgres.operations.run(async move |place| migrate(&place, migrations).await).await?;
        Ok(postgres)
    }
}

impl Connections {
    fn open(config: &Config, connections: usize, lanes: usize, rules: Rules) -> Result<Self> {
        // A lane without a connection would keep its operations waiting for ever.
        let lanes = lanes.min(connections.max(1));
        let counters: Arc<Counters> = Arc::default();
        let pools = (0..lanes).map(|lane| {
            // What cannot be divided goes to the first lanes.
            let connections = connections / lanes + usize::from(lane < connections % lanes);
            let connections = connections.max(1);
            Ok((pool(config, connections, &rules, &counters)?, connections))
        });
        let pools = pools.collect::<Result<Vec<_>>>()?;
        #[expect(clippy::disallowed_methods, reason = "connections stay on one thread, for which the seam has no word")]
        let threads = LocalPoolHandle::new(lanes);
        Ok(Connections { threads, lanes: Arc::new(Lanes::new(pools, rules, counters)) })
    }
}

fn pool(config: &Config, connections: usize, rules: &Rules, counters: &Arc<Counters>) -> Result<Pool> {
    // A connection whose peer has gone is noticed by the task that drives it, so looking whether it is closed is enough.
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let tls = if config.get_ssl_mode() == SslMode::Disable { None } else { Some(connection::tls()?) };
    let manager = match tls.clone() {
        None => Manager::from_config(config.clone(), NoTls, recycling),
        Some(tls) => Manager::from_config(config.clone(), tls, recycling),
    };
    Pool::new(manager, tls, connections, rules, counters)
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
