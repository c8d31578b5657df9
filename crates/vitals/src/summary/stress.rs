//! The sections `stress` and `stress_continuous`: averages of heart-rate variability over a day.

use super::bounds::{POWER, STRESS_INDEX, column};
use super::described::described;
use super::rounding::thousandths;
use super::source::DaySource;
use super::units::{Milliseconds, Percent, SquareMilliseconds};
use crate::cells::{Day, MEASURES, Measures, Sum};
use crate::registry::DataType;
use crate::zone::LocalDay;

/// Place of the RMSSD among the measures.
const RMSSD: usize = 4;

described! {
    /// Heart-rate variability of a day. Averages have three decimals, as the columns of `heart-rate-variability`; each is
    /// null where no row or window has the measure.
    pub struct StressSection {
        /// Local day.
        pub date: LocalDay = "2025-11-20",
        /// Stress index.
        pub avg_si: Option<f64> = 92.416 "%/s²" within STRESS_INDEX,
        /// Normalised stress index.
        pub avg_si_n: Option<f64> = 9.613 "%^½/s" within column(DataType::HeartRateVariability, "si_n"),
        /// Mean interval.
        pub avg_mrr: Option<Milliseconds> = 882.104 within column(DataType::HeartRateVariability, "mrr"),
        /// Standard deviation of the intervals.
        pub avg_sdnn: Option<Milliseconds> = 61.25 within column(DataType::HeartRateVariability, "sdnn"),
        /// Root mean square of successive differences.
        pub avg_rmssd: Option<Milliseconds> = 42.318 within column(DataType::HeartRateVariability, "rmssd"),
        /// Share of successive differences above 50 ms.
        pub avg_pnn50: Option<Percent> = 18.4 within column(DataType::HeartRateVariability, "pnn50"),
        /// Power from 0.003 to 0.04 Hz.
        pub avg_vlf: Option<SquareMilliseconds> = 812.5 within POWER,
        /// Its share of the three bands.
        pub avg_vlf_percent: Option<Percent> = 34.1 within column(DataType::HeartRateVariability, "vlf_percent"),
        /// Power from 0.04 to 0.15 Hz.
        pub avg_lf: Option<SquareMilliseconds> = 940.25 within POWER,
        /// Its share of the three bands.
        pub avg_lf_percent: Option<Percent> = 39.5 within column(DataType::HeartRateVariability, "lf_percent"),
        /// Power from 0.15 to 0.4 Hz.
        pub avg_hf: Option<SquareMilliseconds> = 628.75 within POWER,
        /// Its share of the three bands.
        pub avg_hf_percent: Option<Percent> = 26.4 within column(DataType::HeartRateVariability, "hf_percent"),
        /// As the bracelet summarises it; of intervals the RMSSD (**ours**).
        pub avg_hrv: Option<Milliseconds> = 42.318 within column(DataType::HeartRateVariability, "hrv"),
        /// Mode of the intervals.
        pub avg_mo: Option<f64> = 0.875 "s" within column(DataType::HeartRateVariability, "mo"),
        /// Share of the intervals in the modal bin.
        pub avg_amo: Option<Percent> = 38.2 within column(DataType::HeartRateVariability, "amo"),
    }
}

/// Mean RMSSD of a day, ms, as its section shows it: by beat intervals, else as the bracelet computed it.
pub(super) fn rmssd_ms(day: &Day) -> Option<f64> {
    let beats = day.beats.cells().iter().map(|cell| cell.measures.0[RMSSD]);
    let rows = day.variability.cells().iter().map(|cell| cell.measures.0[RMSSD]);
    // Beats first, because their figure is computed here and is the same for every firmware.
    daily_mean(beats).or_else(|| daily_mean(rows))
}

/// Mean over the day at once, three decimals, and not a mean of means: windows count alike, whatever hour they lie in.
fn daily_mean(sums: impl Iterator<Item = Sum>) -> Option<f64> {
    let mut total = Sum::default();
    for sum in sums {
        total.absorb(sum);
    }
    mean_of(total)
}

fn mean_of(total: Sum) -> Option<f64> {
    total.mean().map(|mean| thousandths(mean / 1000.0))
}

impl StressSection {
    /// `stress`: means of the rows that the bracelet uploaded; `None` without any row.
    pub fn of_device(source: &DaySource<'_>) -> Option<Self> {
        let cells = source.cells.variability.cells();
        let sums = cells.iter().map(|cell| &cell.measures);
        (!cells.is_empty()).then(|| Self::of(source.day, sums))
    }

    /// `stress_continuous`: means of the valid five-minute windows of beat intervals; `None` without any interval.
    pub fn of_beats(source: &DaySource<'_>) -> Option<Self> {
        let cells = source.cells.beats.cells();
        let sums = cells.iter().map(|cell| &cell.measures);
        (!cells.is_empty()).then(|| Self::of(source.day, sums))
    }

    fn of<'cells>(day: LocalDay, cells: impl Iterator<Item = &'cells Measures>) -> Self {
        let mut total = Measures::default();
        for cell in cells {
            total.absorb(cell);
        }
        let means: [Option<f64>; MEASURES] = total.0.map(mean_of);
        let [si, si_n, mrr, sdnn, rmssd, pnn50, vlf, vlf_percent, lf, lf_percent, hf, hf_percent, hrv, mo, amo] = means;
        StressSection {
            date: day,
            avg_si: si,
            avg_si_n: si_n,
            avg_mrr: mrr.map(Milliseconds),
            avg_sdnn: sdnn.map(Milliseconds),
            avg_rmssd: rmssd.map(Milliseconds),
            avg_pnn50: pnn50.map(Percent),
            avg_vlf: vlf.map(SquareMilliseconds),
            avg_vlf_percent: vlf_percent.map(Percent),
            avg_lf: lf.map(SquareMilliseconds),
            avg_lf_percent: lf_percent.map(Percent),
            avg_hf: hf.map(SquareMilliseconds),
            avg_hf_percent: hf_percent.map(Percent),
            avg_hrv: hrv.map(Milliseconds),
            avg_mo: mo,
            avg_amo: amo.map(Percent),
        }
    }
}
