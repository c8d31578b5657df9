//! Recordings with outside truth, in through the public sync and out of the API: the numbers are those that the library
//! gives on the file, and both are near the truth.

mod common;

use std::io::Read;
use std::path::Path;
use store::PatientId;

use common::{Enrolled, Story, text};
use serde_json::{Value, json};
use store::Role;
use vitals::af::classify_by_hour;
use vitals::beats::Beat;
use vitals::hrv::{day_averages, five_minute_windows};

/// 2025-10-25T04:00Z: a day of nsr001 from here lies on two local days.
const BEGIN_MS: i64 = 1_761_364_800_000;

struct Study {
    story: Story,
    key: String,
    grace: Enrolled,
}

impl Study {
    async fn begin() -> Self {
        let story = Story::begin().await;
        let key = story.key_of("ada@example.org", Role::Researcher).await;
        let group = story.group(&key).await;
        let grace = story.patient(&key, &group, json!({"time_zone": "UTC"})).await;
        Study { story, key, grace }
    }

    async fn sync(&self, data: Value) {
        self.story.sync(&self.grace, data).await;
    }

    async fn day(&self, date: &str) -> Value {
        let path = format!("/integration/v1/patients/{}/summary/{date}?token={}", self.grace.uuid, self.key);
        self.story.get(&path).await.ok()
    }
}

/// Returns the lines of a file below its header; nothing, said loudly, where the recordings are not there.
fn lines(name: &str) -> Option<Vec<String>> {
    let Some(folder) = testkit::real_data() else {
        testkit::skip("the recorded data are not there");
        return None;
    };
    Some(read(&folder.join(name)).lines().skip(1).map(str::to_owned).collect())
}

fn read(path: &Path) -> String {
    let bytes = std::fs::read(path).expect("a recording");
    let mut text = String::new();
    if path.extension().is_some_and(|extension| extension == "gz") {
        flate2::read::GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).expect("a recording");
        return text;
    }
    String::from_utf8(bytes).expect("text")
}

fn number(cell: &str) -> f64 {
    cell.parse().expect("a number")
}

fn value(json: &Value) -> f64 {
    json.as_f64().unwrap_or_else(|| panic!("{json} is no number"))
}

/// Intervals between the beats of a file, each at the time of its second beat, at the scale of the columns.
fn beats(name: &str, rate_hz: f64) -> Option<Vec<Beat>> {
    let samples: Vec<f64> = lines(name)?
        .iter()
        .filter(|line| line.split(',').nth(1) != Some("~"))
        .map(|line| number(line.split(',').next().expect("a cell")))
        .collect();
    let beat = |pair: &[f64]| Beat {
        time_ms: BEGIN_MS + ((pair[1] - samples[0]) * 1000.0 / rate_hz).floor() as i64,
        rr_ms: ((pair[1] - pair[0]) * 1e6 / rate_hz).round() / 1000.0,
        good: true,
    };
    Some(samples.windows(2).map(beat).collect())
}

fn as_columns(beats: &[Beat]) -> Value {
    let times: Vec<i64> = beats.iter().map(|beat| beat.time_ms).collect();
    let intervals: Vec<f64> = beats.iter().map(|beat| beat.rr_ms).collect();
    json!({"timestamp": times, "rr": intervals})
}

/// Three decimals are kept of each window and of the average.
fn assert_same(name: &str, answered: &Value, computed: Option<f64>) {
    match computed {
        Some(computed) => assert!((value(answered) - computed).abs() <= 0.001_001, "{name}: {answered} not {computed}"),
        None => assert!(answered.is_null(), "{name}: {answered}"),
    }
}

#[tokio::test]
async fn a_day_of_beats_gives_the_library_s_averages_and_records() {
    let Some(beats) = beats("rr/nsr001_beats.csv.gz", 128.0) else { return };
    let study = Study::begin().await;
    // The later part first, and the seam amid a window.
    let (early, late) = beats.split_at(beats.len() / 3);
    study.sync(json!({"rr-interval": as_columns(late)})).await;
    study.sync(json!({"rr-interval": as_columns(early)})).await;

    let day_ms = 86_400_000;
    for (date, number) in [("2025-10-25", BEGIN_MS.div_euclid(day_ms)), ("2025-10-26", BEGIN_MS.div_euclid(day_ms) + 1)]
    {
        let of_day: Vec<Beat> =
            beats.iter().filter(|beat| beat.time_ms.div_euclid(day_ms) == number).copied().collect();
        let windows = five_minute_windows(&of_day);
        assert!(windows.len() >= 30, "{date}: {}", windows.len());
        let average = day_averages(&windows);
        let stress = &study.day(date).await["stress_continuous"];
        for (name, computed) in [
            ("avg_si", average.avg_si),
            ("avg_si_n", average.avg_si_n),
            ("avg_mrr", average.avg_mrr),
            ("avg_sdnn", average.avg_sdnn),
            ("avg_rmssd", average.avg_rmssd),
            ("avg_pnn50", average.avg_pnn50),
            ("avg_vlf", average.avg_vlf),
            ("avg_vlf_percent", average.avg_vlf_percent),
            ("avg_lf", average.avg_lf),
            ("avg_lf_percent", average.avg_lf_percent),
            ("avg_hf", average.avg_hf),
            ("avg_hf_percent", average.avg_hf_percent),
            ("avg_hrv", average.avg_hrv),
            ("avg_mo", average.avg_mo),
            ("avg_amo", average.avg_amo),
        ] {
            assert_same(&format!("{date} {name}"), &stress[name], computed);
        }
        let path =
            format!("/integration/v1/patients/{}/raw-data-compliance/{date}?token={}", study.grace.uuid, study.key);
        let counts = study.story.get(&path).await.ok();
        assert_eq!(counts["raw_data_rr_interval"], of_day.len());
        assert_eq!(counts["summary_data_stress_slots"], windows.len());
    }

    let range = json!({"timestamp_from": BEGIN_MS, "timestamp_to": BEGIN_MS + 2 * day_ms});
    let path = format!("/integration/v1/create-afib-export/{}?token={}", study.grace.uuid, study.key);
    let records = study.story.post(&path, range).await.ok();
    let records = records.as_array().expect("records");
    let windows = classify_by_hour(&beats);
    assert_eq!(records.len(), windows.len());
    assert!(windows.len() > 1600);
    for (record, window) in records.iter().zip(&windows) {
        assert_eq!(record["timestamp"], window.time_ms);
        assert_eq!(text(&record["classification"]), window.classification.name());
        assert_eq!(record["af_detected"], json!(window.af_detected));
        assert_eq!(record["good_ibi_number"], window.good_ibi_number);
        for (name, computed) in [
            ("afb_probability", Some(window.afb_probability)),
            ("final_probability", Some(window.final_probability)),
            ("nsr_probability", window.nsr_probability),
            ("avnn", window.avnn),
            ("heart_rate", window.heart_rate),
            ("sdnn", window.sdnn),
            ("rmssd", window.rmssd),
            ("pnn50", window.pnn50),
            ("lf", window.lf),
        ] {
            assert_same(name, &record[name], computed);
        }
    }
    let found = study
        .story
        .platform
        .data
        .recompute(Some(&PatientId::new(study.grace.uuid.as_str())), |_, _| {})
        .await
        .expect("recomputed");
    assert!(found.windows > 250);
    assert_eq!(found.differences, 0);
}

#[tokio::test]
async fn a_polysomnography_gives_its_own_sums() {
    let Some(lines) = lines("sleep/psg_yasa_full6h_30s.csv") else { return };
    // 0 wake, 1 and 2 light, 3 deep, 4 REM.
    let states: Vec<u8> = lines.iter().map(|line| [0, 1, 1, 2, 3][number(&line[line.len() - 1..]) as usize]).collect();
    let times: Vec<i64> = (0..states.len() as i64).map(|epoch| BEGIN_MS - 5 * 3_600_000 + epoch * 30_000).collect();
    let study = Study::begin().await;
    study.sync(json!({"sleep": {"timestamp": times, "sleep_state": states}})).await;
    let day = study.day("2025-10-25").await;
    let night = &day["sleep"];
    let minutes = |name: &str| value(&night[name]) / 60.0;
    // The truth is in minutes: TST, REM, N3, N1 + N2, SOL, and what is awake of 360.
    for (name, truth) in [
        ("sleep_duration", 338.5),
        ("rem_time", 77.5),
        ("deep_time", 91.0),
        ("light_time", 170.0),
        ("time_to_sleep", 5.5),
        ("awake_time", 21.5),
        ("time_to_wake_up", 0.0),
    ] {
        assert_eq!(json!(minutes(name)), json!(truth), "{name}");
    }
    assert_eq!(night["performance"], 70.5);
    assert_eq!(night["start_session_original_ph"], "2025-10-24T23:00:00+00:00");
}

#[tokio::test]
async fn raw_waveforms_are_a_check_of_the_bracelet_s_values() {
    let Some(ecg) = lines("ecg/mitdb_100_first10min_ecg_360hz_uV.csv.gz") else { return };
    let Some(truth) = lines("ecg/mitdb_100_first10min_beats.csv") else { return };
    let Some(ppg) = lines("ppg/bidmc01_open_125hz.csv.gz") else { return };
    let Some(walk) = lines("acc/oxstep_user1_hand_100hz.csv.gz") else { return };
    let study = Study::begin().await;
    let millivolts: Vec<f64> = ecg.iter().map(|line| number(line) / 1000.0).collect();
    let beats_per_min = truth.len() as f64 / 10.0;
    let minutes: Vec<i64> = (0..10).map(|minute| BEGIN_MS + minute * 60_000).collect();
    study
        .sync(json!({"ecg": [{"start": BEGIN_MS, "rate_hz": 360, "ecg": millivolts}],
            "activity": {"timestamp": minutes, "bpm": beats_per_min.round(), "last_steps": null}}))
        .await;
    let heart_rate = study.day("2025-10-25").await["heart_rate"].clone();
    let check = &heart_rate["waveform_quality"]["ecg"];
    assert_eq!((&check["pieces"], &check["good_percent"]), (&json!(20), &json!(100.0)));
    assert!((value(&check["heart_rate"]) - beats_per_min).abs() < 1.0, "{check}");
    assert!(value(&check["heart_rate_difference"]) < 2.0, "{check}");
    assert_eq!(heart_rate["avg_daily_heart_rate"], beats_per_min.round(), "the bracelet's value is kept");

    let codes: Vec<f64> =
        ppg.iter().map(|line| (number(line.split(',').nth(2).expect("pleth")) * 1023.0).round()).collect();
    let later_ms = BEGIN_MS + 86_400_000;
    study
        .sync(json!({"ppg2": [{"start": later_ms, "rate_hz": 125, "metric_id": "0x7e", "led_pd_pos": 6, "value": codes}]}))
        .await;
    let check = study.day("2025-10-26").await["heart_rate"]["waveform_quality"]["ppg"].clone();
    assert!(value(&check["good_percent"]) > 80.0, "{check}");
    assert!((85.0..100.0).contains(&value(&check["heart_rate"])), "{check}");

    let cells = |axis: usize| -> Vec<f64> {
        walk.iter().map(|line| (number(line.split(',').nth(axis).expect("axis")) / 9.80665 * 512.0).round()).collect()
    };
    let times: Vec<i64> = walk
        .iter()
        .map(|line| BEGIN_MS + 2 * 86_400_000 + number(line.split(',').next().expect("time")) as i64)
        .collect();
    let acceleration = json!({"timestamp": times, "accX": cells(1), "accY": cells(2), "accZ": cells(3)});
    study.sync(json!({"acc": acceleration})).await;
    let activity = study.day("2025-10-27").await["activity"].clone();
    assert_eq!(activity["steps_source"], "acceleration");
    let steps = value(&activity["total_steps"]);
    // 326 were counted.
    assert!((steps - 326.0).abs() <= 0.08 * 326.0, "{steps}");
    let found = study.story.platform.data.recompute(None, |_, _| {}).await.expect("recomputed");
    assert_eq!(found.differences, 0);
}
