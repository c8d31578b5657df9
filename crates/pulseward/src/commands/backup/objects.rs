//! The objects of a backup: those that the copied databases name, and the list of the erased.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;

use platform::Platform;
use serde_json::json;
use store::backup::NamedObject;
use store::{ListedObject, ObjectFault};

use super::bytes::{self, Bytes, Untaken};
use super::manifest::{DamagedObject, FileList, ListedFile, OBJECTS};
use crate::failure::Failure;
use crate::progress::progress_bar;

/// The file that lists them where they lie in a bucket.
const LISTED: &str = "objects.jsonl";
/// The folder of the object store that says who was erased.
pub const ERASED: &str = "erased";

/// What a backup has of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// How many.
    pub objects: u64,
    /// Their size.
    pub bytes: u64,
}

impl Amount {
    fn add(&mut self, bytes: u64) {
        self.objects += 1;
        self.bytes += bytes;
    }
}

/// Objects while they are put into a backup.
pub struct Contents<'backup> {
    /// The backup.
    pub folder: &'backup Path,
    /// The list of its files.
    pub files: &'backup mut FileList,
    /// What there is so far.
    pub amount: Amount,
}

/// An object that has something wrong with it.
pub struct Faulty {
    /// What it should be.
    pub object: NamedObject,
    /// What is wrong.
    pub fault: ObjectFault,
}

impl Faulty {
    /// Makes the line of it for a manifest.
    pub fn named(&self) -> DamagedObject {
        DamagedObject { path: self.object.path.clone(), fault: self.fault }
    }
}

impl Contents<'_> {
    /// Puts what the health database in the backup names there, out of a folder of objects; answers what is faulty.
    pub fn put_named(&mut self, database: &Path, source: &Path, bytes: Bytes) -> Result<Vec<Faulty>, Failure> {
        let bar = progress_bar();
        bar.set_message("objects");
        let mut faulty = Vec::new();
        store::backup::named_objects(database, |object| {
            bar.inc(1);
            faulty.extend(self.put(source, object, bytes)?);
            Ok::<_, Failure>(())
        })?;
        bar.finish_and_clear();
        Ok(faulty)
    }

    /// The same of objects that no row names: the list of the erased, checkpoints of the audit log.
    pub fn put_unnamed(
        &mut self,
        source: &Path,
        listed: &[ListedObject],
        bytes: Bytes,
    ) -> Result<Vec<Faulty>, Failure> {
        let mut faulty = Vec::new();
        for object in listed {
            let object = NamedObject { path: object.path.clone(), bytes: object.bytes, sha256: None };
            // What no row names may go away, and nobody misses it.
            faulty.extend(self.put(source, object, bytes)?.filter(|found| found.fault == ObjectFault::Damaged));
        }
        Ok(faulty)
    }

    /// Puts one object there. It is read, although a link would do without: what is damaged now would be found when nothing
    /// else is left.
    pub fn put(&mut self, source: &Path, object: NamedObject, bytes: Bytes) -> Result<Option<Faulty>, Failure> {
        let path = format!("{OBJECTS}/{}", object.path);
        let taken = bytes::take(&source.join(&object.path), &self.folder.join(&path), bytes);
        let fault = match taken {
            Ok(sum) if is_what_was_written(&object, &sum) => {
                self.amount.add(sum.bytes);
                self.files.add(&ListedFile { path, bytes: sum.bytes, sha256: sum.sha256 })?;
                return Ok(None);
            }
            Err(Untaken::Unwritten(failure)) => return Err(failure),
            Err(Untaken::Unread(error)) if error.kind() == ErrorKind::NotFound => ObjectFault::Missing,
            // Of a bad sector comes an error and no other bytes.
            Ok(_) | Err(Untaken::Unread(_)) => ObjectFault::Damaged,
        };
        Ok(Some(Faulty { object, fault }))
    }

    /// Puts an object there again that was brought back to the store meanwhile.
    pub fn put_again(&mut self, source: &Path, faulty: Faulty, bytes: Bytes) -> Result<Option<Faulty>, Failure> {
        let before = self.folder.join(OBJECTS).join(&faulty.object.path);
        match std::fs::remove_file(&before) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Failure::file("remove", &before, error)),
            _ => self.put(source, faulty.object, bytes),
        }
    }

    /// Lists what a faulty object should be, by which a restore knows it. Its bytes stay: other pieces of the file are sound.
    pub fn list_faulty(&mut self, faulty: &Faulty) -> Result<(), Failure> {
        let NamedObject { path, bytes, sha256 } = &faulty.object;
        // Of some no checksum is kept, and none is one that no file has.
        let sha256 = sha256.clone().unwrap_or_default();
        self.files.add(&ListedFile { path: format!("{OBJECTS}/{path}"), bytes: *bytes, sha256 })
    }

    /// Lists what the health database in the backup names; the objects stay where they are.
    pub fn list_named(&mut self, database: &Path) -> Result<(), Failure> {
        let path = self.folder.join(LISTED);
        let unwritten = |error| Failure::file("write", &path, error);
        let mut out = BufWriter::new(File::create_new(&path).map_err(unwritten)?);
        store::backup::named_objects(database, |NamedObject { path, bytes, sha256 }| {
            self.amount.add(bytes);
            let line = json!({"path": path, "bytes": bytes, "sha256": sha256});
            writeln!(out, "{line}").map_err(unwritten)
        })?;
        out.into_inner()
            .map_err(std::io::IntoInnerError::into_error)
            .and_then(|file| file.sync_all())
            .map_err(unwritten)?;
        self.files.add(&ListedFile::of(self.folder, LISTED)?)
    }
}

/// Whether bytes are what the database says of them.
fn is_what_was_written(object: &NamedObject, sum: &bytes::Sum) -> bool {
    object.bytes == sum.bytes && object.sha256.as_ref().is_none_or(|sha256| *sha256 == sum.sha256)
}

/// Leaves out objects of patients who have been erased meanwhile: an erasure does not wait for a backup, and the erased are
/// named in it, so that restoring erases them there too.
pub async fn without_erased(platform: &Platform, mut faulty: Vec<Faulty>) -> Result<Vec<Faulty>, Failure> {
    if faulty.is_empty() {
        return Ok(faulty);
    }
    let erased = platform.upkeep.erased().await?;
    let is_erased = |path: &str| {
        let patient = path.split('/').find_map(|part| part.strip_prefix("patient="));
        patient.is_some_and(|patient| erased.iter().any(|erased| erased.as_str() == patient))
    };
    faulty.retain(|faulty| !is_erased(&faulty.object.path));
    Ok(faulty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faulty_objects_are_returned_and_the_others_are_put_there() {
        let folder = tempfile::tempdir().unwrap();
        let (source, target) = (folder.path().join("from"), folder.path().join("to"));
        std::fs::create_dir_all(source.join("v1")).unwrap();
        std::fs::create_dir(&target).unwrap();
        std::fs::write(source.join("v1/there"), "bytes").unwrap();
        let named = |path: &str, bytes| NamedObject { path: path.to_owned(), bytes, sha256: None };
        let mut files = FileList::create(&target).unwrap();
        let mut contents = Contents { folder: &target, files: &mut files, amount: Amount::default() };
        let mut put = |object| contents.put(&source, object, Bytes::Shared).unwrap().map(|faulty| faulty.fault);
        assert_eq!(put(named("v1/gone", 5)), Some(ObjectFault::Missing));
        assert_eq!(put(named("v1/there", 5)), None);
        let again = |bytes, sha256: &str| {
            let object = NamedObject { sha256: Some(sha256.to_owned()), ..named("v1/there", bytes) };
            Faulty { object, fault: ObjectFault::Damaged }
        };
        assert_eq!(contents.amount, Amount { objects: 1, bytes: 5 });
        assert_eq!(std::fs::read_to_string(target.join("objects/v1/there")).unwrap(), "bytes");
        // Another size, and other bytes of the same size.
        for faulty in [again(6, ""), again(5, "0a")] {
            let found = contents.put_again(&source, faulty, Bytes::Own).unwrap();
            assert_eq!(found.map(|faulty| faulty.fault), Some(ObjectFault::Damaged));
        }
        assert_eq!(contents.amount, Amount { objects: 1, bytes: 5 });
    }
}
