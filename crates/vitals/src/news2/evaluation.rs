//! One NEWS2 evaluation at a time T from the newest measurement of each parameter (**ours**).
//!
//! The bracelet measures its parameters at different times. A sub-score enters only while its
//! measurement is good and young enough at T; the total exists only when all five do. What is
//! left out is named together with its age, so that a reader sees why there is no total.

use super::bands::{
    risk, score_consciousness, score_oxygen, score_pulse, score_respiration, score_spo2, score_systolic,
    score_temperature,
};
use super::terms::{Risk, Settings};

/// One of the five measured parameters, in the order of the RCP chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Parameter {
    /// Respiration rate, breaths per minute.
    RespirationRate,
    /// Oxygen saturation, percent.
    Spo2,
    /// Systolic blood pressure, mmHg.
    BloodPressure,
    /// Pulse, beats per minute.
    HeartRate,
    /// Body temperature, °C.
    Temperature,
}

impl Parameter {
    /// All five.
    pub const ALL: [Self; 5] =
        [Self::RespirationRate, Self::Spo2, Self::BloodPressure, Self::HeartRate, Self::Temperature];

    /// Returns the parameter's name in the interface specification.
    pub fn name(self) -> &'static str {
        match self {
            Self::RespirationRate => "respiration_rate",
            Self::Spo2 => "spo2",
            Self::BloodPressure => "blood_pressure",
            Self::HeartRate => "heart_rate",
            Self::Temperature => "temperature",
        }
    }
}

/// The newest measurement of one parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// Value in the parameter's unit.
    pub value: f64,
    /// Time at which it was taken, Unix epoch milliseconds.
    pub time_ms: i64,
    /// Whether its quality is 2 or better (or not stated).
    pub good: bool,
}

/// The newest measurement of each parameter, where there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measurements {
    /// Breaths per minute.
    pub respiration_rate: Option<Measurement>,
    /// Percent.
    pub spo2: Option<Measurement>,
    /// Systolic, mmHg.
    pub blood_pressure: Option<Measurement>,
    /// Beats per minute.
    pub heart_rate: Option<Measurement>,
    /// Body temperature in °C; never a skin temperature.
    pub temperature: Option<Measurement>,
}

impl Measurements {
    /// Returns the measurement of one parameter.
    pub fn get(&self, parameter: Parameter) -> Option<Measurement> {
        match parameter {
            Parameter::RespirationRate => self.respiration_rate,
            Parameter::Spo2 => self.spo2,
            Parameter::BloodPressure => self.blood_pressure,
            Parameter::HeartRate => self.heart_rate,
            Parameter::Temperature => self.temperature,
        }
    }
}

/// How old a blood pressure may be at T, in milliseconds; exactly this is still fresh.
pub const PRESSURE_AGE_LIMIT_MS: i64 = 12 * 3_600_000;

/// How old the other measurements may be at T, in milliseconds; exactly this is still fresh.
pub const AGE_LIMIT_MS: i64 = 30 * 60_000;

impl Parameter {
    /// Returns how old a measurement of the parameter may be at T, ms.
    pub fn age_limit_ms(self) -> i64 {
        match self {
            Parameter::BloodPressure => PRESSURE_AGE_LIMIT_MS,
            _ => AGE_LIMIT_MS,
        }
    }
}

/// Whether a measurement entered the score, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Availability {
    /// Good and fresh: scored.
    Fresh,
    /// None taken up to T, or a value that cannot be one (such as a raw 0).
    Missing,
    /// Quality below 2.
    LowQuality,
    /// Good, but older at T than its limit.
    Stale,
}

impl Availability {
    /// `fresh`, `missing`, `low_quality` or `stale`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Missing => "missing",
            Self::LowQuality => "low_quality",
            Self::Stale => "stale",
        }
    }
}

/// One parameter's part in an evaluation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Whether it entered the score.
    pub availability: Availability,
    /// The underlying measurement in its unit, also when it was not scored; None when missing.
    pub value: Option<f64>,
    /// Age at T in whole seconds; None when missing.
    pub age_s: Option<i64>,
    /// Sub-score 0–3; None unless fresh.
    pub score: Option<u8>,
}

const NOTHING: Part = Part { availability: Availability::Missing, value: None, age_s: None, score: None };

/// NEWS2 at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluation {
    /// T, Unix epoch milliseconds.
    pub time_ms: i64,
    /// Respiration rate.
    pub respiration_rate: Part,
    /// Oxygen saturation.
    pub spo2: Part,
    /// Systolic blood pressure.
    pub blood_pressure: Part,
    /// Pulse.
    pub heart_rate: Part,
    /// Body temperature.
    pub temperature: Part,
    /// Sub-score of supplemental oxygen, from the settings.
    pub score_oxygen: u8,
    /// Sub-score of consciousness, from the settings.
    pub score_consciousness: u8,
    /// Sum of the seven sub-scores; None unless all five measurements are fresh.
    pub total: Option<u8>,
}

impl Evaluation {
    /// Returns the part of one parameter.
    pub fn part(&self, parameter: Parameter) -> Part {
        match parameter {
            Parameter::RespirationRate => self.respiration_rate,
            Parameter::Spo2 => self.spo2,
            Parameter::BloodPressure => self.blood_pressure,
            Parameter::HeartRate => self.heart_rate,
            Parameter::Temperature => self.temperature,
        }
    }

    /// Returns the parameters that keep the total from existing.
    pub fn missing(&self) -> impl Iterator<Item = Parameter> + '_ {
        Parameter::ALL.into_iter().filter(|&parameter| self.part(parameter).score.is_none())
    }

    /// Returns whether any single parameter, measured or set, scores 3.
    pub fn single_three(&self) -> bool {
        self.scores().into_iter().any(|score| score == Some(3))
    }

    /// Clinical risk; None without a total.
    pub fn risk(&self) -> Option<Risk> {
        self.total?;
        Some(risk(self.scores().map(Option::unwrap_or_default)))
    }

    /// Returns whether a new entry is due after `previous`: a sub-score, the total, or what is missing
    /// and why has changed.
    pub fn changed_since(&self, previous: &Self) -> bool {
        // A value that moves within its band changes nothing that somebody would act on; a reason that changes does.
        let reason = |evaluation: &Self| Parameter::ALL.map(|parameter| evaluation.part(parameter).availability);
        self.scores() != previous.scores() || self.total != previous.total || reason(self) != reason(previous)
    }

    /// Returns the seven sub-scores: the five measured, then oxygen and consciousness.
    fn scores(&self) -> [Option<u8>; 7] {
        [
            self.respiration_rate.score,
            self.spo2.score,
            self.blood_pressure.score,
            self.heart_rate.score,
            self.temperature.score,
            Some(self.score_oxygen),
            Some(self.score_consciousness),
        ]
    }
}

/// Evaluates NEWS2 at `time_ms` (T, Unix epoch milliseconds).
///
/// A measurement later than T counts as missing: it belongs to a later evaluation.
pub fn evaluate(time_ms: i64, measurements: &Measurements, settings: &Settings) -> Evaluation {
    let young = |measurement, score: &dyn Fn(f64) -> Option<u8>| weigh(time_ms, measurement, AGE_LIMIT_MS, score);
    let pressure = measurements.blood_pressure;
    let spo2 = |percent| score_spo2(percent, settings.spo2_bands());
    let mut evaluation = Evaluation {
        time_ms,
        respiration_rate: young(measurements.respiration_rate, &score_respiration),
        spo2: young(measurements.spo2, &spo2),
        blood_pressure: weigh(time_ms, pressure, PRESSURE_AGE_LIMIT_MS, &score_systolic),
        heart_rate: young(measurements.heart_rate, &score_pulse),
        temperature: young(measurements.temperature, &score_temperature),
        score_oxygen: score_oxygen(settings.oxygen),
        score_consciousness: score_consciousness(settings.consciousness),
        total: None,
    };
    // A sum of options is none as soon as one of them is: never a partial sum.
    evaluation.total = evaluation.scores().into_iter().sum();
    evaluation
}

/// One parameter's part at T.
fn weigh(time_ms: i64, measurement: Option<Measurement>, limit_ms: i64, score: &dyn Fn(f64) -> Option<u8>) -> Part {
    let Some(measurement) = measurement else {
        return NOTHING;
    };
    let age_ms = time_ms.saturating_sub(measurement.time_ms);
    // A value that no body can show, such as a raw 0 or degrees Fahrenheit, was never measured: saying that it is old
    // or poor would be wrong.
    let Some(score) = score(measurement.value) else {
        return NOTHING;
    };
    // Rows arrive in any order, and an evaluation must not change with what came to be known later.
    if age_ms < 0 {
        return NOTHING;
    }
    // Poor comes before stale: waiting for a newer value would not mend a sensor that sits badly.
    let availability = if !measurement.good {
        Availability::LowQuality
    } else if age_ms > limit_ms {
        Availability::Stale
    } else {
        Availability::Fresh
    };
    Part {
        availability,
        value: Some(measurement.value),
        age_s: Some(age_ms / 1000),
        score: (availability == Availability::Fresh).then_some(score),
    }
}
