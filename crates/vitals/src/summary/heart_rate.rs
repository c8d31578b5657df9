//! The section `heart_rate`.

use super::bounds::{SECONDS, column};
use super::described::described;
use super::rounding::{hundredths, mean, percent};
use super::slots::HeartRateSlot;
use super::source::DaySource;
use super::units::{BeatsPerMinute, Percent, Seconds};
use super::waveform::WaveformQuality;
use crate::cells::{ActivityCell, WINDOW_MS, ZONES};
use crate::registry::DataType;
use crate::zone::LocalDay;

/// Windows of the resting rate: 30 minutes.
const RESTING: usize = 6;
/// Worn windows below which there is no resting rate: 4 hours.
const LEAST_WORN: usize = 48;

described! {
    /// Heart rate of a day and the time in its zones.
    pub struct HeartRateSection {
        /// Local day.
        pub date: LocalDay = "2025-11-20",
        /// Mean over the valid five-minute slots; null without one.
        pub avg_daily_heart_rate: Option<BeatsPerMinute> = 68.42 within column(DataType::Activity, "bpm"),
        /// Highest valid row; null without one.
        pub max_daily_heart_rate: Option<u32> = 142 "/min" within column(DataType::Activity, "bpm"),
        /// Lowest mean of thirty minutes without steps; null under four hours of wear or without such minutes.
        pub rest_daily_heart_rate: Option<BeatsPerMinute> = 54.1 within column(DataType::Activity, "bpm"),
        /// Share of the day's five-minute slots with a valid heart rate, at most 100.
        pub daily_percent: Percent = 93.1 in 0 to 100,
        /// Time in all zones: their sum. The times are null without a birthday.
        pub all_time: Option<Seconds> = 80400 within SECONDS,
        /// Time at 90 % of the highest heart rate and above.
        pub max_time: Option<Seconds> = 60 within SECONDS,
        /// Time at 80 to 90 %.
        pub performance_time: Option<Seconds> = 540 within SECONDS,
        /// Time at 70 to 80 %.
        pub endurance_time: Option<Seconds> = 1800 within SECONDS,
        /// Time at 60 to 70 %.
        pub fat_burn_time: Option<Seconds> = 4200 within SECONDS,
        /// Time at 50 to 60 %.
        pub warm_up_time: Option<Seconds> = 9600 within SECONDS,
        /// Time below 50 %.
        pub rest_time: Option<Seconds> = 64200 within SECONDS,
    }
    optional {
        /// What raw waveforms say of it (**ours**); left out where none were sent.
        pub waveform_quality: WaveformQuality,
        /// Slots of five minutes, where an answer has them; never in what is stored.
        pub slots: Vec<HeartRateSlot>,
        /// Slots of thirty minutes, where an answer has them; never in what is stored.
        pub slots_thirty_minutes: Vec<HeartRateSlot>,
    }
}

impl HeartRateSection {
    /// Returns the section of a day; `None` without any row of activity or of a waveform that shows a pulse.
    pub fn of(source: &DaySource<'_>) -> Option<Self> {
        let cells = source.cells.activity.cells();
        let waveform_quality = WaveformQuality::of(source);
        if cells.is_empty() && waveform_quality.is_none() {
            return None;
        }
        let valid = || cells.iter().filter_map(|cell| cell.bpm.values.mean());
        // Zones of zero seconds would say that somebody rested; without a highest rate nothing is known.
        let zones = source.max_bpm().filter(|_| !cells.is_empty()).map(|_| zone_seconds(cells));
        let zone = |zone: usize| zones.map(|zones| Seconds(zones[zone]));
        Some(HeartRateSection {
            date: source.day,
            avg_daily_heart_rate: mean(valid()).map(BeatsPerMinute),
            max_daily_heart_rate: cells.iter().map(|cell| cell.highest_bpm).max().filter(|bpm| *bpm > 0),
            rest_daily_heart_rate: resting_bpm(cells).map(BeatsPerMinute),
            daily_percent: Percent(percent(valid().count() as f64, f64::from(source.slot_count))),
            all_time: zones.map(|zones| Seconds(zones.iter().sum())),
            max_time: zone(5),
            performance_time: zone(4),
            endurance_time: zone(3),
            fat_burn_time: zone(2),
            warm_up_time: zone(1),
            rest_time: zone(0),
            waveform_quality,
            slots: None,
            slots_thirty_minutes: None,
        })
    }
}

/// Whole seconds in each zone, lowest first.
fn zone_seconds(cells: &[ActivityCell]) -> [i64; ZONES] {
    let mut zone_ms = [0_u64; ZONES];
    for cell in cells {
        for (total, ms) in zone_ms.iter_mut().zip(cell.zone_ms) {
            *total += u64::from(ms);
        }
    }
    // Rounded per zone, and `all_time` is the sum of these: so the parts add up to the whole exactly.
    zone_ms.map(|ms| ((ms + 500) / 1000) as i64)
}

/// Resting heart rate per minute (**ours**), two decimals: the lowest mean of 30 consecutive minutes, each window of them worn,
/// with a valid heart rate and without a step. `None` under four hours of wear.
pub(super) fn resting_bpm(cells: &[ActivityCell]) -> Option<f64> {
    // A bracelet put on for a run alone would otherwise make a resting rate of its cool-down.
    if cells.iter().filter(|cell| cell.is_wearing()).count() < LEAST_WORN {
        return None;
    }
    let half_hours = cells.array_windows::<RESTING>().filter_map(half_hour_at_rest);
    half_hours.reduce(f64::min).map(hundredths)
}

fn half_hour_at_rest(half_hour: &[ActivityCell; RESTING]) -> Option<f64> {
    // Windows without rows are left out of the list: six in a row may span hours.
    let [first, .., last] = half_hour;
    if last.place.start_ms() - first.place.start_ms() != (RESTING as i64 - 1) * WINDOW_MS {
        return None;
    }
    let mut rates = [0.0; RESTING];
    for (rate, cell) in rates.iter_mut().zip(half_hour) {
        *rate = cell.bpm.values.mean().filter(|_| cell.is_wearing() && cell.steps.sum == 0)?;
    }
    crate::signal::mean(&rates)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::{Place, Sum, WindowCell as _};
    use proptest::collection::vec;
    use proptest::prelude::*;

    const START_MINUTE: i64 = 29_393_280;

    /// A worn window without steps, with the mean of its heart rates, /min; 0 for none.
    fn window(number: i64, bpm: u64) -> ActivityCell {
        let place = Place { start_minute: START_MINUTE + number * 5, offset_minutes: 0 };
        let mut cell = ActivityCell { rows: 1, worn: 1, ..ActivityCell::at(place) };
        cell.bpm.values = Sum { sum: bpm, count: u32::from(bpm > 0) };
        cell
    }

    fn day(rates: impl IntoIterator<Item = u64>) -> Vec<ActivityCell> {
        rates.into_iter().zip(0..).map(|(bpm, number)| window(number, bpm)).collect()
    }

    #[test]
    fn resting_rate_is_the_lowest_still_half_hour() {
        let mut cells = day((0..60).map(|number| if (20..26).contains(&number) { 55 } else { 75 }));
        assert_eq!(resting_bpm(&cells), Some(55.0));
        cells[22].steps = Sum { sum: 1, count: 1 };
        assert_eq!(resting_bpm(&cells), Some(65.0));
        cells[22].steps = Sum::default();
        cells[22].bpm.values = Sum::default();
        assert_eq!(resting_bpm(&cells), Some(65.0));
    }

    #[test]
    fn resting_rate_is_of_half_an_hour_that_lies_together() {
        let mut cells = day([75; 60]);
        // Two stretches of three windows with an hour between them.
        cells.extend((0..3).chain(15..18).map(|number| window(70 + number, 55)));
        assert_eq!(resting_bpm(&cells), Some(75.0));
    }

    #[test]
    fn four_hours_of_wear_are_needed_for_a_resting_rate() {
        let mut cells = day([60; 48]);
        assert_eq!(resting_bpm(&cells), Some(60.0));
        cells[0].worn = 0;
        assert_eq!(resting_bpm(&cells), None);
        assert_eq!(resting_bpm(&[]), None);
    }

    fn any_window() -> impl Strategy<Value = (u64, u64, bool, bool)> {
        let bpm = prop_oneof![10 => 38..180_u64, 1 => Just(0)];
        (bpm, prop_oneof![5 => Just(0_u64), 1 => 1..300_u64], prop::bool::weighted(0.95), prop::bool::weighted(0.97))
    }

    proptest! {
        /// The lowest mean of any thirty minutes: tried from every window on, by time.
        #[test]
        fn resting_rate_is_the_lowest_calm_half_hour(windows in vec(any_window(), 0..120)) {
            let mut number = 0;
            let cells: Vec<ActivityCell> = windows.into_iter().map(|(bpm, steps, is_worn, is_next)| {
                number += if is_next { 1 } else { 3 };
                let steps = Sum { sum: steps, count: 1 };
                ActivityCell { steps, worn: u32::from(is_worn), ..window(number, bpm) }
            }).collect();
            let at = |time_ms: i64| cells.iter().find(|cell| cell.place.start_ms() == time_ms);
            let calm = |cell: &ActivityCell| cell.bpm.values.mean().filter(|_| cell.worn > 0 && cell.steps.sum == 0);
            let half_hour = |cell: &ActivityCell| {
                let times = (0..6).map(|later| cell.place.start_ms() + later * WINDOW_MS);
                let rates: Option<Vec<f64>> = times.map(|time_ms| at(time_ms).and_then(calm)).collect();
                rates.map(|rates| rates.iter().sum::<f64>() / 6.0)
            };
            let lowest = cells.iter().filter_map(half_hour).fold(f64::INFINITY, f64::min);
            let is_enough = cells.iter().filter(|cell| cell.worn > 0).count() >= 48;
            match resting_bpm(&cells) {
                Some(found) => prop_assert!(is_enough && (found - lowest).abs() <= 0.005, "{} {}", found, lowest),
                None => prop_assert!(!is_enough || lowest.is_infinite()),
            }
        }
    }
}
