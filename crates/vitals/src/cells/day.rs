//! The cells of one local day, of all types.

use std::ops::Range;

use super::activity::ActivityCell;
use super::cell::WindowCell;
use super::day_cells::DayCells;
use super::motion::MotionCell;
use super::spot::SpotCell;
use super::stage::StageCell;
use super::temperature::TemperatureCell;
use super::variability::{BeatCell, VariabilityCell};
use super::waveform::{EcgCell, Ppg1Cell, Ppg2Cell};
use crate::measured::Measured;
use crate::registry::DataType;

/// The cells of one local day.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Day {
    /// Of `activity` rows.
    pub activity: DayCells<ActivityCell>,
    /// Of `rr-interval` rows.
    pub beats: DayCells<BeatCell>,
    /// Of `sleep` rows.
    pub stages: DayCells<StageCell>,
    /// Of `temperature` rows.
    pub temperature: DayCells<TemperatureCell>,
    /// Of `heart-rate-variability` rows.
    pub variability: DayCells<VariabilityCell>,
    /// Of `ppg1` rows.
    pub ppg1: DayCells<Ppg1Cell>,
    /// Of `ppg2` rows.
    pub ppg2: DayCells<Ppg2Cell>,
    /// Of `acc` rows.
    pub motion: DayCells<MotionCell>,
    /// Of `ecg` rows.
    pub ecg: DayCells<EcgCell>,
    /// Of `tests` rows.
    pub spot: DayCells<SpotCell>,
}

/// A kind of cell that a day keeps.
pub trait Kept: WindowCell {
    /// Returns the day's cells of that kind.
    fn of(day: &Day) -> &DayCells<Self>;
    /// Returns the day's cells of that kind, to change.
    fn of_mut(day: &mut Day) -> &mut DayCells<Self>;
}

macro_rules! kept {
    ($($cell:ident: $field:ident),* $(,)?) => {
        $(impl Kept for $cell {
            fn of(day: &Day) -> &DayCells<Self> {
                &day.$field
            }

            fn of_mut(day: &mut Day) -> &mut DayCells<Self> {
                &mut day.$field
            }
        })*

        impl Day {
            /// Types that have cells.
            pub const TYPES: &'static [DataType] = &[$($cell::DATA_TYPE),*];

            /// Takes packed cells of a type in. Cells of another version of the program count as missing: their days
            /// are due anyway.
            pub fn read(&mut self, data_type: DataType, bytes: &[u8]) {
                $(if data_type == $cell::DATA_TYPE {
                    self.$field = DayCells::unpack(bytes).unwrap_or_default();
                })*
            }

            /// Returns whether any type has cells in some windows.
            pub fn has_cells_in(&self, windows: &Range<i64>) -> bool {
                false $(|| !self.$field.in_windows(windows.clone()).is_empty())*
            }

            /// Removes the cells of all types from a window on.
            pub fn keep_before(&mut self, window: i64) {
                $(self.$field.replace(window..i64::MAX, []);)*
            }

            /// Number of cells, of all types.
            pub fn cell_count(&self) -> usize {
                0 $(+ self.$field.cells().len())*
            }

            /// Returns the cells of a type as bytes; empty when there are none.
            pub fn pack(&self, data_type: DataType) -> Vec<u8> {
                $(if data_type == $cell::DATA_TYPE && !self.$field.is_empty() {
                    return self.$field.pack();
                })*
                Vec::new()
            }
        }
    };
}

kept! {
    ActivityCell: activity,
    BeatCell: beats,
    StageCell: stages,
    TemperatureCell: temperature,
    VariabilityCell: variability,
    Ppg1Cell: ppg1,
    Ppg2Cell: ppg2,
    MotionCell: motion,
    EcgCell: ecg,
    SpotCell: spot,
}

impl Day {
    /// Returns the newest measurements of vital signs in some windows.
    pub fn newest(&self, windows: &Range<i64>) -> Measured {
        let mut newest = Measured::default();
        for cell in self.activity.in_windows(windows.clone()) {
            newest.merge_newer(&cell.newest);
        }
        for cell in self.spot.in_windows(windows.clone()) {
            newest.merge_newer(&cell.newest);
        }
        newest
    }

    /// Windows in which something was measured that NEWS scores.
    pub fn scored_windows(&self) -> impl Iterator<Item = i64> + '_ {
        let activity = self.activity.cells().iter().map(|cell| (cell.place, &cell.newest));
        let spot = self.spot.cells().iter().map(|cell| (cell.place, &cell.newest));
        // A diastolic pressure alone is a latest value and no reason for a score.
        activity.chain(spot).filter(|(_, newest)| newest.scored_ms().is_some()).map(|(place, _)| place.window())
    }
}
