//! The cells of a patient's days while he is folded.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use store::SlotRow;
use vitals::cells::{ActivityCell, CellsByDay, DayCells, SpotCell, TemperatureCell, WindowCell};
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

/// The cells of one local day.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Day {
    pub activity: DayCells<ActivityCell>,
    pub temperature: DayCells<TemperatureCell>,
    pub spot: DayCells<SpotCell>,
}

impl Day {
    /// Cells of another version of the program count as missing: their days are due anyway.
    fn read(&mut self, row: &SlotRow) {
        match row.data_type {
            DataType::Activity => self.activity = DayCells::unpack(&row.cells).unwrap_or_default(),
            DataType::Temperature => self.temperature = DayCells::unpack(&row.cells).unwrap_or_default(),
            DataType::Tests => self.spot = DayCells::unpack(&row.cells).unwrap_or_default(),
            _ => {}
        }
    }

    /// The newest values measured in some windows.
    pub fn newest(&self, windows: &Windows) -> LatestValues {
        let mut newest = LatestValues::default();
        for cell in self.activity.in_windows(windows.clone()) {
            newest.merge_newer(&cell.newest);
        }
        for cell in self.spot.in_windows(windows.clone()) {
            newest.merge_newer(&cell.newest);
        }
        newest
    }

    /// Windows in which something was measured that NEWS scores.
    pub fn scored_windows(&self) -> impl Iterator<Item = i64> + '_ {
        let activity = self.activity.cells().iter().map(|cell| (cell.place, &cell.newest));
        let spot = self.spot.cells().iter().map(|cell| (cell.place, &cell.newest));
        activity.chain(spot).filter(|(_, newest)| newest.scored_ms().is_some()).map(|(place, _)| place.window())
    }
}

/// Days by date, of cells rows in any order.
pub(crate) fn read_days(rows: &[SlotRow]) -> BTreeMap<LocalDay, Day> {
    let mut days: BTreeMap<LocalDay, Day> = BTreeMap::new();
    for row in rows {
        days.entry(row.day).or_default().read(row);
    }
    days
}

/// The days that a fold has in hand.
#[derive(Clone, Debug)]
pub(crate) struct Days {
    by_date: BTreeMap<LocalDay, Day>,
    loaded: RangeInclusive<LocalDay>,
    changed: BTreeSet<(LocalDay, DataType)>,
}

/// The cells of one type among a day's.
pub(crate) trait Kept: WindowCell {
    fn cells_of(day: &mut Day) -> &mut DayCells<Self>;
}

impl Kept for ActivityCell {
    fn cells_of(day: &mut Day) -> &mut DayCells<Self> {
        &mut day.activity
    }
}

impl Kept for TemperatureCell {
    fn cells_of(day: &mut Day) -> &mut DayCells<Self> {
        &mut day.temperature
    }
}

impl Kept for SpotCell {
    fn cells_of(day: &mut Day) -> &mut DayCells<Self> {
        &mut day.spot
    }
}

impl Days {
    /// Loads the days that some windows can lie on.
    pub async fn load(source: &impl FoldSource, windows: &Windows) -> store::Result<Self> {
        let loaded = days_around(windows);
        let rows = source.slots(*loaded.start(), *loaded.end()).await?;
        Ok(Days { by_date: read_days(&rows), loaded, changed: BTreeSet::new() })
    }

    /// Puts new cells in the place of all that lie in some windows; takes note of the days that change by it.
    pub fn replace<C: Kept>(&mut self, windows: &Windows, mut cells: CellsByDay<C>) {
        for day in cells.keys() {
            self.by_date.entry(*day).or_default();
        }
        for (date, day) in &mut self.by_date {
            let new = cells.remove(date).unwrap_or_default();
            let kept = C::cells_of(day);
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
            days = read_days(&source.slots(*needed.start(), *needed.end()).await?);
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

    /// What is to be stored: the days that have changed.
    pub fn rows(&self) -> Vec<SlotRow> {
        let packed = |(date, data_type): &(LocalDay, DataType)| {
            let day = self.by_date.get(date)?;
            let cells = match data_type {
                DataType::Activity => pack(&day.activity),
                DataType::Temperature => pack(&day.temperature),
                DataType::Tests => pack(&day.spot),
                _ => return None,
            };
            Some(SlotRow { day: *date, data_type: *data_type, cells })
        };
        self.changed.iter().filter_map(packed).collect()
    }
}

/// Empty for a day without cells, which removes its row.
fn pack<C: WindowCell>(cells: &DayCells<C>) -> Vec<u8> {
    if cells.is_empty() { Vec::new() } else { cells.pack() }
}
