//! Sleep days: day D runs from noon of D−1 to noon of D, local time.
//!
//! A session belongs to the day that holds its midpoint, so that a night counts for the morning
//! on which it ends, also where clocks change: noon is read off the wall clock, and a sleep day
//! may have 23 or 25 hours.

use super::stages::Session;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// Returns the sleep day that holds a time (Unix epoch milliseconds); None beyond the calendar.
pub fn sleep_day(time_ms: i64, time_zone: &TimeZone) -> Option<Date> {
    let local = time_zone.to_datetime(Timestamp::from_millisecond(time_ms).ok()?);
    // By the wall clock and not twelve hours after midnight: on the day of a clock change these differ by an hour.
    if local.hour() >= 12 { local.date().tomorrow().ok() } else { Some(local.date()) }
}

/// Returns the session that represents a sleep day: the longest, of equally long ones the first. Naps
/// stay out by that.
pub fn main_session(sessions: &[Session], day: Date, time_zone: &TimeZone) -> Option<Session> {
    let mut longest: Option<Session> = None;
    for session in sessions {
        let length_ms = session.end_ms - session.start_ms;
        // Strictly longer, so that the first of two equal ones stays.
        let longer = longest.is_none_or(|other| length_ms > other.end_ms - other.start_ms);
        if longer && sleep_day(session.midpoint_ms(), time_zone) == Some(day) {
            longest = Some(*session);
        }
    }
    longest
}

/// Minutes since local midnight (0 to below 1440) at a time; None beyond the calendar.
pub fn minute_of_day(time_ms: i64, time_zone: &TimeZone) -> Option<f64> {
    let local = time_zone.to_datetime(Timestamp::from_millisecond(time_ms).ok()?);
    let minutes = f64::from(local.hour()) * 60.0 + f64::from(local.minute());
    Some(minutes + f64::from(local.second()) / 60.0)
}
