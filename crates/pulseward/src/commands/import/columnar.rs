//! Reads a Parquet file of an archive as Arrow streams of bounded size. Unlike CSV these keep the microseconds and the
//! zone of each row, so what is sent is exactly what was exported.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use store::segment::RepeatedRows;

use crate::failure::Failure;

/// Rows of one sync, so that one answer does not take long.
const ROWS: usize = 100_000;
/// The column of the rows' zones.
const ZONE: &str = "zone";

/// What becomes of the zones that the rows of a file have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowZones {
    /// They go with the rows.
    Kept,
    /// They are left out, in favour of one that was asked for.
    LeftOut,
}

/// The rows of one Parquet file.
pub struct Streams {
    path: PathBuf,
    reader: ParquetRecordBatchReader,
    /// Repeated rows, which sealing leaves out and an import restores.
    repeated: RepeatedRows,
    rows: u64,
    rows_read: u64,
    zones: RowZones,
}

/// Some rows as an Arrow IPC stream.
pub struct Stream {
    /// Number of rows.
    pub rows: u64,
    /// The number of the first one in its file, from 1.
    pub first_row: u64,
    /// The stream.
    pub bytes: Vec<u8>,
}

impl Streams {
    /// Opens a file; `path` is what it is called in messages.
    pub fn open(file: File, path: &Path, zones: RowZones) -> Result<Self, Failure> {
        let found = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| failed(path, &error))?;
        let rows = u64::try_from(found.metadata().file_metadata().num_rows()).unwrap_or(0);
        let repeated = RepeatedRows::of(found.metadata().file_metadata()).map_err(|error| failed(path, &error))?;
        let reader = found.with_batch_size(ROWS).build().map_err(|error| failed(path, &error))?;
        Ok(Streams { path: path.to_owned(), reader, repeated, rows, rows_read: 0, zones })
    }

    /// Returns what the file is called in messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns how many rows the file has.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the next rows; none at the end.
    pub fn next(&mut self) -> Result<Option<Stream>, Failure> {
        let Some(batch) = self.reader.next() else { return Ok(None) };
        let encoded = batch.and_then(|batch| {
            let batch = self
                .repeated
                .restored(batch, self.rows_read)
                .map_err(|error| ArrowError::ParquetError(error.to_string()))?;
            // A zone that was asked for on the command line takes precedence over those in the file.
            let batch = if self.zones == RowZones::Kept { batch } else { without_zones(&batch)? };
            let mut writer = StreamWriter::try_new(Vec::new(), batch.schema_ref())?;
            writer.write(&batch)?;
            let (rows, first_row) = (batch.num_rows() as u64, self.rows_read + 1);
            self.rows_read += rows;
            Ok(Stream { rows, first_row, bytes: writer.into_inner()? })
        });
        encoded.map(Some).map_err(|error| failed(&self.path, &error))
    }
}

fn without_zones(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let names = batch.schema_ref().fields().iter().map(|field| field.name());
    let kept: Vec<usize> = names.enumerate().filter(|(_, name)| *name != ZONE).map(|(position, _)| position).collect();
    batch.project(&kept)
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::Other(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, StringArray};
    use arrow_ipc::reader::StreamReader;

    use super::*;

    /// Returns a file of some rows.
    fn file(rows: i64) -> File {
        let times: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
        let zones: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(|_| "Asia/Tokyo")));
        let batch = RecordBatch::try_from_iter([("timestamp", times), (ZONE, zones)]).unwrap();
        let mut writer = parquet::arrow::ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&writer.into_inner().unwrap()).unwrap();
        file.rewind().unwrap();
        file
    }

    fn columns_and_rows(stream: &Stream) -> (Vec<String>, usize) {
        let mut reader = StreamReader::try_new(&stream.bytes[..], None).unwrap();
        let names = reader.schema().fields().iter().map(|field| field.name().clone()).collect();
        (names, reader.next().unwrap().unwrap().num_rows())
    }

    #[test]
    fn many_rows_become_several_streams_and_zones_can_be_left_out() {
        let rows = ROWS + 7;
        for (zones, columns) in [(RowZones::Kept, &["timestamp", ZONE][..]), (RowZones::LeftOut, &["timestamp"])] {
            let mut streams = Streams::open(file(rows as i64), Path::new("a.parquet"), zones).unwrap();
            for (first, expected) in [(1, ROWS), (ROWS + 1, 7)] {
                let stream = streams.next().unwrap().unwrap();
                assert_eq!((stream.first_row, stream.rows), (first as u64, expected as u64));
                assert_eq!(
                    columns_and_rows(&stream),
                    (columns.iter().map(|name| (*name).to_owned()).collect(), expected)
                );
            }
            assert!(streams.next().unwrap().is_none());
        }
    }

    #[test]
    fn open_of_invalid_file_names_it_in_the_error() {
        let mut other = tempfile::tempfile().unwrap();
        other.write_all(b"PAR1 but no more").unwrap();
        let error =
            Streams::open(other, Path::new("archive.zip/ppg2/2025-11-19.parquet"), RowZones::Kept).err().unwrap();
        assert!(error.to_string().starts_with("archive.zip/ppg2/2025-11-19.parquet: "), "{error}");
    }
}
