//! How connections are made: name, time-outs, keep-alive.

use std::time::Duration;

use tokio_postgres::Config;

use crate::error::{Result, StoreError};

/// Longest time until a new connection is ready.
pub(super) const LONGEST_CONNECT: Duration = Duration::from_secs(10);
/// How long sent bytes may stay without acknowledgement before the peer counts as gone.
const LONGEST_SILENCE: Duration = Duration::from_secs(20);
/// Quiet time after which the operating system asks whether the peer is there.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(15);

/// The configuration of a database address.
pub(super) fn config(url: &str) -> Result<Config> {
    let mut config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
        StoreError::Database(format!("the database address cannot be read: {error}"))
    })?;
    config
        .connect_timeout(LONGEST_CONNECT)
        .keepalives_idle(KEEPALIVE_AFTER)
        .tcp_user_timeout(LONGEST_SILENCE)
        .application_name("pulseward");
    Ok(config)
}
