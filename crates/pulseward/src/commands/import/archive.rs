//! Reads the archive of an export.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use vitals::registry::DataType;
use zip::ZipArchive;

use super::columnar::Streams;
use super::reader::Rows;
use crate::failure::Failure;

const MANIFEST: &str = "manifest.json";
const ZIP_MAGIC: [u8; 4] = *b"PK\x03\x04";
/// Versions of the manifest that are understood.
const VERSION: u32 = 1;

/// An archive with its manifest.
pub struct Archive {
    path: PathBuf,
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
}

/// A data file of an archive.
pub struct Entry {
    name: String,
    /// What its rows are.
    pub data_type: DataType,
    /// How they are written.
    pub form: Form,
}

/// How the rows of a data file are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As lines of text.
    Csv,
    /// As columns.
    Parquet,
}

impl Archive {
    /// Opens a file; none when it is no ZIP archive.
    pub fn open(path: &Path) -> Result<Option<Self>, Failure> {
        let unreadable = |error| Failure::file("read", path, error);
        if path == Path::new("-") {
            return Ok(None);
        }
        let mut magic = Vec::new();
        File::open(path).map_err(unreadable)?.take(4).read_to_end(&mut magic).map_err(unreadable)?;
        if magic != ZIP_MAGIC {
            return Ok(None);
        }
        let file = BufReader::with_capacity(1 << 16, File::open(path).map_err(unreadable)?);
        let mut zip = ZipArchive::new(file).map_err(|error| not_an_archive(path, &error))?;
        let manifest = zip.by_name(MANIFEST).map_err(|error| not_an_archive(path, &error))?;
        let manifest: Manifest = serde_json::from_reader(manifest).map_err(|error| not_an_archive(path, &error))?;
        if manifest.version != VERSION {
            return Err(not_an_archive(path, &"its manifest is of another version"));
        }
        Ok(Some(Archive { path: path.to_owned(), zip, manifest }))
    }

    /// The zones of the rows.
    pub fn time_zones(&self) -> &[String] {
        &self.manifest.time_zones
    }

    /// The data files.
    pub fn entries(&self) -> Result<Vec<Entry>, Failure> {
        let entry = |file: &FileOfArchive| {
            let form = match file.name.rsplit_once('.') {
                Some((_, "csv")) => Form::Csv,
                Some((_, "parquet")) => Form::Parquet,
                _ => return Err(not_an_archive(&self.path, &"it has files that are neither CSV nor Parquet")),
            };
            let data_type = DataType::from_name(&file.data_type);
            let data_type = data_type.ok_or_else(|| not_an_archive(&self.path, &"it has an unknown data type"))?;
            Ok(Entry { name: file.name.clone(), data_type, form })
        };
        self.manifest.files.iter().map(entry).collect()
    }

    /// The rows of a data file of columns. It is taken out of the archive first: Parquet is read from its end.
    pub fn streams(&mut self, entry: &Entry, with_zones: bool) -> Result<Streams, Failure> {
        let name = self.path.join(&entry.name);
        let mut packed = self.zip.by_name(&entry.name).map_err(|error| not_an_archive(&self.path, &error))?;
        let unpacked = tempfile::tempfile().and_then(|mut file| {
            std::io::copy(&mut packed, &mut file)?;
            Ok(file)
        });
        Streams::read(unpacked.map_err(|error| Failure::file("unpack", &name, error))?, &name, with_zones)
    }

    /// The rows of a data file of lines.
    pub fn rows(&mut self, entry: &Entry) -> Result<Rows<'_>, Failure> {
        let name = self.path.join(&entry.name);
        let file = self.zip.by_name(&entry.name).map_err(|error| not_an_archive(&self.path, &error))?;
        Rows::read(Box::new(BufReader::with_capacity(1 << 16, file)), &name, entry.data_type)
    }
}

fn not_an_archive(path: &Path, reason: &dyn std::fmt::Display) -> Failure {
    Failure::Other(format!("{}: not the archive of an export: {reason}", path.display()))
}
