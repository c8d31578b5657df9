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
.derivation("extra.night.resting_heart_rate", 3);

/// A window counts when all of it was slept, by the stages where there are any, else by the movements: the window of falling
/// asleep holds minutes awake, which would decide a minimum.
fn compute(source: &DaySource<'_>, nights: &Nights) -> Option<f64> {
    let cells = [source.before, source.cells].into_iter().flat_map(|day| day.activity.cells());
    let asleep = cells.filter(|cell| {
        let start_ms = cell.place().start_ms();
        nights.has_slept(start_ms, start_ms + WINDOW_MS)
    });
    let mut means: Vec<f64> = asleep.filter_map(|cell| cell.bpm.values.mean()).collect();
    means.sort_by(f64::total_cmp);
    (means.len() >= WINDOWS).then(|| (means[WINDOWS / 2] * 100.0).round() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Block, Cells};
    use crate::cells::{Day, activity_cells, motion_cells, stage_cells};
    use crate::registry::{Channel, DataType};
    use crate::summary::{Profile, SummarySettings};
    use crate::zone::{LocalDay, ZoneRuns};

    const EVENING_S: i64 = 1_763_503_200;
    /// Minutes of the night in which the patient is awake, or in which nothing is known.
    const AWAKE: std::ops::Range<i64> = 120..150;

    /// Rows of a type at some seconds of the night.
    fn rows(data_type: DataType, seconds: &[i64], columns: &[(&str, Vec<i32>)]) -> Block {
        let mut block = Block::empty(data_type, Channel::default());
        block.zones = ZoneRuns::constant("UTC".into(), seconds.len());
        block.times_us = seconds.iter().map(|second| (EVENING_S + second) * 1_000_000).collect();
        for (name, cells) in columns {
            block.columns[data_type.column_index(name).expect("a column")] = Cells::Values(cells.clone());
        }
        block
    }

    /// The figure of the day on which a night of eight hours ends, from 22:00 on. The heart rate is 35 while awake.
    fn figure(block: &Block) -> Option<f64> {
        let minutes: Vec<i64> = (0..480).collect();
        let bpm = minutes.iter().map(|minute| if AWAKE.contains(minute) { 35 } else { 50 }).collect();
        let seconds: Vec<i64> = minutes.iter().map(|minute| minute * 60).collect();
        let worn = vec![4; 480];
        let activity = rows(DataType::Activity, &seconds, &[("bpm", bpm), ("wearing", worn)]);
        let mut days: std::collections::BTreeMap<LocalDay, Day> = std::collections::BTreeMap::new();
        for (date, cells) in activity_cells(&activity, |_| None) {
            days.entry(date).or_default().activity.replace(i64::MIN..i64::MAX, cells);
        }
        if block.data_type == DataType::Acc {
            for (date, cells) in motion_cells(block) {
                days.entry(date).or_default().motion.replace(i64::MIN..i64::MAX, cells);
            }
        } else {
            for (date, cells) in stage_cells(block) {
                days.entry(date).or_default().stages.replace(i64::MIN..i64::MAX, cells);
            }
        }
        let day = LocalDay::parse("2025-11-19").expect("a day");
        let (profile, settings) = (Profile::default(), SummarySettings::default());
        let (cells, before) = (&days[&day], &days[&LocalDay(day.0 - 1)]);
        let source = DaySource { day, slot_count: 288, cells, before, profile: &profile, settings: &settings };
        compute(&source, &Nights::of(&source))
    }

    #[test]
    fn windows_awake_by_movement_do_not_count() {
        let seconds: Vec<i64> = (0..8 * 3600).collect();
        // The arm turns every five seconds while awake.
        let turns = |second: &i64| AWAKE.contains(&(second / 60)) && (second / 5) % 2 == 0;
        let (x, z) = seconds.iter().map(|second| if turns(second) { (512, 0) } else { (0, 512) }).unzip();
        let y = vec![0; seconds.len()];
        assert_eq!(figure(&rows(DataType::Acc, &seconds, &[("accX", x), ("accY", y), ("accZ", z)])), Some(50.0));
    }

    #[test]
    fn windows_without_stages_within_a_session_do_not_count() {
        let is_known = |second: &i64| !AWAKE.contains(&(second / 60));
        for step_s in [30, 60] {
            let seconds: Vec<i64> = (0..8 * 3600).step_by(step_s).filter(is_known).collect();
            let stages = vec![2; seconds.len()];
            assert_eq!(figure(&rows(DataType::Sleep, &seconds, &[("sleep_state", stages)])), Some(50.0), "{step_s}");
        }
    }

    #[test]
    fn windows_awake_by_stages_do_not_count() {
        let seconds: Vec<i64> = (0..8 * 3600).step_by(30).collect();
        let stages = seconds.iter().map(|second| if AWAKE.contains(&(second / 60)) { 0 } else { 2 }).collect();
        assert_eq!(figure(&rows(DataType::Sleep, &seconds, &[("sleep_state", stages)])), Some(50.0));
    }
}
