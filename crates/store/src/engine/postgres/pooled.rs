//! Finding a pooler in transaction mode at the start, where an address does not say that there is one.
//!
//! What is prepared on one connection would be looked for on another of the server's, now and then and on no schedule: a
//! fault that shows under load and not when somebody tries it out. One that is not found here is found by its first such
//! statement ([`statements`](super::statements)).

use tokio_postgres::{Client, SimpleQueryMessage};

use super::direct::connect_directly;
use crate::engine::deadlines::LONGEST_PROBE;
use crate::error::{Result, StoreError};

const BACKEND: &str = "SELECT pg_backend_pid()";

/// Refuses an address behind a pooler in transaction mode: one connection of the server serves two of ours that are both
/// open, which no server and no pooler of sessions does. A pooler that is busy enough to give us two is not found; nothing
/// is refused because something could not be asked.
///
/// # Errors
/// [`StoreError::Database`] with the option that is missing.
pub(super) async fn refuse_pooler(url: &str) -> Result<()> {
    match runtime::timeout(LONGEST_PROBE, Box::pin(is_pooled(url))).await {
        Ok(Some(true)) => Err(StoreError::Database(
            "a pooler in transaction mode is between this program and the database: add prepared_statements=off to \
             the database's address (postgres://…/name?prepared_statements=off)"
                .to_owned(),
        )),
        _ => Ok(()),
    }
}

/// Returns whether two connections are one of the server's; none when that cannot be asked.
async fn is_pooled(url: &str) -> Option<bool> {
    let (first, second) =
        (connect_directly(url, "pulseward").await.ok()?, connect_directly(url, "pulseward").await.ok()?);
    Some(backend_of(&first).await? == backend_of(&second).await?)
}

async fn backend_of(client: &Client) -> Option<String> {
    // As text: what is prepared would be looked for elsewhere.
    let messages = client.simple_query(BACKEND).await.ok()?;
    messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    })
}
