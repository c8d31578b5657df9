//! The section `temperature`: of the skin, never of the body.

use super::bounds::column;
use super::described::described;
use super::rounding::mean;
use super::slots::TemperatureSlot;
use super::source::DaySource;
use super::units::{Celsius, EpochMs};
use crate::cells::{ActivityCell, DayCells, Sensor, TemperatureCell, WINDOW_MS};
use crate::registry::DataType;
use crate::zone::LocalDay;

/// Hundredths in one °C.
const HUNDREDTHS: f64 = 100.0;

described! {
    /// Skin temperatures of a day. Windows in which the bracelet was mostly off the wrist do not enter.
    pub struct TemperatureSection {
        /// Local day.
        pub date: LocalDay = "2025-11-20",
        /// Sensor 1, mean over the valid five-minute slots; null without one.
        pub avg_temp_sk1: Option<Celsius> = 33.41 within column(DataType::Temperature, "temp_sk1"),
        /// Sensor 2, mean over the valid five-minute slots; null without one.
        pub avg_temp_sk2: Option<Celsius> = 33.18 within column(DataType::Temperature, "temp_sk2"),
        /// Highest row of sensor 1; null without one.
        pub max_temp_sk1: Option<Celsius> = 35.02 within column(DataType::Temperature, "temp_sk1"),
        /// Highest row of sensor 2; null without one.
        pub max_temp_sk2: Option<Celsius> = 34.9 within column(DataType::Temperature, "temp_sk2"),
        /// Start of the first valid five-minute slot, Unix epoch ms; null without one.
        pub start_timestamp: Option<EpochMs> = 1763593200000,
        /// End of the last valid five-minute slot, Unix epoch ms; null without one.
        pub end_timestamp: Option<EpochMs> = 1763679600000,
    }
    optional {
        /// Slots of five minutes, where an answer has them; never in what is stored.
        pub slots_five_minutes: Vec<TemperatureSlot>,
        /// Slots of thirty minutes, where an answer has them; never in what is stored.
        pub slots_thirty_minutes: Vec<TemperatureSlot>,
    }
}

impl TemperatureSection {
    /// Returns the section of a day; `None` without any row.
    pub fn of(source: &DaySource<'_>) -> Option<Self> {
        if source.cells.temperature.is_empty() {
            return None;
        }
        let worn: Vec<&TemperatureCell> =
            source.cells.temperature.cells().iter().filter(|cell| is_worn(cell, &source.cells.activity)).collect();
        let valid = || worn.iter().filter(|cell| cell.sk1.count > 0 || cell.sk2.count > 0);
        let average = |sensor: fn(&TemperatureCell) -> Sensor| {
            let means = worn.iter().filter_map(|cell| sensor(cell).mean_hundredths());
            mean(means.map(|hundredths| hundredths as f64 / HUNDREDTHS)).map(Celsius)
        };
        let highest = |sensor: fn(&TemperatureCell) -> Sensor| {
            let sensors = worn.iter().map(|cell| sensor(cell)).filter(|sensor| sensor.count > 0);
            sensors.map(|sensor| sensor.highest).max().map(|hundredths| Celsius(f64::from(hundredths) / HUNDREDTHS))
        };
        Some(TemperatureSection {
            date: source.day,
            avg_temp_sk1: average(|cell| cell.sk1),
            avg_temp_sk2: average(|cell| cell.sk2),
            max_temp_sk1: highest(|cell| cell.sk1),
            max_temp_sk2: highest(|cell| cell.sk2),
            start_timestamp: valid().next().map(|cell| EpochMs(cell.place.start_ms())),
            end_timestamp: valid().next_back().map(|cell| EpochMs(cell.place.start_ms() + WINDOW_MS)),
            slots_five_minutes: None,
            slots_thirty_minutes: None,
        })
    }
}

/// Returns whether the activity rows of the same window say that the bracelet was worn; without any it counts as worn.
pub(super) fn is_worn(cell: &TemperatureCell, activity: &DayCells<ActivityCell>) -> bool {
    activity.in_window(cell.place.window()).is_none_or(ActivityCell::is_wearing)
}
