//! Bytes of files as they get into a backup and out of it: summed whenever they are read, for a disk changes bits without a word.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::failure::Failure;

/// Bytes that are read at once.
const READ_BYTES: usize = 1 << 20;

/// What was read of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sum {
    /// Size.
    pub bytes: u64,
    /// SHA-256, hexadecimal.
    pub sha256: String,
}

/// Whether two files that are the same may lie in the same place of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bytes {
    /// A hard link where both lie on one disk. Objects never change, so it is as good until the disk changes them.
    Shared,
    /// Bytes of their own in any case.
    Own,
}

/// Why a file did not get to another place.
#[derive(Debug)]
pub enum Untaken {
    /// It cannot be read: its own fault.
    Unread(io::Error),
    /// The other place cannot be written.
    Unwritten(Failure),
}

impl From<io::Error> for Untaken {
    fn from(error: io::Error) -> Self {
        Untaken::Unread(error)
    }
}

/// Reads a file to its end.
pub fn sum_of(path: &Path) -> io::Result<Sum> {
    read_whole(path, |_| Ok(()))
}

/// Puts a file to another place, of which nothing may be there; what was read of it.
///
/// # Errors
/// [`Untaken`], by which of the two is at fault. Of a file that cannot be read nothing is left.
pub fn take(from: &Path, to: &Path, bytes: Bytes) -> Result<Sum, Untaken> {
    make_folder_of(to).map_err(Untaken::Unwritten)?;
    if bytes == Bytes::Shared && std::fs::hard_link(from, to).is_ok() {
        return Ok(sum_of(to)?);
    }
    copy(from, to)
}

/// The same in the place of what may be there already, so that no moment is without either.
pub fn replace(from: &Path, to: &Path, bytes: Bytes) -> Result<Sum, Untaken> {
    let draft = draft_of(to);
    // A process that was killed may have left one.
    let _ = std::fs::remove_file(&draft);
    let sum = take(from, &draft, bytes)?;
    put_in_place(&draft, to)?;
    Ok(sum)
}

fn make_folder_of(path: &Path) -> Result<(), Failure> {
    let Some(folder) = path.parent() else { return Ok(()) };
    std::fs::create_dir_all(folder).map_err(|error| Failure::file("make", folder, error))
}

/// Under another name until it is whole: what a killed process has left would be taken for the object. Not by the system's
/// own copying, which on some file systems shares the bytes like a link.
fn copy(from: &Path, to: &Path) -> Result<Sum, Untaken> {
    let draft = draft_of(to);
    let unwritten = |error| Untaken::Unwritten(Failure::file("write", &draft, error));
    let mut out = File::create(&draft).map_err(unwritten)?;
    let copied = read_whole(from, |piece| out.write_all(piece).map_err(unwritten));
    if copied.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    let sum = copied?;
    put_in_place(&draft, to)?;
    Ok(sum)
}

fn put_in_place(draft: &Path, to: &Path) -> Result<(), Untaken> {
    std::fs::rename(draft, to).map_err(|error| Untaken::Unwritten(Failure::file("make", to, error)))
}

fn draft_of(path: &Path) -> PathBuf {
    let mut draft = path.as_os_str().to_owned();
    // The object store takes such names for uploads that were cut off, and deletes them by age.
    draft.push("#0");
    PathBuf::from(draft)
}

fn read_whole<E: From<io::Error>>(path: &Path, mut each: impl FnMut(&[u8]) -> Result<(), E>) -> Result<Sum, E> {
    let mut file = File::open(path)?;
    let (mut hash, mut piece, mut bytes) = (Sha256::new(), vec![0; READ_BYTES], 0);
    loop {
        let count = match file.read(&mut piece) {
            Ok(0) => return Ok(Sum { bytes, sha256: platform::hex(&hash.finalize()) }),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read?,
        };
        hash.update(&piece[..count]);
        each(&piece[..count])?;
        bytes += count as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn own_bytes_are_no_link_and_shared_ones_are() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("from");
        std::fs::write(&from, "bytes").unwrap();
        let summed = sum_of(&from).unwrap();
        assert_eq!(summed.bytes, 5);
        for (bytes, links) in [(Bytes::Own, 1), (Bytes::Shared, 2)] {
            let to = folder.path().join(format!("in/{bytes:?}"));
            assert_eq!(take(&from, &to, bytes).unwrap(), summed);
            assert_eq!(std::fs::metadata(&to).unwrap().nlink(), links);
            assert_eq!(std::fs::read_to_string(to).unwrap(), "bytes");
        }
    }

    #[test]
    fn what_is_there_is_replaced_also_by_what_a_killed_process_left() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        std::fs::write(&from, "bytes").unwrap();
        std::fs::write(&to, "other").unwrap();
        std::fs::write(folder.path().join("to#0"), "by").unwrap();
        replace(&from, &to, Bytes::Shared).unwrap();
        assert_eq!(std::fs::read_to_string(&to).unwrap(), "bytes");
        assert!(!folder.path().join("to#0").exists());
    }

    #[test]
    fn which_of_two_places_is_at_fault_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        assert!(matches!(take(&from, &to, Bytes::Own), Err(Untaken::Unread(_))));
        assert!(!folder.path().join("to#0").exists());
        std::fs::write(&from, "bytes").unwrap();
        std::fs::create_dir(&to).unwrap();
        assert!(matches!(take(&from, &to, Bytes::Own), Err(Untaken::Unwritten(_))));
    }
}
