//! Rules and rows that the tests share. Times are minutes.

use crate::alarms::*;

pub const MINUTE_MS: i64 = 60_000;
pub const HOUR: i64 = 60;

/// Alarms below 90, once the breach has lasted so many minutes.
pub fn below_90(for_minutes: u32) -> Rule {
    Rule { below: Some(90.0), for_s: for_minutes * 60, ..Rule::on(Signal::Spo2, Priority::High) }
}

pub fn always(rule: Rule) -> Span {
    Span::from(rule, 0)
}

pub fn value(minute: i64, value: f64) -> Sample {
    reading(minute, Reading::Value(value, Some(4)))
}

pub fn unknown(minute: i64, reason: Reason) -> Sample {
    reading(minute, Reading::Unknown(reason))
}

pub fn news(minute: i64, total: impl Into<Option<u8>>, highest_part: u8) -> Sample {
    reading(minute, Reading::News { total: total.into(), highest_part })
}

pub fn reading(minute: i64, reading: Reading) -> Sample {
    Sample { time_ms: minute * MINUTE_MS, reading }
}

/// Returns a value each minute, from minute 1 on.
pub fn each_minute(values: &[f64]) -> Vec<Sample> {
    (1..).zip(values).map(|(minute, of_minute)| value(minute, *of_minute)).collect()
}

/// Start, opening and end in minutes, and why it ended.
pub type Times = (i64, i64, Option<(i64, Ending)>);

pub fn times(episodes: &[Episode]) -> Vec<Times> {
    let minute = |time_ms: i64| time_ms / MINUTE_MS;
    let times = |episode: &Episode| {
        let end = episode.end.map(|(time_ms, ending)| (minute(time_ms), ending));
        (minute(episode.id.start_ms), minute(episode.opened_ms), end)
    };
    episodes.iter().map(times).collect()
}

/// Minute and number of each level that an episode had.
pub fn levels(episode: &Episode) -> Vec<(i64, u8)> {
    episode.levels.iter().map(|change| (change.time_ms / MINUTE_MS, change.level)).collect()
}

/// First minute, last minute and reason of each time in which an episode could not be judged.
pub fn unknowns(episode: &Episode) -> Vec<(i64, Option<i64>, Reason)> {
    let minutes =
        |unknown: &Unknown| (unknown.from_ms / MINUTE_MS, unknown.to_ms.map(|to_ms| to_ms / MINUTE_MS), unknown.reason);
    episode.unknown.iter().map(minutes).collect()
}
