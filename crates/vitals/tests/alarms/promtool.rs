//! The same rules and series for Prometheus, as files of `promtool test rules`.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output};

use vitals::alarms::{Reading, Rule, Sample, Span, episodes};

const MINUTE_MS: i64 = 60_000;

/// A rule and a value a minute.
pub struct Case {
    pub rule: Rule,
    pub values: Vec<f64>,
}

/// Returns whether an episode is open at each value of a case, by our judging.
pub fn firing(case: &Case) -> Vec<bool> {
    let sample =
        |(at, value): (i64, &f64)| Sample { time_ms: at * MINUTE_MS, reading: Reading::Value(*value, Some(4)) };
    let samples: Vec<Sample> = (0..).zip(&case.values).map(sample).collect();
    let found = episodes(&Span::from(case.rule.clone(), 0), &samples);
    let is_open = |time_ms: i64| {
        found.iter().any(|open| open.opened_ms <= time_ms && open.end.is_none_or(|(end_ms, _)| time_ms < end_ms))
    };
    samples.iter().map(|sample| is_open(sample.time_ms)).collect()
}

/// Asserts that Prometheus fires at the same samples as we; returns at how many. `None`, after saying so loudly, where
/// promtool is not installed.
pub fn assert_equal(name: &str, cases: &[Case]) -> Option<usize> {
    let ours: Vec<Vec<bool>> = cases.iter().map(firing).collect();
    let output = run(name, cases, &ours)?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(4000)]).into_owned();
    assert!(output.status.success(), "{}{}", said(&output.stdout), said(&output.stderr));
    Some(ours.concat().into_iter().filter(|fires| *fires).count())
}

/// Lets promtool compare what Prometheus says of cases with what is expected.
#[allow(clippy::disallowed_methods, reason = "the environment says whether anything may be skipped")]
pub fn run(name: &str, cases: &[Case], expected: &[Vec<bool>]) -> Option<Output> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("promtool-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("rules.yml"), rules(cases)).unwrap();
    std::fs::write(folder.join("tests.yml"), tests(cases, expected)).unwrap();
    let output = Command::new("promtool").args(["test", "rules", "tests.yml"]).current_dir(&folder).output();
    // What has failed is left for a look.
    if output.as_ref().is_ok_and(|output| output.status.success()) {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    let Ok(output) = output else {
        assert!(std::env::var_os("CI").is_none(), "nothing may be skipped here: promtool is not installed");
        eprintln!("SKIPPED: promtool is not installed");
        return None;
    };
    Some(output)
}

fn rules(cases: &[Case]) -> String {
    let mut text = String::from("groups:\n- name: vitals\n  interval: 1m\n  rules:\n");
    for (at, Case { rule, .. }) in cases.iter().enumerate() {
        let below = rule.below.map(|below| format!("v{at} < {below}"));
        let above = rule.above.map(|above| format!("v{at} > {above}"));
        let expression = below.into_iter().chain(above).collect::<Vec<_>>().join(" or ");
        let (for_s, clear_for_s) = (rule.for_s, rule.clear_for_s);
        writeln!(text, "  - {{alert: A{at}, expr: '{expression}', for: {for_s}s, keep_firing_for: {clear_for_s}s}}")
            .unwrap();
    }
    text
}

fn tests(cases: &[Case], expected: &[Vec<bool>]) -> String {
    let mut text =
        String::from("rule_files: [rules.yml]\nevaluation_interval: 1m\ntests:\n- interval: 1m\n  input_series:\n");
    for (at, Case { values, .. }) in cases.iter().enumerate() {
        let values: Vec<String> = values.iter().map(f64::to_string).collect();
        writeln!(text, "  - {{series: 'v{at}', values: '{} stale'}}", values.join(" ")).unwrap();
    }
    text.push_str("  alert_rule_test:\n");
    for (at, fires) in expected.iter().enumerate() {
        for (minute, fires) in fires.iter().enumerate() {
            let alerts = if *fires { "[{}]" } else { "[]" };
            writeln!(text, "  - {{eval_time: {minute}m, alertname: A{at}, exp_alerts: {alerts}}}").unwrap();
        }
    }
    text
}
