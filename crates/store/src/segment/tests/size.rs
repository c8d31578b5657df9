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

async fn check(data_type: DataType, blocks: Vec<Block>, names: &[&str]) {
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
    assert!(own <= 1.05 * yardstick);
    assert!(file <= 1.05 * own);
    assert!(file <= 1.05 * yardstick);
}

#[tokio::test]
async fn ppg2_costs_what_its_values_cost() {
    check(DataType::Ppg2, signals::ppg2(128 * 1200), &["value"]).await;
}

#[tokio::test]
async fn acc_costs_what_its_axes_cost() {
    check(DataType::Acc, signals::acc(32 * 7200), &["accX", "accY", "accZ"]).await;
}

#[tokio::test]
async fn ecg_costs_what_its_millivolts_cost() {
    check(DataType::Ecg, signals::ecg(256 * 1200), &["ecg"]).await;
}

#[tokio::test]
async fn numbers_are_scaled_integers_on_disk() {
    let (_, _, metadata) = sizes(DataType::Ecg, signals::ecg(1000), &["ecg"]).await;
    let schema = metadata.file_metadata().schema_descr();
    let column = schema.columns().iter().find(|column| column.name() == "ecg").unwrap();
    assert_eq!(column.physical_type(), PhysicalType::INT32);
    assert_eq!((column.type_precision(), column.type_scale()), (9, 3));
    let group = metadata.row_group(0);
    for column in group.columns().iter().filter(|column| column.column_type() != PhysicalType::BYTE_ARRAY) {
        assert!(
            column.encodings().any(|encoding| encoding == Encoding::DELTA_BINARY_PACKED),
            "{:?}",
            column.column_path()
        );
        assert_eq!(column.dictionary_page_offset(), None, "{:?}", column.column_path());
    }
}
