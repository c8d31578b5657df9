//! From what is stored to the answers, and back: what was read can be sent again.

use arrow_ipc::writer::StreamWriter;
use bytes::Bytes;
use platform::ingest::TypeBatches;
use serde_json::{Map, Value};
use store::columnar::{arrow_schema, record_batch};
use vitals::block::Block;
use vitals::intake::Accepted;
use vitals::registry::DataType;
use vitals::zone::ZoneName;

use super::intake::take_in;
use crate::health_cloud::sync::readers;
use crate::raw_rows::{CsvRows, JsonRows, header};

type Row = Map<String, Value>;

/// Writes the rows in each form and reads them again. Answers how many rows there are.
pub(super) fn check(accepted: Accepted, zone: &ZoneName) -> u64 {
    let Accepted { data_type, blocks, .. } = accepted;
    let rows: usize = blocks.iter().map(Block::rows).sum();
    let text = json_text(data_type, &blocks);
    let objects: Vec<Row> = serde_json::from_slice(&text).expect("JSON");
    assert_eq!(objects.len(), rows);
    check_csv(data_type, &blocks, &objects);
    check_json_sent_again(data_type, &blocks, &text, zone);
    check_arrow_sent_again(data_type, &blocks, zone);
    rows as u64
}

fn json_text(data_type: DataType, blocks: &[Block]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut rows = JsonRows::new(data_type);
    rows.write(blocks, &mut text);
    rows.finish(&mut text);
    text
}

/// CSV and JSON say the same.
fn check_csv(data_type: DataType, blocks: &[Block], objects: &[Row]) {
    let mut text = header(data_type);
    CsvRows::default().write(blocks, &mut text);
    let mut reader = csv::Reader::from_reader(&text[..]);
    let names = reader.headers().expect("a header").clone();
    let mut lines = 0;
    for (line, object) in reader.records().zip(objects) {
        let line = line.expect("as many fields as the header has");
        for (name, field) in names.iter().zip(&line) {
            assert!(says(field, object.get(name)), "{name}: {field:?} and {:?}", object.get(name));
        }
        lines += 1;
    }
    assert_eq!(lines, objects.len());
}

fn says(field: &str, value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => field.is_empty(),
        Some(Value::String(text)) => field == text,
        Some(Value::Number(number)) => field == number.to_string() || field.parse().ok() == number.as_f64(),
        Some(_) => false,
    }
}

/// JSON shows whole milliseconds and no zone, so only rows at such times and in the zone of the sync come back.
fn check_json_sent_again(data_type: DataType, blocks: &[Block], text: &[u8], zone: &ZoneName) {
    let body = [format!("{{\"data\":{{\"{}\":", data_type.name()).as_bytes(), text, b"}}"].concat();
    let batches = readers::read_json(&body).expect("an answer can be sent").data.remove(0);
    let again = take_in(batches, zone);
    assert_eq!((again.rejected, again.rejections), (0, Vec::new()), "what is stored is not rejected");
    let whole = |block: &Block| block.times_us.iter().all(|time_us| time_us % 1000 == 0);
    let in_zone = |block: &Block| block.zones.iter().all(|(_, own)| own == zone);
    if blocks.iter().all(|block| whole(block) && in_zone(block)) {
        assert_same(blocks, &again.blocks);
    }
}

/// Arrow shows everything.
fn check_arrow_sent_again(data_type: DataType, blocks: &[Block], zone: &ZoneName) {
    let batch = record_batch(data_type, &blocks.iter().collect::<Vec<_>>()).expect("a batch");
    let mut writer = StreamWriter::try_new(Vec::new(), &arrow_schema(data_type)).expect("a stream");
    writer.write(&batch).expect("a batch in it");
    let stream = Bytes::from(writer.into_inner().expect("its end"));
    let batches: TypeBatches = readers::read_arrow(data_type, &stream, zone).expect("an answer can be sent");
    let again = take_in(batches, zone);
    assert_eq!((again.rejected, again.rejections), (0, Vec::new()), "what is stored is not rejected");
    assert_same(blocks, &again.blocks);
}

fn assert_same(blocks: &[Block], again: &[Block]) {
    assert_eq!(blocks.len(), again.len());
    for (block, again) in blocks.iter().zip(again) {
        assert_eq!((block.channel, &block.times_us, &block.zones), (again.channel, &again.times_us, &again.zones));
        for (cells, again) in block.columns.iter().zip(&again.columns) {
            assert!((0..block.rows()).all(|row| cells.row_equals(row, again, row)), "{cells:?} and {again:?}");
        }
    }
}
