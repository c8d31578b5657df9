//! A value as text.

use vitals::block::Cells;
use vitals::registry::{Column, Kind, NULL};
use vitals::text::push_number;

/// Writes a value: a number as it is, everything else by `push_text`, and `null` where there is none.
pub(super) fn push_value(
    text: &mut Vec<u8>,
    column: &Column,
    cells: &Cells,
    row: usize,
    push_text: impl Fn(&mut Vec<u8>, &str),
) {
    if let Some(value) = cells.text(row) {
        push_text(text, value);
        return;
    }
    let cell = cells.get(row);
    if cell == NULL {
        text.extend_from_slice(b"null");
        return;
    }
    match column.kind {
        Kind::Number { .. } => push_number(text, column, cell),
        _ => push_text(text, &column.text_of(cell).unwrap_or_default()),
    }
}
