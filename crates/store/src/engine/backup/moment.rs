//! One moment of several databases: nobody writes into any of them while a snapshot of each is begun.
//!
//! On SQLite a transaction that may write keeps others from it. On PostgreSQL locks of all tables do: they wait for the
//! transactions that write and let no other begin. Writers that come meanwhile wait too, so a try ends soon, whether it
//! found its moment or not, and what it held is free again before the next one.

use std::time::Duration;

use rusqlite::Connection;
use tokio_postgres::Client;

use super::progress::{Backend, answered};
use crate::engine::address::Address;
use crate::engine::blocking::blocking;
use crate::engine::postgres::connect_directly;
use crate::engine::sqlite::file::open_existing;
use crate::error::{Result, StoreError};

/// How long each try may keep writers waiting. PostgreSQL ends a vacuum that is in the way only after somebody has waited
/// for it for a second, so the last tries are longer.
const TRIES: [Duration; 24] = {
    let mut tries = [Duration::from_millis(300); 24];
    let mut last = 20;
    while last < tries.len() {
        tries[last] = Duration::from_secs(2);
        last += 1;
    }
    tries
};
/// How long writers go on undisturbed between two tries.
const PAUSE: Duration = Duration::from_millis(500);

/// Neither the copying of a large table nor the wait for the other database's copy has an end that is known.
const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
    SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0;
    SELECT version FROM schema_version";
/// A process that stops between two statements keeps writers waiting no longer than this.
const BEGIN_HOLDING: &str =
    "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '5s'; SET LOCAL statement_timeout =";

/// A connection to a database on either engine.
pub(super) enum Session {
    Sqlite(Connection),
    Postgres(Client, String),
}

/// A transaction that sees a database as it was at a moment.
pub(super) enum Snapshot {
    Sqlite(Connection),
    Postgres(Client, Backend),
}

impl Session {
    async fn open(address: &Address) -> Result<Self> {
        match address.clone() {
            Address::File(path) => Ok(Session::Sqlite(blocking(move || open_existing(&path)).await?)),
            Address::Postgres(url) => {
                let client = connect_directly(&url, "pulseward-backup").await?;
                Ok(Session::Postgres(client, url))
            }
        }
    }

    /// Keeps everybody else from writing, until the session ends.
    async fn stop_writers(self, tables: &[String], wait: Duration) -> Result<Self> {
        match self {
            Session::Sqlite(connection) => {
                let hold = move || {
                    connection.busy_timeout(wait)?;
                    connection.execute_batch("BEGIN IMMEDIATE")?;
                    Ok(Session::Sqlite(connection))
                };
                blocking(hold).await
            }
            Session::Postgres(client, url) => {
                answered(client.batch_execute(&format!("{BEGIN_HOLDING} {}", wait.as_millis()))).await?;
                // Readers go on, and so do those who hold single rows and write nothing.
                answered(client.batch_execute(&format!("LOCK TABLE {} IN SHARE MODE", tables.join(", ")))).await?;
                Ok(Session::Postgres(client, url))
            }
        }
    }

    /// Begins a transaction that sees what is committed now.
    async fn begin_snapshot(self) -> Result<Snapshot> {
        match self {
            Session::Sqlite(connection) => {
                let begin = move || {
                    connection.busy_timeout(Duration::from_secs(30))?;
                    // BEGIN alone takes no snapshot; the first read does.
                    connection.execute_batch("BEGIN; SELECT version FROM schema_version;")?;
                    Ok(Snapshot::Sqlite(connection))
                };
                blocking(begin).await
            }
            Session::Postgres(client, url) => {
                answered(client.batch_execute(BEGIN_SNAPSHOT)).await?;
                let backend = Backend::of(&client, &url).await?;
                Ok(Snapshot::Postgres(client, backend))
            }
        }
    }
}

/// Snapshots of databases, each with the names of its tables, in their order, all of the same moment.
pub(super) async fn snapshots(databases: &[(Address, Vec<String>)]) -> Result<Vec<Snapshot>> {
    let mut why = String::new();
    for wait in TRIES {
        match snapshots_once(databases, wait).await {
            Err(StoreError::Unavailable(reason)) => why = reason,
            ended => return ended,
        }
        runtime::sleep(PAUSE).await;
    }
    Err(StoreError::Unavailable(format!("no moment was found at which nobody writes: {why}")))
}

async fn snapshots_once(databases: &[(Address, Vec<String>)], wait: Duration) -> Result<Vec<Snapshot>> {
    // Connected before anybody is stopped: writers do not wait for handshakes.
    let (mut holding, mut reading) = (Vec::new(), Vec::new());
    for (address, tables) in databases {
        holding.push((Session::open(address).await?, tables));
        reading.push(Session::open(address).await?);
    }
    let mut held = Vec::new();
    for (session, tables) in holding {
        held.push(session.stop_writers(tables, wait).await?);
    }
    let mut snapshots = Vec::new();
    for session in reading {
        snapshots.push(session.begin_snapshot().await?);
    }
    // Their connections end, and with them what they held.
    drop(held);
    Ok(snapshots)
}
