//! Data types beyond the specification's eleven: each is one declaration, and all that the service does with types follows.

mod common;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray as _;
use arrow_array::types::TimestampMicrosecondType;
use axum::body::Body;
use axum::http::Request;
use common::{Answer, Enrolled, START_MS, Story, text};
use platform::seal::Until;
use serde_json::{Value, json};
use store::Role;

const ARROW: &str = "application/vnd.apache.arrow.stream";
const PARQUET: &str = "application/vnd.apache.parquet";
/// 2025-11-19T12:00Z, the day before the stories begin.
const NOON_MS: i64 = START_MS - START_MS % 86_400_000 - 43_200_000;
/// The hour of the samples.
const RANGE: &str = "from_date=2025-11-19T12:00:00.000Z&to_date=2025-11-19T12:29:59.999Z";

struct Study {
    story: Story,
    key: String,
    group: String,
    patient: Enrolled,
}

impl Study {
    async fn begin() -> Self {
        let story = Story::begin().await;
        let key = story.key_of("ada@example.org", Role::Researcher).await;
        let group = story.group(&key).await;
        let patient = story.patient(&key, &group, json!({"time_zone": "Europe/Zurich"})).await;
        Study { story, key, group, patient }
    }

    async fn send(&self, data: Value) -> Answer {
        self.story.post_as("/health/v1/sync", &self.patient.health_token, json!({ "data": data })).await
    }

    /// Counts of a type as `[stored, duplicate, replaced, rejected]`.
    async fn counts(&self, data_type: &str, data: Value) -> [u64; 4] {
        counts(&self.send(data).await.ok(), data_type)
    }

    async fn send_arrow(&self, data_type: &str, bytes: axum::body::Bytes) -> Answer {
        let request = Request::post(format!("/health/v1/sync/{data_type}"))
            .header("authorization", format!("Bearer {}", self.patient.health_token))
            .header("content-type", ARROW);
        self.story.send(request.body(Body::from(bytes)).expect("a request")).await
    }

    async fn raw(&self, data_type: &str, accept: &str) -> axum::body::Bytes {
        let path = format!("/health/v2/raw-metrics/{data_type}?{RANGE}");
        let (status, bytes) = self.story.bytes_of(&path, &self.patient.health_token, accept).await;
        assert_eq!(status, 200);
        bytes
    }

    async fn get(&self, path: &str) -> Value {
        let joined = if path.contains('?') { '&' } else { '?' };
        self.story.get(&format!("/integration/v1{path}{joined}token={}", self.key)).await.ok()
    }

    /// Two samples of each type.
    async fn with_samples() -> Self {
        let study = Study::begin().await;
        study.send(samples()).await.ok();
        study.story.derive().await;
        study
    }
}

fn samples() -> Value {
    json!({
        "eda": [{"start": NOON_MS, "rate_hz": 4, "eda": [6.2143, 0], "quality": 4}],
        "gyro": [{"start": NOON_MS, "rate_hz": 32, "x": [-2000, 0.125], "y": [2000, null], "z": [0.5, -0.001]}],
    })
}

fn counts(answer: &Value, data_type: &str) -> [u64; 4] {
    ["stored", "duplicate", "replaced", "rejected"]
        .map(|name| answer["types"][data_type][name].as_u64().expect("a count"))
}

#[tokio::test]
async fn each_form_of_an_upload_brings_the_same_samples() {
    let study = Study::begin().await;
    let answer = study.send(samples()).await.ok();
    assert_eq!((counts(&answer, "eda"), counts(&answer, "gyro")), ([2, 0, 0, 0], [2, 0, 0, 0]));
    let columns = json!({"eda": {"timestamp": [NOON_MS, NOON_MS + 250], "eda": [6.2143, 0], "quality": 4}});
    assert_eq!(study.counts("eda", columns).await, [0, 2, 0, 0]);
    let rows = json!({"gyro": [{"timestamp": NOON_MS, "x": -2000, "y": 2000, "z": 0.5},
        {"timestamp": NOON_MS + 31, "x": 0.125, "z": -0.001}]});
    assert_eq!(study.counts("gyro", rows).await, [0, 2, 0, 0]);
    for data_type in ["eda", "gyro"] {
        let answer = study.send_arrow(data_type, study.raw(data_type, ARROW).await).await.ok();
        assert_eq!(counts(&answer, data_type), [0, 2, 0, 0], "{data_type}");
    }
    // A sample of a fifth decimal is the same as its rounding.
    let finer = json!({"eda": {"timestamp": [NOON_MS], "eda": [6.214_299], "quality": 4}});
    assert_eq!(study.counts("eda", finer).await, [0, 1, 0, 0]);
}

#[tokio::test]
async fn what_a_simulated_bracelet_sends_of_them_is_stored_whole() {
    let study = Study::begin().await;
    let wearer = bracelet::Patient::new(7, 1, bracelet::Scenario::Healthy, 0, "Europe/Zurich").expect("a patient");
    let types = [bracelet::DataType::Eda, bracelet::DataType::Gyro];
    let usual = bracelet::SignalRates::default();
    let fastest = bracelet::SignalRates { eda_hz: 128, gyro_hz: 128, ..usual };
    for (minute, rates) in [(0, usual), (1, fastest)] {
        let from_ms = NOON_MS + minute * 60_000;
        let window = bracelet::Window::new(from_ms, from_ms + 60_000);
        let body = bracelet::SyncBody::new(&wearer, window, &types, &rates).expect("a body");
        let sent: Value = serde_json::from_slice(&body.to_json().expect("JSON")).expect("JSON");
        let answer = study.story.post_as("/health/v1/sync", &study.patient.health_token, sent).await.ok();
        let rows = [rates.eda_hz, rates.gyro_hz].map(|rate_hz| [u64::from(60 * rate_hz), 0, 0, 0]);
        assert_eq!([counts(&answer, "eda"), counts(&answer, "gyro")], rows);
    }
}

#[tokio::test]
async fn raw_metrics_come_in_every_form() {
    let study = Study::with_samples().await;
    let rows = |data_type: &'static str| async {
        serde_json::from_slice::<Value>(&study.raw(data_type, "application/json").await).expect("JSON")
    };
    let eda = rows("eda").await;
    assert_eq!(
        eda[0],
        json!({"timestamp": NOON_MS, "date": "2025-11-19T13:00:00.000+01:00", "eda": 6.2143, "quality": 4})
    );
    assert_eq!((&eda[1]["timestamp"], &eda[1]["eda"]), (&json!(NOON_MS + 250), &json!(0)));
    assert_eq!(rows("gyro").await[1]["y"], Value::Null);
    let csv = String::from_utf8(study.raw("gyro", "text/csv").await.to_vec()).expect("text");
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "timestamp,date,x,y,z,quality");
    assert!(lines[1].ends_with(",-2000,2000,0.5,") && lines[2].ends_with(",0.125,,-0.001,"), "{csv}");

    let stream = arrow_ipc::reader::StreamReader::try_new(std::io::Cursor::new(study.raw("eda", ARROW).await), None);
    let schema = stream.expect("a stream").schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["timestamp", "eda", "quality", "zone"]);
    assert_eq!(schema.field(1).metadata()["unit"], "µS");
    let file = parquet::file::reader::SerializedFileReader::new(study.raw("gyro", PARQUET).await).expect("a file");
    let metadata = parquet::file::reader::FileReader::metadata(&file).file_metadata().clone();
    assert_eq!(metadata.num_rows(), 2);
    assert_eq!(metadata.schema_descr().column(1).name(), "x");
}

/// Two colours whose samples alternate: by time in an answer, colour after colour in a sealed file.
#[tokio::test]
async fn answer_in_columns_says_that_it_is_in_the_order_of_time_and_is() {
    let study = Study::begin().await;
    let values: Vec<i64> = (0..300).collect();
    let colour = |metric_id: &str, offset_ms: i64| json!({"start": NOON_MS + offset_ms, "rate_hz": 64, "metric_id": metric_id, "led_pd_pos": 6, "value": values});
    study.send(json!({"ppg2": [colour("0x7e", 0), colour("0x7c", 5)]})).await.ok();
    let answer = study.raw("ppg2", PARQUET).await;
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(answer).expect("a file");
    for group in reader.metadata().row_groups() {
        let by_time = group.sorting_columns().and_then(|columns| columns.first()).expect("an order");
        assert_eq!((by_time.column_idx, by_time.descending), (0, false));
    }
    let batches = reader.build().expect("a reader").map(|batch| batch.expect("rows"));
    let times = |batch: RecordBatch| -> Vec<i64> {
        batch.column(0).as_primitive::<TimestampMicrosecondType>().values().to_vec()
    };
    let times_us: Vec<i64> = batches.flat_map(times).collect();
    assert_eq!(times_us.len(), 600);
    assert!(times_us.is_sorted());
}

#[tokio::test]
async fn values_out_of_range_reject_their_rows_and_rates_their_sync() {
    let study = Study::begin().await;
    let eda =
        json!({"eda": {"timestamp": [NOON_MS, NOON_MS + 1, NOON_MS + 2, NOON_MS + 3], "eda": [100, 100.1, -0.001, 0]}});
    let answer = study.send(eda).await.ok();
    assert_eq!(counts(&answer, "eda"), [2, 0, 0, 2]);
    let fault = |index: u64, column: &str, range: &str| json!({"index": index, "column": column, "reason": format!("out of range: must be {range}")});
    let range = "0 to 100 µS";
    assert_eq!(answer["types"]["eda"]["errors"], json!([fault(1, "eda", range), fault(2, "eda", range)]));
    let gyro = json!({"gyro": [{"start": NOON_MS, "rate_hz": 16, "x": [2000.001, 0], "y": [0, -2001], "z": 0}]});
    let answer = study.send(gyro).await.ok();
    assert_eq!(
        answer["types"]["gyro"]["errors"],
        json!([fault(0, "x", "-2000 to 2000 °/s"), fault(1, "y", "-2000 to 2000 °/s")])
    );

    for (data_type, column, rates) in [
        ("eda", "eda", [("3.999", false), ("4", true), ("128", true), ("128.5", false)]),
        ("gyro", "x", [("15.9", false), ("16", true), ("128.0", true), ("256", false)]),
    ] {
        for (rate, is_accepted) in rates {
            let rate_hz: Value = rate.parse().expect("a number");
            let block = json!([{"start": NOON_MS, "rate_hz": rate_hz, column: [1, 2]}]);
            let answer = study.send(json!({"activity": {"timestamp": [NOON_MS], "bpm": 60}, data_type: block})).await;
            if is_accepted {
                answer.ok();
                continue;
            }
            assert_eq!(answer.error(), (422, "invalid"), "{data_type} {rate}");
            let (lowest, highest) = (if data_type == "eda" { 4 } else { 16 }, 128);
            let reported = &answer.body["errors"][format!("data.{data_type}.rate_hz")];
            assert_eq!(reported, &json!([format!("must be {lowest} to {highest}")]), "{data_type} {rate}");
        }
    }
    // A rate that the specification leaves open stays open.
    assert_eq!(study.counts("ecg", json!({"ecg": [{"start": NOON_MS, "rate_hz": 1000, "ecg": [0.1]}]})).await[0], 1);
}

#[tokio::test]
async fn compliance_counts_them_after_the_specification_s() {
    let study = Study::with_samples().await;
    let counted = study.get(&format!("/patients/{}/raw-data-compliance/2025-11-19", study.patient.uuid)).await;
    assert_eq!(counted, json!({"raw_data_eda": 2, "raw_data_gyro": 2}));
}

#[tokio::test]
async fn exports_have_their_files_and_their_lines_of_the_dictionary() {
    let study = Study::with_samples().await;
    for (format, ending) in [("csv", ".csv"), ("parquet", "/2025-11-19.parquet")] {
        study.story.pass_ms(300_000);
        let body = json!({"client_date_from": "2025-11-19T00:00:00.000", "client_date_to": "2025-11-19T23:59:59.999",
            "types": ["gyro", "tests", "eda"], "format": format});
        let path = format!("/integration/v1/create-export/{}?token={}", study.patient.uuid, study.key);
        let created = study.story.post(&path, body).await.ok();
        assert_eq!(study.story.jobs(&["export"]).await, 1);
        let done = study.get(&format!("/export/{}", text(&created["id"]))).await;
        let url = text(&done["downloadUrl"]);
        let path = url.strip_prefix("http://127.0.0.1:8080").expect("the public address");
        let (_, archive) = study.story.bytes_of(path, "", "*/*").await;
        let mut archive = zip::ZipArchive::new(std::io::Cursor::new(archive)).expect("an archive");
        let mut read = |name: &str| {
            let mut bytes = Vec::new();
            let mut entry = archive.by_name(name).unwrap_or_else(|error| panic!("{name}: {error}"));
            std::io::Read::read_to_end(&mut entry, &mut bytes).expect("read");
            bytes
        };
        assert!(read(&format!("eda{ending}")).len() > 50 && read(&format!("gyro{ending}")).len() > 50);
        let dictionary = String::from_utf8(read("data_dictionary.csv")).expect("text");
        for line in
            ["eda,eda,µS,\"skin conductance, level and responses together\",", "gyro,x,°/s,angular velocity about x,"]
        {
            assert!(dictionary.lines().any(|one| one == line), "{line} in {dictionary}");
        }
        let order: Vec<&str> = dictionary.lines().filter(|line| line.contains(",timestamp,")).collect();
        let types: Vec<&str> = order.iter().map(|line| line.split_once(',').expect("a comma").0).collect();
        assert_eq!(types, ["tests", "eda", "gyro"], "after the specification's");
    }
}

#[tokio::test]
async fn a_day_of_them_is_sealed_and_listed_in_the_lake() {
    let study = Study::with_samples().await;
    // Between the two types that are sealed by the day lies the number of one that is sealed by the month.
    study.send(json!({"tests": [{"timestamp": NOON_MS, "test_type": "weight", "value": 61.5}]})).await.ok();
    study.story.pass_ms(8 * 3_600_000);
    study.story.platform.upkeep.seal(Until::Finished, |_| {}).await.expect("sealed");
    let lake = study.get(&format!("/groups/{}/lake", study.group)).await;
    let mut listed: Vec<(String, String)> = lake["files"]
        .as_array()
        .expect("files")
        .iter()
        .map(|file| (text(&file["type"]), text(&file["period"])))
        .collect();
    listed.sort();
    let expected = [("eda", "2025-11-19"), ("gyro", "2025-11-19")];
    assert_eq!(listed, expected.map(|(name, period)| (name.to_owned(), period.to_owned())));
    let url = text(&lake["files"][0]["url"]);
    let path = url.strip_prefix("http://127.0.0.1:8080").expect("the public address");
    let (status, file) = study.story.bytes_of(path, "", "*/*").await;
    assert_eq!(status, 200);
    let file = parquet::file::reader::SerializedFileReader::new(file).expect("a file");
    assert_eq!(parquet::file::reader::FileReader::metadata(&file).file_metadata().num_rows(), 2);
}

#[tokio::test]
async fn nothing_waits_for_a_derivation_of_them() {
    let study = Study::begin().await;
    for data_type in ["eda", "gyro"] {
        study.send(json!({data_type: samples()[data_type]})).await.ok();
        assert_eq!(study.story.jobs(&["derive"]).await, 1, "{data_type}");
        study.story.pass_ms(600_000);
        assert_eq!(study.story.jobs(&["derive"]).await, 0, "{data_type}: nothing is due later");
    }
}

#[tokio::test]
async fn groups_limit_how_long_they_are_kept() {
    let study = Study::begin().await;
    let path = format!("/integration/v1/groups/{}/settings?token={}", study.group, study.key);
    let settings = study.story.put(&path, json!({"retention": {"eda": 30, "gyro": 7}})).await.ok();
    assert_eq!(settings["retention"], json!({"eda": 30, "gyro": 7}));
}

#[test]
fn the_interface_describes_them() {
    let document = api::document();
    let names = |path: &str, method: &str, parameter: &str| {
        let parameters = document["paths"][path][method]["parameters"].as_array().expect("parameters").clone();
        let found = parameters.into_iter().find(|one| one["name"] == parameter).expect("the parameter");
        found["schema"]["enum"].clone()
    };
    for (path, method, parameter) in [
        ("/health/v1/sync/{type}", "post", "type"),
        ("/health/v2/raw-metrics/{raw_metric_type}", "get", "raw_metric_type"),
    ] {
        let names = names(path, method, parameter);
        assert_eq!((&names[10], &names[11], &names[12]), (&json!("tests"), &json!("eda"), &json!("gyro")), "{path}");
    }
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["EdaRow"]["properties"]["eda"]["x-unit"], "µS");
    assert_eq!(schemas["GyroRow"]["properties"]["x"]["minimum"], -2000);
    assert_eq!(schemas["GyroColumns"]["properties"]["rate_hz"]["maximum"], 128);
    assert!(schemas["Sync"]["properties"]["data"]["properties"]["eda"].is_object());
}
