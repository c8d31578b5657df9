//! Room on the disks of this machine that a store lies on.

use std::path::{Path, PathBuf};

use crate::config::StoreOptions;

/// A folder that a store grows in.
#[derive(Clone, Debug)]
pub struct Disk {
    /// What lies there: `databases` or `objects`.
    pub holds: &'static str,
    /// The folder.
    pub folder: PathBuf,
}

/// Room of a disk.
pub struct Room {
    /// Bytes that this user can still write.
    pub free_bytes: u64,
    /// Bytes of the whole disk.
    pub size_bytes: u64,
}

impl Disk {
    /// Returns the folders of a store on this machine: none for databases on PostgreSQL and objects in a bucket.
    pub fn of_store(store: &StoreOptions, objects: Option<&Path>) -> Vec<Disk> {
        let has_files = store.users_db.is_none() || store.health_db.is_none();
        let databases = has_files.then(|| Disk { holds: "databases", folder: store.data.clone() });
        let objects = objects.map(|folder| Disk { holds: "objects", folder: folder.to_owned() });
        databases.into_iter().chain(objects).collect()
    }

    /// Returns how much room there is; none when the system does not say.
    pub fn room(&self) -> Option<Room> {
        room(&self.folder)
    }
}

/// Returns how much room there is where a folder lies; none when the system does not say.
pub fn room(folder: &Path) -> Option<Room> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
    Some(Room { free_bytes: bytes(disk.f_bavail), size_bytes: bytes(disk.f_blocks) })
}
