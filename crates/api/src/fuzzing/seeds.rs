//! The seeds that are not written by hand: Arrow streams and payloads.
//!
//! `cargo test -p api -- --ignored seeds_are_written_again` writes them. Those of the targets that take a type have the
//! byte that chooses it in front.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Float16Type, Int8Type, UInt32Type};
use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, Decimal256Array, DictionaryArray, Float16Array, Float32Array,
    Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, LargeStringArray, NullArray, RecordBatch, StringArray,
    StringViewArray, TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt8Array,
    UInt16Array, UInt64Array,
};
use arrow_ipc::writer::StreamWriter;
use store::columnar::{arrow_schema, record_batches};
use vitals::block::Block;
use vitals::registry::DataType;

use super::{intake, readers};

type Half = <Float16Type as ArrowPrimitiveType>::Native;

const TIME_MS: i64 = 1_763_600_000_000;

/// Returns the folder of a target's seeds.
pub(super) fn folder(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target)
}

/// Returns the files of a folder by name.
pub(super) fn files(target: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder(target)).expect("a folder of seeds");
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, std::fs::read(&path).expect("a seed"))
    };
    entries.map(read).collect()
}

/// Returns what the JSON seeds become, by type and the name of the seed.
fn blocks() -> Vec<(String, DataType, Vec<Block>)> {
    let mut all = Vec::new();
    for (name, text) in files("sync_json") {
        let Ok(body) = readers::read_json(&text) else { continue };
        for batches in body.data {
            let data_type = batches.data_type;
            let blocks = intake::take_in(batches, &super::ZONE.into()).blocks;
            if !blocks.is_empty() {
                all.push((name.trim_end_matches(".json").to_owned(), data_type, blocks));
            }
        }
    }
    all
}

fn chosen(data_type: DataType, bytes: &[u8]) -> Vec<u8> {
    let number = DataType::ALL.iter().position(|other| *other == data_type).expect("one of all");
    [&[number as u8], bytes].concat()
}

fn stream(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batches[0].schema()).expect("a stream");
    for batch in batches {
        writer.write(batch).expect("a batch in it");
    }
    writer.into_inner().expect("its end")
}

/// Streams as answers have them.
fn own_streams() -> Vec<(String, Vec<u8>)> {
    let mut streams = Vec::new();
    for (name, data_type, blocks) in blocks() {
        let batches = record_batches(data_type, &blocks.iter().collect::<Vec<_>>(), 2).expect("batches");
        streams.push((format!("{name}-{}", data_type.name()), chosen(data_type, &stream(&batches))));
    }
    let empty = RecordBatch::new_empty(arrow_schema(DataType::Acc));
    streams.push(("valid-empty".to_owned(), chosen(DataType::Acc, &stream(&[empty]))));
    streams
}

/// Columns of a batch by name.
type Columns = Vec<(&'static str, ArrayRef)>;

/// Streams as others may write them: every type that a column can have.
fn foreign_streams() -> Vec<(String, Vec<u8>)> {
    let ms = |rows: i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values((0..rows).map(|row| TIME_MS + row))) };
    let coded =
        |texts: Vec<Option<&str>>| -> ArrayRef { Arc::new(texts.into_iter().collect::<DictionaryArray<Int8Type>>()) };
    let decimals = Decimal128Array::from(vec![Some(33_214), None, Some(-45)]).with_precision_and_scale(20, 3);
    let wide = Decimal256Array::from_iter_values([1.into(), 20.into(), 300.into()]);
    let numbers: ArrayRef = Arc::new(Int16Array::from(vec![Some(300), Some(60), None]));
    let coded_numbers = DictionaryArray::<UInt32Type>::new(vec![1, 0, 2].into(), numbers);
    let halves = Float16Array::from_iter_values([1.5, f32::NAN, 3.0].map(Half::from_f32));
    let columns: Vec<(&str, DataType, Columns)> = vec![
        (
            "integers",
            DataType::Activity,
            vec![
                ("timestamp", ms(3)),
                ("bpm", Arc::new(UInt8Array::from(vec![60, 61, 62]))),
                ("spo2", Arc::new(Int8Array::from(vec![Some(97), None, Some(-1)]))),
                ("respiration_rate", Arc::new(UInt16Array::from(vec![14, 15, 16]))),
                ("last_steps", Arc::new(UInt64Array::from(vec![0, u64::MAX, 7]))),
                ("charging", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
                ("battery", Arc::new(NullArray::new(3))),
                ("bpm_q", Arc::new(coded_numbers)),
            ],
        ),
        (
            "floats",
            DataType::HeartRateVariability,
            vec![
                ("timestamp", Arc::new(TimestampMillisecondArray::from(vec![TIME_MS, TIME_MS + 1, TIME_MS + 2]))),
                ("rmssd", Arc::new(Float64Array::from(vec![Some(32.5), None, Some(f64::INFINITY)]))),
                ("sdnn", Arc::new(Float32Array::from(vec![41.25, f32::NAN, -1.0]))),
                ("pnn50", Arc::new(halves)),
            ],
        ),
        (
            "decimals",
            DataType::Temperature,
            vec![
                ("timestamp", Arc::new(TimestampNanosecondArray::from(vec![TIME_MS * 1_000_000 + 999, 5, i64::MAX]))),
                ("temp_sk1", Arc::new(decimals.expect("digits"))),
                ("temp_amb", Arc::new(wide.with_precision_and_scale(40, 1).expect("digits"))),
                ("date", Arc::new(StringArray::from(vec!["a", "b", "c"]))),
            ],
        ),
        (
            "texts",
            DataType::Tests,
            vec![
                ("timestamp", Arc::new(TimestampSecondArray::from(vec![TIME_MS / 1000, i64::MAX, TIME_MS / 1000]))),
                ("test_type", Arc::new(StringArray::from(vec!["glucose", "other", "spo2"]))),
                ("value", Arc::new(Int32Array::from(vec![5, 6, 97]))),
                ("unit", Arc::new(LargeStringArray::from(vec![Some("mmol/L"), None, Some("%")]))),
                (
                    "note",
                    Arc::new(StringViewArray::from(vec![
                        Some("short"),
                        None,
                        Some("a note of more than twelve bytes"),
                    ])),
                ),
                ("zone", coded(vec![Some("UTC"), None, Some("Asia/Tokyo")])),
            ],
        ),
        (
            "codes",
            DataType::Ppg2,
            vec![
                ("timestamp", ms(3)),
                ("metric_id", coded(vec![Some("0x7e"), Some("0x7c"), None])),
                ("led_pd_pos", Arc::new(Int32Array::from(vec![6, 6, 256]))),
                ("value", Arc::new(Int16Array::from(vec![1, 2, -1]))),
            ],
        ),
    ];
    let write = |(name, data_type, columns): (&str, DataType, Vec<(&str, ArrayRef)>)| {
        let columns = columns.into_iter().map(|(name, array)| (name, array, true));
        let batch = RecordBatch::try_from_iter_with_nullable(columns).expect("a batch");
        (format!("valid-foreign-{name}"), chosen(data_type, &stream(&[batch])))
    };
    columns.into_iter().map(write).collect()
}

#[test]
#[ignore = "writes into the repository"]
fn seeds_are_written_again() {
    for (name, bytes) in own_streams().into_iter().chain(foreign_streams()) {
        std::fs::write(folder("sync_arrow").join(format!("{name}.arrow")), bytes).expect("a file");
    }
    for (name, data_type, blocks) in blocks() {
        for block in blocks {
            let name = format!("{name}-{}-{}.payload", data_type.name(), block.channel.0);
            let bytes = store::fuzzing::encode(&block).expect("a payload");
            std::fs::write(folder("payload").join(name), chosen(data_type, &bytes)).expect("a file");
        }
    }
}
