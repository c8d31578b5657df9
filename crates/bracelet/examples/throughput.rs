//! Prints how many samples per second each waveform generator makes: `cargo run --release -p bracelet --example throughput`.
#![allow(clippy::disallowed_methods, reason = "a client of the service, outside the runtime seam")]

use std::time::Instant;

use bracelet::signals::{acc, bioz, ecg, eda, gyro, ppg};
use bracelet::{BraceletError, Course, DataType, HOUR_MS, Patient, Scenario, SignalRates, SyncBody, Window};

fn main() -> Result<(), BraceletError> {
    const FROM_MS: i64 = 1_763_596_800_000;
    let hours = 6;
    let from_s = FROM_MS / 1_000;
    let to_s = from_s + hours * 3_600;
    let patient = Patient::new(1, 0, Scenario::Healthy, 0, "Europe/Zurich")?;
    let course = Course::new(&patient, FROM_MS, FROM_MS + hours * HOUR_MS)?;
    let report = |name: &str, generate: &dyn Fn() -> usize| {
        let begin = Instant::now();
        let samples = generate();
        let seconds = begin.elapsed().as_secs_f64();
        println!("{name:12} {:8.1} M values/s", samples as f64 / seconds / 1e6);
    };
    report("ppg2", &|| ppg::ppg(&course, 128, from_s, to_s).values.iter().map(Vec::len).sum());
    report("ecg", &|| ecg::ecg(&course, 256, from_s, to_s).len());
    report("acc", &|| acc::acceleration(&course, 32, from_s, to_s).axes.iter().map(Vec::len).sum());
    report("bioz", &|| bioz::bioimpedance(&course, 25, from_s, to_s).len());
    report("eda", &|| eda::skin_conductance(&course, 4, from_s, to_s).len());
    report("gyro", &|| gyro::rotation(&course, 32, from_s, to_s).axes.iter().map(Vec::len).sum());
    let window = Window::new(FROM_MS, FROM_MS + hours * HOUR_MS);
    report("vitals json", &|| body(&patient, window, &DataType::VITALS));
    report("ppg2 json", &|| body(&patient, window, &[DataType::Ppg2]));
    report("minute syncs", &|| {
        (0..360)
            .map(|minute| {
                let begin = FROM_MS + minute * 60_000;
                body(&patient, Window::new(begin, begin + 60_000), &DataType::VITALS)
            })
            .sum()
    });
    Ok(())
}

/// Builds and writes a body; the number of its values.
fn body(patient: &Patient, window: Window, data_types: &[DataType]) -> usize {
    SyncBody::new(patient, window, data_types, &SignalRates::default())
        .and_then(|body| body.to_json().map(|_| body.value_count()))
        .unwrap_or(0)
}
