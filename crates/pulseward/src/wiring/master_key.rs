//! The file of the master key: 32 bytes that seal the signing keys in the databases.
//!
//! It is made once. Anyone who has a copy of a database but not this file cannot sign tokens.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use crate::failure::Failure;

const KEY_BYTES: usize = 32;

/// The bytes of the file.
pub type MasterKey = [u8; KEY_BYTES];

/// Reads the key.
pub fn read(path: &Path) -> Result<MasterKey, Failure> {
    let bytes = read_copy(path);
    // Read first and judged then: a missing file is to be reported as missing.
    refuse_public(path)?;
    bytes
}

/// Reads a key that nothing is sealed with where it lies, such as a backup's.
pub fn read_copy(path: &Path) -> Result<MasterKey, Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::file("read", path, error))?;
    let count = bytes.len();
    // A key of another length is cut, padded or the wrong file; made into a key it would open nothing.
    bytes.try_into().map_err(|_| {
        Failure::Other(format!("{}: a master key has {KEY_BYTES} bytes, this file has {count}", path.display()))
    })
}

/// Puts a new random key there, for its owner alone to read, and reads it: of two makers one wins.
pub fn make(path: &Path, fill_random: impl Fn(&mut [u8])) -> Result<MasterKey, Failure> {
    put(path, &random(&fill_random), &fill_random)?;
    read(path)
}

/// Returns a new random key.
pub fn random(fill_random: impl Fn(&mut [u8])) -> MasterKey {
    let mut key = [0; KEY_BYTES];
    fill_random(&mut key);
    key
}

/// Writes a key next to its place and links it there, so that no reader meets half a key. One that is there stays.
pub fn put(path: &Path, key: &MasterKey, fill_random: impl Fn(&mut [u8])) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut unique = [0; 8];
    fill_random(&mut unique);
    let draft = folder.join(format!(".master-key-{:016x}", u64::from_le_bytes(unique)));
    let linked = write_private(&draft, key).and_then(|()| match std::fs::hard_link(&draft, path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    });
    // A draft that stays behind is one that nobody will read.
    let _ = std::fs::remove_file(&draft);
    // A key that a loss of power takes away takes every sealed key with it.
    linked.and_then(|()| File::open(folder)?.sync_all()).map_err(|error| Failure::file("make", path, error))
}

fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    // Never over a file that is there: it could be another draft, or a link to somewhere else.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Everybody on the machine could sign tokens with a key that everybody can read. A group may read it: that is how
/// secrets are handed into containers.
#[cfg(unix)]
fn refuse_public(path: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = std::fs::metadata(path).map_err(|error| Failure::file("read", path, error))?;
    if metadata.permissions().mode() & 0o007 != 0 {
        return Err(Failure::Other(format!("{}: everybody can read the master key; chmod 600 it", path.display())));
    }
    Ok(())
}

#[cfg(not(unix))]
fn refuse_public(_path: &Path) -> Result<(), Failure> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::wiring::random_bytes::fill_random;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_key_is_made_once_and_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("master.key");
        let made = make(&path, fill_random).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(read(&path).unwrap(), made);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no draft stays behind");
    }

    #[test]
    fn of_two_makers_one_wins() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("master.key");
        assert_eq!(make(&path, |bytes| bytes.fill(1)).unwrap(), [1; 32]);
        assert_eq!(make(&path, |bytes| bytes.fill(2)).unwrap(), [1; 32]);
    }

    #[test]
    fn a_short_or_public_key_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("master.key");
        write_private(&path, b"short").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("has 5"));
        write_private(&folder.path().join("public.key"), &[7; 32]).unwrap();
        let public = folder.path().join("public.key");
        std::fs::set_permissions(&public, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(read(&public).unwrap_err().to_string().contains("everybody"));
    }
}
