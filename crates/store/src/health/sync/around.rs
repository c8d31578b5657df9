//! What is stored around the rows of a sync, asked in as few statements as their ranges allow.

use std::collections::BTreeMap;

use vitals::block::Block;
use vitals::merge::last_write_wins;
use vitals::registry::{Channel, DataType};
use vitals::zone::DAY_US;

use super::super::chunks::Prepared;
use super::prepare::ChannelChunks;
use super::request::Sync;
use crate::engine::{Columns, Param, Row, Tx};
use crate::error::{Result, StoreError};
use crate::health::db::HealthDb;
use crate::health::stored_chunk::{StoredChunk, chunk_columns, read_chunk};
use crate::ids::PatientId;
use crate::segment::catalog::{SegmentRow, segments_between};
use crate::texts::sql;

/// Types that one statement asks for.
// A constant number of parameters makes one text, which every connection has prepared.
const TYPES_AT_ONCE: usize = 4;

/// What follows the columns of a chunk in both statements.
macro_rules! rows_around {
    () => {
        ", CAST(NULL AS TEXT) FROM chunk
            WHERE patient = $1 AND data_type IN ($2, $3, $4, $5) AND last_us >= $6 AND last_us <= $7 AND first_us <= $8
        UNION ALL SELECT 2, data_type, period_start_us, first_us, last_us, generation, 0, CAST(NULL AS BIGINT),
            CAST(NULL AS BYTEA), path FROM segment WHERE patient = $1 AND data_type IN ($2, $3, $4, $5) AND last_us >= $6 AND first_us <= $8
        UNION ALL SELECT 5, data_type, 0, first_us, last_us, 0, 0, CAST(NULL AS BIGINT), CAST(NULL AS BYTEA),
            CAST(NULL AS TEXT) FROM unverified
            WHERE patient = $1 AND data_type IN ($2, $3, $4, $5) AND last_us >= $6 AND first_us <= $8"
    };
}

sql! {
    /// A chunk lies within one UTC day, so none that reaches into a range ends more than a day after it.
    ROWS_AROUND = concat!("SELECT CAST(1 AS BIGINT), ", chunk_columns!(), rows_around!());
    /// The same, with the patient's row and an earlier sync of the same id.
    ALL_AROUND = concat!("SELECT CAST(1 AS BIGINT), ", chunk_columns!(), rows_around!(), "
        UNION ALL SELECT 0, events, 0, 0, 0, 0, 0, CAST(NULL AS BIGINT), bracelet, latest
            FROM patient WHERE uuid = $1
        UNION ALL SELECT 3, sequence, 0, 0, 0, 0, 0, CAST(NULL AS BIGINT), content_hash, CAST(NULL AS TEXT)
            FROM event WHERE patient = $1 AND sync_id = $9
        UNION ALL SELECT 4, battery_level, 0, 0, 0, 0, 0, CAST(NULL AS BIGINT), CAST(NULL AS BYTEA),
            CAST(NULL AS TEXT) FROM device WHERE patient = $1 AND serial_number = $10 AND battery_level IS NOT NULL");
    /// Makes whatever else changes the patient wait for the end of this transaction.
    HOLD_PATIENT = "UPDATE patient SET arrivals = arrivals WHERE uuid = $1";
}

/// What a sync keeps others from changing while it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// Nothing: where another takes the number of its event, it is stored once more.
    Nothing,
    /// The patient's row: it cannot fail again, and whatever else changes the patient waits.
    Patient,
}

/// What a statement asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Rows,
    RowsAndPatient,
}

/// What decides what a sync writes.
#[derive(Debug, Default)]
pub(super) struct Around {
    /// What a sync changes of the patient's row; `None` when there is no such patient.
    pub patient: Option<PatientBefore>,
    /// The stored charge of the bracelet that the sync describes, %.
    pub battery_level: Option<i64>,
    /// Content of an earlier sync of this id.
    pub known_hash: Option<Vec<u8>>,
    /// Stored chunks by type and channel, in the order of their arrival.
    chunks: BTreeMap<(DataType, Channel), Vec<StoredChunk>>,
    /// Sealed periods that reach into the ranges.
    segments: Vec<SealedKey>,
    /// Rows that came while others were damaged: type, first and last time.
    unverified: Vec<(DataType, i64, i64)>,
}

/// What a sync changes of the patient's row, as it was read.
#[derive(Debug)]
pub(super) struct PatientBefore {
    /// Number of the patient's last event.
    pub events: i64,
    /// Text of the latest values.
    pub latest: Option<String>,
    /// Stored state of the bracelet.
    pub bracelet: Option<Vec<u8>>,
}

/// A generation of a sealed period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SealedKey {
    data_type: DataType,
    period_start_us: i64,
    generation: i64,
    first_us: i64,
    last_us: i64,
}

/// The range in which stored rows can be the same samples as those of a chunk: a row at a whole millisecond may
/// represent any sample of that millisecond.
#[derive(Clone, Debug)]
pub(super) struct SealedRange {
    patient: PatientId,
    data_type: DataType,
    channel: Channel,
    first_us: i64,
    last_us: i64,
}

impl SealedRange {
    fn around(patient: &PatientId, chunk: &Prepared) -> Self {
        let (first_us, last_us) = times_around(chunk);
        let (data_type, channel) = (chunk.block.data_type, chunk.block.channel);
        SealedRange { patient: patient.clone(), data_type, channel, first_us, last_us }
    }
}

/// First and last time of a chunk's rows, µs, the last to the end of its millisecond.
fn times_around(chunk: &Prepared) -> (i64, i64) {
    let (first_us, last_us) = (chunk.block.first_us().unwrap_or(0), chunk.block.last_us().unwrap_or(0));
    (first_us, last_us.div_euclid(1000) * 1000 + 999)
}

/// A range that was read: of which segments, and their rows; `None` where they are damaged.
type Read = (SealedRange, Vec<SegmentRow>, Option<Vec<Block>>);

/// Rows of sealed periods around chunks, and of which generation they were read.
#[derive(Debug, Default)]
pub(super) struct SealedRows {
    read: Vec<Read>,
}

impl SealedRows {
    /// Returns the rows around a chunk, if they were read from just these segments.
    fn of(&self, range: &SealedRange, segments: &[SealedKey]) -> Option<&Option<Vec<Block>>> {
        let is_of = |(read, _, _): &&Read| {
            (read.data_type, read.channel, read.first_us) == (range.data_type, range.channel, range.first_us)
        };
        let (_, read, rows) = self.read.iter().find(is_of)?;
        let is_same = |(read, found): (&SegmentRow, &SealedKey)| {
            // Of another generation the rows may be others: it was sealed while they were read.
            (read.period_start_us, read.generation) == (found.period_start_us, found.generation)
        };
        (read.len() == segments.len() && read.iter().zip(segments).all(is_same)).then_some(rows)
    }
}

impl HealthDb {
    /// Reads what is sealed around chunks. It is read outside the transaction, which then checks the generations.
    pub(super) async fn read_sealed(&self, ranges: Vec<SealedRange>) -> Result<SealedRows> {
        let mut rows = SealedRows::default();
        for range in ranges {
            let SealedRange { channel, first_us, last_us, .. } = range;
            let asked = range.clone();
            let segments = self.db.read_single(async move |tx| {
                segments_between(tx, &asked.patient, asked.data_type, asked.first_us, asked.last_us).await
            });
            let segments = segments.await?;
            let blocks = match self.sealed_rows(&segments, first_us, last_us, Some(channel)).await {
                Err(error) if error.is_damage() => None,
                blocks => Some(blocks?),
            };
            rows.read.push((range, segments, blocks));
        }
        Ok(rows)
    }
}

/// Asks for everything around the rows of a sync, as one group.
pub(super) async fn look(tx: &Tx<'_>, sync: &Sync, channels: &[ChannelChunks], hold: Hold) -> Result<Around> {
    if hold == Hold::Patient {
        tx.put(HOLD_PATIENT, &[&sync.patient]).await?;
    }
    let spans = spans(channels);
    let of_span = |at: usize| if at == 0 { Asked::RowsAndPatient } else { Asked::Rows };
    let asked = spans.iter().enumerate().map(|(at, span)| ask(tx, sync, span, of_span(at)));
    let mut around = Around::default();
    for rows in futures::future::try_join_all(asked).await? {
        for row in rows {
            around.take(row);
        }
    }
    for chunks in around.chunks.values_mut() {
        // Later arrivals lie over earlier ones, and rows of a UNION come in no order.
        chunks.sort_by_key(|chunk| chunk.key().arrival);
    }
    around.segments.sort_by_key(|segment| (segment.first_us, segment.data_type, segment.period_start_us));
    // Spans of one type that are days apart find the same period.
    around.segments.dedup();
    Ok(around)
}

/// Types whose rows lie in a range of time, µs, both ends included.
#[derive(Clone, Debug, PartialEq)]
struct Span {
    types: Vec<DataType>,
    first_us: i64,
    last_us: i64,
}

/// Returns the ranges to ask for: those of one type that are less than a day apart are one, and all types of a short
/// sync are asked for together, over the range of all. There is always one, which asks for the patient too.
fn spans(channels: &[ChannelChunks]) -> Vec<Span> {
    const TOGETHER_US: i64 = DAY_US / 24;
    let mut by_type: BTreeMap<DataType, Vec<(i64, i64)>> = BTreeMap::new();
    for chunk in channels.iter().flat_map(|channel| &channel.chunks) {
        by_type.entry(chunk.block.data_type).or_default().push(times_around(chunk));
    }
    let mut spans: Vec<Span> = Vec::new();
    for (data_type, mut ranges) in by_type {
        ranges.sort_unstable();
        let mut of_type: Vec<Span> = Vec::new();
        for (first_us, last_us) in ranges {
            match of_type.last_mut() {
                // Ranges further apart are asked for by themselves: everything that is stored between them would be
                // read and thrown away.
                Some(span) if first_us - span.last_us < DAY_US => span.last_us = span.last_us.max(last_us),
                _ => of_type.push(Span { types: vec![data_type], first_us, last_us }),
            }
        }
        spans.extend(of_type);
    }
    let first_us = spans.iter().map(|span| span.first_us).min().unwrap_or(0);
    let last_us = spans.iter().map(|span| span.last_us).max().unwrap_or(-1);
    if spans.is_empty() || last_us - first_us > TOGETHER_US {
        return if spans.is_empty() { vec![Span { types: Vec::new(), first_us, last_us }] } else { spans };
    }
    let types: Vec<DataType> = spans.into_iter().flat_map(|span| span.types).collect();
    types.chunks(TYPES_AT_ONCE).map(|types| Span { types: types.to_vec(), first_us, last_us }).collect()
}

/// A row of either statement.
enum Found {
    Patient(PatientBefore),
    Chunk(DataType, StoredChunk),
    Segment(SealedKey),
    EarlierSync { hash: Option<Vec<u8>> },
    Unverified { data_type: DataType, first_us: i64, last_us: i64 },
    Battery { level: i64 },
}

async fn ask(tx: &Tx<'_>, sync: &Sync, span: &Span, asked: Asked) -> Result<Vec<Found>> {
    const NO_TYPE: i64 = -1;
    let number = |at: usize| span.types.get(at).map_or(NO_TYPE, |data_type| data_type.number());
    let types: [i64; TYPES_AT_ONCE] = std::array::from_fn(number);
    let latest_end_us = span.last_us.saturating_add(DAY_US);
    let [one, two, three, four] = &types;
    let mut params: Vec<&dyn Param> =
        vec![&sync.patient, one, two, three, four, &span.first_us, &latest_end_us, &span.last_us];
    let sync_id = sync.id.as_ref().map(|named| &named.id);
    let serial_number = sync.device.as_ref().map(|device| device.serial_number.as_str());
    let text = match asked {
        Asked::Rows => ROWS_AROUND,
        Asked::RowsAndPatient => {
            params.extend([&sync_id as &dyn Param, &serial_number]);
            ALL_AROUND
        }
    };
    tx.query(text, &params, read_found).await
}

/// Reads a row by the positions of its columns: the parts of the UNION share places whose meaning is another one in each.
fn read_found(row: &Row<'_>) -> Result<Found> {
    let known_type = || {
        DataType::from_number(row.get(1)?).ok_or_else(|| StoreError::Damaged("a row is of an unknown type".to_owned()))
    };
    Ok(match row.get::<i64>(0)? {
        0 => Found::Patient(PatientBefore { events: row.get(1)?, latest: row.get(9)?, bracelet: row.get(8)? }),
        1 => Found::Chunk(known_type()?, read_chunk(&mut Columns::after(row, 1))?),
        2 => Found::Segment(SealedKey {
            data_type: known_type()?,
            period_start_us: row.get(2)?,
            first_us: row.get(3)?,
            last_us: row.get(4)?,
            generation: row.get(5)?,
        }),
        3 => Found::EarlierSync { hash: row.get(8)? },
        5 => Found::Unverified { data_type: known_type()?, first_us: row.get(3)?, last_us: row.get(4)? },
        _ => Found::Battery { level: row.get(1)? },
    })
}

impl Around {
    fn take(&mut self, found: Found) {
        match found {
            Found::Patient(before) => self.patient = Some(before),
            Found::Chunk(data_type, chunk) => {
                self.chunks.entry((data_type, chunk.key().channel)).or_default().push(chunk);
            }
            Found::Segment(segment) => self.segments.push(segment),
            Found::Unverified { data_type, first_us, last_us } => {
                self.unverified.push((data_type, first_us, last_us));
            }
            Found::EarlierSync { hash } => self.known_hash = hash,
            Found::Battery { level } => self.battery_level = Some(level),
        }
    }

    /// Returns the ranges around chunks for which sealed rows are to be read; empty when all are known.
    pub fn unknown_sealed(
        &self,
        patient: &PatientId,
        channels: &[ChannelChunks],
        known: &SealedRows,
    ) -> Vec<SealedRange> {
        let ranges =
            channels.iter().flat_map(|channel| &channel.chunks).map(|chunk| SealedRange::around(patient, chunk));
        let is_sealed = |range: &SealedRange| !self.segments_in(range).is_empty();
        let sealed: Vec<SealedRange> = ranges.filter(is_sealed).collect();
        if sealed.iter().all(|range| known.of(range, &self.segments_in(range)).is_some()) { Vec::new() } else { sealed }
    }

    fn segments_in(&self, range: &SealedRange) -> Vec<SealedKey> {
        let reaches = |segment: &&SealedKey| {
            segment.data_type == range.data_type
                && segment.first_us <= range.last_us
                && segment.last_us >= range.first_us
        };
        self.segments.iter().filter(reaches).copied().collect()
    }

    /// Returns whether rows of a waveform are stored in a range whose exact times nobody knows yet.
    fn has_unknown_times(&self, range: &SealedRange) -> bool {
        let reaches = |(data_type, first_us, last_us): &(DataType, i64, i64)| {
            *data_type == range.data_type && *first_us <= range.last_us && *last_us >= range.first_us
        };
        range.data_type.is_waveform() && self.unverified.iter().any(reaches)
    }

    /// Returns what is stored in the range of a chunk, merged; `None` when nothing is.
    pub fn stored(&self, patient: &PatientId, chunk: &Prepared, sealed: &SealedRows) -> Result<Option<Block>> {
        let range = SealedRange::around(patient, chunk);
        let (first_us, last_us) = (range.first_us, range.last_us);
        if self.has_unknown_times(&range) {
            let reason = "rows that are not compared yet";
            return Err(StoreError::damaged_rows(range.data_type.name(), (first_us, last_us), reason));
        }
        let mut arrived: Vec<Block> = match self.segments_in(&range) {
            segments if segments.is_empty() => Vec::new(),
            segments => match sealed.of(&range, &segments) {
                Some(None) => {
                    let times_us = (first_us, last_us);
                    return Err(StoreError::damaged_rows(range.data_type.name(), times_us, "a sealed file"));
                }
                Some(Some(rows)) => rows.clone(),
                None => Vec::new(),
            },
        };
        let found = self.chunks.get(&(range.data_type, range.channel)).map_or(&[][..], Vec::as_slice);
        for stored in found.iter().filter(|stored| stored.reaches_into((first_us, last_us))) {
            arrived.push(stored.rows(patient)?);
        }
        if arrived.is_empty() {
            return Ok(None);
        }
        let arrived: Vec<Block> = arrived.into_iter().map(|stored| stored.clipped(first_us, last_us)).collect();
        let stored = last_write_wins(&arrived.iter().collect::<Vec<_>>());
        Ok((!stored.is_empty()).then_some(stored))
    }
}
