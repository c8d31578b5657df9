//! The section `heart_rate`.

use super::described::described;
use super::rounding::{hundredths, mean, percent};
use super::slots::HeartRateSlot;
use super::source::DaySource;
use super::units::{BeatsPerMinute, Percent, Seconds};
use super::waveform::WaveformQuality;
use crate::cells::{ActivityCell, ZONES};
use crate::heart::{HeartSlot, resting};
use crate::zone::LocalDay;

described! {
    /// Heart rate of a day and the time in its zones.
    pub struct HeartRateSection {
        /// Local day.
        pub date: LocalDay = "2025-11-20",
        /// Mean over the valid five-minute slots; null without one.
        pub avg_daily_heart_rate: Option<BeatsPerMinute> = 68.42 in 0 to 255,
        /// Highest valid row, an integer of beats per minute; null without one.
        pub max_daily_heart_rate: Option<u32> = 142 in 0 to 255,
        /// Lowest mean of thirty minutes without steps; null under four hours of wear or without such minutes.
        pub rest_daily_heart_rate: Option<BeatsPerMinute> = 54.1 in 0 to 255,
        /// Share of the day's five-minute slots with a valid heart rate, at most 100.
        pub daily_percent: Percent = 93.1 in 0 to 100,
        /// Time in all zones: their sum. The times are null without a birthday.
        pub all_time: Option<Seconds> = 86400,
        /// Time at 90 % of the highest heart rate and above.
        pub max_time: Option<Seconds> = 60,
        /// Time at 80 to 90 %.
        pub performance_time: Option<Seconds> = 540,
        /// Time at 70 to 80 %.
        pub endurance_time: Option<Seconds> = 1800,
        /// Time at 60 to 70 %.
        pub fat_burn_time: Option<Seconds> = 4200,
        /// Time at 50 to 60 %.
        pub warm_up_time: Option<Seconds> = 9600,
        /// Time below 50 %.
        pub rest_time: Option<Seconds> = 70200,
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

pub(super) fn resting_bpm(cells: &[ActivityCell]) -> Option<f64> {
    let slot = |cell: &ActivityCell| HeartSlot {
        start_ms: cell.place.start_ms(),
        per_min: cell.bpm.values.mean(),
        steps: u32::try_from(cell.steps.sum).unwrap_or(u32::MAX),
        worn: cell.is_wearing(),
    };
    let slots: Vec<HeartSlot> = cells.iter().map(slot).collect();
    resting(&slots).map(hundredths)
}
