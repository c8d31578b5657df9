//! NEWS entries of the windows that a fold touches.
//!
//! A measurement enters every evaluation of the twelve hours after it, and decides whether the first evaluation after
//! those differs from the one before it. So a touched range is evaluated with the twelve hours that follow and with
//! the next measurement; what was known when it began comes from the cells before it.

use std::collections::BTreeMap;

use store::NewsRow;
use vitals::block::Block;
use vitals::cells::{WINDOW_MS, window_of};
use vitals::news_timeline::{LOOK_BACK_MS, Moment, NewsEntry, Timeline, moments};
use vitals::registry::DataType;
use vitals::zone::WINDOW_US;

use super::days::Days;
use super::plan::Windows;
use super::source::{FoldSource, VITAL_TYPES};
use super::subject::Subject;

/// Windows that reach back as far as a measurement enters, the one that is begun included.
pub(crate) const LOOK_BACK_WINDOWS: i64 = LOOK_BACK_MS / WINDOW_MS + 1;

/// Windows to evaluate.
#[derive(Debug)]
pub(crate) struct Interval {
    pub windows: Windows,
    /// The rows in them and in the window after them, where the next evaluation mostly is.
    pub blocks: Vec<Block>,
}

/// What changes among the entries.
#[derive(Clone, Debug, Default)]
pub(crate) struct NewsEdit {
    /// Times of which entries are removed, ms, both ends included.
    pub removed: Vec<(i64, i64)>,
    /// Entries to write, by time.
    pub put: BTreeMap<i64, NewsEntry>,
}

impl NewsEdit {
    fn removes(&self, time_ms: i64) -> bool {
        self.removed.iter().any(|(from_ms, to_ms)| (*from_ms..=*to_ms).contains(&time_ms))
    }

    /// An evaluation that differs from the one before is an entry; one that does not is none, whatever was thought
    /// before.
    fn settle(&mut self, entry: &NewsEntry) {
        if entry.changed {
            self.put.insert(entry.time_ms, *entry);
        } else {
            self.put.remove(&entry.time_ms);
        }
    }

    fn remove(&mut self, time_ms: i64) {
        self.put.remove(&time_ms);
        self.removed.push((time_ms, time_ms));
    }
}

/// The first window whose NEWS can be made anew. Before it some of the rows that enter were retired, and what was said
/// stays; the cells still tell what was known when it began.
pub(crate) fn whole_from(kept_from_us: &BTreeMap<DataType, i64>) -> i64 {
    let kept_from = VITAL_TYPES.iter().filter_map(|data_type| kept_from_us.get(data_type)).max();
    kept_from.map_or(i64::MIN, |from_us| window_of(*from_us))
}

/// Evaluates intervals, which are in order and apart from each other, from a window on. Rows after `not_after_us` do
/// not count yet.
pub(crate) async fn evaluate(
    source: &impl FoldSource,
    days: &Days,
    subject: &Subject,
    intervals: &[Interval],
    whole_from: i64,
    not_after_us: i64,
) -> store::Result<NewsEdit> {
    let mut evaluation =
        Evaluation { source, days, subject, whole_from, not_after_us, edit: NewsEdit::default(), last: None };
    for (at, interval) in intervals.iter().enumerate() {
        let next_start = intervals.get(at + 1).map(|next| next.windows.start);
        evaluation.interval(interval, next_start).await?;
    }
    Ok(evaluation.edit)
}

/// What an edit changes of the stored entries. What is there already is left alone: a late measurement evaluates twelve
/// hours again, and seldom changes more than a few.
pub(crate) async fn rows(source: &impl FoldSource, edit: &NewsEdit) -> store::Result<Vec<NewsRow>> {
    let mut stored: BTreeMap<i64, NewsEntry> = BTreeMap::new();
    for (from_ms, to_ms) in &edit.removed {
        let found = source.news_between(*from_ms, *to_ms).await?;
        stored.extend(found.into_iter().map(|entry| (entry.time_ms, entry)));
    }
    let removed = stored.keys().filter(|time_ms| !edit.put.contains_key(time_ms));
    let mut rows: Vec<NewsRow> = removed.map(|time_ms| NewsRow { time_ms: *time_ms, entry: None }).collect();
    let written = edit.put.iter().filter(|(time_ms, entry)| stored.get(time_ms) != Some(entry));
    rows.extend(written.map(|(time_ms, entry)| NewsRow { time_ms: *time_ms, entry: Some(*entry) }));
    Ok(rows)
}

/// The newest entry once an edit is made; `None` when there is none.
pub(crate) async fn newest_after(source: &impl FoldSource, edit: &NewsEdit) -> store::Result<Option<NewsEntry>> {
    let written = edit.put.values().next_back().copied();
    let mut stored = source.news_before(i64::MAX).await?;
    while let Some(entry) = stored.filter(|entry| edit.removes(entry.time_ms)) {
        stored = source.news_before(entry.time_ms).await?;
    }
    Ok(later(written, stored))
}

fn later(one: Option<NewsEntry>, other: Option<NewsEntry>) -> Option<NewsEntry> {
    [one, other].into_iter().flatten().max_by_key(|entry| entry.time_ms)
}

struct Evaluation<'fold, Source> {
    source: &'fold Source,
    days: &'fold Days,
    subject: &'fold Subject,
    whole_from: i64,
    not_after_us: i64,
    edit: NewsEdit,
    /// The last evaluation so far.
    last: Option<NewsEntry>,
}

impl<Source: FoldSource> Evaluation<'_, Source> {
    async fn interval(&mut self, interval: &Interval, next_start: Option<i64>) -> store::Result<()> {
        let Windows { start, end } = interval.windows;
        let start = start.max(self.whole_from);
        if start >= end || start * WINDOW_US > self.not_after_us {
            return Ok(());
        }
        let start_ms = start * WINDOW_MS;
        let stored = self.source.news_before(start_ms).await?;
        let previous = later(self.last, stored.filter(|entry| !self.edit.removes(entry.time_ms)));
        let known = self.days.newest(&(start - LOOK_BACK_WINDOWS..start));
        let mut timeline = Timeline { known, last: previous };
        self.edit.removed.push((start_ms, end * WINDOW_MS - 1));

        let mut last = None;
        let moments = moments(&interval.blocks, self.not_after_us);
        let (inside, after) = moments.split_at(moments.partition_point(|moment| moment.0 < end * WINDOW_MS));
        for moment in inside.iter().filter(|moment| moment.0 >= start_ms) {
            last = Some(self.step(&mut timeline, moment));
        }
        let next = match self.days.first_scored(self.source, end).await? {
            // The next interval evaluates it.
            Some(window) if next_start.is_some_and(|next_start| window >= next_start) => None,
            Some(window) if window == end => after.first().copied(),
            Some(window) => self.first_moment_of(window).await?,
            None => None,
        };
        if let Some(moment) = &next {
            self.edit.removed.push((moment.0, moment.0));
            last = Some(self.step(&mut timeline, moment));
        }
        let Some(last) = last else { return self.keep_newest_before(start, previous).await };
        if let Some(previous) = previous.filter(|previous| !previous.changed) {
            self.edit.remove(previous.time_ms);
        }
        if !self.has_entry_after(last.time_ms).await? {
            self.edit.put.insert(last.time_ms, last);
        }
        self.last = Some(last);
        Ok(())
    }

    fn step(&mut self, timeline: &mut Timeline, moment: &Moment) -> NewsEntry {
        let entry = timeline.step(moment, &self.subject.news_settings(moment.0));
        self.edit.settle(&entry);
        entry
    }

    /// The first moment of a window, in its rows.
    async fn first_moment_of(&self, window: i64) -> store::Result<Option<Moment>> {
        if window * WINDOW_US > self.not_after_us {
            return Ok(None);
        }
        let blocks = vital_rows(self.source, &(window..window + 1)).await?;
        Ok(moments(&blocks, self.not_after_us).into_iter().next())
    }

    async fn has_entry_after(&self, time_ms: i64) -> store::Result<bool> {
        let newest = newest_after(self.source, &self.edit).await?;
        Ok(newest.is_some_and(|newest| newest.time_ms > time_ms))
    }

    /// Nothing is left to evaluate from a window on: the last evaluation before it is the newest one and is kept.
    async fn keep_newest_before(&mut self, window: i64, previous: Option<NewsEntry>) -> store::Result<()> {
        let found = self.days.last_scored(self.source, window, LOOK_BACK_WINDOWS).await?;
        let Some(known) = found else { return Ok(()) };
        let Some(time_ms) = known.scored_ms() else { return Ok(()) };
        let is_kept = |time_ms| self.edit.put.contains_key(&time_ms) || !self.edit.removes(time_ms);
        if previous.is_some_and(|previous| previous.time_ms >= time_ms && is_kept(previous.time_ms)) {
            return Ok(());
        }
        let known_at = known.not_after(time_ms);
        let entry = NewsEntry::at(time_ms, &known_at, &self.subject.news_settings(time_ms), previous.as_ref());
        if !self.has_entry_after(time_ms - 1).await? {
            self.edit.put.insert(time_ms, entry);
        }
        self.last = later(self.last, Some(entry));
        Ok(())
    }
}

/// The rows of some windows that can hold vital signs.
pub(crate) async fn vital_rows(source: &impl FoldSource, windows: &Windows) -> store::Result<Vec<Block>> {
    let (from_us, to_us) = (windows.start * WINDOW_US, windows.end * WINDOW_US - 1);
    let mut blocks = source.rows(DataType::Activity, from_us, to_us).await?;
    blocks.extend(source.rows(DataType::Tests, from_us, to_us).await?);
    Ok(blocks)
}

/// The windows that evaluations of touched windows reach into, joined where they meet. Where nothing was measured in
/// the twelve hours after, there is nothing to read.
pub(crate) fn reach(touched: &[Windows], days: &Days) -> Vec<Windows> {
    let reach_of = |windows: &Windows| {
        let end = windows.end + LOOK_BACK_WINDOWS;
        if days.has_vitals(&(windows.end..end)) { windows.start..end } else { windows.clone() }
    };
    super::plan::joined(touched.iter().map(reach_of).collect())
}
