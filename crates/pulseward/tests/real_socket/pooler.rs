//! The program with `PgBouncer` in transaction mode between it and the server: each transaction is carried out by another
//! of the server's connections.

use std::path::{Path, PathBuf};

use futures::future::join_all;
use serde_json::{Value, json};
use tempfile::tempdir;
use testkit::{OwnServer, Pooler};

use crate::harness::{Patient, Researcher, Service, run, store_command};

/// 2025-11-20T00:00Z.
const MIDNIGHT_MS: i64 = 1_763_596_800_000;
const PATIENTS: usize = 6;
const ROUNDS: i64 = 12;
/// Fewer connections of the server than the program has of the pooler, so that they change hands.
const OF_SERVER: usize = 3;

/// Two databases behind a pooler, and where the rest of the store lies.
struct Behind {
    users: String,
    health: String,
    data: PathBuf,
    key_file: String,
    objects: String,
    _pooler: Pooler,
    server: OwnServer,
}

impl Behind {
    /// Returns databases that are still empty, whose addresses end in `options`. `None` when something is not installed.
    fn start(data: &Path, options: &str) -> Option<Self> {
        let server = OwnServer::start()?;
        let pooler = Pooler::start(server.port(), OF_SERVER)?;
        Some(Self::of(data, options, server, pooler))
    }

    /// The same behind a pooler that is busy enough to give us two connections when it is looked for.
    fn start_busy(data: &Path) -> Option<Self> {
        let server = OwnServer::start()?;
        let pooler = Pooler::start_in_turns(server.port(), OF_SERVER)?;
        let behind = Self::of(data, "", server, pooler);
        for url in [&behind.users, &behind.health] {
            std::thread::scope(|threads| {
                for _ in 0..OF_SERVER {
                    threads.spawn(|| behind.server.execute(url, "SELECT pg_sleep(0.5)"));
                }
            });
        }
        Some(behind)
    }

    fn of(data: &Path, options: &str, server: OwnServer, pooler: Pooler) -> Self {
        let behind = |url: String| {
            let url = url.replace(&format!(":{}/", server.port()), &format!(":{}/", pooler.port()));
            let and = if options.is_empty() {
                ""
            } else if url.contains('?') {
                "&"
            } else {
                "?"
            };
            format!("{url}{and}{options}")
        };
        Behind {
            users: behind(server.database()),
            health: behind(server.database()),
            data: data.to_owned(),
            key_file: data.join("shared.key").display().to_string(),
            objects: format!("file://{}", data.join("objects").display()),
            _pooler: pooler,
            server,
        }
    }

    fn store(&self) -> [&str; 8] {
        let (users, health) = (self.users.as_str(), self.health.as_str());
        ["--users-db", users, "--health-db", health, "--master-key-file", &self.key_file, "--objects", &self.objects]
    }

    /// Runs a command that has to succeed; returns what it printed.
    fn command(&self, arguments: &[&str]) -> Value {
        store_command(&self.data, &[arguments, &self.store()].concat())
    }
}

/// Sends a minute after minute for one patient; returns the statuses that are not 200.
async fn send(researcher: &Researcher, patient: &Patient) -> Vec<(u16, Value)> {
    let mut refused = Vec::new();
    for round in 0..ROUNDS {
        let row = json!({"timestamp": MIDNIGHT_MS + round * 60_000, "bpm": 60 + round, "bpm_q": 4});
        let sent = researcher.sync(patient, &json!({"data": {"activity": [row]}})).await.unwrap();
        let patients = format!("/integration/v1/groups/{}/patients?with_latest_values=1", researcher.group);
        let read = researcher.get(&patients, None).await;
        refused.extend([sent, read].into_iter().filter(|(status, _)| *status != 200));
    }
    refused
}

/// Lets some patients send at the same time; nothing of theirs may be refused.
async fn all_send(researcher: &Researcher) -> Vec<Patient> {
    let mut patients = Vec::new();
    for _ in 0..PATIENTS {
        patients.push(researcher.enrol().await);
    }
    let refused: Vec<_> =
        join_all(patients.iter().map(|patient| send(researcher, patient))).await.into_iter().flatten().collect();
    assert_eq!(refused, []);
    patients
}

#[tokio::test(flavor = "multi_thread")]
async fn program_and_its_commands_work_behind_a_pooler_in_transaction_mode() {
    let data = tempdir().unwrap();
    let Some(behind) = Behind::start(data.path(), "prepared_statements=off") else { return };
    // From empty databases on: also what changes them is carried out behind the pooler.
    let service = Service::start_with(&behind.data, &behind.store());
    let researcher = Researcher::new_with(&behind.data, &behind.store(), &service.url).await;
    let patients = all_send(&researcher).await;
    let path = "/health/user-summaries?date_from=2025-11-20&date_to=2025-11-20&include_slots=1";
    for patient in &patients {
        let (status, days) = researcher.get(path, Some(&patient.token)).await;
        assert_eq!(status, 200, "{days}");
    }
    let (status, ready) = researcher.get("/readyz", None).await;
    assert_eq!(status, 200, "{ready}");

    let doctor = behind.command(&["doctor", "--verify"]);
    assert_eq!(doctor["ok"], json!(true), "{doctor}");
    behind.command(&["seal", "--now"]);
    let recomputed = behind.command(&["recompute"]);
    assert_eq!(recomputed, json!({"differences": 0, "windows": PATIENTS * 3}), "twelve minutes each");
    let audit = behind.command(&["audit", "verify"]);
    assert_eq!(audit["intact"], json!(true), "{audit}");
    let accounts = behind.command(&["admin", "list-accounts"]);
    assert_eq!(accounts["accounts"].as_array().map(Vec::len), Some(1), "{accounts}");
    behind.command(&["admin", "rotate-keys"]);
    let backup = data.path().join("backup");
    let copied = behind.command(&["backup", backup.to_str().unwrap()]);
    assert!(copied["databases"].is_object(), "{copied}");
    assert_eq!(researcher.delete(&format!("/integration/v1/patients/{}", patients[0].uuid)).await, 200);

    // The stop ends everything in good order, and the next start finds it.
    service.signal("-TERM");
    assert_eq!(service.wait().code(), Some(0));
    let service = Service::start_with(&behind.data, &behind.store());
    let researcher = researcher.moved(&service.url);
    let list = format!("/integration/v1/groups/{}/patients", researcher.group);
    let (status, list) = researcher.get(&list, None).await;
    assert_eq!((status, list.as_array().map(Vec::len)), (200, Some(PATIENTS - 1)), "{list}");
}

/// Without the option the statements of one connection are looked for on another.
#[test]
fn address_of_a_pooler_without_the_option_is_refused_with_the_option_by_name() {
    let data = tempdir().unwrap();
    let Some(behind) = Behind::start(data.path(), "") else { return };
    let output = run(&[&["migrate", "--data", behind.data.to_str().unwrap()][..], &behind.store()].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("prepared_statements=off"), "{said}");
    assert!(!said.contains("panicked"), "{said}");
}

/// A pooler that gives the two connections of the look at the start two of the server's is found by its first statement that
/// is looked for elsewhere, and no request fails of it.
#[tokio::test(flavor = "multi_thread")]
async fn pooler_that_was_not_found_at_the_start_fails_no_request() {
    let data = tempdir().unwrap();
    let Some(behind) = Behind::start_busy(data.path()) else { return };
    let service = Service::start_with(&behind.data, &behind.store());
    // A command looks for a pooler as well, and may find it; it is not what is tested.
    let named = [&behind.users, &behind.health].map(|url| format!("{url}&prepared_statements=off"));
    let mut store = behind.store();
    (store[1], store[3]) = (&named[0], &named[1]);
    let researcher = Researcher::new_with(&behind.data, &store, &service.url).await;
    all_send(&researcher).await;
    let (status, ready) = researcher.get("/readyz", None).await;
    assert_eq!(status, 200, "{ready}");
}
