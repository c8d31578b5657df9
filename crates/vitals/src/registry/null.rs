//! The cell that represents "no value".

/// The cell that represents "no value". It lies outside the range of every column.
pub const NULL: i32 = i32::MIN;
