//! Sums over sleep stages.
//!
//! A session is a row of 30-second epochs; sessions less than 60 minutes apart are one (one gets
//! up and lies down again). The time between them belongs to no stage.

/// Length of one epoch of stages, ms.
pub const EPOCH_MS: i64 = 30_000;
/// Sessions at least so far apart are two, ms.
pub const SESSION_GAP_MS: i64 = 3_600_000;

/// Stage of one epoch, numbered as in the `sleep` data type (**ours**).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// 0: awake.
    Awake,
    /// 1: light sleep, N1 and N2.
    Light,
    /// 2: deep sleep, N3.
    Deep,
    /// 3: REM sleep.
    Rem,
}

impl Stage {
    /// Returns the `sleep_state` of the stage.
    pub const fn state(self) -> i64 {
        self as i64
    }

    /// Returns the stage of that `sleep_state`; None for a number that is none.
    pub fn from_state(state: i64) -> Option<Self> {
        match state {
            0 => Some(Self::Awake),
            1 => Some(Self::Light),
            2 => Some(Self::Deep),
            3 => Some(Self::Rem),
            _ => None,
        }
    }
}

/// Stage of the 30 seconds that begin at `time_ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageEpoch {
    /// Unix epoch milliseconds.
    pub time_ms: i64,
    /// Stage.
    pub stage: Stage,
}

/// Time per sleep stage in s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageSums {
    /// REM sleep.
    pub rem_s: i64,
    /// Light sleep.
    pub light_s: i64,
    /// Deep sleep.
    pub deep_s: i64,
}

/// One session with some sleep in it. All durations in s, all times Unix epoch milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// Start of the first epoch.
    pub start_ms: i64,
    /// End of the last epoch.
    pub end_ms: i64,
    /// Start of the first epoch asleep.
    pub onset_ms: i64,
    /// End of the last epoch asleep.
    pub offset_ms: i64,
    /// Time asleep: rem + light + deep.
    pub sleep_duration_s: i64,
    /// Time awake, from start to end.
    pub awake_s: i64,
    /// Time awake between onset and offset.
    pub wake_after_onset_s: i64,
    /// Number of stretches awake between onset and offset.
    pub awakenings: u32,
    /// Time per stage; None where only sleep and wake are known.
    pub stages: Option<StageSums>,
}

impl Session {
    /// Session start to first epoch asleep, s.
    pub fn time_to_sleep_s(&self) -> i64 {
        (self.onset_ms - self.start_ms) / 1000
    }

    /// Last epoch asleep to session end, s.
    pub fn time_to_wake_up_s(&self) -> i64 {
        (self.end_ms - self.offset_ms) / 1000
    }

    /// Half-way between start and end, Unix epoch milliseconds.
    pub fn midpoint_ms(&self) -> i64 {
        i64::midpoint(self.start_ms, self.end_ms)
    }

    /// Half-way between falling asleep and waking up, Unix epoch milliseconds.
    pub fn mid_sleep_ms(&self) -> i64 {
        i64::midpoint(self.onset_ms, self.offset_ms)
    }

    /// Sums over epochs of `epoch_ms` that begin at the given times, each with whether it was
    /// asleep; None when none was. An epoch ends where the next begins, if that is sooner.
    pub(crate) fn of(epoch_ms: i64, epochs: &[(i64, bool)]) -> Option<Self> {
        let spent_s = |epochs: &[(i64, bool)], wanted: bool| {
            let lengths = lengths_ms(epoch_ms, epochs.iter().map(|(time_ms, _)| *time_ms));
            let of_kind = epochs.iter().zip(lengths).filter(|((_, asleep), _)| *asleep == wanted);
            // Added up in milliseconds first: cutting each epoch to seconds loses up to a second per epoch.
            of_kind.map(|(_, length_ms)| length_ms).sum::<i64>() / 1000
        };
        // Somebody who lay awake for the whole session has no night, and no onset to measure from.
        let first_asleep = epochs.iter().position(|(_, asleep)| *asleep)?;
        let last_asleep = epochs.iter().rposition(|(_, asleep)| *asleep)?;
        let between = &epochs[first_asleep..=last_asleep];
        // Somebody who wakes within an epoch sleeps until then and not for the rest of it.
        let next_ms = epochs.get(last_asleep + 1).map_or(i64::MAX, |(time_ms, _)| *time_ms);
        // Only changes from sleep to wake: a wake of an hour is one awakening, as the patient would report it.
        let awakenings = between.windows(2).filter(|pair| pair[0].1 && !pair[1].1).count();
        Some(Self {
            start_ms: epochs.first()?.0,
            end_ms: epochs.last()?.0.saturating_add(epoch_ms),
            onset_ms: epochs[first_asleep].0,
            offset_ms: epochs[last_asleep].0.saturating_add(epoch_ms).min(next_ms),
            sleep_duration_s: spent_s(epochs, true),
            awake_s: spent_s(epochs, false),
            wake_after_onset_s: spent_s(between, false),
            awakenings: awakenings as u32,
            stages: None,
        })
    }
}

/// Returns the sessions in `epochs`, which ascend in time; those without any sleep are left out.
pub fn sessions(epochs: &[StageEpoch]) -> Vec<Session> {
    epochs.chunk_by(are_near).filter_map(session).collect()
}

/// Returns whether an epoch and the one after it can be of one session.
pub(crate) fn are_near(one: &StageEpoch, next: &StageEpoch) -> bool {
    // Counted from the end of an epoch: an hour in which nothing was sent is a gap, whatever the length of epochs.
    next.time_ms.saturating_sub(one.time_ms.saturating_add(EPOCH_MS)) < SESSION_GAP_MS
}

/// Returns the stretches asleep, from their start to their end (ms), in epochs of `epoch_ms` that begin at the given times,
/// each with whether it was asleep.
pub(crate) fn stretches_asleep(epoch_ms: i64, epochs: &[(i64, bool)]) -> Vec<(i64, i64)> {
    let mut stretches: Vec<(i64, i64)> = Vec::new();
    let mut was_asleep = false;
    for (time_ms, is_asleep) in epochs.iter().copied() {
        let epoch_end_ms = time_ms.saturating_add(epoch_ms);
        match (stretches.last_mut(), is_asleep) {
            // Rows do not come to the millisecond, and a single one lost between two asleep is no waking. What is missing
            // for longer is not known to be sleep.
            (Some((_, end_ms)), true) if was_asleep && time_ms.saturating_sub(*end_ms) <= epoch_ms => {
                *end_ms = epoch_end_ms;
            }
            (_, true) => stretches.push((time_ms, epoch_end_ms)),
            // Somebody who wakes within an epoch slept until then.
            (Some((_, end_ms)), false) => *end_ms = (*end_ms).min(time_ms),
            (None, false) => {}
        }
        was_asleep = is_asleep;
    }
    stretches
}

/// Returns how long each of some epochs lasts, ms: `epoch_ms`, or until the next begins if that is sooner, so that
/// nobody sleeps longer than the patient lies.
fn lengths_ms(epoch_ms: i64, times_ms: impl Iterator<Item = i64> + Clone) -> impl Iterator<Item = i64> {
    let next = times_ms.clone().skip(1).map(Some).chain(std::iter::once(None));
    let length_ms = move |(time_ms, next): (i64, Option<i64>)| {
        next.map_or(epoch_ms, |next_ms| next_ms.saturating_sub(time_ms).clamp(0, epoch_ms))
    };
    times_ms.zip(next).map(length_ms)
}

/// One session's sums; None without sleep.
fn session(epochs: &[StageEpoch]) -> Option<Session> {
    let asleep: Vec<(i64, bool)> = epochs.iter().map(|epoch| (epoch.time_ms, epoch.stage != Stage::Awake)).collect();
    let spent_s = |stage| {
        let lengths = lengths_ms(EPOCH_MS, epochs.iter().map(|epoch| epoch.time_ms));
        let of_stage = epochs.iter().zip(lengths).filter(|(epoch, _)| epoch.stage == stage);
        of_stage.map(|(_, length_ms)| length_ms).sum::<i64>() / 1000
    };
    let stages = StageSums { rem_s: spent_s(Stage::Rem), light_s: spent_s(Stage::Light), deep_s: spent_s(Stage::Deep) };
    let sleep_duration_s = stages.rem_s + stages.light_s + stages.deep_s;
    Some(Session { stages: Some(stages), sleep_duration_s, ..Session::of(EPOCH_MS, &asleep)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretch_asleep_ends_where_somebody_wakes_and_where_more_than_one_row_is_missing() {
        let asleep = |times_s: &[i64]| times_s.iter().map(|time_s| (time_s * 1000, true)).collect::<Vec<_>>();
        for (times_s, expected) in [
            (vec![0, 30, 60], vec![(0, 90_000)]),
            (vec![0, 31, 60, 120], vec![(0, 150_000)]),
            (vec![0, 90], vec![(0, 30_000), (90_000, 120_000)]),
            (vec![], vec![]),
        ] {
            assert_eq!(stretches_asleep(EPOCH_MS, &asleep(&times_s)), expected, "{times_s:?}");
        }
        let woken = [(0, true), (20_000, false), (50_000, true), (80_000, false)];
        assert_eq!(stretches_asleep(EPOCH_MS, &woken), [(0, 20_000), (50_000, 80_000)]);
    }

    #[test]
    fn sleep_is_no_longer_than_the_time_in_bed() {
        for (step_ms, slept_s) in [(10_000, 14_420), (20_000, 14_410), (30_000, 14_400), (60_000, 7_200)] {
            let epoch = |at: i64| StageEpoch { time_ms: at * step_ms, stage: Stage::Light };
            let epochs: Vec<StageEpoch> = (0..14_400_000 / step_ms).map(epoch).collect();
            let session = sessions(&epochs)[0];
            assert_eq!(session.sleep_duration_s, slept_s, "{step_ms}");
            assert_eq!(session.stages.map(|stages| stages.light_s), Some(slept_s));
            assert!(session.sleep_duration_s * 1000 <= session.end_ms - session.start_ms);
        }
    }
}
