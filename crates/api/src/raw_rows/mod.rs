//! Raw samples as text: JSON row objects and CSV lines, in the order of time.
//!
//! Whole milliseconds are shown; Arrow and Parquet carry the microseconds.

mod json;
mod value;

pub use json::JsonRows;
pub use vitals::text::{CsvRows, header};
