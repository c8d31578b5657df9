//! Where a cell lies: windows of five minutes, and slots of thirty on the local clock.

use crate::zone::WINDOW_US;

/// Milliseconds of a five-minute window.
pub const WINDOW_MS: i64 = WINDOW_US / 1000;
/// Minutes of a thirty-minute slot.
const HALF_HOUR_MINUTES: i64 = 30;
const DAY_MINUTES: i64 = 1440;

/// Number of the five-minute window that holds a time, counted from 1970.
pub fn window_of(time_us: i64) -> i64 {
    time_us.div_euclid(WINDOW_US)
}

/// Where a cell lies: its start, and what the local clock showed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// First minute of the cell, counted from 1970 UTC.
    pub start_minute: i64,
    /// Minutes that local time was ahead of UTC.
    pub offset_minutes: i16,
}

impl Place {
    /// Start of the cell, ms since 1970.
    pub fn start_ms(self) -> i64 {
        self.start_minute * 60_000
    }

    /// Number of the five-minute window.
    pub fn window(self) -> i64 {
        self.start_minute.div_euclid(5)
    }

    /// Minute of the local day, 0 to 1439.
    pub fn local_minute(self) -> i64 {
        (self.start_minute + i64::from(self.offset_minutes)).rem_euclid(DAY_MINUTES)
    }

    /// Returns the thirty-minute slot of the local clock that the cell lies in.
    #[must_use]
    pub fn half_hour(self) -> Place {
        // On the local clock: zones with quarters of an hour would else have slots at 00:15 and 00:45.
        let into_slot = self.local_minute() % HALF_HOUR_MINUTES;
        Place { start_minute: self.start_minute - into_slot, ..self }
    }
}
