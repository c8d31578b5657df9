//! `pulseward backup` and `pulseward restore`: everything of one moment in a folder, and back.
//!
//! Both databases are copied as they were at the same moment. Objects never change, so those of that moment are
//! linked or copied afterwards; while that is done, and for seven days where they lie in a bucket and are only listed,
//! nothing that the databases of that moment refer to is deleted.

mod restored_key;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args};
use platform::{Cloud, Platform, PlatformError, Settings, SigningKeyFate};
use serde_json::{Value, json};
use store::engine::backup::copy_files;
use store::{HoldId, ListedObject, PatientId};
use uuid::Uuid;

use self::restored_key::{KeySource, RestoredKey};
use crate::commands::simulate::progress_bar;
use crate::config::{self, LogFormat, LogOptions, StoreOptions};
use crate::failure::Failure;
use crate::output::Output;
use crate::wiring::{Expected, UNFINISHED_RESTORE};
use crate::{logging, wiring};

const DATABASES: [&str; 2] = ["users.db", "health.db"];
const KEY: &str = "master.key";
const OBJECTS: &str = "objects";
const CONTENT: &str = "backup.json";
/// What objects are kept of: segments, archives, the list of the erased.
const FOLDERS: [&str; 3] = ["v1", "exports", ERASED];
const ERASED: &str = "erased";
const HOLD_MS: i64 = 7 * 86_400_000;

/// Copy everything of one moment into an empty folder, also while the service runs
#[derive(Args)]
pub struct Backup {
    /// The folder, which is made
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Leave the master key out: without it nobody can sign tokens with what is in the backup
    #[arg(long)]
    without_key: bool,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    store: StoreOptions,
}

/// Bring a backup back into an empty store, and erase again who was erased since
#[derive(Args)]
pub struct Restore {
    /// The folder of the backup
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// File with the uuids of patients who were erased since, one a line; those that the target's own objects name are
    /// erased in any case
    #[arg(long, value_name = "FILE")]
    erased: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    store: StoreOptions,
}

impl Backup {
    /// Makes the backup.
    pub async fn run(self, matches: &ArgMatches) -> Result<(), Failure> {
        let store = options(self.store.clone(), matches)?;
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
        // Held before the databases are copied: what they refer to at that moment may not go away afterwards.
        let id = HoldId::new(format!("backup-{}", platform.core.now_ms()));
        platform.upkeep.hold_objects(&id, HOLD_MS).await?;
        let key = if self.without_key { KeyInBackup::LeftOut } else { KeyInBackup::Copied };
        let copied = copy_all(platform, store, &self.folder, key).await;
        let is_listed_only = platform.upkeep.object_folder().is_none();
        // In a folder everything has been linked by now. A list of a bucket needs the objects until somebody has
        // copied them.
        if copied.is_err() || !is_listed_only {
            platform.upkeep.release_objects(&id).await?;
        }
        if copied.is_err() {
            // Half a backup looks like one, and the key in it opens the store.
            remove_content(&self.folder)?;
        }
        let mut report = copied?;
        if is_listed_only {
            report["objects_held_until"] = crate::values::iso(platform.core.now_ms() + HOLD_MS).into();
        }
        self.output.print(&report)
    }
}

/// Whether the key that signs tokens is in the backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyInBackup {
    Copied,
    LeftOut,
}

async fn copy_all(
    platform: &Platform,
    store: &StoreOptions,
    folder: &Path,
    key: KeyInBackup,
) -> Result<Value, Failure> {
    let from = DATABASES.map(|name| store.data.join(name));
    let to = DATABASES.map(|name| folder.join(name));
    let copies: Vec<(PathBuf, PathBuf)> = from.into_iter().zip(to).collect();
    let copying = runtime::blocking("copy databases", move || {
        let copies: Vec<(&Path, &Path)> = copies.iter().map(|(from, to)| (from.as_path(), to.as_path())).collect();
        copy_files(&copies)
    });
    copying.await.map_err(|error| Failure::Other(error.to_string()))??;
    // Without it a backup can be restored and no token of before is good.
    if key == KeyInBackup::Copied {
        copy_private(&wiring::master_key_path(store), &folder.join(KEY))?;
    }
    // Listed after the databases were copied: objects of rows that came later do no harm, missing ones would.
    let mut objects = Vec::new();
    for name in FOLDERS {
        objects.extend(platform.upkeep.objects_in(name).await?);
    }
    if let Some(source) = platform.upkeep.object_folder() {
        let gone = link_all(source, &folder.join(OBJECTS), &objects)?;
        if !gone.is_empty() {
            // An erasure does not wait for a backup. The erased are named in it, so that restoring erases them there too.
            let erased = platform.upkeep.objects_in(ERASED).await?;
            if erased.iter().all(|object| objects.contains(object)) {
                return Err(Failure::Other(format!("{} went away while it was copied", gone[0].path)));
            }
            objects.retain(|object| !gone.contains(object) && !erased.contains(object));
            link_all(source, &folder.join(OBJECTS), &erased)?;
            objects.extend(erased);
        }
    }
    let bytes: u64 = objects.iter().map(|object| object.bytes).sum();
    let report = json!({"objects": objects.len(), "bytes": bytes, "version": env!("CARGO_PKG_VERSION")});
    let content = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "objects": objects.iter().map(|object| object.path.as_str()).collect::<Vec<_>>(),
        "objects_are_here": platform.upkeep.object_folder().is_some(),
    });
    // Written last: a folder without it is no backup.
    let path = folder.join(CONTENT);
    std::fs::write(&path, format!("{content}\n")).map_err(|error| Failure::file("write", &path, error))?;
    Ok(report)
}

/// Links or copies objects into a folder; answers those that are gone.
fn link_all(source: &Path, target: &Path, objects: &[ListedObject]) -> Result<Vec<ListedObject>, Failure> {
    let bar = progress_bar();
    bar.set_length(objects.len() as u64);
    let mut gone = Vec::new();
    for object in objects {
        let from = source.join(&object.path);
        match link_or_copy(&from, &target.join(&object.path)) {
            Err(_) if !from.exists() => gone.push(object.clone()),
            linked => linked?,
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(gone)
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

impl Restore {
    /// Brings the backup back.
    pub async fn run(self, matches: &ArgMatches) -> Result<(), Failure> {
        let store = options(self.store, matches)?;
        let content = self.folder.join(CONTENT);
        let text = std::fs::read_to_string(&content).map_err(|error| Failure::file("read", &content, error))?;
        let content: Value = serde_json::from_str(&text).map_err(|error| Failure::Other(error.to_string()))?;
        let erased = self.erased.as_deref().map(read_uuids).transpose()?.unwrap_or_default();
        let unfinished = store.data.join(UNFINISHED_RESTORE);
        let noted = std::fs::read_to_string(&unfinished).ok();
        let key = RestoredKey::choose(&wiring::master_key_path(&store), &self.folder.join(KEY), noted.as_deref())?;
        // Marked before the first file is there, so that a restore that is killed leaves nothing that opens.
        begin_restore(&store.data, &key)?;
        for name in DATABASES {
            copy_private(&self.folder.join(name), &store.data.join(name))?;
        }
        key.put()?;
        if key.source == KeySource::Made {
            eprintln!(
                "neither backup nor store has a master key: a new one is made; second factors cannot be read any more"
            );
        }
        if content["objects_are_here"] == true {
            let target = wiring::objects_of(&store)?;
            let Some(target) = target.as_folder() else {
                return Err(Failure::Usage("the backup's objects lie in a folder: restore them into one".to_owned()));
            };
            for path in content["objects"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                link_or_copy(&self.folder.join(OBJECTS).join(path), &target.join(path))?;
            }
        }
        let platform = wiring::open_restored(&store, Settings::default()).await?;
        let finished = finish(&platform, erased).await;
        wiring::close(&platform).await;
        let ([users, health], (again, unknown)) = finished?;
        // Last, when nobody is left in it who was erased since.
        std::fs::remove_file(&unfinished).map_err(|error| Failure::file("remove", &unfinished, error))?;
        self.output.print(&json!({
            "objects": content["objects"].as_array().map_or(0, Vec::len),
            "erased": again,
            "not_in_backup": unknown,
            "master_key": key.source != KeySource::Made,
            "master_key_from": key.source.name(),
            "signing_keys": {"users": users, "health": health},
        }))
    }
}

/// What follows when the stores are open: what became of the keys that sign, and how many were erased again and not
/// found.
async fn finish(platform: &Platform, erased: BTreeSet<PatientId>) -> Result<([&'static str; 2], (u64, u64)), Failure> {
    // Before anything else: readers of events of before would skip what happens from now on.
    platform.upkeep.begin_epoch().await?;
    let mut fates = ["kept"; 2];
    for (cloud, fate) in [Cloud::Users, Cloud::Health].into_iter().zip(&mut fates) {
        // Tried and not concluded from the files: an operator can have put a wrong key. What the old keys have signed is
        // verified by their public halves, and stays good.
        if platform.identity.rotate_unopened_signing_key(cloud).await? == SigningKeyFate::Rotated {
            *fate = "rotated";
        }
    }
    Ok((fates, erase_again(platform, erased).await?))
}

/// Marks a data folder as being restored into, and empties it of what a restore that was killed has left.
fn begin_restore(data: &Path, key: &RestoredKey) -> Result<(), Failure> {
    let unfinished = data.join(UNFINISHED_RESTORE);
    let is_again = unfinished.exists();
    // A write-ahead log of another database would be played into the restored one.
    for name in DATABASES.iter().flat_map(|name| ["", "-wal", "-shm"].map(|end| format!("{name}{end}"))) {
        let path = data.join(name);
        if !path.exists() {
            continue;
        }
        if !is_again {
            return Err(Failure::Usage(format!("{} is there: restore goes into an empty store", path.display())));
        }
        std::fs::remove_file(&path).map_err(|error| Failure::file("remove", &path, error))?;
    }
    key.clear_left_over()?;
    wiring::make_private_folder(data)?;
    std::fs::write(&unfinished, key.note()).map_err(|error| Failure::file("write", &unfinished, error))
}

/// Erases the patients that the list of the erased or the caller names and the restored databases still have;
/// answers how many, and how many of those that the caller names the databases do not have.
async fn erase_again(platform: &Platform, named: BTreeSet<PatientId>) -> Result<(u64, u64), Failure> {
    let mut erased: BTreeSet<PatientId> = platform.upkeep.erased().await?.into_iter().collect();
    // The store's own list and the operator's: either may know of erasures that the other does not.
    erased.extend(named.iter().cloned());
    let (mut again, mut unknown) = (0, 0);
    for patient in erased {
        if !platform.upkeep.knows_patient(&patient).await? {
            unknown += u64::from(named.contains(&patient));
            continue;
        }
        match platform.people.erase_patient_as_operator(&patient).await {
            // Not found means that an erasure was under way in the backup and has been finished just now.
            Ok(_) | Err(PlatformError::NotFound(_)) => again += 1,
            Err(error) => return Err(error.into()),
        }
    }
    Ok((again, unknown))
}

fn options(store: StoreOptions, matches: &ArgMatches) -> Result<StoreOptions, Failure> {
    logging::start(&LogOptions { log: "warn".to_owned(), log_format: LogFormat::Text })?;
    let file = store.config.clone();
    let store = config::complete(store, matches, file.as_deref())?;
    if store.users_db.is_some() || store.health_db.is_some() {
        let message = "databases of PostgreSQL are backed up by its own tools; see docs/operations.md";
        return Err(Failure::Usage(message.to_owned()));
    }
    Ok(store)
}

/// The uuids of a file, one a line; empty lines and those that begin with `#` are none. What cannot be read as a uuid
/// may have been meant as one, so it is an error and not left out.
fn read_uuids(path: &Path) -> Result<BTreeSet<PatientId>, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::file("read", path, error))?;
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim).enumerate();
    let told = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let uuid_of = |(at, line): (usize, &str)| match Uuid::parse_str(line) {
        Ok(uuid) => Ok(PatientId::new(uuid.hyphenated().to_string())),
        Err(_) => Err(Failure::Usage(format!("{}, line {}: not a uuid", path.display(), at + 1))),
    };
    told.map(uuid_of).collect()
}

/// A link where both lie on one disk, else a copy. Objects never change, so a link is as good.
fn link_or_copy(from: &Path, to: &Path) -> Result<(), Failure> {
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder).map_err(|error| Failure::file("make", folder, error))?;
    }
    // A restore that goes on after it was killed meets what it has linked before.
    if to.exists() {
        return Ok(());
    }
    match std::fs::hard_link(from, to) {
        Ok(()) => Ok(()),
        Err(_) => std::fs::copy(from, to).map(drop).map_err(|error| Failure::file("copy", from, error)),
    }
}

/// Copies a file that only its owner may read.
fn copy_private(from: &Path, to: &Path) -> Result<(), Failure> {
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
    use super::*;

    #[test]
    fn objects_that_go_away_meanwhile_are_told_and_the_others_copied() {
        let folder = tempfile::tempdir().unwrap();
        let (source, target) = (folder.path().join("from"), folder.path().join("to"));
        std::fs::create_dir_all(source.join("v1")).unwrap();
        std::fs::write(source.join("v1/there"), "bytes").unwrap();
        let object = |path: &str| ListedObject { path: path.to_owned(), bytes: 5, modified_ms: 0 };
        let gone = link_all(&source, &target, &[object("v1/gone"), object("v1/there")]).unwrap();
        assert_eq!(gone, [object("v1/gone")]);
        assert_eq!(std::fs::read_to_string(target.join("v1/there")).unwrap(), "bytes");
        remove_content(folder.path()).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
