//! Detection of atrial fibrillation from beat intervals. **Not a diagnosis.**
//!
//! In atrial fibrillation intervals are irregularly irregular: neighbours differ much, and no
//! pattern repeats. [`features`] measures that by published means; thresholds on two of them
//! decide. How features become probabilities and windows become one final answer is **ours**.

pub mod features;
pub mod windows;

pub use features::{Features, features};
pub use windows::{AfWindow, Classification, WINDOW_BEATS, classify, classify_by_hour};
