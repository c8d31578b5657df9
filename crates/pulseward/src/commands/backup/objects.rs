//! The objects of a backup: those that the copied databases name, and the list of the erased.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use platform::Platform;
use serde_json::json;
use store::ListedObject;
use store::backup::NamedObject;

use super::manifest::{FileList, ListedFile};
use crate::failure::Failure;
use crate::progress::progress_bar;

/// The folder of a backup that objects lie in.
pub const OBJECTS: &str = "objects";
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

impl Contents<'_> {
    /// Links or copies what the health database in the backup names out of a folder of objects; answers those that are not
    /// there.
    pub fn link_named(&mut self, database: &Path, source: &Path) -> Result<Vec<String>, Failure> {
        let bar = progress_bar();
        bar.set_message("objects");
        let mut gone = Vec::new();
        store::backup::named_objects(database, |object| {
            bar.inc(1);
            if !self.link(source, &object)? {
                gone.push(object.path);
            }
            Ok::<_, Failure>(())
        })?;
        bar.finish_and_clear();
        Ok(gone)
    }

    /// Puts one object there; false when it is gone.
    fn link(&mut self, source: &Path, object: &NamedObject) -> Result<bool, Failure> {
        let from = source.join(&object.path);
        let path = format!("{OBJECTS}/{}", object.path);
        match link_or_copy(&from, &self.folder.join(&path)) {
            Err(_) if !from.exists() => return Ok(false),
            linked => linked?,
        }
        let length = std::fs::metadata(&from).map_err(|error| Failure::file("read", &from, error))?.len();
        if length != object.bytes {
            return Err(Failure::Other(format!(
                "{} has {length} bytes and not the {} that were written; `doctor --verify` says what else is damaged",
                from.display(),
                object.bytes
            )));
        }
        let listed = match &object.sha256 {
            // A link shares its bytes with the store, so they are not read for it: what the catalog says they are is what
            // they have to be when they come back.
            Some(sha256) => ListedFile { path, bytes: object.bytes, sha256: sha256.clone() },
            None => ListedFile::of(self.folder, &path)?,
        };
        self.files.add(&listed)?;
        self.amount.add(object.bytes);
        Ok(true)
    }

    /// The same of objects that no row names: the list of the erased, checkpoints of the audit log.
    pub fn link_unnamed(&mut self, source: &Path, listed: &[ListedObject]) -> Result<(), Failure> {
        for object in listed {
            let object = NamedObject { path: object.path.clone(), bytes: object.bytes, sha256: None };
            self.link(source, &object)?;
        }
        Ok(())
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

/// Fails unless every object that is gone was a patient's who has been erased meanwhile: an erasure does not wait for a
/// backup, and the erased are named in it, so that restoring erases them there too.
pub async fn refuse_gone_unless_erased(platform: &Platform, gone: &[String]) -> Result<(), Failure> {
    if gone.is_empty() {
        return Ok(());
    }
    let erased = platform.upkeep.erased().await?;
    let is_erased = |path: &String| {
        let patient = path.split('/').find_map(|part| part.strip_prefix("patient="));
        patient.is_some_and(|patient| erased.iter().any(|erased| erased.as_str() == patient))
    };
    let missing: Vec<&String> = gone.iter().filter(|path| !is_erased(path)).collect();
    let Some(first) = missing.first() else { return Ok(()) };
    Err(Failure::Other(format!(
        "{first} is missing, and the databases name it; {} objects are missing in all, and `doctor --verify` names them",
        missing.len()
    )))
}

/// A link where both lie on one disk, else a copy. Objects never change, so a link is as good.
pub fn link_or_copy(from: &Path, to: &Path) -> Result<(), Failure> {
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder).map_err(|error| Failure::file("make", folder, error))?;
    }
    // A restore that goes on after it was killed meets what it has linked before.
    if to.exists() {
        return Ok(());
    }
    match std::fs::hard_link(from, to) {
        Ok(()) => Ok(()),
        Err(_) => copy_whole(from, to),
    }
}

/// Under another name until it is whole: what a killed process has left would be taken for the object.
fn copy_whole(from: &Path, to: &Path) -> Result<(), Failure> {
    let mut draft = to.as_os_str().to_owned();
    // The object store takes such names for uploads that were cut off, and deletes them by age.
    draft.push("#0");
    std::fs::copy(from, &draft).map_err(|error| Failure::file("copy", from, error))?;
    std::fs::rename(&draft, to).map_err(|error| Failure::file("make", to, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_that_go_away_meanwhile_are_reported_and_the_others_linked() {
        let folder = tempfile::tempdir().unwrap();
        let (source, target) = (folder.path().join("from"), folder.path().join("to"));
        std::fs::create_dir_all(source.join("v1")).unwrap();
        std::fs::create_dir(&target).unwrap();
        std::fs::write(source.join("v1/there"), "bytes").unwrap();
        let object = |path: &str, bytes| NamedObject { path: path.to_owned(), bytes, sha256: None };
        let mut files = FileList::create(&target).unwrap();
        let mut contents = Contents { folder: &target, files: &mut files, amount: Amount::default() };
        assert!(!contents.link(&source, &object("v1/gone", 5)).unwrap());
        assert!(contents.link(&source, &object("v1/there", 5)).unwrap());
        assert_eq!(contents.amount, Amount { objects: 1, bytes: 5 });
        assert_eq!(std::fs::read_to_string(target.join("objects/v1/there")).unwrap(), "bytes");
        let short = contents.link(&source, &object("v1/there", 6)).unwrap_err();
        assert!(short.to_string().contains("5 bytes"), "{short}");
    }
}
