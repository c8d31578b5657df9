//! An electrocardiogram that is sent as counts and as millivolts lies in a sealed file once.

use bytes::Bytes;
use object_store::ObjectStoreExt;
use object_store::path::Path;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use vitals::block::{Block, Cells};
use vitals::registry::{DataType, NULL};

use super::{objects, open, read, signals, simplified, write};
use crate::columnar::record_batch;
use crate::random_blocks::DAY_START_US;
use crate::segment::RepeatedRows;

/// Rows of a piece.
const PIECE_ROWS: usize = 16_384;

/// Both columns alike, but for the given rows.
pub(super) fn sent_twice(rows: i64, different: &[usize]) -> Block {
    let mut block = signals::ecg(rows).remove(0);
    let mut counts = block.column("ecg").clone();
    if let Cells::Values(cells) = &mut counts {
        for row in different {
            cells[*row] += 1;
        }
    }
    let value = DataType::Ecg.column_index("value").unwrap();
    block.columns[value] = counts;
    block
}

async fn file_of(block: &Block) -> (Bytes, Vec<Block>, Vec<Block>) {
    let objects = objects();
    let written = write(&objects, DataType::Ecg, 1, vec![vec![block.clone()]]).await;
    let reader = open(&objects, DataType::Ecg, &written).await;
    let all = read(&reader, i64::MIN, i64::MAX, None).await;
    let some = read(&reader, DAY_START_US + 10_000_000, DAY_START_US + 90_000_000, None).await;
    let object = objects.store.get(&Path::parse(&written.path).unwrap()).await.unwrap();
    (object.bytes().await.unwrap(), all, some)
}

/// Returns the number of counts in each piece.
fn counts_by_piece(file: &Bytes) -> Vec<usize> {
    let batches = ParquetRecordBatchReaderBuilder::try_new(file.clone()).unwrap().with_batch_size(PIECE_ROWS);
    let counts = |batch: arrow_array::RecordBatch| {
        let value = batch.column_by_name("value").unwrap();
        value.len() - value.null_count()
    };
    batches.build().unwrap().map(|batch| counts(batch.unwrap())).collect()
}

#[tokio::test]
async fn a_copy_is_left_out_where_all_rows_of_a_piece_agree_and_made_again() {
    let rows = PIECE_ROWS + 9_000;
    for (different, counts) in [(&[][..], [0, 0]), (&[20_000][..], [0, 9_000]), (&[5, 20_000][..], [PIECE_ROWS, 9_000])]
    {
        let block = sent_twice(rows as i64, different);
        let (file, all, some) = file_of(&block).await;
        assert_eq!(counts_by_piece(&file), counts);
        assert_eq!(all, std::slice::from_ref(&block));
        assert_eq!(some, [simplified(block.clipped(DAY_START_US + 10_000_000, DAY_START_US + 90_000_000))]);
    }
    let once = file_of(&signals::ecg(rows as i64)[0]).await.0;
    let twice = file_of(&sent_twice(rows as i64, &[])).await.0;
    assert!(twice.len() < once.len() + 64, "{} and {}", twice.len(), once.len());
}

#[tokio::test]
async fn columns_without_a_value_are_no_copies() {
    let mut block = sent_twice(100, &[]);
    for name in ["value", "ecg"] {
        block.columns[DataType::Ecg.column_index(name).unwrap()] = Cells::Constant(NULL);
    }
    let (file, all, _) = file_of(&block).await;
    assert_eq!((all, counts_by_piece(&file)), (vec![block], vec![0]));
    let metadata = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().metadata().clone();
    assert!(format!("{:?}", RepeatedRows::of(metadata.file_metadata()).unwrap()).contains("ranges: []"));
}

/// Programs that read a file by themselves get the rows that were sealed, however they cut them.
#[tokio::test]
async fn readers_of_a_file_make_the_copy_again() {
    let mut block = sent_twice(2 * PIECE_ROWS as i64 + 100, &[PIECE_ROWS]);
    for name in ["value", "ecg"] {
        if let Cells::Values(cells) = &mut block.columns[DataType::Ecg.column_index(name).unwrap()] {
            cells[7] = NULL;
        }
    }
    let (file, ..) = file_of(&block).await;
    let expected = record_batch(DataType::Ecg, &[&block]).unwrap();
    for batch_rows in [1_000, PIECE_ROWS, 100_000] {
        let reader = ParquetRecordBatchReaderBuilder::try_new(file.clone()).unwrap();
        let repeated = RepeatedRows::of(reader.metadata().file_metadata()).unwrap();
        let mut row = 0;
        for batch in reader.with_batch_size(batch_rows).build().unwrap() {
            let batch = repeated.restored(batch.unwrap(), row as u64).unwrap();
            let part = expected.slice(row, batch.num_rows());
            for name in ["value", "ecg"] {
                assert_eq!(batch.column_by_name(name), part.column_by_name(name), "{name} from row {row}");
            }
            row += batch.num_rows();
        }
        assert_eq!(row, block.rows());
    }
}
