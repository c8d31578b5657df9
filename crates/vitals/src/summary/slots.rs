//! Slots of the daily summary as types: what [`slots_json`](super::slots_json) writes.

use serde::Serializer;

use super::bounds::{STEPS_OF_A_SLOT, column};
use super::described::described;
use super::local_time::TimeOfDay;
use super::units::{BeatsPerMinute, BreathsPerMinute, Celsius, EpochMs, MmHg, Percent};
use crate::registry::DataType;

described! {
    /// Steps in a slot.
    #[derive(Copy)]
    pub struct StepSlot {
        /// Start, Unix epoch ms.
        pub timestamp: EpochMs = 1763600100000,
        /// What the local clock showed at the start.
        pub date: TimeOfDay = "01:55",
        /// Steps; null when no row of the slot has any number of them.
        pub step_count: Option<u64> = 112 "steps" within STEPS_OF_A_SLOT,
    }
}

described! {
    /// Heart rate in a slot.
    #[derive(Copy)]
    pub struct HeartRateSlot {
        /// Whether most rows were measured on the wrist.
        pub is_wearing: bool = true,
        /// Whether the bracelet was charging in most of the rows that report it.
        pub is_charging: bool = false,
        /// Whether the battery was at 15 % or less in most of the rows that report it.
        pub is_low_battery: bool = false,
        /// Start, Unix epoch ms.
        pub timestamp: EpochMs = 1763600100000,
        /// What the local clock showed at the start.
        pub date: TimeOfDay = "01:55",
        /// Mean of the valid rows; null without one.
        #[serde(serialize_with = "shortest")]
        pub bpm: Option<BeatsPerMinute> = 61.4 within column(DataType::Activity, "bpm"),
        /// Mean quality of these rows, 0 to 4; null where none is given.
        pub bpm_q: Option<u64> = 3 within column(DataType::Activity, "bpm_q"),
    }
}

described! {
    /// Respiration rate in a slot.
    #[derive(Copy)]
    pub struct RespirationRateSlot {
        /// Whether most rows were measured on the wrist.
        pub is_wearing: bool = true,
        /// Whether the bracelet was charging in most of the rows that report it.
        pub is_charging: bool = false,
        /// Whether the battery was at 15 % or less in most of the rows that report it.
        pub is_low_battery: bool = false,
        /// Start, Unix epoch ms.
        pub timestamp: EpochMs = 1763600100000,
        /// What the local clock showed at the start.
        pub date: TimeOfDay = "01:55",
        /// Mean of the valid rows; null without one.
        #[serde(serialize_with = "shortest")]
        pub respiration_rate: Option<BreathsPerMinute> = 14.2 within column(DataType::Activity, "respiration_rate"),
        /// Mean quality of these rows, 0 to 4; null where none is given.
        pub quality: Option<u64> = 3 within column(DataType::Activity, "resp_q"),
    }
}

described! {
    /// Oxygen saturation in a slot.
    #[derive(Copy)]
    pub struct Spo2Slot {
        /// Whether most rows were measured on the wrist.
        pub is_wearing: bool = true,
        /// Whether the bracelet was charging in most of the rows that report it.
        pub is_charging: bool = false,
        /// Whether the battery was at 15 % or less in most of the rows that report it.
        pub is_low_battery: bool = false,
        /// Start, Unix epoch ms.
        pub timestamp: EpochMs = 1763600100000,
        /// What the local clock showed at the start.
        pub date: TimeOfDay = "01:55",
        /// Mean of the valid rows; null without one.
        #[serde(serialize_with = "shortest")]
        pub spo2: Option<Percent> = 97 within column(DataType::Activity, "spo2"),
        /// Mean quality of these rows, 0 to 4; null where none is given.
        pub spo2_q: Option<u64> = 3 within column(DataType::Activity, "spo2_q"),
    }
}

described! {
    /// Skin temperatures in a slot.
    #[derive(Copy)]
    pub struct TemperatureSlot {
        /// Whether most rows were measured on the wrist.
        pub is_wearing: bool = true,
        /// Whether the bracelet was charging in most of the rows that report it.
        pub is_charging: bool = false,
        /// Whether the battery was at 15 % or less in most of the rows that report it.
        pub is_low_battery: bool = false,
        /// Start, Unix epoch ms.
        pub timestamp: EpochMs = 1763600100000,
        /// What the local clock showed at the start.
        pub date: TimeOfDay = "01:55",
        /// Mean of sensor 1; null without a value or off the wrist.
        #[serde(serialize_with = "shortest")]
        pub temp_sk1: Option<Celsius> = 33.41 within column(DataType::Temperature, "temp_sk1"),
        /// Mean of sensor 2; null without a value or off the wrist.
        #[serde(serialize_with = "shortest")]
        pub temp_sk2: Option<Celsius> = 33.18 within column(DataType::Temperature, "temp_sk2"),
    }
}

described! {
    /// Blood pressure in a slot of thirty minutes.
    #[derive(Copy)]
    pub struct PressureSlot {
        /// Mean; null when no row of the slot has a systolic value.
        #[serde(serialize_with = "shortest")]
        pub systolic_pressure_combine: Option<MmHg> = 118.5 within column(DataType::Activity, "nibp_systolic_combine"),
        /// Mean; null when no row of the slot has a diastolic value.
        #[serde(serialize_with = "shortest")]
        pub diastolic_pressure_combine: Option<MmHg> = 76 within column(DataType::Activity, "nibp_diastolic_combine"),
        /// Start, Unix epoch ms.
        pub start_timestamp: EpochMs = 1763598600000,
        /// End, Unix epoch ms.
        pub end_timestamp: EpochMs = 1763600400000,
        /// What the local clock showed at the start.
        pub start_date: TimeOfDay = "01:30",
        /// Thirty minutes after `start_date`, whatever the clock does in between.
        pub end_date: TimeOfDay = "02:00",
    }
}

/// Largest integer up to which every integer is an f64: 2^53.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// Writes an integer without `.0`, as slots have it: there are hundreds of thousands of them in an answer.
#[expect(clippy::ref_option, reason = "the signature that serde calls")]
fn shortest<S, Q>(quantity: &Option<Q>, serializer: S) -> Result<S::Ok, S::Error>
where
    S: Serializer,
    Q: Copy + Into<f64>,
{
    match quantity.map(Into::<f64>::into) {
        None => serializer.serialize_none(),
        Some(number) if number.fract() == 0.0 && number.abs() < LARGEST_EXACT => {
            serializer.serialize_i64(number as i64)
        }
        Some(number) => serializer.serialize_f64(number),
    }
}
