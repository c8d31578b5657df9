//! A segment costs what its signal costs: the same numbers alone, with their times, written with the settings that
//! the storage study measured, are the yardstick. Columns that accompany the signal and everything else add little.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, TimestampMicrosecondArray};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, Type as PhysicalType, ZstdLevel};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::properties::WriterProperties;
use vitals::block::{Block, Cells};
use vitals::registry::DataType;

use super::{objects, signals, write};

/// Bytes of the numbers of some columns with their times, one file a channel.
fn yardstick(blocks: &[Block], names: &[&str]) -> f64 {
    let file_of = |block: &Block| {
        let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from(block.times_us.clone()));
        let mut columns = vec![("timestamp", times)];
        for name in names {
            let Cells::Values(cells) = block.column(name) else { panic!("{name} does not vary") };
            columns.push((name, Arc::new(Int32Array::from(cells.clone()))));
        }
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(false)
            .set_encoding(Encoding::DELTA_BINARY_PACKED)
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1).unwrap()))
            .set_data_page_row_count_limit(16_384)
            .build();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap().len() as f64
    };
    blocks.iter().map(file_of).sum()
}

/// Returns the size of a segment, and the part of it that its signal and times are.
async fn sizes(data_type: DataType, blocks: Vec<Block>, names: &[&str]) -> (f64, f64, ParquetMetaData) {
    let objects = objects();
    let written = write(&objects, data_type, 1, vec![blocks]).await;
    let file = whole_object(&objects, &written.path).await;
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&file).unwrap();
    let columns = metadata.row_groups().iter().flat_map(RowGroupMetaData::columns);
    let own = columns.filter(|column| {
        let name = column.column_path().string();
        name == "timestamp" || names.contains(&name.as_str())
    });
    let own: i64 = own.map(ColumnChunkMetaData::compressed_size).sum();
    (written.bytes as f64, own as f64, metadata)
}

async fn whole_object(objects: &crate::objects::Objects, path: &str) -> Bytes {
    use object_store::ObjectStoreExt;
    objects.store.get(&object_store::path::Path::parse(path).unwrap()).await.unwrap().bytes().await.unwrap()
}

/// `most` is how large the signal may be against its yardstick.
async fn check(data_type: DataType, blocks: Vec<Block>, names: &[&str], most: f64) {
    let yardstick = yardstick(&blocks, names);
    let rows: usize = blocks.iter().map(Block::rows).sum();
    let (file, own, _) = sizes(data_type, blocks, names).await;
    println!(
        "{}: yardstick {:.4} bytes a row, signal {:.4}, file {:.4}; signal / yardstick {:.4}, file / signal {:.4}",
        data_type.name(),
        yardstick / rows as f64,
        own / rows as f64,
        file / rows as f64,
        own / yardstick,
        file / own,
    );
    assert!(own <= most * yardstick);
    assert!(file <= 1.05 * own);
    assert!(file <= most * 1.02 * yardstick);
}

#[tokio::test]
async fn ppg2_costs_what_its_values_cost() {
    check(DataType::Ppg2, signals::ppg2(128 * 1200), &["value"], 1.03).await;
}

#[tokio::test]
async fn acc_costs_what_its_axes_cost() {
    check(DataType::Acc, signals::acc(32 * 7200), &["accX", "accY", "accZ"], 1.03).await;
}

#[tokio::test]
async fn ecg_costs_what_its_millivolts_cost() {
    // Floats of so much noise cost more than integers; recordings come to 1.01 to 1.18 (docs/benchmarks.md).
    check(DataType::Ecg, signals::ecg(256 * 1200), &["ecg"], 1.27).await;
}

/// Floats for what has decimals, against scaled integers for the same columns, file by file and as a whole: a day of one
/// patient, with twenty minutes of ecg.
#[tokio::test]
async fn a_day_of_floats_costs_what_the_documents_say_against_scaled_integers() {
    let days: [(DataType, Vec<Block>, &[&str]); 4] = [
        (DataType::RrInterval, signals::intervals(), &["rr"]),
        (DataType::Activity, signals::activity(), &["bpm", "last_steps", "respiration_rate", "spo2", "core_temp"]),
        (DataType::Temperature, signals::temperature(), &["temp_sk1", "temp_amb"]),
        // In millivolts alone: with counts in the yardstick, which files of floats no longer repeat, floats would look cheaper.
        (DataType::Ecg, signals::ecg(256 * 1200), &["ecg"]),
    ];
    let (mut floats, mut integers) = (0.0, 0.0);
    for (data_type, blocks, names) in days {
        let integer = yardstick(&blocks, names);
        let (_, float, _) = sizes(data_type, blocks, names).await;
        println!("{}: {float} bytes as floats, {integer} as integers: {:.3}", data_type.name(), float / integer);
        floats += float;
        integers += integer;
    }
    println!("the day: {:.3}", floats / integers);
    // 0.962, since intervals shrink by more than twenty minutes of ecg grow. What ecg alone costs, more than the 5 % of
    // refinement 44, is held by its own test; why floats stay is in docs/decisions.md.
    assert!(floats <= integers, "{floats} against {integers}");
}

#[tokio::test]
async fn decimals_are_doubles_with_a_dictionary_and_integers_are_packed() {
    let (_, _, metadata) = sizes(DataType::Ecg, signals::ecg(1000), &["ecg"]).await;
    let schema = metadata.file_metadata().schema_descr();
    for (described, column) in schema.columns().iter().zip(metadata.row_group(0).columns()) {
        let (has_dictionary, encoding) = match described.physical_type() {
            PhysicalType::DOUBLE | PhysicalType::BYTE_ARRAY => (true, Encoding::RLE_DICTIONARY),
            _ => (false, Encoding::DELTA_BINARY_PACKED),
        };
        assert_eq!(described.physical_type() == PhysicalType::DOUBLE, described.name() == "ecg");
        assert!(column.encodings().any(|found| found == encoding), "{}", described.name());
        assert_eq!(column.dictionary_page_offset().is_some(), has_dictionary, "{}", described.name());
    }
}
