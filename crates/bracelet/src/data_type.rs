//! The kinds of data that a bracelet uploads.

use std::fmt;
use std::str::FromStr;

use crate::error::BraceletError;

/// A data type that this crate can generate: the specification's, then those beyond it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DataType {
    /// One row per minute: heart rate, steps, respiration, saturation, pressure, wear.
    Activity,
    /// One row per heart beat.
    RrInterval,
    /// One row per five minutes: heart-rate variability as the device computes it.
    HeartRateVariability,
    /// One row per 30 s of the night: sleep stage.
    Sleep,
    /// One row per minute: skin and ambient temperature.
    Temperature,
    /// 25 Hz: one photoplethysmogram with acceleration.
    Ppg1,
    /// Photoplethysmogram in three colours.
    Ppg2,
    /// 32 Hz: acceleration.
    Acc,
    /// 25 Hz: bioimpedance.
    Bioz,
    /// 256 Hz: electrocardiogram.
    Ecg,
    /// Spot measurements.
    Tests,
    /// 4 Hz: skin conductance.
    Eda,
    /// 32 Hz: angular velocity of the wrist.
    Gyro,
}

impl DataType {
    /// Every data type.
    pub const ALL: [Self; 13] = [
        Self::Activity,
        Self::RrInterval,
        Self::HeartRateVariability,
        Self::Sleep,
        Self::Temperature,
        Self::Ppg1,
        Self::Ppg2,
        Self::Acc,
        Self::Bioz,
        Self::Ecg,
        Self::Tests,
        Self::Eda,
        Self::Gyro,
    ];

    /// What a bracelet sends when nobody asked for waveforms.
    pub const VITALS: [Self; 6] =
        [Self::Activity, Self::RrInterval, Self::HeartRateVariability, Self::Sleep, Self::Temperature, Self::Tests];

    /// Returns the name in addresses and bodies.
    pub fn name(self) -> &'static str {
        match self {
            Self::Activity => "activity",
            Self::RrInterval => "rr-interval",
            Self::HeartRateVariability => "heart-rate-variability",
            Self::Sleep => "sleep",
            Self::Temperature => "temperature",
            Self::Ppg1 => "ppg1",
            Self::Ppg2 => "ppg2",
            Self::Acc => "acc",
            Self::Bioz => "bioz",
            Self::Ecg => "ecg",
            Self::Tests => "tests",
            Self::Eda => "eda",
            Self::Gyro => "gyro",
        }
    }

    /// Returns every name.
    pub fn names() -> Vec<&'static str> {
        Self::ALL.into_iter().map(Self::name).collect()
    }

    /// Returns whether the type is sampled at a fixed rate and sent as `start` and `rate_hz`.
    pub fn is_waveform(self) -> bool {
        matches!(self, Self::Ppg1 | Self::Ppg2 | Self::Acc | Self::Bioz | Self::Ecg | Self::Eda | Self::Gyro)
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for DataType {
    type Err = BraceletError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|data_type| data_type.name() == name)
            .ok_or_else(|| BraceletError::UnknownDataType { name: name.to_owned(), known: Self::names().join(", ") })
    }
}
