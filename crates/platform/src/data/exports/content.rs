//! What goes into an archive, file after file.

use std::collections::BTreeSet;

use store::PatientId;
use store::segment::Verified;
use vitals::registry::Declaration;

use super::archive::{Archive, WrittenEntry};
use super::dictionary::data_dictionary;
use super::filling::Filling;
use super::local_range::LocalRange;
use super::manifest::manifest;
use super::request::{ArchiveFormat, ExportRequest};
use super::sink::Sink;
use super::{csv_files, parquet_files};
use crate::core::Core;
use crate::core::access::Readable;
use crate::core::error::Result;

const DICTIONARY: &str = "data_dictionary.csv";
const MANIFEST: &str = "manifest.json";

/// Where an archive goes, and whose rows are in it.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub path: &'a str,
    pub patient: &'a Readable<PatientId>,
}

/// Writes an archive to a path; answers its size. When this answers, the object is durable.
pub(super) async fn write_archive(
    core: &Core,
    Place { path, patient }: Place<'_>,
    request: &ExportRequest,
    interruption: &(dyn Fn() -> Result<()> + Send + Sync),
) -> Result<u64> {
    let mut filling = Filling {
        core,
        patient,
        request,
        range: LocalRange::of(request),
        sink: Sink::new(core.objects(), path, request.compression)?,
        files: Vec::new(),
        zones: BTreeSet::new(),
        verified: Verified::default(),
        interruption,
    };
    match fill(&mut filling).await {
        Ok(()) => filling.sink.finish().await,
        Err(error) => {
            filling.sink.abort().await;
            Err(error)
        }
    }
}

async fn fill(filling: &mut Filling<'_>) -> Result<()> {
    for data_type in filling.request.types() {
        match filling.request.format {
            ArchiveFormat::Csv => csv_files::add(filling, *data_type).await?,
            ArchiveFormat::Parquet => parquet_files::add(filling, *data_type).await?,
        }
    }
    // All types that were asked for, also those without rows: a reader learns that a file is missing for want of rows.
    let types: Vec<&Declaration> = filling.request.types().iter().map(|data_type| data_type.declaration()).collect();
    let dictionary = data_dictionary(&types, filling.request.format);
    let dictionary = add_text(filling, DICTIONARY, dictionary).await?;
    // Last, because it lists the checksums of all other files.
    let manifest =
        manifest(filling.patient.uuid(), filling.request, &filling.zones, &filling.files, (DICTIONARY, &dictionary))?;
    add_text(filling, MANIFEST, manifest).await?;
    Ok(())
}

async fn add_text(filling: &mut Filling<'_>, name: &'static str, text: Vec<u8>) -> Result<WrittenEntry> {
    let write = move |archive: &mut Archive| {
        archive.begin(name)?;
        archive.write(&text)?;
        archive.end()
    };
    filling.sink.write(write).await
}
