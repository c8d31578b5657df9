//! One night: sleep stages in cycles of about ninety minutes.
//!
//! Deep sleep is long in the first cycles and vanishes towards morning while REM sleep grows; short awakenings lie in
//! between (shape after the usual hypnogram of a healthy adult; the numbers are ours).

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Length of a sleep epoch in milliseconds.
pub const EPOCH_MS: i64 = 30_000;

/// A sleep stage, with the number that the data type `sleep` uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Stage {
    /// Lying awake.
    Awake = 0,
    /// Light sleep.
    Light = 1,
    /// Deep sleep.
    Deep = 2,
    /// REM sleep.
    Rem = 3,
}

/// The night that ends in the morning of a day.
#[derive(Debug, Clone, PartialEq)]
pub struct Night {
    /// Time at which the patient goes to bed, Unix ms, a multiple of 30 s.
    pub start_ms: i64,
    /// The stage of each 30-second epoch from the start on.
    pub stages: Vec<Stage>,
}

impl Night {
    /// Returns the night from `start_ms` to `end_ms`, drawn from `random`.
    pub fn draw(start_ms: i64, end_ms: i64, random: &mut ChaCha8Rng) -> Self {
        let epochs = ((end_ms - start_ms) / EPOCH_MS).max(0) as usize;
        let mut stages = Vec::with_capacity(epochs + 64);
        push(&mut stages, Stage::Awake, random.random_range(5.0..20.0));
        let mut cycle = 0;
        while stages.len() < epochs {
            push_cycle(&mut stages, cycle, random);
            cycle += 1;
        }
        // The night is as long as the plan says, wherever its last cycle ends.
        stages.truncate(epochs);
        lie_awake_before_rising(&mut stages, random.random_range(4..16));
        Self { start_ms, stages }
    }

    /// Returns when the patient gets up, Unix ms.
    pub fn end_ms(&self) -> i64 {
        self.start_ms + self.stages.len() as i64 * EPOCH_MS
    }

    /// Returns the stage at `at_ms`, none outside the night.
    pub fn stage_at(&self, at_ms: i64) -> Option<Stage> {
        let epoch = (at_ms - self.start_ms).div_euclid(EPOCH_MS);
        self.stages.get(usize::try_from(epoch).ok()?).copied()
    }
}

/// Appends one cycle: light, deep, light, REM, and sometimes a short awakening.
fn push_cycle(stages: &mut Vec<Stage>, cycle: usize, random: &mut ChaCha8Rng) {
    let number = cycle as f64;
    // Deep sleep belongs to the first three cycles; a hypnogram with deep sleep at dawn would teach readers wrong.
    let deep_minutes = (36.0 - 12.0 * number).max(0.0) * random.random_range(0.8..1.2);
    let rem_minutes = (9.0 + 7.0 * number).min(32.0) * random.random_range(0.8..1.2);
    let cycle_minutes: f64 = random.random_range(84.0..98.0);
    let light_minutes = (cycle_minutes - deep_minutes - rem_minutes).max(20.0);
    push(stages, Stage::Light, 0.6 * light_minutes);
    push(stages, Stage::Deep, deep_minutes);
    push(stages, Stage::Light, 0.4 * light_minutes);
    push(stages, Stage::Rem, rem_minutes);
    // Healthy adults wake several times a night without remembering; a night without any would look like a fault.
    if random.random_bool(0.6) {
        push(stages, Stage::Awake, random.random_range(0.5..4.0));
    }
}

/// Appends `minutes` of one stage.
fn push(stages: &mut Vec<Stage>, stage: Stage, minutes: f64) {
    let epochs = (minutes * 2.0).round() as usize;
    stages.extend(std::iter::repeat_n(stage, epochs));
}

/// Turns the last epochs into wakefulness.
fn lie_awake_before_rising(stages: &mut [Stage], epochs: usize) {
    let from = stages.len().saturating_sub(epochs);
    stages[from..].fill(Stage::Awake);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Randomness, Subject};

    #[test]
    fn a_night_has_every_stage_in_plausible_shares() {
        for index in 0..50 {
            let mut random = Randomness::new(1, index).stream(Subject::Night, 0);
            let night = Night::draw(0, 8 * 3_600_000, &mut random);
            assert_eq!(night.stages.len(), 960);
            assert_eq!(night.end_ms(), 8 * 3_600_000);
            let share = |stage| {
                let count = night.stages.iter().filter(|s| **s == stage).count();
                count as f64 / 960.0
            };
            assert!((0.08..0.30).contains(&share(Stage::Deep)), "{index}");
            assert!((0.10..0.35).contains(&share(Stage::Rem)), "{index}");
            assert!((0.35..0.75).contains(&share(Stage::Light)), "{index}");
            assert!((0.01..0.15).contains(&share(Stage::Awake)), "{index}");
            assert_eq!(night.stages[0], Stage::Awake);
            assert_eq!(night.stage_at(-1), None);
            assert_eq!(night.stage_at(night.end_ms()), None);
            assert_eq!(night.stage_at(29_999), Some(Stage::Awake));
        }
    }

    #[test]
    fn cycles_are_about_ninety_minutes_apart() {
        let mut random = Randomness::new(3, 0).stream(Subject::Night, 5);
        let night = Night::draw(0, 9 * 3_600_000, &mut random);
        let rem_starts: Vec<usize> = (1..night.stages.len())
            .filter(|&i| night.stages[i] == Stage::Rem && night.stages[i - 1] != Stage::Rem)
            .collect();
        assert!(rem_starts.len() >= 4);
        for pair in rem_starts.windows(2) {
            let minutes = (pair[1] - pair[0]) / 2;
            assert!((70..=125).contains(&minutes), "{minutes}");
        }
    }
}
