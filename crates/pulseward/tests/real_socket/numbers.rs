//! Numbers in columns, as programs of others read them: answers, archives, sealed files.

use std::process::Command;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::exports::{BEGIN_MS, fetch, python_with_readers, unpacked, wait_for};
use crate::harness::{Patient, Researcher, Service, pulseward, store_command};

/// Two hours of every minute, with decimals that no float is exactly.
fn vitals() -> Value {
    let minutes = || 0..120_i64;
    let column = |of: &dyn Fn(i64) -> f64| minutes().map(of).collect::<Vec<f64>>();
    json!({"activity": {
        "timestamp": minutes().map(|minute| BEGIN_MS + minute * 60_000).collect::<Vec<_>>(),
        "bpm": minutes().map(|minute| 55 + minute % 40).collect::<Vec<_>>(),
        "spo2": column(&|minute| (941 + minute % 50) as f64 / 10.0),
        "respiration_rate": column(&|minute| (123 + minute % 70) as f64 / 10.0),
        "core_temp": column(&|minute| (3611 + minute) as f64 / 100.0),
    }})
}

async fn archive_of(researcher: &Researcher, patient: &Patient, data_type: &str, format: &str) -> Vec<u8> {
    let body = json!({"client_date_from": "2025-11-18T00:00:00.000", "client_date_to": "2025-11-21T00:00:00.000",
        "format": format});
    let path = format!("/integration/v1/create-export/{}/{data_type}", patient.uuid);
    let (status, created) = researcher.post(&path, None, &body).await;
    assert_eq!(status, 200, "{created}");
    fetch(&wait_for(researcher, created["id"].as_str().unwrap()).await).await
}

#[tokio::test(flavor = "multi_thread")]
async fn pandas_describes_and_averages_every_number() {
    let Some(python) = python_with_readers() else { return };
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    let sent = vitals();
    assert_eq!(researcher.sync(&patient, &json!({ "data": sent })).await.unwrap().0, 200);
    std::fs::write(data.path().join("sent.json"), sent["activity"].to_string()).unwrap();
    for (ending, form) in [("parquet", "vnd.apache.parquet"), ("arrow", "vnd.apache.arrow.stream")] {
        let range = "from_date=2025-11-19T00:00:00.000Z&to_date=2025-11-19T23:59:59.999Z";
        let answer = reqwest::Client::new()
            .get(format!("{}/health/v2/raw-metrics/activity?{range}", service.url))
            .header("Accept", format!("application/{form}"))
            .bearer_auth(&patient.token);
        let answer = answer.send().await.unwrap();
        assert_eq!(answer.status(), 200);
        std::fs::write(data.path().join(format!("answer.{ending}")), answer.bytes().await.unwrap()).unwrap();
    }
    store_command(data.path(), &["seal", "--now"]);
    let archive = archive_of(&researcher, &patient, "activity", "parquet").await;
    let files = unpacked(&archive).0;
    std::fs::write(data.path().join("archive.parquet"), &files["activity/2025-11.parquet"]).unwrap();
    let output = Command::new(&python).args(["-c", DESCRIBE]).arg(data.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "4 files");
}

/// Every file has the floats that print as what was sent, and pandas takes them for numbers.
const DESCRIBE: &str = r#"
import glob, json, sys
import pandas as pd, pyarrow as pa
folder = sys.argv[1]
sent = json.load(open(f"{folder}/sent.json"))
frames = [pa.ipc.open_stream(open(f"{folder}/answer.arrow", "rb")).read_pandas()]
for path in ["answer.parquet", "archive.parquet", "objects/v1/type=activity/*/*/*.parquet"]:
    frames += [pd.read_parquet(found) for found in glob.glob(f"{folder}/{path}")]
for frame in frames:
    described = frame.describe()
    for name in ["bpm", "spo2", "respiration_rate", "core_temp"]:
        assert name in described.columns, (name, list(described.columns))
        mean = frame[name].mean()
        assert abs(mean - sum(sent[name]) / len(sent[name])) < 1e-9 and mean == described[name]["mean"]
        if name != "bpm":
            assert str(frame[name].dtype) == "float64", (name, frame[name].dtype)
        assert [repr(float(value)) for value in frame[name]] == [repr(float(value)) for value in sent[name]], name
print(len(frames), "files")
"#;

/// Counts and millivolts that say the same lie in a sealed file and in an archive of columns once, and come back as two.
#[tokio::test]
async fn a_signal_that_was_sent_twice_comes_back_from_an_archive_of_columns() {
    let data = tempdir().unwrap();
    let service = Service::start_with(data.path(), &["--export-interval", "0s"]);
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    let counts: Vec<i64> = (0..20_000).map(|row| (row * row) % 1_201 - 600).collect();
    let mut millivolts: Vec<f64> = counts.iter().map(|count| *count as f64 / 1000.0).collect();
    // One row of the second stretch says something else, which is to stay.
    millivolts[18_000] = 0.7;
    let ecg = json!([{"start": BEGIN_MS, "rate_hz": 256, "value": counts, "ecg": millivolts}]);
    assert_eq!(researcher.sync(&patient, &json!({"data": {"ecg": ecg}})).await.unwrap().0, 200);
    let csv = unpacked(&archive_of(&researcher, &patient, "ecg", "csv").await).0;
    for is_sealed in [false, true] {
        if is_sealed {
            store_command(data.path(), &["seal", "--now"]);
        }
        let archive = archive_of(&researcher, &patient, "ecg", "parquet").await;
        assert_eq!(nulls_of(&unpacked(&archive).0["ecg/2025-11-19.parquet"], "value"), 16_384);
        let file = data.path().join("archive.zip");
        std::fs::write(&file, &archive).unwrap();
        let again = researcher.enrol().await;
        let arguments = ["import", "--url", &service.url, "--bearer", &again.token, "--json", file.to_str().unwrap()];
        let output = pulseward(&arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let back = unpacked(&archive_of(&researcher, &again, "ecg", "csv").await).0;
        assert!(back == csv, "{is_sealed}");
    }
}

/// Returns how many rows of a Parquet file have no value in a column.
fn nulls_of(file: &[u8], column: &str) -> usize {
    let file = bytes::Bytes::copy_from_slice(file);
    let builder = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let batches = builder.build().unwrap().map(Result::unwrap);
    batches.map(|batch| arrow_array::Array::null_count(batch.column_by_name(column).unwrap())).sum()
}
