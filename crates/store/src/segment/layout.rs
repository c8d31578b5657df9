//! How a segment is laid out: encodings, and the list of its pieces.

use std::collections::BTreeSet;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;
use serde::{Deserialize, Serialize};
use vitals::registry::{Channel, DataType, Kind};
use vitals::zone::ZoneName;

use super::block_sums::BlockSummer;
use super::name::SegmentName;
use crate::columnar::{TIMESTAMP, ZONE};
use crate::error::{Result, StoreError};
use crate::ids::PatientId;

/// Rows of a page: what must be decoded at least to get at one row.
pub(super) const PAGE_ROWS: usize = 16_384;
/// Rows of a page of the columns that accompany a signal. They hardly vary, so that a page costs its header and an
/// entry in the index rather than its rows.
const COMPANION_PAGE_ROWS: usize = 4 * PAGE_ROWS;
/// Rows of a row group: what the writer holds encoded in memory before it is sent off.
const ROW_GROUP_ROWS: usize = 64 * PAGE_ROWS;
const ZSTD_LEVEL: i32 = 1;
/// Raised when a reader of this version could not read what is written.
const FORMAT_VERSION: &str = "2";
/// What is read: format 1 had decimals as `DECIMAL`.
const READABLE_VERSIONS: [&str; 2] = ["1", FORMAT_VERSION];

const FORMAT_KEY: &str = "pulseward.format";
const TYPE_KEY: &str = "pulseward.data_type";
const PATIENT_KEY: &str = "pulseward.patient";
const SOFTWARE_KEY: &str = "pulseward.software";
const PIECES_KEY: &str = "pulseward.pieces";
const ZONES_KEY: &str = "pulseward.zones";
const SUMS_KEY: &str = "pulseward.checksums";

/// Order of the rows of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOrder {
    /// By time, and then by channel.
    Time,
    /// Channel after channel in each piece.
    Channel,
}

impl RowOrder {
    /// Returns the order of sealed rows: with one channel, channel after channel is the order of time.
    fn of_sealed(data_type: DataType) -> Self {
        if data_type.channel_columns().is_empty() { RowOrder::Time } else { RowOrder::Channel }
    }

    /// Returns what the file says of it to readers, which then need not sort.
    fn sorting_columns(self) -> Option<Vec<SortingColumn>> {
        let by_time = SortingColumn { column_idx: 0, descending: false, nulls_first: false };
        (self == RowOrder::Time).then(|| vec![by_time])
    }
}

/// Returns the settings of a segment's file. Measured in docs/benchmarks.md: integers differenced and packed, a dictionary
/// for floats and for columns of few texts, zstd at its lowest level.
pub(super) fn properties(name: &SegmentName) -> Result<WriterProperties> {
    file_properties(name.data_type, &name.patient, RowOrder::of_sealed(name.data_type))
}

/// Returns the settings of any Parquet file of one patient and type, in a segment or as an answer.
pub fn file_properties(data_type: DataType, patient: &PatientId, order: RowOrder) -> Result<WriterProperties> {
    let level = ZstdLevel::try_new(ZSTD_LEVEL).map_err(|error| StoreError::Damaged(error.to_string()))?;
    let key_values = [
        (FORMAT_KEY, FORMAT_VERSION.to_owned()),
        (TYPE_KEY, data_type.name().to_owned()),
        (PATIENT_KEY, patient.to_string()),
        (SOFTWARE_KEY, env!("CARGO_PKG_VERSION").to_owned()),
    ];
    let mut builder = WriterProperties::builder()
        // Pages of the second version are refused by some readers that analysts use.
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_created_by(concat!("pulseward ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(level))
        .set_encoding(Encoding::DELTA_BINARY_PACKED)
        .set_dictionary_enabled(false)
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_sorting_columns(order.sorting_columns())
        // The smallest and largest of each page are kept for the time only; of the others they help no query.
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_column_statistics_enabled(ColumnPath::from(TIMESTAMP), EnabledStatistics::Page)
        .set_key_value_metadata(Some(key_values.map(|(key, value)| KeyValue::new(key.to_owned(), value)).to_vec()));
    for column in float_columns(data_type) {
        // Where a dictionary gets too large, zstd still finds the floats that repeat, unless their bytes are split.
        let path = ColumnPath::from(column);
        builder = builder.set_column_dictionary_enabled(path.clone(), true).set_column_encoding(path, Encoding::PLAIN);
    }
    for column in text_columns(data_type) {
        let path = ColumnPath::from(column);
        builder = builder
            .set_column_dictionary_enabled(path.clone(), true)
            .set_column_encoding(path, Encoding::DELTA_LENGTH_BYTE_ARRAY);
    }
    if data_type.is_waveform() {
        for column in companions(data_type) {
            builder = builder.set_column_data_page_row_count_limit(ColumnPath::from(column), COMPANION_PAGE_ROWS);
        }
    }
    Ok(builder.build())
}

/// Returns the columns that accompany a signal.
fn companions(data_type: DataType) -> impl Iterator<Item = &'static str> {
    let others = data_type.columns().iter().filter(|column| !column.is_signal);
    others.map(|column| column.name).chain([ZONE])
}

fn float_columns(data_type: DataType) -> impl Iterator<Item = &'static str> {
    data_type.columns().iter().filter(|column| column.decimals() > 0).map(|column| column.name)
}

fn text_columns(data_type: DataType) -> impl Iterator<Item = &'static str> {
    let columns = data_type.columns().iter();
    let texts = columns.filter(|column| !matches!(column.kind, Kind::Number { .. }));
    texts.map(|column| column.name).chain([ZONE])
}

/// Some rows of a segment: a stretch of time, channel after channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Time of the earliest row, µs.
    pub(super) first_us: i64,
    /// Time of the latest row, µs.
    pub(super) last_us: i64,
    /// The channels in the order of the file, and how many rows each has.
    pub(super) runs: Vec<(Channel, usize)>,
    /// Whether a column was left out because it repeats another.
    pub(super) is_repeated: bool,
}

/// The pieces as they are kept in the file's metadata, as JSON.
#[derive(Serialize, Deserialize)]
struct PieceList {
    /// All channels of the file.
    channels: Vec<i64>,
    /// Of each piece: µs from the start of the piece before, µs from its first row to its last, then the number of
    /// rows of each channel.
    pieces: Vec<Vec<i64>>,
    /// Places in the list of the pieces of which a column was left out because it repeats another.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    repeated: Vec<usize>,
}

/// Returns the metadata entry that lists the pieces.
pub(super) fn write_pieces(pieces: &[Piece]) -> Result<KeyValue> {
    let mut channels: Vec<Channel> = pieces.iter().flat_map(|piece| &piece.runs).map(|(channel, _)| *channel).collect();
    channels.sort_unstable();
    channels.dedup();
    let channel_numbers = channels.iter().map(|channel| channel.0).collect();
    let mut list = PieceList { channels: channel_numbers, pieces: Vec::new(), repeated: Vec::new() };
    let mut before_us = 0;
    for (place, piece) in pieces.iter().enumerate() {
        list.repeated.extend(piece.is_repeated.then_some(place));
        let mut entry = vec![piece.first_us - before_us, piece.last_us - piece.first_us];
        let rows_of = |channel: &Channel| piece.runs.iter().find(|(of, _)| of == channel).map_or(0, |(_, rows)| *rows);
        entry.extend(channels.iter().map(|channel| rows_of(channel) as i64));
        list.pieces.push(entry);
        before_us = piece.first_us;
    }
    let text = serde_json::to_string(&list).map_err(|error| StoreError::Damaged(error.to_string()))?;
    Ok(KeyValue::new(PIECES_KEY.to_owned(), text))
}

/// Returns the metadata entry that lists the time zones of the rows, so that they are known without reading any.
pub(super) fn write_zones(zones: &BTreeSet<ZoneName>) -> Result<KeyValue> {
    let names: Vec<&str> = zones.iter().map(|zone| &**zone).collect();
    let text = serde_json::to_string(&names).map_err(|error| StoreError::Damaged(error.to_string()))?;
    Ok(KeyValue::new(ZONES_KEY.to_owned(), text))
}

/// Returns the time zones that a file's metadata list; none in files that were written before they did.
pub(super) fn read_zones(metadata: Option<&Vec<KeyValue>>) -> Vec<ZoneName> {
    let names: Option<Vec<String>> = value_of(metadata, ZONES_KEY).and_then(|text| serde_json::from_str(text).ok());
    names.unwrap_or_default().into_iter().map(ZoneName::from).collect()
}

/// Returns the metadata entry that lists the checksums of everything before the metadata.
pub(super) fn write_sums(sums: BlockSummer) -> KeyValue {
    KeyValue::new(SUMS_KEY.to_owned(), sums.finish())
}

/// Returns the list of checksums; `None` in files that were written before there were any.
pub(super) fn sums_text(metadata: Option<&Vec<KeyValue>>) -> Option<&str> {
    value_of(metadata, SUMS_KEY)
}

/// Returns whether a file's metadata name the format that is written.
pub(super) fn is_of_present_format(metadata: Option<&Vec<KeyValue>>) -> bool {
    value_of(metadata, FORMAT_KEY) == Some(FORMAT_VERSION)
}

/// Returns the data type that a file's metadata name; `None` of a file that is not ours.
pub(super) fn data_type_of(metadata: Option<&Vec<KeyValue>>) -> Option<DataType> {
    value_of(metadata, TYPE_KEY).and_then(DataType::from_name)
}

/// Returns whether a file's metadata list pieces: those of an answer do not.
pub(super) fn has_pieces(metadata: Option<&Vec<KeyValue>>) -> bool {
    value_of(metadata, PIECES_KEY).is_some()
}

fn value_of<'metadata>(metadata: Option<&'metadata Vec<KeyValue>>, key: &str) -> Option<&'metadata str> {
    metadata?.iter().find(|entry| entry.key == key)?.value.as_deref()
}

/// Returns the pieces that a file's metadata list.
///
/// # Errors
/// [`StoreError::Damaged`] when there is no such list, or it is of another format or another number of rows.
pub(super) fn read_pieces(metadata: Option<&Vec<KeyValue>>, file_rows: usize) -> Result<Vec<Piece>> {
    let wrong = |what: &str| StoreError::Damaged(format!("a segment's {what} cannot be read"));
    // The list of another format could have the same shape and mean something else.
    if !value_of(metadata, FORMAT_KEY).is_some_and(|format| READABLE_VERSIONS.contains(&format)) {
        return Err(wrong("format"));
    }
    let list: Option<PieceList> = value_of(metadata, PIECES_KEY).and_then(|text| serde_json::from_str(text).ok());
    let list = list.ok_or_else(|| wrong("list of pieces"))?;
    let mut pieces = Vec::with_capacity(list.pieces.len());
    let (mut before_us, mut rows) = (0, 0_usize);
    for entry in list.pieces {
        let [step_us, span_us, counts @ ..] = entry.as_slice() else {
            return Err(wrong("list of pieces"));
        };
        let (piece, piece_rows) =
            piece_of(before_us, (*step_us, *span_us), &list.channels, counts).ok_or_else(|| wrong("list of pieces"))?;
        rows = piece_rows.checked_add(rows).ok_or_else(|| wrong("list of pieces"))?;
        let first_us = piece.first_us;
        pieces.push(piece);
        before_us = first_us;
    }
    for place in list.repeated {
        pieces.get_mut(place).ok_or_else(|| wrong("list of pieces"))?.is_repeated = true;
    }
    // Rows are distinguished by this list alone: a wrong count would give rows of one channel to another.
    if rows == file_rows { Ok(pieces) } else { Err(wrong("list of pieces")) }
}

/// One entry of the list, and how many rows it has; `None` where its numbers lead beyond what a file can hold.
fn piece_of(
    before_us: i64,
    (step_us, span_us): (i64, i64),
    channels: &[i64],
    counts: &[i64],
) -> Option<(Piece, usize)> {
    let first_us = before_us.checked_add(step_us)?;
    let last_us = first_us.checked_add(span_us)?;
    let mut rows = 0_usize;
    let mut runs = Vec::new();
    for (channel, count) in channels.iter().zip(counts).filter(|(_, count)| **count > 0) {
        let count = usize::try_from(*count).ok()?;
        // Sums that wrap could come to the number of rows by chance.
        rows = rows.checked_add(count)?;
        runs.push((Channel(*channel), count));
    }
    Some((Piece { first_us, last_us, runs, is_repeated: false }, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(list: &str, file_rows: usize) -> Result<Vec<Piece>> {
        let entry = |key: &str, value: &str| KeyValue::new(key.to_owned(), value.to_owned());
        read_pieces(Some(&vec![entry(FORMAT_KEY, FORMAT_VERSION), entry(PIECES_KEY, list)]), file_rows)
    }

    #[test]
    fn list_of_pieces_is_read_back() {
        let pieces = [
            Piece { first_us: 10, last_us: 20, runs: vec![(Channel(0), 2), (Channel(3), 1)], is_repeated: false },
            Piece { first_us: 21, last_us: 21, runs: vec![(Channel(3), 1)], is_repeated: true },
        ];
        let list = write_pieces(&pieces).expect("a list").value.expect("a text");
        assert_eq!(read(&list, 4).expect("pieces"), pieces);
        assert!(matches!(read(&list, 5), Err(StoreError::Damaged(_))));
    }

    #[test]
    fn numbers_that_no_file_can_hold_are_damage() {
        let most = i64::MAX;
        for list in [
            // Sums that wrap to 1, the number of rows of the file.
            format!(r#"{{"channels":[0,1,2],"pieces":[[0,1,{most},{most},3]]}}"#),
            format!(r#"{{"channels":[0],"pieces":[[0,1,{most}],[2,1,{most}],[4,1,3]]}}"#),
            format!(r#"{{"channels":[0],"pieces":[[{most},1,1]]}}"#),
            format!(r#"{{"channels":[0],"pieces":[[1,0,1],[{most},0,0]]}}"#),
            r#"{"channels":[0],"pieces":[[1,0,1]],"repeated":[1]}"#.to_owned(),
        ] {
            assert!(matches!(read(&list, 1), Err(StoreError::Damaged(_))), "{list}");
        }
    }
}
