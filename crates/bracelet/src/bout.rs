//! Walks and exercise.

/// A kind of movement, with the number that the column `activity_type` uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Movement {
    /// A few steps about the house.
    Other = 1,
    /// Walking.
    Walk = 2,
    /// Running.
    Run = 4,
    /// Cycling: effort without steps.
    Cycle = 6,
    /// Sitting, lying, sleeping.
    Rest = 7,
}

/// A stretch of walking or exercise; begins and ends on whole minutes.
#[derive(Debug, Clone, PartialEq)]
pub struct Bout {
    /// Begin, Unix ms.
    pub start_ms: i64,
    /// End, Unix ms, exclusive.
    pub end_ms: i64,
    /// What is done.
    pub movement: Movement,
    /// Share of the heart-rate reserve that it takes, 0 to 1.
    pub effort: f64,
    /// Steps per minute.
    pub cadence: f64,
    /// Metres per second.
    pub speed_mps: f64,
}

impl Bout {
    /// Returns whether it has begun and not ended at `at_ms`.
    pub fn is_under_way(&self, at_ms: i64) -> bool {
        (self.start_ms..self.end_ms).contains(&at_ms)
    }

    pub(crate) fn overlaps(&self, start_ms: i64, end_ms: i64) -> bool {
        self.start_ms < end_ms && start_ms < self.end_ms
    }
}
