//! Opens the stores and puts the service together. Wall clock and the system's randomness enter here and nowhere else.

mod expected;
mod folder_lock;
mod identity;
mod keys;
pub mod master_key;
mod node_name;
pub mod objects;
mod presence;
mod random_bytes;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use platform::{Environment, ObjectCopies, Platform, Settings};
use store::backup::Database;
use store::{Address, HealthDb, Limits, Objects, UsersDb};

pub use expected::Expected;
pub use folder_lock::HeldFolder;
pub use node_name::HeldName;
pub use random_bytes::fill_random;

use self::identity::Stores;
use self::objects::Missing;
use crate::config::{ServeOptions, StoreOptions};
use crate::failure::Failure;
use crate::server::PublicUrls;

/// A file of the data folder that says that a restore has begun and not ended: who was erased since the backup may still
/// be in the databases, so that nobody may read them.
pub const UNFINISHED_RESTORE: &str = "restore.unfinished";
/// The users database of a store in one folder.
const USERS_FILE: &str = "users.db";

/// Returns what a restore that did not come to its end has left.
fn unfinished() -> Failure {
    let message = "a restore into this store was not finished: nobody may read it yet; run the restore again";
    Failure::Usage(message.to_owned())
}

/// Opens the stores that the options name, brings their schemas up to date, and builds the service over them.
pub async fn open(options: &StoreOptions, settings: Settings) -> Result<Platform, Failure> {
    refuse_unfinished(options)?;
    let expected = Expected::StoreOrNothing;
    let platform = assemble(options, settings, expected).await?;
    if let Err(refused) = keys::take(&platform, &master_key_path(options), expected).await {
        close(&platform).await;
        return Err(refused);
    }
    Ok(platform)
}

/// Opens the stores for a command, and closes them when its work has ended, whichever way.
pub async fn with_stores<T>(
    options: &StoreOptions,
    expected: Expected,
    work: impl AsyncFnOnce(&Platform) -> Result<T, Failure>,
) -> Result<T, Failure> {
    with_stores_set(options, Settings::default(), expected, work).await
}

/// The same with settings.
pub async fn with_stores_set<T>(
    options: &StoreOptions,
    settings: Settings,
    expected: Expected,
    work: impl AsyncFnOnce(&Platform) -> Result<T, Failure>,
) -> Result<T, Failure> {
    refuse_unfinished(options)?;
    let platform = assemble(options, settings, expected).await?;
    let ended = match keys::take(&platform, &master_key_path(options), expected).await {
        Ok(()) => work(&platform).await,
        Err(refused) => Err(refused),
    };
    // Also when the work has failed: what it has written lies in the log and not yet in the files.
    close(&platform).await;
    ended
}

/// Every command passes here, so that none reads a patient that an erasure has removed since the backup.
fn refuse_unfinished(options: &StoreOptions) -> Result<(), Failure> {
    if options.data.join(UNFINISHED_RESTORE).exists() { Err(unfinished()) } else { Ok(()) }
}

/// The same for databases on PostgreSQL, into which another node's folder may be restored. The users database alone says
/// it for both. Asked once it is open: until then a restore may be filling it.
async fn refuse_unfinished_databases(options: &StoreOptions) -> Result<(), Failure> {
    match database_address(options, Database::Users)? {
        Address::Postgres(url) if store::backup::has_mark(&url).await? => Err(unfinished()),
        _ => Ok(()),
    }
}

/// Closes the stores for a command, so that database files hold everything without their write-ahead logs.
pub async fn close(platform: &Platform) {
    for error in platform.upkeep.close_stores().await {
        // Mostly the service, which leaves nothing in the logs when it ends.
        tracing::info!(%error, "a write-ahead log was not emptied");
    }
}

/// Closes the stores for the service, after which nobody is expected to use them.
///
/// # Errors
/// [`Failure::LogLeft`] when a file does not hold everything: anyone who copies it alone loses what was acknowledged last.
pub async fn close_last(platform: &Platform) -> Result<(), Failure> {
    // What was counted of refusals since the last minute: anyone who tries something just before a planned stop would
    // leave no trace of how often.
    platform.identity.write_counted_events().await;
    let left = platform.upkeep.close_stores().await;
    for error in &left {
        tracing::warn!(%error, "a write-ahead log was not emptied");
    }
    if left.is_empty() {
        return Ok(());
    }
    Err(Failure::LogLeft(left.iter().map(ToString::to_string).collect::<Vec<String>>().join("; ")))
}

/// Opens the stores for a restore, before it has ended. Databases without objects are nothing unusual then.
pub async fn open_restored(options: &StoreOptions, settings: Settings) -> Result<Platform, Failure> {
    assemble(options, settings, Expected::RestoredStore).await
}

/// Returns the file of the master key.
pub fn master_key_path(options: &StoreOptions) -> PathBuf {
    options.master_key_file.clone().unwrap_or_else(|| options.data.join("master.key"))
}

async fn assemble(options: &StoreOptions, settings: Settings, expected: Expected) -> Result<Platform, Failure> {
    let users_address = database_address(options, Database::Users)?;
    let health_address = database_address(options, Database::Health)?;
    refuse_unshared_key(options)?;
    let objects = objects::named(options)?;
    let deadline = presence::Deadline::begin();
    let databases = [(Database::Users, users_address.clone()), (Database::Health, health_address.clone())];
    if expected.makes_store() {
        // Before anything is written into it: what SQLite makes, others may read unless the folder keeps them out.
        make_private_folder(&options.data)?;
    } else if let Err(missing) = presence::await_databases(&databases, &deadline).await {
        // Of two databases that are brought back, the second may not be there yet.
        refuse_unfinished_databases(options).await?;
        return Err(missing);
    }
    warn_of_readers(&options.data);
    // Before the databases are brought up to date: a file that is no key is to change nothing.
    let key_path = master_key_path(options);
    let master_key = key_path.exists().then(|| master_key::read(&key_path)).transpose()?;
    if expected == Expected::LostKey && master_key.is_some() {
        return Err(Failure::Usage(format!(
            "{} is there: --new-master-key is for a store whose master key is lost; move it away first",
            key_path.display()
        )));
    }
    let limits = Limits { connections: options.db_connections.count(), ..Limits::default() };
    let users = UsersDb::open_with(users_address.clone(), limits).await?;
    if expected != Expected::RestoredStore {
        refuse_unfinished_databases(options).await?;
    }
    let is_made = if expected.makes_store() {
        identity::is_made(&users).await?
    } else {
        presence::await_identity(&users, &users_address, &deadline).await?;
        true
    };
    let missing = match expected {
        Expected::RestoredStore => Missing::Made,
        _ if !is_made => Missing::Made,
        _ if expected.needs_objects() => Missing::Refused,
        _ => Missing::Ignored,
    };
    let objects = objects.open(missing)?;
    let health = HealthDb::open_with(health_address, limits, objects.clone()).await?;
    let stores = Stores { users: &users, health: &health, objects: &objects };
    identity::belong_together(&stores, expected, fill_random).await?;
    let master_key = match master_key {
        Some(key) => key,
        None if expected != Expected::LostKey && keys::hold_sealed(&users, &health).await? => {
            return Err(keys::is_lost(&key_path));
        }
        // Nobody else may make it either: its path may be mistyped. The process that makes the store makes it last.
        None if expected != Expected::LostKey && !expected.makes_store() => {
            presence::await_file(&key_path, || keys::is_missing(&key_path), &deadline).await?;
            master_key::read(&key_path)?
        }
        None => master_key::make(&key_path, fill_random)?,
    };
    Ok(Platform::new(Environment {
        users,
        health,
        objects,
        clock: Arc::new(now_ms),
        random: Arc::new(fill_random),
        master_key,
        settings,
    }))
}

/// Refuses a database that several nodes share without a master key that they share.
pub fn refuse_unshared_key(options: &StoreOptions) -> Result<(), Failure> {
    let is_shared = options.users_db.is_some() || options.health_db.is_some();
    if is_shared && options.master_key_file.is_none() {
        // Each node would make a key of its own and could not read what the others have sealed.
        let message = "PostgreSQL needs --master-key-file, the same file on every node";
        return Err(Failure::Usage(message.to_owned()));
    }
    Ok(())
}

/// Returns the settings of a service that clients reach under these addresses.
pub fn settings(options: &ServeOptions, urls: PublicUrls, copies: Option<ObjectCopies>) -> Settings {
    Settings {
        scrub_bytes_per_s: options.scrub_rate.0.map_or(0, |mib| u64::from(mib) << 20),
        object_copies: copies,
        token_ttl_minutes: options.token_ttl_minutes,
        token_refresh_minutes: options.token_refresh_minutes,
        voucher_days: options.voucher_days,
        integration_url: urls.integration,
        users_url: urls.users,
        health_url: urls.health,
        export_interval_s: options.export_interval.seconds,
        event_retention_s: options.event_retention.seconds,
        security_retention_s: options.security_retention.seconds,
        portal_idle_minutes: options.portal_idle_minutes,
        portal_session_hours: options.portal_session_hours,
        ..Settings::default()
    }
}

/// Opens the object store alone, for a restore: its folder is made when it is not there.
pub fn objects_of(options: &StoreOptions) -> Result<Objects, Failure> {
    objects::named(options)?.open(Missing::Made)
}

/// Keeps every other service from working on the data folder, when databases lie in it.
pub fn hold_folder(options: &StoreOptions) -> Result<Option<HeldFolder>, Failure> {
    if options.users_db.is_some() && options.health_db.is_some() {
        return Ok(None);
    }
    make_private_folder(&options.data)?;
    folder_lock::hold(&options.data).map(Some)
}

/// Opens the copies of the objects, where there are any.
pub fn object_copies(url: Option<&str>, store: &StoreOptions) -> Result<Option<ObjectCopies>, Failure> {
    let transport = objects::Transport::of(store.objects_allow_http);
    url.map(|url| objects::existing(url, transport).map(ObjectCopies::lying_in)).transpose()
}

/// Returns whether the options name a bucket for the objects, and not a folder.
pub fn has_bucket(options: &StoreOptions) -> bool {
    options.objects.as_deref().is_some_and(|url| !url.starts_with("file:"))
}

/// Takes the name under which this process works in the background.
pub fn take_name(options: &StoreOptions) -> Result<HeldName, Failure> {
    node_name::take(&options.data, fill_random)
}

/// Returns the wall clock, ms since 1970.
#[allow(clippy::disallowed_methods)] // the one place where the clock is read
pub fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// Returns where a database of the store is.
pub fn database_address(options: &StoreOptions, database: Database) -> Result<Address, Failure> {
    match database {
        Database::Users => address(options.users_db.as_deref(), &options.data, USERS_FILE),
        Database::Health => address(options.health_db.as_deref(), &options.data, "health.db"),
    }
}

fn address(given: Option<&str>, data: &Path, file: &str) -> Result<Address, Failure> {
    match given {
        None => Ok(Address::File(data.join(file))),
        Some(url) if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
            Ok(Address::Postgres(url.to_owned()))
        }
        // The address is not repeated: it can hold a password.
        Some(_) => Err(Failure::Usage("a database address begins with postgres://".to_owned())),
    }
}

/// Says when others may look into the data folder: files of an older version in it may be readable as well.
fn warn_of_readers(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(path).map_or(0, |metadata| metadata.permissions().mode());
        if mode & 0o007 != 0 {
            tracing::warn!(folder = %path.display(), "others may look into the data folder; chmod 700 it");
        }
    }
}

/// Makes a folder that only its owner may look into; one that is there stays as it is.
pub fn make_private_folder(path: &Path) -> Result<(), Failure> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(|error| Failure::file("make", path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_a_file_of_the_data_folder_or_a_server() {
        let data = Path::new("/data");
        assert_eq!(address(None, data, "users.db").unwrap(), Address::File("/data/users.db".into()));
        let url = "postgres://u:secret@db.example/users";
        assert_eq!(address(Some(url), data, "users.db").unwrap(), Address::Postgres(url.to_owned()));
        let refused = address(Some("mysql://u:secret@db.example/users"), data, "users.db").unwrap_err();
        assert!(!refused.to_string().contains("secret"), "{refused}");
    }

    #[test]
    fn randomness_fills_every_byte() {
        let mut seen = [0_u8; 64];
        for _ in 0..8 {
            let mut bytes = [0; 64];
            fill_random(&mut bytes);
            for (all, byte) in seen.iter_mut().zip(bytes) {
                *all |= byte;
            }
        }
        assert!(seen.iter().all(|byte| *byte != 0));
    }
}
