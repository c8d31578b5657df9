//! NEWS2 entries of the windows that a batch touches.
//!
//! A measurement enters every evaluation of the twelve hours after it, and decides whether the first evaluation after
//! those differs from the one before it. So a touched range is evaluated with the twelve hours that follow and with
//! the next measurement; what was known when it began comes from the aggregates before it.

use std::collections::BTreeMap;

use super::declaration::{Derivation, Input, Work, is_equal};
use super::frozen::Frozen;
use super::need::{Computed, Missing};
use super::output::Output;
use super::view::{View, vital_rows};
use super::vital::{Interval, VITAL_TYPES};
use super::windows::{Windows, joined};
use crate::block::Block;
use crate::cells::{WINDOW_MS, window_of};
use crate::measured::Measured;
use crate::news_timeline::{LOOK_BACK_MS, Moment, NewestNews, NewsEntry, Timeline, moments};
use crate::registry::DataType;
use crate::zone::WINDOW_US;

/// Windows that reach back as far as a measurement enters, the one that is begun included.
pub const LOOK_BACK_WINDOWS: i64 = LOOK_BACK_MS / WINDOW_MS + 1;

/// Version of the definitions.
const VERSION: i64 = 2;

/// The NEWS history, and the newest score among the latest values.
pub(super) const NEWS: Derivation = Derivation {
    id: "news",
    version: VERSION,
    output: Some(Output::News),
    inputs: &[
        Input::Rows(DataType::Activity),
        Input::Rows(DataType::Tests),
        Input::Derived("aggregates.activity"),
        Input::Derived("aggregates.tests"),
        Input::Settings,
    ],
    work: Work::Windows { aligned: 1, at_once: None, compute },
    frozen,
    is_same: is_equal,
};

/// Entries before the first row from which evaluations can be made again.
fn frozen(frozen: &Frozen, key: i64, body: &[u8]) -> Option<Vec<u8>> {
    // An entry follows from both types: where one has expired, computing it again would give a poorer score than the
    // patient had.
    (key < frozen.whole_from(&VITAL_TYPES).div_euclid(1000)).then(|| body.to_vec())
}

/// Returns whether windows lie in others.
pub(super) fn is_inside(windows: &Windows, others: &Windows) -> bool {
    windows.start >= others.start && windows.end <= others.end
}

/// Returns the windows that evaluations of touched windows reach into, joined where they meet. Where nothing was
/// measured in the twelve hours after, there is nothing to read. Found once, before anything is written.
pub(super) fn vital_intervals(view: &mut View) -> Computed<Vec<Interval>> {
    if let Some(intervals) = &view.vital_intervals {
        return Ok(intervals.clone());
    }
    let touched = view.touched_of(&VITAL_TYPES);
    let reach_of = |windows: &Windows| {
        // A changed measurement is the newest of its kind for up to twelve hours; beyond, entries cannot know of it.
        let after = windows.end..windows.end + LOOK_BACK_WINDOWS;
        let is_reached = !changes_of_settings(view, &after).is_empty() || view.days.has_vitals(&after)?;
        Ok(if is_reached { windows.start..after.end } else { windows.clone() })
    };
    let reached = Missing::gather(touched.iter().map(reach_of))?;
    let intervals: Vec<Interval> = joined(reached).into_iter().map(Interval).collect();
    view.vital_intervals = Some(intervals.clone());
    Ok(intervals)
}

/// Returns the times in some windows at which settings of NEWS changed, ms.
pub(super) fn changes_of_settings(view: &View, windows: &Windows) -> Vec<i64> {
    view.subject.news_settings_changes(windows.start * WINDOW_MS, windows.end * WINDOW_MS - 1)
}

/// Returns moments with those at which settings changed, in the order of time.
fn with_changes(mut moments: Vec<Moment>, changes: Vec<i64>) -> Vec<Moment> {
    if changes.is_empty() {
        return moments;
    }
    moments.extend(changes.into_iter().map(|time_ms| (time_ms, Measured::default())));
    // What was measured in the millisecond of a change is scored with it.
    moments.sort_by_key(|(time_ms, measured)| (*time_ms, measured.scored_ms().is_none()));
    moments.dedup_by_key(|(time_ms, _)| *time_ms);
    moments
}

/// What changes among the entries.
#[derive(Clone, Debug, Default)]
struct Edit {
    /// Times of which entries are removed, ms, both ends included.
    removed: Vec<(i64, i64)>,
    /// Entries to write, by time.
    put: BTreeMap<i64, NewsEntry>,
}

impl Edit {
    fn removes(&self, time_ms: i64) -> bool {
        self.removed.iter().any(|(from_ms, to_ms)| (*from_ms..=*to_ms).contains(&time_ms))
    }

    /// An evaluation that differs from the one before is an entry; one that does not is none, whatever was computed
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

/// Evaluates intervals, which are in order and apart from each other.
fn compute(view: &mut View, _touched: &[Windows]) -> Computed {
    let intervals = vital_intervals(view)?;
    if intervals.is_empty() {
        return Ok(());
    }
    let rows = Missing::gather(intervals.iter().map(|interval| vital_rows(view, &interval.with_next())))?;
    let whole_from = whole_from(&view.kept_from_us);
    let mut evaluation = Evaluation { view, whole_from, edit: Edit::default(), last: None };
    for (at, (interval, blocks)) in intervals.iter().zip(&rows).enumerate() {
        // Entries are compared with the one before, so the first moment after an interval has to be looked at too.
        let next_start = intervals.get(at + 1).map(|next| next.0.start);
        evaluation.interval(&interval.0, blocks, next_start)?;
    }
    let edit = evaluation.edit;
    let newest = NewestNews { before: newest_after(view, &Edit::default())?, after: newest_after(view, &edit)? };
    let changes = changes(view, &edit)?;
    for (time_ms, entry) in changes {
        view.put(Output::News, time_ms, VERSION, entry.as_ref().map(written));
    }
    view.newest_news = Some(newest);
    Ok(())
}

/// Returns the first window whose NEWS can be made again. Before it some of the rows that enter have expired, and what
/// was said stays; the aggregates still say what was known when it began.
fn whole_from(kept_from_us: &BTreeMap<DataType, i64>) -> i64 {
    let kept_from = VITAL_TYPES.iter().filter_map(|data_type| kept_from_us.get(data_type)).max();
    kept_from.map_or(i64::MIN, |from_us| window_of(*from_us))
}

/// Returns what an edit changes of the stored entries. What is there already is left alone: a late measurement evaluates
/// twelve hours again, and seldom changes more than a few.
fn changes(view: &View, edit: &Edit) -> Computed<BTreeMap<i64, Option<NewsEntry>>> {
    let mut changes: BTreeMap<i64, Option<NewsEntry>> = BTreeMap::new();
    for (from_ms, to_ms) in &edit.removed {
        changes.extend(view.stored(Output::News, *from_ms, *to_ms)?.map(|(time_ms, _)| (time_ms, None)));
    }
    changes.extend(edit.put.iter().map(|(time_ms, entry)| (*time_ms, Some(*entry))));
    Ok(changes)
}

/// Returns the newest entry once an edit is made; `None` when there is none.
fn newest_after(view: &View, edit: &Edit) -> Computed<Option<NewsEntry>> {
    newest_to(view, edit, i64::MAX - 1)
}

/// Returns the newest entry up to a time, ms, once an edit is made.
fn newest_to(view: &View, edit: &Edit, to_ms: i64) -> Computed<Option<NewsEntry>> {
    let written = edit.put.range(..=to_ms).next_back().map(|(_, entry)| *entry);
    let mut stored = entry_before(view, to_ms + 1)?;
    // What this batch removes is still stored, and must not count as the newest.
    while let Some(entry) = stored.filter(|entry| edit.removes(entry.time_ms)) {
        stored = entry_before(view, entry.time_ms)?;
    }
    Ok(later(written, stored))
}

fn later(one: Option<NewsEntry>, other: Option<NewsEntry>) -> Option<NewsEntry> {
    [one, other].into_iter().flatten().max_by_key(|entry| entry.time_ms)
}

/// Returns the last stored entry before a time, ms. An entry of another version of the program counts as missing: its
/// days are due anyway.
fn entry_before(view: &View, time_ms: i64) -> Computed<Option<NewsEntry>> {
    let mut before_ms = time_ms;
    while let Some((key, body)) = view.stored_before(Output::News, before_ms)? {
        if let Some(entry) = read(body) {
            return Ok(Some(entry));
        }
        // Entries of another version of the program cannot be read; their windows are dirty and will be evaluated
        // again.
        before_ms = key;
    }
    Ok(None)
}

fn read(body: &[u8]) -> Option<NewsEntry> {
    serde_json::from_slice(body).ok()
}

fn written(entry: &NewsEntry) -> Vec<u8> {
    // A plain struct of numbers: serialising it cannot fail.
    serde_json::to_vec(entry).unwrap_or_default()
}

struct Evaluation<'view> {
    view: &'view View,
    whole_from: i64,
    edit: Edit,
    /// The last evaluation so far.
    last: Option<NewsEntry>,
}

impl Evaluation<'_> {
    fn interval(&mut self, windows: &Windows, blocks: &[Block], next_start: Option<i64>) -> Computed {
        let (start, end) = (windows.start.max(self.whole_from), windows.end);
        if start >= end {
            return Ok(());
        }
        let start_ms = start * WINDOW_MS;
        if start * WINDOW_US > self.view.not_after_us {
            // Entries are here only from a clock that was ahead and is right again: they come back in their time.
            self.edit.removed.push((start_ms, end * WINDOW_MS - 1));
            return Ok(());
        }
        let stored = entry_before(self.view, start_ms)?;
        let previous = later(self.last, stored.filter(|entry| !self.edit.removes(entry.time_ms)));
        let known = self.view.days.newest(&(start - LOOK_BACK_WINDOWS..start))?;
        let mut timeline = Timeline { known, last: previous };
        // Everything is removed and put again: which entries a late row makes superfluous cannot be said beforehand.
        self.edit.removed.push((start_ms, end * WINDOW_MS - 1));

        let mut last = None;
        let mut inside = moments(blocks, self.view.not_after_us);
        let after = inside.split_off(inside.partition_point(|moment| moment.0 < end * WINDOW_MS));
        inside.retain(|moment| moment.0 >= start_ms);
        for moment in with_changes(inside, self.changes_of_settings(&(start..end))) {
            last = self.step(&mut timeline, &moment).or(last);
        }
        if let Some(moment) = self.next(end, &after, next_start)? {
            self.edit.removed.push((moment.0, moment.0));
            last = self.step(&mut timeline, &moment).or(last);
        }
        let Some(last) = last else { return self.keep_newest_before(start, previous) };
        // An entry that says nothing new is there only because it was the newest; now another is.
        if let Some(previous) = previous.filter(|previous| !previous.changed) {
            self.edit.remove(previous.time_ms);
        }
        // The newest evaluation is kept even when it changes nothing: readers see from it how old the score is.
        if !self.has_entry_after(last.time_ms)? {
            self.edit.put.insert(last.time_ms, last);
        }
        self.last = Some(last);
        Ok(())
    }

    /// Returns the changes of settings in some windows whose time has come, ms.
    fn changes_of_settings(&self, windows: &Windows) -> Vec<i64> {
        let mut changes = changes_of_settings(self.view, windows);
        changes.retain(|time_ms| *time_ms <= self.view.not_after_us.div_euclid(1000));
        changes
    }

    /// Evaluates at a moment; not at a change of settings when nothing was measured that is valid then.
    fn step(&mut self, timeline: &mut Timeline, moment: &Moment) -> Option<NewsEntry> {
        let (time_ms, measured) = moment;
        let newest_ms = measured.scored_ms().or_else(|| timeline.known.scored_ms())?;
        if time_ms - newest_ms > LOOK_BACK_MS {
            return None;
        }
        let entry = timeline.step(moment, &self.view.subject.news_settings(*time_ms));
        self.edit.settle(&entry);
        Some(entry)
    }

    /// Returns the first moment from a window on, unless the next interval evaluates it. `after` are moments of that window.
    fn next(&self, window: i64, after: &[Moment], next_start: Option<i64>) -> Computed<Option<Moment>> {
        let measured = match self.view.days.first_scored(window)? {
            Some(scored) if next_start.is_some_and(|next_start| scored >= next_start) => None,
            Some(scored) if scored == window => after.first().copied(),
            Some(scored) => self.first_moment_of(scored)?,
            None => None,
        };
        // Nothing that was measured before is valid at a later change.
        let changes = self.changes_of_settings(&(window..window + LOOK_BACK_WINDOWS));
        let found = with_changes(measured.into_iter().collect(), changes).into_iter().next();
        Ok(found.filter(|(time_ms, _)| next_start.is_none_or(|next_start| *time_ms < next_start * WINDOW_MS)))
    }

    /// Returns the first moment of a window, in its rows.
    fn first_moment_of(&self, window: i64) -> Computed<Option<Moment>> {
        if window * WINDOW_US > self.view.not_after_us {
            return Ok(None);
        }
        let blocks = vital_rows(self.view, &(window..window + 1))?;
        Ok(moments(&blocks, self.view.not_after_us).into_iter().next())
    }

    fn has_entry_after(&self, time_ms: i64) -> Computed<bool> {
        // An entry ahead can be taken back by a later batch, which does not come here again and would leave no newest one.
        let newest = newest_to(self.view, &self.edit, self.view.not_after_us.div_euclid(1000))?;
        Ok(newest.is_some_and(|newest| newest.time_ms > time_ms))
    }

    /// Nothing is left to evaluate from a window on: the last evaluation before it is the newest one and is kept.
    fn keep_newest_before(&mut self, window: i64, previous: Option<NewsEntry>) -> Computed {
        // Latest values hold the newest of each sign: without any nothing was ever measured that NEWS scores, and a
        // search of the whole history would find nothing.
        if self.view.seen.scored_ms().is_none() && newest_after(self.view, &Edit::default())?.is_none() {
            return Ok(());
        }
        let found = self.view.days.last_scored(window, LOOK_BACK_WINDOWS)?;
        let Some(known) = found else { return Ok(()) };
        let Some(measured_ms) = known.scored_ms() else { return Ok(()) };
        let changes = self.view.subject.news_settings_changes(measured_ms, measured_ms + LOOK_BACK_MS);
        let time_ms = changes.into_iter().rfind(|time_ms| *time_ms < window * WINDOW_MS).unwrap_or(measured_ms);
        let is_kept = |time_ms| self.edit.put.contains_key(&time_ms) || !self.edit.removes(time_ms);
        if previous.is_some_and(|previous| previous.time_ms >= time_ms && is_kept(previous.time_ms)) {
            return Ok(());
        }
        let known_at = known.not_after(time_ms);
        let settings = self.view.subject.news_settings(time_ms);
        let entry = NewsEntry::at(time_ms, &known_at, &settings, previous.as_ref());
        if !self.has_entry_after(time_ms - 1)? {
            self.edit.put.insert(time_ms, entry);
        }
        self.last = later(self.last, Some(entry));
        Ok(())
    }
}
