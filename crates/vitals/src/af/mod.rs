//! Detection of atrial fibrillation from beat intervals. **Not a diagnosis.**
//!
//! In atrial fibrillation intervals are irregularly irregular: neighbours differ much, and no
//! pattern repeats. [`mod@features`] measures that by published means; thresholds on two of them
//! decide. How features become probabilities and windows become one final answer is **ours**.

pub mod features;
pub mod record;
#[cfg(test)]
mod reference_tests;
pub mod strip;
pub mod windows;

pub use features::{Features, features};
pub use record::{AfRecord, StoredRecord, hour_of, pack_hour, records_of_hour, unpack_hour, with_times};
pub use strip::strip_svg;
pub use windows::{AfWindow, Classification, HOUR_MS, WINDOW_BEATS, classify, classify_by_hour};
