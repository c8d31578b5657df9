//! Behind a pooler in transaction mode, each transaction is carried out by another connection of the server.

use futures::future::try_join_all;
use testkit::{OwnServer, Pooler};

use super::tests::{RAISE, VALUE, number, open_with, raise};
use crate::engine::{Db, Tx};

/// Connections of the node, and the fewer ones of the server that they share.
const CONNECTIONS: usize = 12;
const OF_SERVER: usize = 3;
const ROUNDS: i64 = 25;
const ADD: &str = "INSERT INTO counter (name, value) VALUES ($1, $2)";
const OF_NAME: &str = "SELECT value FROM counter WHERE name = $1 AND value > $2 LIMIT 1";
const DEADLINE: &str = "SELECT current_setting('statement_timeout')";

fn behind(pooler: &Pooler, server: &OwnServer, database: &str) -> String {
    database.replace(&format!(":{}/", server.port()), &format!(":{}/", pooler.port()))
}

async fn open_behind(pooler: &Pooler, server: &OwnServer, database: &str) -> Db {
    open_with(format!("{}&prepared_statements=off", behind(pooler, server, database)), CONNECTIONS).await
}

/// Everything that an operation can send.
async fn work(db: &Db, worker: i64) {
    let name = format!("worker {worker}");
    for round in 1..=ROUNDS {
        let (named, added) = (name.clone(), name.clone());
        db.write(async move |tx| {
            raise(tx).await?;
            let rows: Vec<_> = (0..3).map(|row| (added.clone(), round * 3 + row)).collect();
            let rows: Vec<[&dyn crate::engine::Param; 2]> =
                rows.iter().map(|(name, row)| [name as _, row as _]).collect();
            tx.put_rows(ADD, &rows).await
        })
        .await
        .unwrap();
        db.write_single(async |tx| tx.execute(RAISE, &[]).await).await.unwrap();
        let found =
            async move |tx: &Tx<'_>| tx.query_opt(OF_NAME, &[&named, &(round * 3)], |row| row.get::<i64>(0)).await;
        assert!(db.read_single(found.clone()).await.unwrap().is_some_and(|value| value > round * 3));
        assert!(db.read(found).await.unwrap().is_some());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_behind_a_pooler_in_transaction_mode_succeed() {
    let Some(server) = OwnServer::start() else { return };
    let Some(pooler) = Pooler::start(server.port(), OF_SERVER) else { return };
    let database = server.database();
    let db = open_behind(&pooler, &server, &database).await;
    let other = open_behind(&pooler, &server, &database).await;
    all_work([&db, &other]).await;
    db.check_writing().await.unwrap();
    let deadline = async |tx: &Tx<'_>| tx.query_opt(DEADLINE, &[], |row| row.get::<String>(0)).await;
    assert_eq!(db.read_single(deadline).await.unwrap().as_deref(), Some("1min"), "of a single statement too");
    assert_eq!(db.counts().pool.breaks, 0);
}

/// Lets many work at once on both, and looks whether each write was carried out once.
async fn all_work(nodes: [&Db; 2]) {
    let workers = (0..2 * CONNECTIONS as i64).map(|worker| {
        let db = nodes[usize::from(worker % 2 == 1)].clone();
        runtime::spawn("a worker", async move { work(&db, worker).await })
    });
    try_join_all(workers.collect::<Vec<_>>()).await.unwrap();
    let raised = nodes[0].read(async |tx| number(tx, VALUE).await).await.unwrap();
    assert_eq!(raised, 2 * ROUNDS * 2 * CONNECTIONS as i64);
}

/// The look at the start finds two connections of the server, so nothing shows the pooler until a statement is looked for
/// on a connection on which it was not prepared.
#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::disallowed_methods, reason = "sessions of other programs, held at the same time")]
async fn pooler_that_was_not_found_at_the_start_fails_no_operation() {
    let Some(server) = OwnServer::start() else { return };
    let Some(pooler) = Pooler::start_in_turns(server.port(), OF_SERVER) else { return };
    let url = behind(&pooler, &server, &server.database());
    std::thread::scope(|threads| {
        for _ in 0..OF_SERVER {
            threads.spawn(|| server.execute(&url, "SELECT pg_sleep(0.5)"));
        }
    });
    let db = open_with(url, CONNECTIONS).await;
    all_work([&db, &db]).await;
    assert_eq!(db.counts().pool.breaks, 0);
}
