//! The cells of a patient's days while he is folded.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use store::SlotRow;
use vitals::cells::{CellsByDay, Day, Kept};
use vitals::latest::LatestValues;
use vitals::registry::DataType;
use vitals::zone::{DAY_US, LocalDay, SECOND_US, WINDOW_US};

use super::plan::Windows;
use super::source::FoldSource;

/// Local clocks are at most so far from UTC.
const FURTHEST_OFFSET_US: i64 = 16 * 3600 * SECOND_US;

/// The local days that windows can lie on.
pub(crate) fn days_around(windows: &Windows) -> RangeInclusive<LocalDay> {
    let day = |time_us: i64| LocalDay(time_us.div_euclid(DAY_US) as i32);
    day(windows.start * WINDOW_US - FURTHEST_OFFSET_US)..=day(windows.end * WINDOW_US + FURTHEST_OFFSET_US)
}

/// Days by date, of cells rows in any order.
pub(crate) fn read_days(rows: &[SlotRow]) -> BTreeMap<LocalDay, Day> {
    let mut days: BTreeMap<LocalDay, Day> = BTreeMap::new();
    for row in rows {
        days.entry(row.day).or_default().read(row.data_type, &row.cells);
    }
    days
}

/// The days that a fold has in hand.
#[derive(Clone, Debug)]
pub(crate) struct Days {
    by_date: BTreeMap<LocalDay, Day>,
    /// Days of which the cells of all types are in hand.
    whole: RangeInclusive<LocalDay>,
    /// Days of which the cells of vital signs are in hand.
    loaded: RangeInclusive<LocalDay>,
    changed: BTreeSet<(LocalDay, DataType)>,
}

impl Days {
    /// Loads the days that some windows can lie on; of those that other windows can lie on, the vital signs alone.
    pub async fn load(source: &impl FoldSource, whole: &Windows, vital: Option<&Windows>) -> store::Result<Self> {
        let whole = days_around(whole);
        let loaded = vital.map_or_else(|| whole.clone(), days_around);
        let mut rows = source.slots(*whole.start(), *whole.end()).await?;
        if loaded.start() < whole.start() {
            rows.extend(source.vital_slots(*loaded.start(), LocalDay(whole.start().0 - 1)).await?);
        }
        if loaded.end() > whole.end() {
            rows.extend(source.vital_slots(LocalDay(whole.end().0 + 1), *loaded.end()).await?);
        }
        Ok(Days { by_date: read_days(&rows), whole, loaded, changed: BTreeSet::new() })
    }

    /// Loads the cells of all types of some days, where they are not in hand. Cells change only on days that are whole
    /// from the beginning, so what is in hand of others is as it is stored.
    pub async fn make_whole(&mut self, source: &impl FoldSource, first: LocalDay, last: LocalDay) -> store::Result<()> {
        let (start, end) = (*self.whole.start(), *self.whole.end());
        if first < start {
            self.by_date.extend(read_days(&source.slots(first, LocalDay(start.0 - 1)).await?));
        }
        if last > end {
            self.by_date.extend(read_days(&source.slots(LocalDay(end.0 + 1), last).await?));
        }
        self.whole = start.min(first)..=end.max(last);
        Ok(())
    }

    /// Puts new cells in the place of all that lie in some windows; takes note of the days that change by it.
    pub fn replace<C: Kept>(&mut self, windows: &Windows, mut cells: CellsByDay<C>) {
        for day in cells.keys() {
            self.by_date.entry(*day).or_default();
        }
        for (date, day) in &mut self.by_date {
            let new = cells.remove(date).unwrap_or_default();
            let kept = C::of_mut(day);
            if kept.in_windows(windows.clone()) != new.as_slice() {
                kept.replace(windows.clone(), new);
                self.changed.insert((*date, C::DATA_TYPE));
            }
        }
    }

    /// The newest values measured in some windows that are loaded.
    pub fn newest(&self, windows: &Windows) -> LatestValues {
        let mut newest = LatestValues::default();
        for (_, day) in self.by_date.range(days_around(windows)) {
            newest.merge_newer(&day.newest(windows));
        }
        newest
    }

    /// Whether any of the windows has rows that could hold vital signs.
    pub fn has_vitals(&self, windows: &Windows) -> bool {
        self.by_date.range(days_around(windows)).any(|(_, day)| {
            let activity = day.activity.in_windows(windows.clone());
            !activity.is_empty() || !day.spot.in_windows(windows.clone()).is_empty()
        })
    }

    /// The first window from one on in which something was measured that NEWS scores.
    pub async fn first_scored(&self, source: &impl FoldSource, from: i64) -> store::Result<Option<i64>> {
        let first_in = |days: &BTreeMap<LocalDay, Day>| {
            days.values().flat_map(Day::scored_windows).filter(|window| *window >= from).min()
        };
        let mut found = first_in(&self.by_date);
        let mut after = *self.loaded.end();
        while found.is_none() {
            let rows = source.slots_after(after).await?;
            let Some(last) = rows.last() else { return Ok(None) };
            after = last.day;
            found = first_in(&read_days(&rows));
        }
        let Some(window) = found else { return Ok(None) };
        // A later local day can begin before an earlier one ends, where the patient travelled.
        let days = self.around(source, &(window..window + 1)).await?;
        Ok(first_in(&days))
    }

    /// The newest values of the look-back that ends with the last window before another in which something was
    /// measured that NEWS scores; `None` when there is no such window.
    pub async fn last_scored(
        &self,
        source: &impl FoldSource,
        before: i64,
        look_back: i64,
    ) -> store::Result<Option<LatestValues>> {
        let last_in = |days: &BTreeMap<LocalDay, Day>| {
            days.values().flat_map(Day::scored_windows).filter(|window| *window < before).max()
        };
        let mut found = last_in(&self.by_date);
        let mut day = *self.loaded.start();
        while found.is_none() {
            let rows = source.slots_before(day).await?;
            let Some(earliest) = rows.last() else { return Ok(None) };
            day = earliest.day;
            found = last_in(&read_days(&rows));
        }
        let Some(window) = found else { return Ok(None) };
        let days = self.around(source, &(window - look_back..window + 1)).await?;
        let windows = last_in(&days).unwrap_or(window) - look_back..before;
        let mut newest = LatestValues::default();
        for day in days.values() {
            newest.merge_newer(&day.newest(&windows));
        }
        Ok(Some(newest))
    }

    /// The days that some windows can lie on: as they are in hand, else as they are stored.
    async fn around(&self, source: &impl FoldSource, windows: &Windows) -> store::Result<BTreeMap<LocalDay, Day>> {
        let needed = days_around(windows);
        let in_hand = self.loaded.contains(needed.start()) && self.loaded.contains(needed.end());
        let mut days = BTreeMap::new();
        if !in_hand {
            days = read_days(&source.vital_slots(*needed.start(), *needed.end()).await?);
        }
        days.extend(self.by_date.range(needed).map(|(date, day)| (*date, day.clone())));
        Ok(days)
    }

    /// The days whose cells have changed, with the type.
    pub fn changed(&self) -> &BTreeSet<(LocalDay, DataType)> {
        &self.changed
    }

    /// A day in hand.
    pub fn get(&self, day: LocalDay) -> Option<&Day> {
        self.by_date.get(&day)
    }

    /// The days in hand, the latest first.
    pub fn latest_first(&self) -> impl Iterator<Item = (LocalDay, &Day)> {
        self.by_date.iter().rev().map(|(date, day)| (*date, day))
    }

    /// The stored days after those that were loaded.
    pub async fn after_loaded(&self, source: &impl FoldSource) -> store::Result<BTreeMap<LocalDay, Day>> {
        let mut days = BTreeMap::new();
        let mut after = *self.loaded.end();
        loop {
            let rows = source.slots_after(after).await?;
            let Some(last) = rows.last() else { return Ok(days) };
            after = last.day;
            days.extend(read_days(&rows));
        }
    }

    /// The first day that was loaded: what lies before it is not in hand.
    pub fn first_loaded(&self) -> LocalDay {
        *self.loaded.start()
    }

    /// The days that have cells in some windows.
    pub fn with_cells_in(&self, windows: &Windows) -> impl Iterator<Item = LocalDay> + '_ {
        let windows = windows.clone();
        let of_days = self.by_date.range(days_around(&windows));
        of_days.filter(move |(_, day)| day.has_cells_in(&windows)).map(|(date, _)| *date)
    }

    /// What is to be stored: the days that have changed.
    pub fn rows(&self) -> Vec<SlotRow> {
        let packed = |(date, data_type): &(LocalDay, DataType)| {
            let cells = self.by_date.get(date)?.pack(*data_type);
            Some(SlotRow { day: *date, data_type: *data_type, cells })
        };
        self.changed.iter().filter_map(packed).collect()
    }
}
