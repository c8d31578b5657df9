//! A row of one patient that somebody holds for long: requests about all others are answered as ever.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::tempdir;
use testkit::Postgres;
use tokio::task::JoinSet;

use crate::harness::{Patient, Researcher, Service};
use crate::meanwhile::Meanwhile;

const BEGIN_MS: i64 = 1_763_600_000_000;
const ROWS: &str = "/health/v2/raw-metrics/activity?from_date=2025-11-20T00:00:00Z&to_date=2025-11-20T23:00:00Z";
/// Syncs of the patient whose row is held: more than there are connections to a database.
const SYNCS: i64 = 20;
/// Rounds of requests about others meanwhile.
const ROUNDS: i64 = 50;
/// When what waited for the row has to be free at the latest, which the server's deadlines alone would take longer for.
const LONGEST_LEFT: Duration = Duration::from_secs(4);
/// Ten times what is promised of a request.
const LONGEST: Duration = Duration::from_secs(5);

/// Patients that are enrolled while the head of the audit log is held.
const ENROLMENTS: usize = 40;

/// A service on PostgreSQL with two patients.
struct Ward {
    _folder: tempfile::TempDir,
    service: Service,
    users: Postgres,
    health: Postgres,
    researcher: Arc<Researcher>,
    held: Patient,
    other: Patient,
}

impl Ward {
    async fn open() -> Option<Self> {
        let (users, health) = (Postgres::start()?, Postgres::start()?);
        let folder = tempdir().unwrap();
        let store = store_options(folder.path(), &users.url, &health.url);
        let store: Vec<&str> = store.iter().map(String::as_str).collect();
        let service = start_node(&folder.path().join("node"), &store);
        let researcher = Researcher::new_with(&folder.path().join("node"), &store, &service.url).await;
        let (held, other) = (researcher.enrol().await, researcher.enrol().await);
        for patient in [&held, &other] {
            assert_eq!(researcher.sync(patient, &minute(0)).await.unwrap().0, 200);
            // What is derived would wait for the row as well.
            let score = format!("/integration/v1/patients/{}/latest-news-score", patient.uuid);
            while researcher.get(&score, None).await.0 != 200 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        let researcher = Arc::new(researcher);
        Some(Ward { _folder: folder, service, users, health, researcher, held, other })
    }

    /// Sends syncs of the patient whose row is held, by clients that wait so long for the answer.
    fn send(&self, timeout: Duration) -> JoinSet<Option<(u16, Option<u64>)>> {
        let mut sending = JoinSet::new();
        for number in 1..=SYNCS {
            let (researcher, patient) = (self.researcher.clone(), self.held.clone());
            sending.spawn(async move { researcher.try_sync(&patient, &minute(number), timeout).await.ok() });
        }
        sending
    }

    /// Asks for everything that is not about the patient whose row is held, so many times.
    async fn ask_about_others(&self, rounds: std::ops::RangeInclusive<i64>) -> Meanwhile {
        let mut meanwhile = Meanwhile::default();
        for round in rounds {
            meanwhile.ask(&self.researcher, &self.other, round, 200).await;
            // Two of syncs, and perhaps a commit of derivations that began before.
            assert!(self.health.waiting_for_locks("pulseward") <= 3, "many connections wait for one patient");
            // Two of requests, and perhaps one of the background.
            assert!(self.users.waiting_for_locks("pulseward") <= 3, "many connections wait for one row");
        }
        meanwhile
    }

    /// Where the patients of the study are listed and enrolled.
    fn patients_path(&self) -> String {
        format!("/integration/v1/groups/{}/patients", self.researcher.group)
    }

    async fn count_patients(&self) -> usize {
        let (status, patients) = self.researcher.get(&self.patients_path(), None).await;
        assert_eq!(status, 200, "{patients}");
        patients.as_array().unwrap().len()
    }

    /// Until nothing waits for the row any more; returns how long that took.
    async fn until_nothing_waits(&self) -> Duration {
        let begun = Instant::now();
        while self.health.waiting_for_locks("pulseward") > 0 {
            assert!(begun.elapsed() < Duration::from_secs(40), "something waits for ever");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        begun.elapsed()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn held_rows_of_eight_patients_keep_neither_readiness_nor_others_waiting() {
    let Some(ward) = Ward::open().await else { return };
    let mut held = Vec::new();
    for _ in 0..8 {
        held.push(ward.researcher.enrol().await);
    }
    let uuids: Vec<String> = held.iter().map(|patient| format!("'{}'", patient.uuid)).collect();
    let holding = ward.health.begin(&format!("SELECT 1 FROM patient WHERE uuid IN ({}) FOR UPDATE", uuids.join(", ")));
    let is_over = Arc::new(AtomicBool::new(false));
    let mut syncs = JoinSet::new();
    for (number, patient) in (1..).zip(held.iter().chain(&held)) {
        let (researcher, patient, is_over) = (ward.researcher.clone(), patient.clone(), is_over.clone());
        syncs.spawn(async move {
            // As apps do: again and again.
            while !is_over.load(Ordering::Relaxed) {
                let _ = researcher.try_sync(&patient, &minute(number), LONGEST).await;
            }
        });
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    // Many who ask at once are answered by one check.
    for _ in 0..5 {
        let asked = (0..20).map(|_| async {
            let begun = Instant::now();
            (ward.researcher.get("/readyz", None).await.0, begun.elapsed() < Duration::from_secs(1))
        });
        let answers = futures::future::join_all(asked).await;
        assert!(answers.iter().all(|answer| *answer == (200, true)), "{answers:?}");
    }
    assert!(ward.health.waiting_for_locks("pulseward") >= 8, "the rows are held all the while");
    // Nor does it keep others waiting: they sync, and lists are read.
    let mut meanwhile = Meanwhile::default();
    for round in 1..=5 {
        meanwhile.ask(&ward.researcher, &ward.other, round, 200).await;
    }
    assert!(ward.health.waiting_for_locks("pulseward") >= 8, "the rows are held all the while");
    let others = meanwhile.report("eight held rows");
    assert!(others.slowest() < LONGEST, "{others}");
    is_over.store(true, Ordering::Relaxed);
    drop(holding);
    syncs.join_all().await;
    ward.service.check_memory("eight held rows");
}

/// Options of commands on these databases.
pub fn store_options(folder: &Path, users: &str, health: &str) -> Vec<String> {
    let (key_file, objects) = (folder.join("shared.key"), folder.join("objects"));
    let (key_file, objects) = (key_file.display().to_string(), format!("file://{}", objects.display()));
    let store = ["--users-db", users, "--health-db", health, "--master-key-file", &key_file, "--objects", &objects];
    store.map(str::to_owned).to_vec()
}

/// Starts a node on a store that options name.
pub fn start_node(data: &Path, store: &[&str]) -> Service {
    Service::start_with(data, &[store, &["--public-url", "http://study.example"]].concat())
}

fn minute(number: i64) -> Value {
    json!({"data": {"activity": {"timestamp": [BEGIN_MS + number * 60_000], "bpm": [60 + number]}}})
}

#[tokio::test(flavor = "multi_thread")]
async fn held_row_of_one_patient_delays_nobody_else() {
    let Some(ward) = Ward::open().await else { return };
    // What the machine makes of them otherwise, for comparison.
    ward.ask_about_others(1..=ROUNDS).await.report("no fault, on PostgreSQL");
    let holding = ward.health.begin(&format!("SELECT 1 FROM patient WHERE uuid = '{}' FOR UPDATE", ward.held.uuid));
    let syncs = ward.send(Duration::from_mins(1));
    let others = ward.ask_about_others(1..=ROUNDS).await.report("a held row");
    assert!(others.slowest() < LONGEST, "{others}");
    let answers = syncs.join_all().await;
    assert!(answers.iter().all(|answer| matches!(answer, Some((503, Some(1..))))), "{answers:?}");

    drop(holding);
    ward.until_nothing_waits().await;
    for number in 1..=SYNCS {
        assert_eq!(ward.researcher.sync(&ward.held, &minute(number)).await.unwrap().0, 200);
    }
    let (_, rows) = ward.researcher.get(ROWS, Some(&ward.held.token)).await;
    assert_eq!(rows.as_array().unwrap().len() as i64, SYNCS + 1);
    ward.service.check_memory("a held row");
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_hang_up_free_what_their_requests_held_although_the_row_is_held_on() {
    let Some(ward) = Ward::open().await else { return };
    let holding = ward.health.begin(&format!("SELECT 1 FROM patient WHERE uuid = '{}' FOR UPDATE", ward.held.uuid));
    let mut syncs = ward.send(Duration::from_mins(1));
    while ward.health.waiting_for_locks("pulseward") < 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    syncs.shutdown().await;
    let waited = ward.until_nothing_waits().await;
    println!("nothing waits {waited:?} after the clients hung up");
    assert!(waited < LONGEST_LEFT, "{waited:?}");
    // Every connection is used by several of these: none has anything left to do for those who went away.
    let others = ward.ask_about_others(1..=ROUNDS).await.report("a held row after clients hung up");
    assert!(others.slowest() < LONGEST, "{others}");

    drop(holding);
    let begun = Instant::now();
    assert_eq!(ward.researcher.sync(&ward.held, &minute(1)).await.unwrap().0, 200);
    println!("the patient is served {:?} after the row was released", begun.elapsed());
    assert!(begun.elapsed() < LONGEST_LEFT, "{:?}", begun.elapsed());
}

/// The one row that every write with an audit entry comes to hold.
#[tokio::test(flavor = "multi_thread")]
async fn held_head_of_the_audit_log_delays_nobody_else_and_what_is_refused_is_not_stored() {
    let Some(ward) = Ward::open().await else { return };
    let before = ward.count_patients().await;
    let holding = ward.users.begin("SELECT 1 FROM audit_head FOR UPDATE");
    let mut enrolling = JoinSet::new();
    for _ in 0..ENROLMENTS {
        let (researcher, path) = (ward.researcher.clone(), ward.patients_path());
        enrolling.spawn(async move { researcher.post(&path, None, &json!({})).await.0 });
    }
    // A group has its entry in the transaction that makes it, so these are refused and do not come afterwards.
    let group = json!({"name": "Refused", "description": ""});
    for _ in 0..2 {
        let (researcher, group) = (ward.researcher.clone(), group.clone());
        enrolling.spawn(async move {
            let begun = Instant::now();
            let (status, answer) = researcher.post("/integration/v1/groups", None, &group).await;
            assert_eq!(status, 503, "{answer}");
            assert!(begun.elapsed() < LONGEST * 3, "refused after {:?}", begun.elapsed());
            status
        });
    }
    let others = ward.ask_about_others(1..=ROUNDS).await.report("a held head of the audit log");
    assert!(others.slowest() < LONGEST, "{others}");
    let statuses = enrolling.join_all().await;
    assert!(statuses.iter().all(|status| [200, 503].contains(status)), "{statuses:?}");
    drop(holding);
    ward.until_nothing_waits().await;
    ward.service.check_memory("a held head of the audit log");
    let enrolled = statuses.iter().filter(|status| **status == 200).count();
    println!("{enrolled} of {ENROLMENTS} enrolments were answered 200 while the head was held");
    assert_eq!(
        ward.count_patients().await - before,
        enrolled,
        "what was refused is stored, or what was answered is not"
    );
    let (_, groups) = ward.researcher.get("/integration/v1/groups", None).await;
    assert_eq!(groups.as_array().unwrap().len(), 1, "{groups}");
}
