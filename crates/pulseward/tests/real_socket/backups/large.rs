//! A store that is larger than what `backup` and `restore` may take of memory, whichever engines it goes between.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use rusqlite::Connection;
use sha2::Digest as _;

use super::{Place, with_options};
use crate::harness::pulseward;

/// What the databases and the objects have each.
const LARGE_MIB: i64 = 400;
/// What a command may take above rest, MiB.
const MOST_MIB: u64 = 256;
/// Bytes of the payload of each chunk.
const PIECE: i64 = 1 << 20;

/// The most memory that a command has had when it ends well, MiB.
fn peak_mib(place: &Place, arguments: &[&str]) -> u64 {
    let (options, data) = (place.options(), place.data());
    let mut command =
        pulseward(&[&with_options(&options, arguments)[..], &["--data", data.to_str().unwrap()]].concat());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().unwrap();
    let mut peak_kib = 0;
    let status = loop {
        // The figure only rises, so that the last look misses no more than what the last milliseconds took.
        peak_kib = peak_of_kib(&child).unwrap_or(peak_kib);
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    assert!(status.success(), "{arguments:?}");
    assert!(peak_kib > 0, "{arguments:?} ended before it was looked at");
    peak_kib >> 10
}

/// `None` once it has ended.
fn peak_of_kib(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// Gives a store chunks and one sealed file of the size. What is in them nobody reads.
fn enlarge(data: &Path) {
    let path = "v1/type=activity/period=2025-11-01/large.parquet";
    let object = data.join("objects").join(path);
    std::fs::create_dir_all(object.parent().unwrap()).unwrap();
    let (mut file, mut hash) = (std::fs::File::create(&object).unwrap(), sha2::Sha256::new());
    let piece = vec![7_u8; PIECE as usize];
    for _ in 0..LARGE_MIB {
        file.write_all(&piece).unwrap();
        hash.update(&piece);
    }
    let (bytes, sha256) = (LARGE_MIB * PIECE, platform::hex(&hash.finalize()));
    let health = Connection::open(data.join("health.db")).unwrap();
    let segment = "INSERT INTO segment (patient, data_type, period_start_us, generation, path, first_us, last_us,
        row_count, bytes, sha256, sealed_ms, published) VALUES ('nobody', 1, 0, 1, ?1, 0, 1, 2, ?2, ?3, 0, 1)";
    health.execute(segment, (path, bytes, sha256)).unwrap();
    let chunks = "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?1)
        INSERT INTO chunk (patient, data_type, channel, first_us, arrival, last_us, row_count, payload)
        SELECT 'nobody', 1, 0, n, n, n, 1, randomblob(?2) FROM number";
    health.execute(chunks, (LARGE_MIB, PIECE)).unwrap();
}

/// Backs a store up and restores it; the most that either took, MiB.
fn peaks_mib(from: &Place, to: &Place) -> [u64; 2] {
    let backup = from.folder.path().join("backup");
    let backup = backup.to_str().unwrap();
    let peaks = [peak_mib(from, &["backup", backup]), peak_mib(to, &["restore", backup])];
    std::fs::remove_dir_all(backup).unwrap();
    peaks
}

#[test]
fn large_store_is_backed_up_and_restored_in_the_memory_of_a_small_one() {
    let Some(on_postgres) = Place::on_postgres() else { return };
    let [small, of_small, large, again] = std::array::from_fn(|_| Place::on_sqlite());
    for place in [&small, &large] {
        place.done(&["migrate"]);
    }
    let rest = peaks_mib(&small, &of_small);
    enlarge(&large.data());
    for (from, to, way) in [(&large, &on_postgres, "to PostgreSQL"), (&on_postgres, &again, "to SQLite")] {
        let peaks = peaks_mib(from, to);
        println!("backup and restore of {LARGE_MIB} MiB {way}: {peaks:?} MiB, {rest:?} of an empty store");
        for (peak, rest) in peaks.into_iter().zip(rest) {
            assert!(peak <= rest + MOST_MIB, "{way}: {peaks:?} MiB, {rest} of an empty store");
        }
    }
    let copied = Connection::open(again.data().join("health.db")).unwrap();
    let bytes = copied.query_row("SELECT SUM(LENGTH(payload)) FROM chunk", [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(bytes, LARGE_MIB * PIECE);
    let object = again.data().join("objects/v1/type=activity/period=2025-11-01/large.parquet");
    assert_eq!(std::fs::metadata(object).unwrap().len(), bytes.cast_unsigned());
}
