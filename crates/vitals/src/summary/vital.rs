//! The sections `respiration_rate` and `spo2`: an average, and when its slots begin and end.

use serde::Serialize;

use super::DaySource;
use super::rounding::mean;
use crate::cells::{ActivityCell, Vital, WINDOW_MS};

/// Tenths in one: respiration rate and oxygen saturation are kept with one decimal.
const TENTHS: f64 = 10.0;

/// Respiration rate of a day.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RespirationRateSection {
    /// `YYYY-MM-DD`.
    pub date: String,
    /// /min, mean over the valid five-minute slots; null without one.
    pub avg_respiration_rate: Option<f64>,
    /// Start of the first valid five-minute slot, ms; null without one.
    pub start_timestamp: Option<i64>,
    /// End of the last valid five-minute slot, ms; null without one.
    pub end_timestamp: Option<i64>,
}

impl RespirationRateSection {
    /// The section of a day; `None` when no row has a respiration rate, be it 0 or poor.
    pub fn of(source: &DaySource<'_>) -> Option<Self> {
        let day = VitalDay::of(source.cells.activity.cells(), |cell| &cell.respiration)?;
        Some(RespirationRateSection {
            date: source.day.to_string(),
            avg_respiration_rate: day.average,
            start_timestamp: day.start_ms,
            end_timestamp: day.end_ms,
        })
    }
}

/// Oxygen saturation of a day.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spo2Section {
    /// `YYYY-MM-DD`.
    pub date: String,
    /// Percent, mean over the valid five-minute slots; null without one.
    pub avg_spo2: Option<f64>,
    /// Start of the first valid five-minute slot, ms; null without one.
    pub start_timestamp: Option<i64>,
    /// End of the last valid five-minute slot, ms; null without one.
    pub end_timestamp: Option<i64>,
}

impl Spo2Section {
    /// The section of a day; `None` when no row has an oxygen saturation, be it 0 or poor.
    pub fn of(source: &DaySource<'_>) -> Option<Self> {
        let day = VitalDay::of(source.cells.activity.cells(), |cell| &cell.spo2)?;
        Some(Spo2Section {
            date: source.day.to_string(),
            avg_spo2: day.average,
            start_timestamp: day.start_ms,
            end_timestamp: day.end_ms,
        })
    }
}

struct VitalDay {
    average: Option<f64>,
    start_ms: Option<i64>,
    end_ms: Option<i64>,
}

impl VitalDay {
    fn of(cells: &[ActivityCell], vital: impl Fn(&ActivityCell) -> &Vital) -> Option<Self> {
        if cells.iter().all(|cell| vital(cell).measured == 0) {
            return None;
        }
        let valid = || cells.iter().filter(|cell| vital(cell).values.count > 0);
        Some(VitalDay {
            average: mean(valid().filter_map(|cell| vital(cell).values.mean()).map(|tenths| tenths / TENTHS)),
            start_ms: valid().next().map(|cell| cell.place.start_ms()),
            end_ms: valid().last().map(|cell| cell.place.start_ms() + WINDOW_MS),
        })
    }
}
