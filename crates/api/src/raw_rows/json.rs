//! Row objects: a bare JSON array, written piece by piece.

use vitals::block::Block;
use vitals::registry::{Column, DataType, NULL};
use vitals::text::{LocalDates, in_time_order};

use super::value::push_value;

/// Writes a JSON array of rows. Every column is in each row, null where there is no value; deprecated columns only
/// where there is one.
pub struct JsonRows {
    columns: Vec<(&'static Column, Vec<u8>)>,
    dates: LocalDates,
    any: bool,
}

impl JsonRows {
    /// Nothing written yet.
    pub fn new(data_type: DataType) -> Self {
        let key = |column: &'static Column| (column, format!(",\"{}\":", column.name).into_bytes());
        JsonRows { columns: data_type.columns().iter().map(key).collect(), dates: LocalDates::default(), any: false }
    }

    /// The rows of some blocks, as the next part of the array.
    pub fn write(&mut self, blocks: &[Block], text: &mut Vec<u8>) {
        in_time_order(blocks, |block, row| {
            text.extend_from_slice(if self.any { b",\n" } else { b"[" });
            self.any = true;
            self.write_row(&blocks[block], row, text);
        });
    }

    /// The end of the array.
    pub fn finish(self, text: &mut Vec<u8>) {
        text.extend_from_slice(if self.any { b"]" } else { b"[]" });
    }

    fn write_row(&mut self, block: &Block, row: usize, text: &mut Vec<u8>) {
        let time_us = block.times_us[row];
        text.extend_from_slice(b"{\"timestamp\":");
        text.extend_from_slice(itoa::Buffer::new().format(time_us.div_euclid(1000)).as_bytes());
        text.extend_from_slice(b",\"date\":\"");
        text.extend_from_slice(self.dates.format(time_us, block.zone_of(row)));
        text.push(b'"');
        for ((column, key), cells) in self.columns.iter().zip(&block.columns) {
            if column.deprecated && cells.get(row) == NULL {
                continue;
            }
            text.extend_from_slice(key);
            push_value(text, column, cells, row, push_text);
        }
        text.push(b'}');
    }
}

fn push_text(text: &mut Vec<u8>, value: &str) {
    // Writing to a vector does not fail.
    let _ = serde_json::to_writer(text, value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use vitals::block::Cells;
    use vitals::registry::Channel;
    use vitals::zone::ZoneRuns;

    #[test]
    fn rows_of_all_channels_are_in_the_order_of_time() {
        let green = ppg2(0x7e, &[1_000_000, 3_000_000], &[5, 6]);
        let red = ppg2(0x7c, &[2_000_500, 3_000_000], &[7, NULL]);
        let mut rows = JsonRows::new(DataType::Ppg2);
        let mut text = Vec::new();
        rows.write(&[green], &mut text);
        rows.write(&[red], &mut text);
        rows.finish(&mut text);
        let parsed: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(parsed[2]["timestamp"], 2000);
        assert_eq!(parsed[0]["date"], "1970-01-01T00:00:01.000+00:00");
        assert_eq!(parsed[0]["metric_id"], "0x7e");
        assert_eq!(parsed[1]["value"], 6);
        assert!(parsed[3]["value"].is_null());
        assert_eq!(parsed.as_array().unwrap().len(), 4);
    }

    #[test]
    fn no_rows_are_an_empty_array() {
        let mut text = Vec::new();
        let mut rows = JsonRows::new(DataType::Sleep);
        rows.write(&[], &mut text);
        rows.finish(&mut text);
        assert_eq!(text, b"[]");
    }

    fn ppg2(metric_id: i32, times_us: &[i64], values: &[i32]) -> Block {
        let mut block = Block::empty(DataType::Ppg2, Channel::of_ppg2(metric_id, 6));
        block.times_us = times_us.to_vec();
        block.columns[0] = Cells::Constant(metric_id);
        block.columns[9] = Cells::Values(values.to_vec());
        block.zones = ZoneRuns::constant("UTC".into(), times_us.len());
        block
    }
}
