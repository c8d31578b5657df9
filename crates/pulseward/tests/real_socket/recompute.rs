//! Derived data computed once more, alongside the running service and on what is sealed.

use serde_json::json;
use tempfile::tempdir;

use crate::harness::{Researcher, Service, run, store_command};

#[tokio::test]
async fn nothing_differs_on_healthy_data() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patients = [researcher.enrol().await, researcher.enrol().await];
    let begin_ms: i64 = 1_763_510_400_000;
    let minutes: Vec<i64> = (0..120).map(|minute| begin_ms + minute * 60_000).collect();
    let beats: Vec<i64> = (0..2000).map(|beat| begin_ms + beat * 800).collect();
    for patient in &patients {
        let body = json!({"data": {
            "activity": {"timestamp": minutes, "bpm": 61, "respiration_rate": 14, "spo2": 98},
            "rr-interval": {"timestamp": beats, "rr": 800}, "sleep": {"timestamp": minutes, "sleep_state": 2},
            "temperature": {"timestamp": minutes, "temp_sk1": 33.1}}});
        assert_eq!(researcher.sync(patient, &body).await.unwrap().0, 200);
    }
    // Two hours of three types, and of the beats what 1,600 s touch.
    let windows = 3 * 24 + 6;
    assert_eq!(store_command(data.path(), &["recompute"]), json!({"windows": 2 * windows, "differences": 0}));
    store_command(data.path(), &["seal", "--now"]);
    let one = ["recompute", "--patient", &patients[0].uuid];
    assert_eq!(store_command(data.path(), &one), json!({"windows": windows, "differences": 0}));

    let unknown = ["recompute", "--patient", "nobody", "--data", data.path().to_str().unwrap(), "--json"];
    let output = run(&unknown);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty() && !output.stderr.is_empty());
}
