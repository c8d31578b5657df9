//! Rotation of the wrist: the turns of the arm that the acceleration shows, and its swing with the steps.
//!
//! A direction that is fixed in the room turns against the wrist: ġ = −ω × g. Of all rotations that turn gravity as the
//! acceleration has it, ω = ġ × g is the smallest; a turn about gravity itself cannot be seen there and is left out.

use std::f64::consts::TAU;

use super::acc::{Gait, directions};
use super::cycles::{NoiseTable, TABLE_LEN, Template, block_parts};
use super::rr::BLOCK_MS;
use crate::bout::Movement;
use crate::course::{Course, Minute};
use crate::time::MINUTE_MS;

/// What the sensor can show to either side, °/s.
const LIMIT_DPS: f32 = 2_000.0;

/// Angular velocity about x, y and z in °/s.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rotation {
    /// The three axes.
    pub axes: [Vec<f32>; 3],
}

/// Generates the seconds `[from_s, to_s)` since the epoch, `rate_hz` samples per second and axis.
pub fn rotation(course: &Course, rate_hz: u32, from_s: i64, to_s: i64) -> Rotation {
    let noise = NoiseTable::new(&course.patient().randomness);
    let swing = Template::new(|phase| (TAU * phase).sin());
    let rate = rate_hz as usize;
    let mut rotation = Rotation::default();
    for part in block_parts(from_s, to_s) {
        for minute_in_block in part.from_s / 60..part.to_s.div_ceil(60) {
            let number = part.block * (BLOCK_MS / MINUTE_MS) + minute_in_block as i64;
            let minute = course.minute(number);
            let turns = turns_dps(course, &minute);
            let (gait, swing_dps, noise_dps) = swing_of(&minute, rate_hz);
            let second_of_minute = minute_in_block * 60;
            let from = part.from_s.max(second_of_minute) - second_of_minute;
            let to = part.to_s.min(second_of_minute + 60) - second_of_minute;
            for sample in from * rate..to * rate {
                // An arm swings forth and back with two steps.
                let swung = if sample < gait.active_samples && gait.steps > 0 {
                    swing_dps * swing.at(gait.steps * sample * TABLE_LEN / gait.active_samples / 2)
                } else {
                    0.0
                };
                for (axis, values) in rotation.axes.iter_mut().enumerate() {
                    const SWING_ON_AXIS: [f32; 3] = [0.2, 1.0, 0.15];
                    let error = noise.at(part.block, 14 + axis, second_of_minute * rate + sample);
                    let value = turns[sample / rate][axis] + SWING_ON_AXIS[axis] * swung + noise_dps * error;
                    values.push(value.clamp(-LIMIT_DPS, LIMIT_DPS));
                }
            }
        }
    }
    rotation
}

/// Returns the turns of the arm in each second of a minute, °/s: those that take the direction of gravity at the
/// second's begin to that at its end.
pub fn turns_dps(course: &Course, minute: &Minute) -> Vec<[f32; 3]> {
    let next = course.minute(minute.start_ms / MINUTE_MS + 1);
    // From the same directions as the acceleration: a filter that fuses both sensors finds them in agreement.
    let gravity = directions(course.patient(), minute, &next);
    gravity.windows(2).map(|pair| turn_dps(pair[0], pair[1])).collect()
}

/// Returns the smallest turn of a wrist within a second, seen from which a direction of the room goes from `from` to
/// `to`.
fn turn_dps(from: [f32; 3], to: [f32; 3]) -> [f32; 3] {
    let cross = |axis: usize| to[(axis + 1) % 3] * from[(axis + 2) % 3] - to[(axis + 2) % 3] * from[(axis + 1) % 3];
    let axis: [f32; 3] = std::array::from_fn(cross);
    let sine = axis.iter().map(|part| part * part).sum::<f32>().sqrt();
    let cosine: f32 = from.iter().zip(to).map(|(one, other)| one * other).sum();
    // Two equal directions have no axis to turn about.
    if sine < f32::EPSILON {
        return [0.0; 3];
    }
    axis.map(|part| part / sine * sine.atan2(cosine).to_degrees())
}

/// Returns the steps of a minute, how fast the arm swings with them, and the tremor in addition, °/s.
fn swing_of(minute: &Minute, rate_hz: u32) -> (Gait, f32, f32) {
    let (swing_dps, noise_dps) = match minute.movement {
        Movement::Walk => (110.0, 4.0),
        Movement::Run => (260.0, 12.0),
        Movement::Other => (80.0, 3.0),
        Movement::Cycle => (0.0, 8.0),
        Movement::Rest => (0.0, 0.08),
    };
    (Gait::of(minute, rate_hz), swing_dps, noise_dps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::acc::{COUNTS_PER_G, acceleration};
    use crate::{HOUR_MS, Patient, Scenario};

    /// 2025-11-20T12:00Z.
    const NOON_MS: i64 = 1_763_640_000_000;

    /// Returns what a wrist that turns by so much sees of a fixed direction (Rodrigues).
    fn seen_after(direction: [f64; 3], turn_deg: [f64; 3]) -> [f64; 3] {
        let angle = turn_deg.iter().map(|part| part * part).sum::<f64>().sqrt().to_radians();
        if angle == 0.0 {
            return direction;
        }
        // The direction turns against the wrist.
        let about = turn_deg.map(|part| -part.to_radians() / angle);
        let along: f64 = about.iter().zip(direction).map(|(one, other)| one * other).sum();
        std::array::from_fn(|axis| {
            let (next, last) = ((axis + 1) % 3, (axis + 2) % 3);
            let across = about[next] * direction[last] - about[last] * direction[next];
            direction[axis] * angle.cos() + across * angle.sin() + about[axis] * along * (1.0 - angle.cos())
        })
    }

    #[test]
    fn pieces_are_the_whole() {
        let patient = Patient::new(3, 0, Scenario::Healthy, 0, "UTC").expect("a patient");
        let course = Course::new(&patient, NOON_MS, NOON_MS + HOUR_MS).expect("a course");
        let from_s = NOON_MS / 1_000;
        let whole = rotation(&course, 16, from_s, from_s + 900);
        let (first, second) =
            (rotation(&course, 16, from_s, from_s + 431), rotation(&course, 16, from_s + 431, from_s + 900));
        for axis in 0..3 {
            assert_eq!(whole.axes[axis], [&first.axes[axis][..], &second.axes[axis]].concat());
        }
    }

    #[test]
    fn a_resting_arm_turns_as_its_acceleration_does() {
        let patient = Patient::new(3, 4, Scenario::Healthy, 0, "UTC").expect("a patient");
        let course = Course::new(&patient, NOON_MS, NOON_MS + 4 * HOUR_MS).expect("a course");
        let mut compared = 0;
        for minute in NOON_MS / MINUTE_MS..(NOON_MS + 4 * HOUR_MS) / MINUTE_MS {
            if course.minute(minute).movement != Movement::Rest {
                continue;
            }
            let from_s = minute * 60;
            let turned = rotation(&course, 32, from_s, from_s + 60);
            let seen = acceleration(&course, 32, from_s, from_s + 60);
            let gravity = |sample: usize| -> [f64; 3] {
                std::array::from_fn(|axis| f64::from(seen.axes[axis][sample]) / f64::from(COUNTS_PER_G))
            };
            // Over single seconds: the mean rate of a second is its turn.
            for second in [0, 17, 40, 58] {
                let turn = std::array::from_fn(|axis| {
                    let rates = &turned.axes[axis][second * 32..(second + 1) * 32];
                    rates.iter().copied().map(f64::from).sum::<f64>() / 32.0
                });
                let expected = seen_after(gravity(second * 32), turn);
                for (expected, found) in expected.into_iter().zip(gravity((second + 1) * 32)) {
                    assert!((expected - found).abs() < 0.06, "{minute} {second}: {expected} {found}");
                }
            }
            compared += 1;
        }
        assert!(compared > 60, "{compared}");
    }

    #[test]
    fn walking_swings_the_arm_and_sleep_hardly_moves_it() {
        let (mut walking, mut asleep) = (Vec::new(), Vec::new());
        for index in 0..6 {
            let patient = Patient::new(3, index, Scenario::Healthy, 0, "UTC").expect("a patient");
            let course = Course::new(&patient, NOON_MS - 10 * HOUR_MS, NOON_MS + 10 * HOUR_MS).expect("a course");
            let root_mean_square = |minute: i64| {
                let turned = rotation(&course, 32, minute * 60, minute * 60 + 60).axes;
                let squares: f32 = turned.iter().flatten().map(|value| value * value).sum();
                (squares / (60.0 * 32.0)).sqrt()
            };
            for number in (NOON_MS / MINUTE_MS - 600..NOON_MS / MINUTE_MS + 540).step_by(7) {
                let minute = course.minute(number);
                if minute.movement == Movement::Walk {
                    walking.push(root_mean_square(number));
                } else if minute.stage == Some(crate::Stage::Deep) {
                    asleep.push(root_mean_square(number));
                }
            }
        }
        assert!(walking.len() > 5 && asleep.len() > 5, "{} {}", walking.len(), asleep.len());
        assert!(walking.iter().all(|speed| *speed > 40.0), "{walking:?}");
        // A sleeper turns over once in a while.
        let turning = asleep.iter().filter(|speed| **speed > 1.0).count();
        assert!(4 * turning < asleep.len(), "{asleep:?}");
    }
}
