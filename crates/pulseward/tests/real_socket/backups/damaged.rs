//! Sealed files of which a bit has changed on the disk: a backup names them, and everything else comes back.

use std::fs::OpenOptions;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};

use super::{NAMED, Place};
use crate::exports::{export, send_day};
use crate::harness::{Patient, Researcher, Service};

const RANGE: &str = "from_date=2025-11-19T00:00:00Z&to_date=2025-11-19T00:10:00Z";
/// Done, and something is damaged.
const DONE_WITH_DAMAGE: Option<i32> = Some(3);

/// Two patients with a day in sealed files.
struct Study {
    service: Service,
    researcher: Researcher,
    ill: Patient,
    well: Patient,
}

impl Study {
    async fn begin(place: &Place) -> Self {
        let service = place.serve();
        let researcher = Researcher::new(&place.data(), &service.url).await;
        let (ill, well) = (researcher.enrol().await, researcher.enrol().await);
        for patient in [&ill, &well] {
            send_day(&researcher, patient).await;
        }
        place.done(&["seal", "--now"]);
        Study { service, researcher, ill, well }
    }

    /// Path of the sealed heart rates of the ill one.
    async fn file(&self) -> String {
        let (_, lake) =
            self.researcher.get(&format!("/integration/v1/groups/{}/lake", self.researcher.group), None).await;
        let files = lake["files"].as_array().unwrap();
        let is_it = |file: &&Value| file["type"] == "activity" && file["patient"] == self.ill.uuid.as_str();
        files.iter().find(is_it).unwrap()["path"].as_str().unwrap().to_owned()
    }

    async fn status_of(&self, service: &Service, patient: &Patient, data_type: &str) -> u16 {
        let url = format!("{}/health/v2/raw-metrics/{data_type}?{RANGE}", service.url);
        reqwest::Client::new().get(url).bearer_auth(&patient.token).send().await.unwrap().status().as_u16()
    }

    /// One file is answered as damaged, and everything else is there.
    async fn assert_all_but_one(&self, service: &Service) {
        assert_eq!(self.status_of(service, &self.ill, "activity").await, 503);
        assert_eq!(self.status_of(service, &self.ill, "ppg2").await, 200);
        for data_type in ["activity", "ppg2", "tests"] {
            assert_eq!(self.status_of(service, &self.well, data_type).await, 200, "{data_type}");
        }
    }
}

/// Changes a bit where it lies, as a disk does it, so that whatever shares the bytes has it too.
fn flip(path: &Path) {
    let mut file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let middle = SeekFrom::Start(file.metadata().unwrap().len() / 2);
    let mut byte = [0];
    file.seek(middle).unwrap();
    file.read_exact(&mut byte).unwrap();
    file.seek(middle).unwrap();
    file.write_all(&[byte[0] ^ 1]).unwrap();
}

fn text(folder: &Path) -> String {
    folder.to_str().unwrap().to_owned()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A command that has done what it was asked for and names one file as faulty.
fn done_with_damage(place: &Place, arguments: &[&str], path: &str, fault: &str) -> Value {
    let output = place.command(arguments);
    assert_eq!(output.status.code(), DONE_WITH_DAMAGE, "{arguments:?}: {}", said(&output));
    assert!(said(&output).contains(path), "{}", said(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["damaged"], json!([{"path": path, "fault": fault}]), "{report}");
    report
}

/// What `doctor` knows of files without reading them: missing ones and damaged ones.
fn noted(place: &Place) -> [Value; 2] {
    let output = place.command(&["doctor"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    ["missing_files", "damaged_files"].map(|name| report[name].clone())
}

fn object(folder: &Path, path: &str) -> PathBuf {
    folder.join("objects").join(path)
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_with_a_damaged_file_fails_and_goes_on_where_asked() {
    let from = Place::on_sqlite();
    let study = Study::begin(&from).await;
    let path = study.file().await;
    flip(&object(&from.data(), &path));
    let backup = text(&from.folder.path().join("backup"));
    // The second time, the file is known as damaged.
    for _ in 0..2 {
        let (status, said) = from.refused(&["backup", &backup]);
        assert_eq!(status, Some(1), "{said}");
        assert!(said.contains(&path) && said.contains("--with-damaged"), "{said}");
        assert_eq!(std::fs::read_dir(&backup).unwrap().count(), 0, "half a backup looks like one");
        assert_eq!(noted(&from), [json!(0), json!(1)], "an operator hears of it");
    }

    let made = done_with_damage(&from, &["backup", &backup, "--with-damaged"], &path, "damaged");
    let manifest: Value =
        serde_json::from_slice(&std::fs::read(Path::new(&backup).join("backup.json")).unwrap()).unwrap();
    assert_eq!(manifest["damaged"], made["damaged"], "the copy says so itself");
    assert_eq!(manifest["objects"], made["objects"]);

    let to = Place::on_sqlite();
    done_with_damage(&to, &["restore", &backup], &path, "damaged");
    assert_eq!(noted(&to), [json!(0), json!(1)]);
    study.assert_all_but_one(&to.serve()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_file_is_left_out_where_asked_and_known_as_missing_when_restored() {
    let from = Place::on_sqlite();
    let study = Study::begin(&from).await;
    let path = study.file().await;
    std::fs::remove_file(object(&from.data(), &path)).unwrap();
    let backup = text(&from.folder.path().join("backup"));
    done_with_damage(&from, &["backup", &backup, "--with-damaged"], &path, "missing");
    let to = Place::on_sqlite();
    done_with_damage(&to, &["restore", &backup], &path, "missing");
    study.assert_all_but_one(&to.serve()).await;
    assert_eq!(noted(&to), [json!(1), json!(0)]);
}

/// A hard link has the damage of the store.
#[tokio::test(flavor = "multi_thread")]
async fn file_damaged_after_the_backup_costs_nothing_but_itself() {
    let from = Place::on_sqlite();
    let study = Study::begin(&from).await;
    let path = study.file().await;
    export(&study.researcher, &study.well, "csv").await;
    let backup = from.folder.path().join("backup");
    from.done(&["backup", &text(&backup)]);
    flip(&object(&from.data(), &path));

    let to = Place::on_sqlite();
    done_with_damage(&to, &["restore", &text(&backup)], &path, "damaged");
    assert_eq!(noted(&to), [json!(0), json!(1)]);
    study.assert_all_but_one(&to.serve()).await;

    // An archive is no sealed file, and a damaged one would be handed out as if it were whole.
    let copied = archives(&backup);
    assert_eq!(copied.len(), 1);
    flip(&copied[0]);
    let to = Place::on_sqlite();
    let output = to.command(&["restore", &text(&backup)]);
    assert_eq!(output.status.code(), DONE_WITH_DAMAGE, "{}", said(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["damaged"].as_array().unwrap().len(), 2, "{report}");
    assert_eq!(archives(&to.data()), Vec::<PathBuf>::new());
    drop(study.service);
}

fn archives(folder: &Path) -> Vec<PathBuf> {
    let Ok(patients) = std::fs::read_dir(folder.join("objects/exports")) else { return Vec::new() };
    let files = patients.flat_map(|patient| std::fs::read_dir(patient.unwrap().path()).unwrap());
    files.map(|file| file.unwrap().path()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_of_bytes_is_sound_when_the_store_is_damaged_and_heals_it() {
    let from = Place::on_sqlite();
    let study = Study::begin(&from).await;
    let path = study.file().await;
    let backup = text(&from.folder.path().join("backup"));
    from.done(&["backup", &backup, "--copy"]);
    flip(&object(&from.data(), &path));
    let (status, said) = from.refused(&["backup", &text(&from.folder.path().join("next"))]);
    assert_eq!(status, Some(1), "{said}");
    from.done(&["restore", &backup, "--segment", &path]);
    assert_eq!(noted(&from), [json!(0), json!(0)]);
    assert_eq!(study.status_of(&study.service, &study.ill, "activity").await, 200);

    let to = Place::on_sqlite();
    assert_eq!(to.done(&["restore", &backup])["damaged"], json!([]));
    // What came back from bytes of its own does not share them with the backup either.
    flip(&object(&to.data(), &path));
    to.done(&["restore", &backup, "--segment", &path]);

    // Databases that are lost while the objects are still there, one of them damaged.
    drop(study.service);
    for entry in std::fs::read_dir(from.data()).unwrap().map(Result::unwrap) {
        if entry.file_name().to_string_lossy().contains(".db") {
            std::fs::remove_file(entry.path()).unwrap();
        }
    }
    flip(&object(&from.data(), &path));
    assert_eq!(from.done(&["restore", &backup])["damaged"], json!([]));
    from.done(&["doctor", "--verify"]);
    let service = Service::start_with(&from.data(), &NAMED);
    let url = format!("{}/health/v2/raw-metrics/activity?{RANGE}", service.url);
    assert_eq!(reqwest::Client::new().get(url).bearer_auth(&study.ill.token).send().await.unwrap().status(), 200);
}
