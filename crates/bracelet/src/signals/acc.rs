//! Acceleration of the wrist: gravity in the direction of the arm, and the beat of steps.
//!
//! A sleeper's arm keeps its direction for long; an awake arm is never still for five minutes. Each step of the minute is
//! one cycle of the bounce, so the true number of steps is in the signal.

use std::f64::consts::TAU;

use rand::RngExt;

use super::cycles::{NoiseTable, TABLE_LEN, Template, block_parts};
use super::rr::BLOCK_MS;
use crate::bout::Movement;
use crate::course::{Course, Minute};
use crate::night::Stage;
use crate::patient::Patient;
use crate::randomness::Subject;
use crate::time::MINUTE_MS;

/// Counts per g.
pub const COUNTS_PER_G: f32 = 512.0;
/// Drawn angles of the arm per minute.
const KNOTS: usize = 10;
/// Directions of gravity per minute; between two of them the samples follow a straight line.
const DIRECTIONS: usize = 60;

/// Acceleration along x, y and z in 1/512 g.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Acceleration {
    /// The three axes.
    pub axes: [Vec<i16>; 3],
}

/// Generates the seconds `[from_s, to_s)` since the epoch, `rate_hz` samples per second and axis.
pub fn acceleration(course: &Course, rate_hz: u32, from_s: i64, to_s: i64) -> Acceleration {
    let noise = NoiseTable::new(&course.patient().randomness);
    let bounce = Template::new(|phase| (TAU * phase).cos() + 0.25 * (2.0 * TAU * phase).cos());
    let mut acceleration = Acceleration::default();
    for part in block_parts(from_s, to_s) {
        for minute_in_block in part.from_s / 60..part.to_s.div_ceil(60) {
            let number = part.block * (BLOCK_MS / MINUTE_MS) + minute_in_block as i64;
            let minute = course.minute(number);
            let next_minute = course.minute(number + 1);
            let second = minute_in_block * 60;
            MinuteOfMotion {
                directions: directions(course.patient(), &minute, &next_minute),
                gait: Gait::of(&minute, rate_hz),
                noise: &noise,
                bounce: &bounce,
                block: part.block,
                first_sample: second * rate_hz as usize,
                rate: rate_hz as usize,
            }
            .render(
                part.from_s.max(second) - second,
                part.to_s.min(second + 60) - second,
                &mut acceleration,
            );
        }
    }
    acceleration
}

/// How the body bounces in one minute.
pub(super) struct Gait {
    pub(super) steps: usize,
    /// Samples over which the steps are spread.
    pub(super) active_samples: usize,
    bounce_g: f32,
    noise_g: f32,
}

impl Gait {
    pub(super) fn of(minute: &Minute, rate_hz: u32) -> Self {
        let steps = minute.steps as usize;
        let samples = 60 * rate_hz as usize;
        let (bounce_g, noise_g) = match minute.movement {
            Movement::Walk => (0.26, 0.03),
            Movement::Run => (0.8, 0.08),
            Movement::Other => (0.2, 0.02),
            Movement::Cycle => (0.0, 0.06),
            // A sleeping arm shows hardly more than the noise of the sensor; sleep without stages is found by that.
            Movement::Rest if minute.stage.is_some_and(|stage| stage != Stage::Awake) => (0.0, 0.003),
            Movement::Rest => (0.0, 0.008),
        };
        // A few steps about the house come at a walking pace, then there is quiet.
        let active_samples = if minute.movement == Movement::Other {
            (steps * rate_hz as usize * 10 / 17).min(samples)
        } else {
            samples
        };
        Self { steps, active_samples, bounce_g, noise_g }
    }
}

/// Everything that the samples of one minute depend on.
struct MinuteOfMotion<'a> {
    /// Direction of gravity at each second and at the end of the minute, in g.
    directions: [[f32; 3]; DIRECTIONS + 1],
    gait: Gait,
    noise: &'a NoiseTable,
    bounce: &'a Template,
    block: i64,
    /// Number of the minute's first sample in the block.
    first_sample: usize,
    /// Samples per second.
    rate: usize,
}

impl MinuteOfMotion<'_> {
    /// Appends seconds `[from_s, to_s)` of the minute.
    fn render(&self, from_s: usize, to_s: usize, out: &mut Acceleration) {
        const BOUNCE_ON_AXIS: [f32; 3] = [0.3, 0.1, 0.06];
        for sample in from_s * self.rate..to_s * self.rate {
            let second = sample / self.rate;
            let fraction = (sample - second * self.rate) as f32 / self.rate as f32;
            let bounce = if sample < self.gait.active_samples && self.gait.steps > 0 {
                // The phase comes from the count of steps, so that a minute holds exactly as many peaks as its row
                // says.
                let place = self.gait.steps * sample * TABLE_LEN / self.gait.active_samples;
                self.gait.bounce_g * self.bounce.at(place)
            } else {
                0.0
            };
            for (axis, share) in BOUNCE_ON_AXIS.into_iter().enumerate() {
                let gravity =
                    self.directions[second][axis] * (1.0 - fraction) + self.directions[second + 1][axis] * fraction;
                let tremor = self.noise.at(self.block, 8 + axis, self.first_sample + sample);
                // The bounce goes mostly with gravity, a little across it.
                let value_g = gravity * (1.0 + bounce) + share * bounce + self.gait.noise_g * tremor;
                out.axes[axis].push((value_g * COUNTS_PER_G).clamp(-4_096.0, 4_095.0) as i16);
            }
        }
    }
}

/// Direction of gravity at each second of the minute, in g; the last is the first of the next minute.
///
/// The arm turns through the angles between two knots: a straight line between far directions would pass near zero.
pub(super) fn directions(patient: &Patient, minute: &Minute, next: &Minute) -> [[f32; 3]; DIRECTIONS + 1] {
    let own = angles(patient, minute);
    let following = angles(patient, next);
    let per_knot = DIRECTIONS / KNOTS;
    std::array::from_fn(|second| {
        let knot = (second / per_knot).min(KNOTS - 1);
        let fraction = (second - knot * per_knot) as f64 / per_knot as f64;
        let before = own[knot];
        // Into the next minute without a jump: a step in gravity would be a knock every full minute.
        let after = own.get(knot + 1).copied().unwrap_or(following[0]);
        let elevation = before.0 * (1.0 - fraction) + after.0 * fraction;
        let roll = before.1 * (1.0 - fraction) + after.1 * fraction;
        [(elevation.cos() * roll.cos()) as f32, (elevation.cos() * roll.sin()) as f32, elevation.sin() as f32]
    })
}

/// Elevation and roll of the arm in radians at each knot of a minute.
fn angles(patient: &Patient, minute: &Minute) -> [(f64, f64); KNOTS] {
    const POSTURE_ASLEEP_MS: i64 = 25 * MINUTE_MS;
    const POSTURE_AWAKE_MS: i64 = 6 * MINUTE_MS;
    let is_asleep = minute.stage.is_some_and(|stage| stage != Stage::Awake);
    let (posture_ms, restlessness) = match minute.movement {
        // Sleepers keep a posture for tens of minutes. Van Hees' rule of five minutes without a change needs that to
        // be so.
        _ if is_asleep => (POSTURE_ASLEEP_MS, 0.0),
        Movement::Rest | Movement::Other => (POSTURE_AWAKE_MS, 0.30),
        Movement::Walk | Movement::Run | Movement::Cycle => (POSTURE_AWAKE_MS, 0.12),
    };
    let posture_number = minute.start_ms.div_euclid(posture_ms);
    // Even numbers for sleep, odd ones for the day: the two never share a posture.
    let stream = posture_number * 2 + i64::from(!is_asleep);
    let mut posture = patient.randomness.stream(Subject::Posture, stream);
    let elevation = posture.random_range(-1.0..1.0);
    let roll = posture.random_range(-1.5..1.5);
    // Streams of single minutes lie far below those of postures.
    let restless_stream = i64::MIN / 2 + minute.start_ms / MINUTE_MS;
    let mut restless = patient.randomness.stream(Subject::Posture, restless_stream);
    std::array::from_fn(|_| {
        (
            elevation + restlessness * restless.random_range(-1.0..1.0),
            roll + restlessness * restless.random_range(-1.0..1.0),
        )
    })
}
