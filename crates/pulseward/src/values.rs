//! Readings of option values: spans of time, dates, instants, sizes of pools, addresses.

use std::str::FromStr;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Returns a span such as `90d`, `12h`, `30m` or `300s`.
pub fn parse_span(text: &str) -> Result<SignedDuration, String> {
    let wrong = || format!("`{text}` is not a span of time such as 90d, 12h, 30m or 300s");
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let count: i64 = digits.parse().map_err(|_| wrong())?;
    let seconds = match &text[digits.len()..] {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return Err(wrong()),
    };
    // A hundred years keeps every sum with the present inside the calendar.
    match count.checked_mul(seconds) {
        Some(total) if (1..=100 * 366 * 86_400).contains(&total) => Ok(SignedDuration::from_secs(total)),
        _ => Err(wrong()),
    }
}

/// Returns the address of a service.
pub fn parse_service_url(text: &str) -> Result<String, String> {
    match reqwest::Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(text.to_owned()),
        _ => Err("the address of a service begins with http:// or https://".to_owned()),
    }
}

/// A time to wait, which may be none; in a file a text such as `300s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Seconds.
    pub seconds: i64,
}

impl FromStr for Interval {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let seconds = if text == "0s" { 0 } else { parse_span(text)?.as_secs() };
        Ok(Interval { seconds })
    }
}

impl Serialize for Interval {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{}s", self.seconds))
    }
}

impl<'de> Deserialize<'de> for Interval {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Time for which something is kept, a day at least; in a file a text such as `30d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Retention {
    /// Seconds.
    pub seconds: i64,
}

impl FromStr for Retention {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let seconds = parse_span(text)?.as_secs();
        if seconds < 86_400 {
            return Err(format!("`{text}` is less than a day"));
        }
        Ok(Retention { seconds })
    }
}

impl TryFrom<String> for Retention {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Retention> for String {
    fn from(retention: Retention) -> Self {
        format!("{}s", retention.seconds)
    }
}

/// How many connections a pool may open: from 1 to 1,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct Connections(u16);

impl Connections {
    /// Returns the number.
    pub fn count(self) -> usize {
        self.0.into()
    }
}

impl TryFrom<i64> for Connections {
    type Error = String;

    fn try_from(count: i64) -> Result<Self, String> {
        let count = u16::try_from(count).ok().filter(|count| (1..=1000).contains(count));
        count.map(Connections).ok_or_else(|| "a pool has from 1 to 1000 connections".to_owned())
    }
}

impl From<Connections> for i64 {
    fn from(connections: Connections) -> Self {
        connections.0.into()
    }
}

impl FromStr for Connections {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse::<i64>().map_err(|_| format!("`{text}` is not a number"))?.try_into()
    }
}

/// Time until which something holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// It does not.
    None,
    /// To this instant, ms.
    Instant(i64),
}

impl Until {
    /// Returns the instant, ms.
    pub fn ms(self) -> Option<i64> {
        match self {
            Until::None => None,
            Until::Instant(ms) => Some(ms),
        }
    }
}

/// `none`, an instant such as `2027-01-31T12:00:00Z`, or a date, whose last millisecond in UTC is meant.
pub fn parse_until(text: &str) -> Result<Until, String> {
    if text == "none" {
        return Ok(Until::None);
    }
    // First, because a date alone is no instant and an instant is no date.
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Ok(Until::Instant(instant.as_millisecond()));
    }
    let wrong = |_| format!("`{text}` is neither a date such as 2027-01-31 nor `none`");
    let date: Date = text.parse().map_err(wrong)?;
    // "Until the 31st" includes the 31st, wherever the reader of it is.
    let next = date.tomorrow().and_then(|day| day.to_zoned(TimeZone::UTC)).map_err(wrong)?;
    Ok(Until::Instant(next.timestamp().as_millisecond() - 1))
}

/// Returns an instant as the service's answers write it: ISO 8601, UTC, milliseconds.
pub fn iso(at_ms: i64) -> String {
    let instant = Timestamp::from_millisecond(at_ms).unwrap_or(Timestamp::MAX);
    format!("{instant:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_a_unit() {
        assert_eq!(parse_span("90d"), Ok(SignedDuration::from_hours(90 * 24)));
        assert_eq!(parse_span("300s"), Ok(SignedDuration::from_secs(300)));
        assert_eq!(parse_span("2w"), Ok(SignedDuration::from_hours(14 * 24)));
        for wrong in ["", "90", "d", "-1d", "0s", "1.5h", "3y", "99999999999d", "9223372036854775807d"] {
            assert!(parse_span(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn something_is_kept_for_a_day_at_least() {
        assert_eq!("30d".parse(), Ok(Retention { seconds: 30 * 86_400 }));
        assert_eq!(Retention::try_from(String::from(Retention { seconds: 86_400 })), "24h".parse());
        for wrong in ["23h", "0s", "30", "month"] {
            assert!(wrong.parse::<Retention>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn pool_of_no_or_too_many_connections_is_refused() {
        let count = |text: &str| text.parse::<Connections>().map(Connections::count);
        assert_eq!((count("1"), count("1000")), (Ok(1), Ok(1000)));
        for wrong in ["0", "1001", "-1", "99999999999"] {
            assert_eq!(count(wrong), Err("a pool has from 1 to 1000 connections".to_owned()), "{wrong}");
        }
        assert_eq!(count("many"), Err("`many` is not a number".to_owned()));
    }

    #[test]
    fn a_date_lasts_to_its_end() {
        let Ok(Until::Instant(ms)) = parse_until("2027-01-31") else { panic!() };
        assert_eq!(iso(ms), "2027-01-31T23:59:59.999Z");
        let Ok(Until::Instant(ms)) = parse_until("2027-01-31T12:00:00+01:00") else { panic!() };
        assert_eq!(iso(ms), "2027-01-31T11:00:00.000Z");
        assert_eq!(parse_until("none"), Ok(Until::None));
        assert!(parse_until("31.1.2027").is_err());
    }
}
