//! Series for charts: the lowest and the highest value of each bucket of time, straight from the stored rows.
//!
//! A chart has fewer pixels than a day has samples. What it may not lose is an extreme, so nothing is averaged or left
//! out: every row is looked at, and each bucket keeps its minimum and its maximum. Where there are no more rows than
//! points, the rows themselves are the answer. Rows are read piece by piece, so the memory that an answer takes grows
//! with its points and not with the range.

use std::collections::{BTreeMap, BTreeSet};

use boxed_futures::boxed_futures;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use vitals::block::Block;
use vitals::registry::{Channel, ChannelRule, Colour, DataType, NULL, TestKind};
use vitals::zone::{QUARTER_US, SECOND_US};

use super::gaps::Gap;
use crate::core::access::{Readable, Researcher};
use crate::core::error::{PlatformError, Result};
use crate::data::Data;
use store::{PatientId, TallyRow};

/// The most points that a series may have.
pub const MOST_POINTS: usize = 10_000;
/// The most series that are read at once.
pub const MOST_SERIES: usize = 16;
/// The longest range, ms: a little more than a year.
pub const LONGEST_SERIES_MS: i64 = 400 * 24 * 3_600_000;
/// What is said of the end of a range that is longer, or ends before it begins.
pub const SERIES_RANGE: &str = "must not be before from, nor more than 400 days after it";
/// Pieces that are read ahead.
const PIECES_AHEAD: usize = 2;

/// Span that is read at once, µs: so much of the fastest signal takes some megabytes.
const fn piece_us(data_type: DataType) -> i64 {
    if data_type.is_waveform() { 300 * SECOND_US } else { 6 * 3600 * SECOND_US }
}

/// Which column of a type to show, of one channel or of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesColumn {
    /// The type.
    pub data_type: DataType,
    /// Position of the column.
    pub column: usize,
    /// The channel; each of them when it is left out.
    pub channel: Option<Channel>,
}

impl SeriesColumn {
    /// Reads `TYPE.COLUMN` or `TYPE.COLUMN.CHANNEL`; none when there is no such column of numbers or no such channel.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '.');
        let data_type = DataType::from_name(parts.next()?)?;
        let column = data_type.column_index(parts.next()?)?;
        let channel = match parts.next() {
            None => None,
            Some(name) => Some(channel_named(data_type, name)?),
        };
        (!data_type.columns()[column].is_text()).then_some(SeriesColumn { data_type, column, channel })
    }
}

/// Returns a colour as names of channels have it, such as `infrared`.
fn colour_name(colour: Colour) -> String {
    colour.name.replace('-', "")
}

/// Returns the name of a channel: of ppg2 colour and position such as `green.0`, of tests the kind; none where a type
/// has one channel only.
pub fn channel_name(data_type: DataType, channel: Channel) -> Option<String> {
    match data_type.declaration().channel {
        ChannelRule::ColourAndPosition => {
            let metric = channel.metric_id();
            let colour = metric.and_then(Colour::of_metric).map(colour_name);
            let colour = colour.unwrap_or_else(|| metric.map_or_else(|| "none".to_owned(), |id| format!("{id:#04x}")));
            let position = channel.led_pd_pos().map_or_else(|| "none".to_owned(), |position| position.to_string());
            Some(format!("{colour}.{position}"))
        }
        ChannelRule::TestKind => channel.test_kind().map(|kind| kind.name.to_owned()),
        ChannelRule::Single => None,
    }
}

fn channel_named(data_type: DataType, name: &str) -> Option<Channel> {
    match data_type.declaration().channel {
        ChannelRule::ColourAndPosition => {
            let (colour, position) = name.split_once('.')?;
            let known = Colour::ALL.into_iter().find(|known| colour_name(*known) == colour);
            let metric = match colour {
                "none" => NULL,
                _ => known
                    .map(|known| known.metric_id)
                    .or_else(|| i32::from_str_radix(colour.strip_prefix("0x")?, 16).ok())?,
            };
            let position =
                if position == "none" { NULL } else { position.parse().ok().filter(|at| (0..=255).contains(at))? };
            Some(Channel::of_ppg2(metric, position))
        }
        ChannelRule::TestKind => TestKind::code(name).map(Channel::of_test),
        ChannelRule::Single => None,
    }
}

/// What to show.
#[derive(Clone, Debug)]
pub struct SeriesRequest {
    /// First millisecond.
    pub from_ms: i64,
    /// Last millisecond.
    pub to_ms: i64,
    /// Points of each series at most.
    pub points: usize,
    /// The columns.
    pub columns: Vec<SeriesColumn>,
}

impl SeriesRequest {
    fn check(&self) -> Result<()> {
        if self.to_ms < self.from_ms || self.to_ms - self.from_ms > LONGEST_SERIES_MS {
            return Err(PlatformError::invalid("to", SERIES_RANGE));
        }
        if !(2..=MOST_POINTS).contains(&self.points) {
            return Err(PlatformError::invalid("points", format!("must be 2 to {MOST_POINTS}")));
        }
        if self.columns.is_empty() || self.columns.len() > MOST_SERIES {
            return Err(PlatformError::invalid("series", format!("must have 1 to {MOST_SERIES} entries")));
        }
        Ok(())
    }

    /// Begin and end, µs; the end is excluded.
    pub(super) fn span_us(&self) -> (i64, i64) {
        (self.from_ms * 1000, (self.to_ms + 1) * 1000)
    }

    /// Length of a bucket, µs.
    fn bucket_us(&self) -> i64 {
        let (from_us, end_us) = self.span_us();
        let points = self.points as i64;
        // Rounded up, so that the range never needs one bucket more than there may be points.
        (end_us - from_us + points - 1) / points
    }
}

/// A point of a series: the lowest and the highest value of a bucket, or one value twice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Begin of the bucket, or the time of the row, µs.
    pub time_us: i64,
    /// Lowest value, in the column's unit.
    pub min: f64,
    /// Highest value.
    pub max: f64,
}

/// A column of a channel over time. Buckets without a value are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What it is of.
    pub column: SeriesColumn,
    /// The channel.
    pub channel: Channel,
    /// Whether the points are the rows themselves.
    pub raw: bool,
    /// In the order of time.
    pub points: Vec<Point>,
}

/// What is shown.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Length of a bucket, µs.
    pub bucket_us: i64,
    /// In the order in which they were asked for; several where a column has several channels.
    pub series: Vec<Series>,
    /// Where nothing was measured, and why.
    pub gaps: Vec<Gap>,
}

#[boxed_futures]
impl Data {
    /// Series of a patient.
    pub async fn chart(&self, researcher: &Researcher, patient: &PatientId, request: &SeriesRequest) -> Result<Chart> {
        request.check()?;
        let patient = self.core.readable_patient(researcher, patient).await?;
        let mut types: Vec<DataType> = request.columns.iter().map(|column| column.data_type).collect();
        types.sort_unstable();
        types.dedup();
        let (from_us, end_us) = request.span_us();
        let first_quarter_us = from_us.div_euclid(QUARTER_US) * QUARTER_US;
        let tally = self.core.health().tally_between(patient.uuid(), first_quarter_us, end_us).await?;
        let mut found: BTreeMap<(usize, Channel), Extremes> = BTreeMap::new();
        for data_type in &types {
            let pieces = pieces_with_rows(&tally, *data_type, (from_us, end_us));
            self.read_type(&patient, (*data_type, pieces), request, &mut found).await?;
        }
        let series = found.into_iter().map(|((at, channel), extremes)| extremes.series(request.columns[at], channel));
        Ok(Chart {
            bucket_us: request.bucket_us(),
            series: series.collect(),
            gaps: self.gaps(&patient, (from_us, end_us), &types, &tally).await?,
        })
    }

    /// Looks at all rows of a type, piece by piece.
    async fn read_type(
        &self,
        patient: &Readable<PatientId>,
        (data_type, pieces): (DataType, Vec<(i64, i64)>),
        request: &SeriesRequest,
        found: &mut BTreeMap<(usize, Channel), Extremes>,
    ) -> Result<()> {
        let read =
            |(start_us, end_us): (i64, i64)| self.core.health().rows(patient.uuid(), data_type, start_us, end_us - 1);
        let mut pieces = stream::iter(pieces).map(read).buffered(PIECES_AHEAD);
        while let Some(blocks) = pieces.try_next().await? {
            for block in &blocks {
                // One pass for all columns of a type: reading its rows is most of the work.
                let columns = request.columns.iter().enumerate().filter(|(_, column)| {
                    column.data_type == data_type && column.channel.is_none_or(|channel| channel == block.channel)
                });
                for (at, column) in columns {
                    let extremes = found.entry((at, block.channel)).or_insert_with(|| Extremes::new(request));
                    extremes.look_at(block, *column);
                }
            }
        }
        Ok(())
    }
}

/// Returns the pieces of a range in which rows of a type lie: begin and end, µs, the end excluded. A year of a waveform has a
/// hundred thousand pieces, of which a patient has sent some.
fn pieces_with_rows(tally: &[TallyRow], data_type: DataType, (from_us, end_us): (i64, i64)) -> Vec<(i64, i64)> {
    let quarters: BTreeSet<i64> =
        tally.iter().filter(|row| row.data_type == data_type).map(|row| row.quarter.start_us).collect();
    let mut pieces: Vec<(i64, i64)> = Vec::new();
    for start_us in quarters {
        let mut from = start_us.max(from_us);
        let end = (start_us + QUARTER_US).min(end_us);
        match pieces.last_mut() {
            // One statement reads what lies next to each other.
            Some((first_us, last_end_us)) if *last_end_us == from && end - *first_us <= piece_us(data_type) => {
                *last_end_us = end;
                continue;
            }
            _ => {}
        }
        while from < end {
            let piece_end = end.min(from + piece_us(data_type));
            pieces.push((from, piece_end));
            from = piece_end;
        }
    }
    pieces
}

/// What is kept of a series while its rows pass by.
#[derive(Debug)]
struct Extremes {
    from_us: i64,
    bucket_us: i64,
    most: usize,
    /// Values seen.
    count: usize,
    /// The rows, while there are no more of them than points.
    rows: Vec<(i64, i32)>,
    /// Lowest and highest cell of each bucket that has any, with its number; ascending, as rows come in the order of
    /// time.
    buckets: Vec<(i64, i32, i32)>,
}

impl Extremes {
    fn new(request: &SeriesRequest) -> Self {
        Extremes {
            from_us: request.span_us().0,
            bucket_us: request.bucket_us(),
            most: request.points,
            count: 0,
            rows: Vec::new(),
            buckets: Vec::new(),
        }
    }

    fn look_at(&mut self, block: &Block, column: SeriesColumn) {
        let cells = &block.columns[column.column];
        // A bracelet writes 0 where it has no heart rate; a chart that dropped to 0 would read as cardiac arrest.
        let no_value = column.data_type.no_value_cell(&column.data_type.columns()[column.column], block.channel);
        for (row, time_us) in block.times_us.iter().enumerate() {
            let cell = cells.get(row);
            if cell != NULL && cell != no_value {
                self.add(*time_us, cell);
            }
        }
    }

    fn add(&mut self, time_us: i64, cell: i32) {
        self.count += 1;
        if self.count <= self.most {
            self.rows.push((time_us, cell));
        // More rows than points: from here on the buckets are what is shown, and the memory goes.
        } else if !self.rows.is_empty() {
            self.rows = Vec::new();
        }
        let bucket = (time_us - self.from_us) / self.bucket_us;
        match self.buckets.last_mut() {
            Some((last, min, max)) if *last == bucket => (*min, *max) = ((*min).min(cell), (*max).max(cell)),
            _ => self.buckets.push((bucket, cell, cell)),
        }
    }

    fn series(self, column: SeriesColumn, channel: Channel) -> Series {
        let unit = &column.data_type.columns()[column.column];
        let value = |cell: i32| unit.value_of(cell).unwrap_or_default();
        let raw = self.count <= self.most;
        let points = if raw {
            let row = |(time_us, cell)| Point { time_us, min: value(cell), max: value(cell) };
            self.rows.into_iter().map(row).collect()
        } else {
            let bucket = |(number, min, max): (i64, i32, i32)| Point {
                time_us: self.from_us + number * self.bucket_us,
                min: value(min),
                max: value(max),
            };
            self.buckets.into_iter().map(bucket).collect()
        };
        Series { column, channel, raw, points }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use store::LocalQuarter;
    use vitals::block::Cells;
    use vitals::zone::ZoneRuns;

    fn request(from_ms: i64, to_ms: i64, points: usize) -> SeriesRequest {
        let columns = vec![SeriesColumn::parse("acc.accX").expect("a column")];
        SeriesRequest { from_ms, to_ms, points, columns }
    }

    fn block(rows: &BTreeMap<i64, i32>) -> Block {
        let mut block = Block::empty(DataType::Acc, Channel::default());
        block.times_us = rows.keys().copied().collect();
        let column = DataType::Acc.column_index("accX").expect("a column");
        block.columns[column] = Cells::Values(rows.values().copied().collect());
        block.zones = ZoneRuns::constant("UTC".into(), rows.len());
        block
    }

    fn series_of(rows: &BTreeMap<i64, i32>, request: &SeriesRequest, pieces: usize) -> Series {
        let mut extremes = Extremes::new(request);
        let all: Vec<(i64, i32)> = rows.iter().map(|(time, cell)| (*time, *cell)).collect();
        for piece in all.chunks(all.len().div_ceil(pieces).max(1)) {
            extremes.look_at(&block(&piece.iter().copied().collect()), request.columns[0]);
        }
        extremes.series(request.columns[0], Channel::default())
    }

    proptest! {
        /// Against every value of every bucket, found by looking through all rows for each.
        #[test]
        fn no_extreme_is_ever_lost(
            rows in proptest::collection::btree_map(0_i64..7_000_000, prop_oneof![Just(NULL), -4096..=4096], 0..400),
            points in 2_usize..200,
            pieces in 1_usize..6,
        ) {
            let request = request(0, 6_999, points);
            let series = series_of(&rows, &request, pieces);
            let values: Vec<(i64, f64)> =
                rows.iter().filter(|(_, cell)| **cell != NULL).map(|(time, cell)| (*time, f64::from(*cell))).collect();
            prop_assert!(series.points.len() <= points);
            prop_assert_eq!(series.raw, values.len() <= points);
            if series.raw {
                let shown: Vec<(i64, f64)> = series.points.iter().map(|point| (point.time_us, point.min)).collect();
                prop_assert_eq!(&shown, &values);
                prop_assert!(series.points.iter().all(|point| point.min.total_cmp(&point.max).is_eq()));
            } else {
                let mut covered = 0;
                for point in &series.points {
                    let end_us = point.time_us + request.bucket_us();
                    let within: Vec<f64> = values
                        .iter()
                        .filter(|(time, _)| (point.time_us..end_us).contains(time))
                        .map(|(_, value)| *value)
                        .collect();
                    covered += within.len();
                    prop_assert_eq!(within.iter().copied().reduce(f64::min), Some(point.min));
                    prop_assert_eq!(within.iter().copied().reduce(f64::max), Some(point.max));
                }
                prop_assert_eq!(covered, values.len(), "every value lies in a bucket that is shown");
                prop_assert!(series.points.windows(2).all(|pair| pair[0].time_us < pair[1].time_us));
            }
        }
    }

    #[test]
    fn buckets_cover_the_range_to_its_last_microsecond() {
        for (from_ms, to_ms, points) in [(0, 0, 2), (0, 999, 1000), (5, 1004, 999), (0, 14 * 86_400_000 - 1, 1200)] {
            let request = request(from_ms, to_ms, points);
            let (from_us, end_us) = request.span_us();
            let last = (end_us - 1 - from_us) / request.bucket_us();
            assert!((last as usize) < points && request.bucket_us() > 0, "{from_ms} {to_ms} {points}");
        }
    }

    #[test]
    fn pieces_are_those_of_a_range_that_have_rows() {
        let row = |data_type, quarter: i64| TallyRow {
            data_type,
            quarter: LocalQuarter { start_us: quarter * QUARTER_US, offset_s: 0 },
            samples: 1,
        };
        let of = |data_type, quarters: &[i64], span: (i64, i64)| {
            let tally: Vec<TallyRow> = quarters.iter().map(|quarter| row(data_type, *quarter)).collect();
            pieces_with_rows(&tally, data_type, span)
        };
        let year = (0, 400 * 96 * QUARTER_US);
        assert_eq!(of(DataType::Ppg2, &[], year), []);
        let third = QUARTER_US / 3;
        assert_eq!(of(DataType::Ppg2, &[7], year), [21, 22, 23].map(|at| (at * third, (at + 1) * third)));
        assert_eq!(
            of(DataType::Ppg2, &[7], (7 * QUARTER_US + 5, 7 * QUARTER_US + 9)),
            [(7 * QUARTER_US + 5, 7 * QUARTER_US + 9)]
        );
        let quarters: Vec<i64> = (0..30).chain([40]).collect();
        let pieces = [(0, 24), (24, 30), (40, 41)].map(|(from, end)| (from * QUARTER_US, end * QUARTER_US));
        assert_eq!(of(DataType::Activity, &quarters, year), pieces);
        assert_eq!(pieces_with_rows(&[row(DataType::Acc, 3)], DataType::Activity, year), [], "of another type");
    }

    #[test]
    fn columns_and_channels_are_named_as_the_page_names_them() {
        let green = Channel::of_ppg2(0x7e, 0);
        for (text, channel) in [
            ("activity.bpm", None),
            ("ppg2.value", None),
            ("ppg2.value.green.0", Some(green)),
            ("ppg2.value.0x7e.0", Some(green)),
            ("ppg2.value.none.none", Some(Channel::of_ppg2(NULL, NULL))),
            ("tests.value.weight", Some(Channel::of_test(6))),
        ] {
            assert_eq!(SeriesColumn::parse(text).expect(text).channel, channel, "{text}");
        }
        for wrong in [
            "",
            "activity",
            "activity.nothing",
            "nothing.bpm",
            "activity.bpm.0",
            "activity.hta",
            "ppg2.value.blue.0",
            "ppg2.value.green.256",
        ] {
            assert_eq!(SeriesColumn::parse(wrong), None, "{wrong}");
        }
        assert_eq!(channel_name(DataType::Ppg2, green).as_deref(), Some("green.0"));
        assert_eq!(channel_name(DataType::Ppg2, Channel::of_ppg2(NULL, 3)).as_deref(), Some("none.3"));
        assert_eq!(channel_name(DataType::Ppg2, Channel::of_ppg2(5, 3)).as_deref(), Some("0x05.3"));
        assert_eq!(channel_name(DataType::Tests, Channel::of_test(6)).as_deref(), Some("weight"));
        assert_eq!(channel_name(DataType::Acc, Channel::default()), None);
    }

    #[test]
    fn a_request_is_limited() {
        assert!(request(0, 0, 2).check().is_ok() && request(0, LONGEST_SERIES_MS, MOST_POINTS).check().is_ok());
        for wrong in
            [request(1, 0, 2), request(0, LONGEST_SERIES_MS + 1, 2), request(0, 9, 1), request(0, 9, MOST_POINTS + 1)]
        {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
        assert!(SeriesRequest { columns: Vec::new(), ..request(0, 9, 2) }.check().is_err());
    }
}
