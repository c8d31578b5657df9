//! What a pool promises when its connections die and when statements wait.

use std::time::Duration;

use futures::future::{join_all, try_join_all};
use testkit::Postgres as Server;
use tokio::sync::oneshot;

use crate::engine::{Address, Db, Limits, Migrations, Row, Tx, listen_for_wake_ups};
use crate::error::{Result, StoreError};

pub(super) const COUNTER: Migrations = Migrations(&["CREATE TABLE counter (name TEXT NOT NULL, value BIGINT NOT NULL);
    INSERT INTO counter VALUES ('n', 0), ('other', 0);
    CREATE TABLE deadline AS SELECT current_setting('lock_timeout') AS lock, current_setting('statement_timeout') AS run;"]);
pub(super) const RAISE: &str = "UPDATE counter SET value = value + 1 WHERE name = 'n'";
pub(super) const VALUE: &str = "SELECT value FROM counter WHERE name = 'n'";
const DEADLINES: &str = "SELECT lock, run FROM deadline";
const LOCK_DEADLINE: &str = "SELECT current_setting('lock_timeout')";
const NO_LOCK_DEADLINE: &str = "SELECT set_config('lock_timeout', '0', true)";
const NO_PAUSE_DEADLINE: &str = "SELECT set_config('idle_in_transaction_session_timeout', '0', true)";
const LOCK_DEADLINES: &str = "LOCK TABLE deadline IN ACCESS EXCLUSIVE MODE";
const LOCK_COUNTER: &str = "LOCK TABLE counter IN ACCESS EXCLUSIVE MODE";
/// Statements that wait, by the name or the kind of what they wait for.
const WAITING: &str = "SELECT CAST(COUNT(*) AS BIGINT) FROM pg_stat_activity \
    WHERE datname = current_database() AND $1 IN (wait_event, wait_event_type) AND state = 'active'";
pub(super) const ONE: &str = "SELECT CAST(1 AS BIGINT)";
/// Beyond the deadline of statements.
const ENDLESS: &str = "SELECT CAST(1 AS BIGINT) FROM pg_sleep(600)";
/// Long enough that each of several questions at once needs a connection of its own.
const SLOW: &str = "SELECT CAST(1 AS BIGINT) FROM pg_sleep(0.3)";
/// Well beyond every deadline, so that only a missing one is met.
pub(super) const LONGEST: Duration = Duration::from_secs(40);
/// Operations after a failover.
const EACH: usize = 12;

pub(super) async fn open(url: String) -> Db {
    open_with(url, Limits::default().connections).await
}

pub(super) async fn open_with(url: String, connections: usize) -> Db {
    let limits = Limits { connections, ..Limits::default() };
    Db::open("test", Address::Postgres(url), limits, COUNTER).await.unwrap()
}

/// Keeps what a statement locks until it is released.
pub(super) struct Holder {
    finish: oneshot::Sender<()>,
    holding: runtime::Task<Result<()>>,
}

impl Holder {
    pub(super) async fn lock(db: &Db, text: &'static str) -> Self {
        let (locked, is_locked) = oneshot::channel();
        let (finish, finished) = oneshot::channel::<()>();
        let db = db.clone();
        let mut signals = Some((locked, finished));
        let holding = runtime::spawn("hold a lock", async move {
            db.write(async move |tx| {
                let Some((locked, finished)) = signals.take() else { return Ok(()) };
                // The deadline of a pause in a transaction is not what is looked at here.
                tx.query_opt(NO_PAUSE_DEADLINE, &[], |_| Ok(())).await?;
                tx.execute(text, &[]).await?;
                locked.send(()).unwrap();
                let _ = finished.await;
                Ok(())
            })
            .await
        });
        is_locked.await.unwrap();
        Holder { finish, holding }
    }

    pub(super) async fn release(self) {
        self.finish.send(()).unwrap();
        self.holding.await.unwrap().unwrap();
    }
}

/// Waits until so many statements of the database wait for what an event of the server is called.
pub(super) async fn until_waiting(observer: &Db, event: &'static str, expected: i64) {
    let reached = async {
        while waiting(observer, event).await != expected {
            runtime::sleep(Duration::from_millis(20)).await;
        }
    };
    let reached = runtime::timeout(LONGEST, reached).await;
    assert!(reached.is_ok(), "{} wait for {event}, not {expected}", waiting(observer, event).await);
}

pub(super) async fn waiting(observer: &Db, event: &'static str) -> i64 {
    let count =
        async move |tx: &Tx<'_>| Ok(tx.query_opt(WAITING, &[&event], |row| row.get(0)).await?.unwrap_or_default());
    observer.read_single(count).await.unwrap()
}

/// Waits until so many operations wait for a connection.
pub(super) async fn until_queued(db: &Db, expected: usize) {
    let queued = async {
        while db.counts().pool.waiting < expected {
            runtime::yield_now().await;
        }
    };
    runtime::timeout(LONGEST, queued).await.expect("operations that wait");
}

/// Reads the counter and waits for a lock on it without a deadline of its own.
async fn read_locked(tx: &Tx<'_>) -> Result<i64> {
    tx.query_opt(NO_LOCK_DEADLINE, &[], |_| Ok(())).await?;
    number(tx, VALUE).await
}

/// The same with the other table.
async fn read_other_locked(tx: &Tx<'_>) -> Result<()> {
    tx.query_opt(NO_LOCK_DEADLINE, &[], |_| Ok(())).await?;
    tx.query_opt(DEADLINES, &[], |_| Ok(())).await.map(drop)
}

pub(super) async fn number(tx: &Tx<'_>, text: &'static str) -> Result<i64> {
    Ok(tx.query_opt(text, &[], |row: &Row<'_>| row.get(0)).await?.unwrap_or_default())
}

/// Opens every connection that the pool may have.
pub(super) async fn fill(db: &Db) {
    let most = db.counts().pool.limit;
    try_join_all((0..2 * most).map(|_| db.read_single(async |tx| number(tx, SLOW).await))).await.unwrap();
    // Each of them knows the statement, so that a later write is sent without a question.
    try_join_all((0..2 * most).map(|_| db.write(async |tx| raise(tx).await))).await.unwrap();
    assert_eq!(db.counts().pool.size, most);
}

pub(super) async fn raise(tx: &Tx<'_>) -> Result<()> {
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
    let holder = Holder::lock(&db, RAISE).await;
    let waiting = db.write_single(async |tx| tx.execute(RAISE, &[]).await);
    let answer = runtime::timeout(LONGEST, waiting).await.expect("an answer while the row is locked");
    assert!(matches!(answer, Err(StoreError::Unavailable(_))), "{answer:?}");
    holder.release().await;
    assert_eq!(db.read(async |tx| number(tx, VALUE).await).await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_whose_callers_went_away_are_cancelled_and_leave_the_pool_free() {
    let Some(server) = Server::start() else { return };
    let (db, observer) = (open_with(server.url.clone(), 4).await, open(server.url.clone()).await);
    fill(&db).await;
    let holder = Holder::lock(&observer, LOCK_COUNTER).await;
    for (kind, event) in [("single", "PgSleep"), ("snapshot", "PgSleep"), ("locked", "Lock")] {
        let reads = (0..8).map(|_| {
            let db = db.clone();
            runtime::spawn("a caller", async move {
                match kind {
                    "single" => db.read_single(async |tx| number(tx, ENDLESS).await).await,
                    "snapshot" => db.read(async |tx| number(tx, ENDLESS).await).await,
                    _ => db.read(async |tx| read_locked(tx).await).await,
                }
            })
        });
        let reads: Vec<_> = reads.collect();
        until_waiting(&observer, event, 4).await;
        for read in &reads {
            read.abort();
        }
        // Its own deadline would end a statement later than this waits.
        until_waiting(&observer, event, 0).await;
        try_join_all((0..8).map(|_| db.read_single(async |tx| number(tx, ONE).await))).await.unwrap();
    }
    holder.release().await;
    assert_eq!(db.counts().pool.waiting, 0);
}

/// As where a page is damaged: a warning and an error come before the end, one by one.
#[tokio::test(flavor = "multi_thread")]
async fn long_answer_that_nobody_waits_for_yet_keeps_no_later_one_back() {
    const LONG: &str = "SELECT repeat('x', 20000), pg_sleep(0.05) FROM generate_series(1, 5)";
    const FAILS_AT_ITS_END: &str =
        "SELECT repeat('x', 20000), 1 / (5 - row), pg_sleep(0.05) FROM generate_series(1, 5) row";
    let Some(server) = Server::start() else { return };
    let db = open(server.url.clone()).await;
    let write = db.write(async |tx| {
        tx.put(LONG, &[]).await?;
        number(tx, VALUE).await
    });
    runtime::timeout(LONGEST, write).await.expect("an answer").unwrap();
    let write = db.write(async |tx| {
        tx.put(FAILS_AT_ITS_END, &[]).await?;
        number(tx, VALUE).await
    });
    let failed = runtime::timeout(LONGEST, write).await.expect("an answer").unwrap_err();
    assert!(failed.to_string().contains("division by zero"), "{failed}");
}

/// As many threads as the machine allows drive these connections.
#[tokio::test(flavor = "multi_thread")]
async fn operations_run_next_to_one_that_waits_while_a_connection_is_idle() {
    let Some(server) = Server::start() else { return };
    let (db, observer) = (open_with(server.url.clone(), 2).await, open(server.url.clone()).await);
    let holder = Holder::lock(&observer, LOCK_COUNTER).await;
    let reader = db.clone();
    let stuck = runtime::spawn("a reader", async move { reader.read(async |tx| read_locked(tx).await).await });
    until_waiting(&observer, "Lock", 1).await;
    for _ in 0..8 {
        db.read_single(async |tx| number(tx, ONE).await).await.unwrap();
    }
    assert_eq!(waiting(&observer, "Lock").await, 1, "the first one waits still");
    holder.release().await;
    stuck.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_that_wait_take_whichever_connection_becomes_free() {
    let Some(server) = Server::start() else { return };
    let (db, observer) = (open_with(server.url.clone(), 2).await, open(server.url.clone()).await);
    let (holder, other) = (Holder::lock(&observer, LOCK_COUNTER).await, Holder::lock(&observer, LOCK_DEADLINES).await);
    let (first, second) = (db.clone(), db.clone());
    let stuck = runtime::spawn("a reader", async move { first.read(async |tx| read_locked(tx).await).await });
    until_waiting(&observer, "Lock", 1).await;
    let passing = runtime::spawn("a reader", async move { second.read(async |tx| read_other_locked(tx).await).await });
    until_waiting(&observer, "Lock", 2).await;
    let questions = (0..8).map(|_| {
        let db = db.clone();
        runtime::spawn("a reader", async move { db.read_single(async |tx| number(tx, ONE).await).await })
    });
    let questions: Vec<_> = questions.collect();
    until_queued(&db, questions.len()).await;
    other.release().await;
    passing.await.unwrap().unwrap();
    for question in questions {
        question.await.unwrap().unwrap();
    }
    assert_eq!(waiting(&observer, "Lock").await, 1, "the first one waits still");
    holder.release().await;
    stuck.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn migrations_wait_without_a_deadline() {
    let Some(server) = Server::start() else { return };
    let db = open(server.url.clone()).await;
    let text = |row: &Row<'_>| row.get::<String>(0);
    let of_single = db.read_single(async move |tx| tx.query_opt(LOCK_DEADLINE, &[], text).await).await.unwrap();
    assert_eq!(of_single.as_deref(), Some("5s"));
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
