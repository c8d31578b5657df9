//! Every column of every data type at the first and the last value of its range, and one step beyond.

use serde_json::{Map, Value, json};

use crate::common::Enrolled;
use crate::{App, T};

/// Name, first value, last value and step of a column, as the data dictionary promises them.
type Range = (&'static str, f64, f64, f64);

const QUALITY: (f64, f64, f64) = (0.0, 4.0, 1.0);
const PRESSURE: (f64, f64, f64) = (0.0, 400.0, 1.0);
const COUNTS: f64 = 2_000_000_000.0;

fn of(name: &'static str, (first, last, step): (f64, f64, f64)) -> Range {
    (name, first, last, step)
}

const ACTIVITY: [Range; 19] = [
    ("bpm", 0.0, 255.0, 1.0),
    ("last_steps", 0.0, 100_000.0, 1.0),
    ("speed", 0.0, 1000.0, 1.0),
    ("skin_proximity", 0.0, 1_000_000.0, 1.0),
    ("energy_exp", 0.0, 100_000_000.0, 1.0),
    ("respiration_rate", 0.0, 255.0, 0.1),
    ("spo2", 0.0, 100.0, 0.1),
    ("wearing", 0.0, 4.0, 1.0),
    ("charging", 0.0, 1.0, 1.0),
    ("battery", 0.0, 100.0, 1.0),
    ("core_temp", 0.0, 60.0, 0.01),
    ("gait_asymmetry", 0.0, 1000.0, 0.001),
    ("gait_speed", 0.0, 50.0, 0.001),
    ("gait_var", 0.0, 1000.0, 0.001),
    ("cardiac_arrest", 0.0, 255.0, 1.0),
    ("pha", 0.0, 1_000_000.0, 1.0),
    ("move_alert", 0.0, 255.0, 1.0),
    ("distance", 0.0, 10_000_000.0, 1.0),
    ("step_duration", 0.0, 1_000_000.0, 1.0),
];

const VARIABILITY: [Range; 15] = [
    ("si", 0.0, 1_000_000.0, 0.001),
    ("si_n", 0.0, 100_000.0, 0.001),
    ("mrr", 0.0, 60_000.0, 0.001),
    ("sdnn", 0.0, 60_000.0, 0.001),
    ("rmssd", 0.0, 60_000.0, 0.001),
    ("pnn50", 0.0, 100.0, 0.001),
    ("vlf", 0.0, 2_000_000.0, 0.001),
    ("vlf_percent", 0.0, 100.0, 0.001),
    ("lf", 0.0, 2_000_000.0, 0.001),
    ("lf_percent", 0.0, 100.0, 0.001),
    ("hf", 0.0, 2_000_000.0, 0.001),
    ("hf_percent", 0.0, 100.0, 0.001),
    ("hrv", 0.0, 60_000.0, 0.001),
    ("mo", 0.0, 60.0, 0.001),
    ("amo", 0.0, 100.0, 0.001),
];

fn columns() -> Vec<(&'static str, Vec<Range>)> {
    let qualities = ["bpm_q", "resp_q", "spo2_q", "hta_q", "pha_q"];
    let pressures = [
        "nibp_systolic",
        "nibp_diastolic",
        "nibp_systolic_long_term",
        "nibp_diastolic_long_term",
        "nibp_systolic_combine",
        "nibp_diastolic_combine",
    ];
    let mut activity = ACTIVITY.to_vec();
    activity.extend(qualities.map(|name| of(name, QUALITY)));
    activity.extend(pressures.map(|name| of(name, PRESSURE)));
    let byte = (0.0, 255.0, 1.0);
    let raw = (-COUNTS, COUNTS, 1.0);
    let packet = of("chunk_index", (0.0, COUNTS, 1.0));
    let sixty_fourths = ["acc", "accx", "accy", "accz"].map(|name| of(name, (-32_768.0, 32_767.0, 1.0)));
    let degrees = (-40.0, 100.0, 0.01);
    let turn = (-2000.0, 2000.0, 0.001);
    vec![
        ("activity", activity),
        ("rr-interval", vec![("rr", 0.0, 60_000.0, 0.001), of("quality", QUALITY)]),
        ("sleep", vec![("sleep_state", 0.0, 3.0, 1.0), of("quality", QUALITY)]),
        ("temperature", ["temp_sk1", "temp_sk2", "temp_amb"].map(|name| of(name, degrees)).to_vec()),
        ("heart-rate-variability", VARIABILITY.to_vec()),
        ("ppg1", [&[of("ppg", raw), ("bpm", 0.0, 255.0, 1.0), of("bpm_q", QUALITY)][..], &sixty_fourths].concat()),
        (
            "ppg2",
            vec![
                packet,
                of("quality", byte),
                of("body_pose", byte),
                of("offset", raw),
                of("exp", raw),
                ("led", 0.0, COUNTS, 1.0),
                ("gain", 0.0, COUNTS, 1.0),
                ("value", 0.0, 65_535.0, 1.0),
            ],
        ),
        ("bioz", vec![packet, of("value", raw)]),
        (
            "acc",
            [
                &[packet, of("quality", byte), of("body_pose", byte)][..],
                &["accX", "accY", "accZ"].map(|name| of(name, (-4096.0, 4096.0, 1.0))),
            ]
            .concat(),
        ),
        ("ecg", vec![packet, of("value", raw), ("ecg", -1000.0, 1000.0, 0.001)]),
        ("eda", vec![("eda", 0.0, 100.0, 0.0001), of("quality", QUALITY)]),
        ("gyro", [&["x", "y", "z"].map(|name| of(name, turn))[..], &[of("quality", QUALITY)]].concat()),
    ]
}

/// Rows of a type from [`T`] on, as raw metrics show them.
async fn stored(app: &App, patient: &Enrolled, data_type: &str) -> Vec<Value> {
    let range = "from_date=2025-11-20T00:43:00Z&to_date=2025-11-20T00:53:00Z";
    let path = format!("/health/v2/raw-metrics/{data_type}?{range}");
    app.story.get_as(&path, &patient.health_token).await.ok().as_array().expect("rows").clone()
}

#[tokio::test]
async fn every_column_takes_its_range_and_nothing_beyond() {
    let app = App::begin().await;
    for (data_type, columns) in columns() {
        let mut rows = Vec::new();
        let mut expected = Vec::new();
        for (name, first, last, step) in columns {
            for (value, is_good) in [(first, true), (last, true), (first - step, false), (last + step, false)] {
                let time = T + rows.len() as i64;
                let value = (value * 10_000.0).round() / 10_000.0;
                rows.push(json!({"timestamp": time, name: value}));
                expected.push((name, time, value, is_good));
            }
        }
        let rejected = expected.iter().filter(|(.., is_good)| !is_good).count();
        let answer = app.send(&json!({"data": {data_type: rows}}).to_string()).await.ok();
        let counts = &answer["types"][data_type];
        assert_eq!(counts["rejected"], rejected, "{data_type}: {counts}");
        for (at, (name, _, value, is_good)) in expected.iter().enumerate() {
            let errors = counts["errors"].as_array().expect("errors");
            let error = errors.iter().find(|error| error["index"] == at);
            assert_eq!(error.is_none(), *is_good, "{data_type}.{name} {value}: {counts}");
            assert!(error.is_none_or(|error| error["column"] == *name), "{data_type}.{name} {value}: {error:?}");
        }
        let found = stored(&app, &app.patient, data_type).await;
        assert_eq!(found.len(), expected.len() - rejected, "{data_type}");
        for (name, time, value, _) in expected.iter().filter(|(.., is_good)| *is_good) {
            let row = found.iter().find(|row| row["timestamp"] == *time).expect("a row");
            assert_eq!(row[name].as_f64(), Some(*value), "{data_type}.{name}: {row}");
            let others = row.as_object().expect("an object").iter();
            let others = others.filter(|(key, _)| !["timestamp", "date", name].contains(&key.as_str()));
            assert!(others.clone().all(|(_, value)| value.is_null()), "{data_type}.{name}: {row}");
        }
    }
}

#[tokio::test]
async fn values_are_rounded_to_the_step_of_their_column() {
    let app = App::begin().await;
    for (data_type, name, sent, kept) in [
        ("temperature", "temp_sk1", 33.144, 33.14),
        ("temperature", "temp_sk2", 33.146, 33.15),
        ("temperature", "temp_amb", -0.004, 0.0),
        ("activity", "core_temp", 36.9949, 36.99),
        ("activity", "spo2", 97.44, 97.4),
        ("activity", "respiration_rate", 15.96, 16.0),
        ("rr-interval", "rr", 812.000_4, 812.0),
        ("ecg", "ecg", -0.123_6, -0.124),
    ] {
        let row = json!({"timestamp": T, name: sent});
        app.send(&json!({"data": {data_type: [row]}}).to_string()).await.ok();
        let rows = stored(&app, &app.patient, data_type).await;
        assert_eq!(rows[0][name].as_f64(), Some(kept), "{name} {sent}: {rows:?}");
        // What was kept is the same sample when it is sent back, and so is what was sent.
        for again in [kept, sent] {
            let row = json!({"timestamp": T, name: again});
            let counts = app.counts(data_type, &json!({"data": {data_type: [row]}}).to_string()).await;
            let is_alone = stored(&app, &app.patient, data_type).await.len() == 1;
            assert!(is_alone && counts[1] + counts[2] == 1, "{name} {again}: {counts:?}");
        }
    }
}

#[tokio::test]
async fn kinds_of_activity_are_those_of_the_list() {
    let app = App::begin().await;
    let rows: Vec<Value> = (-1..=8).map(|kind: i64| json!({"timestamp": T + kind, "activity_type": kind})).collect();
    let answer = app.send(&json!({"data": {"activity": rows}}).to_string()).await.ok();
    let errors = answer["types"]["activity"]["errors"].as_array().expect("errors").clone();
    let refused: Vec<i64> = errors.iter().map(|error| error["index"].as_i64().expect("a number") - 1).collect();
    assert_eq!(refused, [-1, 3, 5, 8]);
}

#[tokio::test]
async fn sources_of_a_signal_are_bytes_written_in_two_ways() {
    let app = App::begin().await;
    let sources = [
        (json!("0x00"), Some("0x00")),
        (json!("0xff"), Some("0xff")),
        (json!("0x7e"), Some("0x7e")),
        (json!(126), Some("0x7e")),
        (json!(0), Some("0x00")),
        (json!(255), Some("0xff")),
        (json!(256), None),
        (json!(-1), None),
        (json!("0x100"), None),
        (json!("green"), None),
    ];
    let rows: Vec<Value> = sources
        .iter()
        .enumerate()
        .map(|(at, (source, _))| json!({"timestamp": T + at as i64, "metric_id": source, "value": 7}))
        .collect();
    let answer = app.send(&json!({"data": {"bioz": rows}}).to_string()).await.ok();
    assert_eq!(answer["types"]["bioz"]["rejected"], 4, "{answer}");
    let found = stored(&app, &app.patient, "bioz").await;
    let found: Vec<&str> = found.iter().map(|row| row["metric_id"].as_str().expect("a source")).collect();
    let expected: Vec<&str> = sources.iter().filter_map(|(_, kept)| *kept).collect();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn texts_have_a_longest_form() {
    let app = App::begin().await;
    let spot = |rest: Value| {
        let mut row = Map::from_iter([("test_type".to_owned(), json!("other")), ("value".to_owned(), json!(1))]);
        row.extend(rest.as_object().expect("an object").clone());
        Value::Object(row)
    };
    for (data_type, row, is_good) in [
        ("activity", json!({"hta": "x".repeat(32)}), true),
        ("activity", json!({"hta": "x".repeat(33)}), false),
        ("tests", spot(json!({"note": "ü".repeat(1000)})), true),
        ("tests", spot(json!({"note": "ü".repeat(1001)})), false),
        ("tests", spot(json!({"unit": "u".repeat(32)})), true),
        ("tests", spot(json!({"unit": "u".repeat(33)})), false),
        ("tests", spot(json!({"note": ""})), true),
        ("tests", spot(json!({"value": null})), false),
        ("tests", spot(json!({"test_type": null})), false),
        ("tests", spot(json!({"test_type": "mood"})), false),
        ("tests", spot(json!({"value": 1_000_000})), true),
        ("tests", spot(json!({"value": 1_000_000.001})), false),
        ("tests", spot(json!({"value": -1_000_000})), true),
    ] {
        app.story.pass_ms(1000);
        let mut row = row;
        row["timestamp"] = json!(app.story.now_ms());
        let counts = app.counts(data_type, &json!({"data": {data_type: [row]}}).to_string()).await;
        assert_eq!(counts, if is_good { [1, 0, 0, 0] } else { [0, 0, 0, 1] }, "{row}");
    }
}

#[tokio::test]
async fn spot_measurements_are_in_their_units_or_not_at_all() {
    let app = App::begin().await;
    let kinds = [
        ("heart_rate", 61.0, vec!["/min"], vec!["bpm", "Hz", "%"]),
        ("respiration_rate", 14.0, vec!["/min"], vec!["1/s"]),
        ("spo2", 97.0, vec!["%"], vec!["", "percent", "mmHg"]),
        ("temperature", 37.2, vec!["°C"], vec!["°F", "K", "C"]),
        ("blood_pressure_systolic", 121.0, vec!["mmHg"], vec!["kPa", "mm"]),
        ("blood_pressure_diastolic", 79.0, vec!["mmHg"], vec!["kPa"]),
        ("weight", 61.5, vec!["kg"], vec!["lb", "g"]),
        ("glucose", 5.5, vec!["mmol/L"], vec!["g/L"]),
        ("glucose", 99.0, vec!["mg/dL"], vec!["mg"]),
    ];
    for (kind, value, units, others) in kinds {
        let send = async |unit: Value| {
            app.story.pass_ms(1000);
            let now_ms = app.story.now_ms();
            let row = json!({"timestamp": now_ms, "test_type": kind, "value": value, "unit": unit});
            app.counts("tests", &json!({"data": {"tests": [row]}}).to_string()).await
        };
        for unit in units {
            assert_eq!(send(json!(unit)).await, [1, 0, 0, 0], "{kind} in {unit}");
        }
        for unit in others.into_iter().filter(|unit| !unit.is_empty()) {
            assert_eq!(send(json!(unit)).await, [0, 0, 0, 1], "{kind} in {unit}");
        }
    }
    // A temperature of 98.6 is one in Fahrenheit, whatever it is called.
    let row = json!({"timestamp": app.story.now_ms(), "test_type": "temperature", "value": 98.6});
    let counts = app.counts("tests", &json!({"data": {"tests": [row]}}).to_string()).await;
    assert_eq!(counts, [0, 0, 0, 1]);
}

#[tokio::test]
async fn rows_lie_between_two_thousand_and_tomorrow() {
    let app = App::begin().await;
    let (first, last) = (946_684_800_000, app.story.now_ms() + 24 * 3_600_000);
    let times = [first, last, first - 1, last + 1, -1, i64::MAX / 1000];
    let rows: Vec<Value> = times.iter().map(|time| json!({"timestamp": time, "bpm": 60})).collect();
    let answer = app.send(&json!({"data": {"activity": rows}}).to_string()).await.ok();
    let counts = &answer["types"]["activity"];
    assert_eq!((&counts["stored"], &counts["rejected"]), (&json!(2), &json!(4)), "{counts}");
    let refused: Vec<(u64, &str)> = counts["errors"]
        .as_array()
        .expect("errors")
        .iter()
        .map(|error| (error["index"].as_u64().expect("an index"), error["column"].as_str().expect("a column")))
        .collect();
    assert_eq!(refused, [(2, "timestamp"), (3, "timestamp"), (4, "timestamp"), (5, "timestamp")]);
    // A day later what was too far ahead is taken.
    app.story.pass_ms(1);
    let row = json!({"timestamp": last + 1, "bpm": 60});
    assert_eq!(app.counts("activity", &json!({"data": {"activity": [row]}}).to_string()).await, [1, 0, 0, 0]);
}
