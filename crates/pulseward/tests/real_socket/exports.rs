//! Exports end to end: out as an archive, away, in again, and out with the same bytes; on a folder and on a bucket.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use arrow_array::RecordBatch;
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};
use sha2::Digest;
use tempfile::tempdir;
use testkit::{S3_ACCESS_KEY, S3_BUCKET, S3_SECRET_KEY, S3Server};

use crate::harness::{Patient, Researcher, Service, pulseward, store_command};

pub const BEGIN_MS: i64 = 1_763_510_400_000; // 2025-11-19T00:00Z

/// Two hours of signals and series, in two zones.
pub async fn send_day(researcher: &Researcher, patient: &Patient) {
    let signal: Vec<i64> = (0..7200 * 16).map(|row| 30_000 + (row * row) % 701).collect();
    let times: Vec<i64> = (0..120).map(|minute| BEGIN_MS + minute * 60_000).collect();
    let rates: Vec<i64> = (0..120).map(|minute| 55 + minute % 40).collect();
    let data = json!({
        "ppg2": [{"start": BEGIN_MS, "rate_hz": 16, "metric_id": "0x7e", "led_pd_pos": 6, "value": signal},
            {"start": BEGIN_MS + 3, "rate_hz": 16, "metric_id": "0x7c", "led_pd_pos": 6, "value": signal}],
        "activity": {"timestamp": times, "bpm": rates},
        "tests": {"timestamp": [BEGIN_MS], "test_type": ["temperature"], "value": [37.25], "note": ["calm, \"warm\""]},
    });
    let (status, answer) = researcher.sync(patient, &json!({ "data": data })).await.unwrap();
    assert_eq!(status, 200, "{answer}");
    let abroad = json!({"time_zone": "America/New_York",
        "data": {"activity": {"timestamp": [BEGIN_MS + 9_000_000], "bpm": [61]}}});
    let (status, answer) = researcher.sync(patient, &abroad).await.unwrap();
    assert_eq!(status, 200, "{answer}");
}

/// Asks for an export of everything and waits for its address.
pub async fn export(researcher: &Researcher, patient: &Patient, format: &str) -> String {
    let body = json!({"client_date_from": "2025-11-18T00:00:00.000", "client_date_to": "2025-11-21T00:00:00.000",
        "types": ["ppg2", "activity", "tests"], "format": format});
    let path = format!("/integration/v1/create-export/{}", patient.uuid);
    let (status, created) = researcher.post(&path, None, &body).await;
    assert_eq!(status, 200, "{created}");
    wait_for(researcher, created["id"].as_str().unwrap()).await
}

/// Waits until an export is done; answers its address.
pub async fn wait_for(researcher: &Researcher, id: &str) -> String {
    for _ in 0..600 {
        let (status, export) = researcher.get(&format!("/integration/v1/export/{id}"), None).await;
        assert_eq!(status, 200, "{export}");
        match export["status"].as_str().unwrap() {
            "in_progress" => tokio::time::sleep(Duration::from_millis(100)).await,
            "done" => return export["downloadUrl"].as_str().unwrap().to_owned(),
            other => panic!("{other}: {export}"),
        }
    }
    panic!("the export does not come to its end");
}

pub async fn fetch(url: &str) -> Vec<u8> {
    let answer = reqwest::get(url).await.unwrap();
    assert_eq!(answer.status(), 200, "{url}");
    answer.bytes().await.unwrap().to_vec()
}

/// The data files of an archive, and its manifest.
pub fn unpacked(archive: &[u8]) -> (BTreeMap<String, Vec<u8>>, Value) {
    let mut zip = zip::ZipArchive::new(Cursor::new(archive)).unwrap();
    let names: Vec<String> = zip.file_names().map(|name| name.unwrap().into_owned()).collect();
    let mut files = BTreeMap::new();
    for name in names {
        let mut bytes = Vec::new();
        zip.by_name(&name).unwrap().read_to_end(&mut bytes).unwrap();
        files.insert(name, bytes);
    }
    let manifest = serde_json::from_slice(&files.remove("manifest.json").unwrap()).unwrap();
    (files, manifest)
}

#[tokio::test]
async fn an_archive_that_is_sent_back_comes_out_the_same() {
    let data = tempdir().unwrap();
    let service = Service::start_with(data.path(), &["--export-interval", "0s"]);
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    send_day(&researcher, &patient).await;
    let archive = fetch(&export(&researcher, &patient, "csv").await).await;
    let file = data.path().join("archive.zip");
    std::fs::write(&file, &archive).unwrap();
    check_with_other_tools(&file);

    let erased = researcher.delete(&format!("/integration/v1/patients/{}", patient.uuid)).await;
    assert!((200..300).contains(&erased), "{erased}");
    let again = researcher.enrol().await;
    let arguments = ["import", "--url", &service.url, "--bearer", &again.token, "--json", file.to_str().unwrap()];
    let output = pulseward(&arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let counts: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(counts, json!({"rows": 230_522, "stored": 230_522, "duplicate": 0, "rejected": 0}));
    let output = pulseward(&arguments).output().unwrap();
    let counts: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(counts, json!({"rows": 230_522, "stored": 0, "duplicate": 230_522, "rejected": 0}));

    store_command(data.path(), &["seal", "--now"]);
    let (before, manifest) = unpacked(&archive);
    let (after, manifest_after) = unpacked(&fetch(&export(&researcher, &again, "csv").await).await);
    assert!(before == after);
    assert_eq!(manifest["files"], manifest_after["files"]);
    assert_eq!(manifest["time_zones"], json!(["America/New_York", "Europe/Zurich"]));
}

/// What `import` makes of an archive: whether it took it, what it printed and what it said.
fn import(service: &Service, patient: &Patient, file: &Path) -> (bool, Value, String) {
    let arguments = ["import", "--url", &service.url, "--bearer", &patient.token, "--json", file.to_str().unwrap()];
    let output = pulseward(&arguments).output().unwrap();
    let printed = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output.status.success(), printed, String::from_utf8(output.stderr).unwrap())
}

/// A text goes out and in as it is, blanks and ends of lines at its edges too.
#[tokio::test]
async fn texts_come_back_as_they_were() {
    let data = tempdir().unwrap();
    let service = Service::start_with(data.path(), &["--export-interval", "0s"]);
    let researcher = Researcher::new(data.path(), &service.url).await;
    let notes = ["  sp ", "\t", "\r", "\n", "\u{2028}x", "a,b", "\"", "\r\n", "'", "\u{feff}"];
    let times: Vec<i64> = (0..notes.len() as i64).map(|row| BEGIN_MS + row).collect();
    let tests = json!({"timestamp": times, "test_type": vec!["heart_rate"; notes.len()], "value": 61, "note": notes});
    let patient = researcher.enrol().await;
    let (status, answer) = researcher.sync(&patient, &json!({"data": {"tests": tests}})).await.unwrap();
    assert_eq!((status, &answer["types"]["tests"]["stored"]), (200, &json!(notes.len())), "{answer}");
    let archive = fetch(&export(&researcher, &patient, "csv").await).await;
    let file = data.path().join("archive.zip");
    std::fs::write(&file, &archive).unwrap();
    let again = researcher.enrol().await;
    let (is_taken, counts, said) = import(&service, &again, &file);
    assert!(is_taken, "{said}");
    assert_eq!(counts["stored"], json!(notes.len()));
    assert!(said.contains("whole milliseconds"), "{said}");
    let (before, after) = (unpacked(&archive).0, unpacked(&fetch(&export(&researcher, &again, "csv").await).await).0);
    assert_eq!(String::from_utf8_lossy(&after["tests.csv"]), String::from_utf8_lossy(&before["tests.csv"]));
}

type Files = BTreeMap<String, Vec<u8>>;

/// An archive of some files, with the manifest last.
fn packed(files: &Files, manifest: &Value) -> Vec<u8> {
    use std::io::Write;
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let manifest = ("manifest.json".to_owned(), manifest.to_string().into_bytes());
    for (name, bytes) in files.iter().map(|(name, bytes)| (name.clone(), bytes.clone())).chain([manifest]) {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(&bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// What was changed on the way is found before the first row is sent.
#[tokio::test]
async fn an_archive_that_is_not_what_its_manifest_says_is_refused_whole() {
    let data = tempdir().unwrap();
    let service = Service::start_with(data.path(), &["--export-interval", "0s"]);
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    let times: Vec<i64> = (0..120).map(|minute| BEGIN_MS + minute * 60_000).collect();
    let body = json!({"data": {"activity": {"timestamp": times, "bpm": 61},
        "tests": {"timestamp": [BEGIN_MS], "test_type": ["temperature"], "value": [37.25]}}});
    assert_eq!(researcher.sync(&patient, &body).await.unwrap().0, 200);
    let again = researcher.enrol().await;
    let file = data.path().join("archive.zip");
    for (format, name) in [("csv", "tests.csv"), ("parquet", "tests/2025-11.parquet")] {
        let (files, manifest) = unpacked(&fetch(&export(&researcher, &patient, format).await).await);
        let at = manifest["files"].as_array().unwrap().iter().position(|file| file["name"] == name).unwrap();
        let refused = |change: &dyn Fn(&mut Files, &mut Value), reason: &str| {
            let (mut files, mut manifest) = (files.clone(), manifest.clone());
            change(&mut files, &mut manifest);
            std::fs::write(&file, packed(&files, &manifest)).unwrap();
            let (is_taken, _, said) = import(&service, &again, &file);
            assert!(!is_taken && said.contains(reason), "{format}, {reason}: {said}");
        };
        let bytes_of = |files: &mut Files| files.remove(name).unwrap();
        refused(&|files, _| drop(bytes_of(files)), name);
        refused(
            &|files, _| {
                let mut bytes = bytes_of(files);
                let middle = bytes.len() / 2;
                bytes[middle] ^= 1;
                files.insert(name.to_owned(), bytes);
            },
            "another SHA-256",
        );
        refused(&|files, _| files.get_mut(name).unwrap().extend(b"\n"), "is larger than");
        refused(&|files, _| files.get_mut(name).unwrap().truncate(9), "has 9 bytes and");
        refused(&|_, manifest| manifest["files"][at]["rows"] = json!(2), "has 1 rows and 2");
        refused(&|_, manifest| drop(manifest["files"].as_array_mut().unwrap().remove(at)), "is not in its manifest");
        refused(&|_, manifest| manifest["files"] = json!([]), "is not in its manifest");
        refused(
            &|_, manifest| {
                let twice = manifest["files"][at].clone();
                manifest["files"].as_array_mut().unwrap().push(twice);
            },
            "names a file twice",
        );
        refused(
            &|files, _| {
                let bomb = format!("timestamp,value\n1,\"{}", "x".repeat(8 << 20));
                files.insert(name.to_owned(), bomb.into_bytes());
            },
            "is larger than",
        );
    }
    // A row without end whose size and checksum are as the manifest says.
    let long = format!("timestamp,note\n{BEGIN_MS},\"{}\"\n", "x".repeat(3 << 20)).into_bytes();
    let (mut files, mut manifest) = unpacked(&fetch(&export(&researcher, &patient, "csv").await).await);
    let sha256 = platform::hex(&sha2::Sha256::digest(&long));
    let at = manifest["files"].as_array().unwrap().iter().position(|file| file["name"] == "tests.csv").unwrap();
    manifest["files"][at]["bytes"] = json!(long.len());
    manifest["files"][at]["sha256"] = json!(sha256);
    files.insert("tests.csv".to_owned(), long);
    std::fs::write(&file, packed(&files, &manifest)).unwrap();
    let (is_taken, _, said) = import(&service, &again, &file);
    assert!(!is_taken && said.contains("longer than"), "{said}");

    let (files, manifest) = unpacked(&fetch(&export(&researcher, &again, "csv").await).await);
    assert_eq!((files.len(), &manifest["files"]), (1, &json!([])), "nothing was sent");
}

/// Parquet keeps microseconds and zones, so every row comes back as it was; the file itself names another patient.
#[tokio::test]
async fn an_archive_of_columns_that_is_sent_back_has_the_same_rows() {
    let data = tempdir().unwrap();
    let service = Service::start_with(data.path(), &["--export-interval", "0s"]);
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    send_day(&researcher, &patient).await;
    let csv = unpacked(&fetch(&export(&researcher, &patient, "csv").await).await).0;
    let archive = fetch(&export(&researcher, &patient, "parquet").await).await;
    let file = data.path().join("archive.zip");
    std::fs::write(&file, &archive).unwrap();
    check_with_other_tools(&file);

    let erased = researcher.delete(&format!("/integration/v1/patients/{}", patient.uuid)).await;
    assert!((200..300).contains(&erased), "{erased}");
    let again = researcher.enrol().await;
    let import = |more: &[&str]| -> Value {
        let path = file.to_str().unwrap();
        let arguments = ["import", "--url", &service.url, "--bearer", &again.token, "--json", path];
        let output = pulseward(&[&arguments[..], more].concat()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    assert_eq!(import(&["--type", "tests"]), json!({"rows": 1, "stored": 1, "duplicate": 0, "rejected": 0}));
    assert_eq!(import(&[]), json!({"rows": 230_522, "stored": 230_521, "duplicate": 1, "rejected": 0}));
    assert_eq!(import(&[])["duplicate"], 230_522);

    store_command(data.path(), &["seal", "--now"]);
    assert!(csv == unpacked(&fetch(&export(&researcher, &again, "csv").await).await).0);
    let (before, manifest) = unpacked(&archive);
    let (after, manifest_after) = unpacked(&fetch(&export(&researcher, &again, "parquet").await).await);
    assert_eq!(manifest["time_zones"], manifest_after["time_zones"]);
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    for (name, bytes) in before.iter().filter(|(name, _)| name.ends_with(".parquet")) {
        assert!(rows_of(bytes) == rows_of(&after[name]), "{name}");
    }
    assert_eq!(rows_of(&before["ppg2/2025-11-19.parquet"]).num_rows(), 230_400);
}

/// The rows of a Parquet file.
fn rows_of(file: &[u8]) -> RecordBatch {
    let builder = ParquetRecordBatchReaderBuilder::try_new(Bytes::copy_from_slice(file)).unwrap();
    let rows = usize::try_from(builder.metadata().file_metadata().num_rows()).unwrap();
    builder.with_batch_size(rows).build().unwrap().next().unwrap().unwrap()
}

/// DuckDB reads the files of both kinds of archive: as many rows as the manifest says, in the range that it says.
#[tokio::test]
async fn another_database_reads_the_files_of_archives() {
    let Some(python) = python_with_readers() else { return };
    let data = tempdir().unwrap();
    let service = Service::start_with(data.path(), &["--export-interval", "0s"]);
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    send_day(&researcher, &patient).await;
    for (format, files) in [("csv", 4), ("parquet", 3)] {
        let archive = data.path().join(format!("{format}.zip"));
        std::fs::write(&archive, fetch(&export(&researcher, &patient, format).await).await).unwrap();
        let output = Command::new(&python).args(["-c", READ_ARCHIVE]).arg(&archive).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), format!("{files} files, 230522 rows"));
    }
}

const READ_ARCHIVE: &str = r#"
import duckdb, json, sys, tempfile, zipfile
rows = 0
with tempfile.TemporaryDirectory() as folder:
    with zipfile.ZipFile(sys.argv[1]) as archive:
        archive.extractall(folder)
    manifest = json.load(open(f"{folder}/manifest.json"))
    for file in manifest["files"]:
        time = "epoch_us(timestamp) // 1000" if file["name"].endswith(".parquet") else "timestamp"
        found = duckdb.sql(f"SELECT count(*), min({time}), max({time}) FROM '{folder}/{file['name']}'").fetchall()[0]
        assert found == (file["rows"], file["first_timestamp"], file["last_timestamp"]), (file, found)
        rows += found[0]
    dictionary = duckdb.sql(f"SELECT count(*) FROM '{folder}/data_dictionary.csv' WHERE type = 'ppg2'").fetchall()[0]
    assert dictionary[0] > 2
print(len(manifest["files"]), "files,", rows, "rows")
"#;

/// A Python that has the readers; says loudly when there is none.
pub fn python_with_readers() -> Option<String> {
    let named = std::env::vars().find(|(name, _)| name == "PULSEWARD_TEST_PYTHON").map(|(_, python)| python);
    let python = named.unwrap_or_else(|| "python3".to_owned());
    let output = Command::new(&python).args(["-c", "import duckdb, polars, pandas, pyarrow"]).output();
    if output.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    testkit::skip("no Python with duckdb, polars, pandas and pyarrow; name one in PULSEWARD_TEST_PYTHON");
    None
}

/// `unzip`, Python and Java read what we write.
fn check_with_other_tools(archive: &Path) {
    let path = archive.to_str().unwrap();
    let python = "import sys, zipfile; sys.exit(zipfile.ZipFile(sys.argv[1]).testzip() is not None)";
    let tools: [(&str, &[&str]); 3] =
        [("unzip", &["-tqq", path]), ("python3", &["-c", python, path]), ("jar", &["tf", path])];
    for (tool, arguments) in tools {
        match Command::new(tool).args(arguments).output() {
            Ok(output) => assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr)),
            Err(_) => testkit::skip(&format!("there is no {tool}")),
        }
    }
}

pub fn s3_environment(server: &S3Server) -> [(&'static str, &str); 4] {
    environment_of(&server.url)
}

/// What names a server that speaks S3 to the program.
pub fn environment_of(url: &str) -> [(&'static str, &str); 4] {
    [
        ("AWS_ENDPOINT_URL", url),
        ("AWS_ACCESS_KEY_ID", S3_ACCESS_KEY),
        ("AWS_SECRET_ACCESS_KEY", S3_SECRET_KEY),
        ("AWS_REGION", "us-east-1"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_does_what_a_folder_does() {
    let server = S3Server::start();
    let data = tempdir().unwrap();
    let objects = format!("s3://{S3_BUCKET}/trial");
    let options = ["--export-interval", "0s", "--objects", &objects];
    let service = Service::start_in(data.path(), &options, &s3_environment(&server));
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    send_day(&researcher, &patient).await;
    let url = export(&researcher, &patient, "csv").await;
    assert!(url.starts_with(&server.url) && url.contains("X-Amz-Signature="), "{url}");
    let unsealed = fetch(&url).await;

    let folder = data.path().to_str().unwrap();
    let mut seal = pulseward(&["seal", "--now", "--json", "--data", folder, "--objects", &objects]);
    let output = seal.envs(s3_environment(&server)).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(server.bucket_folder().join("trial/v1/type=ppg2/period=2025-11-19").is_dir());
    assert!(fetch(&export(&researcher, &patient, "csv").await).await == unsealed);
    let (files, _) = unpacked(&fetch(&export(&researcher, &patient, "parquet").await).await);
    assert!(files["ppg2/2025-11-19.parquet"].starts_with(b"PAR1"));

    // The store goes away: what is asked for waits, what is sent is taken, and the service says that it is not ready.
    server.set_away(true);
    assert_eq!(researcher.get("/readyz", None).await.0, 503);
    let body = json!({"data": {"activity": {"timestamp": [BEGIN_MS + 90_000_000], "bpm": [62]}}});
    assert_eq!(researcher.sync(&patient, &body).await.unwrap().0, 200);
    let late = json!({"data": {"activity": {"timestamp": [BEGIN_MS + 60_000], "bpm": [99]}}});
    let (status, answer) = researcher.sync(&patient, &late).await.unwrap();
    assert_eq!(status, 503, "{answer}: what reaches into a sealed period cannot be compared with it");
    let path = format!("/integration/v1/create-export/{}/activity", patient.uuid);
    let body = json!({"client_date_from": "2025-11-18T00:00:00", "client_date_to": "2025-11-22T00:00:00"});
    let (status, created) = researcher.post(&path, None, &body).await;
    assert_eq!(status, 200, "{created}");
    tokio::time::sleep(Duration::from_secs(1)).await;
    server.set_away(false);
    let (files, _) = unpacked(&fetch(&wait_for(&researcher, created["id"].as_str().unwrap()).await).await);
    let activity = String::from_utf8(files["activity.csv"].clone()).unwrap();
    assert_eq!(activity.lines().count(), 1 + 122);
    assert!(!activity.contains(",99,"), "nothing of the refused sync is stored");
    assert_eq!(researcher.get("/readyz", None).await.0, 200);
    assert_eq!(researcher.sync(&patient, &late).await.unwrap().0, 200);
}
