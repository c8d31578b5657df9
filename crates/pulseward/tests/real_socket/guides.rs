//! The examples of the guides, run as they are written against a service that was started for them.
//!
//! Blocks of a guide run in their order in one shell, each Python block as a program of its own. The word behind a
//! block's language says what else it is: `no-run` (it installs, builds or needs what is not here), `readers` (it needs
//! libraries of Python and follows the blocks before it; `averages.rs` runs it), or `yours` (what the reader puts in; the
//! test puts in its own values for the same names).

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::demonstration::Demonstration;
use crate::harness::{Patient, Researcher, Service};

const DAY_MS: i64 = 86_400_000;

/// Begin of yesterday in UTC, ms: the day of which the guides speak.
#[expect(clippy::disallowed_methods, reason = "the guides go by the clock of the machine")]
fn yesterday_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond().div_euclid(DAY_MS) * DAY_MS - DAY_MS
}

/// The same as a date.
pub fn yesterday() -> String {
    jiff::Timestamp::from_millisecond(yesterday_ms()).unwrap().strftime("%F").to_string()
}

/// What the test puts in for the reader.
type Yours<'value> = [(&'static str, &'value str)];

/// A block of a guide.
pub struct Block {
    pub language: String,
    pub mark: String,
    pub text: String,
}

/// The fenced blocks of a guide.
pub fn blocks_of(guide: &str) -> Vec<Block> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(guide);
    let text = std::fs::read_to_string(path).unwrap();
    let mut blocks: Vec<Block> = Vec::new();
    let mut is_inside = false;
    for line in text.lines() {
        match line.strip_prefix("```") {
            Some(_) if is_inside => is_inside = false,
            Some(info) => {
                let (language, mark) = info.split_once(' ').unwrap_or((info, ""));
                let (language, mark) = (language.to_owned(), mark.to_owned());
                blocks.push(Block { language, mark, text: String::new() });
                is_inside = true;
            }
            None if is_inside => {
                let block = blocks.last_mut().unwrap();
                block.text.push_str(line);
                block.text.push('\n');
            }
            None => {}
        }
    }
    assert!(!is_inside, "a block of {guide} has no end");
    blocks
}

/// The names that a block exports.
fn exported(block: &Block) -> impl Iterator<Item = &str> {
    block.text.lines().map(|line| {
        let assignment = line.strip_prefix("export ").unwrap_or_else(|| panic!("`{line}` exports nothing"));
        assignment.split_once('=').unwrap().0
    })
}

/// One shell script of all that a guide lets run.
fn script_of(guide: &str, yours: &Yours) -> String {
    // What goes wrong ends the script: a status of the service that is no success, a field that is not there. Each answer
    // has a line of its own.
    let mut script = String::from(
        "set -euo pipefail\n\
         curl() { command curl --fail-with-body --show-error \"$@\" && echo; }\n\
         jq() { command jq -e \"$@\"; }\n",
    );
    let mut named = BTreeSet::new();
    for block in blocks_of(guide) {
        match (block.language.as_str(), block.mark.as_str()) {
            ("sh", "") => script.push_str(&block.text),
            ("sh", "yours") => {
                for name in exported(&block) {
                    let value = yours.iter().find(|(known, _)| *known == name);
                    let (_, value) = value.unwrap_or_else(|| panic!("the test knows no {name} of {guide}"));
                    writeln!(script, "export {name}='{value}'").unwrap();
                    named.insert(name.to_owned());
                }
            }
            ("python", "") => write!(script, "python3 - <<'END OF PYTHON'\n{}END OF PYTHON\n", block.text).unwrap(),
            ("sh" | "python", "no-run") | ("python", "readers") | ("ini" | "toml" | "sql" | "json" | "text", "") => {}
            (language, mark) => panic!("a block of {guide} is marked `{language} {mark}`"),
        }
    }
    let known: BTreeSet<String> = yours.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(named, known, "what {guide} asks the reader for");
    script
}

/// Runs a guide; answers what its examples printed.
fn run_guide(guide: &str, yours: &Yours) -> String {
    let folder = tempdir().unwrap();
    let mut shell = Command::new("bash");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PULSEWARD_")) {
        shell.env_remove(name);
    }
    let program = PathBuf::from(env!("CARGO_BIN_EXE_pulseward"));
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var_os("PATH").unwrap().display());
    let output = shell.arg("-c").arg(script_of(guide, yours)).env("PATH", path).current_dir(&folder).output().unwrap();
    let (reported, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{guide}: {}\n{reported}\n{errors}", output.status);
    reported.into_owned()
}

/// Whether the programs are here that the guides use.
fn can_run() -> bool {
    let missing: Vec<&str> = ["bash", "curl", "jq", "python3"]
        .into_iter()
        .filter(|program| Command::new(program).arg("--version").output().is_err())
        .collect();
    if !missing.is_empty() {
        testkit::skip(&format!("the guides need {missing:?}"));
    }
    missing.is_empty()
}

/// The answers among what was printed: all JSON that begins a line.
fn answers(reported: &str) -> Vec<Value> {
    let (mut rest, mut found) = (reported, Vec::new());
    while !rest.is_empty() {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let end = match values.next() {
            Some(Ok(value)) if value.is_object() || value.is_array() => {
                found.push(value);
                values.byte_offset()
            }
            _ => rest.find('\n').map_or(rest.len(), |end| end + 1),
        };
        rest = &rest[end..];
    }
    found
}

/// A patient with an hour of heart rate and beats on the day of which the guides speak.
pub async fn patient_with_data(researcher: &Researcher) -> Patient {
    let patient = researcher.enrol().await;
    let begin_ms = yesterday_ms() + 3_200_000;
    let minutes: Vec<i64> = (0..61).map(|minute| begin_ms + minute * 60_000).collect();
    // The last minute has no value: 0 is none.
    let rates: Vec<i64> = (0..61).map(|minute| if minute < 60 { 61 } else { 0 }).collect();
    let beats: Vec<i64> = (0..101).map(|beat| begin_ms + beat * 850).collect();
    let intervals: Vec<i64> = (0..101).map(|beat| 800 + beat % 2 * 100).collect();
    let data = json!({"activity": {"timestamp": minutes, "bpm": rates, "last_steps": 2, "wearing": 4},
        "rr-interval": {"timestamp": beats, "rr": intervals}});
    let (status, receipt) = researcher.sync(&patient, &json!({ "data": data })).await.unwrap();
    assert_eq!(status, 200, "{receipt}");
    let path = format!("/integration/v1/patients/{}/summary/{}", patient.uuid, yesterday());
    // Only for as long as the worker takes to compute the day; the test runner ends a wait without end.
    while researcher.get(&path, None).await.1["heart_rate"]["avg_daily_heart_rate"].is_null() {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    patient
}

#[tokio::test]
async fn the_guide_for_researchers() {
    if !can_run() {
        return;
    }
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = patient_with_data(&researcher).await;
    let yours = [
        ("PULSEWARD_URL", service.url.as_str()),
        ("PULSEWARD_TOKEN", &researcher.key),
        ("GROUP", &researcher.group),
        ("UUID", &patient.uuid),
    ];
    let reported = run_guide("getting-started-researcher.md", &yours);
    assert!(reported.contains(&format!("  {}: 122 steps, 61.0 beats a minute", patient.uuid)), "{reported}");
    assert!(reported.contains("Night shifts"), "{reported}");
    assert!(reported.contains(r#""raw_data_rr_interval":101"#), "{reported}");
    assert!(reported.contains(r#""latest_values":{"heart_rate":61.0"#), "{reported}");
    assert!(reported.contains(r#""compliance":4.5"#), "an hour that touches 13 of 288 slots: {reported}");
}

#[tokio::test]
async fn the_guide_for_data_scientists() {
    if !can_run() {
        return;
    }
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = patient_with_data(&researcher).await;
    let yours =
        [("PULSEWARD_URL", service.url.as_str()), ("PULSEWARD_TOKEN", &researcher.key), ("UUID", &patient.uuid)];
    let reported = run_guide("getting-started-data-scientist.md", &yours);
    assert!(reported.contains("101 beats, RMSSD 100 ms"), "{reported}");
    assert!(reported.contains("61 minutes, heart rate 61.0"), "a 0 is no heart rate: {reported}");
}

#[tokio::test]
async fn the_guide_for_app_developers() {
    if !can_run() {
        return;
    }
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let path = format!("/integration/v1/groups/{}/patients", researcher.group);
    let (_, voucher) = researcher.post(&path, None, &json!({})).await;
    let reader = patient_with_data(&researcher).await;
    let yours = [
        ("PULSEWARD_URL", service.url.as_str()),
        ("CODE", voucher["code"].as_str().unwrap()),
        ("TOKEN", &reader.token),
        ("PULSEWARD_TOKEN", &researcher.key),
    ];
    let reported = run_guide("getting-started-app-developer.md", &yours);
    let answers = answers(&reported);
    let receipt = answers.iter().find(|answer| answer["sync_id"].is_string()).unwrap();
    assert_eq!(receipt["types"]["activity"]["stored"], 2);
    assert!(answers.iter().any(|answer| answer["user"]["uuid"] == voucher["uuid"]), "the login: {reported}");
    assert!(answers.iter().any(|answer| answer["authorization_endpoint"].is_string()), "{reported}");
    let pages = answers.iter().find(|answer| answer["total"].is_i64()).unwrap();
    assert_eq!((&pages["total"], &pages["data"][19]["heart_rate"]["max_daily_heart_rate"]), (&json!(20), &json!(61)));
    let rows = answers.iter().find(|answer| answer.is_array()).unwrap();
    assert_eq!(rows.as_array().map(Vec::len), Some(61));
    let (_, groups) = researcher.get("/integration/v1/groups", None).await;
    let mut patients = 0;
    for group in groups.as_array().unwrap() {
        let path = format!("/integration/v1/groups/{}/patients", group["code"].as_str().unwrap());
        patients += researcher.get(&path, None).await.1.as_array().unwrap().len();
    }
    assert_eq!(patients, 4, "the two of this test and two that are simulated");
}

/// Every dated example finds something on the demonstration that the guides recommend.
#[tokio::test(flavor = "multi_thread")]
async fn guides_have_results_on_todays_demonstration() {
    if !can_run() {
        return;
    }
    let demo = Demonstration::start();
    demo.derived(&yesterday()).await;
    let common = [("PULSEWARD_URL", demo.url.as_str()), ("PULSEWARD_TOKEN", &demo.key), ("UUID", &demo.patient)];
    let reported = run_guide("getting-started-data-scientist.md", &common);
    for (what, unit) in [(" beats, RMSSD ", " ms"), (" minutes, heart rate ", "")] {
        let line = reported.lines().find(|line| line.contains(what)).unwrap_or_else(|| panic!("{reported}"));
        let (count, figure) = line.split_once(what).unwrap();
        assert!(count.parse::<u32>().unwrap() > 100, "{line}");
        let figure: f64 = figure.strip_suffix(unit).unwrap().parse().unwrap();
        assert!((10.0..200.0).contains(&figure), "{line}");
    }
    let yours = [&common[..], &[("GROUP", demo.group.as_str())]].concat();
    let reported = run_guide("getting-started-researcher.md", &yours);
    let answers = answers(&reported);
    let of_day = answers.iter().filter(|answer| answer["heart_rate"]["avg_daily_heart_rate"].is_number()).count();
    let of_study = answers.iter().find(|answer| answer[&demo.patient].is_object());
    assert!(of_day > 0, "the day of a patient: {reported}");
    let rate = &of_study.unwrap_or_else(|| panic!("{reported}"))[&demo.patient]["heart_rate"]["avg_daily_heart_rate"];
    assert!(rate.is_number(), "the day of everybody: {reported}");
    let compliance = answers.iter().find_map(|answer| answer["compliance"].as_f64());
    assert!(compliance > Some(0.0), "{reported}");
    let counts = answers.iter().find_map(|answer| answer["raw_data_activity"].as_u64());
    assert!(counts > Some(0), "{reported}");
    let rows = answers.iter().filter(|answer| answer[0]["bpm"].is_number()).count();
    assert!(rows > 0, "raw samples: {reported}");
    let line = reported
        .lines()
        .find(|line| line.contains(&format!("  {}: ", demo.patient)))
        .unwrap_or_else(|| panic!("{reported}"));
    assert!(!line.contains("None"), "{line}");
    let code = demo.voucher().await;
    let token = demo.health_token().await;
    let yours = [common[0], common[1], ("CODE", code.as_str()), ("TOKEN", &token)];
    let reported = run_guide("getting-started-app-developer.md", &yours);
    let answers = self::answers(&reported);
    let pages = answers.iter().find(|answer| answer["total"].is_i64()).unwrap_or_else(|| panic!("{reported}"));
    let days = pages["data"].as_array().unwrap();
    assert!(days.iter().any(|day| day["heart_rate"]["avg_daily_heart_rate"].is_number()), "{reported}");
    assert!(answers.iter().any(|answer| answer[0]["bpm"].is_number()), "{reported}");
}

#[tokio::test]
async fn the_guide_for_operators() {
    if !can_run() {
        return;
    }
    let data = tempdir().unwrap();
    let service = Service::start_with(data.path(), &["--metrics-listen", "127.0.0.1:0"]);
    let metrics = service.said.iter().find_map(|line| line.strip_prefix("metrics on ")).unwrap();
    let metrics_url = metrics.strip_suffix("/metrics").unwrap();
    let yours = [
        ("PULSEWARD_DATA", data.path().to_str().unwrap()),
        ("PULSEWARD_URL", &service.url),
        ("METRICS_URL", metrics_url),
    ];
    let reported = run_guide("getting-started-operator.md", &yours);
    assert!(
        reported.contains("pulseward_fold_queue_patients") && reported.contains("process_resident_memory_bytes"),
        "{reported}"
    );
    // Its visible prefix is printed too.
    let keys = reported.split_whitespace().filter(|word| word.starts_with("pwk_"));
    let key = keys.max_by_key(|word| word.len()).expect("a key");
    let answer = reqwest::Client::new().get(format!("{}/integration/v1/groups", service.url)).header("X-Api-Key", key);
    assert_eq!(answer.send().await.unwrap().status(), 200, "the key that was printed opens the service");
}
