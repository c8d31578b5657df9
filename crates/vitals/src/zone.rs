//! Time zones of samples, and the local days that follow from them.
//!
//! Each sample carries the IANA zone that its sync named. Zones change so rarely that they are kept as runs, and
//! offsets so rarely that a [`LocalClock`] remembers the span in which the last one holds.

mod tables;

use std::sync::Arc;

use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use crate::memory::bytes_of_text;

/// Microseconds in a second.
pub const SECOND_US: i64 = 1_000_000;
/// Length of a slot window in µs: five minutes, aligned to UTC.
pub const WINDOW_US: i64 = 300 * SECOND_US;
/// Length of a UTC quarter of an hour in µs: the grain of the tally.
pub const QUARTER_US: i64 = 900 * SECOND_US;
/// Length of a UTC day in µs.
pub const DAY_US: i64 = 86_400 * SECOND_US;

/// The name of an IANA time zone.
pub type ZoneName = Arc<str>;

/// Returns an IANA name as the tables spell it that the program brings along; none for what is no such name. Case is not
/// looked at.
pub fn known_zone(name: &str) -> Option<&'static str> {
    tables::name(name)
}

/// Version of the tables of time zones, such as `2025b`.
pub fn tables_version() -> &'static str {
    tables::version()
}

/// The zones of consecutive rows, run-length encoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZoneRuns {
    /// Each run: the row after its last one, and its zone.
    runs: Vec<(u32, ZoneName)>,
}

impl ZoneRuns {
    /// Returns the memory that the runs take, bytes, as if each had a name of its own.
    pub fn bytes(&self) -> usize {
        let names: usize = self.runs.iter().map(|(_, zone)| bytes_of_text(zone)).sum();
        self.runs.capacity() * size_of::<(u32, ZoneName)>() + names
    }

    /// Returns the same zone for all `rows`.
    pub fn constant(zone: ZoneName, rows: usize) -> Self {
        let mut runs = ZoneRuns::default();
        runs.push(zone, rows);
        runs
    }

    /// Appends `rows` rows of a zone.
    pub fn push(&mut self, zone: ZoneName, rows: usize) {
        if rows == 0 {
            return;
        }
        let end = self.rows() + rows as u32;
        match self.runs.last_mut() {
            Some((last_end, last_zone)) if *last_zone == zone => *last_end = end,
            _ => self.runs.push((end, zone)),
        }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u32 {
        self.runs.last().map_or(0, |(end, _)| *end)
    }

    /// Returns the zone of a row.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn zone_of(&self, row: usize) -> &ZoneName {
        self.run_of(row).1
    }

    /// Returns the run that a row belongs to: the row after its last one, and its zone.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn run_of(&self, row: usize) -> (usize, &ZoneName) {
        let (end, zone) = &self.runs[self.runs.partition_point(|(end, _)| *end as usize <= row)];
        (*end as usize, zone)
    }

    /// Returns the runs in order: rows from, to (exclusive), zone.
    pub fn iter(&self) -> impl Iterator<Item = (std::ops::Range<usize>, &ZoneName)> {
        let starts = std::iter::once(0).chain(self.runs.iter().map(|(end, _)| *end as usize));
        starts.zip(&self.runs).map(|(start, (end, zone))| (start..*end as usize, zone))
    }

    /// Returns the runs of some of the rows.
    #[must_use]
    pub fn slice(&self, rows: std::ops::Range<usize>) -> Self {
        let mut part = ZoneRuns::default();
        let mut start = rows.start;
        let last = rows.end.min(self.rows() as usize);
        while start < last {
            let (end, zone) = self.run_of(start);
            part.push(zone.clone(), end.min(last) - start);
            start = end;
        }
        part
    }
}

/// Gives local times in one zone.
///
/// Keeps the span around the last answer in which the offset does not change, so that rows in order cost a
/// comparison each.
#[derive(Clone, Debug)]
pub struct LocalClock {
    zone: TimeZone,
    offset: Offset,
    valid_from_us: i64,
    valid_to_us: i64,
}

impl LocalClock {
    /// Makes a clock of the zone; UTC when the name is not known to this build.
    pub fn new(zone_name: &str) -> Self {
        let zone = tables::zone(zone_name).unwrap_or(TimeZone::UTC);
        LocalClock { zone, offset: Offset::UTC, valid_from_us: 1, valid_to_us: 0 }
    }

    /// Returns the offset from UTC at a time, in seconds east.
    pub fn offset_seconds(&mut self, time_us: i64) -> i32 {
        // Offsets change twice a year: nearly every row is answered by these two comparisons.
        if time_us < self.valid_from_us || time_us >= self.valid_to_us {
            self.look_up(time_us);
        }
        self.offset.seconds()
    }

    /// Microseconds since 1970-01-01T00:00 of the local clock.
    pub fn local_us(&mut self, time_us: i64) -> i64 {
        time_us + i64::from(self.offset_seconds(time_us)) * SECOND_US
    }

    /// Returns the local day at a time.
    pub fn day(&mut self, time_us: i64) -> LocalDay {
        LocalDay(self.local_us(time_us).div_euclid(DAY_US) as i32)
    }

    /// Returns the time at which a local date and time occurs, µs since 1970; in a gap the time after it, in a fold the
    /// first.
    pub fn time_us_of(&self, local: DateTime) -> Option<i64> {
        let zoned = self.zone.to_ambiguous_zoned(local).compatible().ok()?;
        Some(zoned.timestamp().as_microsecond())
    }

    fn look_up(&mut self, time_us: i64) {
        let timestamp = timestamp_of(time_us);
        self.offset = self.zone.to_offset(timestamp);
        // `preceding` looks strictly before, so ask from just after: a transition at this very time counts.
        let just_after = timestamp.checked_add(SignedDuration::from_nanos(1)).unwrap_or(timestamp);
        let before = self.zone.preceding(just_after).next().map(|transition| transition.timestamp());
        let after = self.zone.following(timestamp).next().map(|transition| transition.timestamp());
        self.valid_from_us = before.map_or(i64::MIN, Timestamp::as_microsecond);
        self.valid_to_us = after.map_or(i64::MAX, Timestamp::as_microsecond);
    }
}

/// Returns the timestamp of a number of µs, clamped to the calendar's range.
pub fn timestamp_of(time_us: i64) -> Timestamp {
    Timestamp::from_microsecond(time_us).unwrap_or(if time_us < 0 { Timestamp::MIN } else { Timestamp::MAX })
}

/// Returns the date and time of a local clock without zone, such as `2026-01-31T12:00:00.000`, from the milliseconds since
/// its 1970-01-01T00:00, clamped to the calendar's range.
pub fn local_text(local_ms: i64) -> String {
    // Not by way of UTC, which ends a day before the calendar.
    let epoch = Date::constant(1970, 1, 1).at(0, 0, 0, 0);
    format!("{:.3}", epoch.saturating_add(SignedDuration::from_millis(local_ms)))
}

/// A civil day, counted in days since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocalDay(pub i32);

impl LocalDay {
    /// Returns the day of a civil date.
    pub fn from_date(date: Date) -> Self {
        let midnight = date.at(0, 0, 0, 0);
        let epoch = Date::constant(1970, 1, 1).at(0, 0, 0, 0);
        LocalDay((midnight.duration_since(epoch).as_hours() / 24) as i32)
    }

    /// Returns the civil date; the calendar's last day beyond its end.
    pub fn date(self) -> Date {
        let days = jiff::Span::new().try_days(self.0).unwrap_or_default();
        Date::constant(1970, 1, 1).checked_add(days).unwrap_or(Date::MAX)
    }

    /// Reads `YYYY-MM-DD`, and nothing else.
    pub fn parse(text: &str) -> Option<Self> {
        let strict = text.len() == 10
            && text.bytes().enumerate().all(|(at, byte)| match at {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            });
        // The library reads more forms than one; two texts of one day would be two addresses of one answer.
        strict.then(|| text.parse().ok()).flatten().map(Self::from_date)
    }

    /// First instant of the day in a zone, and the first of the next, µs since 1970.
    pub fn span_us(self, clock: &LocalClock) -> (i64, i64) {
        let start = |day: LocalDay| clock.time_us_of(day.date().at(0, 0, 0, 0)).unwrap_or(i64::from(day.0) * DAY_US);
        (start(self), start(LocalDay(self.0 + 1)))
    }

    /// Number of five-minute slots of the day in a zone: 288, or what a day of a clock change has.
    pub fn slot_count(self, clock: &LocalClock) -> u32 {
        let (start, end) = self.span_us(clock);
        ((end - start) / WINDOW_US) as u32
    }
}

impl std::fmt::Display for LocalDay {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.date().fmt(formatter)
    }
}

/// `YYYY-MM-DD`.
impl serde::Serialize for LocalDay {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for LocalDay {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        LocalDay::parse(&text).ok_or_else(|| serde::de::Error::custom("not a day, YYYY-MM-DD"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_microsecond()
    }

    #[test]
    fn runs_of_zones_join_and_slice() {
        let zurich: ZoneName = "Europe/Zurich".into();
        let utc: ZoneName = "UTC".into();
        let mut runs = ZoneRuns::constant(zurich.clone(), 2);
        runs.push(zurich.clone(), 1);
        runs.push(utc.clone(), 2);
        assert_eq!(runs.iter().count(), 2);
        assert_eq!(runs.zone_of(2), &zurich);
        assert_eq!(runs.zone_of(3), &utc);
        let part = runs.slice(2..4);
        assert_eq!(part.rows(), 2);
        assert_eq!(part.zone_of(0), &zurich);
        assert_eq!(part.zone_of(1), &utc);
    }

    #[test]
    fn days_of_a_clock_change_have_23_and_25_hours() {
        let clock = LocalClock::new("Europe/Zurich");
        assert_eq!(LocalDay::parse("2026-03-29").unwrap().slot_count(&clock), 276);
        assert_eq!(LocalDay::parse("2026-10-25").unwrap().slot_count(&clock), 300);
        assert_eq!(LocalDay::parse("2026-10-26").unwrap().slot_count(&clock), 288);
        // Lord Howe Island moves its clocks by half an hour.
        let clock = LocalClock::new("Australia/Lord_Howe");
        assert_eq!(LocalDay::parse("2026-04-05").unwrap().slot_count(&clock), 294);
        assert_eq!(LocalDay::parse("2026-10-04").unwrap().slot_count(&clock), 282);
    }

    #[test]
    fn offsets_change_at_the_very_instant_of_the_transition() {
        let mut clock = LocalClock::new("Europe/Zurich");
        let change = us("2026-03-29T01:00:00Z");
        assert_eq!(clock.offset_seconds(change - 1), 3600);
        assert_eq!(clock.offset_seconds(change), 7200);
        assert_eq!(clock.offset_seconds(change - 1), 3600);
        assert_eq!(clock.day(us("2026-03-28T23:00:00Z")), LocalDay::parse("2026-03-29").unwrap());
    }

    #[test]
    fn only_plain_dates_are_days() {
        assert_eq!(LocalDay::parse("1970-01-02"), Some(LocalDay(1)));
        assert_eq!(LocalDay::parse("1969-12-31"), Some(LocalDay(-1)));
        assert_eq!(LocalDay::parse("2026-02-28").unwrap().to_string(), "2026-02-28");
        for wrong in ["2026-02-30", "2026-2-3", "20260203", "2026-02-03T00:00:00", "2026-02-03 ", "+02026-02-03", ""] {
            assert_eq!(LocalDay::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn local_times_reach_from_end_to_end_of_the_calendar() {
        assert_eq!(local_text(1_763_600_000_007), "2025-11-20T00:53:20.007");
        assert_eq!(local_text(-1), "1969-12-31T23:59:59.999");
        assert_eq!(local_text(253_402_300_799_999), "9999-12-31T23:59:59.999");
        assert_eq!(local_text(253_402_214_400_000), "9999-12-31T00:00:00.000");
        assert_eq!(local_text(i64::MAX), "9999-12-31T23:59:59.999");
    }

    #[test]
    fn unknown_zones_are_reported() {
        assert_eq!(known_zone("europe/zurich"), Some("Europe/Zurich"));
        for wrong in ["", "Mars/Phobos", "../etc/passwd", "Europe/Zürich"] {
            assert_eq!(known_zone(wrong), None, "{wrong}");
        }
    }
}
