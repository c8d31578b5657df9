//! Sealing over a connection that breaks, and syncs into periods that are sealed.

use std::time::Duration;

use vitals::block::Block;
use vitals::registry::DataType;

use super::derivations::enrol;
use super::{Stores, activity_row, on_both_engines};
use crate::engine::Address;
use crate::ids::PatientId;
use crate::segment::{SealedPeriod, UnsealedPeriod};
use crate::{HealthDb, Objects, StoreError, Sync, SyncOutcome};

const NOON_MS: i64 = 1_763_640_000_000;
const PATIENT: &str = "1f0f7f62-2c3c-4d0e-9d0a-4a52f1d3a001";
/// Looks for what the server does after its client is gone, 5 ms apart.
const LOOKS: usize = 1000;

on_both_engines! {
    sync_that_reaches_into_one_sealed_period_in_two_places_is_stored
    first_period_that_is_not_sealed_is_open_by_type
}

/// Every row of such a sync is compared with the sealed rows around it, wherever in the period it lies.
async fn sync_that_reaches_into_one_sealed_period_in_two_places_is_stored(stores: Stores) {
    const DAY_MS: i64 = 86_400_000;
    enrol(&stores, PATIENT).await;
    let health = &stores.health;
    let sync = |bpm: i32| {
        let blocks = vec![activity_row(NOON_MS - 3 * DAY_MS, "bpm", 50), activity_row(NOON_MS, "bpm", bpm)];
        let patient = PATIENT.to_owned();
        Sync { patient: PatientId::new(patient), received_ms: NOON_MS, id: None, device: None, blocks }
    };
    health.store_sync(sync(60)).await.expect("stored");
    let period = SealedPeriod::of(DataType::Activity, NOON_MS * 1000);
    let unsealed = UnsealedPeriod { patient: PatientId::new(PATIENT), data_type: DataType::Activity, period };
    health.seal_period(&unsealed, NOON_MS, 1).await.expect("sealed");
    let again = runtime::timeout(Duration::from_mins(1), health.store_sync(sync(61))).await;
    let SyncOutcome::Stored(counts) = again.expect("an end").expect("stored") else { panic!("refused") };
    let counts = counts[&DataType::Activity];
    assert_eq!((counts.stored, counts.duplicate, counts.replaced), (0, 1, 1));
}

async fn first_period_that_is_not_sealed_is_open_by_type(stores: Stores) {
    const OTHER: &str = "1f0f7f62-2c3c-4d0e-9d0a-4a52f1d3a002";
    let health = &stores.health;
    let open = async |patients: &[&str]| {
        let patients = patients.iter().map(|patient| PatientId::new(*patient)).collect();
        let open = health.open_periods(patients).await.expect("a list");
        open.into_iter().map(|open| (open.data_type, open.period)).collect::<Vec<_>>()
    };
    let of = |at_ms: i64| (DataType::Activity, SealedPeriod::of(DataType::Activity, at_ms * 1000));
    let earlier_ms = NOON_MS - 40 * 86_400_000;
    for (patient, at_ms) in [(PATIENT, NOON_MS), (PATIENT, earlier_ms), (OTHER, NOON_MS)] {
        enrol(&stores, patient).await;
        let blocks = vec![activity_row(at_ms, "bpm", 60)];
        let sync = Sync { patient: PatientId::new(patient), received_ms: NOON_MS, id: None, device: None, blocks };
        health.store_sync(sync).await.expect("stored");
    }
    assert_eq!(open(&[OTHER, PATIENT, "nobody"]).await, [of(earlier_ms)]);
    assert_eq!(open(&[OTHER]).await, [of(NOON_MS)]);
    assert!(open(&[]).await.is_empty());
    let (data_type, period) = of(earlier_ms);
    let unsealed = UnsealedPeriod { patient: PatientId::new(PATIENT), data_type, period };
    health.seal_period(&unsealed, NOON_MS, 1).await.expect("sealed");
    assert_eq!(open(&[PATIENT]).await, [of(NOON_MS)]);
}

/// The server commits that the object is in the catalog and the rows are not in chunks any more, and its answer is lost.
#[tokio::test(flavor = "multi_thread")]
async fn object_stays_when_the_answer_to_its_publication_is_lost() {
    let Some(server) = testkit::Postgres::start() else { return };
    let proxy = testkit::Postgres::failover_proxy();
    let folder = tempfile::tempdir().expect("a folder");
    let objects = Objects::folder(&folder.path().join("objects")).expect("a folder");
    let address = Address::Postgres(server.url_at(proxy.port()));
    let users = Address::File(folder.path().join("users.sqlite"));
    let addresses = [users.clone(), address.clone()];
    let health = HealthDb::open(address, objects).await.expect("a database");
    let users = crate::UsersDb::open(users).await.expect("a database");
    let stores = Stores { users, health, addresses, folder };
    enrol(&stores, PATIENT).await;
    let health = &stores.health;
    let sync = Sync {
        patient: PatientId::new(PATIENT),
        received_ms: NOON_MS,
        id: None,
        device: None,
        blocks: vec![activity_row(NOON_MS, "bpm", 60)],
    };
    health.store_sync(sync).await.expect("stored");

    proxy.lose_commit_after("INSERT INTO segment");
    let period = SealedPeriod::of(DataType::Activity, NOON_MS * 1000);
    let unsealed = UnsealedPeriod { patient: PatientId::new(PATIENT), data_type: DataType::Activity, period };
    let sealed = health.seal_period(&unsealed, NOON_MS, 1).await;
    assert!(matches!(sealed, Err(StoreError::Unavailable(_))), "{sealed:?}");
    assert!(proxy.has_lost_commit());
    for _ in 0..LOOKS {
        if health.chunk_count(&PatientId::new(PATIENT)).await.expect("a count") == 0 {
            break;
        }
        runtime::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(health.chunk_count(&PatientId::new(PATIENT)).await.expect("a count"), 0, "the server has committed");
    let mut rows = health.period_rows(&PatientId::new(PATIENT), DataType::Activity, period, 0..=i64::MAX / 2, None);
    let blocks = rows.next().await.expect("the object is there").expect("rows");
    assert_eq!(blocks.iter().map(Block::rows).sum::<usize>(), 1);
}
