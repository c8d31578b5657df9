//! Where a chart has nothing to show, and why: the bracelet was not worn, it charged, its battery ran out, or nothing has
//! been synced.
//!
//! The five-minute cells of activity decide: a window whose rows were mostly off the wrist is a gap although there are
//! rows. A window without rows follows a low battery or has simply not arrived, unless the tally knows rows of what is
//! shown in its quarter of an hour.

use std::collections::BTreeMap;

use runtime::HashSet;
use store::{PatientId, TallyRow};
use vitals::cells::{ActivityCell, DayCells, WINDOW_MS};
use vitals::derivation::DerivedRow;
use vitals::registry::DataType;
use vitals::zone::{DAY_US, LocalDay, QUARTER_US, WINDOW_US};

use crate::core::access::Readable;
use crate::core::error::Result;
use crate::data::Data;

/// Local days are at most so far from UTC's, and a low battery is looked for so far before a range.
const AROUND_US: i64 = DAY_US;

/// Reason why there is nothing to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapReason {
    /// The bracelet was off the wrist.
    NotWorn,
    /// The bracelet was charging.
    Charging,
    /// The battery was low when it was last heard of.
    LowBattery,
    /// Nothing has arrived.
    NotSynced,
}

impl GapReason {
    /// As pages read it.
    pub fn name(self) -> &'static str {
        match self {
            GapReason::NotWorn => "not_worn",
            GapReason::Charging => "charging",
            GapReason::LowBattery => "low_battery",
            GapReason::NotSynced => "not_synced",
        }
    }
}

/// A time without anything to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Begin, µs.
    pub from_us: i64,
    /// End, µs, excluded.
    pub end_us: i64,
    /// Reason.
    pub reason: GapReason,
}

/// What the cells hold of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    worn: bool,
    charging: bool,
    low_battery: bool,
}

impl Data {
    /// Returns the gaps of what is shown of a patient in a range of µs, whose end is excluded. `tally` is that of the
    /// quarters of an hour of the range.
    pub(super) async fn gaps(
        &self,
        patient: &Readable<PatientId>,
        span_us: (i64, i64),
        types: &[DataType],
        tally: &[TallyRow],
    ) -> Result<Vec<Gap>> {
        let patient = patient.uuid();
        let (from_us, end_us) = span_us;
        let day = |time_us: i64| LocalDay(time_us.div_euclid(DAY_US) as i32);
        let activity = [DataType::Activity, DataType::Activity];
        let days = (day(from_us - AROUND_US), day(end_us + AROUND_US));
        let cells = self.core.health().slots_of_types(patient, days.0, days.1, activity).await?;
        Ok(gaps_of(span_us, &windows_of(&cells), &quarters_with(tally, types), self.core.now_ms() * 1000))
    }
}

fn windows_of(rows: &[DerivedRow]) -> BTreeMap<i64, Window> {
    let days = rows.iter().filter_map(|row| DayCells::<ActivityCell>::unpack(row.body.as_deref()?));
    let mut windows = BTreeMap::new();
    for day in days {
        for cell in day.cells() {
            let window =
                Window { worn: cell.is_wearing(), charging: cell.is_charging(), low_battery: cell.is_low_battery() };
            windows.insert(cell.place.start_ms() / WINDOW_MS, window);
        }
    }
    windows
}

/// Returns the quarters of an hour, by their start, that hold rows of what is shown, where that is not activity itself.
fn quarters_with(tally: &[TallyRow], types: &[DataType]) -> HashSet<i64> {
    let shown = tally.iter().filter(|row| row.data_type != DataType::Activity && types.contains(&row.data_type));
    shown.map(|row| row.quarter.start_us).collect()
}

fn gaps_of(
    (from_us, end_us): (i64, i64),
    windows: &BTreeMap<i64, Window>,
    quarters: &HashSet<i64>,
    now_us: i64,
) -> Vec<Gap> {
    let mut gaps: Vec<Gap> = Vec::new();
    let first = from_us.div_euclid(WINDOW_US);
    // A battery that was low in the last window before the range explains a gap at its begin.
    let mut low_battery = windows.range(..first).next_back().is_some_and(|(_, window)| window.low_battery);
    // What has not been yet is no gap, and what is just going on may still arrive.
    let end_us = end_us.min(now_us);
    for number in first..(end_us + WINDOW_US - 1).div_euclid(WINDOW_US) {
        let reason = match windows.get(&number) {
            Some(window) => {
                low_battery = window.low_battery;
                match window {
                    Window { charging: true, .. } => Some(GapReason::Charging),
                    Window { worn: false, .. } => Some(GapReason::NotWorn),
                    Window { .. } => None,
                }
            }
            // Waveforms can arrive without activity rows; the quarter shows that the bracelet measured.
            None if quarters.contains(&((number * WINDOW_US).div_euclid(QUARTER_US) * QUARTER_US)) => None,
            None if low_battery => Some(GapReason::LowBattery),
            None => Some(GapReason::NotSynced),
        };
        let Some(reason) = reason else { continue };
        let (start, end) = ((number * WINDOW_US).max(from_us), ((number + 1) * WINDOW_US).min(end_us));
        match gaps.last_mut() {
            Some(gap) if gap.reason == reason && gap.end_us == start => gap.end_us = end,
            _ if start < end => gaps.push(Gap { from_us: start, end_us: end, reason }),
            _ => {}
        }
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORN: Window = Window { worn: true, charging: false, low_battery: false };
    const FAR_US: i64 = 1000 * WINDOW_US;

    fn found(windows: &[(i64, Window)], from: i64, end: i64, now_us: i64) -> Vec<(i64, i64, &'static str)> {
        let windows = windows.iter().copied().collect();
        gaps_of((from * WINDOW_US, end * WINDOW_US), &windows, &HashSet::default(), now_us)
            .into_iter()
            .map(|gap| (gap.from_us / WINDOW_US, gap.end_us / WINDOW_US, gap.reason.name()))
            .collect()
    }

    #[test]
    fn each_gap_has_its_reason() {
        let off = Window { worn: false, ..WORN };
        let charging = Window { worn: false, charging: true, ..WORN };
        let low = Window { low_battery: true, ..WORN };
        let windows =
            [(0, WORN), (3, WORN), (4, off), (5, off), (6, charging), (7, WORN), (8, low), (11, WORN), (12, WORN)];
        assert_eq!(
            found(&windows, 0, 14, FAR_US),
            [
                (1, 3, "not_synced"),
                (4, 6, "not_worn"),
                (6, 7, "charging"),
                (9, 11, "low_battery"),
                (13, 14, "not_synced"),
            ]
        );
        assert_eq!(found(&windows, 9, 10, FAR_US), [(9, 10, "low_battery")], "the battery was low before the range");
    }

    #[test]
    fn what_has_not_been_yet_is_no_gap() {
        assert_eq!(found(&[(0, WORN)], 0, 10, 4 * WINDOW_US), [(1, 4, "not_synced")]);
        assert!(found(&[], 5, 10, 4 * WINDOW_US).is_empty());
    }

    #[test]
    fn a_gap_is_cut_to_the_range() {
        let gaps = gaps_of((10, 20), &BTreeMap::new(), &HashSet::default(), FAR_US);
        assert_eq!(gaps, [Gap { from_us: 10, end_us: 20, reason: GapReason::NotSynced }]);
    }

    #[test]
    fn rows_of_what_is_shown_are_no_gap_without_activity() {
        let quarters = HashSet::from_iter([QUARTER_US]);
        let gaps = gaps_of((0, 3 * QUARTER_US), &BTreeMap::new(), &quarters, FAR_US);
        let spans: Vec<(i64, i64)> = gaps.iter().map(|gap| (gap.from_us, gap.end_us)).collect();
        assert_eq!(spans, [(0, QUARTER_US), (2 * QUARTER_US, 3 * QUARTER_US)]);
    }
}
