//! Files of every stored format that was ever written are kept and must be read for ever.
//!
//! The files of the format at hand were written by `write_fixtures`; when the format changes, it gets a new number in
//! the name, and the old files stay.

use std::path::PathBuf;

use object_store::ObjectStoreExt;
use object_store::path::Path;
use vitals::block::{Block, Cells};
use vitals::registry::{Channel, DataType, NULL};
use vitals::zone::ZoneRuns;

use super::{objects, open, read, simplified, write};
use crate::random_blocks::DAY_START_US;
use crate::segment::WrittenSegment;

const KEPT: [DataType; 4] = [DataType::Ppg2, DataType::Ecg, DataType::Activity, DataType::Tests];

/// The formats that were ever written; the last is the one at hand.
const FORMATS: [u8; 2] = [1, 2];

fn file_of(format: u8, data_type: DataType) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    folder.join(format!("segment-{format}-{}.parquet", data_type.name()))
}

/// Returns what the files hold, made of integers only so that it is the same everywhere.
fn samples(data_type: DataType) -> Vec<Block> {
    let channels: &[&[i32]] = match data_type {
        DataType::Ppg2 => &[&[0x7b, 6], &[0x7e, NULL]],
        DataType::Tests => &[&[3], &[8]],
        _ => &[&[]],
    };
    channels.iter().map(|cells| channel_samples(data_type, cells, 300)).collect()
}

pub(super) fn channel_samples(data_type: DataType, channel_cells: &[i32], rows: usize) -> Block {
    let channel: Channel = data_type.channel(channel_cells);
    let mut block = Block::empty(data_type, channel);
    block.times_us = (0..rows as i64).map(|row| DAY_START_US + row * 7_813 + channel.0 % 5).collect();
    for (position, column) in data_type.columns().iter().enumerate() {
        let steps = column.steps_per_unit();
        block.columns[position] = match position % 4 {
            _ if column.is_text() => {
                let text = |row: i64| (row % 3 > 0).then(|| format!("text {}", row % 7).into());
                Cells::Text((0..rows as i64).map(text).collect())
            }
            0 => Cells::Constant(NULL),
            1 => Cells::Constant(steps),
            2 => Cells::Values(
                (0..rows as i64).map(|row| if row % 10 == 0 { NULL } else { (row % 4) as i32 * steps }).collect(),
            ),
            _ => Cells::Values((0..rows as i64).map(|row| (row * row % 100) as i32 * steps / 100).collect()),
        };
    }
    for (position, cell) in data_type.channel_columns().iter().zip(channel_cells) {
        block.columns[*position] = Cells::Constant(*cell);
    }
    block.zones = ZoneRuns::constant("Europe/Zurich".into(), rows - rows / 3);
    block.zones.push("Asia/Tokyo".into(), rows / 3);
    simplified(block)
}

#[tokio::test]
async fn kept_files_are_read() {
    let kept = FORMATS.into_iter().flat_map(|format| KEPT.map(|data_type| (format, data_type)));
    for (format, data_type) in kept {
        let file = std::fs::read(file_of(format, data_type)).unwrap();
        let objects = objects();
        let bytes = file.len() as u64;
        let path = "kept.parquet".to_owned();
        objects.store.put(&Path::parse(&path).unwrap(), bytes::Bytes::from(file).into()).await.unwrap();
        let sha256 = String::new();
        let kept = WrittenSegment { path, bytes, rows: 0, sha256, first_us: 0, last_us: 0, tail: None };
        let reader = open(&objects, data_type, &kept).await;
        assert_eq!(read(&reader, i64::MIN, i64::MAX, None).await, samples(data_type), "{format} {}", data_type.name());
    }
}

/// Writes the files of the format at hand: `cargo test -p store write_fixtures -- --ignored`.
#[tokio::test]
#[ignore = "writes into the source tree, and only once for each format"]
async fn write_fixtures() {
    for data_type in KEPT {
        let objects = objects();
        let written = write(&objects, data_type, 1, vec![samples(data_type)]).await;
        let object = objects.store.get(&Path::parse(&written.path).unwrap()).await.unwrap();
        let file = file_of(FORMATS[FORMATS.len() - 1], data_type);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, object.bytes().await.unwrap()).unwrap();
    }
}
