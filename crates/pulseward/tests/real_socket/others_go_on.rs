//! What is damaged of one patient stops nobody else's retention or derivations.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::tempdir;

use crate::flipped_pages::{doctor, flip_in, json_at, names};
use crate::harness::{Patient, Researcher, Service, database_file, store_command};

/// 2025-11-19T00:00Z, long before what is kept.
const BEGIN_MS: i64 = 1_763_510_400_000;
const DAY: &str = "2025-11-19";
/// The hourly work is due when a service with a worker starts on the store for the first time.
const LONGEST: Duration = Duration::from_secs(30);

async fn send(researcher: &Researcher, patient: &Patient, minute: i64) {
    let body = json!({"data": {"activity": {"timestamp": [BEGIN_MS + minute * 60_000], "bpm": [61]}}});
    assert_eq!(researcher.sync(patient, &body).await.unwrap().0, 200);
}

async fn rows(researcher: &Researcher, patient: &Patient) -> i64 {
    let path = format!("/integration/v1/patients/{}/raw-data-compliance/{DAY}?utc=yes", patient.uuid);
    let (status, counts) = researcher.get(&path, None).await;
    assert_eq!(status, 200, "{counts}");
    counts.get("raw_data_activity").and_then(serde_json::Value::as_i64).unwrap_or(0)
}

/// Flips bits in the middle of every file below a folder; returns how many files there were.
fn damage_files(folder: &Path) -> usize {
    let mut damaged = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            damaged += damage_files(&path);
            continue;
        }
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle..].iter_mut().for_each(|byte| *byte ^= 0xff);
        std::fs::write(&path, bytes).unwrap();
        damaged += 1;
    }
    damaged
}

/// A row that comes late has the period sealed again, for which the damaged file must be read.
#[tokio::test(flavor = "multi_thread")]
async fn period_that_cannot_be_sealed_stops_no_retention_of_others() {
    let data = tempdir().unwrap();
    let named = ["--public-url", "http://study.example"];
    let without_worker = [&named[..], &["--roles", "integration,users,health"]].concat();
    let service = Service::start_with(data.path(), &without_worker);
    let mut researcher = Researcher::new(data.path(), &service.url).await;
    let ill = researcher.enrol().await;
    send(&researcher, &ill, 0).await;
    store_command(data.path(), &["seal", "--now"]);
    assert_eq!(damage_files(&data.path().join("objects/v1")), 1);
    send(&researcher, &ill, 1).await;
    let well = researcher.enrol().await;
    send(&researcher, &well, 0).await;
    assert_eq!(rows(&researcher, &well).await, 1);
    let settings = format!("/integration/v1/groups/{}/settings", researcher.group);
    let (status, answer) = researcher.put(&settings, &json!({"retention": {"activity": 10}})).await;
    assert_eq!(status, 200, "{answer}");
    service.kill();

    let service = Service::start_with(data.path(), &named);
    researcher.at(&service.url);
    let begun = Instant::now();
    while rows(&researcher, &well).await > 0 {
        assert!(begun.elapsed() < LONGEST, "rows are kept that the rule retires");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Patients between the two, so that their rows lie in different pages.
const BETWEEN: i64 = 100;
const NAMED: [&str; 2] = ["--public-url", "http://study.example"];

/// A store in which the page with the row of one of two patients is damaged.
struct TwoPages {
    data: tempfile::TempDir,
    researcher: Researcher,
    ill: Patient,
    well: Patient,
}

impl TwoPages {
    /// Patients of a service that does no background work.
    async fn begin() -> (Self, Service) {
        let data = tempdir().unwrap();
        let without_worker = [&NAMED[..], &["--roles", "integration,users,health"]].concat();
        let service = Service::start_with(data.path(), &without_worker);
        let mut researcher = Researcher::new(data.path(), &service.url).await;
        let well = researcher.enrol().await;
        service.kill();
        add_patients(data.path(), &well.uuid);
        let service = Service::start_with(data.path(), &without_worker);
        researcher.at(&service.url);
        let ill = researcher.enrol().await;
        (TwoPages { data, researcher, ill, well }, service)
    }

    /// Damages the page when the service has been killed.
    fn damage(&self) {
        self.damage_in("patient");
    }

    /// Damages a page of another table or index.
    fn damage_in(&self, table: &str) {
        let file = self.data.path().join("health.db");
        // A page in the log would be read in the place of the one in the file.
        database_file(&file).query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        flip_in(self.data.path(), "health.db", table);
    }

    /// Starts a service that works, and waits until the one whose row can be read is derived.
    async fn well_is_derived(&mut self, send_again: bool) -> Service {
        let service = Service::start_with(self.data.path(), &NAMED);
        self.researcher.at(&service.url);
        if send_again {
            send_vital_signs(&self.researcher, &self.well).await;
        }
        let path = format!("/integration/v1/patients/{}/latest-news-score", self.well.uuid);
        let begun = Instant::now();
        while self.researcher.get(&path, None).await.0 != 200 {
            assert!(begun.elapsed() < LONGEST, "{:?}", self.researcher.get(&path, None).await);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        service
    }
}

/// Sends what a score follows from.
async fn send_vital_signs(researcher: &Researcher, patient: &Patient) {
    let minute = json!({"timestamp": [BEGIN_MS], "bpm": [61], "spo2": 97, "respiration_rate": 15});
    let (status, answer) = researcher.sync(patient, &json!({"data": {"activity": minute}})).await.unwrap();
    assert_eq!(status, 200, "{answer}");
}

/// Adds rows of patients like another one.
fn add_patients(data: &Path, like: &str) {
    let file = database_file(&data.join("health.db"));
    file.execute("CREATE TEMP TABLE other AS SELECT * FROM patient WHERE uuid = ?1", [like]).unwrap();
    for number in 0..BETWEEN {
        let uuid = format!("00000000-0000-4000-8000-{number:012}");
        file.execute("UPDATE other SET uuid = ?1", [uuid]).unwrap();
        file.execute("INSERT INTO patient SELECT * FROM other", []).unwrap();
    }
}

/// Starts a service that works, and kills it once it is entered among the nodes.
async fn enter_and_die(store: &mut TwoPages) {
    let service = Service::start_with(store.data.path(), &NAMED);
    store.researcher.at(&service.url);
    let begun = Instant::now();
    let file = database_file(&store.data.path().join("health.db"));
    while file.query_row("SELECT COUNT(*) FROM node", [], |row| row.get::<_, i64>(0)).unwrap() == 0 {
        assert!(begun.elapsed() < LONGEST, "the node is not entered");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    drop(file);
    service.kill();
}

/// Nobody's derivation needs the list of jobs, and readiness says what does.
#[tokio::test(flavor = "multi_thread")]
async fn node_that_was_killed_derives_where_a_page_of_jobs_is_damaged() {
    for table in ["job", "job_ready"] {
        let (mut store, service) = TwoPages::begin().await;
        service.kill();
        enter_and_die(&mut store).await;
        store.damage_in(table);
        let service = store.well_is_derived(true).await;
        let (status, ready) = json_at(&format!("{}/readyz", service.url)).await;
        assert_eq!((status, &ready["job_engine"]["works"]), (200, &json!(true)), "{table}: {ready}");
        assert_eq!(ready["damaged_tables"][0]["table"], "job", "{table}: {ready}");
    }
}

/// The leases of the process that was killed end where patients are looked through.
#[tokio::test(flavor = "multi_thread")]
async fn node_that_was_killed_works_again_where_a_page_of_patients_is_damaged() {
    let (mut store, service) = TwoPages::begin().await;
    service.kill();
    enter_and_die(&mut store).await;
    store.damage();
    let service = store.well_is_derived(true).await;
    let (_, ready) = json_at(&format!("{}/readyz", service.url)).await;
    assert_eq!(ready["job_engine"]["works"], true, "{ready}");
}

#[tokio::test(flavor = "multi_thread")]
async fn due_patient_whose_row_cannot_be_read_is_put_aside_by_name_and_others_are_derived() {
    let (mut store, service) = TwoPages::begin().await;
    for patient in [&store.ill, &store.well] {
        send_vital_signs(&store.researcher, patient).await;
    }
    service.kill();
    store.damage();
    let service = store.well_is_derived(false).await;
    let (_, report) = doctor(store.data.path(), &[]);
    assert!(names(&report, "derive", &store.ill.uuid), "{report}");
    drop(service);
}
