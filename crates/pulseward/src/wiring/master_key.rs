//! The file of the master key: 32 bytes that seal the signing keys in the databases.
//!
//! It is made once. Anyone who has a copy of a database but not this file cannot sign tokens.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use crate::failure::Failure;

const KEY_BYTES: usize = 32;

/// The key in the file; a new random one is put there, for its owner alone to read, when there is no such file.
pub fn read_or_make(path: &Path, fill_random: impl Fn(&mut [u8])) -> Result<[u8; KEY_BYTES], Failure> {
    if !path.exists() {
        make(path, fill_random)?;
    }
    read(path)
}

fn read(path: &Path) -> Result<[u8; KEY_BYTES], Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::file("read", path, error))?;
    // Read first and judged then: a missing file is to be reported as missing.
    refuse_public(path)?;
    let count = bytes.len();
    // A key of another length is cut, padded or the wrong file; made into a key it would open nothing.
    bytes.try_into().map_err(|_| {
        Failure::Other(format!("{}: a master key has {KEY_BYTES} bytes, this file has {count}", path.display()))
    })
}

/// Writes the key next to its place and links it there, so that no reader meets half a key and of two makers one wins.
fn make(path: &Path, fill_random: impl Fn(&mut [u8])) -> Result<(), Failure> {
    let mut key = [0; KEY_BYTES];
    fill_random(&mut key);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut unique = [0; 8];
    fill_random(&mut unique);
    let draft = folder.join(format!(".master-key-{:016x}", u64::from_le_bytes(unique)));
    let linked = write_private(&draft, &key).and_then(|()| match std::fs::hard_link(&draft, path) {
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
    use crate::wiring::fill_random;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_key_is_made_once_and_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("master.key");
        let made = read_or_make(&path, fill_random).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(read_or_make(&path, fill_random).unwrap(), made);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no draft stays behind");
    }

    #[test]
    fn of_two_makers_one_wins() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("master.key");
        make(&path, |bytes| bytes.fill(1)).unwrap();
        make(&path, |bytes| bytes.fill(2)).unwrap();
        assert_eq!(read(&path).unwrap(), [1; 32]);
    }

    #[test]
    fn a_short_or_public_key_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("master.key");
        write_private(&path, b"short").unwrap();
        assert!(read_or_make(&path, fill_random).unwrap_err().to_string().contains("has 5"));
        write_private(&folder.path().join("public.key"), &[7; 32]).unwrap();
        let public = folder.path().join("public.key");
        std::fs::set_permissions(&public, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(read_or_make(&public, fill_random).unwrap_err().to_string().contains("everybody"));
    }
}
