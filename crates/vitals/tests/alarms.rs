//! Alarm rules against `promtool test rules`, sample by sample: the same series, thresholds, `for` and `keep_firing_for`.
//!
//! Prometheus knows neither rows that cannot be judged nor gaps that restart a count, and its expressions have no memory
//! but `for` and `keep_firing_for`. So the series have a row each minute, all of good quality, and rules clear at their
//! threshold.
#![allow(clippy::unwrap_used, reason = "the lint spares tests but not their functions")]

#[path = "alarms/promtool.rs"]
mod promtool;
#[path = "alarms/real.rs"]
mod real;
mod recordings;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use vitals::alarms::{Priority, Rule, Signal};

use promtool::{Case, assert_equal};

/// Environment variable with the seed of all randomised tests.
const SEED_VARIABLE: &str = "PULSEWARD_TEST_SEED";
const SERIES: usize = 300;

#[allow(clippy::disallowed_methods, reason = "the environment says which seed to repeat")]
fn seed() -> u64 {
    let given = std::env::var(SEED_VARIABLE).ok().map(|text| text.parse().unwrap());
    // From the address of something new where none is given: it differs from run to run.
    let seed =
        given.unwrap_or_else(|| (&raw const *Box::new(0_u8)).addr() as u64 ^ u64::from(std::process::id()) << 32);
    println!("{SERIES} series with seed {seed}; {SEED_VARIABLE}={seed} repeats them");
    seed
}

/// Values that stay on one side of a threshold for some minutes, with single ones between.
fn series() -> impl Strategy<Value = Vec<f64>> {
    let tenths = proptest::prop_oneof![850_u32..900, 895_u32..905, 895_u32..905, 900_u32..1000];
    let run = (tenths, 1_usize..9).prop_map(|(tenths, length)| vec![f64::from(tenths) / 10.0; length]);
    proptest::collection::vec(run, 1..40).prop_map(|runs| runs.concat())
}

fn rule() -> impl Strategy<Value = Rule> {
    let thresholds = (proptest::bool::ANY, 880_u32..=910, 3_u32..60);
    (thresholds, 0_u32..=400, 0_u32..=400).prop_map(|((is_both, tenths, width), for_s, clear_for_s)| Rule {
        below: Some(f64::from(tenths) / 10.0),
        above: is_both.then_some(f64::from(tenths + width) / 10.0),
        for_s,
        clear_for_s,
        ..Rule::on(Signal::HeartRate, Priority::High)
    })
}

#[test]
fn random_series_fire_as_prometheus_says() {
    let seed = seed();
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let mut case = || Case {
        rule: rule().new_tree(&mut runner).unwrap().current(),
        values: series().new_tree(&mut runner).unwrap().current(),
    };
    let cases: Vec<Case> = (0..SERIES).map(|_| case()).collect();
    let firing = assert_equal("random", &cases);
    if let Some(firing) = firing {
        assert!(firing > 1000, "hardly anything fires: {firing} samples");
    }
}

#[test]
fn another_rule_than_ours_is_found_by_promtool() {
    let case = |for_s| Case {
        rule: Rule { below: Some(90.0), for_s, ..Rule::on(Signal::HeartRate, Priority::High) },
        values: vec![95.0, 88.0, 88.0, 88.0, 95.0],
    };
    let Some(output) = promtool::run("planted", &[case(60)], &[promtool::firing(&case(120))]) else { return };
    assert!(!output.status.success(), "a comparison that cannot fail shows nothing");
}
