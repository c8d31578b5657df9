//! What a backup says of itself: its format, what is in it, and the checksum of each of its files.
//!
//! `backup.json` holds the format and the checksum of `files.jsonl`, which holds one line for each other file. The first is
//! written last: a folder without it is no backup. The second is a file of its own so that nobody has to hold all lines
//! at once.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use store::{HoldId, ObjectFault};

use super::bytes::{Sum, sum_of};
use crate::failure::Failure;

/// The format that this program writes, and the only one that it reads.
pub const FORMAT: u64 = 1;
/// The file without which a folder is no backup.
pub const MANIFEST: &str = "backup.json";
/// The list of the other files.
const FILES: &str = "files.jsonl";
/// Objects that a message names.
const NAMED_AT_MOST: usize = 20;
/// The folder of a backup that objects lie in.
pub const OBJECTS: &str = "objects";

/// What a backup says of itself.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Changes when a program that knows the one before could read the backup wrongly.
    pub format: u64,
    /// The program that made it.
    pub version: String,
    /// When it was begun, ISO 8601.
    pub made: String,
    /// The databases by name.
    pub databases: BTreeMap<String, CopiedDatabase>,
    /// How many objects the databases name.
    pub objects: u64,
    /// Their size.
    pub object_bytes: u64,
    /// Whether they are in the backup, or only listed.
    pub objects_are_here: bool,
    /// Whether they are bytes of their own also on the disk of the store, where they would be links to its objects.
    #[serde(default)]
    pub objects_are_copied: bool,
    /// Those of which the backup has no sound copy.
    #[serde(default)]
    pub damaged: Vec<DamagedObject>,
    /// What keeps listed objects from being deleted.
    pub hold: Option<HoldId>,
    /// SHA-256 of the list of files.
    pub files_sha256: String,
}

/// A database in a backup.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopiedDatabase {
    /// What it was on; it comes back on either.
    pub engine: String,
    /// Version of its schema.
    pub schema: i64,
    /// Patients in it.
    pub patients: u64,
    /// Size of the file.
    pub bytes: u64,
}

/// A file of a backup.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedFile {
    /// Path in the backup, with `/`.
    pub path: String,
    /// Size.
    pub bytes: u64,
    /// SHA-256, hexadecimal.
    pub sha256: String,
}

impl ListedFile {
    /// Makes a file as it lies in a backup, which is read whole.
    pub fn of(folder: &Path, path: &str) -> Result<Self, Failure> {
        let Sum { bytes, sha256 } = read_sum(&folder.join(path))?;
        Ok(ListedFile { path: path.to_owned(), bytes, sha256 })
    }

    /// Returns the path that an object has in the object store; none of other files.
    pub fn object(&self) -> Option<&str> {
        self.path.strip_prefix(OBJECTS)?.strip_prefix('/')
    }

    /// Whether this is what was read of it.
    pub fn is(&self, sum: &Sum) -> bool {
        (self.bytes, &self.sha256) == (sum.bytes, &sum.sha256)
    }
}

/// An object that is missing or not what was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DamagedObject {
    /// Path in the object store.
    pub path: String,
    /// What is wrong with it.
    pub fault: ObjectFault,
}

impl DamagedObject {
    /// What goes on in spite of damage says this at its end: every object by name, as far as anybody reads on.
    pub fn list(damaged: &[DamagedObject]) -> String {
        let named = damaged.iter().take(NAMED_AT_MOST).map(|object| format!("{} ({})", object.path, object.fault));
        let list = named.collect::<Vec<String>>().join(", ");
        match damaged.len().checked_sub(NAMED_AT_MOST) {
            Some(more @ 1..) => format!("{list} and {more} more"),
            _ => list,
        }
    }
}

/// The list of files while it is written.
pub struct FileList {
    path: PathBuf,
    out: BufWriter<File>,
    hash: Sha256,
}

impl FileList {
    /// Begins the list of a backup.
    pub fn create(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(FILES);
        let file = File::create_new(&path).map_err(|error| Failure::file("make", &path, error))?;
        Ok(FileList { path, out: BufWriter::new(file), hash: Sha256::new() })
    }

    /// Adds a file.
    pub fn add(&mut self, file: &ListedFile) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(file).map_err(|error| Failure::Other(error.to_string()))?;
        line.push(b'\n');
        self.hash.update(&line);
        self.out.write_all(&line).map_err(|error| Failure::file("write", &self.path, error))
    }

    /// Ends the list; answers its SHA-256.
    pub fn finish(self) -> Result<String, Failure> {
        let FileList { path, out, hash } = self;
        let written = out.into_inner().map_err(std::io::IntoInnerError::into_error).and_then(|file| file.sync_all());
        written.map_err(|error| Failure::file("write", &path, error))?;
        Ok(platform::hex(&hash.finalize()))
    }
}

impl Manifest {
    /// Writes it, which makes the folder a backup.
    pub fn write(&self, folder: &Path) -> Result<(), Failure> {
        let path = folder.join(MANIFEST);
        let text = serde_json::to_string_pretty(self).map_err(|error| Failure::Other(error.to_string()))?;
        let written = File::create_new(&path).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.write_all(b"\n")?;
            file.sync_all()
        });
        written.map_err(|error| Failure::file("write", &path, error))
    }

    /// Reads it.
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(MANIFEST);
        let text = std::fs::read_to_string(&path).map_err(|error| Failure::file("read", &path, error))?;
        // Looked at before the rest: the rest of another format has other fields.
        let format = serde_json::from_str(&text).map(|Format { format }| format);
        match format {
            Ok(Some(FORMAT)) => {}
            Ok(found) => {
                let found = found.map_or_else(
                    || "no format, so it is of an older version".to_owned(),
                    |format| format!("format {format}"),
                );
                return Err(Failure::Usage(format!(
                    "{}: {found}; this program reads backups of format {FORMAT}, so restore it with the program that made it",
                    path.display()
                )));
            }
            Err(error) => return Err(damaged(&path, &error.to_string())),
        }
        serde_json::from_str(&text).map_err(|error| damaged(&path, &error.to_string()))
    }

    /// Compares every file with its checksum, and the list of them first. `progress` hears of each. Returns the objects that
    /// are not what was written.
    ///
    /// # Errors
    /// [`Failure::Other`] for every other file: without the databases an object is nobody's.
    pub fn verify(&self, folder: &Path, mut progress: impl FnMut()) -> Result<Vec<DamagedObject>, Failure> {
        let list = folder.join(FILES);
        if read_sum(&list)?.sha256 != self.files_sha256 {
            return Err(damaged(&list, "it is not what was written"));
        }
        let mut faulty = Vec::new();
        each_file(folder, |listed| {
            progress();
            let path = folder.join(&listed.path);
            let fault = match sum_of(&path) {
                Ok(sum) if listed.is(&sum) => return Ok(()),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => ObjectFault::Missing,
                // Of a bad sector comes an error and no other bytes.
                _ => ObjectFault::Damaged,
            };
            // One object is the data of one patient and period: what there is of all others shall not wait for it.
            let Some(object) = listed.object() else {
                return Err(damaged(&path, "it is not what was written"));
            };
            faulty.push(DamagedObject { path: object.to_owned(), fault });
            Ok(())
        })?;
        Ok(faulty)
    }
}

/// The one field that every format has.
#[derive(Deserialize)]
struct Format {
    format: Option<u64>,
}

/// Hands every listed file of a backup to `each`.
pub fn each_file(folder: &Path, mut each: impl FnMut(ListedFile) -> Result<(), Failure>) -> Result<(), Failure> {
    let list = folder.join(FILES);
    let file = File::open(&list).map_err(|error| Failure::file("read", &list, error))?;
    for line in BufReader::new(file).lines() {
        let line = line.map_err(|error| Failure::file("read", &list, error))?;
        let listed: ListedFile = serde_json::from_str(&line).map_err(|error| damaged(&list, &error.to_string()))?;
        // A list that somebody has made up must not reach other files of the machine.
        if !Path::new(&listed.path).components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(damaged(&list, "it names a file outside of the backup"));
        }
        each(listed)?;
    }
    Ok(())
}

fn read_sum(path: &Path) -> Result<Sum, Failure> {
    sum_of(path).map_err(|error| Failure::file("read", path, error))
}

fn damaged(path: &Path, why: &str) -> Failure {
    Failure::Other(format!("the backup is damaged: {}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(files_sha256: String) -> Manifest {
        Manifest {
            format: FORMAT,
            version: "0.1.0".to_owned(),
            made: "2026-11-23T10:00:00Z".to_owned(),
            databases: BTreeMap::new(),
            objects: 1,
            object_bytes: 5,
            objects_are_here: true,
            objects_are_copied: false,
            damaged: Vec::new(),
            hold: None,
            files_sha256,
        }
    }

    fn backup() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("one"), "bytes").unwrap();
        let mut list = FileList::create(folder.path()).unwrap();
        list.add(&ListedFile::of(folder.path(), "one").unwrap()).unwrap();
        manifest(list.finish().unwrap()).write(folder.path()).unwrap();
        folder
    }

    #[test]
    fn what_was_written_is_whole_and_every_change_is_found() {
        let folder = backup();
        let read = Manifest::read(folder.path()).unwrap();
        let mut seen = 0;
        assert_eq!(read.verify(folder.path(), || seen += 1).unwrap(), []);
        assert_eq!(seen, 1);
        for (name, change) in [("one", "bytez"), ("one", "bytes and more"), (FILES, ""), (MANIFEST, "{\"format\":1}")] {
            let folder = backup();
            std::fs::write(folder.path().join(name), change).unwrap();
            let checked = Manifest::read(folder.path()).and_then(|read| read.verify(folder.path(), || {}));
            assert!(checked.unwrap_err().to_string().contains(name), "{name}");
        }
        std::fs::remove_file(folder.path().join("one")).unwrap();
        assert!(read.verify(folder.path(), || {}).unwrap_err().to_string().contains("one"));
    }

    #[test]
    fn objects_that_changed_are_named_and_refuse_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(OBJECTS)).unwrap();
        let mut list = FileList::create(folder.path()).unwrap();
        for name in ["a", "b", "c"] {
            let path = format!("{OBJECTS}/{name}");
            std::fs::write(folder.path().join(&path), name).unwrap();
            list.add(&ListedFile::of(folder.path(), &path).unwrap()).unwrap();
        }
        let read = manifest(list.finish().unwrap());
        std::fs::write(folder.path().join("objects/a"), "x").unwrap();
        std::fs::remove_file(folder.path().join("objects/c")).unwrap();
        let faulty = read.verify(folder.path(), || {}).unwrap();
        let named = |path: &str, fault| DamagedObject { path: path.to_owned(), fault };
        assert_eq!(faulty, [named("a", ObjectFault::Damaged), named("c", ObjectFault::Missing)]);
        assert_eq!(DamagedObject::list(&faulty), "a (damaged), c (missing)");
        let many = vec![named("d", ObjectFault::Damaged); NAMED_AT_MOST + 2];
        assert!(DamagedObject::list(&many).ends_with("d (damaged) and 2 more"));
    }

    #[test]
    fn another_format_is_not_read() {
        for (text, named) in [("{\"format\":2}", "format 2"), ("{\"objects\":[]}", "older version")] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join(MANIFEST), text).unwrap();
            let refused = Manifest::read(folder.path()).unwrap_err();
            assert!(refused.exit_status() == 2 && refused.to_string().contains(named), "{refused}");
        }
    }

    #[test]
    fn a_list_that_leads_out_of_the_backup_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["../one", "/etc/hostname"] {
            let listed = ListedFile { path: path.to_owned(), bytes: 0, sha256: String::new() };
            std::fs::write(folder.path().join(FILES), serde_json::to_string(&listed).unwrap()).unwrap();
            let refused = each_file(folder.path(), |_| panic!("it is handed over")).unwrap_err();
            assert!(refused.to_string().contains("outside"), "{refused}");
        }
    }
}
