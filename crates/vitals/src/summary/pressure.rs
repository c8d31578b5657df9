//! The section `non_invasive_blood_pressure`.

use serde::Serialize;

use super::DaySource;
use super::night::Nights;
use super::rounding::mean;
use crate::cells::{ActivityCell, DayCells};

/// Blood pressure of a day. All averages are means over thirty-minute slots.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PressureSection {
    /// `YYYY-MM-DD`.
    pub date: String,
    /// mmHg; null without a systolic value.
    pub daily_average_systolic_pressure: Option<f64>,
    /// mmHg; null without a diastolic value.
    pub daily_average_diastolic_pressure: Option<f64>,
    /// mmHg, asleep; null when the sleep of the day is not known or has no value.
    pub sleeping_average_systolic_pressure: Option<f64>,
    /// mmHg, asleep; null when the sleep of the day is not known or has no value.
    pub sleeping_average_diastolic_pressure: Option<f64>,
    /// mmHg, awake; null when the sleep of the day is not known or no value lies outside it.
    pub awaken_average_systolic_pressure: Option<f64>,
    /// mmHg, awake; null when the sleep of the day is not known or no value lies outside it.
    pub awaken_average_diastolic_pressure: Option<f64>,
}

impl PressureSection {
    /// The section of a day; `None` without any blood pressure.
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
        let awake = || slots.iter().filter(|slot| !asleep_ms.is_empty() && !is_asleep(slot));
        Some(PressureSection {
            date: source.day.to_string(),
            daily_average_systolic_pressure: mean(slots.iter().filter_map(|slot| systolic(&slot))),
            daily_average_diastolic_pressure: mean(slots.iter().filter_map(|slot| diastolic(&slot))),
            sleeping_average_systolic_pressure: mean(asleep().filter_map(|slot| systolic(&slot))),
            sleeping_average_diastolic_pressure: mean(asleep().filter_map(|slot| diastolic(&slot))),
            awaken_average_systolic_pressure: mean(awake().filter_map(|slot| systolic(&slot))),
            awaken_average_diastolic_pressure: mean(awake().filter_map(|slot| diastolic(&slot))),
        })
    }
}

/// The thirty-minute slots of a day that have a blood pressure.
pub(super) fn pressure_slots(activity: &DayCells<ActivityCell>) -> Vec<ActivityCell> {
    let has_pressure = |cell: &ActivityCell| cell.systolic.count > 0 || cell.diastolic.count > 0;
    if !activity.cells().iter().any(has_pressure) {
        return Vec::new();
    }
    activity.half_hours().into_iter().filter(has_pressure).collect()
}
