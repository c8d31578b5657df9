//! Seed and number of rounds of a randomised test, so that a failed run can be repeated and a long run be asked for.

use std::ffi::OsString;
use std::time::Duration;

#[expect(clippy::disallowed_types, reason = "the seed of a test comes from nowhere, unless it is given")]
use rand::rngs::SysRng;
use rand::{RngExt, SeedableRng, TryRng};
use rand_chacha::ChaCha8Rng;

/// Environment variable with the seed of all randomised tests.
pub const SEED_VARIABLE: &str = "PULSEWARD_TEST_SEED";
/// Environment variable with the number of rounds of all randomised tests.
pub const ROUNDS_VARIABLE: &str = "PULSEWARD_TEST_ROUNDS";

/// Seed and number of rounds of a randomised test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// Seed of everything random in the test.
    pub seed: u64,
    /// Number of rounds.
    pub count: usize,
}

impl Rounds {
    /// Takes seed and number of rounds from the environment, otherwise a new seed and `usual` rounds, and prints both
    /// with the name of the test.
    ///
    /// # Panics
    /// When a variable is set and is not a number, or when the system has no randomness.
    pub fn of_test(name: &str, usual: usize) -> Self {
        let rounds = Self::from_values(std::env::var_os(SEED_VARIABLE), std::env::var_os(ROUNDS_VARIABLE), usual);
        let Rounds { seed, count } = rounds;
        println!("{name}: {count} rounds with seed {seed}; {SEED_VARIABLE}={seed} repeats their random choices");
        rounds
    }

    /// Takes the number of rounds of a test that draws nothing at random, and prints it.
    ///
    /// # Panics
    /// When the variable is set and is not a number.
    pub fn count_of_test(name: &str, usual: usize) -> usize {
        let count = std::env::var_os(ROUNDS_VARIABLE).map_or(usual, |value| number(ROUNDS_VARIABLE, &value));
        println!("{name}: {count} rounds");
        count
    }

    fn from_values(seed: Option<OsString>, count: Option<OsString>, usual: usize) -> Self {
        Rounds {
            seed: seed.map_or_else(new_seed, |value| number(SEED_VARIABLE, &value)),
            count: count.map_or(usual, |value| number(ROUNDS_VARIABLE, &value)),
        }
    }

    /// Generator that starts from the seed.
    pub fn random(&self) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(self.seed)
    }

    /// For each round, a number below `end`, such as a place in a file.
    pub fn places(&self, end: u64) -> Vec<u64> {
        let mut random = self.random();
        (0..self.count).map(|_| random.random_range(0..end)).collect()
    }

    /// For each round, any number.
    pub fn random_numbers(&self) -> Vec<u64> {
        let mut random = self.random();
        (0..self.count).map(|_| random.random()).collect()
    }

    /// For each round, how long the process lives before it is killed: anything below `longest`.
    pub fn lives(&self, longest: Duration) -> Vec<Duration> {
        let mut random = self.random();
        let longest_us = longest.as_micros() as u64;
        (0..self.count).map(|_| Duration::from_micros(random.random_range(0..longest_us))).collect()
    }
}

fn new_seed() -> u64 {
    SysRng.try_next_u64().unwrap_or_else(|error| panic!("the system has no randomness: {error}"))
}

fn number<T: std::str::FromStr>(variable: &str, value: &OsString) -> T {
    let number = value.to_str().and_then(|text| text.parse().ok());
    number.unwrap_or_else(|| panic!("{variable} must be an integer and is {}", value.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_gives_same_lives() {
        let longest = Duration::from_millis(150);
        let rounds = Rounds { seed: 11, count: 50 };
        let lives = rounds.lives(longest);
        assert_eq!(lives, rounds.lives(longest));
        assert!(lives.iter().all(|life| *life < longest));
        // Also in another build and on another machine.
        assert_eq!(lives[..3], [53_499, 13_553, 59_301].map(Duration::from_micros));
        assert_ne!(lives, Rounds { seed: 12, count: 50 }.lives(longest));
    }

    #[test]
    fn more_rounds_begin_with_the_same_lives() {
        let longest = Duration::from_millis(150);
        let long = Rounds { seed: 11, count: 80 }.lives(longest);
        assert_eq!(long[..50], Rounds { seed: 11, count: 50 }.lives(longest));
    }

    #[test]
    fn places_are_below_the_end_and_follow_from_the_seed() {
        let rounds = Rounds { seed: 3, count: 100 };
        let places = rounds.places(7);
        assert!(places.iter().all(|place| *place < 7) && (0..7).all(|place| places.contains(&place)));
        assert_eq!(places, rounds.places(7));
    }

    #[test]
    fn values_of_the_environment_replace_the_usual_ones() {
        let value = |text: &str| Some(OsString::from(text));
        assert_eq!(Rounds::from_values(value("7"), value("900"), 50), Rounds { seed: 7, count: 900 });
        assert_eq!(Rounds::from_values(value("7"), None, 50).count, 50);
        assert_ne!(Rounds::from_values(None, None, 50).seed, Rounds::from_values(None, None, 50).seed);
    }

    #[test]
    #[should_panic(expected = "PULSEWARD_TEST_SEED must be an integer and is ten")]
    fn seed_that_is_no_number_is_refused() {
        Rounds::from_values(Some(OsString::from("ten")), None, 50);
    }
}
