//! Rows of beat-to-beat intervals, as the `rr-interval` type holds them.

use std::ops::Range;

use crate::block::Block;
use crate::registry::NULL;
use crate::vital_rows::GOOD_QUALITY;

/// One interval between two heart beats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beat {
    /// Time of the beat that ends the interval, Unix epoch milliseconds.
    pub time_ms: i64,
    /// Length of the interval in ms.
    pub rr_ms: f64,
    /// Whether its quality is 2 or better (or not stated).
    pub good: bool,
}

/// Shortest interval taken for a beat's (**ours**): 200 /min.
pub const SHORTEST_RR_MS: f64 = 300.0;

/// Longest interval taken for a beat's (**ours**): 30 /min.
pub const LONGEST_RR_MS: f64 = 2000.0;

/// How much later than its own length a row may follow its predecessor before rows are taken to
/// be missing between them (**ours**): one longest interval.
pub const MISSING_ROWS_MS: f64 = 2000.0;

/// Returns whether an interval is of good quality and can be a heart's at all.
pub fn plausible(beat: &Beat) -> bool {
    beat.good && (SHORTEST_RR_MS..=LONGEST_RR_MS).contains(&beat.rr_ms)
}

/// Time in ms that is missing between two successive rows; 0 when the second follows the first
/// within [`MISSING_ROWS_MS`] of its own length.
pub fn missing_before(previous: &Beat, beat: &Beat) -> f64 {
    // Times are whole milliseconds, or whole seconds from some bracelets, while lengths have three decimals: only an
    // excess above one longest interval proves that rows are missing.
    let step_ms = beat.time_ms.saturating_sub(previous.time_ms) as f64;
    let excess_ms = step_ms - beat.rr_ms;
    // A row that comes too early is a rounded time and no gap, so nothing below zero is given.
    if excess_ms > MISSING_ROWS_MS { excess_ms } else { 0.0 }
}

/// Returns the intervals of some rows of a block of `rr-interval`, in the order of time. Rows without an interval are
/// left out; a quality that is not given counts as good.
pub fn beats_of(block: &Block, rows: Range<usize>) -> Vec<Beat> {
    let (rr, quality) = (block.column("rr"), block.column("quality"));
    let beat = |row: usize| {
        let thousandths = rr.get(row);
        // Null lies below zero, so a quality that is not given is not poor.
        let poor = (0..GOOD_QUALITY).contains(&quality.get(row));
        (thousandths != NULL).then(|| Beat {
            time_ms: block.times_us[row].div_euclid(1000),
            rr_ms: f64::from(thousandths) / 1000.0,
            good: !poor,
        })
    };
    rows.filter_map(beat).collect()
}
