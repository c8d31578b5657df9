//! Local times of the daily summary, read and written as the texts of the specification.

use jiff::Timestamp;
use jiff::tz::Offset;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::zone::timestamp_of;

const MS_PER_SECOND: i64 = 1000;
const MINUTES_PER_HOUR: u16 = 60;
const MINUTES_PER_DAY: u16 = 1440;

/// An instant with the offset of the local clock, to the second: `2025-11-20T23:05:30+01:00`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetTime {
    time_ms: i64,
    offset_minutes: i16,
}

impl OffsetTime {
    /// Makes an instant, ms since 1970 UTC, and the minutes that local time is ahead of UTC.
    ///
    /// Milliseconds are cut off, and an offset that no clock has becomes UTC.
    pub fn new(time_ms: i64, offset_minutes: i16) -> Self {
        // Cut off here and not when it is written, so that what is read back equals what was computed.
        let whole_seconds = time_ms.div_euclid(MS_PER_SECOND).saturating_mul(MS_PER_SECOND);
        let is_known = Offset::from_seconds(i32::from(offset_minutes) * 60).is_ok();
        OffsetTime { time_ms: whole_seconds, offset_minutes: if is_known { offset_minutes } else { 0 } }
    }

    /// Milliseconds since 1970 UTC, whole seconds.
    pub fn epoch_ms(self) -> i64 {
        self.time_ms
    }

    /// Minutes that local time is ahead of UTC.
    pub fn offset_minutes(self) -> i16 {
        self.offset_minutes
    }

    /// Reads `2025-11-20T23:05:30+01:00`, and nothing else.
    pub fn parse(text: &str) -> Option<Self> {
        let (_, offset) = text.split_at_checked(LOCAL_LENGTH)?;
        let (sign, offset) = offset.split_at_checked(1)?;
        let (hours, minutes) = offset.split_once(':')?;
        let ahead = hours.parse::<i16>().ok()?.checked_mul(60)?.checked_add(minutes.parse().ok()?)?;
        let time_ms = text.parse::<Timestamp>().ok()?.as_millisecond();
        let time = OffsetTime::new(time_ms, if sign == "-" { -ahead } else { ahead });
        // There is one text for each value: what would be written otherwise was not written here.
        (time.to_string() == text).then_some(time)
    }
}

/// Length of `2025-11-20T23:05:30`.
const LOCAL_LENGTH: usize = 19;

impl std::fmt::Display for OffsetTime {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let offset = Offset::from_seconds(i32::from(self.offset_minutes) * 60).unwrap_or(Offset::UTC);
        let local = offset.to_datetime(timestamp_of(self.time_ms.saturating_mul(1000)));
        let sign = if self.offset_minutes < 0 { '-' } else { '+' };
        let minutes = self.offset_minutes.unsigned_abs();
        write!(formatter, "{}{sign}{:02}:{:02}", local.strftime("%Y-%m-%dT%H:%M:%S"), minutes / 60, minutes % 60)
    }
}

impl Serialize for OffsetTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for OffsetTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        OffsetTime::parse(&text).ok_or_else(|| D::Error::custom("not a local date-time with seconds and an offset"))
    }
}

/// What a local clock shows, to the minute: `23:05`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeOfDay(u16);

impl TimeOfDay {
    /// Returns the time so many minutes after midnight; `None` from 24:00 on.
    pub fn from_minutes(minutes: u16) -> Option<Self> {
        (minutes < MINUTES_PER_DAY).then_some(TimeOfDay(minutes))
    }

    /// Minutes since midnight.
    pub fn minutes(self) -> u16 {
        self.0
    }

    /// Reads `HH:MM`, and nothing else.
    pub fn parse(text: &str) -> Option<Self> {
        let [h1, h2, b':', m1, m2] = text.as_bytes() else { return None };
        let digit = |byte: &u8| byte.is_ascii_digit().then(|| u16::from(byte - b'0'));
        let (hours, minutes) = (digit(h1)? * 10 + digit(h2)?, digit(m1)? * 10 + digit(m2)?);
        if minutes >= MINUTES_PER_HOUR {
            return None;
        }
        Self::from_minutes(hours * MINUTES_PER_HOUR + minutes)
    }
}

impl std::fmt::Display for TimeOfDay {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:02}:{:02}", self.0 / MINUTES_PER_HOUR, self.0 % MINUTES_PER_HOUR)
    }
}

impl Serialize for TimeOfDay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TimeOfDay {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        TimeOfDay::parse(&text).ok_or_else(|| D::Error::custom("not a time of day, HH:MM"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn offset_times_are_written_with_the_sign_of_their_offset() {
        for (time_ms, offset_minutes, text) in [
            (0, 0, "1970-01-01T00:00:00+00:00"),
            (-1, 0, "1969-12-31T23:59:59+00:00"),
            (999, 345, "1970-01-01T05:45:00+05:45"),
            (1000, -210, "1969-12-31T20:30:01-03:30"),
            (0, -30, "1969-12-31T23:30:00-00:30"),
            // No clock is that far from UTC; the instant is what counts.
            (0, i16::MAX, "1970-01-01T00:00:00+00:00"),
        ] {
            let time = OffsetTime::new(time_ms, offset_minutes);
            assert_eq!(time.to_string(), text);
            assert_eq!(OffsetTime::parse(text), Some(time));
        }
    }

    #[test]
    fn only_the_written_form_of_an_offset_time_is_read() {
        for wrong in [
            "",
            "2025-11-20",
            "2025-11-20T23:05:30",
            "2025-11-20T23:05:30Z",
            "2025-11-20T23:05:30+0100",
            "2025-11-20T23:05:30+01",
            "2025-11-20T23:05:30.5+01:00",
            "2025-11-20 23:05:30+01:00",
            "2025-11-20T23:05:30+01:00 ",
            "2025-11-20T23:05:30-00:00",
            "2025-11-20T23:05:30+01:60",
            "2025-02-30T23:05:30+01:00",
            "2025-11-20T23:05:3é+01:00",
        ] {
            assert_eq!(OffsetTime::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn times_of_day_are_two_digits_each() {
        assert_eq!(TimeOfDay::parse("23:59").map(TimeOfDay::minutes), Some(1439));
        assert_eq!(TimeOfDay::from_minutes(1440), None);
        for wrong in ["", "1:00", "24:00", "12:60", "12.30", "12:3a", "12:300", "-1:00"] {
            assert_eq!(TimeOfDay::parse(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn local_times_are_read_as_they_were_written(
            time_ms in -5_000_000_000_000_i64..5_000_000_000_000, offset in -1500_i16..1500, minutes in 0_u16..1440,
        ) {
            let time = OffsetTime::new(time_ms, offset);
            prop_assert_eq!(OffsetTime::parse(&time.to_string()), Some(time));
            prop_assert_eq!(time.epoch_ms(), time_ms.div_euclid(1000) * 1000);
            let of_day = TimeOfDay::from_minutes(minutes).unwrap();
            prop_assert_eq!(TimeOfDay::parse(&of_day.to_string()), Some(of_day));
        }
    }
}
