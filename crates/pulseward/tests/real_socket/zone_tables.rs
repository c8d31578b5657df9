//! Tables of time zones on the machine that say something else than those of the program.

use std::path::Path;
use std::process::Command;

use serde_json::json;
use tempfile::tempdir;

use crate::harness::{Researcher, Service};

/// 2025-11-20T12:00Z: one in the afternoon in Zurich, two in the morning of the next day in the altered tables.
const NOON_MS: i64 = 1_763_640_000_000;
const ALTERED: &str = "Europe/Zurich";

/// Writes tables in which a zone is always fourteen hours ahead, in the format of RFC 9636.
fn write_altered_tables(folder: &Path) {
    let file = folder.join(ALTERED);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    // No leap seconds and no changes; one type of local time, whose name has four bytes with its end.
    let counts: Vec<u8> = [0_u32, 0, 0, 0, 1, 4].iter().flat_map(|count| count.to_be_bytes()).collect();
    let head = [b"TZif2".as_slice(), &[0; 15], &counts].concat();
    let local_time = [&(14 * 3600_i32).to_be_bytes()[..], &[0, 0], b"+14\0"].concat();
    std::fs::write(&file, [&head[..], &local_time, &head, &local_time, b"\n<+14>-14\n"].concat()).unwrap();
}

#[tokio::test]
async fn machine_whose_zone_tables_are_altered_gives_samples_the_same_local_day() {
    let (data, tables) = (tempdir().unwrap(), tempdir().unwrap());
    write_altered_tables(tables.path());
    // A program that reads the machine's tables finds these.
    let mut date = Command::new("date");
    date.args(["-d", "@1763640000", "+%F %H"]).env("TZ", ALTERED).env("TZDIR", tables.path());
    let date = date.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&date.stdout), "2025-11-21 02\n");

    let service = Service::start_in(data.path(), &[], &[("TZDIR", tables.path().to_str().unwrap()), ("TZ", ALTERED)]);
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    let row = json!({"timestamp": NOON_MS, "bpm": 61, "last_steps": 7});
    let body = json!({"time_zone": ALTERED, "data": {"activity": [row]}});
    let (status, stored) = researcher.sync(&patient, &body).await.unwrap();
    assert_eq!(status, 200, "{stored}");
    let path = "/health/user-summaries?date_from=2025-11-19&date_to=2025-11-22&include_slots=1";
    let mut days = json!([]);
    for _ in 0..100 {
        days = researcher.get(path, Some(&patient.token)).await.1;
        let is_derived = days.to_string().contains("\"timestamp\":");
        if is_derived {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    let text = days.to_string();
    assert!(text.contains("\"13:00\""), "the slot of one o'clock: {text}");
    assert!(!text.contains("\"02:00\""), "{text}");
}
