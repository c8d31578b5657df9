//! What a board is sent.

use std::sync::Arc;

use super::board_row::BoardRow;

/// Something that has happened on a board.
#[derive(Clone, Debug)]
pub enum BoardEvent {
    /// A row is now this one.
    Row {
        /// Cursor of the event logs: a listener that comes back with it gets everything behind it.
        id: String,
        /// The row.
        row: Arc<BoardRow>,
    },
    /// The board has to be read again.
    Reload,
}
