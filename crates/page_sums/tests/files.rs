//! Files with sums: what is damaged is found, and everything else is as without them.

#![allow(clippy::unwrap_used)] // a test that cannot go on says so by stopping

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use page_sums::{PagesRead, are_in, install, mark, read_pages, reserve};
use rusqlite::backup::Backup;
use rusqlite::{Connection, Error, ErrorCode, OpenFlags};
use tempfile::{TempDir, tempdir};

const ROWS: i64 = 400;
const TABLE: &str =
    "CREATE TABLE reading (patient TEXT NOT NULL, at BIGINT NOT NULL, body TEXT, PRIMARY KEY (patient, at))
    WITHOUT ROWID";

struct Scene {
    folder: TempDir,
    file: PathBuf,
}

impl Scene {
    fn new() -> Scene {
        install().unwrap();
        let folder = tempdir().unwrap();
        let file = folder.path().join("readings.db");
        Scene { folder, file }
    }

    /// A file with sums and rows, in one piece.
    fn filled() -> Scene {
        let scene = Scene::new();
        let connection = with_sums(&scene.file);
        fill(&connection);
        connection.close().unwrap();
        scene
    }
}

fn with_sums(file: &Path) -> Connection {
    let connection = Connection::open(file).unwrap();
    reserve(&connection).unwrap();
    connection.execute_batch("PRAGMA page_size = 1024; PRAGMA journal_mode = WAL").unwrap();
    mark(&connection).unwrap();
    connection
}

/// As another program opens it.
fn without_sums(file: &Path) -> Connection {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    Connection::open_with_flags_and_vfs(file, flags, c"unix").unwrap()
}

fn fill(connection: &Connection) {
    connection.execute_batch(TABLE).unwrap();
    for at in 0..ROWS {
        // Some are longer than a page.
        let body = format!("{at} ").repeat(if at % 50 == 0 { 500 } else { 5 });
        connection.execute("INSERT INTO reading VALUES (?1, ?2, ?3)", (at % 7, at, body)).unwrap();
    }
}

fn rows(connection: &Connection) -> Result<Vec<(String, i64, String)>, Error> {
    let mut statement = connection.prepare("SELECT patient, at, body FROM reading")?;
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect()
}

fn flip(file: &Path, bit: usize) {
    let mut bytes = fs::read(file).unwrap();
    bytes[bit / 8] ^= 1 << (bit % 8);
    fs::write(file, bytes).unwrap();
}

/// Returns whether SQLite itself says that the file is damaged.
fn is_damage(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

#[test]
fn flipped_bits_are_found_wherever_they_are() {
    let scene = Scene::filled();
    let sound = rows(&Connection::open(&scene.file).unwrap()).unwrap();
    let bits = fs::read(&scene.file).unwrap().len() * 8;
    // The header whole, and a prime number of bits from one to the next behind it.
    for bit in (0..800).chain((800..bits).step_by(307)) {
        flip(&scene.file, bit);
        match Connection::open(&scene.file).and_then(|connection| rows(&connection)) {
            // Of a page that no row lies in.
            Ok(found) => assert!(found == sound, "bit {bit} changed an answer"),
            Err(error) => assert!(is_damage(&error), "bit {bit}: {error}"),
        }
        let check = |connection: Connection| connection.query_row("PRAGMA integrity_check", [], |row| row.get(0));
        let checked: Result<String, _> = Connection::open(&scene.file).and_then(check);
        assert!(checked.as_deref() != Ok("ok"), "bit {bit} is not found");
        flip(&scene.file, bit);
    }
}

#[test]
fn file_that_was_cut_short_is_found() {
    for cut in [1, 4, 500, 1024] {
        let scene = Scene::filled();
        let file = fs::OpenOptions::new().write(true).open(&scene.file).unwrap();
        file.set_len(file.metadata().unwrap().len() - cut).unwrap();
        let checked = Connection::open(&scene.file)
            .and_then(|connection| connection.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)));
        assert!(checked.as_deref() != Ok("ok"), "{cut} bytes that are missing are not found");
    }
}

/// The system ends all locks of a process on a file when it closes any file of the same path. Without them another process
/// takes itself for the last, and removes a log that this one writes into.
#[test]
fn looking_at_the_header_keeps_the_locks_of_this_process() {
    let scene = Scene::filled();
    let connection = with_sums(&scene.file);
    assert_eq!(rows(&connection).unwrap().len() as i64, ROWS);
    let process = format!(" {} ", std::process::id());
    let inode = format!(":{} ", fs::metadata(&scene.file).unwrap().ino());
    let locks = || {
        let all = fs::read_to_string("/proc/locks").unwrap();
        all.lines().filter(|lock| lock.contains(&process) && lock.contains(&inode)).count()
    };
    assert_eq!(locks(), 1, "a connection with a log holds one");
    mark(&connection).unwrap();
    assert!(are_in(&connection).unwrap());
    assert_eq!(locks(), 1);
    drop(fs::File::open(&scene.file).unwrap());
    assert_eq!(locks(), 0, "so it is that closing a file ends them");
}

#[test]
fn page_in_the_place_of_another_is_found() {
    let scene = Scene::filled();
    let mut bytes = fs::read(&scene.file).unwrap();
    let page = bytes[1024 * 9..1024 * 10].to_vec();
    bytes[1024 * 8..1024 * 9].copy_from_slice(&page);
    fs::write(&scene.file, bytes).unwrap();
    assert!(is_damage(&rows(&Connection::open(&scene.file).unwrap()).unwrap_err()));
}

#[test]
fn damage_ends_a_statement_and_not_the_transaction() {
    let scene = Scene::filled();
    let connection = Connection::open(&scene.file).unwrap();
    connection.execute_batch("CREATE TABLE other (number BIGINT); PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    connection.close().unwrap();
    // Wherever SQLite has left its text: a row moves when its neighbours grow.
    let bytes = fs::read(&scene.file).unwrap();
    for (at, _) in bytes.windows(5).enumerate().filter(|(_, window)| *window == b"203 2") {
        flip(&scene.file, at * 8);
    }
    let connection = Connection::open(&scene.file).unwrap();
    connection.execute_batch("BEGIN; INSERT INTO other VALUES (1)").unwrap();
    assert!(is_damage(&rows(&connection).unwrap_err()));
    let written = connection.execute("UPDATE reading SET body = 'changed' WHERE patient = '0' AND at = 203", []);
    assert!(is_damage(&written.unwrap_err()));
    assert!(!connection.is_autocommit(), "the transaction goes on");
    connection.execute_batch("INSERT INTO other VALUES (2); COMMIT; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    assert_eq!(connection.query_row("SELECT COUNT(*) FROM other", [], |row| row.get::<_, i64>(0)).unwrap(), 2);
    assert!(is_damage(&rows(&connection).unwrap_err()), "what is damaged does not get a new sum");
}

#[test]
fn files_of_other_programs_are_read_and_written_as_they_are() {
    let scene = Scene::new();
    fill(&without_sums(&scene.file));
    let connection = with_sums(&scene.file);
    connection.execute("DELETE FROM reading WHERE at >= 100", []).unwrap();
    assert!(!are_in(&connection).unwrap());
    connection.close().unwrap();
    assert_eq!(rows(&without_sums(&scene.file)).unwrap().len(), 100);
}

#[test]
fn rewriting_a_file_gives_it_sums_while_another_connection_is_open() {
    let scene = Scene::new();
    fill(&without_sums(&scene.file));
    let other = with_sums(&scene.file);
    assert_eq!(rows(&other).unwrap().len() as i64, ROWS);
    let connection = Connection::open(&scene.file).unwrap();
    reserve(&connection).unwrap();
    connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    assert!(are_in(&connection).unwrap());
    other.execute("DELETE FROM reading WHERE at >= 100", []).unwrap();
    other.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let sound: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!((sound.as_str(), rows(&connection).unwrap().len()), ("ok", 100));
}

/// SQLite then reads as much as pages of its own size have, and learns their size from what it read.
#[test]
fn file_that_was_empty_when_it_was_opened_is_read_once_another_connection_has_made_it() {
    for (own, others) in [(4096, 8192_u32), (8192, 1024)] {
        let scene = Scene::new();
        let early = Connection::open(&scene.file).unwrap();
        early.pragma_update(None, "page_size", own).unwrap();
        let maker = Connection::open(&scene.file).unwrap();
        reserve(&maker).unwrap();
        maker.pragma_update(None, "page_size", others).unwrap();
        mark(&maker).unwrap();
        fill(&maker);
        assert_eq!(rows(&early).unwrap().len() as i64, ROWS, "pages of {others} bytes");

        let late = scene.folder.path().join("late.db");
        let early = Connection::open(&late).unwrap();
        early.pragma_update(None, "page_size", own).unwrap();
        fs::copy(&scene.file, &late).unwrap();
        // Behind the part that the connection reads first.
        flip(&late, (others as usize - 100) * 8);
        assert!(is_damage(&rows(&early).unwrap_err()), "pages of {others} bytes");
    }
}

#[test]
fn copies_have_sums_also_of_what_was_in_the_log() {
    let scene = Scene::filled();
    let source = Connection::open(&scene.file).unwrap();
    source.execute("UPDATE reading SET body = 'newer' WHERE at % 3 = 0", []).unwrap();
    let to = scene.folder.path().join("copy.db");
    let mut copy = Connection::open(&to).unwrap();
    reserve(&copy).unwrap();
    copy.execute_batch("PRAGMA page_size = 1024").unwrap();
    mark(&copy).unwrap();
    Backup::new(&source, &mut copy).unwrap().run_to_completion(16, std::time::Duration::ZERO, None).unwrap();
    assert!(are_in(&copy).unwrap());
    copy.close().unwrap();
    assert_eq!(rows(&Connection::open(&to).unwrap()).unwrap(), rows(&source).unwrap());
}

#[test]
fn other_programs_read_files_with_sums() {
    let scene = Scene::filled();
    let expected = rows(&Connection::open(&scene.file).unwrap()).unwrap();
    assert_eq!(rows(&without_sums(&scene.file)).unwrap(), expected);
}

#[test]
fn pages_are_read_a_few_at_a_time_whatever_lies_in_them() {
    let scene = Scene::filled();
    let pages = fs::metadata(&scene.file).unwrap().len() / 1024;
    let read_all = || {
        let connection = Connection::open(&scene.file).unwrap();
        let (mut damaged, mut bytes, mut behind) = (Vec::new(), 0, Some(0));
        while let Some(from) = behind {
            let PagesRead { bytes: read, damaged: found, next } = read_pages(&connection, from, 7).unwrap();
            bytes += read;
            damaged.extend(found);
            behind = next;
        }
        assert_eq!(bytes, pages * 1024);
        damaged
    };
    assert_eq!(read_all(), [0_u64; 0]);
    for page in [2, 9, pages] {
        flip(&scene.file, ((page as usize - 1) * 1024 + 500) * 8);
    }
    assert_eq!(read_all(), [2, 9, pages]);
}

#[test]
fn page_that_was_never_written_is_not_damaged_and_files_without_sums_are_not_read() {
    let scene = Scene::filled();
    let mut bytes = fs::read(&scene.file).unwrap();
    bytes.extend([0; 1024]);
    fs::write(&scene.file, bytes).unwrap();
    let connection = Connection::open(&scene.file).unwrap();
    assert_eq!(read_pages(&connection, 0, 10_000).unwrap().damaged, [0_u64; 0]);
    let other = scene.folder.path().join("other.db");
    let connection = without_sums(&other);
    fill(&connection);
    assert_eq!(read_pages(&connection, 0, 10_000).unwrap(), PagesRead::default());
    let missing = Connection::open_in_memory().unwrap();
    assert_eq!(read_pages(&missing, 0, 10_000).unwrap(), PagesRead::default());
}
