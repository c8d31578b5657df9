//! Objects of a backup on their way back into the folder of a store.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use store::ObjectFault;

use crate::commands::backup::bytes::{Bytes, Untaken, replace, sum_of, take};
use crate::commands::backup::manifest::{DamagedObject, ListedFile, each_file};
use crate::config::StoreOptions;
use crate::failure::Failure;
use crate::wiring;

/// Where sealed files lie in the object store.
const SEALED: &str = "v1/";
/// Where archives of exports lie in the object store.
const ARCHIVES: &str = "exports/";

/// Brings the objects of a backup to where the store keeps them. `damaged` are those of which the backup has no sound copy;
/// returns those of which the store has none either.
pub(super) async fn bring(
    backup: &Path,
    store: &StoreOptions,
    damaged: Vec<DamagedObject>,
    bytes: Bytes,
) -> Result<Vec<DamagedObject>, Failure> {
    let objects = wiring::objects_of(store)?;
    let Some(target) = objects.as_folder().map(Path::to_owned) else { return Ok(damaged) };
    let backup = backup.to_owned();
    let bringing = runtime::blocking("bring objects back", move || {
        let faults = damaged.into_iter().map(|object| (object.path, object.fault)).collect();
        let mut bringing = Bringing { backup: &backup, target: &target, bytes, faults };
        each_file(&backup, |listed| bringing.bring(&listed))?;
        Ok(bringing.faults.into_iter().map(|(path, fault)| DamagedObject { path, fault }).collect())
    });
    bringing.await.map_err(|error| Failure::Other(error.to_string()))?
}

/// Objects that are being brought back.
struct Bringing<'restore> {
    backup: &'restore Path,
    target: &'restore Path,
    bytes: Bytes,
    /// By path, what is wrong with objects of the backup of which there is no other copy.
    faults: BTreeMap<String, ObjectFault>,
}

impl Bringing<'_> {
    fn bring(&mut self, listed: &ListedFile) -> Result<(), Failure> {
        let Some(object) = listed.object() else { return Ok(()) };
        let (from, to) = (self.backup.join(&listed.path), self.target.join(object));
        // There are objects of a store that lost its databases only, and of a restore that was killed.
        let is_there = to.exists();
        if is_there && sum_of(&to).is_ok_and(|sum| listed.is(&sum)) {
            self.faults.remove(object);
            return Ok(());
        }
        // A checkpoint of the audit log may be another of the same number, which is looked at when the log is there.
        if is_there && !object.starts_with(SEALED) && !object.starts_with(ARCHIVES) {
            return Ok(());
        }
        let taken = match self.faults.get(object) {
            // A sealed file is read piece by piece, each under a checksum, and most of its pieces are sound. What is there
            // already is as good.
            Some(ObjectFault::Damaged) if !is_there && !object.starts_with(ARCHIVES) => take(&from, &to, self.bytes),
            Some(_) => return Ok(()),
            None if is_there => replace(&from, &to, self.bytes),
            None => take(&from, &to, self.bytes),
        };
        let fault = match taken {
            Ok(sum) if listed.is(&sum) || self.faults.contains_key(object) => return Ok(()),
            Err(Untaken::Unwritten(failure)) => return Err(failure),
            // It was sound when the backup was checked.
            Err(Untaken::Unread(error)) if error.kind() == ErrorKind::NotFound => ObjectFault::Missing,
            Ok(_) | Err(Untaken::Unread(_)) => ObjectFault::Damaged,
        };
        self.faults.insert(object.to_owned(), fault);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A backup that lists an object with bytes of its own, and a store that has others in its place.
    fn brought(in_backup: &str, in_store: Option<&str>, path: &str) -> (Option<String>, Option<ObjectFault>) {
        let folder = tempfile::tempdir().unwrap();
        let (backup, target) = (folder.path().join("backup"), folder.path().join("store"));
        let listed = ListedFile { path: format!("objects/{path}"), ..whole() };
        std::fs::create_dir_all(backup.join(&listed.path).parent().unwrap()).unwrap();
        std::fs::write(backup.join(&listed.path), in_backup).unwrap();
        std::fs::create_dir_all(target.join(path).parent().unwrap()).unwrap();
        if let Some(bytes) = in_store {
            std::fs::write(target.join(path), bytes).unwrap();
        }
        let is_whole = in_backup == "whole";
        let faults = if is_whole { BTreeMap::new() } else { [(path.to_owned(), ObjectFault::Damaged)].into() };
        let mut bringing = Bringing { backup: &backup, target: &target, bytes: Bytes::Shared, faults };
        bringing.bring(&listed).unwrap();
        (std::fs::read_to_string(target.join(path)).ok(), bringing.faults.remove(path))
    }

    fn whole() -> ListedFile {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("whole"), "whole").unwrap();
        ListedFile::of(folder.path(), "whole").unwrap()
    }

    #[test]
    fn sound_copy_wins_wherever_it_is() {
        let there = |bytes: &str| Some(bytes.to_owned());
        let damaged = Some(ObjectFault::Damaged);
        assert_eq!(brought("whole", None, "v1/a"), (there("whole"), None));
        assert_eq!(brought("whole", Some("whale"), "v1/a"), (there("whole"), None));
        assert_eq!(brought("whale", Some("whole"), "v1/a"), (there("whole"), None));
        assert_eq!(brought("whale", None, "v1/a"), (there("whale"), damaged));
        assert_eq!(brought("whale", Some("while"), "v1/a"), (there("while"), damaged));
        assert_eq!(brought("whole", Some("other"), "audit/checkpoints/1"), (there("other"), None));
        assert_eq!(brought("whale", None, "exports/a"), (None, damaged), "it would be handed out as if it were whole");
    }
}
