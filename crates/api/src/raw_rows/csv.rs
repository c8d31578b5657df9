//! CSV lines: `timestamp,date`, then every column of the registry in its order; empty where there is no value.

use vitals::block::Block;
use vitals::registry::DataType;

use super::local_date::LocalDates;
use super::{in_time_order, push_value};

/// The header line.
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
pub struct CsvRows {
    dates: LocalDates,
}

impl Default for CsvRows {
    fn default() -> Self {
        CsvRows { dates: LocalDates::new() }
    }
}

impl CsvRows {
    /// The rows of some blocks, a line each.
    pub fn write(&mut self, blocks: &[Block], text: &mut Vec<u8>) {
        in_time_order(blocks, |block, row| self.write_row(&blocks[block], row, text));
    }

    fn write_row(&mut self, block: &Block, row: usize, text: &mut Vec<u8>) {
        let time_us = block.times_us[row];
        text.extend_from_slice(itoa::Buffer::new().format(time_us.div_euclid(1000)).as_bytes());
        text.push(b',');
        text.extend_from_slice(self.dates.format(time_us, block.zone_of(row)));
        for (column, cells) in block.data_type.columns().iter().zip(&block.columns) {
            text.push(b',');
            push_value(text, column, cells, row, b"", push_text);
        }
        text.push(b'\n');
    }
}

/// Text as RFC 4180 has it: quoted where it must be.
fn push_text(text: &mut Vec<u8>, value: &str) {
    if !value.contains(['"', ',', '\n', '\r']) {
        text.extend_from_slice(value.as_bytes());
        return;
    }
    text.push(b'"');
    text.extend_from_slice(value.replace('"', "\"\"").as_bytes());
    text.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use vitals::block::Cells;
    use vitals::registry::Channel;
    use vitals::zone::ZoneRuns;

    #[test]
    fn lines_have_every_column_and_quote_only_what_must_be() {
        let mut block = Block::empty(DataType::Tests, Channel::of_test(0));
        block.times_us = vec![1_763_600_000_500_000];
        block.columns[0] = Cells::Constant(0);
        block.columns[1] = Cells::Constant(61_500);
        block.columns[2] = Cells::Text(vec![Some("/min".into())]);
        block.columns[4] = Cells::Text(vec![Some("calm, \"sitting\"".into())]);
        block.zones = ZoneRuns::constant("Europe/Zurich".into(), 1);
        let mut text = header(DataType::Tests);
        CsvRows::default().write(&[block], &mut text);
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "timestamp,date,test_type,value,unit,quality,note\n\
             1763600000500,2025-11-20T01:53:20.500+01:00,heart_rate,61.5,/min,,\"calm, \"\"sitting\"\"\"\n"
        );
    }
}
