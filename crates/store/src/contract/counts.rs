//! What operators are shown of a database is the same on both engines.

use std::time::Duration;

use tokio::sync::Semaphore;

use super::{Stores, on_both_engines};
use crate::engine::{Address, DbCounts, Limits, OperationCounts};
use crate::ids::PatientId;
use crate::{StoreError, UsersDb};

on_both_engines! {
    operations_are_counted_by_the_function_that_asks
    failed_and_cancelled_operations_are_counted_by_kind
    connections_are_counted
}

fn operation<'counts>(counts: &'counts DbCounts, name: &str) -> &'counts OperationCounts {
    let found = counts.operations.iter().find(|operation| operation.name == name);
    found.unwrap_or_else(|| panic!("{name} in {:?}", counts.operations))
}

async fn operations_are_counted_by_the_function_that_asks(stores: Stores) {
    for _ in 0..3 {
        stores.users.groups_of_patients().await.expect("groups");
    }
    stores.health.patient(&PatientId::new("u")).await.expect("an answer");
    stores.health.newest_devices(vec![PatientId::new("u")]).await.expect("devices");
    let (users, health) = (stores.users.counts(), stores.health.counts());
    assert_eq!((users.database, health.database), ("users", "health"));
    let counted = operation(&users, "patients.groups_of_patients");
    assert_eq!((counted.durations.count(), &counted.failures), (3, &vec![]));
    assert!(counted.durations.sum_us > 0);
    assert_eq!(operation(&health, "patients.patient").durations.count(), 1);
    assert_eq!(operation(&health, "devices.newest_devices").durations.count(), 1);
    assert!(users.operations.iter().all(|operation| operation.name != "patients.patient"));
}

async fn failed_and_cancelled_operations_are_counted_by_kind(stores: Stores) {
    let gone = stores.users.db.write(async |_| Err::<(), _>(StoreError::Gone("a patient"))).await;
    assert!(matches!(gone, Err(StoreError::Gone(_))));
    let broken = stores.users.db.write(async |tx| tx.execute("SELECT nothing", &[]).await).await;
    assert!(matches!(broken, Err(StoreError::Database(_))));
    let update = async || stores.users.db.write(async |tx| tx.execute("UPDATE account SET id = id", &[]).await).await;
    // Polled once and given up. The writer of SQLite may have answered by then, which is then no reason to give up.
    let mut answered = 0;
    while futures::poll!(std::pin::pin!(update())).is_ready() {
        answered += 1;
    }
    let counts = stores.users.counts();
    let name = "contract.counts.failed_and_cancelled_operations_are_counted_by_kind";
    let counted = operation(&counts, name);
    assert_eq!(counted.failures, [("gone", 1), ("database", 1), ("cancelled", 1)]);
    assert_eq!(counted.durations.count(), 2 + answered);
}

async fn connections_are_counted(stores: Stores) {
    stores.users.groups_of_patients().await.expect("groups");
    let pool = stores.users.counts().pool;
    assert!(pool.opened > 0 && pool.waits.count() > 0 && pool.size <= pool.limit, "{pool:?}");
    assert_eq!((pool.waiting, pool.limit), (0, if stores.users.db.is_sqlite() { 4 } else { 16 }));
    assert_eq!(stores.users.counts().writer_queue.is_some(), stores.users.db.is_sqlite());
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_beyond_the_connections_of_postgres_wait_and_are_counted() {
    static IS_HELD: Semaphore = Semaphore::const_new(0);
    static MAY_GO_ON: Semaphore = Semaphore::const_new(0);
    let Some(server) = testkit::Postgres::start() else { return };
    let limits = Limits { connections: 1, wait: Duration::from_secs(30) };
    let users = UsersDb::open_with(Address::Postgres(server.url.clone()), limits).await.expect("a database");
    let read = || {
        let users = users.clone();
        runtime::spawn("read", async move {
            let held = async |tx: &crate::engine::Tx<'_>| {
                IS_HELD.add_permits(1);
                drop(MAY_GO_ON.acquire().await);
                tx.query("SELECT 1", &[], |_| Ok(())).await.map(drop)
            };
            users.db.read(held).await
        })
    };
    let first = read();
    // An operation has its place among those allowed before it has a connection: only inside of it is one in use.
    IS_HELD.acquire().await.expect("open").forget();
    let second = read();
    while users.counts().pool.waiting == 0 {
        runtime::yield_now().await;
    }
    let pool = users.counts().pool;
    assert_eq!((pool.size, pool.in_use, pool.waiting, pool.limit, pool.opened), (1, 1, 1, 1, 1));
    let before = pool.waits.count();
    MAY_GO_ON.add_permits(1);
    for task in [first, second] {
        task.await.expect("joined").expect("read");
    }
    assert_eq!(users.counts().pool.waits.count(), before + 1);
}
