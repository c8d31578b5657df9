//! Samples as text: numbers with as few digits as they need, local dates, CSV lines.
//!
//! Whole milliseconds are shown; Arrow and Parquet carry the microseconds.

mod csv;
#[cfg(test)]
mod format_tests;
mod local_date;
mod number;
mod time_order;

pub use csv::{CsvRows, header};
pub use local_date::LocalDates;
pub use number::push_number;
pub use time_order::in_time_order;
