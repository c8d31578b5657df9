//! Wake-ups between nodes: NOTIFY on a connection of the pool, LISTEN on one of its own.
//!
//! A pooler in transaction mode takes a connection away after each transaction, and what it listens to with it. So
//! listening needs an address that leads to the server directly; sending does not.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use tokio_postgres::config::SslMode;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{AsyncMessage, Config, NoTls, Socket};

use super::connection;
use crate::error::{Result, StoreError};

/// Channel of wake-ups.
const CHANNEL: &str = "pulseward_jobs";

/// Statement that sends a message of letters, digits, `_` and spaces.
pub(super) fn notify(message: &str) -> Result<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b' ';
    // NOTIFY takes no parameters, so the message becomes part of the text.
    if !message.bytes().all(is_plain) {
        return Err(StoreError::Database("a wake-up has characters that cannot be sent".to_owned()));
    }
    Ok(format!("NOTIFY {CHANNEL}, '{message}'"))
}

/// Hands messages of other nodes, and of this one, to `wake` until the connection breaks.
pub(in crate::engine) async fn listen(url: &str, wake: impl Fn(&str)) -> Result<()> {
    let mut config = connection::config(url)?;
    config.application_name("pulseward-listen");
    if config.get_ssl_mode() == SslMode::Disable {
        return listen_over(&config, NoTls, wake).await;
    }
    listen_over(&config, connection::tls()?, wake).await
}

async fn listen_over<T: MakeTlsConnect<Socket>>(config: &Config, tls: T, wake: impl Fn(&str)) -> Result<()> {
    let (client, mut connection) = config.connect(tls).await?;
    let text = format!("LISTEN {CHANNEL}");
    let mut begun = pin!(client.batch_execute(&text));
    let mut is_listening = false;
    // The connection is driven here, since its messages are all that this task waits for.
    poll_fn(|context| {
        loop {
            match connection.poll_message(context) {
                Poll::Ready(Some(Ok(AsyncMessage::Notification(message)))) => wake(message.payload()),
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error.into())),
                Poll::Ready(None) => {
                    return Poll::Ready(Err(StoreError::Unavailable("the server closed the connection".to_owned())));
                }
                // The connection is polled before the statement: its answer comes by way of the connection.
                Poll::Pending if is_listening => return Poll::Pending,
                Poll::Pending => match begun.as_mut().poll(context) {
                    Poll::Ready(Ok(())) => is_listening = true,
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
                    Poll::Pending => return Poll::Pending,
                },
            }
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_messages_are_sent() {
        assert_eq!(notify("derive 0a1b").unwrap(), "NOTIFY pulseward_jobs, 'derive 0a1b'");
        assert!(notify("'; DROP TABLE job; --").is_err());
    }
}
