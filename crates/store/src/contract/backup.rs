//! Copies of both databases: of one moment, whole, and brought back on either engine.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::types::Value;

use super::derivations::enrol;
use super::{Stores, activity_row, on_both_engines};
use crate::backup::{
    Database, DatabaseCopy, FillTarget, copy_databases, fill, has_mark, look_at, named_objects, remove_mark,
};
use crate::engine::{Address, Tx};
use crate::error::{Result, StoreError};
use crate::events::Followed;
use crate::ids::{HoldId, NodeId, PatientId};
use crate::{HealthDb, NEVER_MS, Objects, Sync, SyncOutcome, UsersDb};

on_both_engines! {
    copies_are_of_one_moment_while_both_databases_are_written
    copy_comes_back_on_the_other_engine_and_is_used
    what_processes_held_ends_with_a_restore
    holds_are_listed_until_they_end
}

const NOON_MS: i64 = 1_763_640_000_000;
const PATIENT: &str = "1f0f7f62-2c3c-4d0e-9d0a-4a52f1d3a001";
/// What differs between the engines, and means something only where it is.
const OF_THE_ENGINE: [&str; 4] =
    ["event.position", "patient.event_position", "store_epoch.position_offset", "store_epoch.retained_from"];

async fn copied(addresses: [Address; 2], folder: &Path) -> Result<[PathBuf; 2]> {
    std::fs::create_dir_all(folder).expect("a folder");
    let to = Database::BOTH.map(|database| folder.join(database.name()));
    let copies = Database::BOTH.into_iter().zip(addresses).zip(&to);
    let copy = |((database, from), to): (_, &PathBuf)| DatabaseCopy { database, from, to: to.clone() };
    copy_databases(copies.map(copy).collect()).await?;
    Ok(to)
}

/// A transaction that raises a number in two tables, and the same number in the other database after it.
async fn copies_are_of_one_moment_while_both_databases_are_written(stores: Stores) {
    const IN_USERS: [&str; 2] =
        ["UPDATE audit_head SET number = number + 1", "UPDATE store_epoch SET retained_from = retained_from + 1"];
    const IN_HEALTH: [&str; 2] = [
        "UPDATE store_epoch SET position_offset = position_offset + 1",
        "UPDATE catalog_head SET published = published + 1",
    ];
    let (done, ended) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicBool::new(false)));
    let writer = {
        let (users, health) = (stores.users.db.clone(), stores.health.db.clone());
        let (done, ended) = (done.clone(), ended.clone());
        runtime::spawn("write", async move {
            let raise = |texts: [&'static str; 2]| {
                async move |tx: &Tx<'_>| {
                    tx.execute(texts[0], &[]).await?;
                    tx.execute(texts[1], &[]).await.map(drop)
                }
            };
            while !ended.load(Ordering::Relaxed) {
                users.write(raise(IN_USERS)).await.expect("written");
                health.write(raise(IN_HEALTH)).await.expect("written");
                done.fetch_add(1, Ordering::Relaxed);
            }
        })
    };
    for round in 0..3 {
        while done.load(Ordering::Relaxed) < 5 * (round + 1) {
            runtime::sleep(Duration::from_millis(2)).await;
        }
        let acknowledged = done.load(Ordering::Relaxed);
        let folder = stores.folder.path().join(format!("copy-{round}"));
        let [users, health] = copied(stores.addresses.clone(), &folder).await.expect("copied");
        let number = |file: &Path, text: &str| -> i64 {
            Connection::open(file).expect("a file").query_row(text, [], |row| row.get(0)).expect("a number")
        };
        let of_users = number(&users, "SELECT number FROM audit_head");
        let of_health = number(&health, "SELECT published FROM catalog_head");
        assert!(of_health >= acknowledged, "what was acknowledged is there: {of_health} of {acknowledged}");
        assert!((0..=1).contains(&(of_users - of_health)), "{of_users} and {of_health} are not of one moment");
        assert!(!folder.join("users-wal").exists(), "a copy needs no log");
    }
    ended.store(true, Ordering::Relaxed);
    writer.await.expect("ended");
    let again = copied(stores.addresses.clone(), &stores.folder.path().join("copy-0")).await;
    assert!(matches!(again, Err(StoreError::Conflict(_))), "{again:?}");
}

fn sync_at(time_ms: i64) -> Sync {
    let blocks = vec![activity_row(time_ms, "bpm", 61)];
    Sync { patient: PatientId::new(PATIENT), received_ms: NOON_MS, id: None, device: None, blocks }
}

async fn counts(health: &HealthDb, time_ms: i64) -> (u64, u64) {
    match health.store_sync(sync_at(time_ms)).await.expect("an answer") {
        SyncOutcome::Stored(types) => types.values().fold((0, 0), |sum, of| (sum.0 + of.stored, sum.1 + of.duplicate)),
        other => panic!("{other:?}"),
    }
}

/// Numbers of so many events, once all of them can be read: other tests of the server hold readers up.
async fn sequences(health: &HealthDb, count: usize) -> Vec<i64> {
    let log = health.events();
    loop {
        let oldest = log.oldest().await.expect("a cursor");
        let Followed::Page(page) = log.read_after(&oldest, 100).await.expect("a page") else { panic!("no page") };
        if page.events.len() >= count {
            return page.events.iter().map(|event| event.sequence).collect();
        }
        runtime::sleep(Duration::from_millis(5)).await;
    }
}

async fn copy_comes_back_on_the_other_engine_and_is_used(stores: Stores) {
    enrol(&stores, PATIENT).await;
    for minute in 0..3 {
        assert_eq!(counts(&stores.health, NOON_MS - minute * 60_000).await, (1, 0));
    }
    let before = sequences(&stores.health, 3).await;
    let [users, health] = copied(stores.addresses.clone(), &stores.folder.path().join("copy")).await.expect("copied");
    let of_other = if stores.health.db.is_sqlite() {
        let (Some(for_users), Some(for_health)) = (testkit::Postgres::start(), testkit::Postgres::start()) else {
            return;
        };
        let work = stores.folder.path().to_owned();
        fill(Database::Users, users, &for_users.url, work.clone()).await.expect("filled");
        fill(Database::Health, health, &for_health.url, work).await.expect("filled");
        [Address::Postgres(for_users.url), Address::Postgres(for_health.url)]
    } else {
        [Address::File(users), Address::File(health)]
    };
    let [users, health] = of_other;
    UsersDb::open(users).await.expect("a database");
    let objects = Objects::folder(&stores.folder.path().join("other-objects")).expect("a folder");
    let other = HealthDb::open(health, objects).await.expect("a database");
    assert_eq!(sequences(&other, 3).await, before);
    assert_eq!(counts(&other, NOON_MS).await, (0, 1), "it is there");
    assert_eq!(counts(&other, NOON_MS + 60_000).await, (1, 0));
    let after = sequences(&other, 5).await;
    assert_eq!(
        (&after[..before.len()], after.len()),
        (&before[..], before.len() + 2),
        "new events come behind the old"
    );
}

async fn what_processes_held_ends_with_a_restore(stores: Stores) {
    const ASIDE: &str = "UPDATE patient SET fold_lease_until_ms = $1 WHERE uuid = 'aside'";
    let health = &stores.health;
    for name in ["ada", "aside"] {
        enrol(&stores, name).await;
    }
    health.enter_node(&NodeId::new("node"), "data", 1).await.expect("entered");
    let claim = async |name: &str, now_ms| health.claim_patient(&PatientId::new(name), None, now_ms, 60_000).await;
    assert!(claim("ada", 1).await.expect("an answer").is_some());
    assert!(claim("ada", 5).await.expect("an answer").is_none(), "somebody has the patient");
    health.hold_objects(&HoldId::new("backup"), i64::MAX).await.expect("held");
    health.db.write(async |tx| tx.execute(ASIDE, &[&NEVER_MS]).await).await.expect("put aside");
    health.forget_processes(5).await.expect("forgotten");
    let is_free = async |name: &str| claim(name, 5).await.expect("an answer").is_some();
    assert!(is_free("ada").await, "the lease was of a process that is not there");
    assert!(!is_free("aside").await, "what was put aside waits for a person");
    assert!(health.beats().await.expect("a list").is_empty());
    assert_eq!(health.objects_held_until(5).await.expect("an answer"), None);
}

async fn holds_are_listed_until_they_end(stores: Stores) {
    let health = &stores.health;
    let (one, other) = (HoldId::new("backup host:/one"), HoldId::new("backup host:/other"));
    health.hold_objects(&one, 100).await.expect("held");
    health.hold_objects(&other, 50).await.expect("held");
    health.hold_objects(&one, 200).await.expect("renewed");
    let listed = health.object_holds(10).await.expect("a list");
    assert_eq!(listed, [(other.clone(), 50), (one.clone(), 200)]);
    assert_eq!(health.object_holds(60).await.expect("a list"), [(one.clone(), 200)]);
    assert!(health.release_objects(&one).await.expect("an answer"));
    assert!(!health.release_objects(&one).await.expect("an answer"), "there is none of the name");
    assert_eq!(health.objects_held_until(60).await.expect("an answer"), None);
}

/// A file with three rows in each table, and one in those that may have no more: all columns are set, texts refer to each
/// other, values are extreme.
fn rows_in_every_table(stores: &Stores, database: Database) -> PathBuf {
    const LARGE: usize = 3 << 20;
    let path = stores.folder.path().join(format!("every-{}", database.name()));
    let from = stores.folder.path().join(format!("{}.sqlite", database.name()));
    std::fs::copy(from, &path).expect("a closed database");
    let file = Connection::open(&path).expect("a file");
    file.execute_batch("PRAGMA journal_mode = DELETE; PRAGMA foreign_keys = OFF;").expect("set");
    for (table, columns) in columns_of(&file) {
        let count = if columns.iter().any(|(name, ..)| name == "one") { 1 } else { 3 };
        file.execute_batch(&format!("DELETE FROM {table}")).expect("emptied");
        let places = vec!["?"; columns.len()].join(", ");
        for row in 0..count {
            let value = |(name, declared, is_needed): &(String, String, bool)| match declared.as_str() {
                _ if row == 1 && !is_needed => Value::Null,
                "BIGINT" if name == "one" => Value::Integer(1),
                "TEXT" if name == "device_type" && table == "device" => Value::Text("x".repeat(LARGE)),
                "TEXT" => Value::Text(format!("ä'\"\\\n {row}")),
                "BYTEA" if name == "payload" => Value::Blob(vec![7; LARGE]),
                "BYTEA" => Value::Blob(vec![0, 255, row as u8]),
                "BOOLEAN" => Value::Integer(row % 2),
                "DOUBLE PRECISION" => Value::Real([0.1, -1e300, 7.0][row as usize]),
                _ => Value::Integer([-5, i64::MAX, 1_763_640_000_000][row as usize]),
            };
            let values: Vec<Value> = columns.iter().map(value).collect();
            file.execute(&format!("INSERT INTO {table} VALUES ({places})"), rusqlite::params_from_iter(values))
                .unwrap_or_else(|error| panic!("{table}: {error}"));
        }
    }
    path
}

/// Name, type, and whether it must have a value.
type ColumnOfTable = (String, String, bool);

/// Tables with their columns.
fn columns_of(file: &Connection) -> Vec<(String, Vec<ColumnOfTable>)> {
    let mut tables = file
        .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> 'schema_version'")
        .expect("a query");
    let names: Vec<String> =
        tables.query_map([], |row| row.get(0)).expect("names").map(|name| name.expect("a name")).collect();
    let of_table = |name: String| {
        let mut columns = file.prepare("SELECT name, type, \"notnull\" FROM pragma_table_info(?1)").expect("a query");
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let found =
            columns.query_map([&name], read).expect("columns").map(|column| column.expect("a column")).collect();
        (name, found)
    };
    names.into_iter().map(of_table).collect()
}

/// Everything that a file holds but for what belongs to the engine, in an order that does not depend on it.
fn dump(path: &Path) -> Vec<String> {
    let file = Connection::open(path).expect("a file");
    let mut lines = Vec::new();
    for (table, columns) in columns_of(&file) {
        let names: Vec<&str> = columns.iter().map(|(name, ..)| name.as_str()).collect();
        let kept: Vec<&str> =
            names.into_iter().filter(|name| !OF_THE_ENGINE.contains(&format!("{table}.{name}").as_str())).collect();
        let mut rows = file.prepare(&format!("SELECT {} FROM {table}", kept.join(", "))).expect("a query");
        let read = |row: &rusqlite::Row<'_>| {
            let values: Vec<String> = (0..kept.len())
                .map(|at| match row.get(at).expect("a value") {
                    Value::Text(text) if text.len() > 100 => format!("text of {}", text.len()),
                    Value::Blob(bytes) if bytes.len() > 100 => format!("bytes of {}", bytes.len()),
                    value => format!("{value:?}"),
                })
                .collect();
            Ok(format!("{table}: {}", values.join(", ")))
        };
        lines.extend(rows.query_map([], read).expect("rows").map(|row| row.expect("a row")));
    }
    lines.sort();
    lines
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_every_table_go_to_postgres_and_back_unchanged() {
    let (Some(for_users), Some(for_health)) = (testkit::Postgres::start(), testkit::Postgres::start()) else { return };
    let stores = Stores::sqlite().await;
    stores.users.close().await.expect("closed");
    stores.health.close().await.expect("closed");
    let work = stores.folder.path().to_owned();
    let files = Database::BOTH.map(|database| rows_in_every_table(&stores, database));
    for (database, (file, server)) in Database::BOTH.into_iter().zip(files.iter().zip([&for_users, &for_health])) {
        fill(database, file.clone(), &server.url, work.clone()).await.expect("filled");
    }
    let urls = [Address::Postgres(for_users.url), Address::Postgres(for_health.url)];
    let back = copied(urls, &work.join("back")).await.expect("copied");
    for (file, back) in files.iter().zip(&back) {
        let (expected, found) = (dump(file), dump(back));
        for (table, _) in columns_of(&Connection::open(file).expect("a file")) {
            let has_row = expected.iter().any(|line| line.starts_with(&format!("{table}: ")));
            assert!(has_row, "{table} is not covered");
        }
        assert_eq!(expected, found);
    }
    let positions = Connection::open(&back[1]).expect("a file");
    let of_engine = "SELECT (SELECT COUNT(*) FROM event WHERE position BETWEEN 1 AND 3),
        (SELECT SUM(event_position) FROM patient), (SELECT SUM(position_offset) FROM store_epoch)";
    let found: rusqlite::Result<(i64, i64, i64)> =
        positions.query_row(of_engine, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    assert_eq!(found.expect("numbers"), (3, 0, 0), "SQLite gives positions itself");
}

#[tokio::test(flavor = "multi_thread")]
async fn database_is_filled_when_it_is_empty_and_wholly_or_not_at_all() {
    let Some(server) = testkit::Postgres::start() else { return };
    let stores = Stores::sqlite().await;
    enrol(&stores, PATIENT).await;
    let folder = stores.folder.path();
    let [_, health] = copied(stores.addresses.clone(), &folder.join("copy")).await.expect("copied");
    let fill_from = async |file: &Path| fill(Database::Health, file.to_owned(), &server.url, folder.to_owned()).await;

    // The last table cannot be filled: nothing of those before it is there either.
    let broken = folder.join("broken");
    std::fs::copy(&health, &broken).expect("a copy");
    let with_text =
        "INSERT INTO job (kind, subject, ready_ms, token, failed_runs, panics) VALUES ('a', 'b', 'soon', 0, 0, 0)";
    Connection::open(&broken).expect("a file").execute(with_text, []).expect("a row");
    let cut_off = fill_from(&broken).await;
    assert!(matches!(&cut_off, Err(StoreError::Damaged(why)) if why.contains("job.ready_ms")), "{cut_off:?}");
    assert_eq!(look_at(&server.url).await.expect("an answer"), FillTarget::Empty);

    // A restore that ended after filling has left a mark, and the next one begins again.
    for _ in 0..2 {
        fill_from(&health).await.expect("filled");
        assert_eq!(look_at(&server.url).await.expect("an answer"), FillTarget::Unfinished);
        assert!(has_mark(&server.url).await.expect("an answer"));
    }
    remove_mark(&server.url).await.expect("removed");
    assert!(!has_mark(&server.url).await.expect("an answer"));
    assert_eq!(look_at(&server.url).await.expect("an answer"), FillTarget::InUse);
    let refused = fill_from(&health).await;
    assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    let opened = HealthDb::open(Address::Postgres(server.url.clone()), stores.health.objects.clone()).await;
    assert!(opened.expect("a database").patient(&PatientId::new(PATIENT)).await.expect("an answer").is_some());
}

#[tokio::test]
async fn copy_of_an_older_program_is_brought_up_to_date_and_stays_as_it_is() {
    let Some(server) = testkit::Postgres::start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let older = folder.path().join("older");
    let known = crate::engine::Migrations(&crate::users::MIGRATIONS.0[..3]);
    let db = crate::engine::Db::open("older", Address::File(older.clone()), crate::Limits::default(), known).await;
    db.expect("a database").close().await.expect("closed");
    Connection::open(&older).expect("a file").execute_batch("PRAGMA journal_mode = DELETE").expect("set");
    let before = std::fs::read(&older).expect("a file");
    fill(Database::Users, older.clone(), &server.url, folder.path().to_owned()).await.expect("filled");
    assert_eq!(std::fs::read(&older).expect("a file"), before);
    assert!(!folder.path().join("restoring-older").exists());
    UsersDb::open(Address::Postgres(server.url)).await.expect("a database of today");
}

/// Timeline: a transaction writes and stays open; the copy tries, gives way, and tries again; it ends.
#[tokio::test(flavor = "multi_thread")]
async fn copy_waits_for_a_long_transaction_and_nobody_waits_long_for_the_copy() {
    const RAISE: &str = "UPDATE catalog_head SET published = published + 1";
    let Some(stores) = Stores::postgres().await else { return };
    enrol(&stores, PATIENT).await;
    let (begun, is_begun) = tokio::sync::oneshot::channel();
    let mut begun = Some(begun);
    let long = stores.health.db.write(async move |tx| {
        tx.execute(RAISE, &[]).await?;
        let _ = begun.take().map(|begun| begun.send(()));
        runtime::sleep(Duration::from_secs(2)).await;
        tx.execute(RAISE, &[]).await.map(drop)
    });
    let folder = stores.folder.path().join("copy");
    let others = async {
        is_begun.await.expect("begun");
        let copying = copied(stores.addresses.clone(), &folder);
        let syncing = async {
            let mut longest = Duration::ZERO;
            for minute in 0..10 {
                let asked = runtime::Instant::now();
                counts(&stores.health, NOON_MS - minute * 60_000).await;
                longest = longest.max(asked.elapsed());
                runtime::sleep(Duration::from_millis(150)).await;
            }
            longest
        };
        futures::join!(copying, syncing)
    };
    let (long, (files, longest)) = futures::join!(long, others);
    long.expect("committed");
    assert!(longest < Duration::from_secs(3), "a sync waited {longest:?}");
    let file = Connection::open(&files.expect("copied")[1]).expect("a file");
    let published: i64 = file.query_row("SELECT published FROM catalog_head", [], |row| row.get(0)).expect("a number");
    assert_eq!(published, 2, "all of the transaction or nothing");
}

#[tokio::test]
async fn objects_that_a_copy_names_are_sealed_files_and_archives() {
    let stores = Stores::sqlite().await;
    let [_, health] = copied(stores.addresses.clone(), &stores.folder.path().join("copy")).await.expect("copied");
    let rows = "INSERT INTO segment (patient, data_type, period_start_us, generation, path, first_us, last_us, row_count,
            bytes, sha256, sealed_ms) VALUES ('ada', 1, 0, 1, 'v1/b', 0, 1, 1, 7, 'ab', 0);
        INSERT INTO export_job (id, patient, actor, request, created_ms, state, path, bytes) VALUES
            ('one', 'ada', 'rita', '{}', 0, 'done', 'exports/a', 9), ('two', 'ada', 'rita', '{}', 0, 'in_progress', 'exports/c', NULL);";
    Connection::open(&health).expect("a file").execute_batch(rows).expect("rows");
    let mut named = Vec::new();
    named_objects(&health, |object| {
        named.push((object.path, object.bytes, object.sha256));
        Ok::<_, StoreError>(())
    })
    .expect("objects");
    assert_eq!(named, [("exports/a".to_owned(), 9, None), ("v1/b".to_owned(), 7, Some("ab".to_owned()))]);
}
