//! What a pool promises when its connections die and when statements wait.

use std::time::Duration;

use futures::future::{join_all, try_join_all};
use testkit::Postgres as Server;

use crate::engine::{Address, Db, Limits, Migrations, Row, Tx, listen_for_wake_ups};
use crate::error::{Result, StoreError};

const COUNTER: Migrations = Migrations(&["CREATE TABLE counter (name TEXT NOT NULL, value BIGINT NOT NULL);
    INSERT INTO counter VALUES ('n', 0);
    CREATE TABLE deadline AS SELECT current_setting('lock_timeout') AS lock, current_setting('statement_timeout') AS run;"]);
const RAISE: &str = "UPDATE counter SET value = value + 1 WHERE name = 'n'";
const VALUE: &str = "SELECT value FROM counter WHERE name = 'n'";
const DEADLINES: &str = "SELECT lock, run FROM deadline";
const LOCK_DEADLINE: &str = "SELECT current_setting('lock_timeout')";
/// Long enough that each of several questions at once needs a connection of its own.
const SLOW: &str = "SELECT CAST(1 AS BIGINT) FROM pg_sleep(0.3)";
/// Well beyond every deadline, so that only a missing one is met.
const LONGEST: Duration = Duration::from_secs(40);
/// Operations after a failover.
const EACH: usize = 12;

async fn open(url: String) -> Db {
    Db::open("test", Address::Postgres(url), Limits::default(), COUNTER).await.unwrap()
}

async fn number(tx: &Tx<'_>, text: &'static str) -> Result<i64> {
    Ok(tx.query_opt(text, &[], |row: &Row<'_>| row.get(0)).await?.unwrap_or_default())
}

/// Opens every connection that the pool may have.
async fn fill(db: &Db) {
    let most = db.counts().pool.limit;
    try_join_all((0..2 * most).map(|_| db.read_single(async |tx| number(tx, SLOW).await))).await.unwrap();
    // Each of them knows the statement, so that a later write is sent without a question.
    try_join_all((0..2 * most).map(|_| db.write(async |tx| raise(tx).await))).await.unwrap();
    assert_eq!(db.counts().pool.size, most);
}

async fn raise(tx: &Tx<'_>) -> Result<()> {
    tx.put(RAISE, &[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_after_a_failover_succeed_on_new_connections() {
    let Some(server) = Server::start() else { return };
    let proxy = Server::failover_proxy();
    let db = open(server.url_at(proxy.port())).await;
    for kind in ["snapshot", "single", "write"] {
        fill(&db).await;
        let (found, value) = (proxy.found_dead(), db.read(async |tx| number(tx, VALUE).await).await.unwrap());
        proxy.fail_over();
        let failed = match kind {
            "snapshot" => failures(join_all((0..EACH).map(|_| db.read(async |tx| number(tx, VALUE).await))).await),
            "single" => failures(join_all((0..EACH).map(|_| db.read_single(async |tx| number(tx, VALUE).await))).await),
            _ => failures(join_all((0..EACH).map(|_| db.write(async |tx| raise(tx).await))).await),
        };
        assert!(failed.is_empty(), "{kind}: {} of {EACH} failed: {failed:?}", failed.len());
        assert!(proxy.found_dead() > found, "{kind}: no connection was dead");
        let written = if kind == "write" { EACH as i64 } else { 0 };
        assert_eq!(db.read(async |tx| number(tx, VALUE).await).await.unwrap(), value + written, "{kind}");
    }
}

fn failures<T>(answers: Vec<Result<T>>) -> Vec<StoreError> {
    answers.into_iter().filter_map(Result::err).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn single_statement_that_waits_for_a_lock_ends_at_the_deadline() {
    let Some(server) = Server::start() else { return };
    let db = open(server.url.clone()).await;
    let (locked, is_locked) = tokio::sync::oneshot::channel();
    let (finish, finished) = tokio::sync::oneshot::channel::<()>();
    let holder = db.clone();
    let mut signals = Some((locked, finished));
    let holding = runtime::spawn("hold a row", async move {
        holder
            .write(async move |tx| {
                let Some((locked, finished)) = signals.take() else { return Ok(()) };
                tx.execute(RAISE, &[]).await?;
                locked.send(()).unwrap();
                let _ = finished.await;
                Ok(())
            })
            .await
    });
    is_locked.await.unwrap();
    let waiting = db.write_single(async |tx| tx.execute(RAISE, &[]).await);
    let answer = runtime::timeout(LONGEST, waiting).await.expect("an answer while the row is locked");
    assert!(matches!(answer, Err(StoreError::Unavailable(_))), "{answer:?}");
    finish.send(()).unwrap();
    holding.await.unwrap().unwrap();
    assert_eq!(db.read(async |tx| number(tx, VALUE).await).await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn migrations_wait_without_a_deadline() {
    let Some(server) = Server::start() else { return };
    let db = open(server.url.clone()).await;
    let text = |row: &Row<'_>| row.get::<String>(0);
    let of_single = db.read_single(async move |tx| tx.query_opt(LOCK_DEADLINE, &[], text).await).await.unwrap();
    assert_eq!(of_single.as_deref(), Some("10s"));
    let both = |row: &Row<'_>| Ok((row.get::<String>(0)?, row.get::<String>(1)?));
    let of_migration = db.read(async move |tx| tx.query_opt(DEADLINES, &[], both).await).await.unwrap();
    assert_eq!(of_migration, Some(("0".to_owned(), "0".to_owned())));
}

#[tokio::test(flavor = "multi_thread")]
async fn listener_hears_what_is_sent_until_its_connection_is_ended() {
    let Some(server) = Server::start() else { return };
    let db = open(server.url.clone()).await;
    let (heard, mut messages) = tokio::sync::mpsc::unbounded_channel();
    let url = server.url.clone();
    let wake = move |message: &str| heard.send(message.to_owned()).unwrap();
    let listening = runtime::spawn("listen", async move { listen_for_wake_ups(&url, wake).await });
    let begun = async {
        // What is sent before it listens is lost.
        while messages.is_empty() {
            db.notify("begin").await.unwrap();
            runtime::sleep(Duration::from_millis(20)).await;
        }
    };
    runtime::timeout(LONGEST, begun).await.expect("it listens");
    for message in ["derive", "merge seal"] {
        db.notify(message).await.unwrap();
    }
    let mut received = Vec::new();
    while received.last().map(String::as_str) != Some("merge seal") {
        received.push(runtime::timeout(LONGEST, messages.recv()).await.unwrap().unwrap());
    }
    received.retain(|message| message != "begin");
    assert_eq!(received, ["derive", "merge seal"]);
    assert_eq!(server.end_connections("pulseward-listen"), 1);
    let ended = runtime::timeout(LONGEST, listening).await.unwrap().unwrap();
    assert!(matches!(ended, Err(StoreError::Unavailable(_))), "{ended:?}");
    assert!(messages.recv().await.is_none());
}
