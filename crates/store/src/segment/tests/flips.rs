//! Sealed files of which one byte is another one.

use bytes::Bytes;
use object_store::ObjectStoreExt;
use object_store::path::Path;
use vitals::block::Block;
use vitals::registry::DataType;

use super::formats::channel_samples;
use super::{objects, write};
use crate::error::{Result, StoreError};
use crate::objects::Objects;
use crate::segment::{SegmentReader, WrittenSegment};

/// Few, so that the file is small.
const ROWS: usize = 12;

async fn read_whole(objects: &Objects, written: &WrittenSegment) -> Result<usize> {
    let reader = SegmentReader::open(objects, written, DataType::Tests).await?;
    let mut pieces = reader.read(i64::MIN..=i64::MAX, None)?;
    let mut rows = 0;
    while let Some(blocks) = pieces.next().await? {
        rows += blocks.iter().map(Block::rows).sum::<usize>();
    }
    Ok(rows)
}

/// Reads a file of which a byte was changed, in a task of its own, so that a panic is reported with its place.
async fn read_flipped(
    objects: &Objects,
    written: &WrittenSegment,
    whole: &Bytes,
    place: usize,
    flip: u8,
) -> Result<usize> {
    let mut bytes = whole.to_vec();
    bytes[place] ^= flip;
    objects.store.put(&Path::parse(&written.path).unwrap(), Bytes::from(bytes).into()).await.unwrap();
    let (objects, written) = (objects.clone(), written.clone());
    let read = runtime::spawn("read", async move { read_whole(&objects, &written).await }).await;
    read.unwrap_or_else(|error| panic!("byte {place} of {} with {flip}: {error:?}", whole.len()))
}

#[tokio::test]
async fn flipped_byte_of_a_file_is_damage_wherever_it_lies() {
    let objects = objects();
    let written = write(&objects, DataType::Tests, 1, vec![vec![channel_samples(DataType::Tests, &[3], ROWS)]]).await;
    let whole = objects.store.get(&Path::parse(&written.path).unwrap()).await.unwrap().bytes().await.unwrap();
    assert_eq!(read_whole(&objects, &written).await.unwrap(), ROWS);
    for (place, flip) in (0..whole.len()).flat_map(|place| [(place, 1_u8), (place, 0xff)]) {
        let read = read_flipped(&objects, &written, &whole, place, flip).await;
        assert!(
            matches!(read, Err(StoreError::DamagedRows(_))),
            "byte {place} of {} with {flip}: {read:?}",
            whole.len()
        );
    }
}

/// Without checksums a byte can become another value, which only the digest of the whole file shows. Whatever else it does
/// is reported as damage, and no read of it takes down the thread or is to be tried again.
#[tokio::test]
async fn flipped_byte_of_a_file_of_before_is_another_value_or_damage_and_nothing_else() {
    let objects = objects();
    let written = write(&objects, DataType::Tests, 1, vec![vec![channel_samples(DataType::Tests, &[3], ROWS)]]).await;
    let written = WrittenSegment { tail: None, ..written };
    let whole = objects.store.get(&Path::parse(&written.path).unwrap()).await.unwrap().bytes().await.unwrap();
    let mut damaged = 0;
    for (place, flip) in (0..whole.len()).flat_map(|place| [(place, 1_u8), (place, 0xff)]) {
        match read_flipped(&objects, &written, &whole, place, flip).await {
            Ok(_) => {}
            Err(error) if error.is_damage() => damaged += 1,
            Err(other) => panic!("byte {place} of {} with {flip}: {other:?}", whole.len()),
        }
    }
    assert!(damaged > whole.len() / 4, "{damaged} of {}", whole.len());
}
