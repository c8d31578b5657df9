//! How long the disks last: that of the objects, and that of the databases, which grow as well.

use std::path::{Path, PathBuf};

use platform::Storage;

use crate::config::StoreOptions;
use crate::disks::room;

/// Less room than for so many days of growth is worth a warning.
const ROOM_FOR_DAYS: u64 = 30;
/// The files of a database in the data folder.
const FILES: [&str; 2] = ["", "-wal"];

/// What lies on the disks of this machine, and how long there is room.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disks {
    /// Bytes of the databases that are files; none when both are on PostgreSQL.
    pub database_bytes: Option<u64>,
    /// How many more a day.
    pub database_bytes_per_day: Option<u64>,
    /// Free bytes where the objects lie; none when they lie in a bucket.
    pub free_bytes: Option<u64>,
    /// Free bytes where the databases lie.
    pub database_free_bytes: Option<u64>,
    /// Days until the first of the disks is full; none when nothing grows or nothing lies on this machine.
    pub full_in_days: Option<u64>,
}

/// Looks at the disks of a store.
pub fn examine(store: &StoreOptions, objects: Option<&Path>, samples: &Storage) -> Disks {
    let databases = database_bytes(store);
    let per_day = databases.map(|bytes| in_proportion(bytes, samples));
    let mut growing: Vec<Growing> = Vec::new();
    for (folder, bytes_per_day) in [(objects, Some(samples.bytes_per_day)), (Some(store.data.as_path()), per_day)] {
        let (Some(folder), Some(bytes_per_day)) = (folder, bytes_per_day) else { continue };
        match growing.iter_mut().find(|disk| is_same_disk(&disk.folder, folder)) {
            Some(disk) => disk.bytes_per_day += bytes_per_day,
            None => growing.push(Growing { folder: folder.to_owned(), bytes_per_day }),
        }
    }
    let days = |disk: &Growing| free_bytes(&disk.folder)?.checked_div(disk.bytes_per_day);
    Disks {
        database_bytes: databases,
        database_bytes_per_day: per_day,
        free_bytes: objects.and_then(free_bytes),
        database_free_bytes: databases.and_then(|_| free_bytes(&store.data)),
        full_in_days: growing.iter().filter_map(days).min(),
    }
}

/// Warns when a disk has room for a few weeks only.
pub fn growth_warning(full_in_days: u64) -> Option<String> {
    (full_in_days < ROOM_FOR_DAYS).then(|| {
        format!(
            "the disk of the store is full in about {full_in_days} days; a retention rule in the groups' settings helps"
        )
    })
}

/// A disk that something grows on.
struct Growing {
    folder: PathBuf,
    bytes_per_day: u64,
}

/// Growth of the databases: what is derived of samples, events and rows of catalogs grow with the samples.
fn in_proportion(database_bytes: u64, samples: &Storage) -> u64 {
    let share = u128::from(database_bytes) * u128::from(samples.bytes_per_day);
    u64::try_from(share / u128::from(samples.bytes.max(1))).unwrap_or(u64::MAX)
}

fn database_bytes(store: &StoreOptions) -> Option<u64> {
    let named = [(&store.users_db, "users.db"), (&store.health_db, "health.db")];
    let files: Vec<&str> = named.iter().filter(|(server, _)| server.is_none()).map(|(_, file)| *file).collect();
    let size = |file: String| std::fs::metadata(store.data.join(file)).map_or(0, |metadata| metadata.len());
    let of_database = |file: &&str| FILES.iter().map(|end| size(format!("{file}{end}"))).sum::<u64>();
    (!files.is_empty()).then(|| files.iter().map(of_database).sum())
}

#[cfg(unix)]
fn is_same_disk(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let device = |path: &Path| std::fs::metadata(path).map(|metadata| metadata.dev()).ok();
    device(one).is_some() && device(one) == device(other)
}

#[cfg(not(unix))]
fn is_same_disk(_one: &Path, _other: &Path) -> bool {
    true
}

fn free_bytes(folder: &Path) -> Option<u64> {
    room(folder).map(|room| room.free_bytes)
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches};

    use super::*;

    fn store(arguments: &[&str]) -> StoreOptions {
        let command = <StoreOptions as clap::Args>::augment_args(Command::new("doctor"));
        let command = command.mut_args(|argument| argument.env(None::<&str>));
        let matches = command.try_get_matches_from([&["doctor"], arguments].concat()).unwrap();
        StoreOptions::from_arg_matches(&matches).unwrap()
    }

    #[test]
    fn room_for_less_than_a_month_is_worth_a_warning() {
        assert_eq!(growth_warning(ROOM_FOR_DAYS), None);
        for days in [0, ROOM_FOR_DAYS - 1] {
            assert!(growth_warning(days).unwrap().contains(&format!("full in about {days} days")));
        }
    }

    #[test]
    fn databases_count_with_the_objects_on_one_disk_and_alone_next_to_a_bucket() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("health.db"), [0; 3000]).unwrap();
        std::fs::write(folder.path().join("health.db-wal"), [0; 500]).unwrap();
        std::fs::write(folder.path().join("users.db"), [0; 500]).unwrap();
        let store = store(&["--data", folder.path().to_str().unwrap()]);
        let samples = Storage { bytes: 1_000, bytes_per_day: 100, ..Storage::default() };
        let free = free_bytes(folder.path()).unwrap();
        // Within a thousandth: others write on this disk too.
        let is_near = |days: Option<u64>, expected: u64| days.unwrap().abs_diff(expected) <= expected / 1000 + 1;

        let disks = examine(&store, Some(folder.path()), &samples);
        assert_eq!((disks.database_bytes, disks.database_bytes_per_day), (Some(4_000), Some(400)));
        assert!(is_near(disks.full_in_days, free / 500), "{disks:?}");
        let next_to_a_bucket = examine(&store, None, &samples);
        assert_eq!(next_to_a_bucket.free_bytes, None);
        assert!(is_near(next_to_a_bucket.full_in_days, free / 400), "{next_to_a_bucket:?}");
    }

    #[test]
    fn databases_on_a_server_are_its_own_matter() {
        let url = "postgres://db.example/x";
        let store = store(&["--users-db", url, "--health-db", url]);
        let samples = Storage { bytes: 10, bytes_per_day: 1, ..Storage::default() };
        assert_eq!(examine(&store, None, &samples), Disks::default());
    }
}
