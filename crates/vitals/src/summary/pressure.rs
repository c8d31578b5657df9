//! The section `non_invasive_blood_pressure`.

use super::bounds::column;
use super::described::described;
use super::night::Nights;
use super::rounding::mean;
use super::slots::PressureSlot;
use super::source::DaySource;
use super::units::MmHg;
use crate::cells::{ActivityCell, DayCells};
use crate::registry::DataType;
use crate::zone::LocalDay;

described! {
    /// Blood pressure of a day. All averages are means over thirty-minute slots.
    pub struct PressureSection {
        /// Local day.
        pub date: LocalDay = "2025-11-20",
        /// All slots; null without a systolic value.
        pub daily_average_systolic_pressure: Option<MmHg> = 118.4 within column(DataType::Activity, "nibp_systolic_combine"),
        /// All slots; null without a diastolic value.
        pub daily_average_diastolic_pressure: Option<MmHg> = 76.25 within column(DataType::Activity, "nibp_diastolic_combine"),
        /// Asleep; null when the sleep of the day is not known or has no value.
        pub sleeping_average_systolic_pressure: Option<MmHg> = 109.5 within column(DataType::Activity, "nibp_systolic_combine"),
        /// Asleep; null when the sleep of the day is not known or has no value.
        pub sleeping_average_diastolic_pressure: Option<MmHg> = 68.75 within column(DataType::Activity, "nibp_diastolic_combine"),
        /// Awake; null when the sleep of the day is not known or no value lies outside it.
        pub awaken_average_systolic_pressure: Option<MmHg> = 122.1 within column(DataType::Activity, "nibp_systolic_combine"),
        /// Awake; null when the sleep of the day is not known or no value lies outside it.
        pub awaken_average_diastolic_pressure: Option<MmHg> = 79.3 within column(DataType::Activity, "nibp_diastolic_combine"),
    }
    optional {
        /// Slots of thirty minutes, where an answer has them; never in what is stored.
        pub slots: Vec<PressureSlot>,
    }
}

impl PressureSection {
    /// Returns the section of a day; `None` without any blood pressure.
    pub fn of(source: &DaySource<'_>, nights: &Nights) -> Option<Self> {
        let slots = pressure_slots(&source.cells.activity);
        if slots.is_empty() {
            return None;
        }
        let systolic = |slot: &&ActivityCell| slot.systolic.mean();
        let diastolic = |slot: &&ActivityCell| slot.diastolic.mean();
        let asleep_ms = &nights.asleep_ms;
        // A slot counts as sleep when its middle does.
        let is_asleep = |slot: &&ActivityCell| {
            let middle_ms = slot.place.start_ms() + 15 * 60_000;
            asleep_ms.iter().any(|(from_ms, to_ms)| (*from_ms..*to_ms).contains(&middle_ms))
        };
        let asleep = || slots.iter().filter(is_asleep);
        // A day whose sleep is not known has no waking average either: it would be that of day and night.
        let awake = || slots.iter().filter(|slot| !asleep_ms.is_empty() && !is_asleep(slot));
        Some(PressureSection {
            date: source.day,
            daily_average_systolic_pressure: mean(slots.iter().filter_map(|slot| systolic(&slot))).map(MmHg),
            daily_average_diastolic_pressure: mean(slots.iter().filter_map(|slot| diastolic(&slot))).map(MmHg),
            sleeping_average_systolic_pressure: mean(asleep().filter_map(|slot| systolic(&slot))).map(MmHg),
            sleeping_average_diastolic_pressure: mean(asleep().filter_map(|slot| diastolic(&slot))).map(MmHg),
            awaken_average_systolic_pressure: mean(awake().filter_map(|slot| systolic(&slot))).map(MmHg),
            awaken_average_diastolic_pressure: mean(awake().filter_map(|slot| diastolic(&slot))).map(MmHg),
            slots: None,
        })
    }
}

/// Returns the thirty-minute slots of a day that have a blood pressure.
pub(super) fn pressure_slots(activity: &DayCells<ActivityCell>) -> Vec<ActivityCell> {
    let has_pressure = |cell: &ActivityCell| cell.systolic.count > 0 || cell.diastolic.count > 0;
    if !activity.cells().iter().any(has_pressure) {
        return Vec::new();
    }
    activity.half_hours().into_iter().filter(has_pressure).collect()
}
