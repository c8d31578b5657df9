//! Prints what judging a day of minute rows with five rules costs: `cargo run --release -p vitals --example alarms_speed`.
#![allow(clippy::disallowed_methods, reason = "it measures time")]

use std::time::Instant;

use vitals::alarms::{Builtin, Episode, Priority, Reading, Rule, Sample, Signal, Span, episodes};

const MINUTES: i64 = 1440;
const ROUNDS: u32 = 200;

fn day(reading: impl Fn(i64) -> Reading) -> Vec<Sample> {
    (0..MINUTES).map(|minute| Sample { time_ms: minute * 60_000, reading: reading(minute) }).collect()
}

fn vital(signal: Signal, below: f64, above: f64) -> (Span, Vec<Sample>) {
    let rule = Rule {
        below: Some(below),
        above: Some(above),
        for_s: 120,
        clear_for_s: 300,
        ..Rule::on(signal, Priority::High)
    };
    let middle = f64::midpoint(below, above);
    let swing = |minute: i64| middle + (above - below) * 0.6 * (minute as f64 / 40.0).sin();
    (Span::from(rule, 0), day(|minute| Reading::Value(swing(minute), Some((minute % 5) as u8))))
}

fn main() {
    let news = day(|minute| {
        let total = (minute / 30 % 9) as u8;
        Reading::News { total: (minute % 7 != 0).then_some(total), highest_part: total.min(3) }
    });
    let rules = [
        vital(Signal::HeartRate, 45.0, 130.0),
        vital(Signal::RespirationRate, 8.0, 25.0),
        vital(Signal::Spo2, 90.0, 100.0),
        vital(Signal::Temperature, 35.0, 38.5),
        (Span::from(Builtin::News2.rule(), 0), news),
    ];
    let started = Instant::now();
    let mut found: Vec<Episode> = Vec::new();
    for _ in 0..ROUNDS {
        found = rules.iter().flat_map(|(span, samples)| episodes(span, samples)).collect();
    }
    let each_us = started.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS);
    println!("{MINUTES} rows, {} rules, {} episodes: {each_us:.0} µs", rules.len(), found.len());
}
