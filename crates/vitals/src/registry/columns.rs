//! The columns of each data type: name, kind, range, unit, meaning.

use std::ops::RangeInclusive;

use super::types::TestKind;

/// The cell that stands for "no value". It lies outside the range of every column.
pub const NULL: i32 = i32::MIN;

/// What a column's cells are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A number, stored as an integer in steps of `10^-decimals` of the unit; the range is in the unit, inclusive.
    Number {
        /// Digits kept after the point.
        decimals: u8,
        /// Smallest value, in the unit.
        min: i32,
        /// Largest value, in the unit.
        max: i32,
    },
    /// A number of 0 to 255 that is written in hexadecimal, such as `0x7e`.
    Hex,
    /// A name out of [`TestKind::ALL`].
    TestType,
    /// Free text.
    Text {
        /// The longest text, in characters.
        max_chars: usize,
    },
}

/// A column of a data type.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The name in JSON, CSV, Arrow and Parquet.
    pub name: &'static str,
    /// What its cells are.
    pub kind: Kind,
    /// The unit; empty where there is none.
    pub unit: &'static str,
    /// What it means, for the data dictionary.
    pub meaning: &'static str,
    /// Whether a row may lack it.
    pub nullable: bool,
    /// Whether it is accepted only for old apps.
    pub deprecated: bool,
    /// Whole numbers inside the range that mean nothing.
    pub gaps: &'static [i32],
}

/// Why a value cannot be a cell of its column. Such a value rejects its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CellError {
    /// The value lies outside the column's range.
    #[error("out of range")]
    OutOfRange,
    /// The value is not a number.
    #[error("not a number")]
    NotANumber,
    /// The value is not one of the names or codes of the column.
    #[error("unknown code")]
    UnknownCode,
    /// The text is longer than the column allows.
    #[error("text too long")]
    TooLong,
    /// The text holds the character U+0000, which not every store can keep.
    #[error("text with a NUL character")]
    NulCharacter,
    /// The column must have a value.
    #[error("must not be null")]
    Null,
}

impl Column {
    /// Whether cells are text and not numbers.
    pub const fn is_text(&self) -> bool {
        matches!(self.kind, Kind::Text { .. })
    }

    /// Digits kept after the point; 0 for everything that is not a number.
    pub const fn decimals(&self) -> u8 {
        match self.kind {
            Kind::Number { decimals, .. } => decimals,
            _ => 0,
        }
    }

    /// The number of cell steps in one unit.
    pub const fn steps_per_unit(&self) -> i32 {
        match self.decimals() {
            0 => 1,
            1 => 10,
            2 => 100,
            3 => 1000,
            more => 10_i32.pow(more as u32),
        }
    }

    /// The whole numbers each of which is a cell; `None` when others lie between them, or none is.
    pub fn whole_range(&self) -> Option<RangeInclusive<i64>> {
        match self.kind {
            Kind::Number { min, max, .. } if self.gaps.is_empty() => Some(i64::from(min)..=i64::from(max)),
            Kind::Hex => Some(0..=i64::from(u8::MAX)),
            _ => None,
        }
    }

    /// The cell of a whole number.
    pub fn cell_from_i64(&self, value: i64) -> Result<i32, CellError> {
        match self.kind {
            Kind::Number { min, max, .. } => {
                if value < i64::from(min) || value > i64::from(max) {
                    return Err(CellError::OutOfRange);
                }
                self.outside_gaps(value as i32 * self.steps_per_unit())
            }
            Kind::Hex => u8::try_from(value).map(i32::from).map_err(|_| CellError::OutOfRange),
            Kind::TestType | Kind::Text { .. } => Err(CellError::UnknownCode),
        }
    }

    /// The cell of a number, rounded half away from zero to the column's scale.
    pub fn cell_from_f64(&self, value: f64) -> Result<i32, CellError> {
        if value.is_nan() {
            return Err(CellError::NotANumber);
        }
        match self.kind {
            Kind::Number { min, max, .. } => {
                let steps = f64::from(self.steps_per_unit());
                let cell = (value * steps).round();
                if cell < f64::from(min) * steps || cell > f64::from(max) * steps {
                    return Err(CellError::OutOfRange);
                }
                self.outside_gaps(cell as i32)
            }
            Kind::Hex if value.fract() == 0.0 && (0.0..256.0).contains(&value) => Ok(value as i32),
            _ => Err(CellError::UnknownCode),
        }
    }

    /// The cell, unless it is one of the column's gaps.
    fn outside_gaps(&self, cell: i32) -> Result<i32, CellError> {
        if self.gaps.contains(&cell) { Err(CellError::UnknownCode) } else { Ok(cell) }
    }

    /// Whether a text can be kept by a text column.
    pub fn check_text(&self, text: &str) -> Result<(), CellError> {
        let Kind::Text { max_chars } = self.kind else { return Err(CellError::NotANumber) };
        // Bytes are counted first: they are never fewer than the characters.
        if text.len() > max_chars && text.chars().count() > max_chars {
            return Err(CellError::TooLong);
        }
        if text.contains('\0') { Err(CellError::NulCharacter) } else { Ok(()) }
    }

    /// The cell of a name or of a hexadecimal code.
    pub fn cell_from_text(&self, text: &str) -> Result<i32, CellError> {
        match self.kind {
            Kind::Hex => {
                let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
                let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
                let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                code.map(i32::from).ok_or(CellError::UnknownCode)
            }
            Kind::TestType => TestKind::code(text).ok_or(CellError::UnknownCode),
            Kind::Number { .. } | Kind::Text { .. } => Err(CellError::NotANumber),
        }
    }

    /// The value of a cell in the column's unit; `None` for [`NULL`].
    pub fn value_of(&self, cell: i32) -> Option<f64> {
        (cell != NULL).then(|| f64::from(cell) / f64::from(self.steps_per_unit()))
    }

    /// What a cell of a coded column is written as; `None` for [`NULL`] and for numbers.
    pub fn text_of(&self, cell: i32) -> Option<String> {
        if cell == NULL {
            return None;
        }
        match self.kind {
            Kind::Hex => Some(format!("{cell:#04x}")),
            Kind::TestType => TestKind::of_cell(cell).map(|kind| kind.name.to_owned()),
            Kind::Number { .. } | Kind::Text { .. } => None,
        }
    }

    const fn without(mut self, gaps: &'static [i32]) -> Self {
        self.gaps = gaps;
        self
    }

    const fn required(mut self) -> Self {
        self.nullable = false;
        self
    }

    const fn deprecated(mut self) -> Self {
        self.deprecated = true;
        self
    }
}

const fn column(name: &'static str, kind: Kind, unit: &'static str, meaning: &'static str) -> Column {
    Column { name, kind, unit, meaning, nullable: true, deprecated: false, gaps: &[] }
}

const fn number(decimals: u8, min: i32, max: i32) -> Kind {
    Kind::Number { decimals, min, max }
}

const QUALITY: Kind = number(0, 0, 4);

/// Columns of `activity`.
pub(super) const ACTIVITY: &[Column] = &[
    column("bpm", number(0, 0, 255), "/min", "heart rate; 0 means no value"),
    column("bpm_q", QUALITY, "", "quality of bpm, 0 worst to 4 best"),
    column("last_steps", number(0, 0, 100_000), "steps", "steps in the period of the row"),
    column("activity_type", number(0, 0, 7), "", "0 unspecified, 1 other, 2 walk, 4 run, 6 cycle, 7 rest")
        .without(&[3, 5]),
    column("speed", number(0, 0, 1000), "0.1 m/s", "speed of movement"),
    column("skin_proximity", number(0, 0, 1_000_000), "", "raw value of the proximity sensor"),
    column("energy_exp", number(0, 0, 100_000_000), "cal", "energy expended in the period of the row"),
    column("respiration_rate", number(1, 0, 255), "/min", "breaths per minute; 0 means no value"),
    column("resp_q", QUALITY, "", "quality of respiration_rate, 0 worst to 4 best"),
    column("spo2", number(1, 0, 100), "%", "oxygen saturation; 0 means no value"),
    column("spo2_q", QUALITY, "", "quality of spo2, 0 worst to 4 best"),
    column("wearing", QUALITY, "", "0 not worn to 4 on the wrist; 1 and more counts as worn"),
    column("charging", number(0, 0, 1), "", "1 while the bracelet charges"),
    column("battery", number(0, 0, 100), "%", "charge of the battery"),
    column("core_temp", number(2, 0, 60), "°C", "core body temperature"),
    column("gait_asymmetry", number(3, 0, 1000), "%", "difference between left and right steps"),
    column("gait_speed", number(3, 0, 50), "m/s", "walking speed as the bracelet computes it"),
    column("gait_var", number(3, 0, 1000), "%", "variability of the stride time"),
    column("cardiac_arrest", number(0, 0, 255), "", "0 unless the bracelet suspects that the pulse has stopped"),
    column("nibp_systolic", number(0, 0, 400), "mmHg", "systolic blood pressure; 0 means no value"),
    column("nibp_diastolic", number(0, 0, 400), "mmHg", "diastolic blood pressure; 0 means no value"),
    column("nibp_systolic_long_term", number(0, 0, 400), "mmHg", "systolic blood pressure, long-term estimate"),
    column("nibp_diastolic_long_term", number(0, 0, 400), "mmHg", "diastolic blood pressure, long-term estimate"),
    column("nibp_systolic_combine", number(0, 0, 400), "mmHg", "systolic blood pressure, combined estimate"),
    column("nibp_diastolic_combine", number(0, 0, 400), "mmHg", "diastolic blood pressure, combined estimate"),
    column("hta", Kind::Text { max_chars: 32 }, "", "hypertension assessment as the bracelet sends it"),
    column("hta_q", QUALITY, "", "quality of hta, 0 worst to 4 best"),
    column("pha", number(0, 0, 1_000_000), "", "physical activity index").deprecated(),
    column("pha_q", QUALITY, "", "quality of pha").deprecated(),
    column("move_alert", number(0, 0, 255), "", "reminder to move").deprecated(),
    column("cw", number(0, 0, 1_000_000), "", "continuous wear counter").deprecated(),
    column("cwt", number(0, 0, 1_000_000), "", "continuous wear time").deprecated(),
    column("step_calories", number(0, 0, 100_000_000), "cal", "energy of steps").deprecated(),
    column("rest_calories", number(0, 0, 100_000_000), "cal", "energy at rest").deprecated(),
    column("distance", number(0, 0, 10_000_000), "m", "distance in the period of the row").deprecated(),
    column("step_duration", number(0, 0, 1_000_000), "s", "time spent walking").deprecated(),
];

/// Columns of `rr-interval`.
pub(super) const RR_INTERVAL: &[Column] = &[
    column("rr", number(3, 0, 60_000), "ms", "interval between two beats"),
    column("quality", QUALITY, "", "quality of the beat, 0 worst to 4 best"),
];

/// Columns of `sleep`.
pub(super) const SLEEP: &[Column] = &[
    column("sleep_state", number(0, 0, 3), "", "0 awake, 1 light, 2 deep, 3 REM"),
    column("quality", QUALITY, "", "quality of the stage, 0 worst to 4 best"),
];

/// Columns of `temperature`.
pub(super) const TEMPERATURE: &[Column] = &[
    column("temp_sk1", number(2, -40, 100), "°C", "skin temperature, sensor 1"),
    column("temp_sk2", number(2, -40, 100), "°C", "skin temperature, sensor 2"),
    column("temp_amb", number(2, -40, 100), "°C", "ambient temperature"),
];

/// Columns of `heart-rate-variability`.
pub(super) const HEART_RATE_VARIABILITY: &[Column] = &[
    column("si", number(3, 0, 1_000_000), "", "stress index"),
    column("si_n", number(3, 0, 100_000), "", "stress index, normalised"),
    column("mrr", number(3, 0, 60_000), "ms", "mean interval"),
    column("sdnn", number(3, 0, 60_000), "ms", "standard deviation of the intervals"),
    column("rmssd", number(3, 0, 60_000), "ms", "root mean square of successive differences"),
    column("pnn50", number(3, 0, 100), "%", "successive differences above 50 ms"),
    column("vlf", number(3, 0, 2_000_000), "ms²", "power 0.003 to 0.04 Hz"),
    column("vlf_percent", number(3, 0, 100), "%", "share of vlf"),
    column("lf", number(3, 0, 2_000_000), "ms²", "power 0.04 to 0.15 Hz"),
    column("lf_percent", number(3, 0, 100), "%", "share of lf"),
    column("hf", number(3, 0, 2_000_000), "ms²", "power 0.15 to 0.4 Hz"),
    column("hf_percent", number(3, 0, 100), "%", "share of hf"),
    column("hrv", number(3, 0, 60_000), "ms", "heart-rate variability as the bracelet summarises it"),
    column("mo", number(3, 0, 60), "s", "mode of the intervals"),
    column("amo", number(3, 0, 100), "%", "amplitude of the mode"),
];

/// Columns of `ppg1`.
pub(super) const PPG1: &[Column] = &[
    column("ppg", number(0, -2_000_000_000, 2_000_000_000), "counts", "photoplethysmogram"),
    column("acc", number(0, -32_768, 32_767), "1/64 g", "magnitude of the acceleration"),
    column("accx", number(0, -32_768, 32_767), "1/64 g", "acceleration, x"),
    column("accy", number(0, -32_768, 32_767), "1/64 g", "acceleration, y"),
    column("accz", number(0, -32_768, 32_767), "1/64 g", "acceleration, z"),
    column("bpm", number(0, 0, 255), "/min", "heart rate; 0 means no value"),
    column("bpm_q", QUALITY, "", "quality of bpm, 0 worst to 4 best"),
];

/// Columns of `ppg2`.
pub(super) const PPG2: &[Column] = &[
    column("metric_id", Kind::Hex, "", "0x7e green, 0x7c red, 0x7b infra-red, 0x7f ambient"),
    column("chunk_index", number(0, 0, 2_000_000_000), "", "number of the packet that carried the sample"),
    column("quality", number(0, 0, 255), "", "quality of the signal"),
    column("body_pose", number(0, 0, 255), "", "pose of the body"),
    column("led_pd_pos", number(0, 0, 255), "", "position of light source and sensor"),
    column("offset", number(0, -2_000_000_000, 2_000_000_000), "counts", "offset of the converter"),
    column("exp", number(0, -2_000_000_000, 2_000_000_000), "", "exposure"),
    column("led", number(0, 0, 2_000_000_000), "", "current of the light source"),
    column("gain", number(0, 0, 2_000_000_000), "", "gain of the amplifier"),
    column("value", number(0, 0, 65_535), "counts", "photoplethysmogram"),
];

/// Columns of `acc`.
pub(super) const ACC: &[Column] = &[
    column("metric_id", Kind::Hex, "", "source of the signal"),
    column("chunk_index", number(0, 0, 2_000_000_000), "", "number of the packet that carried the sample"),
    column("quality", number(0, 0, 255), "", "quality of the signal"),
    column("body_pose", number(0, 0, 255), "", "pose of the body"),
    column("accX", number(0, -4096, 4096), "1/512 g", "acceleration, x"),
    column("accY", number(0, -4096, 4096), "1/512 g", "acceleration, y"),
    column("accZ", number(0, -4096, 4096), "1/512 g", "acceleration, z"),
];

/// Columns of `bioz`.
pub(super) const BIOZ: &[Column] = &[
    column("metric_id", Kind::Hex, "", "source of the signal"),
    column("chunk_index", number(0, 0, 2_000_000_000), "", "number of the packet that carried the sample"),
    column("value", number(0, -2_000_000_000, 2_000_000_000), "counts", "bioimpedance"),
];

/// Columns of `ecg`.
pub(super) const ECG: &[Column] = &[
    column("metric_id", Kind::Hex, "", "source of the signal"),
    column("chunk_index", number(0, 0, 2_000_000_000), "", "number of the packet that carried the sample"),
    column("value", number(0, -2_000_000_000, 2_000_000_000), "counts", "electrocardiogram, raw"),
    column("ecg", number(3, -1000, 1000), "mV", "electrocardiogram"),
];

/// Columns of `tests`.
pub(super) const TESTS: &[Column] = &[
    column("test_type", Kind::TestType, "", "what was measured").required(),
    column("value", number(3, -1_000_000, 1_000_000), "as unit", "the measured value").required(),
    column("unit", Kind::Text { max_chars: 32 }, "", "unit of the value"),
    column("quality", QUALITY, "", "quality of the measurement, 0 worst to 4 best"),
    column("note", Kind::Text { max_chars: 1000 }, "", "remark of whoever measured"),
];
