//! Reads the archive of an export.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use vitals::registry::DataType;
use zip::ZipArchive;

use super::columnar::{RowZones, Streams};
use super::reader::Rows;
use crate::failure::Failure;

const MANIFEST: &str = "manifest.json";
/// Describes the columns; no data.
const DICTIONARY: &str = "data_dictionary.csv";
/// The largest manifest that is read; one of a hundred thousand files is smaller.
const LARGEST_MANIFEST_BYTES: u64 = 32 << 20;
const ZIP_MAGIC: [u8; 4] = *b"PK\x03\x04";
/// Versions of the manifest that are understood.
const VERSION: u32 = 1;

/// An archive with its manifest.
pub struct Archive {
    /// Where it is.
    pub(super) path: PathBuf,
    zip: ZipArchive<BufReader<File>>,
    manifest: Manifest,
}

#[derive(Deserialize)]
struct Manifest {
    version: u32,
    time_zones: Vec<String>,
    files: Vec<FileOfArchive>,
}

#[derive(Deserialize)]
struct FileOfArchive {
    name: String,
    #[serde(rename = "type")]
    data_type: String,
    rows: u64,
    bytes: u64,
    sha256: String,
}

/// A data file of an archive.
pub struct Entry {
    /// Its name in the archive.
    pub(super) name: String,
    /// What its rows are.
    pub data_type: DataType,
    /// How they are written.
    pub form: Form,
    /// How many there are, by the manifest.
    pub(super) rows: u64,
    /// Size when it is unpacked, by the manifest.
    pub(super) bytes: u64,
    /// SHA-256 of that, by the manifest.
    pub(super) sha256: String,
}

/// How the rows of a data file are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As lines of text.
    Csv,
    /// As columns.
    Parquet,
}

impl Form {
    /// Returns how a data file of a name is written; none of one that is no data file.
    fn of(name: &str) -> Option<Self> {
        match name.rsplit_once('.') {
            _ if name == DICTIONARY => None,
            Some((_, "csv")) => Some(Form::Csv),
            Some((_, "parquet")) => Some(Form::Parquet),
            _ => None,
        }
    }
}

impl Archive {
    /// Opens a file; none when it is no ZIP archive.
    pub fn open(path: &Path) -> Result<Option<Self>, Failure> {
        let unreadable = |error| Failure::file("read", path, error);
        // Standard input cannot be read twice, and the directory of an archive is at its end.
        if path == Path::new("-") {
            return Ok(None);
        }
        let mut magic = Vec::new();
        File::open(path).map_err(unreadable)?.take(4).read_to_end(&mut magic).map_err(unreadable)?;
        // By its first bytes and not its name: downloads are saved under any.
        if magic != ZIP_MAGIC {
            return Ok(None);
        }
        let file = BufReader::with_capacity(1 << 16, File::open(path).map_err(unreadable)?);
        let mut zip = ZipArchive::new(file).map_err(|error| not_an_archive(path, &error))?;
        let manifest = zip.by_name(MANIFEST).map_err(|error| not_an_archive(path, &error))?;
        let mut text = Vec::new();
        // An archive may come from anybody, and a few bytes of it can unfold to all the memory there is.
        manifest.take(LARGEST_MANIFEST_BYTES).read_to_end(&mut text).map_err(unreadable)?;
        let manifest: Manifest = serde_json::from_slice(&text).map_err(|error| not_an_archive(path, &error))?;
        // A later version may mean something else by the same names.
        if manifest.version != VERSION {
            return Err(not_an_archive(path, &"its manifest is of another version"));
        }
        Ok(Some(Archive { path: path.to_owned(), zip, manifest }))
    }

    /// Returns the zones of the rows.
    pub fn time_zones(&self) -> &[String] {
        &self.manifest.time_zones
    }

    /// Returns the data files.
    pub fn entries(&self) -> Result<Vec<Entry>, Failure> {
        let entry = |file: &FileOfArchive| {
            let form = Form::of(&file.name);
            let form = form.ok_or_else(|| self.refused("it has files that are neither CSV nor Parquet"))?;
            let data_type = DataType::from_name(&file.data_type);
            let data_type = data_type.ok_or_else(|| self.refused("it has an unknown data type"))?;
            let FileOfArchive { name, rows, bytes, sha256, .. } = file;
            let (name, sha256) = (name.clone(), sha256.to_ascii_lowercase());
            Ok(Entry { name, data_type, form, rows: *rows, bytes: *bytes, sha256 })
        };
        self.manifest.files.iter().map(entry).collect()
    }

    /// Returns the rows of a data file of columns. It is taken out of the archive first: Parquet is read from its end.
    pub fn streams(&mut self, entry: &Entry, zones: RowZones) -> Result<Streams, Failure> {
        let name = self.path.join(&entry.name);
        let mut packed = self.packed(entry, 0)?;
        // Without a name, so that nothing is left of a patient's data when the program is killed.
        let unpacked = tempfile::tempfile().and_then(|mut file| {
            std::io::copy(&mut packed, &mut file)?;
            Ok(file)
        });
        Streams::open(unpacked.map_err(|error| Failure::file("unpack", &name, error))?, &name, zones)
    }

    /// Returns the rows of a data file of lines.
    pub fn rows(&mut self, entry: &Entry) -> Result<Rows<'_>, Failure> {
        let name = self.path.join(&entry.name);
        let file = self.packed(entry, 0)?;
        Rows::read(Box::new(BufReader::with_capacity(1 << 16, file)), &name, entry.data_type)
    }

    /// Returns what a data file unpacks to, up to the size that the manifest gives and so many bytes more.
    pub(super) fn packed<'own>(
        &'own mut self,
        entry: &Entry,
        more_bytes: u64,
    ) -> Result<impl Read + use<'own>, Failure> {
        let packed = self.zip.by_name(&entry.name);
        let packed = packed.map_err(|error| not_an_archive(&self.path, &format!("`{}`: {error}", entry.name)))?;
        // Held to the promise of the manifest, which its hash then confirms: no entry unfolds further.
        Ok(packed.take(entry.bytes.saturating_add(more_bytes)))
    }

    /// Returns the names of what looks like data in the archive, whatever its manifest says.
    pub(super) fn data_files(&self) -> Result<Vec<String>, Failure> {
        let mut names = Vec::new();
        for name in self.zip.file_names() {
            let name = name.map_err(|error| not_an_archive(&self.path, &error))?;
            if Form::of(&name).is_some() {
                names.push(name.into_owned());
            }
        }
        Ok(names)
    }

    /// Returns why the archive is not taken.
    pub(super) fn refused(&self, reason: &str) -> Failure {
        not_an_archive(&self.path, &reason)
    }
}

fn not_an_archive(path: &Path, reason: &dyn std::fmt::Display) -> Failure {
    Failure::Other(format!("{}: not the archive of an export: {reason}", path.display()))
}
