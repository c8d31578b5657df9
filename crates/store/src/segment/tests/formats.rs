//! Files of every stored format that was ever written are kept and must be read for ever.
//!
//! `UPDATE_FIXTURES=1` writes those of the format at hand, again too as long as there is no release; from the first one on a
//! file that is there is never written again. When the format changes it gets a new number in the name, and the old files
//! stay.

use std::path::PathBuf;

use object_store::ObjectStoreExt;
use object_store::path::Path;
use vitals::block::{Block, Cells};
use vitals::registry::{Channel, DataType, NULL};
use vitals::zone::ZoneRuns;

use super::repeated::sent_twice;
use super::{objects, open, read, simplified, write};
use crate::random_blocks::DAY_START_US;
use crate::segment::WrittenSegment;

/// What to do when a file is not read.
const RULE: &str = "is not read any more as what was sealed. Do not write it again once a release has written its format: \
    give the change a new format number (docs/database.md, \"What is frozen\") and keep the reader of this one.";
const KEPT: [DataType; 4] = [DataType::Ppg2, DataType::Ecg, DataType::Activity, DataType::Tests];

/// The formats that were ever written; the last is the one at hand.
const FORMATS: [u8; 2] = [1, 2];

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

/// Returns the files of a format with what they hold.
fn kept(format: u8) -> Vec<(PathBuf, Vec<Block>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let file = |name: &str| folder.join(format!("segment-{format}-{name}.parquet"));
    let mut kept: Vec<_> = KEPT.map(|data_type| (file(data_type.name()), samples(data_type))).into();
    if format > 1 {
        kept.push((file("ecg-twice"), vec![sent_twice(300, &[])]));
    }
    kept
}

#[tokio::test]
async fn sealed_files_of_every_format_are_read() {
    if std::env::var_os("UPDATE_FIXTURES").is_some() {
        write_kept().await;
    }
    for (file, blocks) in FORMATS.into_iter().flat_map(kept) {
        let bytes = std::fs::read(&file).unwrap();
        let (objects, data_type) = (objects(), blocks[0].data_type);
        let (size, path) = (bytes.len() as u64, "kept.parquet".to_owned());
        objects.store.put(&Path::parse(&path).unwrap(), bytes::Bytes::from(bytes).into()).await.unwrap();
        let sha256 = String::new();
        let kept = WrittenSegment { path, bytes: size, rows: 0, sha256, first_us: 0, last_us: 0, tail: None };
        let reader = open(&objects, data_type, &kept).await;
        assert_eq!(read(&reader, i64::MIN, i64::MAX, None).await, blocks, "{} {RULE}", file.display());
    }
}

/// Whether a list of changes has a section of a version that is released.
fn has_release(changes: &str) -> bool {
    let titles = changes.lines().filter_map(|line| line.strip_prefix("## "));
    let mut of_versions = titles.filter(|title| title.starts_with(|first: char| first.is_ascii_digit()));
    of_versions.any(|title| !title.contains("(not released yet)"))
}

#[test]
fn a_release_freezes_what_is_there() {
    assert!(!has_release("# Changes\n\n## Unreleased\n\n## 0.1.0 (not released yet)\n"));
    assert!(has_release("# Changes\n\n## Unreleased\n\n## 0.1.0, 2027-01-01\n"));
    assert!(has_release("# Changes\n\n## 0.2.0 (not released yet)\n\n## 0.1.0, 2027-01-01\n"));
}

/// Writes the files of the format at hand.
async fn write_kept() {
    let changes = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../CHANGELOG.md");
    let has_release = has_release(&std::fs::read_to_string(changes).unwrap());
    for (file, blocks) in kept(FORMATS[FORMATS.len() - 1]) {
        assert!(!has_release || !file.exists(), "{} {RULE}", file.display());
        let objects = objects();
        let written = write(&objects, blocks[0].data_type, 1, vec![blocks]).await;
        let object = objects.store.get(&Path::parse(&written.path).unwrap()).await.unwrap();
        std::fs::write(file, object.bytes().await.unwrap()).unwrap();
    }
}
