//! What five minutes of acceleration hold: steps, and the angle of the forearm in each five seconds.
//!
//! The angles are what sleep without stages is found from; the steps are used where no activity row has any.

use super::cell::WindowCell;
use super::groups::{CellsByDay, Group, groups};
use super::pack::{Packer, Unpacker};
use super::place::{Place, WINDOW_MS};
use crate::activity::{find_steps, magnitude};
use crate::block::{Block, Cells};
use crate::registry::{DataType, NULL};
use crate::signal::median;
use crate::sleep::wrist::{ANGLE_EPOCH_MS, angle};
use crate::zone::SECOND_US;

/// Epochs of angles in a window.
pub const ANGLES: usize = (WINDOW_MS / ANGLE_EPOCH_MS) as usize;
/// Steps of the acceleration columns in one g.
const STEPS_PER_G: f64 = 512.0;
/// A longer pause between samples breaks a stretch, µs.
const LONGEST_PAUSE_US: i64 = SECOND_US / 5;
/// Hundredths in one degree.
const HUNDREDTHS: f64 = 100.0;
/// Represents an angle that is not known: no angle is so large.
const NO_ANGLE: i16 = i16::MAX;

/// All facts of one window of acceleration.
#[derive(Clone, Debug, PartialEq)]
pub struct MotionCell {
    /// Where it lies.
    pub place: Place,
    /// Number of rows.
    pub rows: u32,
    /// Steps found; `None` where no stretch is long and fast enough to look for them.
    pub steps: Option<u32>,
    /// Angle of the z axis against the horizontal in hundredths of a degree, by epoch of five seconds.
    angles: [i16; ANGLES],
}

impl MotionCell {
    /// Returns the angle of each epoch, degrees; `None` where there are no samples.
    pub fn angles(&self) -> impl Iterator<Item = Option<f64>> + '_ {
        self.angles.iter().map(|angle| (*angle != NO_ANGLE).then(|| f64::from(*angle) / HUNDREDTHS))
    }
}

impl WindowCell for MotionCell {
    const DATA_TYPE: DataType = DataType::Acc;
    const FORMAT: u8 = 1;

    fn place(&self) -> Place {
        self.place
    }

    fn at(place: Place) -> Self {
        MotionCell { place, rows: 0, steps: None, angles: [NO_ANGLE; ANGLES] }
    }

    fn absorb(&mut self, other: &Self) {
        self.rows += other.rows;
        self.steps = match (self.steps, other.steps) {
            (Some(mine), Some(others)) => Some(mine + others),
            (mine, others) => mine.or(others),
        };
    }

    fn pack(&self, packer: &mut Packer) {
        packer.unsigned(u64::from(self.rows));
        // One more, because no steps and steps not looked for are two answers.
        packer.unsigned(self.steps.map_or(0, |steps| u64::from(steps) + 1));
        let mut last = 0;
        for angle in self.angles {
            // A still arm makes differences of zero, a byte each: nights are most of what is kept.
            packer.signed(i64::from(angle) - last);
            last = i64::from(angle);
        }
    }

    fn unpack(place: Place, unpacker: &mut Unpacker<'_>) -> Option<Self> {
        let mut cell = MotionCell::at(place);
        cell.rows = unpacker.number()?;
        let steps: u32 = unpacker.number()?;
        cell.steps = steps.checked_sub(1);
        let mut last = 0_i64;
        for angle in &mut cell.angles {
            last = last.checked_add(unpacker.signed()?)?;
            *angle = i16::try_from(last).ok()?;
        }
        Some(cell)
    }
}

/// Returns the cells of a block of acceleration.
pub fn motion_cells(block: &Block) -> CellsByDay<MotionCell> {
    let axes = ["accX", "accY", "accZ"].map(|name| block.column(name));
    let mut days = CellsByDay::new();
    for group in groups(block) {
        let samples = Samples::of(block, axes, &group);
        let mut cell = MotionCell::at(group.place);
        cell.rows = group.row_count() as u32;
        cell.steps = samples.steps();
        cell.angles = samples.angles(group.place);
        days.entry(group.day).or_default().push(cell);
    }
    days
}

/// The samples of a window that have all three axes.
struct Samples {
    times_us: Vec<i64>,
    axes: [Vec<f64>; 3],
}

impl Samples {
    fn of(block: &Block, columns: [&Cells; 3], group: &Group) -> Self {
        let mut samples = Samples { times_us: Vec::with_capacity(group.row_count()), axes: Default::default() };
        for row in group.rows() {
            let cells = columns.map(|column| column.get(row));
            // Without all three axes there is neither a length nor an angle.
            if cells.contains(&NULL) {
                continue;
            }
            samples.times_us.push(block.times_us[row]);
            for (axis, cell) in samples.axes.iter_mut().zip(cells) {
                axis.push(f64::from(cell) / STEPS_PER_G);
            }
        }
        samples
    }

    /// Returns the steps of all unbroken stretches; `None` without one in which steps can be looked for.
    fn steps(&self) -> Option<u32> {
        let mut found: Option<u32> = None;
        let mut start = 0;
        for end in 1..=self.times_us.len() {
            // A filter run across a pause would see a jump, and count it as a step.
            if end < self.times_us.len() && self.times_us[end] - self.times_us[end - 1] <= LONGEST_PAUSE_US {
                continue;
            }
            let [x, y, z] = self.axes.each_ref().map(|axis| &axis[start..end]);
            let seconds = (self.times_us[end - 1] - self.times_us[start]) as f64 / SECOND_US as f64;
            // The rate that the rows have, not the one declared: samples can be missing.
            let rate_hz = (end - start - 1) as f64 / seconds;
            if let Some(steps) = find_steps(&magnitude(x, y, z), rate_hz) {
                found = Some(found.unwrap_or(0) + steps.times_s.len() as u32);
            }
            start = end;
        }
        found
    }

    /// Returns the angle of the medians of each epoch, hundredths of a degree.
    fn angles(&self, place: Place) -> [i16; ANGLES] {
        let mut angles = [NO_ANGLE; ANGLES];
        let mut start = 0;
        for (epoch, packed) in angles.iter_mut().enumerate() {
            let end_us = (place.start_ms() + (epoch as i64 + 1) * ANGLE_EPOCH_MS) * 1000;
            let end = start + self.times_us[start..].partition_point(|time| *time < end_us);
            // Medians and not means, as van Hees has it: one knock must not turn the arm.
            let [x, y, z] = self.axes.each_ref().map(|axis| median(&mut axis[start..end].to_vec()));
            if let Some(degrees) = angle(x, y, z) {
                *packed = (degrees * HUNDREDTHS).round() as i16;
            }
            start = end;
        }
        angles
    }
}
