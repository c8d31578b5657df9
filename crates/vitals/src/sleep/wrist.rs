//! Sleep and wake from the acceleration of the wrist.
//!
//! Asleep, the forearm keeps its angle for minutes. Sustained inactivity is that of van Hees et
//! al. (PLOS ONE 2015;10:e0142533); the window in which it counts as sleep is found as by van
//! Hees et al. (Sci Rep 2018;8:12975, HDCZA). It distinguishes sleep from wake, no stages.

use super::stages::Session;
use crate::signal::{median, percentile};

/// Length of an epoch of angles, ms.
pub const ANGLE_EPOCH_MS: i64 = 5000;
/// Epochs per minute.
const PER_MINUTE: usize = 12;
/// Change between epochs that ends inactivity, degrees.
const CHANGE_DEG: f64 = 5.0;
/// Shortest sustained inactivity, epochs: 5 minutes.
const SUSTAINED: usize = 5 * PER_MINUTE;
/// Blocks of rest no longer than this are dropped, epochs: 30 minutes.
const SHORT_BLOCK: usize = 30 * PER_MINUTE;
/// Blocks nearer than this are one, epochs: 60 minutes.
const BLOCK_GAP: usize = 60 * PER_MINUTE;

/// Angle of the z axis against the horizontal in degrees per whole five-second epoch, from the
/// medians of the three axes (g, or any common unit) sampled at `rate_hz`. An epoch with a value
/// that is not finite, or without direction, has None. Empty when the lengths differ or the rate
/// is below one sample per epoch.
pub fn z_angles(x: &[f64], y: &[f64], z: &[f64], rate_hz: f64) -> Vec<Option<f64>> {
    let per_epoch = rate_hz * ANGLE_EPOCH_MS as f64 / 1000.0;
    if x.len() != y.len() || x.len() != z.len() || !per_epoch.is_finite() || per_epoch < 1.0 {
        return Vec::new();
    }
    // Edges are rounded one by one: with 12.5 samples an epoch, a rounded length would drift by minutes an hour.
    let edge = |epoch: usize| (epoch as f64 * per_epoch).round() as usize;
    let mut angles = Vec::new();
    let mut epoch = 0;
    while edge(epoch + 1) <= x.len() {
        let samples = edge(epoch)..edge(epoch + 1);
        let middle = |axis: &[f64]| median(&mut axis[samples.clone()].to_vec());
        angles.push(angle(middle(x), middle(y), middle(z)));
        epoch += 1;
    }
    angles
}

/// Angle of the z axis against the horizontal of one epoch, degrees, from the medians of its axes; None without
/// a direction.
pub fn angle(x: Option<f64>, y: Option<f64>, z: Option<f64>) -> Option<f64> {
    let (x, y, z) = (x?, y?, z?);
    let horizontal = x.hypot(y);
    let angle = z.atan2(horizontal).to_degrees();
    (angle.is_finite() && horizontal.hypot(z) > 0.0).then_some(angle)
}

/// Absolute change from the epoch before in degrees; infinite at the start and where an angle is
/// missing, so that missing data never looks like rest.
fn changes(angles: &[Option<f64>]) -> Vec<f64> {
    let change = |i: usize| match (i.checked_sub(1).and_then(|before| angles[before]), angles[i]) {
        (Some(before), Some(now)) => (now - before).abs(),
        // An infinite change ends every rest, whatever the threshold.
        _ => f64::INFINITY,
    };
    (0..angles.len()).map(change).collect()
}

/// van Hees 2015: true for epochs in which the angle did not change by more than 5° from epoch to
/// epoch for at least 5 minutes.
pub fn sustained_inactivity(angles: &[Option<f64>]) -> Vec<bool> {
    let mut inactive = vec![false; angles.len()];
    let changes = changes(angles);
    let mut start = 0;
    for end in 1..=angles.len() {
        if end < angles.len() && changes[end] <= CHANGE_DEG {
            continue;
        }
        // Epochs are compared with the one before, so a run includes the one that it starts from.
        if end - start >= SUSTAINED {
            inactive[start..end].fill(true);
        }
        start = end;
    }
    inactive
}

/// HDCZA 2018: the epochs of the main sleep period in `angles`, which should run from noon to
/// noon; None when there is no rest of more than 30 minutes.
///
/// The five-minute rolling median of the angle's change is compared with 15 times its 10th
/// percentile (kept within 0.13–0.5°); rest of more than 30 minutes, joined over gaps of less
/// than 60, and of that the longest.
pub fn sleep_period(angles: &[Option<f64>]) -> Option<std::ops::Range<usize>> {
    let smooth = rolling_median(&changes(angles));
    let mut known: Vec<f64> = smooth.iter().copied().filter(|change| change.is_finite()).collect();
    // The threshold is the person's own, because still wrists differ; the limits of the paper keep a day on a table
    // and a day of work from ruling it.
    let threshold = (15.0 * percentile(&mut known, 10.0)?).clamp(0.13, 0.5);
    let mut blocks: Vec<std::ops::Range<usize>> = Vec::new();
    let mut start = 0;
    for end in 0..=smooth.len() {
        if end < smooth.len() && smooth[end] < threshold {
            continue;
        }
        // Half an hour on the sofa is rest and no sleep period.
        if end - start > SHORT_BLOCK {
            match blocks.last_mut() {
                // Who gets up at night for less than an hour has one night and not two.
                Some(last) if start - last.end < BLOCK_GAP => last.end = end,
                _ => blocks.push(start..end),
            }
        }
        start = end + 1;
    }
    // Reversed, because of equal ones the last is taken, which is the first of the two longest.
    blocks.into_iter().rev().max_by_key(ExactSizeIterator::len)
}

/// Median over the five minutes centred on each epoch, clipped at the ends. No value is NaN.
fn rolling_median(values: &[f64]) -> Vec<f64> {
    let half = SUSTAINED / 2;
    // The window is kept sorted: a day has 17,280 epochs, and each only brings one value and takes one away.
    let mut sorted: Vec<f64> = Vec::with_capacity(SUSTAINED + 2);
    let place = |sorted: &[f64], value: f64| sorted.partition_point(|other| *other < value);
    let mut medians = Vec::with_capacity(values.len());
    for value in &values[..half.min(values.len())] {
        sorted.insert(place(&sorted, *value), *value);
    }
    for i in 0..values.len() {
        if let Some(value) = values.get(i + half) {
            sorted.insert(place(&sorted, *value), *value);
        }
        if let Some(gone) = i.checked_sub(half + 1) {
            sorted.remove(place(&sorted, values[gone]));
        }
        medians.push(f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]));
    }
    medians
}

/// Returns the epochs of the main sleep period of a noon-to-noon stretch of angles that begins at `start_ms` (Unix
/// epoch milliseconds), each with whether it was asleep: sustained inactivity. None without a period.
pub fn sleep_epochs(start_ms: i64, angles: &[Option<f64>]) -> Option<Vec<(i64, bool)>> {
    let period = sleep_period(angles)?;
    let inactive = sustained_inactivity(angles);
    let time_ms = |epoch: usize| start_ms.saturating_add(epoch as i64 * ANGLE_EPOCH_MS);
    Some(period.map(|i| (time_ms(i), inactive[i])).collect())
}

/// Returns the session of the epochs that [`sleep_epochs`] finds. Its stages are None; None altogether without a period or
/// without inactivity in it.
pub fn sleep_session(start_ms: i64, angles: &[Option<f64>]) -> Option<Session> {
    Session::of(ANGLE_EPOCH_MS, &sleep_epochs(start_ms, angles)?)
}
