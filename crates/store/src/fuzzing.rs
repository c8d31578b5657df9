//! The bytes of chunks, for the fuzz targets alone (docs/fuzzing.md). Nothing of the service uses this door, and what
//! it leads to can change without notice.

pub use crate::payload::{decode, encode};
