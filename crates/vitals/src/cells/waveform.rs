//! What five minutes of raw ECG or PPG show: rates found in pieces of thirty seconds.
//!
//! They are a check on the values that the bracelet uploads, and are shown next to those. They never replace one, and
//! never feed NEWS.

use std::collections::BTreeSet;

use super::cell::WindowCell;
use super::groups::{CellsByDay, groups};
use super::pack::{Packer, Unpacker};
use super::place::Place;
use super::sum::Sum;
use crate::block::{Block, Cells};
use crate::registry::{DataType, NULL};
use crate::waveform::{find_pulses, find_r_peaks, pulse_rate, respiration_rate};
use crate::zone::SECOND_US;

/// Length of a piece, µs.
const PIECE_US: i64 = 30 * SECOND_US;
/// Shortest stretch of samples within a piece from which a rate is found, s.
const SHORTEST_S: f64 = 20.0;
/// Pauses of more than so many samples break a piece.
const LONGEST_PAUSE: f64 = 2.5;
/// Fewest beats of a piece of ECG.
const LEAST_BEATS: usize = 5;
/// Rates are kept in tenths per minute.
const TENTHS: f64 = 10.0;

/// Rates found in pieces of thirty seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Pieces with any sample.
    pub pieces: u32,
    /// Rate of the heart, tenths per minute, of the pieces that are good enough for one.
    pub heart: Sum,
    /// Rate of breathing, tenths per minute, of the pieces that are good enough for one.
    pub respiration: Sum,
}

impl Rates {
    /// Adds the pieces of another window.
    pub fn absorb(&mut self, other: &Self) {
        self.pieces += other.pieces;
        self.heart.absorb(other.heart);
        self.respiration.absorb(other.respiration);
    }

    fn pack(&self, packer: &mut Packer) {
        packer.unsigned(u64::from(self.pieces));
        self.heart.pack(packer);
        self.respiration.pack(packer);
    }

    fn unpack(unpacker: &mut Unpacker<'_>) -> Option<Self> {
        let pieces = unpacker.number()?;
        Some(Rates { pieces, heart: Sum::unpack(unpacker)?, respiration: Sum::unpack(unpacker)? })
    }
}

/// What was found in a piece.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    heart_per_min: Option<f64>,
    breaths_per_min: Option<f64>,
}

/// A window of one kind of raw waveform.
macro_rules! waveform_cell {
    ($(#[$doc:meta])* $name:ident, $data_type:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            /// Where it lies.
            pub place: Place,
            /// Number of rows.
            pub rows: u32,
            /// What was found.
            pub rates: Rates,
        }

        impl WindowCell for $name {
            const DATA_TYPE: DataType = $data_type;
            const FORMAT: u8 = 1;

            fn place(&self) -> Place {
                self.place
            }

            fn at(place: Place) -> Self {
                $name { place, rows: 0, rates: Rates::default() }
            }

            fn absorb(&mut self, other: &Self) {
                self.rows += other.rows;
                self.rates.absorb(&other.rates);
            }

            fn pack(&self, packer: &mut Packer) {
                packer.unsigned(u64::from(self.rows));
                self.rates.pack(packer);
            }

            fn unpack(place: Place, unpacker: &mut Unpacker<'_>) -> Option<Self> {
                Some($name { place, rows: unpacker.number()?, rates: Rates::unpack(unpacker)? })
            }
        }
    };
}

waveform_cell! {
    /// One window of raw ECG.
    EcgCell, DataType::Ecg
}
waveform_cell! {
    /// One window of `ppg1`.
    Ppg1Cell, DataType::Ppg1
}
waveform_cell! {
    /// One window of the clearest colour of `ppg2`.
    Ppg2Cell, DataType::Ppg2
}

/// Returns the cells of a block of ECG.
pub fn ecg_cells(block: &Block) -> CellsByDay<EcgCell> {
    let millivolts = block.column("ecg");
    // Old apps send the raw value alone; peaks are found in any unit.
    let signal = if *millivolts == Cells::Constant(NULL) { block.column("value") } else { millivolts };
    let cell = |place, rows, rates| EcgCell { place, rows, rates };
    cells_of(block, signal, &BTreeSet::new(), find_in_ecg, cell)
}

/// Returns the cells of a block of `ppg1`.
pub fn ppg1_cells(block: &Block) -> CellsByDay<Ppg1Cell> {
    let cell = |place, rows, rates| Ppg1Cell { place, rows, rates };
    cells_of(block, block.column("ppg"), &BTreeSet::new(), find_in_ppg, cell)
}

/// Returns the cells of the blocks of `ppg2`, one block for each colour and position. Green shows the pulse best at the
/// wrist, then infra-red, then red; in each window the first position of the first of these colours that was sent
/// counts.
pub fn ppg2_cells(blocks: &[Block]) -> CellsByDay<Ppg2Cell> {
    let cell = |place, rows, rates| Ppg2Cell { place, rows, rates };
    let mut days = CellsByDay::new();
    let mut used: BTreeSet<Place> = BTreeSet::new();
    for colour in [0x7e, 0x7b, 0x7c] {
        let mut of_colour: Vec<&Block> =
            blocks.iter().filter(|block| !block.is_empty() && block.column("metric_id").get(0) == colour).collect();
        // The same position every time, in whatever order the blocks were stored.
        of_colour.sort_by_key(|block| block.channel);
        for block in of_colour {
            for (day, cells) in cells_of(block, block.column("value"), &used, find_in_ppg, cell) {
                used.extend(cells.iter().map(|cell| cell.place));
                days.entry(day).or_insert_with(Vec::new).extend(cells);
            }
        }
    }
    for cells in days.values_mut() {
        cells.sort_by_key(|cell: &Ppg2Cell| cell.place);
    }
    days
}

/// Returns the cells of the windows of a block that are not `known` yet.
fn cells_of<C>(
    block: &Block,
    signal: &Cells,
    known: &BTreeSet<Place>,
    find: fn(&[f64], f64) -> Found,
    cell: impl Fn(Place, u32, Rates) -> C,
) -> CellsByDay<C> {
    let mut days = CellsByDay::new();
    for group in groups(block).into_iter().filter(|group| !known.contains(&group.place)) {
        let mut rates = Rates::default();
        let rows: Vec<usize> = group.rows().filter(|row| signal.get(*row) != NULL).collect();
        let piece_of = |row: &usize| block.times_us[*row].div_euclid(PIECE_US);
        for piece in rows.chunk_by(|one, next| piece_of(one) == piece_of(next)) {
            rates.pieces += 1;
            let found = even_rate_hz(&block.times_us, piece).map(|rate_hz| {
                let values: Vec<f64> = piece.iter().map(|row| f64::from(signal.get(*row))).collect();
                find(&values, rate_hz)
            });
            let Found { heart_per_min, breaths_per_min } = found.unwrap_or_default();
            for (sum, per_min) in [(&mut rates.heart, heart_per_min), (&mut rates.respiration, breaths_per_min)] {
                if let Some(per_min) = per_min.filter(|per_min| (0.0..=1000.0).contains(per_min)) {
                    sum.add((per_min * TENTHS).round() as i32);
                }
            }
        }
        days.entry(group.day).or_insert_with(Vec::new).push(cell(group.place, group.row_count() as u32, rates));
    }
    days
}

/// Returns the rate of a piece of samples in the order of time, Hz; `None` when it is short or has a pause.
fn even_rate_hz(times_us: &[i64], rows: &[usize]) -> Option<f64> {
    let (first_us, last_us) = (times_us[*rows.first()?], times_us[*rows.last()?]);
    let seconds = (last_us - first_us) as f64 / SECOND_US as f64;
    if seconds < SHORTEST_S {
        return None;
    }
    let rate_hz = (rows.len() - 1) as f64 / seconds;
    let longest_us = (LONGEST_PAUSE / rate_hz * SECOND_US as f64) as i64;
    let unbroken = rows.windows(2).all(|pair| times_us[pair[1]] - times_us[pair[0]] <= longest_us);
    unbroken.then_some(rate_hz)
}

fn find_in_ecg(values: &[f64], rate_hz: f64) -> Found {
    let peaks = find_r_peaks(values, rate_hz).unwrap_or_default();
    if peaks.len() < LEAST_BEATS {
        return Found::default();
    }
    let seconds = (peaks[peaks.len() - 1] - peaks[0]) as f64 / rate_hz;
    Found { heart_per_min: Some(60.0 * (peaks.len() - 1) as f64 / seconds), breaths_per_min: None }
}

fn find_in_ppg(values: &[f64], rate_hz: f64) -> Found {
    let pulses = find_pulses(values, rate_hz).unwrap_or_default();
    let heart_per_min = pulse_rate(&pulses);
    // Without an even pulse the modulations of it mean nothing.
    let breaths = heart_per_min.and_then(|_| respiration_rate(&pulses));
    Found { heart_per_min, breaths_per_min: breaths.and_then(|breaths| breaths.fused) }
}
