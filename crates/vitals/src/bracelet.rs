//! State of a patient's bracelet, as far as the rows that it sends show it: whether it charges, is worn and is heard of.
//!
//! Each state follows the newest row that reports it, by the time of the sample: rows that come late, or in another
//! order, do not bring an older state back. A change is reported once, when it becomes known.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::registry::DataType;
use crate::vital_rows::ActivityRows;

/// Time for which rows report a bracelet off the wrist until it counts as not worn, ms between the times of samples.
// By sample time: a phone that uploads an hour at once must come to the same state as one that uploads each minute.
pub const NOT_WORN_AFTER_MS: i64 = 30 * 60 * 1000;

/// Time without a newer sample after which a bracelet counts as silent, ms of the service's clock.
pub const SILENT_AFTER_MS: i64 = 60 * 60 * 1000;

/// State that a bracelet has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BraceletState {
    /// The newest row that reports charging says yes.
    Charging,
    /// It does not charge any more.
    NotCharging,
    /// It is off the wrist, for [`NOT_WORN_AFTER_MS`] at least.
    NotWorn,
    /// It is on the wrist again.
    Worn,
    /// No newer sample has come for [`SILENT_AFTER_MS`].
    Silent,
    /// A newer sample has come after a silence.
    Heard,
}

impl BraceletState {
    /// Every state.
    pub const ALL: [BraceletState; 6] = [
        BraceletState::Charging,
        BraceletState::NotCharging,
        BraceletState::NotWorn,
        BraceletState::Worn,
        BraceletState::Silent,
        BraceletState::Heard,
    ];

    /// Name of the state, as events have it.
    pub fn name(self) -> &'static str {
        match self {
            BraceletState::Charging => "charging",
            BraceletState::NotCharging => "not_charging",
            BraceletState::NotWorn => "not_worn",
            BraceletState::Worn => "worn",
            BraceletState::Silent => "silent",
            BraceletState::Heard => "heard",
        }
    }
}

/// Change of a bracelet's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BraceletChange {
    /// State that it has come to.
    pub state: BraceletState,
    /// Time of the newest sample that shows it, ms since 1970.
    pub time_ms: i64,
}

/// What is known of a patient's bracelet. The default is of one that has sent nothing yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownBracelet {
    /// Newest sample of any type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    heard: Option<Heard>,
    /// Newest row that reports whether it charges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    charging: Option<Reported>,
    /// Newest rows that report whether it is worn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wear: Option<Wear>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Heard {
    /// Time of the newest sample, ms.
    sample_ms: i64,
    /// Time at which it came, ms.
    arrived_ms: i64,
    is_silent: bool,
}

/// What a row reports, and its time, ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Reported {
    time_ms: i64,
    is_so: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Wear {
    /// The newest row: whether it is worn.
    newest: Reported,
    /// Time of the last row that reports it worn, ms.
    worn_ms: Option<i64>,
    /// Time of the first row after that one which reports it off the wrist, ms.
    off_ms: Option<i64>,
    /// Whether it counts as not worn.
    is_not_worn: bool,
}

/// Blocks of rows in the order of their times, those left out that are ahead of the clock: a phone whose clock is wrong
/// must not decide for hours what the state is.
struct Rows<'block> {
    blocks: Vec<(&'block Block, Range<usize>)>,
}

impl KnownBracelet {
    /// Takes in the rows of a sync that are not later than `not_after_us`, and returns what has changed. The rows of each
    /// block are in the order of their times; rows that are known already change nothing.
    pub fn take<'block>(
        &mut self,
        blocks: impl Iterator<Item = &'block Block>,
        received_ms: i64,
        not_after_us: i64,
    ) -> Vec<BraceletChange> {
        let until = |block: &Block| block.times_us.partition_point(|time| *time <= not_after_us);
        let rows = Rows { blocks: blocks.map(|block| (block, 0..until(block))).collect() };
        let newest_ms = rows.newest_ms().map(|newest_ms| newest_ms.min(to_ms(not_after_us)));
        let changes = [self.take_newest(newest_ms, received_ms), self.take_charging(&rows), self.take_wear(&rows)];
        changes.into_iter().flatten().collect()
    }

    /// Returns when it counts as silent unless something newer comes; `None` when it is silent or has sent nothing.
    pub fn silent_from_ms(&self) -> Option<i64> {
        self.heard.filter(|heard| !heard.is_silent).map(|heard| heard.arrived_ms + SILENT_AFTER_MS)
    }

    /// Lets it count as silent where its time has come.
    pub fn fall_silent(&mut self, now_ms: i64) -> Option<BraceletChange> {
        self.silent_from_ms().filter(|from_ms| *from_ms <= now_ms)?;
        let heard = self.heard.as_mut()?;
        heard.is_silent = true;
        Some(BraceletChange { state: BraceletState::Silent, time_ms: heard.sample_ms })
    }

    /// Rows older than the newest one fill a gap: they do not show that the bracelet still sends. Those ahead of the clock
    /// count as of the latest time that rows may have, or a bracelet whose clock is minutes ahead would seem to send nothing.
    fn take_newest(&mut self, newest_ms: Option<i64>, received_ms: i64) -> Option<BraceletChange> {
        let sample_ms = newest_ms?;
        let before = self.heard;
        if before.is_some_and(|before| sample_ms <= before.sample_ms) {
            return None;
        }
        // Clocks of two nodes may differ, and the later one has to be waited for.
        let arrived_ms = before.map_or(received_ms, |before| before.arrived_ms.max(received_ms));
        self.heard = Some(Heard { sample_ms, arrived_ms, is_silent: false });
        before
            .filter(|before| before.is_silent)
            .map(|_| BraceletChange { state: BraceletState::Heard, time_ms: sample_ms })
    }

    fn take_charging(&mut self, rows: &Rows<'_>) -> Option<BraceletChange> {
        let mut newest = self.charging;
        rows.each(|activity, row, time_ms| {
            // Of two rows of one time the later arrival holds.
            if let Some(is_so) = activity.is_charging(row).filter(|_| is_newest(newest, time_ms)) {
                newest = Some(Reported { time_ms, is_so });
            }
        });
        let is_so = |reported: Option<Reported>| reported.is_some_and(|reported| reported.is_so);
        let (was_charging, is_charging) = (is_so(self.charging), is_so(newest));
        self.charging = newest;
        let state = if is_charging { BraceletState::Charging } else { BraceletState::NotCharging };
        newest.filter(|_| was_charging != is_charging).map(|newest| BraceletChange { state, time_ms: newest.time_ms })
    }

    fn take_wear(&mut self, rows: &Rows<'_>) -> Option<BraceletChange> {
        let known = self.wear;
        let mut newest = known.map(|known| known.newest);
        let mut worn_ms = known.and_then(|known| known.worn_ms);
        rows.each(|activity, row, time_ms| {
            let Some(is_so) = activity.reported_worn(row) else { return };
            if is_so {
                worn_ms = worn_ms.max(Some(time_ms));
            }
            if is_newest(newest, time_ms) {
                newest = Some(Reported { time_ms, is_so });
            }
        });
        let newest = newest?;
        let off_ms = (!newest.is_so).then(|| {
            let mut first_ms = newest.time_ms;
            let mut note = |time_ms: i64| {
                // Later than the last worn row: rows that come late can lie on either side of it.
                if worn_ms < Some(time_ms) {
                    first_ms = first_ms.min(time_ms);
                }
            };
            known.and_then(|known| known.off_ms).into_iter().for_each(&mut note);
            rows.each(|activity, row, time_ms| {
                if activity.reported_worn(row) == Some(false) {
                    note(time_ms);
                }
            });
            first_ms
        });
        let was_not_worn = known.is_some_and(|known| known.is_not_worn);
        // A worn row that comes late shortens the time and takes nothing back: only a newest row that is worn does.
        let is_long = off_ms.is_some_and(|off_ms| newest.time_ms - off_ms >= NOT_WORN_AFTER_MS);
        let is_not_worn = !newest.is_so && (was_not_worn || is_long);
        self.wear = Some(Wear { newest, worn_ms, off_ms, is_not_worn });
        let state = if is_not_worn { BraceletState::NotWorn } else { BraceletState::Worn };
        (was_not_worn != is_not_worn).then_some(BraceletChange { state, time_ms: newest.time_ms })
    }
}

fn is_newest(newest: Option<Reported>, time_ms: i64) -> bool {
    newest.is_none_or(|newest| newest.time_ms <= time_ms)
}

impl Rows<'_> {
    /// Time of the newest row, of those too that are ahead of the clock, ms.
    fn newest_ms(&self) -> Option<i64> {
        let last = |(block, _): &(&Block, Range<usize>)| block.times_us.last().copied();
        self.blocks.iter().filter_map(last).max().map(to_ms)
    }

    /// Goes through the rows that can report a state of the bracelet, with their times, ms.
    fn each(&self, mut look: impl FnMut(&ActivityRows<'_>, usize, i64)) {
        for (block, rows) in self.blocks.iter().filter(|(block, _)| block.data_type == DataType::Activity) {
            let activity = ActivityRows::of(block);
            for row in rows.clone() {
                look(&activity, row, to_ms(block.times_us[row]));
            }
        }
    }
}

fn to_ms(time_us: i64) -> i64 {
    time_us.div_euclid(1000)
}
