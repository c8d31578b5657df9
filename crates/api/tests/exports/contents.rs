//! What is in an archive: the cells of its files, its manifest and its dictionary, each against the others.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::{DAY_MS, MIDNIGHT_MS, Study, day, entries, entry};

fn manifest_of(archive: &[u8]) -> Value {
    serde_json::from_slice(&entry(archive, "manifest.json")).expect("JSON")
}

/// Cells of a CSV file with its header first.
fn cells(file: &[u8]) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(file);
    reader.records().map(|record| record.expect("a record").iter().map(str::to_owned).collect()).collect()
}

#[tokio::test]
async fn texts_with_commas_quotes_and_lines_come_out_of_csv_as_they_went_in() {
    let study = Study::begin().await;
    let notes = [
        "plain",
        "a, b",
        "she said \"no\"",
        "two\nlines",
        "carriage\r\nreturn",
        "=1+1",
        "@home",
        "-5",
        " blanks around ",
        "\"",
        ",",
        "\t",
        "名前 ü €",
        "'quoted'",
    ];
    let rows: Vec<Value> = notes
        .iter()
        .enumerate()
        .map(|(at, note)| {
            json!({"timestamp": MIDNIGHT_MS + at as i64 * 1000, "test_type": "other", "value": at, "note": note})
        })
        .collect();
    study.send(json!({ "tests": rows })).await;
    let archive = study.archive(day(&["tests"])).await;
    let table = cells(&entry(&archive, "tests.csv"));
    assert_eq!(table[0], ["timestamp", "date", "test_type", "value", "unit", "quality", "note"]);
    let found: Vec<&str> = table[1..].iter().map(|row| row[6].as_str()).collect();
    assert_eq!(found, notes);
    assert!(table.iter().all(|row| row.len() == 7));
}

#[tokio::test]
async fn manifest_says_of_every_file_what_is_in_it() {
    let study = Study::begin().await;
    let at = |second: i64| MIDNIGHT_MS + second * 1000;
    study
        .send(json!({
            "activity": {"timestamp": [at(0), at(60), at(7200)], "bpm": [60, null, 61], "core_temp": [36.95, null, 37]},
            "rr-interval": {"timestamp": [at(1), at(2)], "rr": [800.125, 812]},
            "sleep": {"timestamp": [at(30)], "sleep_state": [2]},
            "acc": [{"start": at(5), "rate_hz": 32, "accX": vec![1; 64], "accY": vec![2; 64], "accZ": vec![512; 64]}],
        }))
        .await;
    let archive = study.archive(day(&["sleep", "acc", "rr-interval", "activity", "ecg"])).await;
    let manifest = manifest_of(&archive);
    let files = manifest["files"].as_array().expect("files");
    let expected = [
        ("activity.csv", 3, at(0), at(7200)),
        ("rr-interval.csv", 2, at(1), at(2)),
        ("sleep.csv", 1, at(30), at(30)),
        ("acc.csv", 64, at(5), at(5) + 63_000 / 32),
    ];
    assert_eq!(files.len(), expected.len(), "{manifest}");
    for (name, rows, first, last) in expected {
        let file = files.iter().find(|file| file["name"] == name).unwrap_or_else(|| panic!("{name}: {manifest}"));
        let bytes = entry(&archive, name);
        assert_eq!((&file["rows"], &file["bytes"]), (&json!(rows), &json!(bytes.len())), "{name}");
        assert_eq!((&file["first_timestamp"], &file["last_timestamp"]), (&json!(first), &json!(last)), "{name}");
        assert_eq!(file["sha256"], platform::hex(digest(&SHA256, &bytes).as_ref()), "{name}");
        let table = cells(&bytes);
        assert_eq!(table.len(), rows + 1, "{name}");
        assert_eq!((table[1][0].parse(), table[rows][0].parse()), (Ok(first), Ok(last)), "{name}");
        let times: Vec<i64> = table[1..].iter().map(|row| row[0].parse().expect("ms")).collect();
        assert!(times.is_sorted(), "{name}");
    }
    let names: Vec<String> = entries(&archive).into_iter().map(|(name, _)| name).collect();
    let listed: Vec<&str> = files.iter().map(|file| file["name"].as_str().expect("a name")).collect();
    let data: Vec<&str> = names.iter().map(String::as_str).filter(|name| listed.contains(name)).collect();
    assert_eq!(names.len(), data.len() + 2, "the dictionary and the manifest are the only others: {names:?}");
}

#[tokio::test]
async fn dictionary_explains_every_column_of_every_file() {
    let study = Study::begin().await;
    let at = MIDNIGHT_MS;
    study
        .send(json!({
            "activity": {"timestamp": [at], "bpm": [60]},
            "heart-rate-variability": {"timestamp": [at], "rmssd": [30.5]},
            "temperature": {"timestamp": [at], "temp_sk1": [33.1]},
            "ppg1": [{"start": at, "rate_hz": 25, "ppg": [1, 2]}],
            "ppg2": [{"start": at, "rate_hz": 64, "metric_id": "0x7f", "led_pd_pos": 6, "value": [1, 2]}],
            "bioz": [{"start": at, "rate_hz": 25, "value": [1, 2]}],
            "ecg": [{"start": at, "rate_hz": 256, "ecg": [0.1, 0.2]}],
            "tests": {"timestamp": [at], "test_type": ["weight"], "value": [61.5]},
        }))
        .await;
    let types =
        ["activity", "heart-rate-variability", "temperature", "ppg1", "ppg2", "bioz", "ecg", "tests", "sleep", "acc"];
    let archive = study.archive(day(&types)).await;
    let mut described: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let dictionary = cells(&entry(&archive, "data_dictionary.csv"));
    assert_eq!(dictionary[0], ["type", "column", "unit", "meaning", "no_value"]);
    for row in &dictionary[1..] {
        assert!(!row[3].is_empty(), "{row:?}");
        assert_eq!(row[4] == "0", row[3].ends_with("; 0 means no value"), "{row:?}");
        described.entry(row[0].clone()).or_default().push(row[1].clone());
    }
    let mut seen = 0;
    for (name, bytes) in entries(&archive) {
        let Some(of_type) = types.iter().find(|of_type| name.starts_with(**of_type) && name != "data_dictionary.csv")
        else {
            continue;
        };
        let header = cells(&bytes).remove(0);
        assert_eq!(described[*of_type], header, "{name}");
        seen += 1;
    }
    assert_eq!(seen, 8, "types without rows have no file");
}

#[tokio::test]
async fn empty_cells_are_what_was_not_measured() {
    let study = Study::begin().await;
    let rows = json!([
        {"timestamp": MIDNIGHT_MS, "temp_sk1": 33.1, "temp_amb": -0.5},
        {"timestamp": MIDNIGHT_MS + 1, "temp_sk2": 33},
        {"timestamp": MIDNIGHT_MS + 2, "temp_sk1": null, "temp_sk2": 0, "temp_amb": 21.25},
    ]);
    study.send(json!({ "temperature": rows })).await;
    let archive = study.archive(day(&["temperature"])).await;
    let text = String::from_utf8(entry(&archive, "temperature.csv")).expect("text");
    assert_eq!(
        text,
        "timestamp,date,temp_sk1,temp_sk2,temp_amb\n\
         1763510400000,2025-11-19T01:00:00.000+01:00,33.1,,-0.5\n\
         1763510400001,2025-11-19T01:00:00.001+01:00,,33,\n\
         1763510400002,2025-11-19T01:00:00.002+01:00,,0,21.25\n"
    );
}

#[tokio::test]
async fn both_ends_of_the_local_range_are_included_to_the_millisecond() {
    let study = Study::begin().await;
    // One o'clock in Zurich, and one millisecond before and after it.
    let times: Vec<i64> = (-2..=2).map(|ms| MIDNIGHT_MS + ms).collect();
    study.send(json!({"sleep": {"timestamp": times, "sleep_state": 1}})).await;
    for (from, to, expected) in [
        ("01:00:00.000", "01:00:00.000", 1),
        ("00:59:59.999", "01:00:00.001", 3),
        ("00:59:59.998", "01:00:00.002", 5),
        ("01:00:00", "01:00:00.001", 2),
        ("01:00:00.002", "23:59:59.999", 1),
        ("01:00:00.003", "23:59:59.999", 0),
    ] {
        let body = json!({"client_date_from": format!("2025-11-19T{from}"),
            "client_date_to": format!("2025-11-19T{to}"), "types": ["sleep"]});
        let manifest = manifest_of(&study.archive(body).await);
        let rows = manifest["files"].as_array().expect("files").iter().map(|file| file["rows"].as_i64().expect("rows"));
        assert_eq!(rows.sum::<i64>(), expected, "{from} to {to}: {manifest}");
    }
}

#[tokio::test]
async fn request_in_the_manifest_is_the_one_that_was_made() {
    let study = Study::begin().await;
    study.send(json!({"sleep": {"timestamp": [MIDNIGHT_MS - 5 * DAY_MS], "sleep_state": [1]}})).await;
    for (format, compression) in [("csv", "deflate"), ("csv", "store"), ("parquet", "deflate")] {
        let body = json!({"client_date_from": "2025-11-14T00:00:00.000", "client_date_to": "2025-11-14T23:59:59.999",
            "types": ["sleep", "activity", "sleep"], "format": format, "compression": compression});
        let manifest = manifest_of(&study.archive(body).await);
        let request = &manifest["request"];
        assert_eq!(request["types"], json!(["activity", "sleep"]), "each type once, in the order of the registry");
        assert_eq!(request["client_date_to"], "2025-11-14T23:59:59.999");
        assert_eq!(request["patient"], study.patient.uuid.as_str());
        assert_eq!(request["format"], format);
        let name = manifest["files"][0]["name"].as_str().expect("a name").to_owned();
        assert_eq!(name, if format == "csv" { "sleep.csv" } else { "sleep/2025-11.parquet" });
        assert!(!manifest.to_string().contains("example.org"), "no person is named");
    }
}
