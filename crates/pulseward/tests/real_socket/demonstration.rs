//! `pulseward demo`, as the guides recommend it.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Stdio};

use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::harness::pulseward;

/// A demonstration that has sent its history.
pub struct Demonstration {
    child: Child,
    _data: TempDir,
    /// Folder of its store.
    pub folder: PathBuf,
    /// What it printed.
    pub printed: String,
    pub url: String,
    /// API key of its researcher.
    pub key: String,
    pub group: String,
    /// Uuid of one of its patients.
    pub patient: String,
}

impl Demonstration {
    /// Starts one, and waits until its history is there.
    pub fn start() -> Self {
        let data = tempdir().unwrap();
        let folder = data.path().join("demo");
        let options = ["--listen", "127.0.0.1:0", "--patients", "2", "--days", "3", "--data", folder.to_str().unwrap()];
        let mut child = pulseward(&[&["demo"], &options[..]].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let guide = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        // The last of the three commands ends what is printed.
        let mut lines = Vec::new();
        for line in guide {
            let is_last = line.contains("raw-metrics");
            lines.push(line);
            if is_last {
                break;
            }
        }
        let printed = lines.join("\n");
        let said = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let (say_sent, is_sent) = std::sync::mpsc::channel();
        // Read to its end: a pipe that nobody reads would fill and hold the demonstration up.
        std::thread::spawn(move || {
            for line in said {
                if line.contains("days of history are there") {
                    let _ = say_sent.send(());
                }
            }
        });
        is_sent.recv().unwrap_or_else(|_| panic!("the demonstration ended: {printed}"));
        let word = |before: &str, end: &[char]| {
            let rest = printed.split_once(before).unwrap_or_else(|| panic!("{before}: {printed}")).1;
            rest.split(end).next().unwrap().to_owned()
        };
        let url = format!("http://{}", word("http://", &['/', '\'', '\n']));
        let (key, group) = (word("token=", &['&', '\'']), word("/v1/groups/", &['/']));
        let patient = word("/v1/patients/", &['/']);
        Demonstration { child, _data: data, folder, printed, url, key, group, patient }
    }

    /// Returns what a request of the researcher answers.
    pub async fn ask(&self, method: reqwest::Method, path: &str) -> Value {
        let request = reqwest::Client::new().request(method, format!("{}/integration{path}", self.url));
        request.header("X-Api-Key", &self.key).send().await.unwrap().json().await.unwrap()
    }

    /// Returns a voucher that nobody has used.
    pub async fn voucher(&self) -> String {
        let created = self.ask(reqwest::Method::POST, &format!("/v1/groups/{}/patients", self.group)).await;
        created["code"].as_str().unwrap().to_owned()
    }

    /// Returns a token for the patient's samples.
    pub async fn health_token(&self) -> String {
        let issued = self.ask(reqwest::Method::GET, &format!("/v1/patients/{}/health-token", self.patient)).await;
        issued["token"].as_str().unwrap().to_owned()
    }

    /// Waits until the heart rate of a date, of which it has data, is derived.
    pub async fn derived(&self, date: &str) {
        let path = format!("/v1/patients/{}/summary/{date}", self.patient);
        // Only for as long as the worker takes; the test runner ends a wait without end.
        while !self.ask(reqwest::Method::GET, &path).await["heart_rate"]["avg_daily_heart_rate"].is_number() {
            // Rarely: the guides ask with the same key, which has 180 requests a minute.
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        }
    }
}

impl Drop for Demonstration {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
