//! CSV lines: `timestamp,date`, then every column of the registry in its order; empty where there is no value.
//!
//! An export writes hundreds of millions of lines, most of whose columns hold the same in every row of a block. So a
//! block's line is laid out once: what does not change is kept as bytes, and a row only adds its time and the few
//! values that do. Its time is that of the row before with other milliseconds, but for one row in each second.

use itoa::Buffer;

use super::local_date::LocalDates;
use super::number::push_number;
use super::time_order::in_time_order;
use crate::block::{Block, Cells};
use crate::registry::{Column, DataType, Kind, NULL};
use crate::zone::ZoneName;

/// Returns the header line.
pub fn header(data_type: DataType) -> Vec<u8> {
    let mut line = b"timestamp,date".to_vec();
    for column in data_type.columns() {
        line.push(b',');
        line.extend_from_slice(column.name.as_bytes());
    }
    line.push(b'\n');
    line
}

/// Writes lines.
#[derive(Debug, Default)]
pub struct CsvRows {
    times: Times,
}

impl CsvRows {
    /// The rows of some blocks, a line each, in the order of time.
    pub fn write(&mut self, blocks: &[Block], text: &mut Vec<u8>) {
        let lines: Vec<Vec<Part<'_>>> = blocks.iter().map(layout).collect();
        let mut zones: Vec<Zone> = blocks.iter().map(|_| Zone::default()).collect();
        // Channels are blocks of their own, but a reader of the file wants one line of time.
        in_time_order(blocks, |block, row| {
            let zone = zones[block].of_row(&blocks[block], row);
            self.times.push(text, blocks[block].times_us[row], zone);
            for part in &lines[block] {
                part.push(text, row);
            }
        });
    }
}

/// The zone of the rows of a block, which are asked for one after the other.
#[derive(Default)]
struct Zone {
    end: usize,
    name: Option<ZoneName>,
}

impl Zone {
    fn of_row(&mut self, block: &Block, row: usize) -> &ZoneName {
        if row >= self.end || self.name.is_none() {
            let (end, name) = block.zones.run_of(row);
            self.end = end;
            self.name = Some(name.clone());
        }
        self.name.get_or_insert_with(|| "UTC".into())
    }
}

/// What follows the time of a row.
enum Part<'block> {
    /// The same in every row.
    Fixed(Vec<u8>),
    /// Integers, empty where there is none.
    Integers(&'block [i32]),
    /// Numbers with digits behind the point.
    Decimals(&'static Column, &'block [i32]),
    /// Codes and names.
    Codes(&'static Column, &'block [i32]),
    /// Texts.
    Texts(&'block Cells),
}

impl Part<'_> {
    #[inline]
    fn push(&self, text: &mut Vec<u8>, row: usize) {
        match self {
            Part::Fixed(bytes) => text.extend_from_slice(bytes),
            Part::Integers(cells) => {
                if cells[row] != NULL {
                    text.extend_from_slice(Buffer::new().format(cells[row]).as_bytes());
                }
            }
            Part::Decimals(column, cells) => {
                if cells[row] != NULL {
                    push_number(text, column, cells[row]);
                }
            }
            Part::Codes(column, cells) => push_text(text, &column.text_of(cells[row]).unwrap_or_default()),
            Part::Texts(cells) => push_text(text, cells.text(row).map_or("", |found| &**found)),
        }
    }
}

fn layout(block: &Block) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut fixed = Vec::new();
    for (column, cells) in block.data_type.columns().iter().zip(&block.columns) {
        fixed.push(b',');
        let part = match (cells, column.kind) {
            (Cells::Constant(cell), kind) => {
                push_constant(&mut fixed, column, kind, *cell);
                continue;
            }
            (Cells::Values(cells), Kind::Number { decimals: 0, .. }) => Part::Integers(cells),
            (Cells::Values(cells), Kind::Number { .. }) => Part::Decimals(column, cells),
            (Cells::Values(cells), _) => Part::Codes(column, cells),
            (Cells::Text(_), _) => Part::Texts(cells),
        };
        parts.push(Part::Fixed(std::mem::take(&mut fixed)));
        parts.push(part);
    }
    fixed.push(b'\n');
    parts.push(Part::Fixed(fixed));
    parts
}

fn push_constant(text: &mut Vec<u8>, column: &Column, kind: Kind, cell: i32) {
    match kind {
        _ if cell == NULL => {}
        Kind::Number { .. } => push_number(text, column, cell),
        _ => push_text(text, &column.text_of(cell).unwrap_or_default()),
    }
}

/// Text as RFC 4180 has it: quoted where it must be.
fn push_text(text: &mut Vec<u8>, value: &str) {
    // Nearly no text needs quotes, and those that do not are copied as they are.
    if !value.contains(['"', ',', '\n', '\r']) {
        text.extend_from_slice(value.as_bytes());
        return;
    }
    text.push(b'"');
    text.extend_from_slice(value.replace('"', "\"\"").as_bytes());
    text.push(b'"');
}

/// `timestamp,date` of a row: ten digits of seconds, three of milliseconds, a comma, 29 characters of date.
const TIME_BYTES: usize = 10 + 3 + 1 + 29;
/// Seconds since 1970 that have ten digits: 2001 to 2286.
const TEN_DIGITS: std::ops::Range<i64> = 1_000_000_000..10_000_000_000;

/// Writes times. Keeps the text of the last second.
#[derive(Debug)]
struct Times {
    dates: LocalDates,
    second: i64,
    zone: Option<ZoneName>,
    text: [u8; TIME_BYTES],
}

impl Default for Times {
    fn default() -> Self {
        Times { dates: LocalDates::default(), second: i64::MIN, zone: None, text: [b','; TIME_BYTES] }
    }
}

impl Times {
    #[inline]
    fn push(&mut self, text: &mut Vec<u8>, time_us: i64, zone: &ZoneName) {
        let second = time_us.div_euclid(1_000_000);
        if !TEN_DIGITS.contains(&second) {
            return self.push_any(text, time_us, zone);
        }
        // Rows of one run share the name, so comparing pointers suffices; two names that are equal only cost a second
        // look.
        let same_zone = self.zone.as_ref().is_some_and(|known| std::sync::Arc::ptr_eq(known, zone));
        if second != self.second || !same_zone {
            self.second = second;
            self.zone = Some(zone.clone());
            self.text[..10].copy_from_slice(Buffer::new().format(second).as_bytes());
            self.text[14..].copy_from_slice(self.dates.format(time_us, zone));
        }
        let ms = ((time_us - second * 1_000_000) / 1000) as u32;
        let digits = [b'0' + (ms / 100) as u8, b'0' + (ms / 10 % 10) as u8, b'0' + (ms % 10) as u8];
        self.text[10..13].copy_from_slice(&digits);
        self.text[34..37].copy_from_slice(&digits);
        text.extend_from_slice(&self.text);
    }

    fn push_any(&mut self, text: &mut Vec<u8>, time_us: i64, zone: &ZoneName) {
        text.extend_from_slice(Buffer::new().format(time_us.div_euclid(1000)).as_bytes());
        text.push(b',');
        text.extend_from_slice(self.dates.format(time_us, zone));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::registry::Channel;
    use crate::zone::ZoneRuns;

    fn text_of(blocks: &[Block]) -> String {
        let mut text = Vec::new();
        CsvRows::default().write(blocks, &mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn lines_have_every_column_and_quote_only_what_must_be() {
        let mut block = Block::empty(DataType::Tests, Channel::of_test(0));
        block.times_us = vec![1_763_600_000_500_000];
        block.columns[0] = Cells::Constant(0);
        block.columns[1] = Cells::Constant(61_500);
        block.columns[2] = Cells::Text(vec![Some("/min".into())]);
        block.columns[4] = Cells::Text(vec![Some("calm, \"sitting\"".into())]);
        block.zones = ZoneRuns::constant("Europe/Zurich".into(), 1);
        assert_eq!(header(DataType::Tests), b"timestamp,date,test_type,value,unit,quality,note\n");
        assert_eq!(
            text_of(&[block]),
            "1763600000500,2025-11-20T01:53:20.500+01:00,heart_rate,61.5,/min,,\"calm, \"\"sitting\"\"\"\n"
        );
    }

    #[test]
    fn times_without_ten_digits_are_written_too() {
        let mut block = Block::empty(DataType::Sleep, Channel::default());
        block.times_us = vec![-1, 5_000, 999_999_999_999_000, 1_000_000_000_000_000];
        block.zones = ZoneRuns::constant("UTC".into(), 4);
        assert_eq!(
            text_of(&[block]),
            "-1,1969-12-31T23:59:59.999+00:00,,\n\
             5,1970-01-01T00:00:00.005+00:00,,\n\
             999999999999,2001-09-09T01:46:39.999+00:00,,\n\
             1000000000000,2001-09-09T01:46:40.000+00:00,,\n"
        );
    }

    /// One row after the other, without any laying out: what the fast way must come to.
    fn plainly(block: &Block) -> String {
        let mut text = String::new();
        let mut dates = LocalDates::default();
        for row in 0..block.rows() {
            let time_us = block.times_us[row];
            let date = dates.format(time_us, block.zone_of(row));
            text.push_str(&time_us.div_euclid(1000).to_string());
            text.push(',');
            text.push_str(&String::from_utf8_lossy(date));
            for (column, cells) in block.data_type.columns().iter().zip(&block.columns) {
                text.push(',');
                let cell = cells.get(row);
                match column.text_of(cell) {
                    Some(code) => text += &code,
                    None => text += &column.value_of(cell).map_or(String::new(), |value| value.to_string()),
                }
            }
            text.push('\n');
        }
        text
    }

    proptest! {
        #[test]
        fn the_fast_way_writes_what_the_plain_way_does(
            steps in prop::collection::vec(1_i64..3_000_000, 1..60),
            values in prop::collection::vec(prop_oneof![Just(NULL), -20_000..20_000_i32], 60),
            travels in 0_usize..60,
        ) {
            let mut block = Block::empty(DataType::Ecg, Channel::default());
            block.times_us = steps.iter().scan(1_774_745_990_000_000, |time, step| { *time += step; Some(*time) }).collect();
            let rows = block.rows();
            block.columns[0] = Cells::Constant(0x7e);
            block.columns[2] = Cells::Values(values[..rows].to_vec());
            block.columns[3] = Cells::Values(values[..rows].iter().rev().copied().collect());
            let travels = travels.min(rows);
            block.zones = ZoneRuns::constant("Europe/Zurich".into(), travels);
            block.zones.push("America/New_York".into(), rows - travels);
            prop_assert_eq!(text_of(std::slice::from_ref(&block)), plainly(&block));
        }
    }
}
