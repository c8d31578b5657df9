//! Raw samples as text: JSON row objects and CSV lines, in the order of time.
//!
//! Whole milliseconds are shown; Arrow and Parquet carry the microseconds.

mod csv;
mod json;
mod local_date;
mod number;

pub use csv::{CsvRows, header};
pub use json::JsonRows;

use vitals::block::{Block, Cells};
use vitals::registry::{Column, Kind, NULL};

use self::number::push_number;

/// Writes a value: a number as it is, everything else by `push_text`, and `null` where there is none.
fn push_value(
    text: &mut Vec<u8>,
    column: &Column,
    cells: &Cells,
    row: usize,
    null: &[u8],
    push_text: impl Fn(&mut Vec<u8>, &str),
) {
    if let Some(value) = cells.text(row) {
        push_text(text, value);
        return;
    }
    let cell = cells.get(row);
    if cell == NULL {
        text.extend_from_slice(null);
        return;
    }
    match column.kind {
        Kind::Number { .. } => push_number(text, column, cell),
        _ => push_text(text, &column.text_of(cell).unwrap_or_default()),
    }
}

/// Steps through the rows of several channels in the order of time; rows at the same time in the order of channels.
pub(crate) fn in_time_order(blocks: &[Block], mut row: impl FnMut(usize, usize)) {
    if let [only] = blocks {
        for number in 0..only.rows() {
            row(0, number);
        }
        return;
    }
    let mut next = vec![0_usize; blocks.len()];
    loop {
        let waiting = blocks.iter().zip(&next).enumerate();
        let times = waiting.filter_map(|(number, (block, next))| Some((*block.times_us.get(*next)?, number)));
        let Some((_, first)) = times.min() else {
            return;
        };
        row(first, next[first]);
        next[first] += 1;
    }
}
