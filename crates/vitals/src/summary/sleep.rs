//! The sections `sleep` and `service_sleep`.

use jiff::tz::Offset;
use serde::Serialize;

use super::facts::{FactsByDay, Kind, consistency_on};
use super::night::Night;
use super::rounding::{percent, tenths};
use crate::sleep::{performance, tranquility};
use crate::zone::{LocalDay, timestamp_of};

/// Eight hours, s: what a night is measured by.
const GOAL_S: f64 = 8.0 * 3600.0;

/// The night that ends on a day. All durations are whole seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SleepSection {
    /// `YYYY-MM-DD`.
    pub date: String,
    /// /min, mean over the valid five-minute slots between onset and offset; null without one.
    pub heart_rate: Option<f64>,
    /// Mean quality of their rows, 0 to 4; null where none is given.
    pub heart_rate_quality: Option<f64>,
    /// From the start of the session to the first epoch asleep.
    pub time_to_sleep: i64,
    /// From the last epoch asleep to the end of the session.
    pub time_to_wake_up: i64,
    /// Start of the session.
    pub start_session_original_ph: String,
    /// End of the session.
    pub stop_session_original_ph: String,
    /// Asleep: rem + light + deep.
    pub sleep_duration: i64,
    /// Percent of eight hours slept in the sleep day, naps included, at most 100 (**ours**).
    pub daily_percent: f64,
    /// Awake, from start to end.
    pub awake_time: i64,
    /// REM; null where only sleep and wake are known.
    pub rem_time: Option<i64>,
    /// Light; null where only sleep and wake are known.
    pub light_time: Option<i64>,
    /// Deep; null where only sleep and wake are known.
    pub deep_time: Option<i64>,
    /// Percent of eight hours slept in the session, at most 100.
    pub performance: f64,
    /// 0 to 100, from wake after onset and awakenings (**ours**).
    pub tranquility: Option<f64>,
    /// 0 to 100, from the spread of mid-sleep over seven nights; null below three (**ours**).
    pub consistency: Option<f64>,
    /// First epoch asleep.
    pub start_date: String,
    /// End of the last epoch asleep.
    pub end_date: String,
}

impl SleepSection {
    /// `sleep`: by the bracelet's stages; `None` without a session.
    pub fn of_stages(day: LocalDay, facts: &FactsByDay) -> Option<Self> {
        Self::of(day, facts, Kind::Stages)
    }

    /// `service_sleep`: by the movements of the wrist; `None` where they do not tell.
    pub fn of_movements(day: LocalDay, facts: &FactsByDay) -> Option<Self> {
        Self::of(day, facts, Kind::Movements)
    }

    fn of(day: LocalDay, facts: &FactsByDay, kind: Kind) -> Option<Self> {
        let night: Night = kind.of(facts.get(&day)?)?;
        let session = &night.session;
        let stages = session.stages;
        Some(SleepSection {
            date: day.to_string(),
            heart_rate: night.heart_rate,
            heart_rate_quality: night.heart_rate_quality,
            time_to_sleep: session.time_to_sleep_s(),
            time_to_wake_up: session.time_to_wake_up_s(),
            start_session_original_ph: local_time(session.start_ms, night.start_offset_min),
            stop_session_original_ph: local_time(session.end_ms, night.end_offset_min),
            sleep_duration: session.sleep_duration_s,
            daily_percent: percent(night.all_sleep_s as f64, GOAL_S),
            awake_time: session.awake_s,
            rem_time: stages.map(|stages| stages.rem_s),
            light_time: stages.map(|stages| stages.light_s),
            deep_time: stages.map(|stages| stages.deep_s),
            performance: tenths(performance(session.sleep_duration_s)),
            tranquility: tranquility(session).map(tenths),
            consistency: consistency_on(day, facts, kind),
            start_date: local_time(session.onset_ms, night.start_offset_min),
            end_date: local_time(session.offset_ms, night.end_offset_min),
        })
    }
}

/// `2025-11-20T23:05:30+01:00`.
fn local_time(time_ms: i64, offset_minutes: i16) -> String {
    let offset = Offset::from_seconds(i32::from(offset_minutes) * 60).unwrap_or(Offset::UTC);
    let local = offset.to_datetime(timestamp_of(time_ms.saturating_mul(1000)));
    let sign = if offset_minutes < 0 { '-' } else { '+' };
    let minutes = offset_minutes.unsigned_abs();
    format!("{}{sign}{:02}:{:02}", local.strftime("%Y-%m-%dT%H:%M:%S"), minutes / 60, minutes % 60)
}
