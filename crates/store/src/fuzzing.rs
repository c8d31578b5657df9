//! The bytes of chunks, for the fuzz targets alone (docs/fuzzing.md). Nothing of the service uses this door, and what
//! stands behind it can change without notice.

pub use crate::payload::{decode, encode};
