//! The master key of a store that a backup is brought back into: the one that is there, the backup's, or a new one.
//!
//! A restore that is killed leaves the key that it has put there itself. Its mark names that key by a digest, so that the
//! next run does not take it for one that the operator has put there.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::failure::Failure;
use crate::wiring;
use crate::wiring::master_key::{self, MasterKey};

/// Where the master key of a restored store comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeySource {
    /// It was there before.
    Store,
    /// It was in the backup.
    Backup,
    /// There was none, so that a new one was made.
    Made,
}

impl KeySource {
    /// Name in the report.
    pub fn name(self) -> &'static str {
        match self {
            KeySource::Store => "store",
            KeySource::Backup => "backup",
            KeySource::Made => "made",
        }
    }
}

/// The key with which a restore goes on.
pub(super) struct RestoredKey {
    pub source: KeySource,
    key: MasterKey,
    path: PathBuf,
    is_there: bool,
    is_left_over: bool,
}

impl RestoredKey {
    /// Chooses the key; changes nothing. `path` is its place in the store, `of_backup` its place in the backup, where it
    /// may be missing, and `noted` the mark of a restore before that was not finished.
    ///
    /// # Errors
    /// [`Failure::Usage`] where the operator's key and the backup's are two: one of them opens nothing.
    pub fn choose(path: &Path, of_backup: &Path, noted: Option<&str>) -> Result<Self, Failure> {
        let there = path.exists().then(|| master_key::read(path)).transpose()?;
        let backup = of_backup.exists().then(|| master_key::read_copy(of_backup)).transpose()?;
        let is_left_over = there.is_some_and(|key| noted == Some(digest(&key).as_str()));
        let (source, key) = match (there.filter(|_| !is_left_over), backup) {
            (Some(there), Some(backup)) if there != backup => return Err(two_keys(path, of_backup)),
            (Some(there), _) => (KeySource::Store, there),
            (None, Some(backup)) => (KeySource::Backup, backup),
            (None, None) => (KeySource::Made, there.unwrap_or_else(|| master_key::random(wiring::fill_random))),
        };
        let is_there = there == Some(key);
        Ok(RestoredKey { source, key, path: path.to_owned(), is_there, is_left_over })
    }

    /// What the mark of the restore says of it; empty where the operator has put the key there.
    pub fn note(&self) -> String {
        match self.source {
            KeySource::Store => String::new(),
            KeySource::Backup | KeySource::Made => digest(&self.key),
        }
    }

    /// Removes the key that a restore before has left, while its mark still names it: under the mark of this run, which
    /// may be killed as well, the next one would take it for the operator's.
    pub fn clear_left_over(&self) -> Result<(), Failure> {
        if self.is_left_over && !self.is_there {
            std::fs::remove_file(&self.path).map_err(|error| Failure::file("remove", &self.path, error))?;
        }
        Ok(())
    }

    /// Puts the key at its place, after the mark names it.
    pub fn put(&self) -> Result<(), Failure> {
        if self.is_there {
            return Ok(());
        }
        master_key::put(&self.path, &self.key, wiring::fill_random)
    }
}

fn two_keys(path: &Path, of_backup: &Path) -> Failure {
    Failure::Usage(format!(
        "{} is not the master key of the backup, {}. What is in the backup was sealed by one of them: move the other one \
         away and run restore again",
        path.display(),
        of_backup.display()
    ))
}

/// Names a key without giving it away.
fn digest(key: &MasterKey) -> String {
    platform::hex(&Sha256::digest(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    struct Place {
        folder: tempfile::TempDir,
    }

    impl Place {
        fn with(store: Option<u8>, backup: Option<u8>) -> Self {
            let place = Place { folder: tempfile::tempdir().unwrap() };
            for (path, byte) in [(place.store(), store), (place.backup(), backup)] {
                if let Some(byte) = byte {
                    std::fs::write(&path, [byte; 32]).unwrap();
                    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
                }
            }
            place
        }

        fn store(&self) -> PathBuf {
            self.folder.path().join("master.key")
        }

        fn backup(&self) -> PathBuf {
            self.folder.path().join("backup.key")
        }

        fn choose(&self, noted: Option<&str>) -> Result<RestoredKey, Failure> {
            RestoredKey::choose(&self.store(), &self.backup(), noted)
        }

        fn is_of(&self, byte: u8) -> bool {
            std::fs::read(self.store()).unwrap() == [byte; 32]
        }
    }

    #[test]
    fn operators_key_stays_and_another_one_in_the_backup_is_refused() {
        for backup in [None, Some(1)] {
            let place = Place::with(Some(1), backup);
            let chosen = place.choose(None).unwrap();
            assert_eq!((chosen.source, chosen.note().as_str()), (KeySource::Store, ""), "{backup:?}");
            chosen.put().unwrap();
            assert!(place.is_of(1));
        }
        let place = Place::with(Some(1), Some(2));
        for noted in [None, Some(""), Some(digest(&[2; 32]).as_str())] {
            let refused = place.choose(noted).err().unwrap();
            assert_eq!(refused.exit_status(), 2);
            for path in [place.store(), place.backup()] {
                assert!(refused.to_string().contains(path.to_str().unwrap()), "{refused}");
            }
        }
        assert!(place.is_of(1));
    }

    #[test]
    fn key_that_a_killed_restore_has_left_is_nobodys() {
        // Made by the run before, of a backup without a key.
        let place = Place::with(None, None);
        let first = place.choose(None).unwrap();
        assert_eq!(first.source, KeySource::Made);
        first.put().unwrap();
        let made = std::fs::read(place.store()).unwrap();
        let again = place.choose(Some(&first.note())).unwrap();
        assert_eq!((again.source, again.note()), (KeySource::Made, first.note()));
        again.put().unwrap();
        assert_eq!(std::fs::read(place.store()).unwrap(), made);
        // The next backup has one.
        std::fs::write(place.backup(), [2; 32]).unwrap();
        let of_backup = place.choose(Some(&first.note())).unwrap();
        assert_eq!(of_backup.source, KeySource::Backup);
        of_backup.clear_left_over().unwrap();
        // Killed between its mark and its key, it has left nothing that the next run could take for the operator's.
        assert_eq!(place.choose(Some(&of_backup.note())).unwrap().source, KeySource::Backup);
        of_backup.put().unwrap();
        assert!(place.is_of(2));
        // Copied from the backup by the run before.
        assert_eq!(place.choose(Some(&of_backup.note())).unwrap().source, KeySource::Backup);
        // The operator has put theirs in its place since.
        std::fs::write(place.store(), [3; 32]).unwrap();
        assert!(place.choose(Some(&of_backup.note())).is_err());
        assert!(place.is_of(3));
    }
}
