//! placeholder
pub mod sync;
