//! Damage of what every start reads: the keys that sign tokens, and the identity of the store. What does not need it goes
//! on, nothing is made in its place, and an operator reads what to do.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use crate::flipped_pages::{doctor, flip_in, json_at, names};
use crate::harness::{PATIENT_PASSWORD, Patient, Researcher, Service, database_file, run};

const BEGIN_MS: i64 = 1_763_600_000_000;
const DATABASES: [&str; 2] = ["users", "health"];
const PLACES: [(&str, &str); 4] =
    [("users", "signing_key"), ("health", "signing_key"), ("users", "store_identity"), ("health", "store_identity")];

/// A store with a patient whose tokens are good, and sound copies of its files.
struct Store {
    data: TempDir,
    researcher: Researcher,
    patient: Patient,
}

impl Store {
    async fn make() -> Self {
        let data = tempdir().unwrap();
        let service = Service::start_named(data.path());
        let researcher = Researcher::new(data.path(), &service.url).await;
        let patient = researcher.enrol().await;
        stop(service);
        let store = Store { data, researcher, patient };
        for database in DATABASES {
            store.copy(&format!("{database}.db"), &format!("sound {database}.db"));
        }
        store
    }

    fn path(&self) -> &Path {
        self.data.path()
    }

    fn copy(&self, from: &str, to: &str) {
        std::fs::copy(self.path().join(from), self.path().join(to)).unwrap();
    }

    fn bring_back(&self) {
        for database in DATABASES {
            self.copy(&format!("sound {database}.db"), &format!("{database}.db"));
            for end in ["-wal", "-shm"] {
                let _ = std::fs::remove_file(self.path().join(format!("{database}.db{end}")));
            }
        }
    }

    fn command(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = run(&[arguments, &["--json", "--data", self.path().to_str().unwrap()]].concat());
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }

    /// Starts the service; statuses of a sync, a login and a list that needs no token.
    async fn served(&mut self, minute: i64) -> (Service, [u16; 3]) {
        let service = Service::start_named(self.path());
        self.researcher.at(&service.url);
        let body = json!({"data": {"activity": {"timestamp": [BEGIN_MS + minute * 60_000], "bpm": [61]}}});
        let (sync, _) = self.researcher.sync(&self.patient, &body).await.unwrap();
        let login = json!({"code": self.patient.code, "password": PATIENT_PASSWORD});
        let (login, _) = self.researcher.post("/users/login", None, &login).await;
        let list = format!("/integration/v1/groups/{}/patients", self.researcher.group);
        let (list, _) = self.researcher.get(&list, None).await;
        (service, [sync, login, list])
    }

    fn keys_of(&self, database: &str) -> i64 {
        let file = database_file(&self.path().join(format!("{database}.db")));
        file.query_row("SELECT COUNT(*) FROM signing_key", [], |row| row.get(0)).unwrap()
    }
}

fn stop(service: Service) {
    service.signal("-TERM");
    assert!(service.wait().success());
}

async fn damaged_tables(service: &Service) -> Value {
    let (status, ready) = json_at(&format!("{}/readyz", service.url)).await;
    assert_eq!(status, 200, "{ready}");
    ready["damaged_tables"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_that_need_no_key_work_and_doctor_names_what_is_damaged() {
    let store = Store::make().await;
    for (database, table) in PLACES {
        let page = flip_in(store.path(), &format!("{database}.db"), table);
        let of_database = format!("the {database} database");
        for arguments in [&[][..], &["--verify"]] {
            let (status, report) = doctor(store.path(), arguments);
            assert_eq!(status, Some(1), "{database} {table}: {report}");
            assert!(names(&report, &of_database, table), "{report}");
            assert!(names(&report, table, "docs/operations.md"), "what to do: {report}");
            assert!(report["bytes"].is_u64() && report["holds"].is_array(), "all else: {report}");
        }
        let (_, report) = doctor(store.path(), &["--verify"]);
        assert!(names(&report, &of_database, &format!("page {page}")), "{report}");
        assert!(report["rows"].is_u64(), "{report}");
        // The seal of the log is of the store that it belongs to.
        let is_needed_by_log = (database, table) == ("users", "store_identity");
        let (status, said) = store.command(&["audit", "verify"]);
        assert_eq!(status, Some(i32::from(is_needed_by_log)), "{database} {table}: {said}");
        let (status, said) = store.command(&["admin", "list-accounts"]);
        assert_eq!(status, Some(0), "{database} {table}: {said}");
        // A copy would carry the damage with checksums that are right.
        let copies = tempdir().unwrap();
        let folder = copies.path().join("copy");
        let (status, said) = store.command(&["backup", folder.to_str().unwrap()]);
        assert_eq!(status, Some(1), "{database} {table}: {said}");
        assert!(said.contains(&of_database) && said.contains("doctor --verify"), "{said}");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "no half of a backup is left");
        store.bring_back();
    }
    assert_eq!(doctor(store.path(), &["--verify"]).0, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn service_starts_with_a_damaged_key_says_so_and_makes_none() {
    let mut store = Store::make().await;
    for (minute, (database, table)) in PLACES.into_iter().enumerate() {
        flip_in(store.path(), &format!("{database}.db"), table);
        let (service, statuses) = store.served(minute as i64).await;
        let expected = match (database, table) {
            ("health", "signing_key") => [503, 200, 200],
            // No token without its key, and no login without its entry in the audit log, whose seal is of the store.
            ("users", _) => [200, 503, 200],
            _ => [200, 200, 200],
        };
        assert_eq!(statuses, expected, "{database} {table}");
        assert!(service.said.iter().any(|line| line.contains("ERROR") && line.contains(table)), "{:?}", service.said);
        let damaged = damaged_tables(&service).await;
        assert_eq!((&damaged[0]["database"], &damaged[0]["table"]), (&json!(database), &json!(table)), "{damaged}");
        assert!(damaged[0]["effect"].as_str().is_some_and(|effect| !effect.is_empty()), "{damaged}");
        assert_eq!(damaged.as_array().unwrap().len(), 1, "{damaged}");
        stop(service);
        store.bring_back();
    }
    // Tokens of before are good again, so their key is the one that was there.
    let (service, statuses) = store.served(9).await;
    assert_eq!((statuses, damaged_tables(&service).await), ([200; 3], Value::Null));
    assert_eq!(DATABASES.map(|database| store.keys_of(database)), [1, 1]);
}

/// As on a server without page checksums, or where a page was wrong before it got one.
#[tokio::test(flavor = "multi_thread")]
async fn flipped_bit_of_a_sealed_key_is_not_taken_for_a_wrong_master_key_and_a_new_key_mends_it() {
    let mut store = Store::make().await;
    for (minute, database) in DATABASES.into_iter().enumerate() {
        flip_bit_of_key(&store, database, "sealed_key");
        let (status, report) = doctor(store.path(), &[]);
        assert_eq!(status, Some(1), "{report}");
        assert!(names(&report, &format!("the {database} database"), "rotate-keys"), "{report}");
        let (service, _) = store.served(minute as i64).await;
        let damaged = damaged_tables(&service).await;
        assert_eq!((&damaged[0]["database"], &damaged[0]["table"]), (&json!(database), &json!("signing_key")));
        assert_eq!(store.keys_of(database), 1, "none is made silently");
        let (status, said) = store.command(&["admin", "rotate-keys"]);
        assert_eq!(status, Some(0), "{said}");
        assert_eq!(damaged_tables(&service).await, Value::Null);
        stop(service);
        // The public half was sound: what the old key has signed is still good.
        let (service, statuses) = store.served(minute as i64).await;
        assert_eq!(statuses, [200; 3], "{database}");
        stop(service);
        store.bring_back();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn flipped_bit_of_a_public_key_is_noticed() {
    let store = Store::make().await;
    flip_bit_of_key(&store, "health", "public_key");
    let (status, report) = doctor(store.path(), &[]);
    assert_eq!(status, Some(1), "{report}");
    assert!(names(&report, "the health database", "signing_key"), "{report}");
}

fn flip_bit_of_key(store: &Store, database: &str, column: &str) {
    let file = database_file(&store.path().join(format!("{database}.db")));
    let read = format!("SELECT {column} FROM signing_key");
    let mut bytes: Vec<u8> = file.query_row(&read, [], |row| row.get(0)).unwrap();
    bytes[20] ^= 1;
    assert_eq!(file.execute(&format!("UPDATE signing_key SET {column} = ?1"), [bytes]).unwrap(), 1);
}

/// A node reads the keys every minute. A page that is damaged meanwhile takes them from nobody who has them.
#[tokio::test(flavor = "multi_thread")]
async fn running_service_goes_on_with_the_keys_that_it_has_seen() {
    let mut store = Store::make().await;
    let (service, statuses) = store.served(0).await;
    assert_eq!(statuses, [200; 3]);
    let unknown = Patient { token: of_another_key(&store.patient.token), ..store.patient.clone() };
    let body = json!({"data": {"activity": {"timestamp": [BEGIN_MS], "bpm": [61]}}});
    assert_eq!(store.researcher.sync(&unknown, &body).await.unwrap().0, 401);
    let file = database_file(&store.path().join("health.db"));
    let add = "INSERT INTO signing_key (kid, sealed_key, public_key, created_ms, retired_ms) VALUES ('x', x'', x'', 'soon', 1)";
    file.execute(add, []).unwrap();
    drop(file);
    // Nobody looks again sooner.
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    let (status, keys) = json_at(&format!("{}/health/.well-known/jwks.json", service.url)).await;
    assert_eq!((status, keys["keys"].as_array().map(Vec::len)), (200, Some(1)), "{keys}");
    assert_eq!(damaged_tables(&service).await[0]["table"], "signing_key");
    assert_eq!(store.researcher.sync(&store.patient, &body).await.unwrap().0, 200);
    // Whether its key is one of the store's nobody knows now, and a 401 would make the app forget it.
    assert_eq!(store.researcher.sync(&unknown, &body).await.unwrap().0, 503);
}

/// The same token with another name of a key in its header.
fn of_another_key(token: &str) -> String {
    let (_, rest) = token.split_once('.').unwrap();
    format!("{}.{rest}", URL_SAFE_NO_PAD.encode(r#"{"typ":"JWT","alg":"EdDSA","kid":"unknown"}"#))
}
