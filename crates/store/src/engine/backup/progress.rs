//! The end of a wait for a server that is not at work: its link was cut without a word, or it froze.
//!
//! Nobody knows how long a copy takes, so its statements have no deadline. Where nothing has come for a while, the server is
//! asked on a connection of its own whether it works on what was asked: it may be sorting a table, or checking one that was
//! filled. Two answers in a row that it does not, or none, end the copy.

use std::pin::pin;
use std::time::Duration;

use tokio_postgres::{Client, SimpleQueryMessage};

use crate::engine::deadlines::{LONGEST_ANSWER, LONGEST_QUIET};
use crate::engine::postgres::connect_directly;
use crate::error::{Result, StoreError};

const OWN_PROCESS: &str = "SELECT pg_backend_pid()";
/// A process that waits for its client does not work: what it has sent does not arrive here.
const AT_WORK: &str = "SELECT 1 FROM pg_stat_activity
    WHERE state = 'active' AND wait_event_type IS DISTINCT FROM 'Client' AND pid =";

/// The process of a server that carries out a copy.
#[derive(Clone, Debug)]
pub(super) struct Backend {
    url: String,
    process: i32,
    quiet: Duration,
}

impl Backend {
    /// Finds the process that carries out a transaction; behind a pooler, another one serves the next.
    pub async fn of(client: &Client, url: &str) -> Result<Self> {
        let process = answered(async { client.query_one(OWN_PROCESS, &[]).await?.try_get(0) }).await?;
        Ok(Backend { url: url.to_owned(), process, quiet: LONGEST_QUIET })
    }

    /// Waits for one step of a copy, for as long as the process works on it.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when nothing comes and the process does not work, and the errors of the step.
    pub async fn wait_for<T, E: Into<StoreError>>(
        &self,
        step: impl Future<Output = std::result::Result<T, E>>,
    ) -> Result<T> {
        let mut step = pin!(step);
        let mut was_idle = false;
        loop {
            if let Ok(ended) = runtime::timeout(self.quiet, step.as_mut()).await {
                return ended.map_err(Into::into);
            }
            let asked = tokio::select! {
                biased;
                ended = step.as_mut() => return ended.map_err(Into::into),
                asked = self.is_at_work() => asked,
            };
            // One such answer can be right by chance: it began to send just then, or took no further connection.
            match asked {
                Ok(true) => was_idle = false,
                Ok(false) if was_idle => return Err(silent()),
                Err(error) if was_idle => return Err(error),
                Ok(false) | Err(_) => was_idle = true,
            }
        }
    }

    async fn is_at_work(&self) -> Result<bool> {
        let client = connect_directly(&self.url, "pulseward-backup").await?;
        // Nothing is prepared, so that a pooler may be between.
        let found = answered(client.simple_query(&format!("{AT_WORK} {}", self.process))).await?;
        Ok(found.iter().any(|message| matches!(message, SimpleQueryMessage::Row(_))))
    }
}

/// Waits for what a server that is there answers soon.
pub(super) async fn answered<T, E: Into<StoreError>>(
    answer: impl Future<Output = std::result::Result<T, E>>,
) -> Result<T> {
    runtime::timeout(LONGEST_ANSWER, answer).await.map_err(|_| silent())?.map_err(Into::into)
}

fn silent() -> StoreError {
    StoreError::Unavailable("the database has stopped answering in the middle of a copy".to_owned())
}

#[cfg(test)]
mod tests {
    use testkit::Postgres;

    use super::*;

    const QUIET: Duration = Duration::from_millis(200);

    async fn connected(url: &str) -> (Client, Backend) {
        let client = connect_directly(url, "pulseward-backup").await.expect("a connection");
        let backend = Backend::of(&client, url).await.expect("a process");
        (client, Backend { quiet: QUIET, ..backend })
    }

    #[tokio::test]
    async fn statement_that_takes_long_is_waited_for() {
        let Some(server) = Postgres::start() else { return };
        let (client, backend) = connected(&server.url).await;
        backend.wait_for(client.batch_execute("SELECT pg_sleep(2)")).await.expect("it ends by itself");
    }

    #[tokio::test]
    async fn statement_whose_connection_goes_silent_ends_although_the_server_answers_others() {
        let Some(server) = Postgres::start() else { return };
        let proxy = Postgres::silent_proxy();
        let (client, backend) = connected(&server.url_at(proxy.port())).await;
        let backend = Backend { url: server.url.clone(), ..backend };
        proxy.cut();
        let ended = backend.wait_for(client.batch_execute("SELECT 1")).await;
        assert!(matches!(ended, Err(StoreError::Unavailable(_))), "{ended:?}");
    }

    #[tokio::test]
    async fn statement_ends_when_the_server_gives_no_answer_to_anybody() {
        let Some(server) = Postgres::start() else { return };
        let proxy = Postgres::silent_proxy();
        let (client, backend) = connected(&server.url_at(proxy.port())).await;
        proxy.cut();
        let ended = backend.wait_for(client.batch_execute("SELECT 1")).await;
        assert!(matches!(ended, Err(StoreError::Unavailable(_))), "{ended:?}");
    }
}
