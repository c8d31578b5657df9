//! What programs of every released version have stored is read by today's: databases, sealed files, archives, backups.
//!
//! `tests/fixtures/formats` has a folder for each version. `UPDATE_FIXTURES=1` writes that of the version at hand again,
//! as long as it has not been released; what `store` keeps of sealed files it writes too:
//! `UPDATE_FIXTURES=1 cargo test --locked --workspace --lib --test real_socket -- formats`.

use std::collections::BTreeMap;
use std::io::{Cursor, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};
use testkit::Postgres;
use tokio::sync::OnceCell;

use crate::exports::{BEGIN_MS, fetch, unpacked, wait_for};
use crate::harness::{Patient, Researcher, Service, admin, pulseward, store_command};
use crate::takeover::shared;

/// Shown by a test that fails.
const RULE: &str = "a file of a released version is not read any more, or not as what was stored. Do not write it again: \
    what hospitals have stored looks like it. Give what has changed a new version (docs/database.md, \
    \"What is frozen\"), keep the reader of the old one, and add a folder of fixtures for the new release.";
const SQLITE: &str = "sqlite.zip";
const POSTGRES: &str = "postgres.zip";
const BACKUP: &str = "backup.zip";
const OF_ROWS: &str = "archive-csv.zip";
const OF_COLUMNS: &str = "archive-parquet.zip";
const KNOWN: &str = "known.json";
const TYPES: [&str; 5] = ["activity", "sleep", "ppg2", "ecg", "tests"];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/formats")
}

/// The folders of all versions; that of the version at hand is written first where that is asked for.
async fn versions() -> Vec<PathBuf> {
    static WRITTEN: OnceCell<()> = OnceCell::const_new();
    if std::env::var_os("UPDATE_FIXTURES").is_some() {
        WRITTEN.get_or_init(write).await;
    }
    println!("{RULE}");
    let folders = std::fs::read_dir(fixtures()).unwrap().map(|entry| entry.unwrap().path());
    let folders: Vec<PathBuf> = folders.filter(|path| path.is_dir()).collect();
    assert!(!folders.is_empty());
    folders
}

/// What the fixtures of a version are of.
struct Version {
    folder: PathBuf,
    known: Value,
    /// The data files that an export has to give.
    rows: BTreeMap<String, Vec<u8>>,
}

impl Version {
    fn read(folder: PathBuf) -> Self {
        let known = serde_json::from_slice(&std::fs::read(folder.join(KNOWN)).unwrap()).unwrap();
        let rows = data_files(&std::fs::read(folder.join(OF_ROWS)).unwrap());
        assert_eq!(rows.len(), TYPES.len() + 1, "a file for each type, and of ppg2 for each colour");
        Version { folder, known, rows }
    }

    /// A copy of a fixture that may be changed.
    fn unpack(&self, name: &str) -> TempDir {
        let folder = tempdir().unwrap();
        let mut zip = zip::ZipArchive::new(Cursor::new(std::fs::read(self.folder.join(name)).unwrap())).unwrap();
        for place in 0..zip.len() {
            let mut entry = zip.by_index(place).unwrap();
            let path = folder.path().join(entry.enclosed_name().unwrap());
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            std::fs::write(&path, bytes).unwrap();
            // Keys that others may read are refused.
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        folder
    }

    /// Brings a store up to date and holds it to what was stored on an engine.
    async fn check(&self, engine: &str, data: &Path, options: &[&str]) {
        let known = &self.known[engine];
        let text = |name: &str| known[name].as_str().unwrap();
        let with = |command: &[&'static str]| [command, options].concat();
        store_command(data, &with(&["migrate"]));
        store_command(data, &with(&["doctor", "--verify"]));
        let verified = store_command(data, &with(&["audit", "verify"]));
        assert!(verified["entries"].as_u64() >= known["audit_entries"].as_u64(), "{verified}");
        let service = Service::start_with(data, &[&["--export-interval", "0s"], options].concat());
        let researcher = Researcher::with_key(&service.url, text("key"), text("group"));
        let list = format!("/integration/v1/groups/{}/patients", text("group"));
        let (status, patients) = researcher.get(&list, None).await;
        assert_eq!(status, 200, "{patients}");
        assert!(patients.to_string().contains(text("patient")), "{patients}");
        let archive = archive(&researcher, text("patient"), "csv").await;
        assert!(data_files(&archive) == self.rows, "{}", self.folder.display());
    }
}

/// The files of an archive that hold rows.
fn data_files(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut files = unpacked(archive).0;
    files.remove("data_dictionary.csv").unwrap();
    files
}

async fn archive(researcher: &Researcher, patient: &str, format: &str) -> Vec<u8> {
    let body = json!({"client_date_from": "2025-11-18T00:00:00.000", "client_date_to": "2025-11-21T00:00:00.000",
        "types": TYPES, "format": format});
    let (status, created) = researcher.post(&format!("/integration/v1/create-export/{patient}"), None, &body).await;
    assert_eq!(status, 200, "{created}");
    fetch(&wait_for(researcher, created["id"].as_str().unwrap()).await).await
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_databases_of_every_version_are_opened() {
    for folder in versions().await {
        let version = Version::read(folder);
        version.check("sqlite", version.unpack(SQLITE).path(), &[]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_databases_of_every_version_are_opened() {
    for folder in versions().await {
        let (Some(users), Some(health)) = (Postgres::start(), Postgres::start()) else { return };
        let version = Version::read(folder);
        let data = version.unpack(POSTGRES);
        for (database, statements) in [(&users, "users.sql"), (&health, "health.sql")] {
            database.execute_file(&data.path().join(statements));
        }
        version.check("postgres", data.path(), &texts(&shared(data.path(), &users, &health))).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn backups_of_every_version_are_restored_on_both_engines() {
    for folder in versions().await {
        let version = Version::read(folder);
        let backup = version.unpack(BACKUP);
        let restore = |data: &Path, options: &[&str]| {
            store_command(data, &[&["restore", backup.path().to_str().unwrap()], options].concat())
        };
        let data = tempdir().unwrap();
        assert_eq!(restore(data.path(), &[])["objects"], version.known["sqlite"]["objects"]);
        version.check("sqlite", data.path(), &[]).await;
        let (Some(users), Some(health)) = (Postgres::start(), Postgres::start()) else { return };
        let data = tempdir().unwrap();
        let options = shared(data.path(), &users, &health);
        restore(data.path(), &texts(&options));
        version.check("sqlite", data.path(), &texts(&options)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn archives_of_every_version_are_imported() {
    let data = tempdir().unwrap();
    let service = Service::start_with(data.path(), &["--export-interval", "0s"]);
    let researcher = Researcher::new(data.path(), &service.url).await;
    for folder in versions().await {
        let version = Version::read(folder);
        for name in [OF_ROWS, OF_COLUMNS] {
            let patient = researcher.enrol().await;
            let file = version.folder.join(name);
            let arguments =
                ["import", "--url", &service.url, "--bearer", &patient.token, "--json", file.to_str().unwrap()];
            let output = pulseward(&arguments).output().unwrap();
            assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
            let counts: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(counts["rejected"], 0, "{name}: {counts}");
            assert!(data_files(&archive(&researcher, &patient.uuid, "csv").await) == version.rows, "{name}");
        }
    }
}

/// Whether a list of changes has a version as one that is released: the section of one that is being prepared says so.
fn is_released(changes: &str, version: &str) -> bool {
    let titles = changes.lines().filter_map(|line| line.strip_prefix("## "));
    let mut of_version = titles.filter(|title| title.split([' ', ',']).next() == Some(version));
    of_version.any(|title| !title.contains("(not released yet)"))
}

#[test]
fn section_of_a_version_that_is_being_prepared_freezes_nothing() {
    for (changes, is_frozen) in [
        ("# Changes\n\n## Unreleased\n\n## 0.1.0 (not released yet)\n", false),
        ("# Changes\n\n## Unreleased\n\n## 0.1.0, 2027-01-01\n", true),
        ("# Changes\n\n## 0.1.0\n\n## 0.0.9 (not released yet)\n", true),
        ("# Changes\n\n## 0.1.01\n", false),
    ] {
        assert_eq!(is_released(changes, "0.1.0"), is_frozen, "{changes}");
    }
}

/// Writes the fixtures of the version at hand.
async fn write() {
    let version = env!("CARGO_PKG_VERSION");
    let changes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../CHANGELOG.md");
    let changes = std::fs::read_to_string(changes).unwrap();
    assert!(!is_released(&changes, version), "{version} has been released, and its formats are frozen. {RULE}");
    let folder = fixtures().join(version);
    std::fs::create_dir_all(&folder).unwrap();
    let (users, health) = (Postgres::start().unwrap(), Postgres::start().unwrap());
    let (data, backup) = (tempdir().unwrap(), tempdir().unwrap());
    let mut made = fill(data.path(), &[]).await;
    let copy = backup.path().join("copy");
    made.known["objects"] = store_command(data.path(), &["backup", copy.to_str().unwrap()])["objects"].clone();
    for (name, content) in
        [(BACKUP, packed(&copy)), (SQLITE, packed(data.path())), (OF_ROWS, made.of_rows), (OF_COLUMNS, made.of_columns)]
    {
        std::fs::write(folder.join(name), content).unwrap();
    }
    let data = tempdir().unwrap();
    let on_server = fill(data.path(), &texts(&shared(data.path(), &users, &health))).await;
    for (name, database) in [("users.sql", &users), ("health.sql", &health)] {
        std::fs::write(data.path().join(name), database.statements_of_all()).unwrap();
    }
    std::fs::write(folder.join(POSTGRES), packed(data.path())).unwrap();
    let known = json!({"sqlite": made.known, "postgres": on_server.known});
    std::fs::write(folder.join(KNOWN), format!("{known:#}\n")).unwrap();
}

fn texts(options: &[String]) -> Vec<&str> {
    options.iter().map(String::as_str).collect()
}

/// What a store was filled with.
struct Made {
    known: Value,
    of_rows: Vec<u8>,
    of_columns: Vec<u8>,
}

/// Makes a store with a patient whose rows lie in sealed files of days and months, and in chunks on top of them.
async fn fill(data: &Path, options: &[&str]) -> Made {
    store_command(data, &[&["migrate"], options].concat());
    let service = Service::start_with(data, &[&["--export-interval", "0s"], options].concat());
    let researcher = Researcher::new_with(data, options, &service.url).await;
    let account = ["set-subscription", "--account", "rita@study.example", "--until", "2199-12-31"];
    admin(data, &[&account[..], options].concat());
    let patient = researcher.enrol().await;
    send(&researcher, &patient, 0).await;
    store_command(data, &[&["seal", "--now"], options].concat());
    // Over the sealed rows, and behind them.
    send(&researcher, &patient, 5 * 60_000).await;
    let of_rows = archive(&researcher, &patient.uuid, "csv").await;
    let of_columns = archive(&researcher, &patient.uuid, "parquet").await;
    let verified = store_command(data, &[&["audit", "verify"], options].concat());
    let known = json!({"key": researcher.key, "group": researcher.group, "patient": patient.uuid,
        "audit_entries": verified["entries"]});
    service.signal("-TERM");
    assert!(service.wait().success());
    Made { known, of_rows, of_columns }
}

/// Ten minutes of every type that is exported, from so many ms on.
async fn send(researcher: &Researcher, patient: &Patient, from_ms: i64) {
    let begin_ms = BEGIN_MS + from_ms;
    let minutes: Vec<i64> = (0..10).map(|minute| begin_ms + minute * 60_000).collect();
    let counts: Vec<i64> = (0..256).map(|row| (row * row + from_ms) % 1_201 - 600).collect();
    let millivolts: Vec<f64> = counts.iter().map(|count| *count as f64 / 1000.0).collect();
    let signal: Vec<i64> = (0..160).map(|row| 30_000 + (row * row + from_ms) % 701).collect();
    let data = json!({
        "activity": {"timestamp": minutes, "bpm": 61, "spo2": 97.5, "respiration_rate": 14.5, "core_temp": 36.82},
        "sleep": {"timestamp": minutes, "sleep_state": 2},
        "ppg2": [{"start": begin_ms, "rate_hz": 16, "metric_id": "0x7e", "led_pd_pos": 6, "value": signal},
            {"start": begin_ms + 3, "rate_hz": 16, "metric_id": "0x7c", "led_pd_pos": 6, "value": signal}],
        "ecg": [{"start": begin_ms, "rate_hz": 256, "value": counts, "ecg": millivolts}],
        "tests": {"timestamp": [begin_ms], "test_type": ["temperature"], "value": [37.25], "note": ["calm, \"warm\""]},
    });
    let (status, answer) = researcher.sync(patient, &json!({ "data": data })).await.unwrap();
    assert_eq!(status, 200, "{answer}");
}

/// A folder as an archive.
fn packed(folder: &Path) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let mut waiting = vec![folder.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap();
            zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
            zip.write_all(&std::fs::read(&path).unwrap()).unwrap();
        }
    }
    zip.finish().unwrap().into_inner()
}
