//! `pulseward backup`: everything of one moment in a folder.
//!
//! Both databases are copied as they were at the same moment, whatever engine they are on. Objects never change, so those
//! that the copies name are linked or copied afterwards; while that is done, and for seven days where they lie in a bucket
//! and are only listed, nothing that the databases of that moment refer to is deleted.

pub mod bytes;
pub mod manifest;
pub mod objects;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgMatches, Args};
use platform::Platform;
use serde_json::{Value, json};
use store::backup::{Database, DatabaseCopy, copy_databases, count_patients, last_audit_number};
use store::{Address, CHECKPOINTS, HoldId, StoreError, checkpoint_path};

use self::bytes::Bytes;
use self::manifest::{CopiedDatabase, DamagedObject, FORMAT, FileList, ListedFile, Manifest};
use self::objects::{Amount, Contents, ERASED, Faulty};
use crate::config::{self, LogFormat, LogOptions, StoreOptions};
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::progress_bar;
use crate::wiring::Expected;
use crate::{logging, wiring};

/// The file of the master key in a backup.
pub const KEY: &str = "master.key";
/// How long nothing that a bucket's list names is deleted, unless somebody ends it before.
const HOLD_LISTED_MS: i64 = 7 * 86_400_000;
/// How long a backup that was killed holds objects.
const HOLD_RUNNING_MS: i64 = 3_600_000;
/// How often a running backup renews its hold.
const RENEW_EVERY: Duration = Duration::from_mins(10);

/// Copy everything of one moment into an empty folder, also while the service runs
#[derive(Args)]
pub struct Backup {
    /// The folder, which is made
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Leave the master key out: without it nobody can sign tokens with what is in the backup
    #[arg(long)]
    without_key: bool,
    /// Copy objects also where they could be hard links: a link has every bit that the disk changes later in the store
    #[arg(long)]
    copy: bool,
    /// Go on where objects are missing or damaged: the backup lists them, and what restores it marks them; ends with
    /// status 3 then
    #[arg(long)]
    with_damaged: bool,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    store: StoreOptions,
}

/// Where the file of a database is in a backup.
pub fn database_file(folder: &Path, database: Database) -> PathBuf {
    folder.join(file_name(database))
}

fn file_name(database: Database) -> String {
    format!("{}.db", database.name())
}

impl Backup {
    /// Makes the backup.
    pub async fn run(self, matches: &ArgMatches) -> Result<(), Failure> {
        logging::start(&LogOptions { log: "warn".to_owned(), log_format: LogFormat::Text })?;
        let file = self.store.config.clone();
        let store = config::complete(self.store.clone(), matches, file.as_deref())?;
        wiring::with_stores(&store, Expected::Store, async |platform| self.copy(platform, &store).await).await
    }

    async fn copy(&self, platform: &Platform, store: &StoreOptions) -> Result<(), Failure> {
        wiring::make_private_folder(&self.folder)?;
        // A sweep would take the copies for lost objects and delete them.
        if platform.upkeep.object_folder().is_some_and(|objects| lies_in(&self.folder, objects)) {
            let message = format!("{} lies among the objects of the store", self.folder.display());
            return Err(Failure::Usage(message));
        }
        let is_empty = std::fs::read_dir(&self.folder).is_ok_and(|mut entries| entries.next().is_none());
        if !is_empty {
            return Err(Failure::Usage(format!("{} is not empty", self.folder.display())));
        }
        let damage = if self.with_damaged { Damage::Listed } else { Damage::Refused };
        let known = known_damage(platform).await?;
        damage.accept(&known)?;
        let id = hold_of(&self.folder)?;
        // Held before the databases are copied: what they refer to at that moment may not go away afterwards. The hold of
        // an earlier backup in this folder, which is not there any more, ends by it.
        platform.upkeep.hold_objects(&id, HOLD_RUNNING_MS).await?;
        let bytes = if self.copy { Bytes::Own } else { Bytes::Shared };
        let making = Making { platform, store, folder: &self.folder, id: &id, bytes, damage, known };
        let key = if self.without_key { KeyInBackup::LeftOut } else { KeyInBackup::Copied };
        let made = tokio::select! {
            biased;
            made = making.make(key) => made,
            failed = making.renew_hold() => Err(failed),
        };
        let is_listed_only = platform.upkeep.object_folder().is_none();
        let (report, damaged) = match made {
            Ok(made) => made,
            Err(failure) => {
                // Half a backup looks like one, and the key in it opens the store. It goes first: the hold lies in the store,
                // which may be what has failed.
                remove_content(&self.folder)?;
                if let Err(error) = platform.upkeep.release_objects(&id).await {
                    tracing::warn!(%error, "the hold of a failed backup could not be released; it ends within an hour");
                }
                return Err(failure);
            }
        };
        // In a folder everything has been linked by now.
        if !is_listed_only {
            platform.upkeep.release_objects(&id).await?;
        }
        self.output.print(&report)?;
        if damaged.is_empty() {
            return Ok(());
        }
        Err(Failure::Damaged(format!(
            "the backup was made without a sound copy of {} objects: {}",
            damaged.len(),
            DamagedObject::list(&damaged)
        )))
    }
}

/// What becomes of a backup of a store in which something is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Damage {
    /// It is not made: it would look whole, and replace one that is.
    Refused,
    /// It is made and says what is damaged: there may be no better one any more.
    Listed,
}

impl Damage {
    fn accept(self, damaged: &[DamagedObject]) -> Result<(), Failure> {
        if self == Damage::Listed || damaged.is_empty() {
            return Ok(());
        }
        Err(Failure::Other(format!(
            "{} objects of the store are missing or damaged: {}: bring them back first (`restore --segment`), or back up \
             everything else with --with-damaged",
            damaged.len(),
            DamagedObject::list(damaged)
        )))
    }
}

/// Returns the sealed files that are missing or known as damaged. Before anything is copied, which takes hours.
async fn known_damage(platform: &Platform) -> Result<Vec<DamagedObject>, Failure> {
    platform.upkeep.look_for_missing().await?;
    let known = platform.upkeep.look_at_known_damage().await?;
    Ok(known.into_iter().map(|(path, fault)| DamagedObject { path, fault }).collect())
}

/// Whether the key that signs tokens is in the backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyInBackup {
    Copied,
    LeftOut,
}

/// A backup while it is made.
struct Making<'backup> {
    platform: &'backup Platform,
    store: &'backup StoreOptions,
    folder: &'backup Path,
    id: &'backup HoldId,
    bytes: Bytes,
    damage: Damage,
    /// Sealed files that were damaged when it was begun.
    known: Vec<DamagedObject>,
}

impl Making<'_> {
    /// Renews the hold until it is dropped; ends when that fails.
    async fn renew_hold(&self) -> Failure {
        loop {
            runtime::sleep(RENEW_EVERY).await;
            if let Err(error) = self.platform.upkeep.hold_objects(self.id, HOLD_RUNNING_MS).await {
                return error.into();
            }
        }
    }

    async fn make(&self, key: KeyInBackup) -> Result<(Value, Vec<DamagedObject>), Failure> {
        let made_ms = self.platform.core.now_ms();
        let bar = progress_bar();
        bar.set_message("copying the databases");
        let databases = self.copy_databases().await?;
        bar.finish_and_clear();
        let mut files = FileList::create(self.folder)?;
        for database in Database::BOTH {
            files.add(&ListedFile::of(self.folder, &file_name(database))?)?;
        }
        // Without it a backup can be restored and no token of before is good.
        if key == KeyInBackup::Copied {
            copy_private(&wiring::master_key_path(self.store), &self.folder.join(KEY))?;
            files.add(&ListedFile::of(self.folder, KEY)?)?;
        }
        let Put { files, amount, damaged } = self.put_objects(files).await?;
        let are_here = self.platform.upkeep.object_folder().is_some();
        let manifest = Manifest {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            made: crate::values::iso(made_ms),
            databases,
            objects: amount.objects,
            object_bytes: amount.bytes,
            objects_are_here: are_here,
            objects_are_copied: are_here && self.bytes == Bytes::Own,
            damaged,
            hold: (!are_here).then(|| self.id.clone()),
            files_sha256: files.finish()?,
        };
        let held_until = self.hold_listed().await?;
        manifest.write(self.folder)?;
        Ok((report(&manifest, key, held_until), manifest.damaged))
    }

    async fn copy_databases(&self) -> Result<BTreeMap<String, CopiedDatabase>, Failure> {
        let mut copies = Vec::new();
        for database in Database::BOTH {
            let from = wiring::database_address(self.store, database)?;
            copies.push(DatabaseCopy { database, from, to: database_file(self.folder, database) });
        }
        copy_databases(copies.clone()).await.map_err(refused_copy)?;
        let mut copied = BTreeMap::new();
        for DatabaseCopy { database, from, to } in copies {
            let bytes = std::fs::metadata(&to).map_err(|error| Failure::file("read", &to, error))?.len();
            let engine = if matches!(from, Address::File(_)) { "sqlite" } else { "postgresql" };
            let patients = count_patients(to).await?;
            let of_it = CopiedDatabase { engine: engine.to_owned(), schema: database.version(), patients, bytes };
            copied.insert(database.name().to_owned(), of_it);
        }
        Ok(copied)
    }

    /// Puts the objects there, or a list of them.
    async fn put_objects(&self, mut files: FileList) -> Result<Put, Failure> {
        let (folder, health, bytes) =
            (self.folder.to_owned(), database_file(self.folder, Database::Health), self.bytes);
        let source = self.platform.upkeep.object_folder().map(Path::to_owned);
        let putting = runtime::blocking("put objects into a backup", move || {
            let mut contents = Contents { folder: &folder, files: &mut files, amount: Amount::default() };
            let faulty = if let Some(source) = source {
                contents.put_named(&health, &source, bytes)?
            } else {
                contents.list_named(&health)?;
                Vec::new()
            };
            let amount = contents.amount;
            Ok::<_, Failure>((files, amount, faulty))
        });
        let (mut files, amount, faulty) = putting.await.map_err(|error| Failure::Other(error.to_string()))??;
        let mut contents = Contents { folder: self.folder, files: &mut files, amount };
        // Of objects in a bucket nothing is copied, so what is known of them has to do; `doctor --verify` reads them.
        let mut damaged = self.known.clone();
        if let Some(source) = self.platform.upkeep.object_folder() {
            let mut faulty = self.look_again(&mut contents, source, faulty).await?;
            // Listed last: who is erased until now is erased again when the backup is restored.
            let erased = self.platform.upkeep.objects_in(ERASED).await?;
            faulty.extend(contents.put_unnamed(source, &erased, bytes)?);
            let last = last_audit_number(database_file(self.folder, Database::Users)).await?;
            let mut checkpoints = self.platform.upkeep.objects_in(CHECKPOINTS).await?;
            // Those of later entries do not belong to the log in the backup.
            checkpoints.retain(|object| object.path <= checkpoint_path(last));
            faulty.extend(contents.put_unnamed(source, &checkpoints, bytes)?);
            let faulty = objects::without_erased(self.platform, faulty).await?;
            damaged = faulty.iter().map(Faulty::named).collect();
            self.damage.accept(&damaged)?;
            for faulty in &faulty {
                contents.list_faulty(faulty)?;
            }
        }
        let amount = contents.amount;
        Ok(Put { files, amount, damaged })
    }

    /// Has the store note what is damaged, and bring it back where it has copies; answers what is faulty still.
    async fn look_again(
        &self,
        contents: &mut Contents<'_>,
        source: &Path,
        found: Vec<Faulty>,
    ) -> Result<Vec<Faulty>, Failure> {
        let mut faulty = Vec::new();
        for found in found {
            match self.platform.upkeep.look_at_sealed_file(&found.object.path).await? {
                Some(_) => faulty.push(found),
                // Also when the store has sealed its period again, so that it needs the file no more: this backup does.
                None => faulty.extend(contents.put_again(source, found, self.bytes)?),
            }
        }
        Ok(faulty)
    }

    /// Keeps what is only listed; answers until when.
    async fn hold_listed(&self) -> Result<Option<i64>, Failure> {
        if self.platform.upkeep.object_folder().is_some() {
            return Ok(None);
        }
        Ok(Some(self.platform.upkeep.hold_objects(self.id, HOLD_LISTED_MS).await?))
    }
}

/// What was put into a backup.
struct Put {
    files: FileList,
    amount: Amount,
    damaged: Vec<DamagedObject>,
}

/// A copy of a damaged page would get a checksum that is right, and replace a backup in which the page is sound.
fn refused_copy(error: StoreError) -> Failure {
    if !error.is_damage() {
        return error.into();
    }
    Failure::Other(format!(
        "{error}: nothing was copied, and earlier backups are worth keeping; `pulseward doctor --verify` names what is \
         damaged and what to do"
    ))
}

fn report(manifest: &Manifest, key: KeyInBackup, held_until: Option<i64>) -> Value {
    let mut report = json!({
        "format": manifest.format,
        "version": manifest.version,
        "made": manifest.made,
        "databases": manifest.databases,
        "objects": manifest.objects,
        "bytes": manifest.object_bytes,
        "damaged": manifest.damaged,
        "master_key": key == KeyInBackup::Copied,
    });
    if let Some(held_until) = held_until {
        report["objects_held_until"] = crate::values::iso(held_until).into();
        report["hold"] = json!(manifest.hold);
    }
    report
}

/// The name under which a backup in a folder holds objects: the same for the next one there, whatever becomes of this one.
fn hold_of(folder: &Path) -> Result<HoldId, Failure> {
    let folder = folder.canonicalize().map_err(|error| Failure::file("find", folder, error))?;
    let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
    Ok(HoldId::new(format!("backup {machine}:{}", folder.display())))
}

/// Removes what a backup that failed has copied, the key above all.
fn remove_content(folder: &Path) -> Result<(), Failure> {
    let removed = |path: &Path| if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    let entries = std::fs::read_dir(folder).map_err(|error| Failure::file("read", folder, error))?;
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        removed(&path).map_err(|error| Failure::file("remove", &path, error))?;
    }
    Ok(())
}

fn lies_in(folder: &Path, other: &Path) -> bool {
    match (folder.canonicalize(), other.canonicalize()) {
        (Ok(folder), Ok(other)) => folder.starts_with(other),
        _ => false,
    }
}

/// Copies a file that only its owner may read.
pub fn copy_private(from: &Path, to: &Path) -> Result<(), Failure> {
    std::fs::copy(from, to).map_err(|error| Failure::file("copy", from, error))?;
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(to, mode).map_err(|error| Failure::file("protect", to, error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::manifest::OBJECTS;
    use super::*;

    #[test]
    fn content_of_a_failed_backup_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(OBJECTS).join("v1")).unwrap();
        std::fs::write(folder.path().join(KEY), "key").unwrap();
        remove_content(folder.path()).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn hold_is_named_by_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        assert_eq!(hold_of(folder.path()).unwrap(), hold_of(&folder.path().join(".")).unwrap());
        assert_ne!(hold_of(folder.path()).unwrap(), hold_of(other.path()).unwrap());
    }
}
