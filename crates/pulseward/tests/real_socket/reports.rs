//! What commands that take long say meanwhile and at their end: which study, how far, which rows were rejected and why.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::harness::{Researcher, Service, pulseward, run};

/// Three times the five seconds that are promised, since the machine may be busy with other tests; ten times a
/// figure is allowed, but a stop that went on with its history took 16 to 30 seconds, and that has to be seen.
const SOON: Duration = Duration::from_secs(15);

#[tokio::test]
async fn simulated_study_is_named_at_the_start_and_in_the_result() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let simulate = ["simulate", "--url", &service.url, "--token", &researcher.key, "--patients", "1"];
    let simulate = [&simulate[..], &["--types", "sleep", "--json"]].concat();
    let codes = async || {
        let (_, groups) = researcher.get("/integration/v1/groups", None).await;
        let codes = groups.as_array().unwrap().iter().map(|group| group["code"].as_str().unwrap().to_owned());
        codes.collect::<Vec<_>>()
    };
    for (more, is_new) in [(&[][..], true), (&["--group", &researcher.group], false)] {
        let before = codes().await;
        let output = run(&[&simulate[..], more].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        let code = result["group"].as_str().unwrap();
        assert_eq!((codes().await.contains(&code.to_owned()), before.contains(&code.to_owned())), (true, !is_new));
        assert!(said.lines().next().unwrap().contains(code), "{said}");
    }
}

/// A fleet whose history takes minutes, stopped while it sends it.
#[tokio::test]
async fn fleet_that_is_stopped_in_its_history_says_how_far_it_came_and_fails() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    for (signal, more) in [("-TERM", &[][..]), ("-INT", &["--live"])] {
        let simulate = ["simulate", "--url", &service.url, "--token", &researcher.key, "--patients", "40"];
        let mut fleet = pulseward(&[&simulate[..], &["--days", "3650", "--json"], more].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let began = Instant::now();
        let lines = BufReader::new(fleet.stderr.take().unwrap()).lines();
        let said =
            std::thread::spawn(move || lines.map_while(Result::ok).map(|line| (began.elapsed(), line)).collect());
        std::thread::sleep(Duration::from_secs(13));
        assert!(fleet.try_wait().unwrap().is_none(), "it is still sending");
        let asked = Instant::now();
        assert!(Command::new("kill").args([signal, &fleet.id().to_string()]).status().unwrap().success());
        let output = fleet.wait_with_output().unwrap();
        assert!(asked.elapsed() < SOON, "{:?}", asked.elapsed());
        let said: Vec<(Duration, String)> = said.join().unwrap();
        assert_eq!(output.status.code(), Some(1), "{said:?}");
        let (_, last) = said.last().unwrap();
        assert!(last.starts_with("error: stopped after "), "{said:?}");
        let numbers: Vec<u64> = last.split(' ').filter_map(|word| word.parse().ok()).collect();
        assert!(matches!(numbers[..], [done, all] if 0 < done && done < all / 2), "{last}");
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(result["syncs"].as_u64() > Some(0), "what was sent is reported all the same: {result}");
        // Nobody sees a bar where standard error is no terminal.
        let progress: Vec<_> = said.iter().filter(|(_, line)| line.starts_with("sending history: ")).collect();
        assert!(!progress.is_empty(), "{said:?}");
        assert!(progress.iter().all(|(_, line)| line.contains(" of ")), "{said:?}");
        let waits = progress.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].0));
        assert!(waits.into_iter().all(|wait| wait > Duration::from_secs(4)), "{said:?}");
    }
}

#[tokio::test]
async fn rejected_rows_of_an_import_are_named_with_file_line_and_reason() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    let file = |name: &str, lines: &[String]| {
        let path = data.path().join(name);
        std::fs::write(&path, format!("timestamp,temp_sk1\n{}\n", lines.join("\n"))).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let row = |minute: i64, value: &str| format!("{},{value}", 1_763_600_000_000_i64 + minute * 60_000);
    let good: Vec<String> = (0..5).map(|minute| row(minute, "33.1")).collect();
    let first = file("first.csv", &[&good[..], &[row(5, "3300")]].concat());
    let many: Vec<String> =
        (10..210).map(|minute| row(minute, if minute % 2 == 0 { "33.2" } else { "-500" })).collect();
    let second = file("second.csv", &many);
    let import = ["import", "--url", &service.url, "--bearer", &patient.token, "--type", "temperature", "--json"];
    let output = run(&[&import[..], &[&first, &second]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let counts: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(counts, json!({"rows": 206, "stored": 105, "duplicate": 0, "rejected": 101}));
    let rejected: Vec<&str> = said.lines().filter(|line| line.starts_with("rejected: ")).collect();
    assert_eq!(rejected.len(), 100, "{said}");
    assert!(rejected[0].starts_with(&format!("rejected: {first}, line 7: temp_sk1 ")), "{said}");
    assert!(rejected[1].starts_with(&format!("rejected: {second}, line 3: temp_sk1 ")), "{said}");
    assert!(rejected[99].starts_with(&format!("rejected: {second}, line 199: temp_sk1 ")), "{said}");
    assert!(said.contains("1 more rows were rejected"), "{said}");
}
