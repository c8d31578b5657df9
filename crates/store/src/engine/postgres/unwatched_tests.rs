//! What a pool promises when callers go away, and when rows are held for long.

use std::time::Duration;

use futures::future::{join_all, try_join_all};
use runtime::Instant;
use testkit::Postgres as Server;

use super::tests::{
    Holder, LONGEST, ONE, RAISE, VALUE, number, open, open_with, raise, until_queued, until_waiting, waiting,
};
use crate::engine::line::Line;
use crate::engine::{Db, Tx};
use crate::error::{Result, StoreError};

const RAISE_OTHER: &str = "UPDATE counter SET value = value + 1 WHERE name = 'other'";
/// Connections that are in a transaction and do nothing.
const PAUSING: &str = "SELECT CAST(COUNT(*) AS BIGINT) FROM pg_stat_activity
    WHERE datname = current_database() AND state LIKE 'idle in transaction%'";

async fn value(db: &Db) -> i64 {
    db.read(async |tx| number(tx, VALUE).await).await.unwrap()
}

/// The first waits for a row in its transaction, the second for a connection.
async fn two_writes(db: &Db, observer: &Db) -> [runtime::Task<Result<u64>>; 2] {
    let (single, whole) = (db.clone(), db.clone());
    let calls = [
        runtime::spawn("a caller", async move { whole.write(async |tx| tx.execute(RAISE, &[]).await).await }),
        runtime::spawn("a caller", async move { single.write_single(async |tx| tx.execute(RAISE, &[]).await).await }),
    ];
    until_waiting(observer, "Lock", 1).await;
    until_queued(db, 1).await;
    calls
}

/// Its commit may be under way, and most are done before anybody could end them.
#[tokio::test(flavor = "multi_thread")]
async fn write_that_has_begun_is_done_if_it_ends_soon_after_its_caller_went_away() {
    let Some(server) = Server::start() else { return };
    let (db, observer) = (open_with(server.url.clone(), 1).await, open(server.url.clone()).await);
    let holder = Holder::lock(&observer, RAISE).await;
    for call in two_writes(&db, &observer).await {
        call.abort();
        assert!(call.await.is_err());
    }
    holder.release().await;
    let begun = async { while value(&observer).await + waiting(&observer, "Lock").await < 2 {} };
    runtime::timeout(LONGEST, begun).await.expect("the write that had begun is committed");
    db.read_single(async |tx| number(tx, ONE).await).await.unwrap();
    assert_eq!(value(&observer).await, 2, "what had not begun is not done");
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_that_wait_on_after_their_callers_went_away_are_undone_and_free_their_connections() {
    let Some(server) = Server::start() else { return };
    let (db, observer) = (open_with(server.url.clone(), 1).await, open(server.url.clone()).await);
    let holder = Holder::lock(&observer, RAISE).await;
    for call in two_writes(&db, &observer).await {
        call.abort();
    }
    let begun = Instant::now();
    until_waiting(&observer, "Lock", 0).await;
    db.read_single(async |tx| number(tx, ONE).await).await.unwrap();
    // Far below the deadline of a lock, which would have ended them too.
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    holder.release().await;
    for _ in 0..4 {
        db.write(async |tx| raise(tx).await).await.unwrap();
    }
    assert_eq!(value(&observer).await, 5, "one of the holder, four of those who stayed");
    // The end of a read is sent and not waited for, so the observer's own can be on its way.
    let ended = async { while number_of_pausing(&observer).await > 0 {} };
    runtime::timeout(LONGEST, ended).await.expect("nothing is left open");
}

/// A sync sends what it writes together with its commit, and waits for the row only then; or it computes in between.
#[tokio::test(flavor = "multi_thread")]
async fn statements_that_were_only_sent_are_ended_with_their_caller_and_free_their_connection() {
    for (asks_first, commits) in [(true, true), (false, true), (true, false)] {
        let Some(server) = Server::start() else { return };
        let (db, observer) = (open_with(server.url.clone(), 1).await, open(server.url.clone()).await);
        let holder = Holder::lock(&observer, RAISE).await;
        let caller = db.clone();
        let call = runtime::spawn("a caller", async move {
            let send = async move |tx: &Tx<'_>| {
                if asks_first {
                    number(tx, ONE).await?;
                }
                tx.put(RAISE, &[]).await?;
                if !commits {
                    runtime::sleep(LONGEST).await;
                }
                Ok(())
            };
            caller.write(send).await
        });
        until_waiting(&observer, "Lock", 1).await;
        call.abort();
        let begun = Instant::now();
        db.read_single(async |tx| number(tx, ONE).await).await.unwrap();
        println!("asks first: {asks_first}, commits: {commits}: the connection is free after {:?}", begun.elapsed());
        // Far below the deadline of a lock, which would have ended them too.
        assert!(begun.elapsed() < Duration::from_secs(4), "{asks_first} {commits} {:?}", begun.elapsed());
        until_waiting(&observer, "Lock", 0).await;
        holder.release().await;
        assert_eq!(value(&observer).await, 1, "that of the holder");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn row_that_is_held_keeps_two_connections_waiting_and_no_other_owner() {
    let Some(server) = Server::start() else { return };
    let (db, observer) = (open_with(server.url.clone(), 6).await, open(server.url.clone()).await);
    let holder = Holder::lock(&observer, RAISE).await;
    let begun = Instant::now();
    let of_ada = (0..20).map(|_| {
        let db = db.clone();
        runtime::spawn("a sync", async move {
            db.write_of(Line::named("ada"), async |tx: &Tx<'_>| tx.execute(RAISE, &[]).await).await
        })
    });
    let of_ada: Vec<_> = of_ada.collect();
    until_waiting(&observer, "Lock", 2).await;
    let write = async |tx: &Tx<'_>| tx.execute(RAISE_OTHER, &[]).await;
    for _ in 0..20 {
        let others = ["grace", "joan", "mary"].map(|owner| db.write_of(Line::named(owner), write));
        try_join_all(others).await.unwrap();
        db.read(async |tx| number(tx, ONE).await).await.unwrap();
        db.check_writing().await.unwrap();
    }
    assert_eq!(waiting(&observer, "Lock").await, 2, "they wait still");
    for answer in join_all(of_ada).await {
        let answer = answer.unwrap();
        assert!(matches!(answer, Err(StoreError::Unavailable(_))), "{answer:?}");
    }
    // A turn and a lock are waited for once each.
    assert!(begun.elapsed() < Duration::from_secs(16), "{:?}", begun.elapsed());
    holder.release().await;
    db.write_of(Line::named("ada"), async |tx: &Tx<'_>| tx.execute(RAISE, &[]).await).await.unwrap();
    assert_eq!(value(&observer).await, 2);
}

/// A row that writes of all owners come to hold, such as the head of the audit log.
#[tokio::test(flavor = "multi_thread")]
async fn row_of_all_that_is_held_keeps_two_connections_waiting_and_no_write_out_of_line() {
    let Some(server) = Server::start() else { return };
    let (db, observer) = (open_with(server.url.clone(), 6).await, open(server.url.clone()).await);
    let holder = Holder::lock(&observer, RAISE).await;
    let begun = Instant::now();
    let in_line = (0..20).map(|number| {
        let db = db.clone();
        runtime::spawn("a write with an entry", async move {
            let owner = format!("owner {number}");
            db.write_in_line(&[Line::named(&owner), Line::named("head")], async |tx: &Tx<'_>| {
                tx.execute(RAISE, &[]).await
            })
            .await
        })
    });
    let in_line: Vec<_> = in_line.collect();
    until_waiting(&observer, "Lock", 2).await;
    for _ in 0..20 {
        db.write_of(Line::named("grace"), async |tx: &Tx<'_>| tx.execute(RAISE_OTHER, &[]).await).await.unwrap();
        db.read(async |tx| number(tx, ONE).await).await.unwrap();
    }
    assert_eq!(waiting(&observer, "Lock").await, 2, "they wait still");
    for answer in join_all(in_line).await {
        let answer = answer.unwrap();
        assert!(matches!(answer, Err(StoreError::Unavailable(_))), "{answer:?}");
    }
    // A turn is waited for once, and a lock more briefly than other locks.
    assert!(begun.elapsed() < Duration::from_secs(12), "{:?}", begun.elapsed());
    holder.release().await;
    db.write_in_line(&[Line::named("head")], async |tx: &Tx<'_>| tx.execute(RAISE, &[]).await).await.unwrap();
    assert_eq!(value(&observer).await, 2, "nothing of what was refused was stored");
}

#[tokio::test(flavor = "multi_thread")]
async fn transaction_that_waited_for_a_lock_in_vain_is_not_tried_again() {
    let Some(server) = Server::start() else { return };
    let (db, observer) = (open(server.url.clone()).await, open(server.url.clone()).await);
    let holder = Holder::lock(&observer, RAISE).await;
    let begun = Instant::now();
    let answer = db.write(async |tx| tx.execute(RAISE, &[]).await).await;
    assert!(matches!(answer, Err(StoreError::Unavailable(_))), "{answer:?}");
    assert!(begun.elapsed() < Duration::from_secs(9), "{:?}", begun.elapsed());
    holder.release().await;
}

/// As when a node freezes, or is cut off, between two statements.
#[tokio::test(flavor = "multi_thread")]
async fn transaction_that_pauses_lets_go_before_those_who_wait_for_it_give_up() {
    let Some(server) = Server::start() else { return };
    let (frozen, db) = (open(server.url.clone()).await, open(server.url.clone()).await);
    let pausing = runtime::spawn("a node that freezes", async move {
        let mut tries = 0;
        let pause = async move |tx: &Tx<'_>| {
            tries += 1;
            tx.execute(RAISE, &[]).await?;
            runtime::sleep(Duration::from_secs(if tries == 1 { 60 } else { 0 })).await;
            Ok(())
        };
        frozen.write(pause).await
    });
    let begun = async { while number_of_pausing(&db).await == 0 {} };
    runtime::timeout(LONGEST, begun).await.expect("it pauses");
    assert_eq!(db.write(async |tx| tx.execute(RAISE, &[]).await).await.unwrap(), 1);
    assert_eq!(value(&db).await, 1, "what the first had written is undone");
    pausing.abort();
}

async fn number_of_pausing(db: &Db) -> i64 {
    db.read_single(async |tx| number(tx, PAUSING).await).await.unwrap()
}
