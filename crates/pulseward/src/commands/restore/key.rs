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

/// Who has put the key at its place that an unfinished restore has left there, as its mark says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeftOver {
    /// It was made.
    Made,
    /// It was in a backup, which need not be this one.
    OfBackup,
}

/// Whether a restore goes on with a key that does not open the backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LostKey {
    /// The operator has said that the right one is lost.
    Accepted,
    /// They have not.
    Refused,
}

/// What a key is chosen from.
#[derive(Clone, Copy)]
pub(super) struct KeyChoice<'restore> {
    /// Its place in the store.
    pub path: &'restore Path,
    /// Its place in the backup, where it may be missing.
    pub of_backup: &'restore Path,
    /// The mark of a restore before that did not come to its end.
    pub noted: Option<&'restore str>,
    /// Whether one that does not open the backup will do.
    pub lost: LostKey,
    /// Whether a key opens what is sealed in the backup.
    pub opens: &'restore dyn Fn(&MasterKey) -> Result<bool, Failure>,
}

/// The key with which a restore goes on.
pub(super) struct RestoredKey {
    pub source: KeySource,
    key: MasterKey,
    path: PathBuf,
    /// The key that is at its place already.
    there: Option<MasterKey>,
    /// Who has put the key there as the next restore will see it, where it is not the operator.
    puts: Option<LeftOver>,
    is_left_over: bool,
}

impl RestoredKey {
    /// Chooses the key; changes nothing.
    ///
    /// # Errors
    /// [`Failure::Usage`] where the operator's key and the backup's are two, or the operator's does not open the backup and
    /// nobody has said that the right one is lost.
    pub fn choose(choice: KeyChoice<'_>) -> Result<Self, Failure> {
        let KeyChoice { path, of_backup, noted, lost, opens } = choice;
        let there = path.exists().then(|| master_key::read(path)).transpose()?;
        let backup = of_backup.exists().then(|| master_key::read_copy(of_backup)).transpose()?;
        let left_over = there.and_then(|key| left_over(noted, &key));
        let made = || master_key::random(wiring::fill_random);
        let (source, key, puts) = match (left_over, there, backup) {
            (None, Some(there), Some(backup)) if there != backup => return Err(two_keys(path, of_backup)),
            (None, Some(there), None) if lost == LostKey::Refused && !opens(&there)? => {
                return Err(opens_nothing(path));
            }
            (None, Some(there), _) => (KeySource::Store, there, None),
            (_, _, Some(backup)) => (KeySource::Backup, backup, Some(LeftOver::OfBackup)),
            (Some(LeftOver::Made), Some(there), None) => (KeySource::Made, there, Some(LeftOver::Made)),
            // The backup before had it and this one was made without: where it is of the same store it is the right one.
            (Some(LeftOver::OfBackup), Some(there), None) if opens(&there)? => {
                (KeySource::Store, there, Some(LeftOver::OfBackup))
            }
            _ => (KeySource::Made, made(), Some(LeftOver::Made)),
        };
        Ok(RestoredKey { source, key, path: path.to_owned(), there, puts, is_left_over: left_over.is_some() })
    }

    /// Returns what the mark of the restore says of it; empty where the operator has put the key there.
    pub fn note(&self) -> String {
        match self.puts {
            None => String::new(),
            Some(LeftOver::Made) => format!("made {}", digest(&self.key)),
            Some(LeftOver::OfBackup) => format!("backup {}", digest(&self.key)),
        }
    }

    /// Removes the key that a restore before has left, while its mark still names it: under the mark of this run, which
    /// may be killed as well, the next one would take it for the operator's.
    pub fn clear_left_over(&self) -> Result<(), Failure> {
        if self.is_left_over && self.there != Some(self.key) {
            std::fs::remove_file(&self.path).map_err(|error| Failure::file("remove", &self.path, error))?;
        }
        Ok(())
    }

    /// Puts the key at its place, after the mark names it.
    pub fn put(&self) -> Result<(), Failure> {
        if self.there == Some(self.key) {
            return Ok(());
        }
        master_key::put(&self.path, &self.key, wiring::fill_random)
    }
}

/// Returns who has put a key at its place, where a mark names it.
fn left_over(noted: Option<&str>, key: &MasterKey) -> Option<LeftOver> {
    let (by, named) = noted?.split_once(' ')?;
    match by {
        _ if named != digest(key) => None,
        "made" => Some(LeftOver::Made),
        "backup" => Some(LeftOver::OfBackup),
        _ => None,
    }
}

fn opens_nothing(path: &Path) -> Failure {
    Failure::Usage(format!(
        "{} does not open what is sealed in the backup, and the backup was made without its master key: put the right one \
         in its place and run restore again. If that is lost for good, --key-lost goes on with this one: other keys sign \
         from then on, and second factors have to be taken away with `pulseward admin remove-second-factor`",
        path.display()
    ))
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
            self.choose_with(noted, LostKey::Refused)
        }

        /// Of a backup whose keys were sealed with key 1.
        fn choose_with(&self, noted: Option<&str>, lost: LostKey) -> Result<RestoredKey, Failure> {
            let opens = |key: &MasterKey| Ok(*key == [1; 32]);
            let (path, of_backup) = (self.store(), self.backup());
            RestoredKey::choose(KeyChoice { path: &path, of_backup: &of_backup, noted, lost, opens: &opens })
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
        for noted in [None, Some(""), Some(format!("backup {}", digest(&[2; 32])).as_str())] {
            let refused = place.choose(noted).err().unwrap();
            assert_eq!(refused.exit_status(), 2);
            for path in [place.store(), place.backup()] {
                assert!(refused.to_string().contains(path.to_str().unwrap()), "{refused}");
            }
        }
        assert!(place.is_of(1));
    }

    #[test]
    fn key_that_does_not_open_a_keyless_backup_needs_a_decision() {
        let place = Place::with(Some(3), None);
        let refused = place.choose(None).err().unwrap();
        assert_eq!(refused.exit_status(), 2);
        for named in [place.store().to_str().unwrap(), "--key-lost", "remove-second-factor"] {
            assert!(refused.to_string().contains(named), "{refused}");
        }
        assert_eq!(place.choose_with(None, LostKey::Accepted).unwrap().source, KeySource::Store);
        assert!(
            Place::with(Some(3), Some(2)).choose_with(None, LostKey::Accepted).is_err(),
            "the backup's is not lost"
        );
    }

    #[test]
    fn left_over_key_of_a_backup_is_made_only_where_it_opens_nothing() {
        for (byte, source) in [(1, KeySource::Store), (2, KeySource::Made)] {
            let place = Place::with(None, Some(byte));
            let first = place.choose(None).unwrap();
            first.put().unwrap();
            std::fs::remove_file(place.backup()).unwrap();
            let keyless = place.choose(Some(&first.note())).unwrap();
            assert_eq!(keyless.source, source);
            keyless.clear_left_over().unwrap();
            keyless.put().unwrap();
            assert_eq!(place.is_of(byte), source == KeySource::Store);
            // Cut off once more: it is still not the operator's.
            std::fs::write(place.backup(), [7; 32]).unwrap();
            assert_eq!(place.choose(Some(&keyless.note())).unwrap().source, KeySource::Backup);
        }
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
