//! Data types: their names, columns, channels and how long a sealed period of each is.

use super::columns::{self, Column, NULL};

/// A kind of raw data that a bracelet uploads. The order is the order of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DataType {
    /// Heart rate, respiration, SpO2, blood pressure, steps and wear, one row per 10 to 60 s.
    Activity,
    /// Beat-to-beat intervals.
    RrInterval,
    /// Sleep stages, one row per 30 s.
    Sleep,
    /// Skin and ambient temperature.
    Temperature,
    /// Heart-rate variability as the bracelet computes it, about every 3 to 5 min.
    HeartRateVariability,
    /// Photoplethysmogram with acceleration, 25 Hz.
    Ppg1,
    /// Photoplethysmogram by colour and sensor position, 32 to 512 Hz.
    Ppg2,
    /// Bioimpedance, 25 Hz.
    Bioz,
    /// Acceleration, 32 Hz.
    Acc,
    /// Electrocardiogram, 256 Hz.
    Ecg,
    /// Spot measurements on demand.
    Tests,
}

/// How much time one sealed segment of a type covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// One UTC day: waveforms.
    Day,
    /// One UTC month: everything else.
    Month,
}

/// Which of a type's parallel signals a sample belongs to.
///
/// A sample is identified by patient, data type, channel and time. For ppg2 the channel is the metric and the
/// position of the light sensor, for tests the kind of test; the other types have one channel, number 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Channel(pub i64);

impl Channel {
    /// The channel of a ppg2 row; either part may be [`NULL`].
    pub fn of_ppg2(metric_id: i32, led_pd_pos: i32) -> Self {
        let part = |cell: i32| if cell == NULL { 0 } else { i64::from(cell) + 1 };
        Channel((part(metric_id) << 16) | part(led_pd_pos))
    }

    /// The metric of a ppg2 channel; none where its rows have none.
    pub fn metric_id(self) -> Option<i32> {
        let part = (self.0 >> 16) as i32;
        (part > 0).then_some(part - 1)
    }

    /// The position of the light sensor of a ppg2 channel; none where its rows have none.
    pub fn led_pd_pos(self) -> Option<i32> {
        let part = (self.0 & 0xffff) as i32;
        (part > 0).then_some(part - 1)
    }

    /// The channel of a row of `tests`, from the cell of its `test_type`.
    pub fn of_test(test_type: i32) -> Self {
        Channel(i64::from(test_type) + 1)
    }
}

impl DataType {
    /// All types, in the order of the specification.
    pub const ALL: [DataType; 11] = [
        DataType::Activity,
        DataType::RrInterval,
        DataType::Sleep,
        DataType::Temperature,
        DataType::HeartRateVariability,
        DataType::Ppg1,
        DataType::Ppg2,
        DataType::Bioz,
        DataType::Acc,
        DataType::Ecg,
        DataType::Tests,
    ];

    /// The name in addresses and bodies, such as `rr-interval`.
    pub const fn name(self) -> &'static str {
        match self {
            DataType::Activity => "activity",
            DataType::RrInterval => "rr-interval",
            DataType::Sleep => "sleep",
            DataType::Temperature => "temperature",
            DataType::HeartRateVariability => "heart-rate-variability",
            DataType::Ppg1 => "ppg1",
            DataType::Ppg2 => "ppg2",
            DataType::Bioz => "bioz",
            DataType::Acc => "acc",
            DataType::Ecg => "ecg",
            DataType::Tests => "tests",
        }
    }

    /// The type of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|data_type| data_type.name() == name)
    }

    /// A small number that stands for the type in the database and never changes.
    pub const fn number(self) -> i64 {
        self as i64 + 1
    }

    /// The type of that number.
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|data_type| data_type.number() == number)
    }

    /// The columns after `timestamp`, in the order of every output.
    pub const fn columns(self) -> &'static [Column] {
        match self {
            DataType::Activity => columns::ACTIVITY,
            DataType::RrInterval => columns::RR_INTERVAL,
            DataType::Sleep => columns::SLEEP,
            DataType::Temperature => columns::TEMPERATURE,
            DataType::HeartRateVariability => columns::HEART_RATE_VARIABILITY,
            DataType::Ppg1 => columns::PPG1,
            DataType::Ppg2 => columns::PPG2,
            DataType::Bioz => columns::BIOZ,
            DataType::Acc => columns::ACC,
            DataType::Ecg => columns::ECG,
            DataType::Tests => columns::TESTS,
        }
    }

    /// The position of a column, by name.
    pub fn column_index(self, name: &str) -> Option<usize> {
        self.columns().iter().position(|column| column.name == name)
    }

    /// The column of that name.
    pub fn column(self, name: &str) -> Option<&'static Column> {
        self.columns().iter().find(|column| column.name == name)
    }

    /// Positions of the columns that make up the channel; empty for types with one channel.
    pub fn channel_columns(self) -> &'static [usize] {
        const PPG2_METRIC_AND_POSITION: &[usize] = &[0, 4];
        const TEST_TYPE: &[usize] = &[0];
        match self {
            DataType::Ppg2 => PPG2_METRIC_AND_POSITION,
            DataType::Tests => TEST_TYPE,
            _ => &[],
        }
    }

    /// The channel of a row with these channel cells, given in the order of [`DataType::channel_columns`].
    pub fn channel(self, cells: &[i32]) -> Channel {
        match (self, cells) {
            (DataType::Ppg2, [metric_id, led_pd_pos]) => Channel::of_ppg2(*metric_id, *led_pd_pos),
            (DataType::Tests, [test_type]) => Channel::of_test(*test_type),
            _ => Channel::default(),
        }
    }

    /// Whether this is a signal sampled many times a second: smaller windows, daily segments.
    pub const fn is_waveform(self) -> bool {
        matches!(self, DataType::Ppg1 | DataType::Ppg2 | DataType::Bioz | DataType::Acc | DataType::Ecg)
    }

    /// The period that one sealed segment covers.
    pub const fn period(self) -> Period {
        if self.is_waveform() { Period::Day } else { Period::Month }
    }
}

/// What a row of `tests` measures: its name, the units it may come in (the first is meant when none is named) and
/// the plausible range in that first unit. Source: refinements 6 of the specification; the ranges are ours.
#[derive(Debug)]
pub struct TestKind {
    /// The value of `test_type`.
    pub name: &'static str,
    /// Accepted units with the plausible range in each; empty where any unit goes.
    pub units: &'static [(&'static str, f64, f64)],
}

impl TestKind {
    /// All kinds; a cell of `test_type` is the position in this list.
    pub const ALL: &'static [TestKind] = &[
        TestKind { name: "heart_rate", units: &[("/min", 0.0, 300.0)] },
        TestKind { name: "respiration_rate", units: &[("/min", 0.0, 100.0)] },
        TestKind { name: "spo2", units: &[("%", 0.0, 100.0)] },
        TestKind { name: "temperature", units: &[("°C", 20.0, 45.0)] },
        TestKind { name: "blood_pressure_systolic", units: &[("mmHg", 0.0, 400.0)] },
        TestKind { name: "blood_pressure_diastolic", units: &[("mmHg", 0.0, 300.0)] },
        TestKind { name: "weight", units: &[("kg", 0.2, 700.0)] },
        TestKind { name: "glucose", units: &[("mmol/L", 0.1, 70.0), ("mg/dL", 2.0, 1300.0)] },
        TestKind { name: "other", units: &[] },
    ];

    /// The position of a kind, by name.
    pub fn code(name: &str) -> Option<i32> {
        Self::ALL.iter().position(|kind| kind.name == name).map(|position| position as i32)
    }

    /// The kind that a cell of `test_type` stands for.
    pub fn of_cell(cell: i32) -> Option<&'static TestKind> {
        usize::try_from(cell).ok().and_then(|position| Self::ALL.get(position))
    }

    /// Checks a value and its unit; answers the unit to store, or the column that is wrong.
    pub fn check(&self, value: f64, unit: Option<&str>) -> Result<Option<&'static str>, &'static str> {
        let Some(first) = self.units.first() else {
            return Ok(None);
        };
        let wanted = unit.unwrap_or(first.0);
        let Some((name, min, max)) = self.units.iter().find(|(name, ..)| *name == wanted) else {
            return Err("unit");
        };
        if value < *min || value > *max {
            return Err("value");
        }
        Ok(Some(name))
    }
}
