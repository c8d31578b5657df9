//! Sealed files of which one byte is another one.

use bytes::Bytes;
use object_store::ObjectStoreExt;
use object_store::path::Path;
use vitals::block::Block;
use vitals::registry::DataType;

use super::fixtures::channel_samples;
use super::{objects, write};
use crate::error::{Result, StoreError};
use crate::objects::Objects;
use crate::segment::{SegmentReader, WrittenSegment};

/// Few, so that the file is small.
const ROWS: usize = 12;

async fn read_whole(objects: &Objects, written: &WrittenSegment) -> Result<usize> {
    let reader = SegmentReader::open(objects, &written.path, written.bytes, DataType::Tests).await?;
    let mut pieces = reader.read(i64::MIN..=i64::MAX, None)?;
    let mut rows = 0;
    while let Some(blocks) = pieces.next().await? {
        rows += blocks.iter().map(Block::rows).sum::<usize>();
    }
    Ok(rows)
}

/// A byte can become another value, which only the checksum of the whole file shows; whatever else it does is reported as
/// damage, and no read of it takes down the thread or is to be tried again.
#[tokio::test]
async fn flipped_byte_of_a_file_is_another_value_or_damage_and_nothing_else() {
    let objects = objects();
    let written = write(&objects, DataType::Tests, 1, vec![vec![channel_samples(DataType::Tests, &[3], ROWS)]]).await;
    let path = Path::parse(&written.path).unwrap();
    let whole = objects.store.get(&path).await.unwrap().bytes().await.unwrap();
    assert_eq!(read_whole(&objects, &written).await.unwrap(), ROWS);
    let mut damaged = 0;
    for (place, flip) in (0..whole.len()).flat_map(|place| [(place, 1_u8), (place, 0xff)]) {
        let mut bytes = whole.to_vec();
        bytes[place] ^= flip;
        objects.store.put(&path, Bytes::from(bytes).into()).await.unwrap();
        let (objects, written) = (objects.clone(), written.clone());
        // In a task of its own, so that a panic is reported with its place.
        match runtime::spawn("read", async move { read_whole(&objects, &written).await }).await {
            Ok(Ok(_)) => {}
            Ok(Err(StoreError::Damaged(_))) => damaged += 1,
            other => panic!("byte {place} of {} with {flip}: {other:?}", whole.len()),
        }
    }
    assert!(damaged > whole.len() / 4, "{damaged} of {}", whole.len());
}
