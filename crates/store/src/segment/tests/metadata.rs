//! What a file says of itself to readers that know nothing of us: statistics and the order of its rows.

use bytes::Bytes;
use object_store::ObjectStoreExt;
use object_store::path::Path;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, SortingColumn};
use parquet::file::statistics::Statistics;
use vitals::block::Block;
use vitals::registry::{DataType, NULL};

use super::formats::channel_samples;
use super::{objects, write};

/// Returns the metadata of a file, and the times of its rows as they lie.
async fn written(data_type: DataType, blocks: Vec<Block>) -> (ParquetMetaData, Vec<i64>) {
    use arrow_array::cast::AsArray;
    use arrow_array::types::TimestampMicrosecondType;
    let objects = objects();
    let written = write(&objects, data_type, 1, vec![blocks]).await;
    let object = objects.store.get(&Path::parse(&written.path).unwrap()).await.unwrap();
    let file: Bytes = object.bytes().await.unwrap();
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&file).unwrap();
    let batches = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let times =
        |batch: arrow_array::RecordBatch| batch.column(0).as_primitive::<TimestampMicrosecondType>().values().to_vec();
    let times_us = batches.build().unwrap().flat_map(|batch| times(batch.unwrap())).collect();
    (metadata, times_us)
}

fn range_of(metadata: &ParquetMetaData, name: &str) -> Option<(String, String)> {
    let columns = metadata.row_group(0).columns();
    let column = columns.iter().find(|column| column.column_path().string() == name).unwrap();
    let Some(Statistics::ByteArray(found)) = column.statistics() else { return None };
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Some((text(found.min_opt()?.data()), text(found.max_opt()?.data())))
}

#[tokio::test]
async fn columns_of_text_have_their_smallest_and_largest_value() {
    let kinds = [&[3][..], &[8]].map(|cells| channel_samples(DataType::Tests, cells, 40));
    let (metadata, _) = written(DataType::Tests, kinds.to_vec()).await;
    let range = |least: &str, most: &str| Some((least.to_owned(), most.to_owned()));
    assert_eq!(range_of(&metadata, "test_type"), range("other", "temperature"));
    assert_eq!(range_of(&metadata, "unit"), range("text 0", "text 6"));
    assert_eq!(range_of(&metadata, "zone"), range("Asia/Tokyo", "Europe/Zurich"));
    let colours = [&[0x7b, 6][..], &[0x7e, NULL]].map(|cells| channel_samples(DataType::Ppg2, cells, 40));
    let (metadata, _) = written(DataType::Ppg2, colours.to_vec()).await;
    assert_eq!(range_of(&metadata, "metric_id"), range("0x7b", "0x7e"));
}

#[tokio::test]
async fn files_say_that_they_are_in_the_order_of_time_where_they_are() {
    let by_time = vec![SortingColumn { column_idx: 0, descending: false, nulls_first: false }];
    for data_type in DataType::ALL {
        let channels: &[&[i32]] = match data_type {
            DataType::Ppg2 => &[&[0x7b, 6], &[0x7e, 6]],
            DataType::Tests => &[&[3], &[8]],
            _ => &[&[]],
        };
        let blocks = channels.iter().map(|cells| channel_samples(data_type, cells, 50)).collect();
        let (metadata, times_us) = written(data_type, blocks).await;
        let is_said = metadata.row_groups().iter().all(|group| group.sorting_columns() == Some(&by_time));
        assert_eq!(is_said, channels.len() == 1, "{}", data_type.name());
        assert_eq!(times_us.is_sorted(), is_said, "{}", data_type.name());
    }
}
