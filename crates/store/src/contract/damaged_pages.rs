//! Pages that cannot be read: they are found, and what lies behind them is verified all the same.

use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::flips::content::make;
use crate::engine::Address;
use crate::health::{Walk, WalkPosition};
use crate::{DamagedPage, HealthDb, Objects, UsersDb};

const WALKS: [Walk; 4] = [Walk::Chunks, Walk::Derived, Walk::Settings, Walk::Patients];
pub(super) const PAGE_BYTES: u64 = 8_192;

pub(super) fn flip(path: &Path, byte: u64) {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).expect("a file");
    let mut found = [0];
    file.read_exact_at(&mut found, byte).expect("a byte");
    file.write_all_at(&[found[0] ^ 1], byte).expect("written");
}

/// How many rows a walk has looked at, and what it has found.
async fn walked(health: &HealthDb, walk: Walk) -> (u64, Vec<String>) {
    let (mut rows, mut findings, mut behind) = (0, Vec::new(), Some(WalkPosition::default()));
    while let Some(from) = behind {
        let part = health.verify_part(walk, from, 16).await.expect("a part, whatever is damaged");
        rows += part.rows;
        findings.extend(part.findings.into_iter().map(|finding| finding.error.to_string()));
        behind = part.next;
    }
    (rows, findings)
}

async fn damaged_pages(health: &HealthDb) -> Vec<DamagedPage> {
    let (mut damaged, mut behind) = (Vec::new(), Some(String::new()));
    while let Some(from) = behind {
        let part = health.check_pages(&from).await.expect("pages, whatever is damaged");
        damaged.extend(part.damaged);
        behind = part.next;
    }
    damaged
}

pub(super) async fn open_in(folder: &Path) -> HealthDb {
    let objects = Objects::folder(&folder.join("objects")).expect("a folder");
    HealthDb::open(Address::File(folder.join("health.sqlite")), objects).await.expect("a database")
}

/// A page in the middle of those that hold rows of a table.
fn leaf_of(file: &Path, table: &str) -> u64 {
    let leaves = leaves_of(file, table);
    leaves[leaves.len() / 2]
}

/// Pages that hold rows of a table, in the order of its keys.
pub(super) fn leaves_of(file: &Path, table: &str) -> Vec<u64> {
    const LEAVES: &str = "SELECT pageno FROM dbstat WHERE name = ?1 AND pagetype = 'leaf' ORDER BY path";
    let connection = rusqlite::Connection::open(file).expect("a file");
    let mut statement = connection.prepare(LEAVES).expect("a statement");
    let leaves = statement.query_map([table], |row| row.get::<_, i64>(0)).expect("pages");
    leaves.map(|page| page.expect("a page") as u64).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn page_of_any_table_of_a_file_is_found_and_all_else_is_verified() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("health.sqlite");
    let health = open_in(folder.path()).await;
    make(&health).await;
    let mut sound = Vec::new();
    for walk in WALKS {
        let (rows, findings) = walked(&health, walk).await;
        assert_eq!(findings, [""; 0]);
        sound.push(rows);
    }
    assert_eq!(damaged_pages(&health).await, []);
    health.close().await.expect("closed");
    for table in ["derived", "chunk", "patient_setting", "event", "segment", "tally"] {
        let page = leaf_of(&file, table);
        let byte = (page - 1) * PAGE_BYTES + PAGE_BYTES - 100;
        flip(&file, byte);
        let health = open_in(folder.path()).await;
        let mut found = Vec::new();
        for (walk, sound) in WALKS.into_iter().zip(&sound) {
            let (rows, findings) = walked(&health, walk).await;
            if findings.is_empty() {
                assert_eq!(rows, *sound, "{table}: {walk:?}");
            } else {
                // Few rows lie in one page.
                assert!(rows + 80 >= *sound && rows < *sound, "{table}: {walk:?} {rows} of {sound}");
            }
            found.extend(findings);
        }
        let is_walked = ["derived", "chunk", "patient_setting"].contains(&table);
        assert_eq!(!found.is_empty(), is_walked, "{table}: {found:?}");
        if table == "segment" {
            let (_, found) = health.segments_around_damage("").await.expect("a list");
            assert!(health.segments_by_path("").await.is_err() && !found.is_empty());
        }
        let damaged = damaged_pages(&health).await;
        assert_eq!(damaged.iter().map(|damaged| damaged.page).collect::<Vec<_>>(), [page], "{table}");
        health.close().await.expect("closed");
        flip(&file, byte);
    }
}

#[tokio::test]
async fn page_of_the_users_database_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("users.sqlite");
    let open = async || UsersDb::open(Address::File(file.clone())).await.expect("a database");
    open().await.close().await.expect("closed");
    let page = leaf_of(&file, "schema_version");
    let unused = leaf_of(&file, "account");
    assert_ne!(page, unused);
    flip(&file, (unused - 1) * PAGE_BYTES + 4_000);
    let users = open().await;
    let found = users.check_pages("").await.expect("pages");
    assert_eq!(found.damaged.iter().map(|damaged| damaged.page).collect::<Vec<_>>(), [unused]);
}

#[tokio::test(flavor = "multi_thread")]
async fn page_of_a_table_on_postgres_is_found_and_all_else_is_verified() {
    let Some(server) = testkit::OwnServer::start_without_cache() else { return };
    let (url, folder) = (server.database(), tempfile::tempdir().expect("a folder"));
    let objects = Objects::folder(&folder.path().join("objects")).expect("a folder");
    let health = HealthDb::open(Address::Postgres(url.clone()), objects).await.expect("a database");
    make(&health).await;
    let files = server.written_files(&url);
    for (table, walk) in [("derived", Some(Walk::Derived)), ("chunk", Some(Walk::Chunks)), ("event", None)] {
        let file = server.number(&url, &format!("SELECT pg_relation_filenode('{table}')")).to_string();
        let sound = match walk {
            Some(walk) => walked(&health, walk).await,
            None => (0, Vec::new()),
        };
        assert_eq!(sound.1, [""; 0]);
        // What reading has changed would be brought back from the log, the sound page with it.
        server.written_files(&url);
        flip(&files.join(&file), PAGE_BYTES - 100);
        // The server forgets the pages that it has in memory.
        server.restart();
        if let Some(walk) = walk {
            let (rows, findings) = walked(&health, walk).await;
            assert!(!findings.is_empty() && rows < sound.0 && rows + 200 >= sound.0, "{table}: {rows} {findings:?}");
        }
        let damaged = damaged_pages(&health).await;
        assert_eq!(damaged.len(), 1, "{table}: {damaged:?}");
        assert_eq!((damaged[0].table.as_deref(), damaged[0].page), (Some(table), 0), "{damaged:?}");
        flip(&files.join(&file), PAGE_BYTES - 100);
    }
    assert_eq!(damaged_pages(&health).await, []);
}
