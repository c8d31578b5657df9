//! How connections are made and given up: name, deadlines, keep-alive.

use std::time::Duration;

use deadpool_postgres::{Hook, HookError};
use tokio_postgres::Config;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::{Result, StoreError};

/// Longest time until a new connection is ready.
pub(super) const LONGEST_CONNECT: Duration = Duration::from_secs(10);
/// How long sent bytes may stay without acknowledgement before the peer counts as gone.
const LONGEST_SILENCE: Duration = Duration::from_secs(20);
/// Quiet time after which the operating system asks whether the peer is there.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(15);

/// Deadlines of statements outside a transaction. Options of the start of a connection would save this statement, but
/// poolers refuse them. Behind a pooler in transaction mode these hold on some connections of the server and not on
/// others; those of transactions always hold.
const SET_DEADLINES: &str = "SET statement_timeout = '60s'; SET lock_timeout = '10s'; \
    SET idle_in_transaction_session_timeout = '30s'";

/// Sets the deadlines of a new connection.
pub(super) fn set_deadlines() -> Hook {
    Hook::async_fn(|client, _| {
        Box::pin(async move { client.batch_execute(SET_DEADLINES).await.map_err(HookError::Backend) })
    })
}

/// The configuration of a database address.
pub(super) fn config(url: &str) -> Result<Config> {
    let mut config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
        StoreError::Database(format!("the database address cannot be read: {error}"))
    })?;
    config
        .connect_timeout(LONGEST_CONNECT)
        .keepalives_idle(KEEPALIVE_AFTER)
        .tcp_user_timeout(LONGEST_SILENCE)
        // By this the operator sees in `pg_stat_activity` whose connections these are.
        .application_name("pulseward");
    Ok(config)
}

/// What connections are encrypted with: the system trusts the server's certificate.
pub(super) fn tls() -> Result<MakeRustlsConnect> {
    MakeRustlsConnect::with_native_certs()
        .map(|(connector, _)| connector)
        .map_err(|_| StoreError::Unavailable("the system's certificates cannot be read".to_owned()))
}
