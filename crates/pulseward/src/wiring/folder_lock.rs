//! One service on one data folder.
//!
//! Files of SQLite may be used by several processes, and commands of an operator are. A second service is something else:
//! started by mistake next to the first, both would serve for weeks before somebody sees that the limits, the live boards
//! and the background work are those of two. The system gives the lock up with the process, however that ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use crate::failure::Failure;

const FILE: &str = "serve.lock";

/// A data folder that no other service serves from while this value is there.
pub struct HeldFolder {
    _lock: File,
}

/// Takes the data folder.
pub fn hold(data: &Path) -> Result<HeldFolder, Failure> {
    let path = data.join(FILE);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&path).map_err(|error| Failure::file("open", &path, error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(Failure::Usage(format!(
                "another service serves from {} already: stop it first, or name another folder with --data. Several nodes \
                 share databases of PostgreSQL (--users-db, --health-db), each with a folder of its own",
                data.display()
            )));
        }
        // A file system without locks: whether there is another service is not known.
        Err(TryLockError::Error(error)) => {
            tracing::warn!(%error, folder = %data.display(), "the data folder cannot be locked; start one service on it only");
        }
    }
    Ok(HeldFolder { _lock: file })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_is_held_by_one_and_free_when_that_has_ended() {
        let data = tempfile::tempdir().unwrap();
        let held = hold(data.path()).unwrap();
        let Err(refused) = hold(data.path()) else { panic!("two hold the folder") };
        assert_eq!(refused.exit_status(), 2);
        assert!(refused.to_string().contains("--data"), "{refused}");
        drop(held);
        assert!(hold(data.path()).is_ok());
    }
}
