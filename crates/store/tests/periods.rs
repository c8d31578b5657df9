//! Streaming a period answers the same rows as reading it, whatever is sealed of it.
#![allow(clippy::unwrap_used, reason = "the lint spares tests but not their functions")]

mod common;

use common::{on_each_engine, patient};
use store::segment::{SealedPeriod, UnsealedPeriod, Verified};
use store::{HealthDb, Sync, SyncOutcome};
use vitals::block::{Block, Cells};
use vitals::registry::{Channel, DataType};
use vitals::zone::{SECOND_US, ZoneRuns};

const MIDNIGHT_US: i64 = 1_763_596_800_000_000; // 2025-11-20T00:00Z
const PPG2: DataType = DataType::Ppg2;

fn signal(metric_id: i32, start_s: i64, seconds: i64, value: i32) -> Block {
    let mut block = Block::empty(PPG2, Channel::of_ppg2(metric_id, 6));
    block.times_us = (0..seconds * 4).map(|row| MIDNIGHT_US + start_s * SECOND_US + row * SECOND_US / 4).collect();
    let rows = block.rows();
    block.columns[0] = Cells::Constant(metric_id);
    block.columns[4] = Cells::Constant(6);
    block.columns[9] = Cells::Values((0..rows as i32).map(|row| value + row % 97).collect());
    block.zones = ZoneRuns::constant("Europe/Zurich".into(), rows);
    block
}

async fn send(health: &HealthDb, blocks: Vec<Block>) {
    let sync = Sync { patient: patient(), received_ms: MIDNIGHT_US / 1000, id: None, device: None, blocks };
    assert!(matches!(health.store_sync(sync).await.unwrap(), SyncOutcome::Stored(_)));
}

async fn seal(health: &HealthDb, random: u64) {
    let period = SealedPeriod::of(PPG2, MIDNIGHT_US);
    let unsealed = UnsealedPeriod { patient: patient(), data_type: PPG2, period };
    assert_eq!(health.seal_period(&unsealed, 1, random).await.unwrap().segments, 1);
}

/// Returns what the stream answers, one block a channel, after a check of its order.
async fn streamed(health: &HealthDb, from_us: i64, to_us: i64, channel: Option<Channel>) -> Vec<Block> {
    let period = SealedPeriod::of(PPG2, MIDNIGHT_US);
    let mut rows = health.period_rows(&patient(), PPG2, period, from_us..=to_us, channel);
    let mut found: Vec<Vec<Block>> = Vec::new();
    let mut before_us = i64::MIN;
    while let Some(blocks) = rows.next().await.unwrap() {
        assert!(blocks.iter().all(|block| block.first_us().unwrap() > before_us));
        before_us = blocks.iter().filter_map(Block::last_us).max().unwrap();
        for block in blocks {
            match found.iter_mut().find(|known| known[0].channel == block.channel) {
                Some(known) => known.push(block),
                None => found.push(vec![block]),
            }
        }
    }
    found.sort_by_key(|blocks| blocks[0].channel);
    found.iter().map(|blocks| whole(&blocks.iter().collect::<Vec<_>>())).collect()
}

fn whole(blocks: &[&Block]) -> Block {
    let mut block = Block::concatenated(blocks);
    block.columns = block.columns.into_iter().map(Cells::simplified).collect();
    block
}

async fn check(health: &HealthDb) {
    let ends = [
        (MIDNIGHT_US, MIDNIGHT_US + 86_400 * SECOND_US - 1),
        (MIDNIGHT_US + 100 * SECOND_US, MIDNIGHT_US + 1700 * SECOND_US + 1),
        (MIDNIGHT_US + 80_000 * SECOND_US, MIDNIGHT_US + 80_001 * SECOND_US),
    ];
    for (from_us, to_us) in ends {
        let expected: Vec<Block> = health.rows(&patient(), PPG2, from_us, to_us).await.unwrap();
        let expected: Vec<Block> = expected.iter().map(|block| whole(&[block])).collect();
        assert!(streamed(health, from_us, to_us, None).await == expected);
        for block in expected {
            assert!(streamed(health, from_us, to_us, Some(block.channel)).await == [block]);
        }
    }
    let period = SealedPeriod::of(PPG2, MIDNIGHT_US);
    let channels = health.channels_of_period(&patient(), PPG2, period, &Verified::default()).await.unwrap();
    assert_eq!(channels, [Channel::of_ppg2(0x7c, 6), Channel::of_ppg2(0x7e, 6)]);
}

#[tokio::test]
async fn chunks_segments_and_both_are_streamed_as_they_are_read() {
    on_each_engine(|health| async move {
        send(&health, vec![signal(0x7e, 0, 1800, 0), signal(0x7c, 300, 900, 5000)]).await;
        check(&health).await;
        seal(&health, 1).await;
        check(&health).await;
        send(&health, vec![signal(0x7e, 1500, 600, 900), signal(0x7c, 40_000, 7, 1)]).await;
        check(&health).await;
        seal(&health, 2).await;
        check(&health).await;
    })
    .await;
}

#[tokio::test]
async fn what_is_sealed_while_it_is_read_is_read_once() {
    on_each_engine(|health| async move {
        send(&health, vec![signal(0x7e, 0, 3600, 0)]).await;
        let period = SealedPeriod::of(PPG2, MIDNIGHT_US);
        let mut rows = health.period_rows(&patient(), PPG2, period, 0..=i64::MAX / 4, None);
        let mut times_us: Vec<i64> = rows.next().await.unwrap().unwrap()[0].times_us.clone();
        seal(&health, 1).await;
        while let Some(blocks) = rows.next().await.unwrap() {
            times_us.extend(&blocks[0].times_us);
        }
        assert_eq!(times_us, signal(0x7e, 0, 3600, 0).times_us);
    })
    .await;
}
