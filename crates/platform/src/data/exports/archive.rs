//! A ZIP archive that is written from its beginning to its end, without going back.
//!
//! Sizes and checksums follow the entries, because they are known only then, and every entry may be larger than 4 GiB.
//! Nothing of the time or the machine of writing goes into it, so the same entries give the same bytes.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};
use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::request::ArchiveCompression;
use crate::core::error::{PlatformError, Result};
use crate::core::ids::hex;

/// Measured in docs/benchmarks.md: the lowest level whose archives are as small as those of gzip at its default.
const DEFLATE_LEVEL: i64 = 6;
/// What is compressed is handed over in pieces of this size. What a compressor makes of a text depends a little on the
/// pieces it comes in, and those depend on how the samples lie in chunks and segments.
const PIECE_BYTES: usize = 256 << 10;
/// Bytes of the archive that are taken at once.
const TAKEN_AT: usize = 1 << 20;
/// May be read by everyone and written by the owner, as unpacked.
const PERMISSIONS: u32 = 0o644;

/// An archive that is being written.
pub(super) struct Archive {
    zip: ZipWriter<StreamWriter<Outlet>>,
    outlet: Outlet,
    compression: ArchiveCompression,
    open: Option<OpenEntry>,
}

struct OpenEntry {
    hash: Sha256,
    bytes: u64,
    /// Less than a piece that waits for more.
    waiting: Vec<u8>,
}

/// An entry that is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WrittenEntry {
    /// Size when it is unpacked.
    pub bytes: u64,
    /// SHA-256 of it, in hexadecimal.
    pub sha256: String,
}

/// What has been written and not been taken yet.
#[derive(Clone, Default)]
struct Outlet(Arc<Mutex<Vec<u8>>>);

impl Outlet {
    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Outlet {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut written = self.bytes();
        if written.capacity() == 0 {
            written.reserve(TAKEN_AT + PIECE_BYTES);
        }
        written.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Archive {
    pub(super) fn new(compression: ArchiveCompression) -> Self {
        let outlet = Outlet::default();
        Archive { zip: ZipWriter::new_stream(outlet.clone()), outlet, compression, open: None }
    }

    /// Begins an entry of text.
    pub(super) fn begin(&mut self, name: &str) -> Result<()> {
        let method = match self.compression {
            ArchiveCompression::Deflate => CompressionMethod::Deflated,
            ArchiveCompression::Store => CompressionMethod::Stored,
        };
        self.begin_with(name, method)
    }

    /// Begins an entry of bytes that are compressed already.
    pub(super) fn begin_stored(&mut self, name: &str) -> Result<()> {
        self.begin_with(name, CompressionMethod::Stored)
    }

    fn begin_with(&mut self, name: &str, method: CompressionMethod) -> Result<()> {
        let level = (method == CompressionMethod::Deflated).then_some(DEFLATE_LEVEL);
        // No time of writing: the same samples give the same bytes, whichever node writes the archive and when.
        let options = SimpleFileOptions::default()
            .compression_method(method)
            .compression_level(level)
            .last_modified_time(DateTime::default())
            .unix_permissions(PERMISSIONS)
            // The size is not known before an entry is written, and above 4 GiB its header has to be one of Zip64.
            .large_file(true);
        self.zip.start_file(name, options).map_err(failed)?;
        self.open = Some(OpenEntry { hash: Sha256::new(), bytes: 0, waiting: Vec::new() });
        Ok(())
    }

    /// Adds bytes to the entry that was begun last.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let Some(open) = &mut self.open else { return Err(failed("no entry is open")) };
        open.bytes += bytes.len() as u64;
        let mut rest = bytes;
        while open.waiting.len() + rest.len() >= PIECE_BYTES {
            let (piece, after) = rest.split_at(PIECE_BYTES - open.waiting.len());
            // Piece by piece, so that it is still in the cache when its other checksum is made.
            open.hash.update(piece);
            if open.waiting.is_empty() {
                self.zip.write_all(piece).map_err(failed)?;
            } else {
                open.waiting.extend_from_slice(piece);
                self.zip.write_all(&open.waiting).map_err(failed)?;
                open.waiting.clear();
            }
            rest = after;
        }
        open.hash.update(rest);
        open.waiting.extend_from_slice(rest);
        Ok(())
    }

    /// Ends the entry that was begun last.
    pub(super) fn end(&mut self) -> Result<WrittenEntry> {
        let open = self.open.take().ok_or_else(|| failed("no entry is open"))?;
        self.zip.write_all(&open.waiting).map_err(failed)?;
        Ok(WrittenEntry { bytes: open.bytes, sha256: hex(&open.hash.finalize()) })
    }

    /// Returns what has been written and not been taken, once it is a piece that is worth sending.
    pub(super) fn take_piece(&mut self) -> Option<Vec<u8>> {
        let mut written = self.outlet.bytes();
        (written.len() >= TAKEN_AT).then(|| std::mem::take(&mut *written))
    }

    /// Returns all that has not been taken, to the end of the archive.
    pub(super) fn finish(self) -> Result<Vec<u8>> {
        self.zip.finish().map_err(failed)?;
        Ok(std::mem::take(&mut *self.outlet.bytes()))
    }
}

fn failed(error: impl std::fmt::Display) -> PlatformError {
    PlatformError::Internal(format!("writing an archive: {error}"))
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read};

    use super::*;

    /// Returns an archive whose text is handed over in parts of a size.
    fn archive(compression: ArchiveCompression, part: usize) -> (Vec<u8>, WrittenEntry) {
        let rows: Vec<String> =
            (0..100_000_u32).map(|row| format!("{},{}\n", row * 16, row.wrapping_mul(row) % 977)).collect();
        let text = rows.concat();
        let mut archive = Archive::new(compression);
        archive.begin("a.csv").expect("begun");
        let mut bytes = Vec::new();
        for part in text.as_bytes().chunks(part) {
            archive.write(part).expect("written");
            bytes.extend(archive.take_piece().unwrap_or_default());
        }
        let entry = archive.end().expect("ended");
        archive.begin_stored("b.parquet").expect("begun");
        archive.write(b"PAR1").expect("written");
        archive.end().expect("ended");
        bytes.extend(archive.finish().expect("finished"));
        (bytes, entry)
    }

    #[test]
    fn what_goes_in_comes_out_and_the_bytes_are_always_the_same() {
        for compression in [ArchiveCompression::Deflate, ArchiveCompression::Store] {
            let (bytes, entry) = archive(compression, usize::MAX);
            for part in [999, 70_000, PIECE_BYTES, PIECE_BYTES + 1] {
                assert!(archive(compression, part) == (bytes.clone(), entry.clone()), "{part}");
            }
            let mut read = zip::ZipArchive::new(Cursor::new(&bytes)).expect("an archive");
            let mut text = Vec::new();
            read.by_name("a.csv").expect("an entry").read_to_end(&mut text).expect("read");
            assert_eq!((text.len() as u64, hex(&Sha256::digest(&text))), (entry.bytes, entry.sha256));
            assert_eq!(read.by_name("b.parquet").expect("an entry").size(), 4);
            assert_eq!(bytes.len() < text.len() / 2, compression == ArchiveCompression::Deflate);
        }
    }
}
