//! The files in `deploy` for Prometheus and Grafana, held against the metrics that the service serves.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::harness::{Researcher, Service};

/// Endings of the series of a histogram.
const SERIES: [&str; 3] = ["_bucket", "_count", "_sum"];
/// Far longer than it takes until each background task has run once.
const LONGEST_START: Duration = Duration::from_mins(1);

fn at_root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn text_at_root(path: &str) -> String {
    std::fs::read_to_string(at_root(path)).unwrap()
}

/// Runs the tool that checks rules and metrics. `None`, after saying so loudly, where it is not installed.
fn promtool(arguments: &[&str], folder: &Path, input: &str) -> Option<Output> {
    let command = Command::new("promtool")
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut command) = command else {
        testkit::skip("promtool is not installed");
        return None;
    };
    // Closed behind the text, which is its end.
    command.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    Some(command.wait_with_output().unwrap())
}

fn assert_passes(output: &Output) {
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", said(&output.stdout), said(&output.stderr));
}

fn is_metric(word: &str) -> bool {
    word.starts_with("pulseward_") || word.starts_with("process_")
}

/// Metrics that are named in a text, without the endings of histograms.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| is_metric(word)).map(without_ending).collect()
}

fn without_ending(name: &str) -> String {
    SERIES.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name).to_owned()
}

/// Queries of the dashboard.
fn queries() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(&text_at_root("deploy/grafana/pulseward.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect()
}

/// Names of the alerts.
fn alerts() -> Vec<String> {
    let rules = text_at_root("deploy/prometheus/alerts.yml");
    let alerts: Vec<String> =
        rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).map(str::to_owned).collect();
    assert!(alerts.len() > 15, "{alerts:?}");
    alerts
}

/// Metrics in the table of `docs/operations.md`.
fn documented() -> BTreeSet<String> {
    let text = text_at_root("docs/operations.md");
    let mut names = BTreeSet::new();
    for row in text.lines().filter(|line| line.strip_prefix("| `").is_some_and(is_metric)) {
        let cell = row.split('|').nth(1).unwrap();
        let mut first = None;
        for name in cell.split('`').filter(|part| is_metric(part) || part.starts_with("...")) {
            let name = name.split('{').next().unwrap();
            // `..._in_use` is the first metric of the row with that ending.
            let name = match (name.strip_prefix("..."), &first) {
                (Some(end), Some(first)) => format!("{first}{end}"),
                _ => name.to_owned(),
            };
            first.get_or_insert_with(|| name.clone());
            names.insert(name);
        }
    }
    names
}

/// Does what the metrics count that appear with their first count.
async fn work_once(researcher: &Researcher) {
    let patient = researcher.enrol().await;
    let body = json!({"data": {"activity": {"timestamp": [1_763_600_000_000_i64], "last_steps": [7], "wearing": 4}}});
    assert_eq!(researcher.sync(&patient, &body).await.unwrap().0, 200);
    // The second one is a conflict, a store operation that fails.
    let bracelet = json!({"serial_number": "one", "device_type": "wrist"});
    let add = async || researcher.post("/integration/v1/bracelets", None, &bracelet).await;
    let (first, second) = (add().await, add().await);
    assert_eq!((first.0, second.0), (200, 409), "{first:?} {second:?}");
}

fn families(text: &str) -> BTreeSet<String> {
    text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).map(str::to_owned).collect()
}

#[tokio::test]
async fn served_metrics_are_those_of_the_documentation_and_well_formed() {
    let data = tempdir().unwrap();
    let service = Service::start_with(data.path(), &["--metrics-listen", "127.0.0.1:0"]);
    let address = service.said.iter().find_map(|line| line.strip_prefix("metrics on ")).unwrap();
    work_once(&Researcher::new(data.path(), &service.url).await).await;
    let documented = documented();
    let begun = Instant::now();
    let text = loop {
        let text = reqwest::get(address).await.unwrap().text().await.unwrap();
        // Until each background task has run.
        if documented.is_subset(&families(&text)) || begun.elapsed() > LONGEST_START {
            break text;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert_eq!(families(&text), documented, "served, and in docs/operations.md");
    for disk in ["databases", "objects"] {
        let free = format!("pulseward_disk_free_bytes{{holds=\"{disk}\"}} ");
        let free = text.lines().find_map(|line| line.strip_prefix(&free)).unwrap_or_else(|| panic!("{text}"));
        assert!(free.parse::<f64>().unwrap() > 0.0);
    }
    let version = format!("pulseward_build_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION"));
    assert!(text.lines().any(|line| line == version), "{text}");
    if let Some(checked) = promtool(&["check", "metrics"], data.path(), &text) {
        assert_passes(&checked);
    }
}

#[test]
fn rules_are_valid_and_each_is_raised_in_a_test() {
    let folder = at_root("deploy/prometheus");
    let checks = [&["check", "config", "prometheus.yml"][..], &["check", "rules", "alerts.yml"]];
    for arguments in checks.into_iter().chain([&["test", "rules", "alerts_test.yml"][..]]) {
        let Some(checked) = promtool(arguments, &folder, "") else { return };
        assert_passes(&checked);
    }
    let tests = text_at_root("deploy/prometheus/alerts_test.yml");
    for alert in alerts() {
        // A firing alert that is expected: as a sample, or with its labels.
        let as_sample = format!("labels: 'ALERTS{{alertname=\"{alert}\"");
        let with_labels = format!("alertname: {alert}\n        exp_alerts:\n          - exp_labels:");
        assert!(tests.contains(&as_sample) || tests.contains(&with_labels), "no test raises {alert}");
    }
}

#[test]
fn each_alert_has_a_line_of_what_to_do() {
    let operations = text_at_root("docs/operations.md");
    let described: BTreeSet<&str> = operations
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` |"))
        .filter(|(name, rest)| name.starts_with("Pulseward") && rest.len() > 40)
        .map(|(name, _)| name)
        .collect();
    let alerts = alerts();
    assert_eq!(described, alerts.iter().map(String::as_str).collect());
}

#[test]
fn rules_and_dashboard_use_metrics_that_there_are() {
    let used = metrics_in(&format!("{}{}", text_at_root("deploy/prometheus/alerts.yml"), queries().join("\n")));
    let documented = documented();
    let unknown: Vec<_> = used.difference(&documented).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn queries_of_the_dashboard_can_be_read() {
    let queries = queries();
    assert!(queries.len() > 30, "{}", queries.len());
    let rule = |(number, query): (usize, &String)| json!({"record": format!("panel:{number}"), "expr": query.replace("$instance", ".*")});
    let rules: Vec<Value> = queries.iter().enumerate().map(rule).collect();
    // Every JSON is YAML.
    let file = json!({"groups": [{"name": "dashboard", "rules": rules}]}).to_string();
    let folder = tempdir().unwrap();
    std::fs::write(folder.path().join("rules.yml"), file).unwrap();
    if let Some(checked) = promtool(&["check", "rules", "rules.yml"], folder.path(), "") {
        assert_passes(&checked);
    }
}
