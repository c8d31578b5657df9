//! The commands that speak to a service as anybody could: `import`, `simulate`, `demo`.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use flate2::write::GzEncoder;
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::harness::{Researcher, Service, pulseward, run};

#[tokio::test]
async fn a_compressed_file_is_imported_once() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    let file = data.path().join("temperature.csv.gz");
    let mut packed = GzEncoder::new(std::fs::File::create(&file).unwrap(), flate2::Compression::fast());
    writeln!(packed, "timestamp,date,temp_sk1,temp_amb").unwrap();
    for minute in 0..1000_i64 {
        writeln!(packed, "{},ignored,33.{:02},", 1_763_600_000_000 + minute * 60_000, minute % 100).unwrap();
    }
    // No skin is that hot: the row is rejected, the others are not.
    writeln!(packed, "1763700000000,ignored,3300,").unwrap();
    packed.finish().unwrap();

    let import = |compress: &str, file: &std::path::Path| {
        let file = file.to_str().unwrap();
        let options = ["--type", "temperature", "--time-zone", "Asia/Kolkata", "--compress", compress, "--json"];
        run(&[&["import", "--url", &service.url, "--bearer", &patient.token], &options[..], &[file]].concat())
    };
    let counts = |compress: &str| {
        let output = import(compress, &file);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    assert_eq!(counts("gzip"), json!({"rows": 1001, "stored": 1000, "duplicate": 0, "rejected": 1}));
    for compress in ["none", "zstd"] {
        assert_eq!(counts(compress), json!({"rows": 1001, "stored": 0, "duplicate": 1000, "rejected": 1}));
    }
    let path = "/health/v2/raw-metrics/temperature?from_date=2025-11-20T00:53:20Z&to_date=2025-11-20T00:54:20Z";
    let (_, rows) = researcher.get(path, Some(&patient.token)).await;
    assert_eq!(rows[1]["temp_sk1"], 33.01);
    assert_eq!(rows[1]["date"], "2025-11-20T06:24:20.000+05:30");

    let wrong = data.path().join("wrong.csv");
    std::fs::write(&wrong, "timestamp,temp_sk1\n1763600000000,warm\n").unwrap();
    let output = import("none", &wrong);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("line 2: `warm`"));
}

#[tokio::test]
async fn a_simulated_fleet_leaves_its_patients_and_their_rows() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let fleet = ["--patients", "3", "--types", "temperature,sleep", "--gzip", "--json"];
    let simulate = ["simulate", "--url", &service.url, "--token", &researcher.key, "--group", &researcher.group];
    let output = run(&[&simulate[..], &fleet].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1, "the study, and no bar without a terminal");
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&String> = summary.as_object().unwrap().keys().collect();
    assert_eq!(names, ["group", "p50_ms", "p99_ms", "patients", "seconds", "syncs", "values"]);
    assert_eq!(summary["patients"], 3);
    let path = format!("/integration/v1/groups/{}/patients?fields[]=state", researcher.group);
    let (_, patients) = researcher.get(&path, None).await;
    assert_eq!(patients.as_array().unwrap().len(), 3);
    let output = run(&["simulate", "--url", &service.url, "--token", "pwk_wrong", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
}

#[tokio::test]
async fn the_demonstration_prints_commands_that_work() {
    let data = tempdir().unwrap();
    let folder = data.path().join("kept");
    let options = ["--listen", "127.0.0.1:0", "--patients", "2", "--days", "2", "--data", folder.to_str().unwrap()];
    let mut demo = pulseward(&[&["demo"], &options[..]].concat()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(demo.stdout.take().unwrap()).lines().map_while(Result::ok);
    // The last of the three commands ends what is printed.
    let mut guide = Vec::new();
    for line in lines {
        let is_last = line.contains("raw-metrics");
        guide.push(line);
        if is_last {
            break;
        }
    }
    let address = |part: &str| {
        let line = guide.iter().find(|line| line.contains(part)).unwrap();
        let mut quoted = line.split('\'').filter(|piece| piece.starts_with("http://"));
        quoted.next().unwrap().to_owned()
    };
    let read = async |address: &str, bearer: Option<&str>| {
        let mut request = reqwest::Client::new().get(address);
        if let Some(token) = bearer {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200, "{address}");
        answer.json::<Value>().await.unwrap()
    };
    let patients = read(&address("with_latest_values=1"), None).await;
    assert_eq!(patients.as_array().unwrap().len(), 2);
    let token = read(&address("health-token"), None).await;
    let rows = loop {
        let rows = read(&address("raw-metrics"), token["token"].as_str()).await;
        // Only for as long as the first upload takes; the test runner ends a wait without end.
        if rows.as_array().is_some_and(|rows| !rows.is_empty()) {
            break rows;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    };
    assert!(rows[0]["timestamp"].is_i64());
    let pid = demo.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(demo.wait().unwrap().code(), Some(0));
    assert!(folder.join("health.db").exists());
}
