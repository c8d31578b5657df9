//! What raw waveforms say of the heart rate: an extra of ours within `heart_rate`.
//!
//! A check on the bracelet's own values, which it never replaces. Nothing here feeds NEWS.

use super::bounds::{PIECES, WAVEFORM_BREATHS, WAVEFORM_RATE};
use super::described::described;
use super::rounding::{mean, percent};
use super::source::DaySource;
use super::units::{BeatsPerMinute, BreathsPerMinute, Percent};
use crate::cells::{ActivityCell, DayCells, Kept, Rates, Sum, WindowCell};

described! {
    /// Checks of a day by raw waveform; a kind that was not sent is left out.
    pub struct WaveformQuality {
    }
    optional {
        /// By R peaks in the ECG.
        pub ecg: WaveformCheck,
        /// By pulses in the PPG: of `ppg2`, else of `ppg1`.
        pub ppg: WaveformCheck,
    }
}

described! {
    /// What one kind of waveform showed, in pieces of thirty seconds.
    pub struct WaveformCheck {
        /// Pieces with any sample.
        pub pieces: u32 = 120 "count" within PIECES,
        /// Share of them that is good enough for a heart rate.
        pub good_percent: Percent = 87.5 in 0 to 100,
        /// Mean over the windows that have one; null without any.
        pub heart_rate: Option<BeatsPerMinute> = 67.9 within WAVEFORM_RATE,
        /// Mean over the windows that have them; null without any, and always by ECG.
        pub respiration_rate: Option<BreathsPerMinute> = 14.2 within WAVEFORM_BREATHS,
        /// Mean distance from the bracelet's own heart rate in the same windows; null without any.
        pub heart_rate_difference: Option<BeatsPerMinute> = 1.3 within WAVEFORM_RATE,
    }
}

impl WaveformQuality {
    /// Returns the checks of a day; `None` without any raw waveform.
    pub fn of(source: &DaySource<'_>) -> Option<Self> {
        let day = source.cells;
        let ecg = check(&day.ecg, &day.activity, |cell| &cell.rates);
        let of_ppg1 = || check(&day.ppg1, &day.activity, |cell| &cell.rates);
        // The second generation first: its green light shows the pulse best at the wrist.
        let ppg = check(&day.ppg2, &day.activity, |cell| &cell.rates).or_else(of_ppg1);
        (ecg.is_some() || ppg.is_some()).then_some(WaveformQuality { ecg, ppg })
    }
}

fn check<C: Kept + WindowCell>(
    cells: &DayCells<C>,
    activity: &DayCells<ActivityCell>,
    rates: impl Fn(&C) -> &Rates,
) -> Option<WaveformCheck> {
    let cells = cells.cells();
    let pieces: u32 = cells.iter().map(|cell| rates(cell).pieces).sum();
    if pieces == 0 {
        return None;
    }
    let good: u32 = cells.iter().map(|cell| rates(cell).heart.count).sum();
    let per_min = |sum: Sum| sum.mean().map(|tenths| tenths / 10.0);
    let difference = |cell: &C| {
        // Only windows in which both are known can be compared.
        let own = activity.in_window(cell.place().window())?.bpm.values.mean()?;
        Some((per_min(rates(cell).heart)? - own).abs())
    };
    Some(WaveformCheck {
        pieces,
        good_percent: Percent(percent(f64::from(good), f64::from(pieces))),
        heart_rate: mean(cells.iter().filter_map(|cell| per_min(rates(cell).heart))).map(BeatsPerMinute),
        respiration_rate: mean(cells.iter().filter_map(|cell| per_min(rates(cell).respiration))).map(BreathsPerMinute),
        heart_rate_difference: mean(cells.iter().filter_map(difference)).map(BeatsPerMinute),
    })
}
