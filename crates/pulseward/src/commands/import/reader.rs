//! Reads a CSV file row by row, unpacked on the way when it is compressed.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, stdin};
use std::path::{Path, PathBuf};

use csv::{Reader, ReaderBuilder, StringRecord};
use flate2::bufread::MultiGzDecoder;
use vitals::registry::DataType;

use crate::failure::Failure;

/// The longest row that is read, in bytes: many times what a row with the longest texts takes.
const LONGEST_ROW_BYTES: usize = 1 << 20;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The rows of one file.
pub struct Rows<'bytes> {
    path: PathBuf,
    reader: Reader<Bounded<'bytes>>,
    columns: Vec<Option<String>>,
    line: u64,
}

impl<'bytes> Rows<'bytes> {
    /// Opens a file and checks its header against the columns of the data type. Nothing has been sent yet when a
    /// column is not known.
    pub fn open(path: &Path, data_type: DataType) -> Result<Self, Failure> {
        let unreadable = |error| Failure::file("read", path, error);
        let plain: Box<dyn Read> = if path == Path::new("-") {
            Box::new(stdin().lock())
        } else {
            Box::new(File::open(path).map_err(unreadable)?)
        };
        let bytes = unpack(plain).map_err(unreadable)?;
        Self::read(bytes, path, data_type)
    }

    /// Reads bytes that are not compressed; `path` is what they are called in messages.
    pub fn read(bytes: Box<dyn Read + 'bytes>, path: &Path, data_type: DataType) -> Result<Self, Failure> {
        let mut reader = ReaderBuilder::new().from_reader(Bounded { bytes, of_row: 0 });
        let header = reader.headers().map_err(|error| not_csv(path, &error))?.clone();
        let mut columns = Vec::new();
        // All of the header before the first row: a misspelt column is reported before anything has been sent.
        for name in &header {
            // Spreadsheets put a mark of the byte order before the first name.
            columns.push(column(name.trim_start_matches('\u{feff}').trim(), data_type, path)?);
        }
        if !columns.iter().flatten().any(|name| name == "timestamp") {
            return Err(Failure::Other(format!("{}: there is no column `timestamp`", path.display())));
        }
        Ok(Rows { path: path.to_owned(), reader, columns, line: 1 })
    }

    /// Returns the names of the columns; none for one that is left out.
    pub fn columns(&self) -> &[Option<String>] {
        &self.columns
    }

    /// Returns the position of the local date, where there is one.
    pub fn date_position(&mut self) -> Option<usize> {
        self.reader.headers().ok()?.iter().position(|name| name == "date")
    }

    /// Returns the next row.
    pub fn next(&mut self) -> Result<Option<StringRecord>, Failure> {
        let mut record = StringRecord::new();
        // The reader reads ahead, so this bounds what is read while a row is looked for, and not its exact length.
        self.reader.get_mut().of_row = 0;
        let more = self.reader.read_record(&mut record).map_err(|error| not_csv(&self.path, &error))?;
        self.line = record.position().map_or(self.line, csv::Position::line);
        Ok(more.then_some(record))
    }

    /// Returns what the file is called in messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the line in which the row read last begins.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Returns an error that names the line of the row read last.
    pub fn at_this_line(&self, reason: &str) -> Failure {
        Failure::Other(format!("{}, line {}: {reason}", self.path.display(), self.line))
    }
}

/// Bytes of which no more are read for one row than it may have. A quote that is never closed would otherwise be held
/// whole.
struct Bounded<'bytes> {
    bytes: Box<dyn Read + 'bytes>,
    of_row: usize,
}

impl Read for Bounded<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.of_row > LONGEST_ROW_BYTES {
            let reason = format!("a row is longer than {LONGEST_ROW_BYTES} bytes");
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, reason));
        }
        let count = self.bytes.read(into)?;
        self.of_row += count;
        Ok(count)
    }
}

/// Returns the name of a column to send, none for `date`, which follows from the timestamp.
fn column(name: &str, data_type: DataType, path: &Path) -> Result<Option<String>, Failure> {
    match name {
        "date" => Ok(None),
        "timestamp" => Ok(Some(name.to_owned())),
        _ if data_type.column(name).is_some() => Ok(Some(name.to_owned())),
        _ => {
            let known: Vec<&str> = data_type.columns().iter().map(|column| column.name).collect();
            let (path, kind, known) = (path.display(), data_type.name(), known.join(", "));
            Err(Failure::Other(format!("{path}: {kind} has no column `{name}`; it has timestamp, {known}")))
        }
    }
}

fn unpack(plain: Box<dyn Read>) -> std::io::Result<Box<dyn Read>> {
    let mut buffered = BufReader::with_capacity(1 << 16, plain);
    // By content, since standard input has no name; files of several members are what parallel packers write.
    let is_gzip = buffered.fill_buf()?.starts_with(&GZIP_MAGIC);
    Ok(if is_gzip { Box::new(MultiGzDecoder::new(buffered)) } else { Box::new(buffered) })
}

fn not_csv(path: &Path, error: &csv::Error) -> Failure {
    Failure::Other(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn rows(bytes: &'static [u8]) -> Result<Rows<'static>, Failure> {
        Rows::read(unpack(Box::new(bytes)).unwrap(), Path::new("t.csv"), DataType::Activity)
    }

    #[test]
    fn the_derived_date_is_left_out_and_a_byte_order_mark_does_not_matter() {
        let mut rows = rows("\u{feff}timestamp,date,bpm\n1,x,61\n2,y,\n".as_bytes()).unwrap();
        assert_eq!(rows.columns(), [Some("timestamp".to_owned()), None, Some("bpm".to_owned())]);
        assert_eq!(rows.next().unwrap().unwrap(), vec!["1", "x", "61"]);
        assert_eq!(rows.next().unwrap().unwrap(), vec!["2", "y", ""]);
        assert!(rows.at_this_line("so").to_string().contains("line 3"));
        assert!(rows.next().unwrap().is_none());
    }

    #[test]
    fn an_unknown_column_is_refused_before_anything_is_sent() {
        let Err(failure) = rows(b"timestamp,pulse\n1,61\n") else { panic!() };
        assert!(failure.to_string().contains("no column `pulse`"), "{failure}");
        assert!(rows(b"bpm\n61\n").is_err());
        assert!(rows(b"").is_err());
    }

    #[test]
    fn a_row_of_another_length_is_an_error() {
        let mut rows = rows(b"timestamp,bpm\n1,61\n2\n").unwrap();
        rows.next().unwrap();
        assert!(rows.next().unwrap_err().to_string().contains("line: 3"));
    }

    #[test]
    fn a_row_without_end_is_not_held() {
        let endless = std::io::Cursor::new(b"timestamp,bpm\n1,61\n2,\"").chain(std::io::repeat(b'x'));
        let mut rows = Rows::read(Box::new(endless), Path::new("t.csv"), DataType::Activity).unwrap();
        rows.next().unwrap();
        assert!(rows.next().unwrap_err().to_string().contains("longer than 1048576 bytes"));
        let many = "123456,61\n".repeat(200_000);
        let bytes = std::io::Cursor::new(format!("timestamp,bpm\n{many}"));
        let mut rows = Rows::read(Box::new(bytes), Path::new("t.csv"), DataType::Activity).unwrap();
        let mut count = 0;
        while rows.next().unwrap().is_some() {
            count += 1;
        }
        assert_eq!(count, 200_000);
    }

    #[test]
    fn compressed_files_are_known_by_their_content() {
        let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(b"timestamp\n7\n").unwrap();
        let mut text = String::new();
        let bytes: &'static [u8] = packed.finish().unwrap().leak();
        unpack(Box::new(bytes)).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "timestamp\n7\n");
    }
}
