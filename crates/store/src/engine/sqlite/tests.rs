//! What closing leaves behind, with and without somebody who reads.
#![allow(clippy::disallowed_methods, reason = "a thread is held up on purpose")]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, mpsc};

use rusqlite::Connection;
use tempfile::{TempDir, tempdir};

use super::READERS;
use super::writer::GROUP_TIME;
use crate::engine::{Address, Db, Engine, Limits, Migrations, Tx, Work};
use crate::error::{Result, StoreError};

const TABLE: Migrations = Migrations(&["CREATE TABLE thing (number BIGINT NOT NULL)"]);
const COUNT: &str = "SELECT COUNT(*) FROM thing";

struct Scene {
    _folder: TempDir,
    path: PathBuf,
    db: Db,
}

impl Scene {
    /// Makes a database with one row that lies in the write-ahead log.
    async fn begin() -> Self {
        let folder = tempdir().expect("a folder");
        let path = folder.path().join("things.db");
        let db = Db::open("users", Address::File(path.clone()), Limits::default(), TABLE).await.expect("a database");
        let scene = Scene { _folder: folder, path, db };
        scene.add().await.expect("added");
        assert!(scene.log_bytes() > 0);
        scene
    }

    async fn add(&self) -> Result<()> {
        self.db.write(async |tx| tx.put("INSERT INTO thing (number) VALUES (7)", &[]).await).await
    }

    fn log_bytes(&self) -> u64 {
        let log = format!("{}-wal", self.path.display());
        std::fs::metadata(log).map_or(0, |log| log.len())
    }
}

async fn count(tx: &Tx<'_>) -> Result<Option<i64>> {
    tx.query_opt(COUNT, &[], |row| row.get(0)).await
}

fn count_in(path: &Path) -> i64 {
    let connection = Connection::open(path).expect("a database");
    connection.query_row(COUNT, [], |row| row.get(0)).expect("a number")
}

#[tokio::test]
async fn closed_database_is_whole_without_its_log_and_refuses_operations() {
    let scene = Scene::begin().await;
    assert_eq!(scene.db.read(async |tx| count(tx).await).await.expect("read"), Some(1));
    assert_eq!(scene.db.look_up(async |tx| count(tx).await).await.expect("read"), Some(1));
    scene.db.clone().close().await.expect("closed");
    assert_eq!(scene.log_bytes(), 0);
    let alone = scene.path.with_file_name("alone.db");
    std::fs::copy(&scene.path, &alone).expect("copied");
    assert_eq!(count_in(&alone), 1);
    assert!(matches!(scene.add().await, Err(StoreError::Unavailable(_))));
    assert!(matches!(scene.db.read(async |tx| count(tx).await).await, Err(StoreError::Unavailable(_))));
    assert!(matches!(scene.db.look_up(async |tx| count(tx).await).await, Err(StoreError::Unavailable(_))));
}

#[tokio::test]
async fn file_of_before_page_checksums_gets_them_when_it_is_rewritten() {
    let scene = Scene::begin().await;
    scene.db.clone().close().await.expect("closed");
    let old = scene.path.with_file_name("old.db");
    {
        let without = Connection::open(&old).expect("a file");
        without
            .execute_batch("PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; CREATE TABLE other (x)")
            .expect("made");
        assert!(!page_sums::are_in(&without).expect("a header"));
    }
    let open = || Db::open("users", Address::File(old.clone()), Limits::default(), TABLE);
    let db = open().await.expect("a database");
    let Engine::Sqlite(sqlite) = &db.engine else { panic!("a file") };
    sqlite.rewrite().await.expect("rewritten");
    db.close().await.expect("closed");
    let file = Connection::open(&old).expect("a file");
    assert!(page_sums::are_in(&file).expect("a header"));
    assert_eq!(count_in(&old), 0);
}

#[tokio::test]
async fn damaged_logs_are_emptied_when_something_was_erased_and_stay_when_a_file_gets_checksums() {
    let scene = Scene::begin().await;
    let kept = scene.path.with_file_name("things.db-wal-damaged-1");
    std::fs::write(&kept, "rows that were erased since").expect("written");
    assert_eq!(scene.db.damaged_log_count().expect("a count"), 1);
    scene.db.give_page_checksums().await.expect("nothing to do");
    assert_ne!(std::fs::read(&kept).expect("read"), b"");
    scene.db.rewrite().await.expect("rewritten");
    assert_eq!(std::fs::read(&kept).expect("read"), b"");
    let logs = scene.db.files().await.expect("files").damaged_logs;
    assert_eq!(logs.len(), 1, "that something was lost is still said: {logs:?}");
}

#[tokio::test]
async fn closing_next_to_a_reader_of_another_program_fails_and_loses_nothing() {
    let scene = Scene::begin().await;
    let reader = Connection::open(&scene.path).expect("a database");
    reader.execute_batch("BEGIN; SELECT number FROM thing;").expect("read");
    scene.add().await.expect("added");
    let refused = scene.db.close().await.expect_err("the log is needed");
    assert!(matches!(&refused, StoreError::Unavailable(why) if why.contains("things.db-wal")), "{refused}");
    assert!(scene.log_bytes() > 0);
    drop(reader);
    assert_eq!(count_in(&scene.path), 2);
}

/// It keeps the log from being cut, and not from being moved.
#[tokio::test]
async fn closing_next_to_a_reader_of_the_newest_state_leaves_everything_in_the_file() {
    let scene = Scene::begin().await;
    scene.add().await.expect("added");
    let reader = Connection::open(&scene.path).expect("a database");
    reader.execute_batch("BEGIN; SELECT number FROM thing;").expect("read");
    scene.db.close().await.expect("nothing lies in the log only");
    let alone = scene.path.with_file_name("alone.db");
    std::fs::copy(&scene.path, &alone).expect("copied");
    assert_eq!(count_in(&alone), 2);
}

#[tokio::test]
async fn closing_waits_for_a_read_that_is_under_way() {
    let scene = Scene::begin().await;
    let (begun, has_begun) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel();
    let may_go_on = Mutex::new(may_go_on);
    let db = scene.db.clone();
    let reading = tokio::spawn(async move {
        let work = async move |tx: &Tx<'_>| {
            begun.send(()).expect("awaited");
            may_go_on.lock().expect("one reader").recv().expect("the test goes on");
            count(tx).await
        };
        db.read(work).await
    });
    tokio::task::spawn_blocking(move || has_begun.recv()).await.expect("joined").expect("begun");
    let db = scene.db.clone();
    let closing = tokio::spawn(async move { db.close().await });
    // Closing takes every right to read that it can get.
    let Engine::Sqlite(sqlite) = &scene.db.engine else { panic!("another engine") };
    while sqlite.readers.permits.available_permits() > 0 {
        tokio::task::yield_now().await;
    }
    assert!(!closing.is_finished());
    go_on.send(()).expect("the reader waits");
    assert_eq!(reading.await.expect("joined").expect("read"), Some(1));
    closing.await.expect("joined").expect("closed");
    assert_eq!(scene.log_bytes(), 0);
}

#[tokio::test]
async fn reads_beyond_the_readers_wait_and_are_counted() {
    let scene = Scene::begin().await;
    let (begun, has_begun) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel();
    let may_go_on = Arc::new(Mutex::new(may_go_on));
    let read = || {
        let (db, begun, may_go_on) = (scene.db.clone(), begun.clone(), may_go_on.clone());
        tokio::spawn(async move {
            let work = async move |tx: &Tx<'_>| {
                begun.send(()).expect("awaited");
                may_go_on.lock().expect("not poisoned").recv().expect("the test goes on");
                count(tx).await
            };
            db.read(work).await
        })
    };
    let reading: Vec<_> = (0..READERS).map(|_| read()).collect();
    let all_begun = move || {
        (0..READERS).for_each(|_| has_begun.recv().expect("begun"));
        has_begun
    };
    let _has_begun = tokio::task::spawn_blocking(all_begun).await.expect("joined");
    let waiting = read();
    while scene.db.counts().pool.waiting == 0 {
        tokio::task::yield_now().await;
    }
    let pool = scene.db.counts().pool;
    assert_eq!((pool.size, pool.in_use, pool.waiting, pool.limit), (READERS, READERS, 1, READERS));
    (0..=READERS).for_each(|_| go_on.send(()).expect("a reader waits"));
    for task in reading.into_iter().chain([waiting]) {
        assert_eq!(task.await.expect("joined").expect("read"), Some(1));
    }
    let pool = scene.db.counts().pool;
    assert_eq!((pool.in_use, pool.waiting, pool.opened), (0, 0, READERS as u64));
    assert_eq!((pool.waits.count(), scene.db.counts().writer_queue), (READERS as u64 + 1, Some(0)));
}

/// Nothing of a group is in the transaction that is committed alone, nor the other way round, in whichever order they come.
#[tokio::test]
async fn what_deletes_much_is_committed_or_undone_without_its_neighbours() {
    let scene = Scene::begin().await;
    let alone = scene.db.with_deadlines_of(Work::Deletion);
    let insert = async |tx: &Tx<'_>| tx.put("INSERT INTO thing (number) VALUES (8)", &[]).await;
    let fail = async |tx: &Tx<'_>| {
        tx.put("DELETE FROM thing", &[]).await?;
        Err::<(), _>(StoreError::Gone("a thing"))
    };
    let (group, alone_again) = (scene.db.clone(), alone.clone());
    let (one, failed, other, written, undone) = tokio::join!(
        group.write(insert),
        alone.write(fail),
        group.write(insert),
        alone_again.write(insert),
        group.write(fail)
    );
    assert!([one, other, written].iter().all(Result::is_ok));
    assert!([failed, undone].iter().all(|ended| matches!(ended, Err(StoreError::Gone(_)))));
    assert_eq!(scene.db.read(async |tx| count(tx).await).await.expect("read"), Some(4));
    let panicked = alone.write(async |_: &Tx<'_>| -> Result<()> { panic!("on purpose") }).await;
    assert!(matches!(panicked, Err(StoreError::Database(_))));
    scene.add().await.expect("no transaction is left open");
}

#[tokio::test]
async fn a_full_disk_undoes_its_group_and_what_follows_succeeds_or_fails_by_itself() {
    let scene = Scene::begin().await;
    // No page more than there are now.
    let limit = async |tx: &Tx<'_>| tx.query("PRAGMA max_page_count = 1", &[], |_| Ok(())).await.map(drop);
    scene.db.write(limit).await.expect("limited");
    let (begun, has_begun) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel();
    let may_go_on = Mutex::new(may_go_on);
    let db = scene.db.clone();
    let holding = tokio::spawn(async move {
        let work = async move |_: &Tx<'_>| {
            begun.send(()).expect("awaited");
            may_go_on.lock().expect("one writer").recv().expect("the test goes on");
            // Those that wait are a group of their own.
            std::thread::sleep(GROUP_TIME);
            Ok(())
        };
        db.write(work).await
    });
    tokio::task::spawn_blocking(move || has_begun.recv()).await.expect("joined").expect("begun");
    let (small, large) =
        ("INSERT INTO thing (number) VALUES (8)", "INSERT INTO thing (number) VALUES (zeroblob(1000000))");
    let mut waiting = Vec::new();
    for (before, text) in [small, large, small].into_iter().enumerate() {
        let db = scene.db.clone();
        waiting.push(tokio::spawn(async move { db.write(async move |tx| tx.execute(text, &[]).await).await }));
        while scene.db.counts().writer_queue <= Some(before) {
            tokio::task::yield_now().await;
        }
    }
    go_on.send(()).expect("the writer waits");
    holding.await.expect("joined").expect("written");
    let mut stored = Vec::new();
    for task in waiting {
        stored.push(task.await.expect("joined").is_ok());
    }
    assert_eq!(stored, [false, false, true]);
    assert_eq!(scene.db.read(async |tx| count(tx).await).await.expect("read"), Some(2));
}
