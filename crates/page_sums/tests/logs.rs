//! Write-ahead logs after a crash: one that was damaged is kept and reported, one that a crash has cut off is not.

#![allow(clippy::unwrap_used)] // a test that cannot go on says so by stopping

use std::fs;
use std::path::{Path, PathBuf};

use page_sums::{LogDamage, damaged_logs, examine_log, install, mark, reserve};
use rusqlite::Connection;
use tempfile::{TempDir, tempdir};

const PAGE: usize = 1024;
const HEADER: usize = 32;
const FRAME: usize = 24 + PAGE;
const COMMITS: i64 = 12;

/// A database in use, whose files are copied as a crash leaves them.
struct Scene {
    folder: TempDir,
    connection: Connection,
}

impl Scene {
    fn new() -> Scene {
        install().unwrap();
        let folder = tempdir().unwrap();
        let connection = open(&folder.path().join("live.db"));
        connection.execute_batch("CREATE TABLE reading (at BIGINT PRIMARY KEY, body TEXT)").unwrap();
        Scene { folder, connection }
    }

    /// A scene whose log has a transaction for each row, and nothing else.
    fn filled() -> Scene {
        let scene = Scene::new();
        scene.checkpoint();
        scene.add(0..COMMITS);
        scene
    }

    fn checkpoint(&self) {
        self.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    }

    fn add(&self, rows: std::ops::Range<i64>) {
        add(&self.connection, rows);
    }

    /// Copies the files to a name, without the index of the log, which a crash takes with it.
    fn crashed(&self, name: &str) -> PathBuf {
        let to = self.folder.path().join(name);
        for ending in ["", "-wal"] {
            fs::copy(path_with(&self.folder.path().join("live.db"), ending), path_with(&to, ending)).unwrap();
        }
        to
    }
}

fn open(file: &Path) -> Connection {
    let connection = Connection::open(file).unwrap();
    reserve(&connection).unwrap();
    let begin = format!(
        "PRAGMA page_size = {PAGE}; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
        PRAGMA wal_autocheckpoint = 0"
    );
    connection.execute_batch(&begin).unwrap();
    mark(&connection).unwrap();
    connection
}

fn add(connection: &Connection, rows: std::ops::Range<i64>) {
    for at in rows {
        // More than a page each, so that a transaction has several frames.
        connection.execute("INSERT INTO reading VALUES (?1, ?2)", (at, format!("{at} ").repeat(700))).unwrap();
    }
}

fn path_with(file: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", file.display()))
}

fn count(connection: &Connection) -> i64 {
    connection.query_row("SELECT COUNT(*) FROM reading", [], |row| row.get(0)).unwrap()
}

fn change_log(file: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let log = path_with(file, "-wal");
    let mut bytes = fs::read(&log).unwrap();
    change(&mut bytes);
    fs::write(log, bytes).unwrap();
}

/// The damage of the one log that was kept; `None` where none was.
fn kept(file: &Path) -> Option<LogDamage> {
    let logs = damaged_logs(file).unwrap();
    assert!(logs.len() <= 1, "{logs:?}");
    logs.first().map(|log| examine_log(log).unwrap().expect("what is kept is damaged"))
}

#[test]
fn rows_behind_a_flipped_bit_never_go_without_a_report() {
    let scene = Scene::filled();
    let bits = fs::metadata(scene.folder.path().join("live.db-wal")).unwrap().len() as usize * 8;
    // Each bit of the header, and a prime number of bits from one to the next behind it.
    for bit in (0..HEADER * 8).chain((HEADER * 8..bits).step_by(1009)) {
        let file = scene.crashed(&format!("crashed-{bit}.db"));
        change_log(&file, |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
        let before = fs::read(path_with(&file, "-wal")).unwrap();
        let frame = (bit / 8).checked_sub(HEADER).map_or(0, |behind| behind / FRAME + 1);
        let found = count(&open(&file));
        let Some(damage) = kept(&file) else {
            assert!(is_doubtful(&before, bit), "bit {bit} of frame {frame} is not found");
            continue;
        };
        assert_eq!(damage.frame, frame as u64);
        assert!(found < COMMITS && damage.lost_commits >= 1, "{found} rows, {damage:?}");
        assert_eq!(fs::read(&damaged_logs(&file).unwrap()[0]).unwrap(), before, "the log is kept as it was found");
    }
}

/// Returns whether what a flipped bit did can be the work of a crash: in the last transaction, which a crash leaves in any
/// state, and where the frame that commits the one before says that it does.
fn is_doubtful(log: &[u8], bit: usize) -> bool {
    let frames = (log.len() - HEADER) / FRAME;
    let Some(behind_header) = (bit / 8).checked_sub(HEADER) else { return false };
    let (frame, place) = (behind_header / FRAME, behind_header % FRAME);
    let commits = |frame: &usize| log[HEADER + frame * FRAME + 4..][..4] != [0; 4];
    let last_before = (0..frames - 1).rfind(commits).unwrap();
    frame > last_before || (frame == last_before && place < 16)
}

#[test]
fn lost_commits_are_counted() {
    let scene = Scene::filled();
    let file = scene.crashed("crashed.db");
    // Behind the header of the first frame.
    change_log(&file, |bytes| bytes[HEADER + 24 + 100] ^= 1);
    assert_eq!(count(&open(&file)), 0);
    let damage = kept(&file).unwrap();
    assert_eq!((damage.frame, damage.lost_commits), (1, COMMITS as u64));
}

#[test]
fn log_that_a_crash_has_cut_off_is_sound() {
    let scene = Scene::filled();
    let length = fs::metadata(scene.folder.path().join("live.db-wal")).unwrap().len() as usize;
    for cut in (0..length).step_by(173) {
        let file = scene.crashed(&format!("crashed-{cut}.db"));
        change_log(&file, |bytes| bytes.truncate(cut));
        assert!(count(&open(&file)) < COMMITS);
        assert_eq!(kept(&file), None, "cut at {cut}");
    }
}

/// A frame whose header was written over one of the generation before, and its page not.
#[test]
fn last_frame_that_was_written_by_half_is_no_damage() {
    let scene = Scene::filled();
    let file = scene.crashed("crashed.db");
    change_log(&file, |bytes| {
        let last = bytes.len() - PAGE;
        bytes[last..].fill(7);
    });
    assert_eq!(count(&open(&file)), COMMITS - 1);
    assert_eq!(kept(&file), None);
}

/// A transaction larger than the cache overwrites frames that it has written before, and makes their sums right only after
/// the frame that commits it.
#[test]
fn frame_whose_sum_was_not_yet_made_right_is_no_damage() {
    let scene = Scene::filled();
    let before = fs::metadata(scene.folder.path().join("live.db-wal")).unwrap().len() as usize;
    scene.connection.execute_batch("BEGIN").unwrap();
    scene.add(100..160);
    scene.connection.execute_batch("COMMIT").unwrap();
    let file = scene.crashed("crashed.db");
    change_log(&file, |bytes| bytes[before + 3 * FRAME + 24 + 100] ^= 1);
    assert_eq!(count(&open(&file)), COMMITS);
    assert_eq!(kept(&file), None);
}

#[test]
fn frames_of_before_the_log_was_begun_again_are_no_damage() {
    let scene = Scene::filled();
    // The log is moved into the database and stays as long as it is; new frames are written over the old ones.
    scene.connection.execute_batch("PRAGMA wal_checkpoint(RESTART)").unwrap();
    scene.add(COMMITS..COMMITS + 2);
    let file = scene.crashed("crashed.db");
    assert_eq!(count(&open(&file)), COMMITS + 2);
    assert_eq!(kept(&file), None);
}

/// A transaction that is larger than the cache writes frames before it is committed. What a crash leaves of it lies behind
/// what is written next, with the same salts.
#[test]
fn transaction_that_a_crash_has_ended_is_no_damage_at_the_next_crash() {
    let scene = Scene::filled();
    scene.connection.execute_batch("PRAGMA cache_size = 5; BEGIN").unwrap();
    scene.add(100..160);
    let first = scene.crashed("first.db");
    let length = fs::metadata(path_with(&first, "-wal")).unwrap().len();
    let connection = open(&first);
    assert_eq!(count(&connection), COMMITS);
    add(&connection, 200..202);
    assert_eq!(
        fs::metadata(path_with(&first, "-wal")).unwrap().len(),
        length,
        "frames of before lie behind the new ones"
    );
    let second = scene.folder.path().join("second.db");
    for ending in ["", "-wal"] {
        fs::copy(path_with(&first, ending), path_with(&second, ending)).unwrap();
    }
    assert_eq!(count(&open(&second)), COMMITS + 2);
    assert_eq!((kept(&first), kept(&second)), (None, None));
}

#[test]
fn damage_is_reported_once_and_the_log_goes_on() {
    let scene = Scene::filled();
    let file = scene.crashed("crashed.db");
    change_log(&file, |bytes| bytes[HEADER + 30 * FRAME + 500] ^= 16);
    let connection = open(&file);
    let left = count(&connection);
    assert!((1..COMMITS).contains(&left), "{left}");
    add(&connection, 300..303);
    // Another crash, with what was written since.
    let again = scene.folder.path().join("again.db");
    for ending in ["", "-wal"] {
        fs::copy(path_with(&file, ending), path_with(&again, ending)).unwrap();
    }
    assert_eq!(count(&open(&again)), left + 3);
    assert!(kept(&file).is_some());
    assert_eq!(kept(&again), None);
}

#[test]
fn log_that_cannot_be_kept_is_not_given_up() {
    let scene = Scene::filled();
    let file = scene.crashed("crashed.db");
    change_log(&file, |bytes| bytes[HEADER + 24 + 100] ^= 1);
    let before = fs::read(path_with(&file, "-wal")).unwrap();
    // Too long for a file system: the log has a place and its copy has none.
    let long = scene.folder.path().join(format!("{}.db", "l".repeat(255 - ".db-wal".len())));
    for ending in ["", "-wal"] {
        fs::rename(path_with(&file, ending), path_with(&long, ending)).unwrap();
    }
    let opened = Connection::open(&long)
        .and_then(|connection| connection.query_row("SELECT COUNT(*) FROM reading", [], |row| row.get::<_, i64>(0)));
    assert!(opened.is_err());
    // Nor is it when the connection is closed, which empties a log.
    assert_eq!(fs::read(path_with(&long, "-wal")).unwrap(), before);
}
