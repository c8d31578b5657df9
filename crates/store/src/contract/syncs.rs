//! A sync concurrent with a derivation of the same patient.

use super::{Stores, activity_row, until_another_waits};
use crate::ids::PatientId;
use crate::{HealthChange, Profile, Sync, SyncOutcome};

const NOON_MS: i64 = 1_763_640_000_000;
const DERIVED: &str = r#"{"hr":[50.0,1763630000000]}"#;

/// Changes latest values as a derivation may, without an event.
const CHANGE: &str = "UPDATE patient SET latest = $2 WHERE uuid = $1";
/// Timeline: the sync reads, the derivation commits, the sync writes. On SQLite nothing comes between.
#[tokio::test(flavor = "multi_thread")]
async fn latest_values_that_a_derivation_has_written_outlive_a_sync_that_read_before() {
    let Some(stores) = Stores::postgres().await else { return };
    let health = stores.health;
    let change = HealthChange::PutPatient {
        uuid: PatientId::new("ada"),
        record_id: crate::ids::RecordId::new("id"),
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
        until_another_waits(tx).await
    });
    let sync = async {
        is_held.await.expect("the row is held");
        let blocks = vec![activity_row(NOON_MS, "last_steps", 7)];
        health
            .store_sync(Sync { patient: PatientId::new("ada"), received_ms: NOON_MS, id: None, device: None, blocks })
            .await
    };
    let (derived, stored) = futures::join!(derivation, sync);
    derived.expect("committed");
    assert!(matches!(stored.expect("stored"), SyncOutcome::Stored(_)));
    let latest = health.stored_latest(&PatientId::new("ada")).await.expect("an answer");
    assert_eq!(latest.valid.heart_rate.map(|rate| rate.value), Some(50.0));
}
