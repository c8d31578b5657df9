//! How connections are made and given up: name, deadlines, keep-alive.

use deadpool_postgres::{Hook, HookError};
use tokio_postgres::Config;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::statements::Statements;
use crate::engine::deadlines::{
    KEEPALIVE_AFTER, KEEPALIVE_EVERY, KEEPALIVE_TRIES, LONGEST_CONNECT, LONGEST_SILENCE, OF_SESSION,
};
use crate::error::{Result, StoreError};

/// Option of an address that says how statements are sent: `off` behind a pooler in transaction mode.
const PREPARED_STATEMENTS: &str = "prepared_statements";

/// Sets the deadlines of a new connection.
pub(super) fn set_deadlines(statements: &Statements) -> Hook {
    let statements = statements.clone();
    Hook::async_fn(move |client, _| {
        let is_pooled = statements.is_unnamed();
        Box::pin(async move {
            // Behind a pooler they would be set for somebody else; single statements travel in transactions there.
            if is_pooled {
                return Ok(());
            }
            // The pool's own limit ends with the connection that is made.
            let set = runtime::timeout(LONGEST_CONNECT, client.batch_execute(OF_SESSION)).await;
            set.map_err(|_| HookError::message("a new connection gave no answer"))?.map_err(HookError::Backend)
        })
    })
}

/// Returns the address without the option that only this program knows, and whether statements are prepared.
fn split_option(url: &str) -> Result<(String, bool)> {
    let Some((base, options)) = url.split_once('?') else { return Ok((url.to_owned(), true)) };
    let (mut is_prepared, mut others) = (true, Vec::new());
    for option in options.split('&') {
        match option.split_once('=') {
            Some((PREPARED_STATEMENTS, "off")) => is_prepared = false,
            Some((PREPARED_STATEMENTS, "on")) => {}
            Some((PREPARED_STATEMENTS, _)) => {
                let message = format!("the database address cannot be read: {PREPARED_STATEMENTS} is on or off");
                return Err(StoreError::Database(message));
            }
            _ => others.push(option),
        }
    }
    let begin = if others.is_empty() { "" } else { "?" };
    Ok((format!("{base}{begin}{}", others.join("&")), is_prepared))
}

/// Returns how statements are sent to a database address.
pub(super) fn statements(url: &str) -> Result<Statements> {
    let (_, is_prepared) = split_option(url)?;
    Ok(Statements::new(is_prepared))
}

/// Returns the configuration of a database address.
pub(super) fn config(url: &str) -> Result<Config> {
    let (url, _) = split_option(url)?;
    let mut config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
        StoreError::Database(format!("the database address cannot be read: {error}"))
    })?;
    config
        .connect_timeout(LONGEST_CONNECT)
        .keepalives_idle(KEEPALIVE_AFTER)
        .keepalives_interval(KEEPALIVE_EVERY)
        .keepalives_retries(KEEPALIVE_TRIES)
        .tcp_user_timeout(LONGEST_SILENCE)
        // By this the operator sees in `pg_stat_activity` whose connections these are.
        .application_name("pulseward");
    Ok(config)
}

/// Returns what connections are encrypted with: the system trusts the server's certificate.
pub(super) fn tls() -> Result<MakeRustlsConnect> {
    MakeRustlsConnect::with_native_certs()
        .map(|(connector, _)| connector)
        .map_err(|_| StoreError::Unavailable("the system's certificates cannot be read".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn option_of_prepared_statements_is_read_and_taken_out_of_the_address() {
        for (url, rest, is_prepared) in [
            ("postgres://u@h/d", "postgres://u@h/d", true),
            ("postgres://u@h/d?prepared_statements=off", "postgres://u@h/d", false),
            ("postgres://u@h/d?sslmode=disable&prepared_statements=on", "postgres://u@h/d?sslmode=disable", true),
            ("postgres://u@h/d?prepared_statements=off&sslmode=disable", "postgres://u@h/d?sslmode=disable", false),
        ] {
            assert_eq!(split_option(url).unwrap(), (rest.to_owned(), is_prepared), "{url}");
            config(url).unwrap();
        }
        assert!(config("postgres://u@h/d?prepared_statements=perhaps").is_err());
    }
}
