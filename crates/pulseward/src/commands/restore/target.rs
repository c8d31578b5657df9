//! What a backup is brought back into: a data folder, and databases in it or on PostgreSQL.

use std::path::{Path, PathBuf};

use store::Address;
use store::backup::{Database, FillTarget, fill, look_at, remove_mark};

use super::key::RestoredKey;
use crate::commands::backup::copy_private;
use crate::config::StoreOptions;
use crate::failure::Failure;
use crate::wiring;
use crate::wiring::UNFINISHED_RESTORE;

/// A store that is empty, or that a restore has left before its end.
pub(super) struct Target {
    data: PathBuf,
    addresses: [Address; 2],
    /// The mark in the data folder of a restore that has not come to its end.
    noted: Option<String>,
}

impl Target {
    /// Looks at the store that the options name; changes nothing.
    ///
    /// # Errors
    /// [`Failure::Usage`] when there is anything in it that no restore has left.
    pub async fn look_at(store: &StoreOptions) -> Result<Self, Failure> {
        wiring::refuse_unshared_key(store)?;
        let address = |database| wiring::database_address(store, database);
        let addresses = [address(Database::Users)?, address(Database::Health)?];
        let noted = std::fs::read_to_string(store.data.join(UNFINISHED_RESTORE)).ok();
        let target = Target { data: store.data.clone(), addresses, noted };
        target.refuse_in_use().await?;
        Ok(target)
    }

    /// Returns what an unfinished restore has noted of its master key.
    pub fn noted_key(&self) -> Option<&str> {
        self.noted.as_deref()
    }

    async fn refuse_in_use(&self) -> Result<(), Failure> {
        // What another node's folder has begun is known by the users database alone, whose mark goes last.
        let mut is_again = self.noted.is_some();
        for (database, address) in Database::BOTH.into_iter().zip(&self.addresses) {
            let (found, name) = match address {
                Address::Postgres(url) => (look_at(url).await?, format!("the {} database", database.name())),
                Address::File(path) => (found_of(path), path.display().to_string()),
            };
            let is_taken = match found {
                FillTarget::Empty => false,
                FillTarget::Unfinished if database == Database::Users && matches!(address, Address::Postgres(_)) => {
                    is_again = true;
                    false
                }
                FillTarget::Unfinished => !is_again,
                FillTarget::InUse => true,
            };
            if is_taken {
                return Err(Failure::Usage(format!("{name} is there: restore goes into an empty store")));
            }
        }
        Ok(())
    }

    /// Marks the data folder as being restored into, and empties it of what a restore before has left.
    pub fn begin(&self, key: &RestoredKey) -> Result<(), Failure> {
        for path in self.addresses.iter().filter_map(file_of).flat_map(files_of) {
            remove_if_there(&path)?;
        }
        key.clear_left_over()?;
        wiring::make_private_folder(&self.data)?;
        let unfinished = self.data.join(UNFINISHED_RESTORE);
        std::fs::write(&unfinished, key.note()).map_err(|error| Failure::file("write", &unfinished, error))
    }

    /// Brings one database back.
    pub async fn fill(&self, database: Database, from: &Path) -> Result<(), Failure> {
        match &self.addresses[database as usize] {
            Address::File(path) => copy_private(from, path),
            Address::Postgres(url) => Ok(fill(database, from.to_owned(), url, self.data.clone()).await?),
        }
    }

    /// Notes that the restore has come to its end: the store may be opened from now on.
    pub async fn end(&self) -> Result<(), Failure> {
        // The folder's mark first, since a restore that is run again from it looks at the databases in any case. The users
        // database's last: it alone says so to other nodes.
        remove_if_there(&self.data.join(UNFINISHED_RESTORE))?;
        for address in self.addresses.iter().rev() {
            if let Address::Postgres(url) = address {
                remove_mark(url).await?;
            }
        }
        Ok(())
    }
}

/// Returns whether any restore can have left these files, the caller knows.
fn found_of(path: &Path) -> FillTarget {
    if files_of(path).iter().any(|path| path.exists()) { FillTarget::Unfinished } else { FillTarget::Empty }
}

/// Returns a database file and its write-ahead log, which would be played into the next database of that name.
fn files_of(path: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|end| {
        let mut path = path.as_os_str().to_owned();
        path.push(end);
        PathBuf::from(path)
    })
}

fn file_of(address: &Address) -> Option<&Path> {
    if let Address::File(path) = address { Some(path) } else { None }
}

fn remove_if_there(path: &Path) -> Result<(), Failure> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Failure::file("remove", path, error)),
        _ => Ok(()),
    }
}
