//! Window aggregates of local days that a batch has in hand.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use super::need::{Computed, Look, Need};
use super::output::{DerivedRow, Output, day_of, keys_of_days};
use super::windows::Windows;
use crate::cells::{CellsByDay, Day, Kept};
use crate::measured::Measured;
use crate::registry::DataType;
use crate::zone::{DAY_US, LocalDay, SECOND_US, WINDOW_US};

/// Local clocks are at most so far from UTC.
const FURTHEST_OFFSET_US: i64 = 16 * 3600 * SECOND_US;
const FIRST_DAY: LocalDay = LocalDay(i32::MIN / 2);
const LAST_DAY: LocalDay = LocalDay(i32::MAX / 2);
/// Days of the first look beyond the days in hand, and of the longest.
const FIRST_LOOK_DAYS: i64 = 6;
const LONGEST_LOOK_DAYS: i64 = 400;

/// Returns the local days that windows can lie on.
pub fn days_around(windows: &Windows) -> RangeInclusive<LocalDay> {
    let day = |time_us: i64| LocalDay(time_us.div_euclid(DAY_US) as i32);
    let (start_us, end_us) = (windows.start.saturating_mul(WINDOW_US), windows.end.saturating_mul(WINDOW_US));
    day(start_us.saturating_sub(FURTHEST_OFFSET_US))..=day(end_us.saturating_add(FURTHEST_OFFSET_US))
}

/// Days in hand: of some the aggregates of all types, of more those of vital signs.
#[derive(Clone, Debug, Default)]
pub(super) struct Days {
    by_date: BTreeMap<LocalDay, Day>,
    /// Days of which the aggregates of all types are in hand.
    whole: Option<(LocalDay, LocalDay)>,
    /// Days of which those of vital signs are in hand; these hold the ones that are whole.
    vital: Option<(LocalDay, LocalDay)>,
    changed: BTreeSet<(LocalDay, DataType)>,
    /// Looks beyond the days that were in hand.
    looks: u32,
}

impl Days {
    /// Asks for the aggregates of all types of some days. What is in hand stays one stretch of days.
    pub fn need(&self, first: LocalDay, last: LocalDay) -> Computed {
        let need = |first: LocalDay, last: LocalDay| {
            let (from, to) = keys_of_days(first, last);
            Need::Derived { output: Output::Slots, from, to }.into()
        };
        match self.whole {
            Some((start, _)) if first < start => Err(need(first, LocalDay(start.0 - 1))),
            Some((_, end)) if last > end => Err(need(LocalDay(end.0 + 1), last)),
            None => Err(need(first, last)),
            Some(_) => Ok(()),
        }
    }

    /// Asks for the aggregates of vital signs of the days that windows can lie on.
    pub fn need_vital(&self, windows: &Windows) -> Computed {
        let days = days_around(windows);
        match self.vital {
            Some((start, _)) if *days.start() < start => Err(Need::VitalDaysBefore(self.look(start)).into()),
            Some((_, end)) if *days.end() > end => Err(Need::VitalDaysAfter(self.look(end)).into()),
            None => self.need(*days.start(), *days.end()),
            Some(_) => Ok(()),
        }
    }

    /// Returns each look beyond reads twice as many days as the one before, so that a search of a long history begins
    /// again only a few times.
    fn look(&self, day: LocalDay) -> Look {
        // Twice as far each time: a search through a long history costs a handful of reads.
        Look { day, days: (FIRST_LOOK_DAYS << self.looks.min(16)).min(LONGEST_LOOK_DAYS) }
    }

    /// Takes stored aggregates of all types of some days, which touch those in hand. A day in hand has changed only when
    /// it is whole, so what is read of others is as good as what is in hand.
    pub fn take_whole(&mut self, (first, last): (LocalDay, LocalDay), rows: Vec<DerivedRow>) {
        self.by_date.extend(read_days(rows));
        let (start, end) = self.whole.unwrap_or((first, last));
        self.whole = Some((start.min(first), end.max(last)));
        let (start, end) = self.vital.unwrap_or((first, last));
        self.vital = Some((start.min(first), end.max(last)));
    }

    /// Takes what was stored of vital signs before all days in hand, some whole days; nothing when there is none.
    pub fn take_before(&mut self, rows: Vec<DerivedRow>) {
        self.looks += 1;
        let first = rows.iter().map(|row| day_of(row.key).0).min().unwrap_or(FIRST_DAY);
        self.by_date.extend(read_days(rows));
        self.vital = self.vital.map(|(_, end)| (first, end));
    }

    /// Takes what was stored of vital signs after all days in hand, some whole days; nothing when there is none.
    pub fn take_after(&mut self, rows: Vec<DerivedRow>) {
        self.looks += 1;
        let last = rows.iter().map(|row| day_of(row.key).0).max().unwrap_or(LAST_DAY);
        self.by_date.extend(read_days(rows));
        self.vital = self.vital.map(|(start, _)| (start, last));
    }

    /// Puts new aggregates in the place of all that lie in some windows; takes note of the days that change by it.
    pub fn replace<C: Kept>(&mut self, windows: &Windows, mut cells: CellsByDay<C>) {
        // Days that had nothing yet must be there before the loop over days, which only meets what exists.
        for day in cells.keys() {
            self.by_date.entry(*day).or_default();
        }
        for (date, day) in self.by_date.range_mut(days_around(windows)) {
            let new = cells.remove(date).unwrap_or_default();
            let kept = C::of_mut(day);
            // Cells that stay the same must not make sections dirty: most syncs of the past change nothing.
            if kept.in_windows(windows.clone()) != new.as_slice() {
                kept.replace(windows.clone(), new);
                self.changed.insert((*date, C::DATA_TYPE));
            }
        }
    }

    /// Returns the newest measurements of some windows.
    pub fn newest(&self, windows: &Windows) -> Computed<Measured> {
        self.need_vital(windows)?;
        let mut newest = Measured::default();
        for (_, day) in self.by_date.range(days_around(windows)) {
            newest.merge_newer(&day.newest(windows));
        }
        Ok(newest)
    }

    /// Returns whether any of the windows has rows that could hold vital signs.
    pub fn has_vitals(&self, windows: &Windows) -> Computed<bool> {
        self.need_vital(windows)?;
        Ok(self.by_date.range(days_around(windows)).any(|(_, day)| {
            let activity = day.activity.in_windows(windows.clone());
            !activity.is_empty() || !day.spot.in_windows(windows.clone()).is_empty()
        }))
    }

    /// Returns the first window from one on in which something was measured that NEWS scores.
    pub fn first_scored(&self, from: i64) -> Computed<Option<i64>> {
        let first = || self.by_date.values().flat_map(Day::scored_windows).filter(|window| *window >= from).min();
        match first() {
            // A later local day can begin before an earlier one ends, where the patient travelled.
            Some(window) => self.need_vital(&(window..window + 1)).map(|()| Some(window)),
            None => match self.vital {
                Some((_, end)) if end < LAST_DAY => Err(Need::VitalDaysAfter(self.look(end)).into()),
                Some(_) => Ok(None),
                None => self.need_vital(&(from..from + 1)).map(|()| None),
            },
        }
    }

    /// Returns the newest measurements of the look-back that ends with the last window before another in which something was
    /// measured that NEWS scores; `None` when there is no such window.
    pub fn last_scored(&self, before: i64, look_back: i64) -> Computed<Option<Measured>> {
        let last = self.by_date.values().flat_map(Day::scored_windows).filter(|window| *window < before).max();
        match last {
            Some(window) => self.newest(&(window - look_back..before)).map(Some),
            None => self.everything_before().map(|()| None),
        }
    }

    /// Asks for all that is stored of vital signs before the days in hand, some days at a time.
    pub fn everything_before(&self) -> Computed {
        match self.vital {
            Some((start, _)) if start > FIRST_DAY => Err(Need::VitalDaysBefore(self.look(start)).into()),
            _ => Ok(()),
        }
    }

    /// Asks for all that is stored of vital signs after the days in hand, some days at a time.
    pub fn everything_after(&self) -> Computed {
        match self.vital {
            Some((_, end)) if end < LAST_DAY => Err(Need::VitalDaysAfter(self.look(end)).into()),
            _ => Ok(()),
        }
    }

    /// Returns the days of which aggregates have changed, with the type.
    pub fn changed(&self) -> &BTreeSet<(LocalDay, DataType)> {
        &self.changed
    }

    /// Returns a day in hand.
    pub fn get(&self, day: LocalDay) -> Option<&Day> {
        self.by_date.get(&day)
    }

    /// Returns the days in hand, the latest first.
    pub fn latest_first(&self) -> impl Iterator<Item = (LocalDay, &Day)> {
        self.by_date.iter().rev().map(|(date, day)| (*date, day))
    }

    /// Returns the days that have aggregates of any type in some windows.
    pub fn with_cells_in(&self, windows: &Windows) -> impl Iterator<Item = LocalDay> + '_ {
        let windows = windows.clone();
        let of_days = self.by_date.range(days_around(&windows));
        of_days.filter(move |(_, day)| day.has_cells_in(&windows)).map(|(date, _)| *date)
    }

    /// Returns what is to be stored of the days that have changed: the packed aggregates of a type, `None` without any.
    pub fn packed(&self) -> impl Iterator<Item = ((LocalDay, DataType), Option<Vec<u8>>)> + '_ {
        self.changed.iter().map(|(date, data_type)| {
            let cells = self.by_date.get(date).map(|day| day.pack(*data_type)).unwrap_or_default();
            ((*date, *data_type), (!cells.is_empty()).then_some(cells))
        })
    }
}

/// Returns days by date, of stored aggregates in any order.
fn read_days(rows: Vec<DerivedRow>) -> BTreeMap<LocalDay, Day> {
    let mut days: BTreeMap<LocalDay, Day> = BTreeMap::new();
    for row in rows {
        let (date, number) = day_of(row.key);
        if let (Some(data_type), Some(body)) = (DataType::from_number(number), row.body) {
            days.entry(date).or_default().read(data_type, &body);
        }
    }
    days
}
