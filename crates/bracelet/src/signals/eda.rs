//! Skin conductance at the wrist: a level that drifts, and responses on top of it.
//!
//! A response rises within about a second and falls within several: the difference of two exponentials (Benedek and
//! Kaernbach, 2010, doi:10.1016/j.jneumeth.2010.04.028). The times are those of sweat ducts filling and emptying, the
//! same in each of ours, so that what was sent can be taken apart again.

use rand::RngExt;

use super::cycles::{NoiseTable, block_parts};
use super::rr::BLOCK_MS;
use crate::bout::Movement;
use crate::course::Course;
use crate::night::Stage;
use crate::randomness::Subject;
use crate::time::MINUTE_MS;

/// How a response rises, s.
const RISE_S: f64 = 0.75;
/// How it falls, s.
const FALL_S: f64 = 2.0;
/// After this nothing of a response can be seen, s.
const LASTS_S: f64 = 20.0;
/// Error of a sample, µS.
const NOISE_US: f64 = 0.001;

/// A response of the skin: what an analysis of the signal should find.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Response {
    /// Begin, Unix ms.
    pub onset_ms: i64,
    /// Height of its peak above the level, µS.
    pub amplitude_us: f64,
}

/// Generates the seconds `[from_s, to_s)` since the epoch in µS, `rate_hz` samples per second.
pub fn skin_conductance(course: &Course, rate_hz: u32, from_s: i64, to_s: i64) -> Vec<f64> {
    let noise = NoiseTable::new(&course.patient().randomness);
    let rate = rate_hz as usize;
    let mut values = Vec::with_capacity((to_s - from_s).max(0) as usize * rate);
    for part in block_parts(from_s, to_s) {
        let block_ms = part.block * BLOCK_MS;
        let at_ms = |second: usize| block_ms + second as i64 * 1_000;
        let responses = responses(course, at_ms(part.from_s) - (LASTS_S * 1_000.0) as i64, at_ms(part.to_s));
        for second in part.from_s..part.to_s {
            let minute = at_ms(second).div_euclid(MINUTE_MS);
            let levels = [level_us(course, minute), level_us(course, minute + 1)];
            let into_minute_s = (at_ms(second) - minute * MINUTE_MS) as f64 / 1_000.0;
            let near: Vec<&Response> = responses
                .iter()
                .filter(|response| (-1_000..(LASTS_S * 1_000.0) as i64).contains(&(at_ms(second) - response.onset_ms)))
                .collect();
            for sample in 0..rate {
                let offset_s = sample as f64 / f64::from(rate_hz);
                let share = (into_minute_s + offset_s) / 60.0;
                let level = levels[0] * (1.0 - share) + levels[1] * share;
                let raised: f64 = near
                    .iter()
                    .map(|response| {
                        let since_s = (at_ms(second) - response.onset_ms) as f64 / 1_000.0 + offset_s;
                        response.amplitude_us * shape(since_s)
                    })
                    .sum();
                let error = f64::from(noise.at(part.block, 13, second * rate + sample)) * NOISE_US;
                values.push((level + raised + error).max(0.0));
            }
        }
    }
    values
}

/// Returns the responses that begin in `[from_ms, to_ms)`: a few a minute awake, more with effort, hardly any asleep.
pub fn responses(course: &Course, from_ms: i64, to_ms: i64) -> Vec<Response> {
    let mut found = Vec::new();
    for minute in from_ms.div_euclid(MINUTE_MS)..=to_ms.div_euclid(MINUTE_MS) {
        let truth = course.minute(minute);
        let most = match truth.movement {
            _ if is_asleep(truth.stage) => 1,
            Movement::Rest => 4,
            Movement::Other | Movement::Walk => 6,
            Movement::Run | Movement::Cycle => 9,
        };
        let mut random = course.patient().randomness.stream(Subject::SkinResponses, minute);
        for _ in 0..random.random_range(0..=most) {
            let onset_ms = minute * MINUTE_MS + random.random_range(0..MINUTE_MS);
            // Small ones are common: even over the logarithm from 0.03 to 0.6 µS.
            let amplitude_us = 0.03 * 20_f64.powf(random.random());
            found.push(Response { onset_ms, amplitude_us });
        }
    }
    found.retain(|response| (from_ms..to_ms).contains(&response.onset_ms));
    found.sort_by_key(|response| response.onset_ms);
    found
}

/// Returns the level at the begin of a minute, µS: 2 to 20, higher with effort and lower asleep.
pub fn level_us(course: &Course, minute: i64) -> f64 {
    const DRIFT_MS: i64 = 20 * MINUTE_MS;
    let truth = course.minute(minute);
    let randomness = &course.patient().randomness;
    // Number 0 is the person; the drift takes numbers from its time on.
    let resting: f64 = randomness.stream(Subject::SkinLevel, 0).random_range(3.5..11.0);
    let drift = 0.08 * randomness.wander(Subject::SkinLevel, truth.start_ms, DRIFT_MS);
    let sleep = if is_asleep(truth.stage) { 0.75 } else { 1.0 };
    (resting * drift.exp() * sleep * (1.0 + 0.5 * truth.exertion)).clamp(2.0, 20.0)
}

fn is_asleep(stage: Option<Stage>) -> bool {
    stage.is_some_and(|stage| stage != Stage::Awake)
}

/// Returns a response of height 1, so long after its begin.
fn shape(since_s: f64) -> f64 {
    if !(0.0..LASTS_S).contains(&since_s) {
        return 0.0;
    }
    let rises_and_falls = |at_s: f64| (-at_s / FALL_S).exp() - (-at_s / RISE_S).exp();
    let peak_s = (FALL_S / RISE_S).ln() * RISE_S * FALL_S / (FALL_S - RISE_S);
    rises_and_falls(since_s) / rises_and_falls(peak_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HOUR_MS, Patient, Scenario};

    /// 2025-11-20T12:00Z.
    const NOON_MS: i64 = 1_763_640_000_000;

    #[test]
    fn pieces_are_the_whole_and_lie_between_the_limits_of_skin() {
        for index in 0..5 {
            let patient = Patient::new(3, index, Scenario::Healthy, 0, "UTC").expect("a patient");
            let course = Course::new(&patient, NOON_MS, NOON_MS + HOUR_MS).expect("a course");
            let from_s = NOON_MS / 1_000;
            let whole = skin_conductance(&course, 4, from_s, from_s + 1_800);
            let mut pieces = skin_conductance(&course, 4, from_s, from_s + 613);
            pieces.extend(skin_conductance(&course, 4, from_s + 613, from_s + 1_800));
            assert_eq!(whole, pieces, "{index}");
            assert!(whole.iter().all(|value| (1.9..26.0).contains(value)), "{index}");
        }
    }

    #[test]
    fn the_signal_rises_by_each_lone_response_of_the_truth() {
        let patient = Patient::new(3, 1, Scenario::Healthy, 0, "UTC").expect("a patient");
        let course = Course::new(&patient, NOON_MS, NOON_MS + HOUR_MS).expect("a course");
        let truth = responses(&course, NOON_MS + 60_000, NOON_MS + HOUR_MS - 60_000);
        let lone = truth.windows(3).filter(|three| {
            three[1].onset_ms - three[0].onset_ms > 15_000 && three[2].onset_ms - three[1].onset_ms > 4_000
        });
        let mut found = 0;
        for response in lone.map(|three| three[1]) {
            let at_s = response.onset_ms / 1_000;
            let signal = skin_conductance(&course, 32, at_s, at_s + 4);
            let highest = signal.iter().copied().fold(f64::MIN, f64::max);
            let rise = highest - signal[0];
            assert!((rise - response.amplitude_us).abs() < 0.05 + 0.1 * response.amplitude_us, "{rise} {response:?}");
            found += 1;
        }
        assert!(found >= 5, "{found} of {}", truth.len());
    }

    #[test]
    fn sleepers_respond_less() {
        let patient = Patient::new(3, 2, Scenario::Healthy, 0, "UTC").expect("a patient");
        let course = Course::new(&patient, NOON_MS - 12 * HOUR_MS, NOON_MS + 6 * HOUR_MS).expect("a course");
        let count = |from_ms: i64| responses(&course, from_ms, from_ms + 2 * HOUR_MS).len();
        let (asleep, awake) = (count(NOON_MS - 10 * HOUR_MS), count(NOON_MS));
        assert!(2 * asleep < awake, "{asleep} asleep, {awake} awake");
    }
}
