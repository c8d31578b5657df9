//! Removal of dead rows, which PostgreSQL keeps where they lay until it vacuums.

use std::time::Duration;

use runtime::Instant;
use tokio_postgres::Client;

use super::Postgres;
use super::direct::{connect_directly, first_value};
use crate::error::{Result, StoreError};

/// Longest wait for transactions that can still see what was deleted.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(200);

/// Number of a transaction that begins now: what was deleted before was deleted by transactions of smaller numbers.
const NUMBER: &str = "SELECT pg_current_xact_id()::xid::text";
/// Tables of the schema that the service owns, as a list for VACUUM.
const TABLES: &str = "SELECT string_agg(quote_ident(tablename), ', ') FROM pg_tables
    WHERE schemaname = current_schema() AND pg_has_role(tableowner, 'USAGE')";

impl Postgres {
    /// Removes dead rows from all tables, with what indexes hold of them. Readers and writers go on meanwhile. What is
    /// left in parts of pages that nothing uses, and in the server's write-ahead log, the server overwrites in its time.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when a transaction of before goes on for too long: what it can see stays.
    pub(in crate::engine) async fn vacuum(&self) -> Result<()> {
        self.vacuum_within(LONGEST_WAIT).await
    }

    async fn vacuum_within(&self, longest_wait: Duration) -> Result<()> {
        let client = connect_directly(&self.url, "pulseward-vacuum").await?;
        wait_for_older(&client, longest_wait).await?;
        let Some(tables) = first_value(&client, TABLES).await? else { return Ok(()) };
        // Indexes too where few rows are dead, which PostgreSQL passes over otherwise: they hold uuids and e-mails. Without
        // cutting the ends of files off, for which all others would wait.
        client.batch_execute(&format!("VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) {tables}")).await?;
        Ok(())
    }
}

/// Waits until nobody can see any more what has been deleted until now.
async fn wait_for_older(client: &Client, longest_wait: Duration) -> Result<()> {
    let number = first_value(client, NUMBER).await?;
    let number = number.ok_or_else(|| StoreError::Database("a transaction without a number".to_owned()))?;
    let begun = Instant::now();
    let older = older_than(&number);
    while first_value(client, &older).await?.is_some() {
        if begun.elapsed() >= longest_wait {
            let message = "a transaction of before an erasure goes on, and keeps what was erased";
            return Err(StoreError::Unavailable(message.to_owned()));
        }
        runtime::sleep(PAUSE).await;
    }
    Ok(())
}

/// Returns a statement that finds something if a transaction, a replica or a prepared transaction holds what was deleted
/// before a transaction. Ages and not numbers are compared: numbers begin again.
fn older_than(number: &str) -> String {
    format!(
        "SELECT 1 FROM (
            SELECT unnest(ARRAY[backend_xid, backend_xmin]) AS held FROM pg_stat_activity
                WHERE pid <> pg_backend_pid() AND (datname = current_database() OR datname IS NULL)
            UNION ALL SELECT unnest(ARRAY[xmin, catalog_xmin]) FROM pg_replication_slots
            UNION ALL SELECT transaction FROM pg_prepared_xacts WHERE database = current_database()
        ) holders WHERE age(held) > age('{number}'::xid) LIMIT 1"
    )
}

#[cfg(test)]
mod tests {
    use testkit::Postgres as Server;

    use super::super::tests::{COUNTER, RAISE};
    use super::*;
    use crate::engine::Limits;

    const VACUUMED: &str = "SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_stat_user_tables
        WHERE last_vacuum IS NOT NULL AND n_dead_tup = 0";

    #[tokio::test]
    async fn dead_rows_go_once_nobody_can_see_them() {
        let Some(server) = Server::start() else { return };
        let postgres = Postgres::open(&server.url, COUNTER, Limits::default()).await.unwrap();
        let reader = connect_directly(&server.url, "reader").await.unwrap();
        reader.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM counter").await.unwrap();
        let client = connect_directly(&server.url, "writer").await.unwrap();
        client.batch_execute(RAISE).await.unwrap();
        client.batch_execute("DELETE FROM counter WHERE name = 'other'").await.unwrap();
        let refused = postgres.vacuum_within(Duration::from_millis(300)).await;
        assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
        reader.batch_execute("COMMIT").await.unwrap();
        postgres.vacuum_within(LONGEST_WAIT).await.unwrap();
        let vacuumed = first_value(&client, VACUUMED).await.unwrap();
        assert_eq!(vacuumed.as_deref(), Some("counter deadline schema_version"));
    }
}
