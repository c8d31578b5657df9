//! Rules over recordings of patients: heart rate of each minute from annotated beats.

use vitals::alarms::{Priority, Rule, Signal};

use super::promtool::{Case, assert_equal};
use super::recordings;

const MINUTE_MS: f64 = 60_000.0;

/// Heart rate of each minute of a recording, /min; the last one of a minute without two beats is repeated.
fn heart_rates(name: &str, rate_hz: f64) -> Option<Vec<f64>> {
    let rows = recordings::rows(name)?;
    let mut rates: Vec<f64> = Vec::new();
    let (mut time_ms, mut beats) = (0.0, Vec::new());
    for row in rows {
        let Ok(samples) = row[0].parse::<f64>() else { continue };
        let interval_ms = samples * 1000.0 / rate_hz;
        time_ms += interval_ms;
        while time_ms >= MINUTE_MS * (rates.len() + 1) as f64 {
            let mean_ms = beats.iter().sum::<f64>() / beats.len().max(1) as f64;
            let rate = if mean_ms > 0.0 { (600_000.0 / mean_ms).round() / 10.0 } else { 0.0 };
            rates.push(if rate > 0.0 { rate } else { rates.last().copied().unwrap_or(60.0) });
            beats.clear();
        }
        if (200.0..=3000.0).contains(&interval_ms) {
            beats.push(interval_ms);
        }
    }
    Some(rates)
}

fn rules() -> Vec<Rule> {
    let rule = |below, above, for_s, clear_for_s| Rule {
        below,
        above,
        for_s,
        clear_for_s,
        ..Rule::on(Signal::HeartRate, Priority::High)
    };
    vec![
        rule(None, Some(130.0), 0, 0),
        rule(Some(50.0), Some(110.0), 0, 120),
        rule(None, Some(100.0), 120, 0),
        rule(None, Some(90.0), 300, 600),
        rule(Some(60.0), None, 60, 180),
    ]
}

#[test]
fn recordings_fire_as_prometheus_says() {
    let Some(folder) = recordings::folder() else { return };
    let (mut cases, mut files) = (Vec::new(), 0);
    for (database, rate_hz) in [("afdb", 250.0), ("ltafdb", 128.0)] {
        let names = std::fs::read_dir(folder.join("rhythm").join(database)).unwrap();
        let mut names: Vec<String> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        for name in names.iter().filter(|name| name.ends_with("_beats.csv.gz")).take(10) {
            let values = heart_rates(&format!("rhythm/{database}/{name}"), rate_hz).unwrap();
            // Ten hours of each: promtool compares sample by sample, and takes longer the more there are.
            let values = values[..values.len().min(600)].to_vec();
            cases.extend(rules().into_iter().map(|rule| Case { rule, values: values.clone() }));
            files += 1;
        }
    }
    assert_eq!(files, 20);
    let Some(firing) = assert_equal("recordings", &cases) else { return };
    let all: usize = cases.iter().map(|case| case.values.len()).sum();
    println!(
        "{files} recordings, {} rules on each: {firing} of {all} samples fire, ours as Prometheus's",
        rules().len()
    );
    assert!(firing > all / 50 && firing < all / 2, "rules that never or always fire show nothing: {firing} of {all}");
}
