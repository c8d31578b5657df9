//! The one list of data types and their columns.
//!
//! Validation, storage, JSON, CSV, Arrow, Parquet, the OpenAPI document, the data dictionary, the portal's list and the
//! table of the documentation all follow from one declaration of each type, so a column cannot mean two things in two
//! places. Every number is kept as an integer in steps of `10^-decimals` of its unit; two values are equal when those
//! integers are.

mod channel;
mod column;
mod data_type;
mod declaration;
mod null;
mod test_kind;
mod types;

pub use channel::{Channel, ChannelRule, Colour};
pub use column::{CellError, Column, Kind};
pub use declaration::{Declaration, Period, Rates, Role, Sampling};
pub use null::NULL;
pub use test_kind::TestKind;
pub use types::DataType;

#[cfg(test)]
mod tests;
