//! Opens the stores and puts the service together. Wall clock and the system's randomness enter here and nowhere else.

pub mod master_key;
mod node_name;
pub mod objects;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use platform::{Cloud, Environment, Platform, Settings};
use rand::TryRng;
#[expect(clippy::disallowed_types, reason = "the one place where the system's randomness is drawn")]
use rand::rngs::SysRng;
use store::{Address, HealthDb, Limits, Objects, UsersDb};

pub use node_name::HeldName;

use crate::config::{ServeOptions, StoreOptions};
use crate::failure::Failure;
use crate::server::PublicUrls;

/// A file of the data folder that says that a restore has begun and not ended: who was erased since the backup may still
/// be in the databases, so that nobody may read them.
pub const UNFINISHED_RESTORE: &str = "restore.unfinished";
/// The users database of a store in one folder.
const USERS_FILE: &str = "users.db";

/// What a command expects of the stores that it opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// A store with its master key. One that is made where an address was mistyped would look well and be empty.
    Store,
    /// The same, or nothing yet: then they are made.
    StoreOrNothing,
    /// A store whose master key is lost: another one is made.
    LostKey,
}

/// Opens the stores that the options name, brings their schemas up to date, and builds the service over them.
pub async fn open(options: &StoreOptions, settings: Settings) -> Result<Platform, Failure> {
    refuse_unfinished(options)?;
    let platform = assemble(options, settings, Expected::StoreOrNothing).await?;
    if let Err(refused) = refuse_wrong_key(&platform, options).await {
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
    refuse_unfinished(options)?;
    refuse_nothing(options, expected)?;
    let platform = assemble(options, Settings::default(), expected).await?;
    let ended = match refuse_wrong_key(&platform, options).await {
        Err(refused) if expected != Expected::LostKey => Err(refused),
        _ => work(&platform).await,
    };
    // Also when the work has failed: what it has written lies in the log and not yet in the files.
    close(&platform).await;
    ended
}

/// Every command passes here, so that none reads a patient that an erasure has removed since the backup.
fn refuse_unfinished(options: &StoreOptions) -> Result<(), Failure> {
    if options.data.join(UNFINISHED_RESTORE).exists() {
        let message = "a restore into this data folder was not finished; run it again";
        return Err(Failure::Usage(message.to_owned()));
    }
    Ok(())
}

/// Refuses a data folder without a store to a command that expects one.
fn refuse_nothing(options: &StoreOptions, expected: Expected) -> Result<(), Failure> {
    let is_nothing = options.users_db.is_none() && !options.data.join(USERS_FILE).exists();
    if is_nothing && expected != Expected::StoreOrNothing {
        return Err(Failure::Usage(format!(
            "{} holds no store: name its folder with --data; `serve` and `admin create-account` make a new one",
            options.data.display()
        )));
    }
    Ok(())
}

/// Refuses a master key that is not the one of the store: every login would fail, and keys that sign would be sealed by
/// two.
async fn refuse_wrong_key(platform: &Platform, options: &StoreOptions) -> Result<(), Failure> {
    for cloud in [Cloud::Users, Cloud::Health] {
        if !platform.identity.opens_signing_key(cloud).await? {
            return Err(Failure::Usage(format!(
                "{} is not the master key of this store: put the right one in its place, or name it with \
                 --master-key-file. If that is lost for good, move this one away and run \
                 `pulseward admin rotate-keys --new-master-key`",
                master_key_path(options).display()
            )));
        }
    }
    Ok(())
}

/// Closes the stores, so that database files hold everything without their write-ahead logs.
pub async fn close(platform: &Platform) {
    if let Err(error) = platform.upkeep.close_stores().await {
        // Another process uses the files, and leaves nothing in the logs when it ends.
        tracing::info!(%error, "a write-ahead log was not emptied");
    }
}

/// Opens the stores for a restore, before it has ended.
pub async fn open_restored(options: &StoreOptions, settings: Settings) -> Result<Platform, Failure> {
    assemble(options, settings, Expected::StoreOrNothing).await
}

/// The file of the master key.
pub fn master_key_path(options: &StoreOptions) -> PathBuf {
    options.master_key_file.clone().unwrap_or_else(|| options.data.join("master.key"))
}

async fn assemble(options: &StoreOptions, settings: Settings, expected: Expected) -> Result<Platform, Failure> {
    let users_address = address(options.users_db.as_deref(), &options.data, USERS_FILE)?;
    let health_address = address(options.health_db.as_deref(), &options.data, "health.db")?;
    let shared = [&users_address, &health_address].iter().any(|address| matches!(address, Address::Postgres(_)));
    if shared && options.master_key_file.is_none() {
        // Each node would make a key of its own and could not read what the others have sealed.
        let message = "PostgreSQL needs --master-key-file, the same file on every node";
        return Err(Failure::Usage(message.to_owned()));
    }
    // Before anything is written into it: what SQLite makes, others may read unless the folder keeps them out.
    make_private_folder(&options.data)?;
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
    let objects = objects::open(options)?;
    let limits = Limits { connections: options.db_connections.count(), ..Limits::default() };
    let users = UsersDb::open_with(users_address, limits).await?;
    let health = HealthDb::open_with(health_address, limits, objects.clone()).await?;
    let master_key = match master_key {
        Some(key) => key,
        None if expected != Expected::LostKey && (users.holds_sealed().await? || health.holds_sealed().await?) => {
            return Err(key_is_lost(&key_path));
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

fn key_is_lost(path: &Path) -> Failure {
    Failure::Usage(format!(
        "{} is missing, and the store holds what was sealed with this master key: put its copy there, or name it with \
         --master-key-file. If it is lost for good, `pulseward admin rotate-keys --new-master-key` makes another one and \
         new keys that sign; second factors cannot be read any more then, and `pulseward admin remove-second-factor` \
         takes them away",
        path.display()
    ))
}

/// The settings of a service that clients reach under these addresses.
pub fn settings(options: &ServeOptions, urls: PublicUrls) -> Settings {
    Settings {
        token_ttl_minutes: options.token_ttl_minutes,
        token_refresh_minutes: options.token_refresh_minutes,
        voucher_days: options.voucher_days,
        integration_url: urls.integration,
        users_url: urls.users,
        health_url: urls.health,
        export_interval_s: options.export_interval.seconds,
        event_retention_s: options.event_retention.seconds,
        portal_idle_minutes: options.portal_idle_minutes,
        portal_session_hours: options.portal_session_hours,
        ..Settings::default()
    }
}

/// Opens the object store alone.
pub fn objects_of(options: &StoreOptions) -> Result<Objects, Failure> {
    objects::open(options)
}

/// Takes the name under which this process works in the background.
pub fn take_name(options: &StoreOptions) -> Result<HeldName, Failure> {
    node_name::take(&options.data, fill_random)
}

/// The wall clock, ms since 1970.
#[allow(clippy::disallowed_methods)] // the one place where the clock is read
pub fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// Fills bytes from the operating system.
///
/// # Panics
/// When the system has no randomness to give: nothing could be made safely then.
pub fn fill_random(bytes: &mut [u8]) {
    if let Err(error) = SysRng.try_fill_bytes(bytes) {
        panic!("the operating system has no randomness: {error}");
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
