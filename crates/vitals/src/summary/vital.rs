//! The sections `respiration_rate` and `spo2`: an average, and when its slots begin and end.

use super::bounds::column;
use super::described::described;
use super::rounding::mean;
use super::slots::{RespirationRateSlot, Spo2Slot};
use super::source::DaySource;
use super::units::{BreathsPerMinute, EpochMs, Percent};
use crate::cells::{ActivityCell, Vital, WINDOW_MS};
use crate::registry::DataType;
use crate::zone::LocalDay;

/// Tenths in one: respiration rate and oxygen saturation are kept with one decimal.
const TENTHS: f64 = 10.0;

described! {
    /// Respiration rate of a day.
    pub struct RespirationRateSection {
        /// Local day.
        pub date: LocalDay = "2025-11-20",
        /// Mean over the valid five-minute slots; null without one.
        pub avg_respiration_rate: Option<BreathsPerMinute> = 14.36 within column(DataType::Activity, "respiration_rate"),
        /// Start of the first valid five-minute slot, Unix epoch ms; null without one.
        pub start_timestamp: Option<EpochMs> = 1763593200000,
        /// End of the last valid five-minute slot, Unix epoch ms; null without one.
        pub end_timestamp: Option<EpochMs> = 1763679600000,
    }
    optional {
        /// Slots of five minutes, where an answer has them; never in what is stored.
        pub slots_five_minutes: Vec<RespirationRateSlot>,
        /// Slots of thirty minutes, where an answer has them; never in what is stored.
        pub slots_thirty_minutes: Vec<RespirationRateSlot>,
    }
}

impl RespirationRateSection {
    /// Returns the section of a day; `None` when no row has a respiration rate, be it 0 or poor.
    pub fn of(source: &DaySource<'_>) -> Option<Self> {
        let day = VitalDay::of(source.cells.activity.cells(), |cell| &cell.respiration)?;
        Some(RespirationRateSection {
            date: source.day,
            avg_respiration_rate: day.average.map(BreathsPerMinute),
            start_timestamp: day.start_ms,
            end_timestamp: day.end_ms,
            slots_five_minutes: None,
            slots_thirty_minutes: None,
        })
    }
}

described! {
    /// Oxygen saturation of a day.
    pub struct Spo2Section {
        /// Local day.
        pub date: LocalDay = "2025-11-20",
        /// Mean over the valid five-minute slots; null without one.
        pub avg_spo2: Option<Percent> = 96.82 within column(DataType::Activity, "spo2"),
        /// Start of the first valid five-minute slot, Unix epoch ms; null without one.
        pub start_timestamp: Option<EpochMs> = 1763593200000,
        /// End of the last valid five-minute slot, Unix epoch ms; null without one.
        pub end_timestamp: Option<EpochMs> = 1763679600000,
    }
    optional {
        /// Slots of five minutes, where an answer has them; never in what is stored.
        pub slots_five_minutes: Vec<Spo2Slot>,
        /// Slots of thirty minutes, where an answer has them; never in what is stored.
        pub slots_thirty_minutes: Vec<Spo2Slot>,
    }
}

impl Spo2Section {
    /// Returns the section of a day; `None` when no row has an oxygen saturation, be it 0 or poor.
    pub fn of(source: &DaySource<'_>) -> Option<Self> {
        let day = VitalDay::of(source.cells.activity.cells(), |cell| &cell.spo2)?;
        Some(Spo2Section {
            date: source.day,
            avg_spo2: day.average.map(Percent),
            start_timestamp: day.start_ms,
            end_timestamp: day.end_ms,
            slots_five_minutes: None,
            slots_thirty_minutes: None,
        })
    }
}

struct VitalDay {
    average: Option<f64>,
    start_ms: Option<EpochMs>,
    end_ms: Option<EpochMs>,
}

impl VitalDay {
    fn of(cells: &[ActivityCell], vital: impl Fn(&ActivityCell) -> &Vital) -> Option<Self> {
        // Rows with poor values make a section of nulls: the sensor was there and saw nothing, which differs from no
        // sensor.
        if cells.iter().all(|cell| vital(cell).measured == 0) {
            return None;
        }
        let valid = || cells.iter().filter(|cell| vital(cell).values.count > 0);
        Some(VitalDay {
            average: mean(valid().filter_map(|cell| vital(cell).values.mean()).map(|tenths| tenths / TENTHS)),
            start_ms: valid().next().map(|cell| EpochMs(cell.place.start_ms())),
            end_ms: valid().last().map(|cell| EpochMs(cell.place.start_ms() + WINDOW_MS)),
        })
    }
}
