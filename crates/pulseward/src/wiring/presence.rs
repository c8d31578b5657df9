//! The presence of a store. Commands that work on one make none and bring none up to date: a nightly backup of a folder
//! that was mistyped would else be one of nothing, and look well.

use std::path::Path;
use std::time::Duration;

use runtime::Instant;
use store::backup::Database;
use store::{Address, SchemaState, UsersDb};

use super::identity::is_made;
use crate::failure::Failure;

/// Time that a process may take to make a store or to bring it up to date, which nobody else does meanwhile.
const LONGEST_MAKING: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Time that is left for waiting.
pub(super) struct Deadline {
    until: Instant,
}

impl Deadline {
    /// Begins to wait.
    pub fn begin() -> Self {
        Deadline { until: Instant::now() + LONGEST_MAKING }
    }

    /// Waits until it is worth while to look again.
    ///
    /// # Errors
    /// What was found, when the time is over.
    async fn wait_for(&self, found: Failure) -> Result<(), Failure> {
        if Instant::now() >= self.until {
            return Err(found);
        }
        runtime::sleep(LOOK_EVERY).await;
        Ok(())
    }
}

/// Waits until both databases have the schema of this version. Nothing is made or changed.
pub(super) async fn await_databases(databases: &[(Database, Address)], deadline: &Deadline) -> Result<(), Failure> {
    for (database, address) in databases {
        loop {
            match database.state_at(address.clone()).await? {
                SchemaState::Current => break,
                SchemaState::Older(found) => deadline.wait_for(is_older(*database, found)).await?,
                SchemaState::Missing => deadline.wait_for(no_store(*database, address)).await?,
            }
        }
    }
    Ok(())
}

/// Waits until the store has been made as a whole. `address` is that of the users database.
pub(super) async fn await_identity(users: &UsersDb, address: &Address, deadline: &Deadline) -> Result<(), Failure> {
    while !is_made(users).await? {
        deadline.wait_for(no_store(Database::Users, address)).await?;
    }
    Ok(())
}

/// Waits until a file is there; `missing` is what is reported when it does not come.
pub(super) async fn await_file(file: &Path, missing: impl Fn() -> Failure, deadline: &Deadline) -> Result<(), Failure> {
    while !file.exists() {
        deadline.wait_for(missing()).await?;
    }
    Ok(())
}

fn is_older(database: Database, found: i64) -> Failure {
    Failure::Other(format!(
        "the {} database is of an earlier version of this program (schema {found}, this one reads {}): `pulseward migrate`, \
         or the start of the service, brings it up to date; nothing was changed",
        database.name(),
        database.version()
    ))
}

fn no_store(database: Database, address: &Address) -> Failure {
    let place = match address {
        Address::File(file) => file.parent().unwrap_or(file).display().to_string(),
        // Without the address, which can hold a password.
        Address::Postgres(_) => format!("the {} database", database.name()),
    };
    Failure::Other(format!(
        "{place} holds no store: name the right one with --data, or with --users-db and --health-db. `pulseward migrate` \
         makes a new one, as the first start of the service does; nothing was made"
    ))
}
