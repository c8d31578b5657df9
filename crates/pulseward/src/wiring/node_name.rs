//! The name under which this process works in the background.
//!
//! A process that is started on the data folder of one that was killed takes over its work at once, because it has the
//! same name. That is only right when the other one has surely ended. So the name belongs to the process that holds a
//! lock on a file of the data folder, which the system gives up with the process, however that ends. A second process
//! on the same folder gets a name of its own, and so does a copy of the folder, here or on another machine.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;

use platform::hex;
use platform::jobs::NodeName;

use crate::failure::Failure;

const FILE: &str = "node.id";
const ID_BYTES: usize = 12;

/// A name that no other living process has while this value is there.
pub struct HeldName {
    /// The name, and the version of the program.
    pub name: NodeName,
    _lock: Option<File>,
}

/// Takes the name of the data folder, or one of its own where another process has that.
pub fn take(data: &Path, fill_random: impl Fn(&mut [u8])) -> Result<HeldName, Failure> {
    let path = data.join(FILE);
    let failed = |error| Failure::file("open", &path, error);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&path).map_err(failed)?;
    let mut random = [0; ID_BYTES];
    fill_random(&mut random);
    let version = env!("CARGO_PKG_VERSION").to_owned();
    // A file system without locks is treated like one where another process holds it.
    if file.try_lock().is_err() {
        return Ok(HeldName { name: NodeName { name: hex(&random), version }, _lock: None });
    }
    let mut id = String::new();
    file.read_to_string(&mut id).map_err(failed)?;
    if id.len() != 2 * ID_BYTES {
        id = hex(&random);
        file.rewind().and_then(|()| file.set_len(0)).and_then(|()| file.write_all(id.as_bytes())).map_err(failed)?;
    }
    let name = format!("{id}-{:x}@{}", inode(&file).map_err(failed)?, host());
    Ok(HeldName { name: NodeName { name, version }, _lock: Some(file) })
}

/// Number of the file in its file system: a copy has another one.
#[cfg(unix)]
fn inode(file: &File) -> std::io::Result<u64> {
    use std::os::unix::fs::MetadataExt as _;
    Ok(file.metadata()?.ino())
}

#[cfg(not(unix))]
fn inode(_file: &File) -> std::io::Result<u64> {
    Ok(0)
}

/// Name of the machine: images of containers have the same files with the same numbers on each.
fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wiring::random_bytes::fill_random;

    fn name(data: &Path) -> HeldName {
        take(data, fill_random).unwrap()
    }

    #[test]
    fn name_of_a_folder_stays_the_same_from_process_to_process() {
        let data = tempfile::tempdir().unwrap();
        let first = name(data.path()).name.name;
        assert_eq!(name(data.path()).name.name, first);
    }

    #[test]
    fn second_process_on_a_folder_and_copy_of_a_folder_have_names_of_their_own() {
        let data = tempfile::tempdir().unwrap();
        let first = name(data.path());
        let second = name(data.path());
        assert_ne!(first.name.name, second.name.name);
        let copy = tempfile::tempdir().unwrap();
        std::fs::copy(data.path().join(FILE), copy.path().join(FILE)).unwrap();
        assert_ne!(name(copy.path()).name.name, first.name.name);
    }

    #[test]
    fn file_that_was_cut_off_is_written_again() {
        let data = tempfile::tempdir().unwrap();
        std::fs::write(data.path().join(FILE), "12").unwrap();
        let first = name(data.path()).name.name;
        assert!(first.len() > 2 * ID_BYTES);
        assert_eq!(name(data.path()).name.name, first);
    }
}
