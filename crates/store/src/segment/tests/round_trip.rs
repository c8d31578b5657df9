use std::collections::BTreeSet;
use std::future::Future;

use bytes::Bytes;
use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaDataReader};
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use vitals::block::{Block, Cells};
use vitals::registry::{Channel, DataType};
use vitals::zone::ZoneRuns;

use super::{name, objects, open, read, signals, simplified, write};
use crate::error::StoreError;
use crate::objects::Objects;
use crate::random_blocks::{DAY_START_US, blocks_of, data_types};
use crate::segment::{SegmentReader, SegmentWriter, WrittenSegment};

fn run<T>(work: impl Future<Output = T>) -> T {
    runtime::run(2, work).unwrap()
}

fn between(blocks: &[Block], from_us: i64, to_us: i64) -> Vec<Block> {
    let clipped = blocks.iter().map(|block| simplified(block.clone().clipped(from_us, to_us)));
    clipped.filter(|block| !block.is_empty()).collect()
}

/// Returns the same blocks, handed over in calls that are cut at the given times.
fn cut_at(blocks: &[Block], mut times_us: Vec<i64>) -> Vec<Vec<Block>> {
    times_us.sort_unstable();
    let mut from_us = i64::MIN;
    let mut calls = Vec::new();
    for to_us in times_us.into_iter().chain([i64::MAX]) {
        if to_us > from_us {
            calls.push(blocks.iter().map(|block| block.clone().clipped(from_us, to_us)).collect());
            from_us = to_us.saturating_add(1);
        }
    }
    calls
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn blocks_of_every_type_come_back(
        blocks in data_types().prop_flat_map(|data_type| blocks_of(data_type, 50)),
        from in 0_i64..20_000_000,
        length in 0_i64..20_000_000,
    ) {
        let data_type = blocks[0].data_type;
        let (from_us, to_us) = (DAY_START_US + from, DAY_START_US + from + length);
        run(async {
            let objects = objects();
            let written = write(&objects, data_type, 1, vec![blocks.clone()]).await;
            let reader = open(&objects, data_type, &written).await;
            assert_eq!(read(&reader, i64::MIN, i64::MAX, None).await, blocks);
            assert_eq!(read(&reader, from_us, to_us, None).await, between(&blocks, from_us, to_us));
            let last = blocks[blocks.len() - 1].channel;
            let of_last = between(&blocks[blocks.len() - 1..], from_us, to_us);
            assert_eq!(read(&reader, from_us, to_us, Some(&[last])).await, of_last);
            assert_eq!(written.rows, blocks.iter().map(|block| block.rows() as u64).sum::<u64>());
            assert_eq!(Some(written.first_us), blocks.iter().filter_map(Block::first_us).min());
            assert_eq!(Some(written.last_us), blocks.iter().filter_map(Block::last_us).max());
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// However a long signal is handed over, the file is the same, and any range of it can be read.
    #[test]
    fn the_file_depends_on_the_samples_alone(
        cuts in proptest::collection::vec(0_i64..400_000_000, 0..6),
        from in 0_i64..400_000_000,
        length in 0_i64..200_000_000,
    ) {
        let mut blocks = signals::ppg2(50_000);
        blocks[1] = blocks[1].clone().clipped(DAY_START_US + 100_000_000, DAY_START_US + 300_000_000);
        run(async {
            let objects = objects();
            let whole = write(&objects, DataType::Ppg2, 1, vec![blocks.clone()]).await;
            let cuts = cuts.into_iter().map(|cut| DAY_START_US + cut).collect();
            let in_parts = write(&objects, DataType::Ppg2, 2, cut_at(&blocks, cuts)).await;
            assert_eq!(whole.sha256, in_parts.sha256);

            let reader = open(&objects, DataType::Ppg2, &in_parts).await;
            let (from_us, to_us) = (DAY_START_US + from, DAY_START_US + from + length);
            assert_eq!(read(&reader, from_us, to_us, None).await, between(&blocks, from_us, to_us));
            let green = blocks[2].channel;
            assert_eq!(read(&reader, from_us, to_us, Some(&[green])).await, between(&blocks[2..], from_us, to_us));
        });
    }
}

async fn bytes_of(objects: &Objects, written: &WrittenSegment) -> Vec<u8> {
    let object = objects.store.get(&Path::parse(&written.path).unwrap()).await.unwrap();
    object.bytes().await.unwrap().to_vec()
}

async fn put(objects: &Objects, path: &str, bytes: Vec<u8>) {
    objects.store.put(&Path::parse(path).unwrap(), Bytes::from(bytes).into()).await.unwrap();
}

/// Bytes that have one checksum.
const BLOCK_BYTES: usize = 16 << 10;

/// Destroys every page without a row of the pieces that overlap the window, but for the blocks that it shares with another:
/// what is not needed is not looked at.
#[tokio::test]
async fn a_window_needs_only_its_pages() {
    let rows = 300_000_i64;
    let blocks = signals::acc(rows);
    let objects = objects();
    let written = write(&objects, DataType::Acc, 1, vec![blocks.clone()]).await;
    let mut file = bytes_of(&objects, &written).await;
    let metadata = ParquetMetaDataReader::new()
        .with_page_index_policy(PageIndexPolicy::Required)
        .parse_and_finish(&Bytes::from(file.clone()))
        .unwrap();

    let window = 140_000..150_000;
    let (mut needed_blocks, mut not_needed) = (BTreeSet::new(), Vec::new());
    let index = metadata.page_index_for_row_group(0);
    for column in 0..metadata.row_group(0).num_columns() {
        let dictionary = metadata.row_group(0).column(column).dictionary_page_offset();
        let pages = index.offset_index(column).unwrap().page_locations();
        for (number, page) in pages.iter().enumerate() {
            let end = pages.get(number + 1).map_or(rows, |next| next.first_row_index);
            // A piece is a page of the signal, and whole pieces are read.
            let page_rows = page.first_row_index / 16_384 * 16_384..(end + 16_383) / 16_384 * 16_384;
            let needed = page_rows.start < window.end && page_rows.end > window.start;
            let bytes = page.offset as usize..page.offset as usize + page.compressed_page_size as usize;
            if needed || dictionary == Some(page.offset) {
                needed_blocks.extend(bytes.start / BLOCK_BYTES..=(bytes.end - 1) / BLOCK_BYTES);
            } else {
                not_needed.push(bytes);
            }
        }
        let first_page = pages[0].offset as usize;
        let before_pages = dictionary.map_or(first_page, |offset| offset as usize)..=first_page;
        needed_blocks.extend(before_pages.map(|at| at / BLOCK_BYTES));
    }
    let mut destroyed = 0;
    for at in not_needed.into_iter().flatten().filter(|at| !needed_blocks.contains(&(at / BLOCK_BYTES))) {
        file[at] = 0xff;
        destroyed += 1;
    }
    assert!(destroyed * 100 > 70 * file.len(), "{destroyed} of {}", file.len());
    put(&objects, &written.path, file).await;

    let reader = open(&objects, DataType::Acc, &written).await;
    let (from_us, to_us) = (blocks[0].times_us[140_000], blocks[0].times_us[149_999]);
    assert_eq!(read(&reader, from_us, to_us, None).await, between(&blocks, from_us, to_us));
    let mut elsewhere = reader.read(DAY_START_US..=DAY_START_US, None).unwrap();
    assert!(elsewhere.next().await.is_err_and(|error| error.is_damage()));
    assert!(elsewhere.next().await.is_err());
}

/// Numbers that do not pack, so that the object is larger than a part of an upload.
fn noise(rows: i64) -> Vec<Block> {
    let mut block = Block::empty(DataType::Bioz, Channel::default());
    block.times_us = (0..rows).map(|row| DAY_START_US + row * 40_000).collect();
    let position = DataType::Bioz.column_index("value").unwrap();
    let mut state = 1_u64;
    let mut value = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as i32 % 2_000_000_000
    };
    block.columns[position] = Cells::Values((0..rows).map(|_| value()).collect());
    block.zones = ZoneRuns::constant("UTC".into(), rows as usize);
    vec![block]
}

#[tokio::test]
async fn segments_larger_than_a_row_group_and_a_part_come_back() {
    let blocks = noise(1_500_000);
    let folder = tempfile::tempdir().unwrap();
    let objects = Objects::folder(folder.path()).unwrap();
    let written = write(&objects, DataType::Bioz, 1, vec![blocks.clone()]).await;
    assert!(written.bytes > 5 << 20, "{}", written.bytes);
    let file = std::fs::read(folder.path().join(&written.path)).unwrap();
    assert_eq!(written.bytes, file.len() as u64);
    let halves = |at: usize| u8::from_str_radix(&written.sha256[at..at + 2], 16).unwrap();
    let sha256: Vec<u8> = (0..64).step_by(2).map(halves).collect();
    assert_eq!(Sha256::digest(&file).to_vec(), sha256);

    let reader = open(&objects, DataType::Bioz, &written).await;
    // Across the end of the first row group.
    let (from_us, to_us) = (blocks[0].times_us[1_040_000], blocks[0].times_us[1_060_000]);
    assert_eq!(read(&reader, from_us, to_us, None).await, between(&blocks, from_us, to_us));
    let pieces: Vec<Vec<Block>> =
        reader.read(i64::MIN..=i64::MAX, None).unwrap().into_stream().try_collect().await.unwrap();
    assert!(pieces.iter().flatten().all(|block| block.rows() <= 16_384));
    let all: Vec<&Block> = pieces.iter().flatten().collect();
    assert_eq!(simplified(Block::concatenated(&all)), blocks[0]);
}

#[tokio::test]
async fn a_segment_without_rows_is_no_object() {
    let objects = objects();
    let mut writer = SegmentWriter::new(&objects, &name(DataType::Ecg, 1)).unwrap();
    writer.push(vec![Block::empty(DataType::Ecg, Channel::default())]).await.unwrap();
    assert_eq!(writer.finish().await.unwrap(), None);
    assert_eq!(objects.store.list(None).try_collect::<Vec<_>>().await.unwrap().len(), 0);
}

#[tokio::test]
async fn objects_can_be_deleted_twice() {
    let folder = tempfile::tempdir().unwrap();
    for objects in [objects(), Objects::folder(folder.path()).unwrap()] {
        let written = write(&objects, DataType::Ecg, 1, vec![signals::ecg(10)]).await;
        objects.delete(&written.path).await.unwrap();
        objects.delete(&written.path).await.unwrap();
        let gone = SegmentReader::open(&objects, &written, DataType::Ecg).await;
        assert!(gone.is_err_and(|error| error.is_damage()), "what is gone is damage");
    }
}

#[tokio::test]
async fn blocks_out_of_order_are_reported() {
    let blocks = signals::ecg(10);
    let mut writer = SegmentWriter::new(&objects(), &name(DataType::Ecg, 1)).unwrap();
    writer.push(blocks.clone()).await.unwrap();
    assert!(matches!(writer.push(blocks.clone()).await, Err(StoreError::Conflict(_))));
    assert!(writer.push(blocks).await.is_err());
}

#[tokio::test]
async fn other_files_are_reported() {
    let objects = objects();
    let written = write(&objects, DataType::Ecg, 1, vec![signals::ecg(1000)]).await;
    let mut file = bytes_of(&objects, &written).await;
    file.truncate(file.len() - 1);
    let bytes = file.len() as u64;
    put(&objects, "short", file).await;
    // As long as the list says, or shorter.
    for listed in [bytes, bytes + 1, 2 * bytes] {
        for tail in [written.tail, None] {
            let short = WrittenSegment { path: "short".to_owned(), bytes: listed, tail, ..written.clone() };
            let short = SegmentReader::open(&objects, &short, DataType::Ecg).await;
            assert!(short.is_err_and(|error| error.is_damage()), "{listed}");
        }
    }
    let absent = WrittenSegment { path: "absent".to_owned(), ..written };
    let absent = SegmentReader::open(&objects, &absent, DataType::Ecg).await;
    assert!(absent.is_err_and(|error| error.is_damage()), "what is not there is damage");
}
