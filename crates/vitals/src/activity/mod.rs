//! Activity of a day: distance, energy, active minutes, and steps from raw acceleration.
//!
//! What the device uploads comes first; the formulas here fill the holes.

pub mod daily;
pub mod energy;
pub mod movement;
#[cfg(test)]
mod reference_tests;
mod sex;
pub mod steps;

pub use daily::{ActivityRow, active_minutes, distance_m, goal_percent, move_every_hour};
pub use energy::{Body, calories_kcal, keytel_kcal_per_min, resting_kcal_per_day};
pub use movement::movement_level;
pub use sex::Sex;
pub use steps::{Steps, find_steps, magnitude};
