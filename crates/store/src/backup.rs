//! Copies of both databases as they were at one moment, what can be asked of the copies, and how they come back.
//!
//! A copy is a SQLite file, whatever engine the database is on. Onto SQLite it comes back as it is; onto PostgreSQL
//! [`fill`] brings its rows.

use std::path::{Path, PathBuf};

use crate::engine::Address;
use crate::engine::Migrations;
use crate::engine::Row;
use crate::engine::SchemaState;
pub use crate::engine::backup::FillTarget;
use crate::engine::backup::{self, Original};
use crate::engine::blocking;
use crate::engine::open_to_read;
use crate::error::{Result, StoreError};
use crate::readers::count;
use crate::signing_key::{SigningKey, key_columns, read_key};
use crate::texts::record;
use crate::{health, users};

record! {
    object_columns!(""), read_object(row) -> NamedObject { path, bytes by count, sha256 }
}

const OBJECTS: &str = concat!(
    "SELECT ",
    object_columns!(),
    " FROM segment UNION ALL
    SELECT path, bytes, NULL FROM export_job WHERE state = 'done' AND path IS NOT NULL AND bytes IS NOT NULL
    ORDER BY path"
);
const SIGNING: &str =
    concat!("SELECT ", key_columns!(), " FROM signing_key WHERE retired_ms IS NULL ORDER BY created_ms, kid");
// Backups of before have no such column.
const HAS_AUDIT_KEY: &str = "SELECT COUNT(*) FROM pragma_table_info('audit_head') WHERE name = 'public_key'";
const AUDIT_KEY: &str = "SELECT public_key FROM audit_head WHERE number > 0";
const AUDIT_NUMBER: &str = "SELECT number FROM audit_head";
// Both databases have a table of this name, with a row for each patient.
const COUNT_PATIENTS: &str = "SELECT COUNT(*) FROM patient";

/// One of the two databases of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Database {
    /// Who people are.
    Users,
    /// What was measured.
    Health,
}

impl Database {
    /// Both. The one before is filled before: see [`fill`].
    pub const BOTH: [Database; 2] = [Database::Users, Database::Health];

    /// Name in options, reports and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Database::Users => "users",
            Database::Health => "health",
        }
    }

    /// Looks how far the database at an address is, and changes nothing.
    ///
    /// # Errors
    /// [`StoreError::SchemaVersion`] for one of a newer program.
    pub async fn state_at(self, address: Address) -> Result<SchemaState> {
        self.migrations().state_of(address).await
    }

    /// Version of the schema that this program knows.
    pub fn version(self) -> i64 {
        self.migrations().0.len() as i64
    }

    fn migrations(self) -> Migrations {
        match self {
            Database::Users => users::MIGRATIONS,
            Database::Health => health::MIGRATIONS,
        }
    }
}

/// A copy to be made.
#[derive(Clone, Debug)]
pub struct DatabaseCopy {
    /// Which database.
    pub database: Database,
    /// Where it is.
    pub from: Address,
    /// The file, which is made.
    pub to: PathBuf,
}

/// An object that the rows of a database name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedObject {
    /// Path in the object store.
    pub path: String,
    /// Size.
    pub bytes: u64,
    /// SHA-256 (hexadecimal), where the database holds it: of sealed files, not of archives.
    pub sha256: Option<String>,
}

/// Copies databases as they were at the same moment, whatever engines they are on; the service may run. Whatever was
/// committed before the call is in the copies, and nothing of a transaction that was under way is in any of them.
///
/// # Errors
/// [`StoreError::Conflict`] when a file is there; [`StoreError::Unavailable`] when no moment was found at which nobody
/// writes. A file that was begun may be left.
pub async fn copy_databases(copies: Vec<DatabaseCopy>) -> Result<()> {
    let original = |DatabaseCopy { database, from, to }: DatabaseCopy| Original {
        name: database.name(),
        address: from,
        migrations: database.migrations(),
        to,
    };
    backup::copy(copies.into_iter().map(original).collect()).await
}

/// Whether a file holds a copy that this program can read.
///
/// # Errors
/// [`StoreError::SchemaVersion`] for one of a newer program.
pub async fn check_version(database: Database, file: PathBuf) -> Result<()> {
    blocking(move || backup::check_version(&file, database.migrations())).await
}

/// Fills an empty PostgreSQL database with a copy, all or nothing, and marks it as not finished until
/// [`remove_mark`]. What a restore has left that did not come to its end is replaced. `work` is a folder in which a copy
/// of an older version is brought up to date first.
///
/// The mark of the users database decides whether a store is finished, so that one goes first, and its mark at the end.
///
/// # Errors
/// [`StoreError::Conflict`] when the database is in use; it is as it was then, and after every other error.
pub async fn fill(database: Database, file: PathBuf, url: &str, work: PathBuf) -> Result<()> {
    let migrations = database.migrations();
    let copied = blocking(move || backup::open_current(&file, migrations, &work)).await?;
    backup::fill(url, migrations, copied).await
}

/// What a restore would find at a PostgreSQL address.
pub async fn look_at(url: &str) -> Result<FillTarget> {
    backup::look_at(url).await
}

/// Whether a PostgreSQL database was filled by a restore that has not come to its end.
pub async fn has_mark(url: &str) -> Result<bool> {
    backup::has_mark(url).await
}

/// Notes that the restore of a PostgreSQL database has come to its end.
pub async fn remove_mark(url: &str) -> Result<()> {
    backup::remove_mark(url).await
}

/// Hands every object that a copy of the health database names to `each`, in the order of their paths. It blocks its
/// thread.
///
/// # Errors
/// Those of the file, and the first one of `each`.
pub fn named_objects<E: From<StoreError>>(
    file: &Path,
    mut each: impl FnMut(NamedObject) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let copied = open_to_read(file)?;
    let mut statement = copied.prepare(OBJECTS).map_err(StoreError::from)?;
    let mut rows = statement.query([]).map_err(StoreError::from)?;
    // Row by row: a store has more objects than fit into the memory that a backup may take.
    while let Some(row) = rows.next().map_err(StoreError::from)? {
        each(read_object(&Row::Sqlite(row))?)?;
    }
    Ok(())
}

/// The keys of a copy that sign tokens, oldest first.
pub async fn signing_keys(file: PathBuf) -> Result<Vec<SigningKey>> {
    blocking(move || {
        let copied = open_to_read(&file)?;
        let mut statement = copied.prepare(SIGNING)?;
        let keys = statement.query_and_then([], |row| read_key(&Row::Sqlite(row)))?;
        keys.collect()
    })
    .await
}

/// Returns the public key of the checkpoints of the audit log in a copy of the users database; `None` when no key guards its
/// entries.
pub async fn audit_public_key(file: PathBuf) -> Result<Option<Vec<u8>>> {
    blocking(move || {
        let copied = open_to_read(&file)?;
        if copied.query_row(HAS_AUDIT_KEY, [], |row| row.get::<_, i64>(0))? == 0 {
            return Ok(None);
        }
        let mut statement = copied.prepare(AUDIT_KEY)?;
        let mut rows = statement.query([])?;
        Ok(rows.next()?.map(|row| row.get(0)).transpose()?.flatten())
    })
    .await
}

/// Returns the number of the last entry of the audit log in a copy of the users database.
pub async fn last_audit_number(file: PathBuf) -> Result<i64> {
    blocking(move || Ok(open_to_read(&file)?.query_row(AUDIT_NUMBER, [], |row| row.get(0))?)).await
}

/// How many patients a copy has.
pub async fn count_patients(file: PathBuf) -> Result<u64> {
    let count =
        move || Ok(open_to_read(&file)?.query_row(COUNT_PATIENTS, [], |row| row.get::<_, i64>(0))?.unsigned_abs());
    blocking(count).await
}
