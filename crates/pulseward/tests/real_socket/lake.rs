//! The lake over the wire: mirrored as it grows, and read in one query.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::exports::{BEGIN_MS, fetch, python_with_readers, send_day};
use crate::harness::{Researcher, Service, pulseward, store_command};
use crate::sealed_day::SealedDay;

#[tokio::test]
async fn a_lake_is_mirrored_as_it_grows() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    send_day(&researcher, &patient).await;
    let mirror = data.path().join("mirror");
    let copy = |more: &[&str]| {
        let target = mirror.to_str().unwrap();
        let arguments =
            ["lake", "copy", "--url", &service.url, "--token", &researcher.key, "--group", &researcher.group, target];
        let output = pulseward(&[&arguments[..], more, &["--json"]].concat()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let counts = |done: &Value| ["copied", "present", "removed"].map(|name| done[name].as_u64().unwrap());
    let nothing = copy(&[]);
    assert_eq!(counts(&nothing), [0, 0, 0]);
    let open: Vec<&str> =
        nothing["open"].as_array().unwrap().iter().map(|open| open["type"].as_str().unwrap()).collect();
    assert_eq!(open.len(), 3, "what is not in files yet: {nothing}");
    let arguments = ["lake", "copy", "--url", &service.url, "--token", &researcher.key, "--group", &researcher.group];
    let output = pulseward(&[&arguments[..], &[mirror.to_str().unwrap()]].concat()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("there are no sealed files; not in files yet: activity from 2025-11-01T00:00:00.000Z"),
        "{said}"
    );
    store_command(data.path(), &["seal", "--now"]);
    let all = copy(&[]);
    assert_eq!((counts(&all), &all["open"]), ([3, 0, 0], &json!([])));
    assert_eq!(counts(&copy(&[])), [0, 0, 0]);
    assert_eq!(counts(&copy(&["--full"])), [0, 3, 0]);

    let body = json!({"data": {"activity": {"timestamp": [BEGIN_MS + 9_500_000], "bpm": [70]}}});
    assert_eq!(researcher.sync(&patient, &body).await.unwrap().0, 200);
    let plain = pulseward(&[&arguments[..], &[mirror.to_str().unwrap()]].concat()).output().unwrap();
    let plain = String::from_utf8(plain.stdout).unwrap();
    assert!(plain.contains("open:\n  from: ") && plain.contains("\n  type: activity\n"), "{plain}");
    store_command(data.path(), &["seal", "--now"]);
    let done = copy(&[]);
    assert_eq!(counts(&done), [1, 0, 1], "the new file takes the place of the old");

    let list = format!("/integration/v1/groups/{}/lake", researcher.group);
    let (_, first) = researcher.get(&format!("{list}?per_page=2"), None).await;
    assert_eq!((first["files"].as_array().unwrap().len(), &first["more"]), (2, &json!(true)));
    let since = first["next_since"].as_str().unwrap();
    let (_, second) = researcher.get(&format!("{list}?per_page=2&since={since}"), None).await;
    assert_eq!((second["files"].as_array().unwrap().len(), &second["more"]), (1, &json!(false)));
    let file = &second["files"][0];
    assert_eq!((&file["type"], &file["period"], &file["rows"]), (&json!("activity"), &json!("2025-11"), &json!(122)));
    let bytes = fetch(file["url"].as_str().unwrap()).await;
    assert_eq!(bytes, std::fs::read(mirror.join(file["path"].as_str().unwrap())).unwrap());
    let other = Researcher::another(data.path(), &service.url, "eve@study.example").await;
    assert_eq!(other.get(&list, None).await.0, 403);

    // Damage that leaves the size as it is is found where everything is looked at again.
    let copied = mirror.join(file["path"].as_str().unwrap());
    std::fs::write(&copied, vec![0; bytes.len()]).unwrap();
    assert_eq!(counts(&copy(&[])), [0, 0, 0]);
    assert_eq!(counts(&copy(&["--full"])), [1, 2, 0]);
    assert_eq!(std::fs::read(&copied).unwrap(), bytes);
    // Files of others stay where a mirror is begun; in a mirror nothing else is at home.
    let (stranger, state) = (mirror.join("v1/type=activity/mine.parquet"), mirror.join("pulseward-lake.json"));
    std::fs::write(&stranger, "mine").unwrap();
    std::fs::remove_file(&state).unwrap();
    assert_eq!(counts(&copy(&["--full"])), [0, 3, 0]);
    assert!(stranger.exists());
    assert_eq!(counts(&copy(&["--full"])), [0, 3, 1]);

    let (_, log) = researcher.get("/integration/v1/patients/audit/logs?from=0&to=9999999999999", None).await;
    let listed = log.as_array().unwrap().iter().filter(|entry| entry["action_type"] == "PATIENT_API_EXPORT");
    assert!(listed.count() >= 4, "each listing that names files is counted");
}

/// What the catalog says of one file is damaged, then right again.
#[tokio::test(flavor = "multi_thread")]
async fn mirror_keeps_what_the_service_cannot_list_and_fetches_it_later() {
    let SealedDay { data, service, researcher, patient } = SealedDay::begin().await;
    let (mirror, late) = (data.path().join("mirror"), data.path().join("late"));
    let copy = |target: &Path, more: &[&str]| {
        let arguments =
            ["lake", "copy", "--url", &service.url, "--token", &researcher.key, "--group", &researcher.group];
        let output =
            pulseward(&[&arguments[..], more, &["--json", target.to_str().unwrap()]].concat()).output().unwrap();
        let done: Value = serde_json::from_slice(&output.stdout).unwrap();
        let counts = ["copied", "present", "removed"].map(|name| done[name].as_u64().unwrap());
        (output.status.code(), counts, String::from_utf8(output.stderr).unwrap())
    };
    let damage = |by: i64| {
        let health = rusqlite::Connection::open(data.path().join("health.db")).unwrap();
        let one = "UPDATE segment SET sum = sum + ?1 WHERE data_type = (SELECT MIN(data_type) FROM segment)";
        assert_eq!(health.execute(one, [by]).unwrap(), 1);
    };
    let (status, counts, _) = copy(&mirror, &[]);
    let [all, ..] = counts;
    assert_eq!((status, counts), (Some(0), [all, 0, 0]));
    damage(1);
    let (status, counts, said) = copy(&mirror, &["--full"]);
    assert_eq!((status, counts), (Some(1), [0, all - 1, 0]), "{said}");
    assert!(said.contains(&patient.uuid), "{said}");
    assert_eq!(copy(&late, &[]).1, [all - 1, 0, 0]);
    damage(-1);
    let (status, counts, said) = copy(&late, &[]);
    assert_eq!((status, counts), (Some(0), [1, all - 1, 0]), "{said}");
    assert_eq!(copy(&mirror, &["--full"]).1, [0, all, 0]);
}

/// Types with days and types with months have one key of periods, so that a reader of hives takes all of them at once.
#[tokio::test(flavor = "multi_thread")]
async fn one_query_reads_every_type_of_a_mirror() {
    let Some(python) = python_with_readers() else { return };
    let SealedDay { data, service, researcher, patient } = SealedDay::begin().await;
    let mirror = data.path().join("mirror");
    let target = mirror.to_str().unwrap();
    let copy =
        ["lake", "copy", "--url", &service.url, "--token", &researcher.key, "--group", &researcher.group, target];
    assert!(pulseward(&copy).output().unwrap().status.success());
    let program = r#"
import os, duckdb
files = f'{os.environ["MIRROR"]}/v1/**/*.parquet'
rows = duckdb.sql(f"""SELECT type, period, typeof(period), patient, count(*)
    FROM read_parquet('{files}', hive_partitioning = true, union_by_name = true) GROUP BY ALL ORDER BY ALL""")
for row in rows.fetchall():
    print(*row)
"#;
    let output = Command::new(&python).args(["-c", program]).env("MIRROR", target).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let uuid = &patient.uuid;
    let expected = format!(
        "activity 2025-11-01 DATE {uuid} 121\nppg2 2025-11-19 DATE {uuid} 230400\ntests 2025-11-01 DATE {uuid} 1"
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), expected);
}

/// A mirror of before there was one key has its files under `day=` and `month=`.
#[tokio::test]
async fn files_under_former_keys_are_replaced_by_later_ones() {
    let SealedDay { data, service, researcher, patient } = SealedDay::begin().await;
    let mirror = data.path().join("mirror");
    let copy = || {
        let target = mirror.to_str().unwrap();
        let arguments =
            ["lake", "copy", "--url", &service.url, "--token", &researcher.key, "--group", &researcher.group, target];
        let output = pulseward(&[&arguments[..], &["--json"]].concat()).output().unwrap();
        let done: Value = serde_json::from_slice(&output.stdout).unwrap();
        ["copied", "present", "removed"].map(|name| done[name].as_u64().unwrap())
    };
    assert_eq!(copy(), [3, 0, 0]);
    let moved = [("activity", "2025-11-01", "month=2025-11"), ("ppg2", "2025-11-19", "day=2025-11-19")];
    let former = moved.map(|(data_type, date, former)| {
        let folder = mirror.join(format!("v1/type={data_type}"));
        std::fs::rename(folder.join(format!("period={date}")), folder.join(former)).unwrap();
        folder.join(former).join(format!("patient={}", patient.uuid))
    });
    let body = json!({"data": {"activity": {"timestamp": [BEGIN_MS + 9_500_000], "bpm": [70]},
        "ppg2": [{"start": BEGIN_MS + 9_500_000, "rate_hz": 16, "metric_id": "0x7e", "led_pd_pos": 6, "value": [1, 2]}]}});
    assert_eq!(researcher.sync(&patient, &body).await.unwrap().0, 200);
    store_command(data.path(), &["seal", "--now"]);
    assert_eq!(copy(), [2, 0, 2]);
    assert!(!former.iter().any(|folder| folder.exists()), "{former:?}");
}
