//! What a derivation is likely to read, read at once and in one snapshot. What it needs beyond that is read when it asks.

use std::collections::BTreeMap;

use store::{AfHourRow, DerivationInputs, DueRange, FactsRow, InputRange, SlotRow, StoredSection};
use vitals::block::Block;
use vitals::cells::WINDOW_MS;
use vitals::news_timeline::NewsEntry;
use vitals::registry::DataType;
use vitals::zone::{LocalDay, WINDOW_US};

use super::days::days_around;
use super::news::LOOK_BACK_WINDOWS;
use super::plan::{Plan, Windows};
use super::source::{FoldSource, StoredPatient, VITAL_TYPES};

/// Windows of which rows are read ahead: more are read as they are computed, so that memory does not grow with a history.
const LONGEST_ROWS_WINDOWS: i64 = 12;
/// Windows of an hour.
const HOUR_WINDOWS: i64 = 12;

/// A stored patient with what was read ahead.
#[derive(Debug)]
pub(crate) struct Prefetched {
    stored: StoredPatient,
    /// What was read, and the range that it is complete for.
    read: Option<(InputRange, DerivationInputs)>,
}

impl Prefetched {
    /// Reads what dirty ranges are likely to need.
    pub async fn read(
        stored: StoredPatient,
        due: &[DueRange],
        kept_from_us: &BTreeMap<DataType, i64>,
    ) -> store::Result<Self> {
        let plan = Plan::of(due.to_vec(), kept_from_us);
        let Some(range) = plan.span().map(|span| range_of(&plan, &span)) else {
            return Ok(Prefetched { stored, read: None });
        };
        let inputs = stored.health.derivation_inputs(&stored.patient, range.clone()).await?;
        Ok(Prefetched { stored, read: Some((range, inputs)) })
    }

    /// What was read, if it holds all of some days.
    fn of_days(&self, first: LocalDay, last: LocalDay) -> Option<&DerivationInputs> {
        let (range, inputs) = self.read.as_ref()?;
        (range.days.0 <= first && last <= range.days.1).then_some(inputs)
    }

    /// What was read, if it holds all NEWS entries and AF records between two times, ms.
    fn of_times(&self, from_ms: i64, to_ms: i64) -> Option<&DerivationInputs> {
        let (range, inputs) = self.read.as_ref()?;
        (range.times_ms.0 <= from_ms && to_ms <= range.times_ms.1).then_some(inputs)
    }

    /// What was read, if it holds all NEWS entries from a time to another, ms.
    fn of_news(&self, from_ms: i64, to_ms: i64) -> Option<&DerivationInputs> {
        let (range, inputs) = self.read.as_ref()?;
        let nothing_later = inputs.news.last().is_none_or(|newest| newest.time_ms <= range.times_ms.1);
        (range.times_ms.0 <= from_ms && (to_ms <= range.times_ms.1 || nothing_later)).then_some(inputs)
    }

    /// Whether no slots are stored after a day, or before it.
    fn has_no_slots(&self, is_beyond: impl Fn(LocalDay, LocalDay) -> bool) -> bool {
        let days = self.read.as_ref().map(|(_, inputs)| inputs.days_with_slots);
        days.is_some_and(|days| days.is_none_or(|(first, last)| !is_beyond(first, last)))
    }
}

fn range_of(plan: &Plan, span: &Windows) -> InputRange {
    let has_vitals = VITAL_TYPES.iter().any(|data_type| !plan.windows_of(*data_type).is_empty());
    let whole = days_around(span);
    let around = if has_vitals { span.start - LOOK_BACK_WINDOWS..span.end + LOOK_BACK_WINDOWS } else { span.clone() };
    let loaded = days_around(&around);
    let days = (whole.start().0.min(loaded.start().0) - 1, whole.end().0.max(loaded.end().0) + 1);
    let days = (LocalDay(days.0), LocalDay(days.1));
    let hours = span.start.div_euclid(HOUR_WINDOWS) * HOUR_WINDOWS
        ..(span.end + HOUR_WINDOWS - 1).div_euclid(HOUR_WINDOWS) * HOUR_WINDOWS;
    // The next evaluation of NEWS mostly is in the window after the last one.
    let mut rows = span.start..span.end + 1;
    let mut types: Vec<DataType> = plan.touched.keys().copied().filter(|data_type| !data_type.is_waveform()).collect();
    if has_vitals {
        types.extend(VITAL_TYPES);
        types.sort_unstable();
        types.dedup();
    }
    if types.contains(&DataType::RrInterval) {
        rows = hours.start..hours.end.max(rows.end);
    }
    if span.end - span.start > LONGEST_ROWS_WINDOWS || types.len() > InputRange::MOST_TYPES {
        types.clear();
    }
    InputRange {
        days,
        fact_days: days,
        times_ms: (hours.start * WINDOW_MS, (around.end.max(hours.end)) * WINDOW_MS),
        types,
        rows_us: (rows.start * WINDOW_US, rows.end * WINDOW_US - 1),
    }
}

impl FoldSource for Prefetched {
    async fn rows(&self, data_type: DataType, from_us: i64, to_us: i64) -> store::Result<Vec<Block>> {
        let read = self.read.as_ref().filter(|(range, _)| range.rows_us.0 <= from_us && to_us <= range.rows_us.1);
        let Some(blocks) = read.and_then(|(_, inputs)| inputs.rows.get(&data_type)) else {
            return self.stored.rows(data_type, from_us, to_us).await;
        };
        let clipped = blocks.iter().map(|block| block.slice(block.rows_between(from_us, to_us)));
        Ok(clipped.filter(|block| !block.is_empty()).collect())
    }

    async fn slots(&self, first: LocalDay, last: LocalDay) -> store::Result<Vec<SlotRow>> {
        let Some(inputs) = self.of_days(first, last) else { return self.stored.slots(first, last).await };
        Ok(inputs.slots.iter().filter(|row| (first..=last).contains(&row.day)).cloned().collect())
    }

    async fn vital_slots(&self, first: LocalDay, last: LocalDay) -> store::Result<Vec<SlotRow>> {
        if self.of_days(first, last).is_none() {
            return self.stored.vital_slots(first, last).await;
        }
        let mut rows = self.slots(first, last).await?;
        rows.retain(|row| VITAL_TYPES.contains(&row.data_type));
        Ok(rows)
    }

    async fn slots_before(&self, day: LocalDay) -> store::Result<Vec<SlotRow>> {
        if self.has_no_slots(|first, _| first < day) {
            return Ok(Vec::new());
        }
        self.stored.slots_before(day).await
    }

    async fn slots_after(&self, day: LocalDay) -> store::Result<Vec<SlotRow>> {
        if self.has_no_slots(|_, last| last > day) {
            return Ok(Vec::new());
        }
        self.stored.slots_after(day).await
    }

    async fn sections(&self, first: LocalDay, last: LocalDay) -> store::Result<Vec<StoredSection>> {
        let Some(inputs) = self.of_days(first, last) else { return self.stored.sections(first, last).await };
        Ok(inputs.sections.iter().filter(|stored| (first..=last).contains(&stored.row.day)).cloned().collect())
    }

    async fn facts(&self, first: LocalDay, last: LocalDay) -> store::Result<Vec<FactsRow>> {
        let read = self.read.as_ref().filter(|(range, _)| range.fact_days.0 <= first && last <= range.fact_days.1);
        let Some((_, inputs)) = read else { return self.stored.facts(first, last).await };
        Ok(inputs.facts.iter().filter(|row| (first..=last).contains(&row.day)).cloned().collect())
    }

    async fn af_hours(&self, from_ms: i64, to_ms: i64) -> store::Result<Vec<AfHourRow>> {
        let Some(inputs) = self.of_times(from_ms, to_ms) else { return self.stored.af_hours(from_ms, to_ms).await };
        Ok(inputs.af_hours.iter().filter(|row| (from_ms..=to_ms).contains(&row.hour_ms)).cloned().collect())
    }

    async fn news_between(&self, from_ms: i64, to_ms: i64) -> store::Result<Vec<NewsEntry>> {
        let Some(inputs) = self.of_news(from_ms, to_ms) else { return self.stored.news_between(from_ms, to_ms).await };
        Ok(inputs.news.iter().filter(|entry| (from_ms..=to_ms).contains(&entry.time_ms)).copied().collect())
    }

    async fn news_before(&self, time_ms: i64) -> store::Result<Option<NewsEntry>> {
        // The last entry before the range was read with it.
        let Some(inputs) = self.of_news(time_ms, time_ms) else { return self.stored.news_before(time_ms).await };
        Ok(inputs.news.iter().rfind(|entry| entry.time_ms < time_ms).copied())
    }
}
