//! The sections `stress` and `stress_continuous`: averages of heart-rate variability over a day.

use serde::Serialize;

use super::DaySource;
use super::rounding::thousandths;
use crate::cells::{MEASURES, Measures};
use crate::hrv::DayAverages;
use crate::zone::LocalDay;

/// Heart-rate variability of a day. Averages have three decimals, as the columns of `heart-rate-variability`; each is
/// null where no row or window has the measure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StressSection {
    /// `YYYY-MM-DD`.
    pub date: String,
    /// The averages.
    #[serde(flatten)]
    pub averages: DayAverages,
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
        let means: [Option<f64>; MEASURES] = total.0.map(|sum| sum.mean().map(|mean| thousandths(mean / 1000.0)));
        let [si, si_n, mrr, sdnn, rmssd, pnn50, vlf, vlf_percent, lf, lf_percent, hf, hf_percent, hrv, mo, amo] = means;
        let averages = DayAverages {
            avg_si: si,
            avg_si_n: si_n,
            avg_mrr: mrr,
            avg_sdnn: sdnn,
            avg_rmssd: rmssd,
            avg_pnn50: pnn50,
            avg_vlf: vlf,
            avg_vlf_percent: vlf_percent,
            avg_lf: lf,
            avg_lf_percent: lf_percent,
            avg_hf: hf,
            avg_hf_percent: hf_percent,
            avg_hrv: hrv,
            avg_mo: mo,
            avg_amo: amo,
        };
        StressSection { date: day.to_string(), averages }
    }
}
