//! Resting values of a fleet with stories: as spread as those of healthy people.
//!
//! The fleet without stories is for looking at, and its patients are more alike than people are. False alarms depend on
//! the spread, so a fleet that alarms are judged by has that of publications; `docs/simulated-population.md` names them
//! and a test holds the fleet to them.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use crate::error::BraceletError;
use crate::news2::Signs;
use crate::patient::{Baseline, Patient};
use crate::randomness::Subject;
use crate::scenario::Scenario;

/// The worst score that a healthy person may have at rest, by the worst hour of each vital sign. Healthy persons of the
/// publications would score more here and there; with 5 and more nobody could say which of their alarms is false.
const WORST_AT_REST: u8 = 4;
/// Draws after which the last one is taken; about nine of ten persons are taken at the first.
const MOST_DRAWS: usize = 100;

impl Patient {
    /// Patient number `index` of a fleet with stories: healthy, with resting values of the sourced population.
    pub fn of_population(seed: u64, index: u64, zone_name: &str) -> Result<Self, BraceletError> {
        let mut patient = Self::new(seed, index, Scenario::Healthy, 0, zone_name)?;
        let mut random = patient.randomness.stream(Subject::Population, 0);
        for _ in 0..MOST_DRAWS {
            draw(&mut patient.baseline, &mut random);
            if worst_news2(&patient.baseline) <= WORST_AT_REST {
                break;
            }
        }
        Ok(patient)
    }
}

/// A normal value of this mean and standard deviation, drawn again until it lies within two and a half of them.
fn normal(mean: f64, deviation: f64, random: &mut ChaCha8Rng) -> f64 {
    loop {
        let value: f64 = random.sample(StandardNormal);
        if value.abs() <= 2.5 {
            return mean + deviation * value;
        }
    }
}

fn draw(baseline: &mut Baseline, random: &mut ChaCha8Rng) {
    // The means are those around which sleep, the time of day and effort move: not yet what a day's figures show.
    baseline.heart_rate = normal(59.5, 8.0, random);
    // Truncated by nothing but the score: a spread that is cut at the ends gives fewer false alarms than people do.
    baseline.respiration_rate = normal(16.1, 2.3, random);
    baseline.spo2 = normal(97.0, 1.5, random).min(99.6);
    baseline.core_temp_c = normal(36.8, 0.3, random);
    // Both pressures of a person are high or low together.
    let level = normal(0.0, 1.0, random);
    baseline.systolic_mmhg = 116.5 + 10.5 * level;
    baseline.diastolic_mmhg = 74.5 + 5.5 * level + normal(0.0, 4.5, random);
    // Drawn for each person: those whose pressure hardly dips and those whose dips far are where rules differ.
    baseline.systolic_dip = normal(0.13, 0.03, random);
    baseline.diastolic_dip = normal(0.17, 0.03, random);
}

/// Returns the sum of the worst points of each sign at rest, drift included.
fn worst_news2(baseline: &Baseline) -> u8 {
    let signs = |respiration_rate, spo2, heart_rate, systolic_mmhg| {
        Signs { respiration_rate, spo2, systolic_mmhg, heart_rate, core_temp_c: baseline.core_temp_c }.news2()
    };
    // Asleep: everything low. Two and a half deviations of the drift, as `signals` has it.
    let night = signs(
        baseline.respiration_rate - 0.8 - 2.3,
        baseline.spo2 - 0.6 - 0.9,
        baseline.heart_rate - baseline.heart_rate_swing - 8.0 - 4.5,
        baseline.systolic_mmhg * (1.0 - baseline.systolic_dip) - 10.0,
    );
    let day = signs(
        baseline.respiration_rate + 1.3,
        baseline.spo2 - 0.9,
        baseline.heart_rate + baseline.heart_rate_swing + 4.5,
        baseline.systolic_mmhg - 10.0,
    );
    night.max(day)
}
