//! A connection of its own, outside the pool: for work that holds it longer than an operation may.

use tokio_postgres::config::SslMode;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage, Socket};

use super::breaker::away;
use super::connection;
use crate::engine::deadlines::LONGEST_CONNECT;
use crate::error::Result;

/// Connects to a database address; `name` is what the server shows of it. The connection ends with the client, and the
/// transaction that is open on it is undone.
pub(in crate::engine) async fn connect_directly(url: &str, name: &str) -> Result<Client> {
    let mut config = connection::config(url)?;
    config.application_name(name);
    if config.get_ssl_mode() == SslMode::Disable {
        return driven(&config, NoTls).await;
    }
    driven(&config, connection::tls()?).await
}

async fn driven<T>(config: &Config, tls: T) -> Result<Client>
where
    T: MakeTlsConnect<Socket, Stream: Send + 'static>,
{
    // The limit of the configuration ends with the connection of the system; the server has still to answer on it.
    let connected = runtime::timeout(LONGEST_CONNECT, config.connect(tls)).await;
    let (client, connection) = connected.map_err(|_| away())??;
    drop(runtime::spawn("drive a connection", async move {
        if let Err(error) = connection.await {
            // The statement that waits for an answer fails as well.
            tracing::debug!(%error, "a connection to PostgreSQL broke");
        }
    }));
    Ok(client)
}

/// Returns the first value of a statement's first row.
pub(in crate::engine) async fn first_value(client: &Client, text: &str) -> Result<Option<String>> {
    // As text alone: behind a pooler a statement that was prepared may be asked of another connection.
    let answers = client.simple_query(text).await?;
    let rows = answers.iter().filter_map(|answer| match answer {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    Ok(rows.map(str::to_owned).next())
}
