//! The sections `sleep` and `service_sleep`.

use super::bounds::{NIGHT_SECONDS, column};
use super::described::described;
use super::facts::{FactsByDay, Kind, consistency_on};
use super::local_time::OffsetTime;
use super::night::Night;
use super::rounding::{percent, tenths};
use super::units::{BeatsPerMinute, Percent, Seconds};
use crate::registry::DataType;
use crate::sleep::{performance, tranquility};
use crate::zone::LocalDay;

/// Eight hours, s: what a night is measured by.
const GOAL_S: f64 = 8.0 * 3600.0;

described! {
    /// The night that ends on a day.
    pub struct SleepSection {
        /// Local day.
        pub date: LocalDay = "2025-11-20",
        /// Mean over the valid five-minute slots between onset and offset; null without one.
        pub heart_rate: Option<BeatsPerMinute> = 56.2 within column(DataType::Activity, "bpm"),
        /// Mean quality of their rows, 0 to 4; null where none is given.
        pub heart_rate_quality: Option<f64> = 3 within column(DataType::Activity, "bpm_q"),
        /// From the start of the session to the first epoch asleep.
        pub time_to_sleep: Seconds = 840 within NIGHT_SECONDS,
        /// From the last epoch asleep to the end of the session.
        pub time_to_wake_up: Seconds = 300 within NIGHT_SECONDS,
        /// Start of the session.
        pub start_session_original_ph: OffsetTime = "2025-11-19T22:48:00+01:00",
        /// End of the session.
        pub stop_session_original_ph: OffsetTime = "2025-11-20T06:57:00+01:00",
        /// Asleep: rem + light + deep.
        pub sleep_duration: Seconds = 26700 within NIGHT_SECONDS,
        /// Share of eight hours slept in the sleep day, naps included, at most 100 (**ours**).
        pub daily_percent: Percent = 92.7 in 0 to 100,
        /// Awake, from start to end.
        pub awake_time: Seconds = 2640 within NIGHT_SECONDS,
        /// REM; null where only sleep and wake are known.
        pub rem_time: Option<Seconds> = 5400 within NIGHT_SECONDS,
        /// Light; null where only sleep and wake are known.
        pub light_time: Option<Seconds> = 15000 within NIGHT_SECONDS,
        /// Deep; null where only sleep and wake are known.
        pub deep_time: Option<Seconds> = 6300 within NIGHT_SECONDS,
        /// Share of eight hours slept in the session, at most 100.
        pub performance: Percent = 92.7 in 0 to 100,
        /// 0 to 100, from wake after onset and awakenings (**ours**).
        pub tranquility: Option<f64> = 84.2 in 0 to 100,
        /// 0 to 100, from the spread of mid-sleep over seven nights; null below three (**ours**).
        pub consistency: Option<f64> = 88.6 in 0 to 100,
        /// First epoch asleep.
        pub start_date: OffsetTime = "2025-11-19T23:02:00+01:00",
        /// End of the last epoch asleep.
        pub end_date: OffsetTime = "2025-11-20T06:52:00+01:00",
    }
}

impl SleepSection {
    /// `sleep`: by the bracelet's stages; `None` without a session.
    pub fn of_stages(day: LocalDay, facts: &FactsByDay) -> Option<Self> {
        Self::of(day, facts, Kind::Stages)
    }

    /// `service_sleep`: by the movements of the wrist; `None` where they do not report.
    pub fn of_movements(day: LocalDay, facts: &FactsByDay) -> Option<Self> {
        Self::of(day, facts, Kind::Movements)
    }

    fn of(day: LocalDay, facts: &FactsByDay, kind: Kind) -> Option<Self> {
        let night: Night = kind.of(facts.get(&day)?)?;
        let session = &night.session;
        let stages = session.stages;
        Some(SleepSection {
            date: day,
            heart_rate: night.heart_rate.map(BeatsPerMinute),
            heart_rate_quality: night.heart_rate_quality,
            time_to_sleep: Seconds(session.time_to_sleep_s()),
            time_to_wake_up: Seconds(session.time_to_wake_up_s()),
            start_session_original_ph: OffsetTime::new(session.start_ms, night.start_offset_min),
            stop_session_original_ph: OffsetTime::new(session.end_ms, night.end_offset_min),
            sleep_duration: Seconds(session.sleep_duration_s),
            daily_percent: Percent(percent(night.all_sleep_s as f64, GOAL_S)),
            awake_time: Seconds(session.awake_s),
            // Null and not 0 where only sleep and wake are known: nobody was without REM sleep.
            rem_time: stages.map(|stages| Seconds(stages.rem_s)),
            light_time: stages.map(|stages| Seconds(stages.light_s)),
            deep_time: stages.map(|stages| Seconds(stages.deep_s)),
            performance: Percent(tenths(performance(session.sleep_duration_s))),
            tranquility: tranquility(session).map(tenths),
            consistency: consistency_on(day, facts, kind),
            start_date: OffsetTime::new(session.onset_ms, night.start_offset_min),
            end_date: OffsetTime::new(session.offset_ms, night.end_offset_min),
        })
    }
}
