//! The cell that stands for "no value".

/// The cell that stands for "no value". It lies outside the range of every column.
pub const NULL: i32 = i32::MIN;
