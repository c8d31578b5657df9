//! What an operator hears of the files of the databases: that pages have no checksums, and that a log was damaged.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use serde_json::json;
use tempfile::tempdir;

use crate::flipped_pages::{doctor, flip_in, json_at, names};
use crate::harness::{Patient, Researcher, Service};

const BEGIN_MS: i64 = 1_763_600_000_000;
const MINUTES: i64 = 30;
const ROWS: &str = "/health/v2/raw-metrics/activity?from_date=2025-11-20T00:00:00Z&to_date=2025-11-20T23:00:00Z";
/// A frame of a log: a page and what is in front of it.
const FRAME: usize = 8192 + 24;
const HEADER: usize = 32;

async fn sync(researcher: &Researcher, patient: &Patient, minute: i64) {
    let body = json!({"data": {"activity": {"timestamp": [BEGIN_MS + minute * 60_000], "bpm": [61]}}});
    let (status, answer) = researcher.sync(patient, &body).await.unwrap();
    assert_eq!(status, 200, "{answer}");
}

async fn rows(researcher: &Researcher, patient: &Patient) -> i64 {
    let (status, rows) = researcher.get(ROWS, Some(&patient.token)).await;
    assert_eq!(status, 200, "{rows}");
    rows.as_array().unwrap().len() as i64
}

/// SQLite ends a log at the first frame that is wrong, and says nothing of what lies behind.
#[tokio::test(flavor = "multi_thread")]
async fn log_that_was_damaged_after_a_crash_is_kept_and_reported_until_it_is_moved_away() {
    let data = tempdir().unwrap();
    let service = Service::start_named(data.path());
    let mut researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    sync(&researcher, &patient, 0).await;
    let log = data.path().join("health.db-wal");
    let sound = std::fs::metadata(&log).unwrap().len() as usize;
    for minute in 1..MINUTES {
        sync(&researcher, &patient, minute).await;
    }
    service.kill();
    let mut bytes = std::fs::read(&log).unwrap();
    let frame = (sound - HEADER) / FRAME + 10;
    bytes[HEADER + frame * FRAME + 5000] ^= 4;
    std::fs::write(&log, &bytes).unwrap();

    let service = Service::start_named(data.path());
    researcher.at(&service.url);
    let left = rows(&researcher, &patient).await;
    assert!((1..MINUTES).contains(&left), "{left} rows: the bit was to cost some");
    let (status, ready) = researcher.get("/readyz", None).await;
    assert_eq!((status, &ready["damaged_logs"]), (200, &json!(1)), "{ready}");
    let (status, report) = doctor(data.path(), &[]);
    let found = &report["damaged_logs"][0];
    assert_eq!(
        (status, &found["database"], &found["frame"]),
        (Some(1), &json!("health"), &json!(frame + 1)),
        "{report}"
    );
    assert!(found["lost_commits"].as_i64() > Some(0), "{report}");
    let kept = Path::new(found["file"].as_str().unwrap());
    assert_eq!(std::fs::read(kept).unwrap(), bytes, "as it was found");
    assert!(report["problems"][0].as_str().unwrap().contains("health.db-wal-damaged-1"), "{report}");

    // What was lost can be sent again, and the next crash is one like any other.
    for minute in 0..MINUTES {
        sync(&researcher, &patient, minute).await;
    }
    service.kill();
    std::fs::rename(kept, data.path().join("looked at")).unwrap();
    let service = Service::start_named(data.path());
    researcher.at(&service.url);
    assert_eq!(rows(&researcher, &patient).await, MINUTES);
    assert_eq!(researcher.get("/readyz", None).await.1.get("damaged_logs"), None);
    let (status, report) = doctor(data.path(), &["--verify"]);
    assert_eq!((status, &report["damaged_logs"]), (Some(0), &json!([])), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn database_without_page_checksums_is_named_and_gets_them_while_the_service_runs() {
    let data = tempdir().unwrap();
    // As another program makes files: no room is left in their pages.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let old = Connection::open_with_flags_and_vfs(data.path().join("health.db"), flags, c"unix").unwrap();
    old.execute_batch("PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; CREATE TABLE other (x)").unwrap();
    old.close().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    sync(&researcher, &patient, 0).await;

    let (status, report) = doctor(data.path(), &[]);
    let expected = json!({"users": true, "health": false});
    assert_eq!((status, &report["page_checksums"]), (Some(0), &expected), "{report}");
    let warning = report["warnings"][0].as_str().unwrap();
    assert!(warning.contains("health database") && warning.contains("doctor --rewrite"), "{report}");
    let (status, report) = doctor(data.path(), &["--rewrite"]);
    let expected = json!({"users": true, "health": true});
    assert_eq!((status, &report["page_checksums"], &report["warnings"]), (Some(0), &expected, &json!([])), "{report}");
    sync(&researcher, &patient, 1).await;
    assert_eq!(rows(&researcher, &patient).await, 2);
    service.signal("-TERM");
    assert!(service.wait().success());
    let (status, report) = doctor(data.path(), &["--verify"]);
    assert_eq!((status, &report["page_checksums"]), (Some(0), &expected), "{report}");
    let version = report["time_zone_tables"].as_str().unwrap();
    assert!(version.starts_with("20"), "the version of the tables of time zones: {version}");
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_pages_are_named_with_all_else_and_shown_until_they_are_right() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    sync(&researcher, &patient, 0).await;
    crate::harness::store_command(data.path(), &["seal", "--now"]);
    sync(&researcher, &patient, 1).await;
    service.signal("-TERM");
    assert!(service.wait().success());
    let tables = ["derived", "patient_setting", "event", "segment", "patient"];
    // What is noted of damage and of work, also where nothing is noted.
    let of_notes = ["job", "damaged_row", "sqlite_autoindex_damaged_object_1", "scrub"];
    let copy = |from: &str, to: &str| std::fs::copy(data.path().join(from), data.path().join(to)).unwrap();
    let bring_back = |name: &str| {
        copy(&format!("sound {name}"), name);
        for end in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(data.path().join(format!("{name}{end}")));
        }
    };
    for name in ["health.db", "users.db"] {
        copy(name, &format!("sound {name}"));
    }
    for table in tables.into_iter().chain(of_notes) {
        let page = flip_in(data.path(), "health.db", table);
        let (status, report) = doctor(data.path(), &["--verify"]);
        assert_eq!((status, &report["ok"]), (Some(1), &json!(false)), "{table}: {report}");
        assert!(names(&report, "the health database", &format!("page {page}")), "{table}: {report}");
        assert!(report["rows"].as_i64().is_some() && report["audit_entries"].as_i64() > Some(0), "{table}: {report}");
        let service = Service::start(data.path());
        let (status, ready) = json_at(&format!("{}/readyz", service.url)).await;
        assert_eq!(status, 200, "{table}: requests are answered: {ready}");
        // Of the others, readiness reads other pages.
        assert_eq!(ready["damaged_tables"][0]["table"] == "job", table == "job", "{table}: {ready}");
        service.signal("-TERM");
        service.wait();
        bring_back("health.db");
    }
    let page = flip_in(data.path(), "users.db", "audit_entry");
    let (status, report) = doctor(data.path(), &["--verify"]);
    assert_eq!((status, &report["ok"]), (Some(1), &json!(false)), "{report}");
    assert!(names(&report, "the users database", &format!("page {page}")), "{report}");
    assert!(report["rows"].as_i64() > Some(0), "{report}");

    // What was found is shown without being looked for again.
    let (status, report) = doctor(data.path(), &[]);
    assert!(status == Some(1) && names(&report, "damaged rows", "users"), "{report}");
    let service = Service::start_with(data.path(), &["--metrics-listen", "127.0.0.1:0"]);
    let (_, ready) = json_at(&format!("{}/readyz", service.url)).await;
    assert_eq!(ready["damaged_rows"], json!({"stretches": 1, "example": "users pages"}), "{ready}");
    let metrics = service.said.iter().find_map(|line| line.strip_prefix("metrics on ")).unwrap();
    let metrics = reqwest::get(metrics).await.unwrap().text().await.unwrap();
    assert!(metrics.contains("pulseward_damaged_rows 1"), "{metrics}");
    service.signal("-TERM");
    assert!(service.wait().success());
    bring_back("users.db");
    assert_eq!(doctor(data.path(), &["--verify"]).0, Some(0));
    let (status, report) = doctor(data.path(), &[]);
    assert_eq!(status, Some(0), "it is right again: {report}");
}
