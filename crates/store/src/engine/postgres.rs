//! PostgreSQL: a pool of connections, used from blocking threads.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use postgres::config::SslMode;
use postgres::{Client, Config, IsolationLevel, NoTls, Statement};
use tokio::sync::Semaphore;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::migrate::{Migrations, Target};
use super::statement::Tx;
use crate::error::{Result, StoreError};

const CONNECTIONS: usize = 16;
/// How often a transaction is tried when the engine says that it met another one.
const TRIES: usize = 4;
/// The advisory lock under which one node at a time changes the schema.
const MIGRATION_LOCK: i64 = 0x70_75_6c_73_65;

/// A PostgreSQL database. Clones share its connections.
#[derive(Clone)]
pub(super) struct Postgres {
    config: Arc<Config>,
    idle: Arc<Idle>,
    permits: Arc<Semaphore>,
}

/// Connections that nobody uses just now.
#[derive(Default)]
struct Idle(Mutex<Vec<Connection>>);

struct Connection {
    client: Client,
    prepared: HashMap<&'static str, Statement>,
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The configuration holds a password.
        formatter.write_str("Postgres")
    }
}

impl Drop for Idle {
    /// Closes the connections on a thread of its own: closing blocks, which the driver refuses on an async thread,
    /// and the last one to let go of the database often runs on one.
    fn drop(&mut self) {
        let connections = std::mem::take(self.0.get_mut().unwrap_or_else(PoisonError::into_inner));
        if !connections.is_empty() {
            std::thread::spawn(move || drop(connections));
        }
    }
}

impl Postgres {
    pub(super) fn open(url: &str, migrations: Migrations) -> Result<Self> {
        let mut config: Config = url.parse().map_err(|error: postgres::Error| {
            StoreError::Database(format!("the database address cannot be read: {error}"))
        })?;
        config.connect_timeout(Duration::from_secs(10)).application_name("pulseward");
        let postgres =
            Postgres { config: Arc::new(config), idle: Arc::default(), permits: Arc::new(Semaphore::new(CONNECTIONS)) };
        let mut connection = postgres.take()?;
        let mut transaction = connection.client.transaction()?;
        transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&MIGRATION_LOCK])?;
        migrations.apply(&mut transaction)?;
        transaction.commit()?;
        postgres.put_back(connection);
        Ok(postgres)
    }

    pub(super) async fn read<T, F>(self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> Result<T> + Send + 'static,
    {
        let permit = self.permit().await?;
        super::blocking(move || {
            let _permit = permit;
            let mut connection = self.take()?;
            let transaction = connection
                .client
                .build_transaction()
                .isolation_level(IsolationLevel::RepeatableRead)
                .read_only(true)
                .start()?;
            let mut tx = Tx::Postgres { transaction, prepared: &mut connection.prepared };
            let answer = work(&mut tx)?;
            drop(tx);
            self.put_back(connection);
            Ok(answer)
        })
        .await
    }

    pub(super) async fn write<T, F>(self, mut work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Tx<'_>) -> Result<T> + Send + 'static,
    {
        let permit = self.permit().await?;
        super::blocking(move || {
            let _permit = permit;
            let mut last = Err(StoreError::Unavailable("not tried".to_owned()));
            for _ in 0..TRIES {
                last = self.write_once(&mut work);
                if !matches!(last, Err(StoreError::Unavailable(_))) {
                    break;
                }
            }
            last
        })
        .await
    }

    fn write_once<T>(&self, work: &mut impl FnMut(&mut Tx<'_>) -> Result<T>) -> Result<T> {
        let mut connection = self.take()?;
        let transaction = connection.client.transaction()?;
        let mut tx = Tx::Postgres { transaction, prepared: &mut connection.prepared };
        let answer = work(&mut tx)?;
        tx.commit()?;
        self.put_back(connection);
        Ok(answer)
    }

    async fn permit(&self) -> Result<tokio::sync::OwnedSemaphorePermit> {
        let permit = self.permits.clone().acquire_owned().await;
        permit.map_err(|error| StoreError::Unavailable(error.to_string()))
    }

    /// An idle connection that still stands, or a new one. A connection whose work failed is not put back: what
    /// state it is in is not known.
    fn take(&self) -> Result<Connection> {
        loop {
            let idle = self.idle.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
            match idle {
                Some(connection) if connection.client.is_closed() => {}
                Some(connection) => return Ok(connection),
                None => break,
            }
        }
        let client = if self.config.get_ssl_mode() == SslMode::Disable {
            self.config.connect(NoTls)?
        } else {
            self.config.connect(tls()?)?
        };
        Ok(Connection { client, prepared: HashMap::new() })
    }

    fn put_back(&self, connection: Connection) {
        self.idle.0.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}

fn tls() -> Result<MakeRustlsConnect> {
    MakeRustlsConnect::with_native_certs()
        .map(|(connector, _)| connector)
        .map_err(|_| StoreError::Unavailable("the system's certificates cannot be read".to_owned()))
}

impl Target for postgres::Transaction<'_> {
    fn run(&mut self, text: &str) -> Result<()> {
        Ok(self.batch_execute(text)?)
    }

    fn version(&mut self) -> Result<i64> {
        Ok(self.query_one("SELECT version FROM schema_version", &[])?.get(0))
    }
}
