//! From an empty folder to a patient's data, as a study would go.

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::harness::{Researcher, Service, store_command};

#[tokio::test]
async fn a_patient_is_enrolled_syncs_and_is_read() {
    let data = tempdir().unwrap();
    let service = Service::start_named(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    let path = format!("/integration/v1/groups/{}/patients?fields[]=state", researcher.group);
    let (status, patients) = researcher.get(&path, None).await;
    assert_eq!(status, 200);
    assert_eq!(patients, json!([{"uuid": patient.uuid, "state": "confirmed"}]));

    let begin_ms: i64 = 1_763_600_000_000;
    let times: Vec<i64> = (0..60).map(|minute| begin_ms + minute * 60_000).collect();
    let rates: Vec<i64> = (0..60).map(|minute| 60 + minute % 7).collect();
    let body = json!({"data": {"activity": {"timestamp": times, "bpm": rates}}});
    let (status, receipt) = researcher.sync(&patient, &body).await.unwrap();
    assert_eq!(status, 200, "{receipt}");
    assert_eq!(receipt["types"]["activity"]["stored"], 60);
    let (_, receipt) = researcher.sync(&patient, &body).await.unwrap();
    assert_eq!(
        (&receipt["types"]["activity"]["stored"], &receipt["types"]["activity"]["duplicate"]),
        (&json!(0), &json!(60))
    );

    // Sealed alongside the running service, which reads on from the segment.
    let sealed = store_command(data.path(), &["seal", "--now"]);
    assert_eq!((&sealed["segments"], &sealed["rows"]), (&json!(1), &json!(60)));
    assert!(sealed["bytes"].as_u64().unwrap() > 0);
    assert_eq!(store_command(data.path(), &["seal", "--now"]), json!({"segments": 0, "rows": 0, "bytes": 0}));

    // A restart on the same folder: everything is there, and tokens still count.
    service.signal("-TERM");
    assert_eq!(service.wait().code(), Some(0));
    let service = Service::start_named(data.path());
    let mut researcher = researcher;
    researcher.at(&service.url);
    let path = format!("/integration/v1/patients/{}/health-token", patient.uuid);
    let (status, health_token) = researcher.get(&path, None).await;
    assert_eq!(status, 200, "{health_token}");
    let range = "from_date=2025-11-20T00:53:20Z&to_date=2025-11-20T01:52:20Z";
    let path = format!("/health/v2/raw-metrics/activity?{range}");
    for token in [health_token["token"].as_str().unwrap(), &patient.token] {
        let (status, rows) = researcher.get(&path, Some(token)).await;
        assert_eq!(status, 200, "{rows}");
        let read: Vec<(&Value, &Value)> =
            rows.as_array().unwrap().iter().map(|row| (&row["timestamp"], &row["bpm"])).collect();
        let sent: Vec<(Value, Value)> =
            times.iter().zip(&rates).map(|(time, rate)| (json!(time), json!(rate))).collect();
        assert_eq!(read, sent.iter().map(|(time, rate)| (time, rate)).collect::<Vec<_>>());
    }
}
