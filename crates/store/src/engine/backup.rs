//! Copies of databases as they were at one moment, each a SQLite file whatever engine it comes from, and back.
//!
//! A file is the same for both engines: it has the schema that the migrations give on SQLite, and can be restored onto
//! either. From PostgreSQL, rows come by COPY in one snapshot for each database and go back by COPY in one transaction,
//! a few MiB at a time in either direction, so memory does not grow with the database.

mod file;
mod fill;
mod layout;
mod moment;
mod progress;
mod rows;

use std::path::{Path, PathBuf};

pub(crate) use self::file::open_current;
pub use self::fill::FillTarget;
pub(crate) use self::fill::{fill, has_mark, look_at, remove_mark};
use self::moment::Snapshot;
use super::address::Address;
use super::blocking::blocking;
use super::migrate::Migrations;
use crate::error::{Result, StoreError};

/// A database that is copied.
#[derive(Clone, Debug)]
pub(crate) struct Original {
    /// Its name, for errors.
    pub name: &'static str,
    /// Where it is.
    pub address: Address,
    /// Its schema.
    pub migrations: Migrations,
    /// The file that is made.
    pub to: PathBuf,
}

/// Copies databases, each into a file, all as they were at the same moment. Other processes may use them: writers wait
/// while that moment is agreed on, and neither they nor readers wait for the copying.
///
/// # Errors
/// [`StoreError::Conflict`] when a file is there. [`StoreError::Unavailable`] when no moment was found at which nobody
/// writes, or when a database has stopped answering; trying again later can help.
pub(crate) async fn copy(originals: Vec<Original>) -> Result<()> {
    for Original { to, .. } in &originals {
        if to.exists() {
            return Err(StoreError::Conflict(format!("{} is there", to.display())));
        }
    }
    let mut parts = Vec::new();
    for Original { address, migrations, .. } in &originals {
        parts.push((address.clone(), layout::table_names(*migrations)?));
    }
    let snapshots = moment::snapshots(&parts).await?;
    // At the same time: a snapshot that waits for the other's end would keep a server from vacuuming for longer.
    let copying = originals.into_iter().zip(snapshots).map(async |(original, snapshot)| {
        let name = original.name;
        let copied = copy_one(original, snapshot).await;
        // Of two databases, the reason alone does not say which one an operator has to look at.
        copied.map_err(|error| match error {
            StoreError::Damaged(reason) => StoreError::Damaged(format!("the {name} database: {reason}")),
            error => error,
        })
    });
    futures::future::try_join_all(copying).await?;
    Ok(())
}

async fn copy_one(original: Original, snapshot: Snapshot) -> Result<()> {
    let Original { migrations, to, .. } = original;
    match snapshot {
        Snapshot::Sqlite(source) => blocking(move || file::copy_whole(&source, &to)).await,
        Snapshot::Postgres(client, backend) => {
            let made = to.clone();
            let file = blocking(move || file::begin(&made, migrations)).await?;
            let file = rows::copy_out(&client, &backend, file).await?;
            blocking(move || file::finish(file, &to)).await
        }
    }
}

/// Whether a file holds a database that this program can read.
///
/// # Errors
/// [`StoreError::SchemaVersion`] for one of a newer program.
pub(crate) fn check_version(path: &Path, migrations: Migrations) -> Result<()> {
    file::version_of(path).and_then(|found| migrations.check(found))
}
