//! What an upload holds: the right columns, values in range, the same samples however it is cut, and the daily truth.
#![allow(clippy::unwrap_used)]

use bracelet::{DataType, HOUR_MS, Patient, Scenario, SignalRates, SyncBody, Truth, Window};
use jiff::civil::date;
use serde_json::{Map, Value};

/// 2025-11-20T00:00:00Z
const MIDNIGHT_MS: i64 = 1_763_596_800_000;
const DAY_MS: i64 = 24 * HOUR_MS;

fn patient(index: u64, scenario: Scenario, onset_ms: i64) -> Patient {
    Patient::new(11, index, scenario, onset_ms, "Europe/Zurich").unwrap()
}

fn json(patient: &Patient, from_ms: i64, to_ms: i64, types: &[DataType]) -> Value {
    let window = Window::new(from_ms, to_ms);
    let body = SyncBody::new(patient, window, types, &SignalRates::default()).unwrap();
    serde_json::from_slice(&body.to_json().unwrap()).unwrap()
}

/// Returns the blocks of one type as a list, whether one or several were sent.
fn blocks(body: &Value, data_type: DataType) -> Vec<Map<String, Value>> {
    match &body["data"][data_type.name()] {
        Value::Object(block) => vec![block.clone()],
        Value::Array(blocks) => blocks.iter().map(|b| b.as_object().unwrap().clone()).collect(),
        _ => Vec::new(),
    }
}

fn numbers(column: &Value) -> Vec<Option<f64>> {
    column.as_array().unwrap().iter().map(Value::as_f64).collect()
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let window = Window::new(MIDNIGHT_MS + 8 * HOUR_MS, MIDNIGHT_MS + 8 * HOUR_MS + 90_000);
    let text = |seed, index| {
        let patient = Patient::new(seed, index, Scenario::Healthy, 0, "Asia/Kolkata").unwrap();
        SyncBody::new(&patient, window, &DataType::ALL, &SignalRates::default()).unwrap().to_json().unwrap()
    };
    assert_eq!(text(1, 1), text(1, 1));
    assert_ne!(text(1, 1), text(2, 1));
    assert_ne!(text(1, 1), text(1, 2));
}

#[test]
fn a_repeated_sync_is_equal_in_every_scenario_and_a_changed_one_has_another_identifier() {
    for scenario in Scenario::ALL {
        let patient = patient(3, scenario, MIDNIGHT_MS);
        let window = Window::new(MIDNIGHT_MS, MIDNIGHT_MS + HOUR_MS);
        let body =
            |types: &[DataType], window| SyncBody::new(&patient, window, types, &SignalRates::default()).unwrap();
        let first = body(&DataType::VITALS, window);
        assert_eq!(first, body(&DataType::VITALS, window), "{scenario}");
        assert_ne!(first.sync_id, body(&[DataType::Sleep], window).sync_id);
        let longer = Window::new(MIDNIGHT_MS, MIDNIGHT_MS + 2 * HOUR_MS);
        assert_ne!(first.sync_id, body(&DataType::VITALS, longer).sync_id);
    }
}

/// Returns all rows of a type as (channel, time in µs, the other cells), sorted.
fn rows(body: &Value, data_type: DataType) -> Vec<(Option<Value>, i64, Vec<Value>)> {
    let mut rows = Vec::new();
    for block in blocks(body, data_type) {
        let count = block.values().filter_map(Value::as_array).map(Vec::len).max().unwrap();
        for row in 0..count {
            let test_type = block.get("test_type").map(|types| &types[row]);
            let channel = block.get("metric_id").or(test_type).cloned();
            let time_us = match block.get("start") {
                Some(start) => {
                    let rate = block["rate_hz"].as_i64().unwrap();
                    start.as_i64().unwrap() * 1_000 + (row as i64 * 2_000_000 + rate) / (2 * rate)
                }
                None => block["timestamp"][row].as_i64().unwrap() * 1_000,
            };
            let cells = block
                .iter()
                .filter(|(name, _)| !matches!(name.as_str(), "start" | "timestamp" | "rate_hz"))
                .map(|(_, column)| column.get(row).unwrap_or(column).clone())
                .collect();
            rows.push((channel, time_us, cells));
        }
    }
    sort(&mut rows);
    rows
}

fn sort(rows: &mut [(Option<Value>, i64, Vec<Value>)]) {
    let channel = |value: &Option<Value>| value.as_ref().and_then(Value::as_str).map(str::to_owned);
    rows.sort_by_cached_key(|row| (channel(&row.0), row.1));
}

#[test]
fn a_window_in_pieces_holds_the_same_samples() {
    // Waking, charging and the morning's tests lie in these hours.
    let from_ms = MIDNIGHT_MS + 3 * HOUR_MS;
    let to_ms = from_ms + 5 * HOUR_MS;
    for scenario in [Scenario::Healthy, Scenario::AtrialFibrillation, Scenario::NotWorn] {
        let patient = patient(1, scenario, from_ms + HOUR_MS + 500);
        for data_type in DataType::ALL {
            // A shorter window for the dense types keeps the test quick.
            let to_ms = if data_type.is_waveform() { from_ms + 5 * 60_000 + 30_000 } else { to_ms };
            let whole = rows(&json(&patient, from_ms, to_ms, &[data_type]), data_type);
            let mut pieces = Vec::new();
            let mut at_ms = from_ms;
            for step_s in [59, 1, 241, 17, 3, 40_000] {
                let end_ms = (at_ms + step_s * 1_000).min(to_ms);
                pieces.extend(rows(&json(&patient, at_ms, end_ms, &[data_type]), data_type));
                at_ms = end_ms;
            }
            sort(&mut pieces);
            let is_present = !whole.is_empty() || data_type == DataType::Tests;
            assert!(is_present, "{data_type}");
            assert!(whole == pieces, "{data_type} {scenario}");
        }
    }
}

#[test]
fn values_stay_in_their_ranges_and_columns_have_equal_lengths() {
    let in_range = |name: &str, value: f64| -> bool {
        let (low, high) = match name {
            "bpm" => (0.0, 255.0),
            "bpm_q" | "resp_q" | "spo2_q" | "quality" | "wearing" => (0.0, 4.0),
            "last_steps" => (0.0, 250.0),
            "activity_type" => (0.0, 7.0),
            "speed" => (0.0, 120.0),
            "energy_exp" => (0.0, 30_000.0),
            "respiration_rate" => (0.0, 60.0),
            "charging" => (0.0, 1.0),
            "core_temp" => (34.0, 42.0),
            "gait_asymmetry" | "gait_speed" | "gait_var" => (0.0, 10.0),
            "nibp_systolic_combine" => (70.0, 240.0),
            "nibp_diastolic_combine" => (30.0, 140.0),
            "rr" => (290.0, 2_010.0),
            "sleep_state" => (0.0, 3.0),
            "temp_sk1" | "temp_sk2" => (24.0, 40.0),
            "temp_amb" => (10.0, 40.0),
            "ecg" => (-2.0, 2.0),
            "accX" | "accY" | "accZ" => (-4_096.0, 4_095.0),
            "acc" | "accx" | "accy" | "accz" => (-512.0, 900.0),
            "ppg" | "led_pd_pos" => (0.0, 65_535.0),
            "spo2" | "battery" | "pnn50" | "vlf_percent" | "lf_percent" | "hf_percent" | "amo" => (0.0, 100.0),
            "si" | "si_n" | "mrr" | "sdnn" | "rmssd" | "vlf" | "lf" | "hf" | "hrv" | "mo" => (0.0, 1e6),
            "value" => (-5_000.0, 65_535.0),
            "eda" => (0.5, 30.0),
            "x" | "y" | "z" => (-2_000.0, 2_000.0),
            other => panic!("unknown column {other}"),
        };
        (low..=high).contains(&value)
    };
    for (index, scenario) in Scenario::ALL.into_iter().enumerate() {
        let patient = patient(index as u64, scenario, MIDNIGHT_MS + 6 * HOUR_MS);
        let vitals = json(&patient, MIDNIGHT_MS, MIDNIGHT_MS + DAY_MS, &DataType::VITALS);
        let waveforms: Vec<DataType> = DataType::ALL.into_iter().filter(|t| t.is_waveform()).collect();
        let noon_ms = MIDNIGHT_MS + 12 * HOUR_MS;
        let raw = json(&patient, noon_ms, noon_ms + 120_000, &waveforms);
        for (body, data_type) in
            DataType::ALL.into_iter().map(|t| if t.is_waveform() { (&raw, t) } else { (&vitals, t) })
        {
            for block in blocks(body, data_type) {
                let lengths: Vec<usize> = block.values().filter_map(Value::as_array).map(Vec::len).collect();
                assert!(lengths.iter().all(|l| *l == lengths[0]), "{data_type}");
                for (name, column) in &block {
                    if matches!(name.as_str(), "timestamp" | "start" | "rate_hz" | "metric_id" | "test_type" | "unit") {
                        continue;
                    }
                    let cells = column.as_array().cloned().unwrap_or_else(|| vec![column.clone()]);
                    for cell in cells.iter().filter(|cell| !cell.is_null()) {
                        let value = cell.as_f64().unwrap();
                        assert!(in_range(name, value), "{scenario} {data_type} {name} = {value}");
                    }
                }
            }
        }
    }
}

#[test]
fn truth_agrees_with_the_uploaded_rows() {
    for index in 0..6 {
        let patient = patient(index, Scenario::Healthy, 0);
        let truth = Truth::new(&patient, date(2025, 11, 20), i64::MAX).unwrap();
        let body = json(&patient, truth.start_ms, truth.end_ms, &[DataType::Activity]);
        let activity = &blocks(&body, DataType::Activity)[0];
        let column =
            |name: &str| -> Vec<f64> { numbers(&activity[name]).into_iter().map(|v| v.unwrap_or(0.0)).collect() };
        assert_eq!(truth.activity_rows, 1_440);
        assert_eq!(column("timestamp").len(), 1_440);
        let steps: f64 = column("last_steps").iter().sum();
        assert_eq!(truth.total_steps, steps as i64);
        assert!((2_000..30_000).contains(&truth.total_steps), "{}", truth.total_steps);

        // Five rows each, as the local midnight is a whole multiple of five minutes.
        let (bpm, quality) = (column("bpm"), column("bpm_q"));
        let mut means = Vec::new();
        for slot in 0..288 {
            let valid: Vec<f64> = (slot * 5..slot * 5 + 5)
                .filter(|row| bpm[*row] > 0.0 && quality[*row] >= 2.0)
                .map(|row| bpm[row])
                .collect();
            if !valid.is_empty() {
                means.push(valid.iter().sum::<f64>() / valid.len() as f64);
            }
        }
        assert_eq!(means.len(), truth.heart_rate_slots);
        let average = means.iter().sum::<f64>() / means.len() as f64;
        assert!((average - truth.avg_daily_heart_rate.unwrap()).abs() < 1e-9);
        assert!((50.0..100.0).contains(&average), "{average}");
        let worn = column("wearing").iter().filter(|wearing| **wearing >= 1.0).count();
        assert_eq!(worn, truth.worn_minutes);
        assert!((1_370..1_402).contains(&worn), "{worn}");
        let readings = numbers(&activity["nibp_systolic_combine"]).into_iter().flatten().count();
        assert!((45..=48).contains(&readings), "{readings}");
        assert!((1_200.0..6_000.0).contains(&truth.energy_kcal), "{}", truth.energy_kcal);
    }
}

#[test]
fn sleep_sums_agree_with_the_uploaded_epochs() {
    for index in 0..6 {
        let patient = patient(index, Scenario::Healthy, 0);
        let sleep = Truth::new(&patient, date(2025, 11, 20), i64::MAX).unwrap().sleep;
        // From noon to noon, as a service reckons a night.
        let noon_ms = MIDNIGHT_MS + 11 * HOUR_MS;
        let body = json(&patient, noon_ms - DAY_MS, noon_ms, &[DataType::Sleep]);
        let block = &blocks(&body, DataType::Sleep)[0];
        let states = numbers(&block["sleep_state"]);
        let seconds = |state: f64| states.iter().filter(|s| **s == Some(state)).count() as i64 * 30;
        assert_eq!(
            (sleep.awake_s, sleep.light_s, sleep.deep_s, sleep.rem_s),
            (seconds(0.0), seconds(1.0), seconds(2.0), seconds(3.0))
        );
        assert_eq!(sleep.sleep_duration_s, seconds(1.0) + seconds(2.0) + seconds(3.0));
        assert_eq!(sleep.sleep_duration_s + sleep.awake_s, (sleep.end_ms - sleep.start_ms) / 1_000);
        assert!((5 * 3_600..9 * 3_600).contains(&sleep.sleep_duration_s), "{sleep:?}");
        let before = states.iter().take_while(|s| **s == Some(0.0)).count() as i64 * 30;
        let after = states.iter().rev().take_while(|s| **s == Some(0.0)).count() as i64 * 30;
        assert_eq!((sleep.time_to_sleep_s, sleep.time_to_wake_up_s), (before, after));
        let times = block["timestamp"].as_array().unwrap();
        let times: Vec<i64> = times.iter().map(|time| time.as_i64().unwrap()).collect();
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 30_000));
    }
}

#[test]
fn a_bracelet_off_the_wrist_sends_rows_without_values() {
    for (scenario, charging) in [(Scenario::NotWorn, 0.0), (Scenario::Charging, 1.0)] {
        // Afternoon, far from the daily charging, and past the last five minutes of variability.
        let from_ms = MIDNIGHT_MS + 14 * HOUR_MS;
        let onset_ms = from_ms - 10 * 60_000;
        let patient = patient(2, scenario, onset_ms);
        let body = json(&patient, from_ms, from_ms + HOUR_MS, &DataType::ALL);
        let activity = &blocks(&body, DataType::Activity)[0];
        for name in ["bpm", "bpm_q", "last_steps", "respiration_rate", "spo2", "wearing"] {
            assert_eq!(numbers(&activity[name]), vec![Some(0.0); 60], "{scenario} {name}");
        }
        assert_eq!(numbers(&activity["charging"]), vec![Some(charging); 60]);
        assert_eq!(numbers(&activity["core_temp"]), vec![None; 60]);
        for data_type in DataType::ALL {
            let is_sent = matches!(data_type, DataType::Activity | DataType::Temperature);
            assert_eq!(!blocks(&body, data_type).is_empty(), is_sent, "{data_type}");
        }
        let skin = &blocks(&body, DataType::Temperature)[0]["temp_sk1"];
        assert_eq!(numbers(skin), vec![None; 60]);
        // Before the onset the same patient wears it.
        let before = json(&patient, onset_ms - HOUR_MS, onset_ms, &[DataType::Activity]);
        assert_eq!(numbers(&blocks(&before, DataType::Activity)[0]["wearing"]), vec![Some(4.0); 60]);
    }
}

#[test]
fn waveforms_name_start_rate_and_channel() {
    let patient = patient(0, Scenario::Healthy, 0);
    let from_ms = MIDNIGHT_MS + 13 * HOUR_MS;
    let body = json(&patient, from_ms + 499, from_ms + 60_999, &[DataType::Ppg2, DataType::Ecg]);
    let ppg = blocks(&body, DataType::Ppg2);
    let channels: Vec<_> = ppg.iter().map(|b| b["metric_id"].as_str().unwrap()).collect();
    assert_eq!(channels, ["0x7e", "0x7c", "0x7b"]);
    for block in &ppg {
        assert_eq!(block["start"], from_ms);
        assert_eq!(block["rate_hz"], 128);
        assert_eq!(block["value"].as_array().unwrap().len(), 60 * 128);
    }
    let ecg = &blocks(&body, DataType::Ecg)[0];
    assert_eq!(ecg["ecg"].as_array().unwrap().len(), 60 * 256);
}
