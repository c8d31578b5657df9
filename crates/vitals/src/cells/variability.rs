//! What five minutes hold of heart-rate variability: as the bracelet computed it, and as it follows from intervals.
//!
//! Both kinds of cell keep the same fifteen measures at the scale of the columns of `heart-rate-variability`, a
//! thousandth of the unit. A window of intervals counts like one row that the bracelet had uploaded, so both daily
//! averages are made in the same way, and an outsider can make them from the numbers of the windows.

use super::cell::WindowCell;
use super::groups::{CellsByDay, groups};
use super::pack::{Packer, Unpacker};
use super::place::Place;
use super::sum::Sum;
use crate::beats::beats_of;
use crate::block::Block;
use crate::hrv::{FrequencyDomain, Window, window};
use crate::registry::DataType;
use crate::signal::spectrum::Welch;
use crate::stress_index::StressIndex;

/// Number of measures: one for each column of `heart-rate-variability`.
pub const MEASURES: usize = 15;
/// Thousandths in one.
const THOUSANDTHS: f64 = 1000.0;

/// Sums of the measures in thousandths, in the order of the columns: si, `si_n`, mrr, sdnn, rmssd, pnn50, vlf,
/// `vlf_percent`, lf, `lf_percent`, hf, `hf_percent`, hrv, mo, amo.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measures(pub [Sum; MEASURES]);

impl Measures {
    /// Returns the measures of a window of intervals, each rounded to a thousandth. The units are those of the columns.
    pub fn of_window(window: &Window) -> Self {
        let (time, frequency, stress) = (&window.time, window.frequency.as_ref(), window.stress.as_ref());
        let values = [
            stress.map(|stress| stress.si),
            stress.map(StressIndex::normalised),
            Some(time.mean_rr_ms),
            Some(time.sdnn_ms),
            Some(time.rmssd_ms),
            Some(time.pnn50_percent),
            frequency.map(|bands| bands.vlf_ms2),
            frequency.and_then(FrequencyDomain::vlf_percent),
            frequency.map(|bands| bands.lf_ms2),
            frequency.and_then(FrequencyDomain::lf_percent),
            frequency.map(|bands| bands.hf_ms2),
            frequency.and_then(FrequencyDomain::hf_percent),
            Some(time.rmssd_ms),
            stress.map(|stress| stress.mode_s),
            stress.map(|stress| stress.mode_share_percent),
        ];
        // Rounded per window and before summing: the averages can then be computed again from the numbers that an
        // export shows.
        let sum = |value: Option<f64>| match value.filter(|value| value.is_finite()) {
            Some(value) => Sum { sum: (value * THOUSANDTHS).round() as u64, count: 1 },
            None => Sum::default(),
        };
        Measures(values.map(sum))
    }

    /// Adds the values of other rows.
    pub fn absorb(&mut self, other: &Self) {
        for (mine, others) in self.0.iter_mut().zip(other.0) {
            mine.absorb(others);
        }
    }

    fn pack(&self, packer: &mut Packer) {
        // Bracelets need not send all fifteen measures: a bit each instead of a zero each.
        let used = self.0.iter().enumerate().map(|(bit, sum)| u64::from(sum.count > 0) << bit).sum();
        packer.unsigned(used);
        for sum in self.0.iter().filter(|sum| sum.count > 0) {
            sum.pack(packer);
        }
    }

    fn unpack(unpacker: &mut Unpacker<'_>) -> Option<Self> {
        let used = unpacker.unsigned()?;
        let mut measures = Measures::default();
        for (bit, sum) in measures.0.iter_mut().enumerate() {
            if used & (1 << bit) != 0 {
                *sum = Sum::unpack(unpacker)?;
            }
        }
        Some(measures)
    }
}

/// One window of heart-rate variability as the bracelet uploaded it.
#[derive(Clone, Debug, PartialEq)]
pub struct VariabilityCell {
    /// Where it lies.
    pub place: Place,
    /// Number of rows.
    pub rows: u32,
    /// Sums over the rows.
    pub measures: Measures,
}

impl WindowCell for VariabilityCell {
    const DATA_TYPE: DataType = DataType::HeartRateVariability;
    const FORMAT: u8 = 1;

    fn place(&self) -> Place {
        self.place
    }

    fn at(place: Place) -> Self {
        VariabilityCell { place, rows: 0, measures: Measures::default() }
    }

    fn absorb(&mut self, other: &Self) {
        self.rows += other.rows;
        self.measures.absorb(&other.measures);
    }

    fn pack(&self, packer: &mut Packer) {
        packer.unsigned(u64::from(self.rows));
        self.measures.pack(packer);
    }

    fn unpack(place: Place, unpacker: &mut Unpacker<'_>) -> Option<Self> {
        Some(VariabilityCell { place, rows: unpacker.number()?, measures: Measures::unpack(unpacker)? })
    }
}

/// One window of beat intervals.
#[derive(Clone, Debug, PartialEq)]
pub struct BeatCell {
    /// Where it lies.
    pub place: Place,
    /// Number of rows.
    pub rows: u32,
    /// Number of valid windows: 1 or 0 in a cell.
    pub valid_windows: u32,
    /// The measures of the valid window.
    pub measures: Measures,
}

impl WindowCell for BeatCell {
    const DATA_TYPE: DataType = DataType::RrInterval;
    const FORMAT: u8 = 1;

    fn place(&self) -> Place {
        self.place
    }

    fn at(place: Place) -> Self {
        BeatCell { place, rows: 0, valid_windows: 0, measures: Measures::default() }
    }

    fn absorb(&mut self, other: &Self) {
        self.rows += other.rows;
        self.valid_windows += other.valid_windows;
        self.measures.absorb(&other.measures);
    }

    fn pack(&self, packer: &mut Packer) {
        packer.unsigned(u64::from(self.rows));
        packer.unsigned(u64::from(self.valid_windows));
        if self.valid_windows > 0 {
            self.measures.pack(packer);
        }
    }

    fn unpack(place: Place, unpacker: &mut Unpacker<'_>) -> Option<Self> {
        let (rows, valid_windows) = (unpacker.number()?, unpacker.number()?);
        let measures = if valid_windows > 0 { Measures::unpack(unpacker)? } else { Measures::default() };
        Some(BeatCell { place, rows, valid_windows, measures })
    }
}

/// Returns the cells of a block of `heart-rate-variability` rows.
pub fn variability_cells(block: &Block) -> CellsByDay<VariabilityCell> {
    let mut days = CellsByDay::new();
    for group in groups(block) {
        let mut cell = VariabilityCell::at(group.place);
        for row in group.rows() {
            cell.rows += 1;
            for (sum, column) in cell.measures.0.iter_mut().zip(&block.columns) {
                let value = column.get(row);
                // No value lies below zero, and so does no measure.
                if value >= 0 {
                    sum.add(value);
                }
            }
        }
        days.entry(group.day).or_default().push(cell);
    }
    days
}

/// Returns the cells of a block of `rr-interval` rows.
pub fn beat_cells(block: &Block) -> CellsByDay<BeatCell> {
    // One for all windows: it keeps its plan.
    let mut welch = Welch::default();
    let mut days = CellsByDay::new();
    for group in groups(block) {
        let mut cell = BeatCell::at(group.place);
        cell.rows = group.row_count() as u32;
        let beats: Vec<_> = group.rows.iter().flat_map(|rows| beats_of(block, rows.clone())).collect();
        if let Some(window) = window(&mut welch, &beats) {
            cell.valid_windows = 1;
            cell.measures = Measures::of_window(&window);
        }
        days.entry(group.day).or_default().push(cell);
    }
    days
}
