//! What operations answer while the database is frozen, cut off or gone, and afterwards.

use std::time::Duration;

use futures::future::join_all;
use runtime::Instant;
use testkit::{OwnServer, Postgres as Server};

use super::tests::{LONGEST, ONE, VALUE, fill, number, open, raise};
use crate::engine::line::Line;
use crate::engine::{Db, Tx};
use crate::error::{Result, StoreError};

/// Operations at once, more than there are connections.
const MANY: usize = 40;
/// Connections in a transaction that nobody goes on with.
const LEFT_OPEN: &str = "SELECT CAST(COUNT(*) AS BIGINT) FROM pg_stat_activity
    WHERE datname = current_database() AND xact_start < now() - INTERVAL '1 s' AND pid <> pg_backend_pid()";

/// Answers of reads and writes at once, and how long the slowest took.
async fn ask(db: &Db) -> (Vec<Result<()>>, Duration) {
    let begun = Instant::now();
    let operations = (0..MANY).map(|number_of_call| {
        let db = db.clone();
        runtime::spawn("an operation", async move {
            match number_of_call % 3 {
                0 => db.write_of(Line::named("ada"), async |tx: &Tx<'_>| raise(tx).await).await,
                1 => db.write(async |tx| raise(tx).await).await,
                _ => db.read(async |tx| number(tx, VALUE).await.map(drop)).await,
            }
        })
    });
    let answers = join_all(operations.collect::<Vec<_>>()).await.into_iter().map(|answer| answer.unwrap()).collect();
    (answers, begun.elapsed())
}

async fn until_answered(db: &Db) -> Duration {
    let begun = Instant::now();
    let answered = async {
        while db.read_single(async |tx| number(tx, ONE).await).await.is_err() {
            runtime::sleep(Duration::from_millis(10)).await;
        }
    };
    runtime::timeout(LONGEST, answered).await.expect("the database answers again");
    begun.elapsed()
}

fn are_unavailable(answers: &[Result<()>]) -> bool {
    answers.iter().all(|answer| matches!(answer, Err(StoreError::Unavailable(_))))
}

async fn check_outage(db: &Db, begin: impl FnOnce(), end: impl FnOnce()) {
    fill(db).await;
    let before = db.read(async |tx| number(tx, VALUE).await).await.unwrap();
    begin();
    let (answers, took) = ask(db).await;
    assert!(are_unavailable(&answers), "{answers:?}");
    println!("without an answer, operations fail after {took:?}");
    // Ten times what is promised, as the machine may be busy.
    assert!(took < Duration::from_secs(20), "{took:?}");
    let (answers, took) = ask(db).await;
    assert!(are_unavailable(&answers), "{answers:?}");
    println!("while the breaker is open, after {took:?}");
    assert!(took < Duration::from_secs(5), "{took:?}");
    let begun = Instant::now();
    let checked = db.check_writing().await;
    assert!(matches!(checked, Err(StoreError::Unavailable(_))), "{checked:?}");
    println!("readiness is denied after {:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(9), "{:?}", begun.elapsed());
    let pool = db.counts().pool;
    assert!(pool.is_broken && pool.breaks == 1, "{pool:?}");

    end();
    let took = until_answered(db).await;
    println!("answered again after {took:?}");
    assert!(took < Duration::from_secs(20), "{took:?}");
    db.check_writing().await.unwrap();
    let (answers, _) = ask(db).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    let pool = db.counts().pool;
    assert!(!pool.is_broken && pool.size <= pool.limit, "{pool:?}");
    // What was given up is undone or was committed without its answer, and nothing of it is open.
    let after = db.read(async |tx| number(tx, VALUE).await).await.unwrap();
    let raised = after - before - (0..MANY).filter(|call| call % 3 < 2).count() as i64;
    assert!((0..=MANY as i64).contains(&raised), "{raised}");
    let closed = async { while db.read_single(async |tx| number(tx, LEFT_OPEN).await).await.unwrap() > 0 {} };
    runtime::timeout(LONGEST, closed).await.expect("no transaction is left open");
}

/// A damaged page of the table that is asked makes every such question fail.
#[tokio::test(flavor = "multi_thread")]
async fn server_that_answers_with_an_error_is_not_taken_for_one_that_is_away() {
    const TAKES_LONG: &str = "SELECT CAST(1 AS BIGINT) FROM pg_sleep(4)";
    let Some(server) = OwnServer::start() else { return };
    let url = server.database();
    let db = open(url.clone()).await;
    server.execute(&url, "DROP TABLE schema_version");
    assert!(db.check_reading().await.is_err(), "what is asked is not there");
    let waited = db.read_single(async |tx| number(tx, TAKES_LONG).await).await;
    assert_eq!(waited.unwrap(), 1);
    assert_eq!(db.counts().pool.breaks, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_on_a_frozen_server_fail_soon_and_go_on_when_it_does() {
    let Some(server) = OwnServer::start() else { return };
    let db = open(server.database()).await;
    check_outage(&db, || server.freeze(), || server.thaw()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_over_a_link_that_is_cut_silently_fail_soon_and_go_on_when_it_is_mended() {
    let Some(server) = Server::start() else { return };
    let proxy = Server::silent_proxy();
    let db = open(server.url_at(proxy.port())).await;
    check_outage(&db, || proxy.cut(), || proxy.mend()).await;
}

/// All of them arrive when the link is mended, and the server would serve them before those that are new.
#[tokio::test(flavor = "multi_thread")]
async fn probes_during_an_outage_open_few_connections() {
    let Some(server) = Server::start() else { return };
    let proxy = Server::silent_proxy();
    let db = open(server.url_at(proxy.port())).await;
    fill(&db).await;
    proxy.cut();
    let (answers, _) = ask(&db).await;
    assert!(are_unavailable(&answers), "{answers:?}");
    let (begun, before) = (Instant::now(), proxy.connections());
    for _ in 0..10 * MANY {
        // As a caller does that has asked several things and has one of the answers.
        let _ = runtime::timeout(Duration::from_millis(2), db.check_writing()).await;
    }
    // The one task that asks goes on: two each time.
    let asked = 2 * (2 + begun.elapsed().as_millis() as usize / 500);
    let opened = proxy.connections() - before;
    assert!(opened <= asked, "{opened} connections, not {asked} at most");
    proxy.mend();
    until_answered(&db).await;
    db.check_writing().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_died_silently_are_replaced_although_the_server_answers() {
    let Some(server) = Server::start() else { return };
    let proxy = Server::failover_proxy();
    let db = open(server.url_at(proxy.port())).await;
    fill(&db).await;
    db.check_writing().await.unwrap();
    proxy.fail_over();
    db.check_writing().await.unwrap();
    assert_eq!(db.counts().pool.breaks, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_during_a_crash_of_the_server_fail_as_passing_and_go_on_afterwards() {
    let Some(server) = OwnServer::start() else { return };
    let db = open(server.database()).await;
    fill(&db).await;
    server.crash();
    let (answers, took) = ask(&db).await;
    assert!(are_unavailable(&answers), "{answers:?}");
    assert!(took < Duration::from_secs(20), "{took:?}");
    assert!(db.check_writing().await.is_err());
    server.come_back();
    until_answered(&db).await;
    let (answers, _) = ask(&db).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
}
