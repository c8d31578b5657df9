//! Scores of nights, 0–100 (**ours**): no outside truth exists for them.

use super::stages::Session;
use crate::signal::finite;

/// Sleep aimed at, s.
const GOAL_S: f64 = 8.0 * 3600.0;
/// Nights that consistency looks back on, tonight included.
pub const CONSISTENCY_NIGHTS: usize = 7;
/// Fewest nights from which a consistency is given.
const LEAST_NIGHTS: usize = 3;
/// Circular standard deviation of mid-sleep at which consistency is 0, minutes.
const WORST_SPREAD_MIN: f64 = 120.0;
/// Share of the night awake after onset at which its part of tranquility is 0.
const WORST_WAKE_SHARE: f64 = 0.25;
/// Awakenings per hour of sleep at which their part of tranquility is 0.
const WORST_AWAKENINGS_PER_H: f64 = 6.0;

/// Performance (**ours**): percentage of eight hours slept, at most 100.
pub fn performance(sleep_duration_s: i64) -> f64 {
    (100.0 * sleep_duration_s.max(0) as f64 / GOAL_S).min(100.0)
}

/// Consistency (**ours**): 100 when mid-sleep is at the same local time every night, falling to 0
/// at a circular standard deviation of two hours. `mid_sleep_min` holds the mid-sleep of up to
/// seven nights in minutes since local midnight; None below three nights.
pub fn consistency(mid_sleep_min: &[f64]) -> Option<f64> {
    if mid_sleep_min.len() < LEAST_NIGHTS {
        return None;
    }
    let spread_min = circular_deviation_min(mid_sleep_min)?;
    Some((100.0 * (1.0 - spread_min / WORST_SPREAD_MIN)).clamp(0.0, 100.0))
}

/// Circular standard deviation of times of day in minutes: sqrt(−2·ln R), with R the length of
/// the mean of the unit vectors. None when empty or when a time is not finite.
pub fn circular_deviation_min(minutes: &[f64]) -> Option<f64> {
    const TURN_MIN: f64 = 1440.0;
    let (mut cosines, mut sines) = (0.0, 0.0);
    for minute in minutes {
        // On a circle, because 23:50 and 0:10 are twenty minutes apart and not a day.
        let (sin, cos) = (std::f64::consts::TAU * minute / TURN_MIN).sin_cos();
        cosines += cos;
        sines += sin;
    }
    if minutes.is_empty() {
        return None;
    }
    // Rounding may leave R a little above 1 for equal times and at 0 for opposite ones.
    let length = finite((cosines.hypot(sines) / minutes.len() as f64).clamp(1e-12, 1.0))?;
    Some((-2.0 * length.ln()).sqrt() * TURN_MIN / std::f64::consts::TAU)
}

/// Tranquility (**ours**): 60 points for little time awake between onset and offset (none left at
/// a quarter of it), 40 for few awakenings (none left at six per hour of sleep). None for a
/// session without length.
pub fn tranquility(session: &Session) -> Option<f64> {
    let period_s = (session.offset_ms - session.onset_ms) as f64 / 1000.0;
    if period_s <= 0.0 || session.sleep_duration_s <= 0 {
        return None;
    }
    let wake_share = session.wake_after_onset_s as f64 / period_s;
    // Per hour of sleep and not per night: who sleeps longer also wakes more often.
    let per_hour = f64::from(session.awakenings) * 3600.0 / session.sleep_duration_s as f64;
    let quiet = 1.0 - (wake_share / WORST_WAKE_SHARE).min(1.0);
    let unbroken = 1.0 - (per_hour / WORST_AWAKENINGS_PER_H).min(1.0);
    Some(60.0 * quiet + 40.0 * unbroken)
}
