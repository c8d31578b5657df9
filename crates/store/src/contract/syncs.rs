//! A sync beside a derivation of the same patient.

use std::time::Duration;

use vitals::block::{Block, Cells};
use vitals::registry::{Channel, DataType};
use vitals::zone::ZoneRuns;

use super::Stores;
use crate::{HealthChange, Profile, Sync, SyncOutcome};

const NOON_MS: i64 = 1_763_640_000_000;
const DERIVED: &str = r#"{"hr":[50.0,1763630000000]}"#;

/// Changes latest values as a derivation may, without an event.
const CHANGE: &str = "UPDATE patient SET latest = $2 WHERE uuid = $1";
const WAITING: &str =
    "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";

/// Looks for the waiting sync, 5 ms apart.
const LOOKS: usize = 1000;

fn heart_rate_without_value() -> Block {
    let mut block = Block::empty(DataType::Activity, Channel::default());
    block.times_us = vec![NOON_MS * 1000];
    let column = DataType::Activity.column_index("last_steps").expect("a column");
    block.columns[column] = Cells::Values(vec![7]).simplified();
    block.zones = ZoneRuns::constant("UTC".into(), 1);
    block
}

/// Timeline: the sync reads, the derivation commits, the sync writes. On SQLite nothing comes between.
#[tokio::test(flavor = "multi_thread")]
async fn latest_values_that_a_derivation_has_written_outlive_a_sync_that_read_before() {
    let Some(stores) = Stores::postgres().await else { return };
    let health = stores.health;
    let change = HealthChange::PutPatient {
        uuid: "ada".to_owned(),
        record_id: "id".to_owned(),
        customer_code: None,
        profile: Profile::default(),
        at_ms: 1,
    };
    health.apply(change).await.expect("made");
    let (held, is_held) = tokio::sync::oneshot::channel();
    let mut held = Some(held);
    let derivation = health.db.write(async move |tx| {
        tx.execute(CHANGE, &[&"ada", &DERIVED]).await?;
        if let Some(held) = held.take() {
            let _ = held.send(());
        }
        for _ in 0..LOOKS {
            if tx.query_opt(WAITING, &[], |row| row.get::<i64>(0)).await? != Some(0) {
                return Ok(());
            }
            runtime::sleep(Duration::from_millis(5)).await;
        }
        panic!("the sync never came to the held row");
    });
    let sync = async {
        is_held.await.expect("the row is held");
        let blocks = vec![heart_rate_without_value()];
        health
            .store_sync(Sync { patient: "ada".to_owned(), received_ms: NOON_MS, id: None, device: None, blocks })
            .await
    };
    let (derived, stored) = futures::join!(derivation, sync);
    derived.expect("committed");
    assert!(matches!(stored.expect("stored"), SyncOutcome::Stored(_)));
    let latest = health.stored_latest("ada").await.expect("an answer");
    assert_eq!(latest.heart_rate.map(|rate| rate.value), Some(50.0));
}
