//! The section `temperature`: of the skin, never of the body.

use serde::Serialize;

use super::DaySource;
use super::rounding::mean;
use crate::cells::{ActivityCell, DayCells, Sensor, TemperatureCell, WINDOW_MS};

/// Hundredths in one °C.
const HUNDREDTHS: f64 = 100.0;

/// Skin temperatures of a day. Windows in which the bracelet was mostly off the wrist do not enter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TemperatureSection {
    /// `YYYY-MM-DD`.
    pub date: String,
    /// °C, sensor 1, mean over the valid five-minute slots; null without one.
    pub avg_temp_sk1: Option<f64>,
    /// °C, sensor 2, mean over the valid five-minute slots; null without one.
    pub avg_temp_sk2: Option<f64>,
    /// °C, highest row of sensor 1; null without one.
    pub max_temp_sk1: Option<f64>,
    /// °C, highest row of sensor 2; null without one.
    pub max_temp_sk2: Option<f64>,
    /// Start of the first valid five-minute slot, ms; null without one.
    pub start_timestamp: Option<i64>,
    /// End of the last valid five-minute slot, ms; null without one.
    pub end_timestamp: Option<i64>,
}

impl TemperatureSection {
    /// The section of a day; `None` without any row.
    pub fn of(source: &DaySource<'_>) -> Option<Self> {
        if source.cells.temperature.is_empty() {
            return None;
        }
        let worn: Vec<&TemperatureCell> =
            source.cells.temperature.cells().iter().filter(|cell| is_worn(cell, &source.cells.activity)).collect();
        let valid = || worn.iter().filter(|cell| cell.sk1.count > 0 || cell.sk2.count > 0);
        let average = |sensor: fn(&TemperatureCell) -> Sensor| {
            let means = worn.iter().filter_map(|cell| sensor(cell).mean_hundredths());
            mean(means.map(|hundredths| hundredths as f64 / HUNDREDTHS))
        };
        let highest = |sensor: fn(&TemperatureCell) -> Sensor| {
            let sensors = worn.iter().map(|cell| sensor(cell)).filter(|sensor| sensor.count > 0);
            sensors.map(|sensor| sensor.highest).max().map(|hundredths| f64::from(hundredths) / HUNDREDTHS)
        };
        Some(TemperatureSection {
            date: source.day.to_string(),
            avg_temp_sk1: average(|cell| cell.sk1),
            avg_temp_sk2: average(|cell| cell.sk2),
            max_temp_sk1: highest(|cell| cell.sk1),
            max_temp_sk2: highest(|cell| cell.sk2),
            start_timestamp: valid().next().map(|cell| cell.place.start_ms()),
            end_timestamp: valid().next_back().map(|cell| cell.place.start_ms() + WINDOW_MS),
        })
    }
}

/// Whether the activity rows of the same window say that the bracelet was worn; without any it counts as worn.
pub(super) fn is_worn(cell: &TemperatureCell, activity: &DayCells<ActivityCell>) -> bool {
    activity.in_window(cell.place.window()).is_none_or(ActivityCell::is_wearing)
}
