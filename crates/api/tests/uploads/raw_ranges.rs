//! Which rows a request for raw metrics answers, to the millisecond, and what it refuses.

use serde_json::{Value, json};

use crate::common::{Answer, Story};
use crate::{App, T};

const WAVEFORMS: [&str; 7] = ["ppg1", "ppg2", "bioz", "acc", "ecg", "eda", "gyro"];
const OTHERS: [&str; 6] = ["activity", "rr-interval", "sleep", "temperature", "heart-rate-variability", "tests"];

async fn ask(story: &Story, token: &str, data_type: &str, query: &str) -> Answer {
    story.get_as(&format!("/health/v2/raw-metrics/{data_type}?{query}"), token).await
}

/// Times of the rows of an answer.
async fn times(app: &App, query: &str) -> Vec<i64> {
    let rows = ask(&app.story, &app.patient.health_token, "activity", query).await.ok();
    rows.as_array().expect("rows").iter().map(|row| row["timestamp"].as_i64().expect("ms")).collect()
}

async fn send_times(app: &App, zone: &str, times: &[i64]) {
    let body = json!({"time_zone": zone, "data": {"activity": {"timestamp": times, "bpm": 60}}});
    app.story.post_as("/health/v1/sync", &app.patient.health_token, body).await.ok();
}

#[tokio::test]
async fn both_ends_of_a_range_are_included_in_both_clocks() {
    let app = App::begin().await;
    // 00:43:20 of UTC is 01:43:20 in Zurich.
    let all = [T - 1, T, T + 1, T + 2];
    send_times(&app, "Europe/Zurich", &all).await;
    for (from, to, expected) in [
        ("20.000", "20.002", &all[1..]),
        ("20.000", "20.000", &all[1..2]),
        ("20.001", "20.001", &all[2..3]),
        ("19.999", "20.000", &all[..2]),
        ("20.003", "21", &all[..0]),
        ("10", "30", &all[..]),
        ("20", "20", &all[1..2]),
    ] {
        let zoned = format!("from_date=2025-11-20T00:43:{from}Z&to_date=2025-11-20T00:43:{to}Z");
        assert_eq!(times(&app, &zoned).await, expected, "{zoned}");
        let offset = format!("from_date=2025-11-20T06:13:{from}+05:30&to_date=2025-11-19T19:43:{to}-05:00");
        assert_eq!(times(&app, &offset).await, expected, "{offset}");
        let local = format!("from_client_date=2025-11-20T01:43:{from}&to_client_date=2025-11-20T01:43:{to}");
        assert_eq!(times(&app, &local).await, expected, "{local}");
    }
}

#[tokio::test]
async fn longest_range_depends_on_the_type() {
    let app = App::begin().await;
    let status = async |data_type: &str, to: &str| {
        let query = format!("from_date=2025-11-19T00:00:00.000Z&to_date=2025-11-{to}Z");
        let answer = ask(&app.story, &app.patient.health_token, data_type, &query).await;
        if answer.status == 200 { (200, String::new()) } else { (answer.error().0, answer.error().1.to_owned()) }
    };
    let too_large = || (400, "window_too_large".to_owned());
    for data_type in WAVEFORMS {
        assert_eq!(status(data_type, "19T00:30:00.000").await.0, 200, "{data_type}");
        assert_eq!(status(data_type, "19T00:30:00.001").await, too_large(), "{data_type}");
    }
    for data_type in OTHERS {
        assert_eq!(status(data_type, "20T00:00:00.000").await.0, 200, "{data_type}");
        assert_eq!(status(data_type, "20T00:00:00.001").await, too_large(), "{data_type}");
    }
    for unknown in ["heart-rate", "Activity", "rr_interval", "ppg3", "%20activity"] {
        assert_eq!(status(unknown, "19T00:30:00").await.0, 404, "{unknown}");
    }
}

#[tokio::test]
async fn local_hour_that_comes_twice_is_answered_twice() {
    let app = App::begin().await;
    // 26 October 2025: half past two comes in summer time and an hour later in winter time.
    let [summer, winter] = [1_761_438_600_000, 1_761_442_200_000];
    send_times(&app, "Europe/Zurich", &[summer, winter]).await;
    let at = |time: &str| format!("from_client_date=2025-10-26T{time}&to_client_date=2025-10-26T{time}");
    assert_eq!(times(&app, &at("02:30:00")).await, [summer, winter]);
    assert_eq!(times(&app, &at("02:30:00.001")).await, [0; 0]);
    let rows = ask(&app.story, &app.patient.health_token, "activity", &at("02:30:00")).await.ok();
    let dates: Vec<&Value> = rows.as_array().expect("rows").iter().map(|row| &row["date"]).collect();
    assert_eq!(dates, ["2025-10-26T02:30:00.000+02:00", "2025-10-26T02:30:00.000+01:00"]);
    // A day of 25 hours is asked for as one local day.
    let day = "from_client_date=2025-10-26T00:00:00&to_client_date=2025-10-27T00:00:00";
    assert_eq!(times(&app, day).await, [summer, winter]);
}

#[tokio::test]
async fn local_times_are_those_of_each_samples_own_zone() {
    let app = App::begin().await;
    // Noon in Zurich, then noon in New York six hours later.
    let (zurich, new_york) = (1_763_463_600_000, 1_763_485_200_000);
    send_times(&app, "Europe/Zurich", &[zurich]).await;
    send_times(&app, "America/New_York", &[new_york]).await;
    let noon = "from_client_date=2025-11-18T12:00:00&to_client_date=2025-11-18T12:00:00";
    assert_eq!(times(&app, noon).await, [zurich, new_york]);
    let evening = "from_client_date=2025-11-18T18:00:00&to_client_date=2025-11-18T18:00:00";
    assert_eq!(times(&app, evening).await, [0; 0]);
    // The zone that was stored first stays when the same sample comes again under another.
    send_times(&app, "Asia/Tokyo", &[zurich]).await;
    assert_eq!(times(&app, noon).await, [zurich, new_york]);
}

#[tokio::test]
async fn wrong_parameters_are_refused_with_their_code() {
    let app = App::begin().await;
    let (from, to) = ("from_date=2025-11-20T00:00:00Z", "to_date=2025-11-20T00:10:00Z");
    let (local_from, local_to) = ("from_client_date=2025-11-20T00:00:00", "to_client_date=2025-11-20T00:10:00");
    for query in [
        String::new(),
        from.to_owned(),
        to.to_owned(),
        local_from.to_owned(),
        format!("{from}&{local_to}"),
        format!("{local_from}&{to}"),
        format!("{from}&{to}&{local_from}&{local_to}"),
        format!("{from}&{to}&{local_from}"),
        "from_date=2025-11-20T00:10:00Z&to_date=2025-11-20T00:00:00Z".to_owned(),
        "from_date=2025-11-20&to_date=2025-11-21".to_owned(),
        "from_date=1763600000000&to_date=1763600001000".to_owned(),
        "from_date=2025-11-20T00:00:00&to_date=2025-11-20T00:10:00".to_owned(),
        "from_client_date=2025-11-20T00:00:00Z&to_client_date=2025-11-20T00:10:00Z".to_owned(),
        "from_date=2025-02-30T00:00:00Z&to_date=2025-03-01T00:00:00Z".to_owned(),
        format!("from_date=&{to}"),
    ] {
        let refused = ask(&app.story, &app.patient.health_token, "activity", &query).await;
        assert_eq!(refused.error(), (400, "wrong_range"), "{query}");
    }
    let both = format!("{from}&{to}");
    assert_eq!(ask(&app.story, &app.patient.health_token, "activity", &both).await.ok(), json!([]));
}

#[tokio::test]
async fn rows_come_in_the_order_of_time_however_they_were_sent() {
    let app = App::begin().await;
    for times in [[T + 30, T + 10], [T + 20, T], [T + 40, T + 15]] {
        send_times(&app, "UTC", &times).await;
    }
    let range = "from_date=2025-11-20T00:00:00Z&to_date=2025-11-20T01:00:00Z";
    assert_eq!(times(&app, range).await, [T, T + 10, T + 15, T + 20, T + 30, T + 40]);
}

#[tokio::test]
async fn forms_of_an_answer_have_the_same_rows_and_their_own_type() {
    let app = App::begin().await;
    let rows = json!([
        {"timestamp": T, "test_type": "other", "value": 1.5, "unit": "pt", "note": "a \"quoted\", long\nremark"},
        {"timestamp": T + 1, "test_type": "spo2", "value": 97, "quality": 4},
    ]);
    app.send(&json!({"data": {"tests": rows}}).to_string()).await.ok();
    let path = "/health/v2/raw-metrics/tests?from_date=2025-11-20T00:00:00Z&to_date=2025-11-20T01:00:00Z";
    let (status, text) = app.story.bytes_of(path, &app.patient.health_token, "text/csv").await;
    assert_eq!(status, 200);
    let mut reader = csv::Reader::from_reader(&text[..]);
    let header: Vec<String> = reader.headers().expect("a header").iter().map(str::to_owned).collect();
    assert_eq!(header, ["timestamp", "date", "test_type", "value", "unit", "quality", "note"]);
    let cells: Vec<Vec<String>> =
        reader.records().map(|record| record.expect("a record").iter().map(str::to_owned).collect()).collect();
    let json_rows = ask(&app.story, &app.patient.health_token, "tests", path.split_once('?').expect("a query").1);
    for (cells, row) in cells.iter().zip(json_rows.await.ok().as_array().expect("rows")) {
        for (name, cell) in header.iter().zip(cells) {
            let shown = match &row[name] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(*cell, shown, "{name}");
        }
    }
    assert_eq!(cells.len(), 2);
}

#[tokio::test]
async fn raw_metrics_are_shown_to_tokens_of_the_health_cloud_alone() {
    let app = App::begin().await;
    let range = "from_date=2025-11-20T00:00:00Z&to_date=2025-11-20T00:10:00Z";
    for token in ["", "rubbish", app.patient.users_token.as_str()] {
        let refused = ask(&app.story, token, "activity", range).await;
        assert_eq!(refused.error(), (401, "unauthenticated"), "{token}");
        assert!(refused.header("www-authenticate").starts_with("Bearer"), "{token}");
    }
    // Without a valid token not even the name of a type is judged.
    assert_eq!(ask(&app.story, "rubbish", "mood", range).await.error(), (401, "unauthenticated"));
}
