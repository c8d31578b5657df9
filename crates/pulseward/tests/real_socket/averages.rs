//! Averages in the examples of the guides: values that mean "no value" are in none of them, and what the guides show is
//! what the examples print.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use tempfile::tempdir;

use crate::demonstration::Demonstration;
use crate::exports::{BEGIN_MS, python_with_readers};
use crate::guides::blocks::{Block, blocks_of};
use crate::guides::{patient_with_data, yesterday};
use crate::harness::{Researcher, Service, pulseward, store_command};

const LAKE: &str = "docs/exports.md";
/// Number of the signal of a program that aborts.
const SIGABRT: i32 = 6;
const SAMPLES: &str = "docs/getting-started-data-scientist.md";

/// A place that the examples read from.
struct Place<'place> {
    /// Folder of the store.
    data: &'place Path,
    url: &'place str,
    key: &'place str,
    group: &'place str,
    /// Uuid of the patient that some examples ask for.
    patient: &'place str,
}

impl Place<'_> {
    /// Seals everything and mirrors it; returns the folder of the mirror.
    fn mirrored(&self) -> String {
        store_command(self.data, &["seal", "--now"]);
        let mirror = self.data.join("mirror").to_str().unwrap().to_owned();
        let from = ["--url", self.url, "--token", self.key, "--group", self.group];
        let output = pulseward(&[&["lake", "copy"], &from[..], &[&mirror]].concat()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        mirror
    }

    /// Runs a program with the names that the guides give to a place; returns what it printed.
    fn run(&self, python: &str, program: &str, mirror: &str) -> String {
        let run = || {
            Command::new(python)
                .args(["-c", program])
                .envs([("MIRROR", mirror), ("URL", self.url), ("TOKEN", self.key), ("GROUP", self.group)])
                .envs([("PULSEWARD_URL", self.url), ("PULSEWARD_TOKEN", self.key), ("UUID", self.patient)])
                .current_dir(self.data)
                .output()
                .unwrap()
        };
        let mut output = run();
        // On a busy machine a library of readers aborts now and then while Python ends, when its threads outlive the
        // interpreter. That says nothing of the example; a second abort would.
        if output.status.signal() == Some(SIGABRT) && output.stderr.starts_with(b"terminate called without") {
            output = run();
        }
        assert!(output.status.success(), "{program}\n{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs the examples of the lake; returns what each printed, in their order.
    fn of_lake(&self, python: &str) -> Vec<String> {
        let mirror = self.mirrored();
        let programs = blocks_of(LAKE).into_iter().filter(|block| block.language == "python");
        programs.map(|block| self.run(python, &block.text, &mirror)).collect()
    }

    /// Runs the examples of samples that need libraries, behind the one whose functions they use.
    fn of_samples(&self, python: &str) -> String {
        let programs: Vec<Block> = blocks_of(SAMPLES).into_iter().filter(|block| block.language == "python").collect();
        let marks: Vec<&str> = programs.iter().map(|block| block.mark.as_str()).collect();
        assert_eq!(marks, ["", "readers"]);
        let program: Vec<&str> = programs.iter().map(|block| block.text.as_str()).collect();
        self.run(python, &program.join("\n"), "")
    }
}

/// The words of a text in their order, with one sign for each that has digits or names a patient or a zone.
fn form(text: &str) -> Vec<String> {
    let is_figure = |word: &str| {
        let is_patient = word.len() == 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_zone = word.contains('/') || word == "UTC";
        is_patient || is_zone || word.bytes().any(|byte| byte.is_ascii_digit())
    };
    let word_of = |word: &str| if is_figure(word) { "#".to_owned() } else { word.to_owned() };
    text.split_whitespace().map(word_of).collect()
}

/// An hour of activity in which every third row has no value.
async fn place_with_zeros(service: &Service, researcher: &Researcher) -> String {
    let patient = researcher.enrol().await;
    let times: Vec<i64> = (0..60).map(|minute| BEGIN_MS + minute * 60_000).collect();
    let with_none = |value: f64| -> Vec<f64> { (0..60).map(|row| if row % 3 == 0 { 0.0 } else { value }).collect() };
    let data = json!({"activity": {"timestamp": times, "bpm": with_none(61.0), "spo2": with_none(97.5),
        "respiration_rate": with_none(14.5)}});
    let (status, receipt) = researcher.sync(&patient, &json!({ "data": data })).await.unwrap();
    assert_eq!((status, &receipt["types"]["activity"]["stored"]), (200, &json!(60)), "{} {receipt}", service.url);
    patient.uuid
}

#[tokio::test(flavor = "multi_thread")]
async fn examples_of_the_lake_leave_out_what_means_no_value() {
    let Some(python) = python_with_readers() else { return };
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = place_with_zeros(&service, &researcher).await;
    let (url, key, group) = (service.url.as_str(), researcher.key.as_str(), researcher.group.as_str());
    let place = Place { data: data.path(), url, key, group, patient: &patient };
    let short = &patient[..8];
    let expected = [
        format!("{short} 2025-11-19 00:00 heart rate 61.0 of 60 rows\n"),
        format!("{short} 2025-11-19 oxygen saturation 97.5 of 60 rows\n"),
        "60 rows to 2025-11-19 01:59 in Europe/Zurich\nbpm                 61.0\nrespiration_rate    14.5\nspo2                97.5\n"
            .to_owned(),
    ];
    assert_eq!(place.of_lake(&python), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn examples_of_samples_leave_out_what_means_no_value() {
    let Some(python) = python_with_readers() else { return };
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = patient_with_data(&researcher).await.uuid;
    let (url, key, group) = (service.url.as_str(), researcher.key.as_str(), researcher.group.as_str());
    let place = Place { data: data.path(), url, key, group, patient: &patient };
    let printed = place.of_samples(&python);
    assert_eq!(printed.matches("61 minutes, heart rate 61.0\n").count(), 2, "{printed}");

    store_command(data.path(), &["seal", "--now"]);
    let question = blocks_of(SAMPLES).into_iter().find(|block| block.language == "sql").unwrap();
    let program = format!("import duckdb\nfor row in duckdb.sql('''{}''').fetchall(): print(row[2])", question.text);
    assert_eq!(place.run(&python, &program, ""), "61.0\n61.0\n");
}

/// What the guides show as printed has the form of what their examples print on the demonstration that they recommend.
#[tokio::test(flavor = "multi_thread")]
async fn examples_print_on_todays_demonstration_what_the_guides_show() {
    let Some(python) = python_with_readers() else { return };
    let demo = Demonstration::start();
    demo.derived(&yesterday()).await;
    let (url, key, group) = (demo.url.as_str(), demo.key.as_str(), demo.group.as_str());
    let place = Place { data: &demo.folder, url, key, group, patient: &demo.patient };
    let shown = |guide: &str| -> Vec<String> {
        blocks_of(guide).into_iter().filter(|block| block.language == "text").map(|block| block.text).collect()
    };
    let (printed, shown_of_lake) = (place.of_lake(&python), shown(LAKE));
    assert_eq!(printed.len(), shown_of_lake.len());
    for (printed, shown) in printed.iter().zip(&shown_of_lake) {
        assert_eq!(form(printed), form(shown), "{printed}\n{shown}");
    }
    let printed = place.of_samples(&python);
    assert_eq!(form(&printed), form(&shown(SAMPLES).concat()), "{printed}");
}
