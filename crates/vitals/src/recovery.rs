//! Recovery of the morning (**ours**): how today's HRV, resting rate, sleep and skin temperature
//! compare with the person's own past. No outside truth exists for it.

use crate::activity::Sex;
use crate::signal::{finite, mean, standard_deviation};
use crate::summary::recovery::RecoverySection;
use crate::summary::units::{BeatsPerMinute, Celsius, CelsiusDifference, Milliseconds, Percent};
use crate::zone::LocalDay;

/// Days of the long baseline, today excluded.
pub const LONG_BASELINE_DAYS: usize = 60;
/// Days of the short baseline, today excluded.
pub const SHORT_BASELINE_DAYS: usize = 7;
/// Valid days that scores against the long baseline need.
const LEAST_LONG_DAYS: usize = 7;
/// Valid days that means over the short baseline need.
const LEAST_SHORT_DAYS: usize = 3;
/// Least standard deviation of a baseline, as a share of its mean: a week of equal values must
/// not make the smallest change infinite.
const LEAST_SPREAD: f64 = 0.01;

/// What recovery needs to know of one day.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Day {
    /// Average RMSSD in ms.
    pub rmssd_ms: Option<f64>,
    /// Resting heart rate per minute.
    pub resting_bpm: Option<f64>,
    /// Mean `temp_sk1` during sleep in °C; of the whole worn day when there was no sleep.
    pub skin_temperature: Option<f64>,
}

/// Recovery of a day, not rounded. `past[0]` is yesterday, `past[1]` the day before, and so on; days without
/// data are present as empty entries, days beyond 60 are ignored. None when today's RMSSD or resting rate
/// is missing, or when no day of the past has them.
pub fn recovery(
    date: LocalDay,
    today: &Day,
    past: &[Day],
    sleep_score: Option<f64>,
    age_gender_factor: f64,
) -> Option<RecoverySection> {
    let long = &past[..past.len().min(LONG_BASELINE_DAYS)];
    let short = &past[..past.len().min(SHORT_BASELINE_DAYS)];
    let rmssd_ms = valid(today.rmssd_ms)?;
    let resting_bpm = valid(today.resting_bpm)?;
    let past_rmssd = Baseline::of(long, |day| day.rmssd_ms)?;
    let past_resting = Baseline::of(long, |day| day.resting_bpm)?;

    let temperature = valid(today.skin_temperature);
    let past_temperature = short_mean(short, |day| day.skin_temperature);
    let deviation = temperature.zip(past_temperature).map(|(now, before)| now - before);
    let temperature_factor = deviation.map(temperature_deviation_factor);

    let hrv_score = past_rmssd.score(rmssd_ms, 1.0);
    let rhr_score = past_resting.score(resting_bpm, -1.0);
    let sleep_score = sleep_score.and_then(finite).map(|score| score.clamp(0.0, 100.0));
    // Weights are of the parts that are known, so that a missing night does not count as a bad one.
    let score = weighted(&[(0.4, hrv_score), (0.3, rhr_score), (0.3, sleep_score)]);
    // A temperature that is not known must not lower the score: who wears the bracelet without that sensor would
    // always be ill.
    let factors = temperature_factor.unwrap_or(1.0) * finite(age_gender_factor)?;
    let hrv_delta = past_rmssd.delta_percent(rmssd_ms);
    Some(RecoverySection {
        date,
        value: (score * factors).round().clamp(0.0, 100.0) as u8,
        avg_rmssd_past_60_days: Milliseconds(past_rmssd.mean),
        avg_rmssd_today: Milliseconds(rmssd_ms),
        resting_bpm_today: BeatsPerMinute(resting_bpm),
        resting_bpm_past_60_days: BeatsPerMinute(past_resting.mean),
        age_gender_factor,
        resting_bpm_delta: past_resting.delta_percent(resting_bpm).map(Percent),
        recovery_rhr_score: rhr_score,
        avg_hrv_delta: hrv_delta.map(Percent),
        avg_hrv_delta_factor: hrv_delta.map(|percent| 1.0 + percent / 100.0),
        recovery_hrv_score: hrv_score,
        temperature_deviation: deviation.map(CelsiusDifference),
        temperature_deviation_factor: temperature_factor,
        avg_temperature_today: temperature.map(Celsius),
        avg_temperature_past_7_days: past_temperature.map(Celsius),
        avg_rmssd_past_7_days: short_mean(short, |day| day.rmssd_ms).map(Milliseconds),
        sleep_score,
    })
}

/// 1.0 without age or sex; else 1 up to 40 years (women 45), falling by 0.1 % per year to 0.95.
/// Recovery compares a person with their own past, so age and sex weigh little.
pub fn age_gender_factor(age_years: Option<f64>, sex: Option<Sex>) -> f64 {
    let (Some(age_years), Some(sex)) = (age_years.and_then(finite), sex) else {
        return 1.0;
    };
    // RMSSD falls with age by itself; the baseline is the same person and already old, so the factor may take at most
    // a twentieth.
    let from_years = if sex == Sex::Female { 45.0 } else { 40.0 };
    (1.0 - 0.001 * (age_years - from_years)).clamp(0.95, 1.0)
}

/// 1 within ±0.5 °C, falling in a straight line to 0.7 at ±1.5 °C and beyond.
pub fn temperature_deviation_factor(deviation: f64) -> f64 {
    (1.0 - 0.3 * (deviation.abs() - 0.5)).clamp(0.7, 1.0)
}

/// Returns a value that is finite and above 0.
fn valid(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite() && *value > 0.0)
}

/// Returns the valid values of some days.
fn valid_values(days: &[Day], read: impl Fn(&Day) -> Option<f64>) -> Vec<f64> {
    days.iter().filter_map(|day| valid(read(day))).collect()
}

/// Mean over the short baseline; None below three valid days.
fn short_mean(days: &[Day], read: impl Fn(&Day) -> Option<f64>) -> Option<f64> {
    let values = valid_values(days, read);
    if values.len() < LEAST_SHORT_DAYS { None } else { mean(&values) }
}

/// Mean of the parts that exist, by their weights; 70, the score of an ordinary day, without any.
fn weighted(parts: &[(f64, Option<f64>)]) -> f64 {
    let known = parts.iter().filter_map(|(weight, score)| Some((*weight, (*score)?)));
    let (weights, sum) =
        known.fold((0.0, 0.0), |(weights, sum), (weight, score)| (weights + weight, sum + weight * score));
    if weights > 0.0 { sum / weights } else { 70.0 }
}

/// Mean and spread of the long baseline.
struct Baseline {
    mean: f64,
    /// None below seven valid days.
    spread: Option<f64>,
}

impl Baseline {
    /// None without a single valid day.
    fn of(days: &[Day], read: impl Fn(&Day) -> Option<f64>) -> Option<Self> {
        let values = valid_values(days, read);
        let mean = mean(&values)?;
        // The spread of a few days says nothing: a score on it would swing from 40 to 100 in the first week.
        let enough = values.len() >= LEAST_LONG_DAYS;
        let spread = if enough { standard_deviation(&values) } else { None };
        Some(Self { mean, spread: spread.map(|spread| spread.max(LEAST_SPREAD * mean)) })
    }

    /// Returns how far a value lies from the mean, percent; None below seven valid days.
    fn delta_percent(&self, value: f64) -> Option<f64> {
        self.spread.map(|_| 100.0 * (value - self.mean) / self.mean)
    }

    /// 70 + 30·tanh(z), z the distance in standard deviations with the sign that good is up.
    fn score(&self, value: f64, good_is_up: f64) -> Option<f64> {
        // tanh flattens both ends: one wild night of artefacts costs no more than a bad one, and no score leaves 40
        // to 100.
        let z = good_is_up * (value - self.mean) / self.spread?;
        Some((70.0 + 30.0 * z.tanh()).clamp(0.0, 100.0))
    }
}
