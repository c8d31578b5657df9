//! Between which numbers figures of a day lie. Every bound is one that no rows can pass, however odd they are: clients refuse
//! an answer that does not fit its schema.

#[cfg(test)]
mod tests;

use crate::cells::WINDOW_MS;
use crate::registry::{DataType, Kind};
use crate::zone::WINDOW_US;

/// Lowest and highest value.
pub(super) type Bounds = (f64, f64);

/// Clocks by which rows of one local day can be counted: offsets from UTC−12 to UTC+14 in quarters of an hour.
const CLOCKS: f64 = 26.0 * 4.0 + 1.0;
/// Aggregates of one local day: the windows of 24 hours by each clock, since a window that rows of two clocks share has one
/// for each.
const AGGREGATES: f64 = CLOCKS * 288.0;
/// Windows that one local day reaches over, by whichever clock: 24 hours from UTC+14 and 26 more to UTC−12.
const WINDOWS: f64 = 50.0 * 12.0;
/// Rows of one type in a window, at most: one every microsecond.
const ROWS: f64 = WINDOW_US as f64;

/// Times of samples, Unix epoch ms: from half an hour before 2000, in which a slot of the first sample begins, to the year 9999.
pub(super) const TIME_MS: Bounds = (946_684_800_000.0 - 1_800_000.0, 253_402_300_799_999.0);
/// Seconds of a local day that aggregates account for.
pub(super) const SECONDS: Bounds = (0.0, AGGREGATES * (WINDOW_MS / 1000) as f64);
/// Minutes of a local day that aggregates account for.
pub(super) const MINUTES: Bounds = (0.0, SECONDS.1 / 60.0);
/// Seconds of a night, which lies on two local days in a row.
pub(super) const NIGHT_SECONDS: Bounds = (0.0, 74.0 * 3600.0);
/// Pieces of raw waveform of a local day: ten in each aggregate.
pub(super) const PIECES: Bounds = (0.0, AGGREGATES * 10.0);

/// Steps of a slot of thirty minutes.
pub(super) const STEPS_OF_A_SLOT: Bounds = (0.0, column(DataType::Activity, "last_steps").1 * ROWS * 6.0);
/// Steps of a local day.
pub(super) const STEPS: Bounds = (0.0, column(DataType::Activity, "last_steps").1 * ROWS * WINDOWS);

/// Distance of a local day, m: in each aggregate five minutes at the highest speed, and as many steps as are counted at all, each
/// 0.415 of the tallest height that a distance is computed for.
pub(super) const METRES: Bounds = {
    let by_speed = column(DataType::Activity, "speed").1 / 10.0 * (WINDOW_MS / 1000) as f64;
    (0.0, AGGREGATES * (by_speed + u32::MAX as f64 * 2.8 * 0.415))
};
/// Energy of a local day, kcal: what rows report, and twice as much for what the heart rate says of the others.
pub(super) const KILOCALORIES: Bounds =
    (0.0, 2.0 * column(DataType::Activity, "energy_exp").1 / 1000.0 * ROWS * WINDOWS);

/// Heart rate by raw waveform, /min. R peaks lie at least 0.2 s apart, rounded to samples: ten of them at 52.5 Hz.
pub(super) const WAVEFORM_RATE: Bounds = (0.0, 315.0);
/// Respiration rate by raw waveform, /min: the band that it is looked for in ends at 0.7 Hz.
pub(super) const WAVEFORM_BREATHS: Bounds = (0.0, 42.0);

/// Stress index, %/s². That of intervals is the larger one: all of them in the bin around 0.325 s, a microsecond apart, are 1.54e8.
pub(super) const STRESS_INDEX: Bounds = (0.0, 1.55e8);
/// Power in a band, ms². The column ends at 2e6; a spline between intervals five seconds apart swings up to 3.6e5 ms from them,
/// and twice as far from their trend.
pub(super) const POWER: Bounds = (0.0, 1e12);

/// Difference of two temperatures of the skin, °C.
pub(super) const TEMPERATURE_CHANGE: Bounds = {
    let (lowest, highest) = column(DataType::Temperature, "temp_sk1");
    (lowest - highest, highest - lowest)
};
/// Change of a resting heart rate, whose mean has two decimals and is not 0, in percent.
pub(super) const RATE_CHANGE: Bounds = change(column(DataType::Activity, "bpm").1, 0.01);
/// Change of an RMSSD, which has three decimals and is not 0, in percent.
pub(super) const RMSSD_CHANGE: Bounds = change(column(DataType::HeartRateVariability, "rmssd").1, 0.001);
/// The same as a factor.
pub(super) const RMSSD_FACTOR: Bounds = (0.0, 1.0 + RMSSD_CHANGE.1 / 100.0);

/// Returns the bounds of a change between values of this range, in percent.
const fn change(highest: f64, lowest: f64) -> Bounds {
    // 100 more than there can be, which no rounding passes.
    (-100.0, 100.0 * highest / lowest)
}

/// Returns the range of a column, which means of its values cannot leave. The program does not compile where there is no such
/// column of numbers.
pub(super) const fn column(data_type: DataType, name: &str) -> Bounds {
    let columns = data_type.columns();
    let Kind::Number { min, max, .. } = columns[data_type.position(name)].kind else { panic!("no column of numbers") };
    (min as f64, max as f64)
}
