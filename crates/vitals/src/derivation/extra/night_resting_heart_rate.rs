//! Resting heart rate of the night (**ours**): the median of the five lowest five-minute means while asleep.
//!
//! The lowest mean alone would follow a single odd window; the mean of a whole night follows dreams and alcohol. Five
//! windows are 25 minutes of calm sleep.

use super::super::figure::Figure;
use crate::cells::{WINDOW_MS, WindowCell as _};
use crate::derivation::declaration::Derivation;
use crate::summary::{DaySource, Nights};

/// Lowest windows whose median counts. With fewer there is no figure.
const WINDOWS: usize = 5;

/// `extra.night.resting_heart_rate`.
pub(in super::super) const DERIVATION: Derivation = Figure {
    number: 1,
    topic: "night",
    name: "resting_heart_rate",
    unit: "/min",
    meaning: "resting heart rate of the night: median of the five lowest five-minute means of heart rate while asleep",
    range: (0.0, 255.0),
    compute,
}
.derivation("extra.night.resting_heart_rate", 2);

/// A window counts when all of it was slept: a night is from falling asleep to waking up for good, of the stages where
/// there are any, else of the movements.
fn compute(source: &DaySource<'_>, nights: &Nights) -> Option<f64> {
    // By stages first, as the sections of sleep have it: both must speak of the same night.
    let night = nights.by_stages.or(nights.by_movements)?.session;
    let (onset_ms, offset_ms) = (night.onset_ms, night.offset_ms);
    let is_awake = |start_ms: i64| {
        let both = [source.before, source.cells];
        let epochs = both.iter().flat_map(|day| day.stages.in_windows(window_of(start_ms)).iter());
        epochs.flat_map(|cell| &cell.epochs).any(|epoch| epoch.stage == crate::sleep::Stage::Awake)
    };
    let cells = [source.before, source.cells].into_iter().flat_map(|day| day.activity.cells());
    let asleep = cells.filter(|cell| {
        let start_ms = cell.place().start_ms();
        // The window of falling asleep holds minutes awake, which would decide a minimum.
        onset_ms <= start_ms && start_ms + WINDOW_MS <= offset_ms && !is_awake(start_ms)
    });
    let mut means: Vec<f64> = asleep.filter_map(|cell| cell.bpm.values.mean()).collect();
    means.sort_by(f64::total_cmp);
    (means.len() >= WINDOWS).then(|| (means[WINDOWS / 2] * 100.0).round() / 100.0)
}

fn window_of(start_ms: i64) -> std::ops::Range<i64> {
    let window = start_ms.div_euclid(WINDOW_MS);
    window..window + 1
}
