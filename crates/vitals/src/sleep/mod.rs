//! Sleep: sums from the device's stages, nights and their scores, and sleep from movement alone.
//!
//! [`stages`] adds up 30-second stages, [`night`] says which sleep day a session belongs to,
//! [`scores`] (**ours**) rates nights. Without stages, [`wrist`] finds sleep and wake from the
//! angle of the forearm and [`actigraphy`] from activity counts, all by published methods.

pub mod actigraphy;
pub mod night;
#[cfg(test)]
mod reference_tests;
pub mod scores;
pub mod stages;
pub mod wrist;

pub use actigraphy::{cole_kripke, sadeh};
pub use night::{main_session, sleep_day};
pub use scores::{consistency, performance, tranquility};
pub use stages::{Session, Stage, StageEpoch, StageSums, sessions};
pub use wrist::{sleep_epochs, sleep_period, sleep_session, sustained_inactivity, z_angles};
