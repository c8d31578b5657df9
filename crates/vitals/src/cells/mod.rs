//! Cells: all facts of one five-minute UTC window on one local day.
//!
//! A cell is a pure function of the rows that lie in its window. It is recomputed from them whenever one of them
//! changes and never patched, so the order of syncs cannot change it. Thirty-minute slots, daily sums, averages,
//! compliance and what was last measured before a time all follow from cells, so none of them needs the rows again.
//!
//! A window can lie on two local days: when the patient travelled within it, its rows name two zones.

mod activity;
mod cell;
mod day;
mod day_cells;
mod groups;
mod motion;
mod pack;
mod place;
mod spot;
mod stage;
mod sum;
mod temperature;
mod variability;
mod waveform;

pub use activity::{ActivityCell, ZONES, activity_cells};
pub use cell::WindowCell;
pub use day::{Day, Kept};
pub use day_cells::DayCells;
pub use groups::CellsByDay;
pub use motion::{ANGLES, MotionCell, motion_cells};
pub use pack::{Packer, Unpacker};
pub use place::{Place, WINDOW_MS, window_of};
pub use spot::{SpotCell, spot_cells};
pub use stage::{StageCell, stage_cells};
pub use sum::{Sum, Vital};
pub use temperature::{Sensor, TemperatureCell, temperature_cells};
pub use variability::{BeatCell, MEASURES, Measures, VariabilityCell, beat_cells, variability_cells};
pub use waveform::{EcgCell, Ppg1Cell, Ppg2Cell, Rates, ecg_cells, ppg1_cells, ppg2_cells};

#[cfg(test)]
mod pack_tests;
#[cfg(test)]
mod reference_tests;
#[cfg(test)]
mod tests;
