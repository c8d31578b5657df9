//! `manifest.json`: what was asked for, what is in the archive, what wrote it. Nothing of when, so that the same data
//! give the same bytes.

use std::collections::BTreeSet;

use serde::Serialize;
use vitals::zone::{ZoneName, local_text};

use super::archive::WrittenEntry;
use super::request::{ArchiveCompression, ArchiveFormat, ExportRequest};
use crate::core::error::{PlatformError, Result};
use store::PatientId;

/// Raised when a reader of this version could not understand what is written.
const VERSION: u32 = 1;

/// A data file of the archive.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FileOfArchive {
    /// Its name in the archive.
    pub name: String,
    /// The data type.
    #[serde(rename = "type")]
    pub data_type: &'static str,
    /// Rows, without the header.
    pub rows: u64,
    /// Time of the first row, ms since 1970.
    pub first_timestamp: i64,
    /// Time of the last row, ms since 1970.
    pub last_timestamp: i64,
    /// Size when it is unpacked.
    pub bytes: u64,
    /// SHA-256 of it.
    pub sha256: String,
}

#[derive(Serialize)]
struct Manifest<'a> {
    version: u32,
    software: Software,
    request: Request<'a>,
    time_zones: Vec<&'a str>,
    files: &'a [FileOfArchive],
    data_dictionary: Description<'a>,
}

#[derive(Serialize)]
struct Software {
    name: &'static str,
    version: &'static str,
    /// Of the tables that gave the local days.
    time_zone_tables: &'static str,
}

#[derive(Serialize)]
struct Request<'a> {
    patient: &'a PatientId,
    types: Vec<&'static str>,
    client_date_from: String,
    client_date_to: String,
    format: ArchiveFormat,
    compression: ArchiveCompression,
}

#[derive(Serialize)]
struct Description<'a> {
    name: &'a str,
    bytes: u64,
    sha256: &'a str,
}

/// Returns the manifest of an archive.
pub(super) fn manifest(
    patient: &PatientId,
    request: &ExportRequest,
    zones: &BTreeSet<ZoneName>,
    files: &[FileOfArchive],
    dictionary: (&str, &WrittenEntry),
) -> Result<Vec<u8>> {
    let manifest = Manifest {
        version: VERSION,
        software: Software {
            name: "pulseward",
            version: env!("CARGO_PKG_VERSION"),
            time_zone_tables: vitals::zone::tables_version(),
        },
        request: Request {
            patient,
            types: request.types().iter().map(|data_type| data_type.name()).collect(),
            client_date_from: local_text(request.from_local_ms),
            client_date_to: local_text(request.to_local_ms),
            format: request.format,
            compression: request.compression,
        },
        time_zones: zones.iter().map(|zone| &**zone).collect(),
        files,
        data_dictionary: Description { name: dictionary.0, bytes: dictionary.1.bytes, sha256: &dictionary.1.sha256 },
    };
    let mut text = serde_json::to_vec_pretty(&manifest).map_err(|error| PlatformError::Internal(error.to_string()))?;
    text.push(b'\n');
    Ok(text)
}
