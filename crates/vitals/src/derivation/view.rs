//! What a batch has in hand of a patient, and what it changes.

use std::collections::BTreeMap;

use super::days::{Days, days_around};
use super::need::{Answer, Computed, Missing, Need, Rows};
use super::output::{DerivedRow, Output, day_and_type, day_of};
use super::ranges::Ranges;
use super::subject::Subject;
use super::vital::{Interval, VITAL_TYPES};
use super::windows::{Windows, joined};
use crate::block::Block;
use crate::cells::Day;
use crate::measured::Measured;
use crate::news_timeline::NewestNews;
use crate::registry::DataType;
use crate::summary::{DaySource, Nights};
use crate::zone::{LocalDay, WINDOW_US};

/// The version that computed a value, and the value; `None` to remove it.
type Change = (i64, Option<Vec<u8>>);

/// What computations read and write. All that is stored is read before anything of it is written.
#[derive(Debug)]
pub struct View {
    /// Body and settings.
    pub subject: Subject,
    /// The time, ms.
    pub now_ms: i64,
    /// Rows after this time do not count yet, µs.
    pub not_after_us: i64,
    /// From when on rows of a type are still there, µs; types that are not named are there from the beginning.
    pub kept_from_us: BTreeMap<DataType, i64>,
    /// Latest values, valid and poor, as they were read.
    pub seen: Measured,
    /// Latest values, as they were computed.
    pub(super) latest: Option<Measured>,
    /// The newest NEWS entries, where they were computed.
    pub(super) newest_news: Option<NewestNews>,
    pub(super) days: Days,
    /// Touched windows by type, in order and apart from each other.
    pub(super) touched: BTreeMap<DataType, Vec<Windows>>,
    /// Windows in which NEWS is evaluated, once they are found.
    pub(super) vital_intervals: Option<Vec<Interval>>,
    /// Times of rows that do not count yet, µs, by type.
    pub(super) ahead_us: BTreeMap<DataType, Vec<i64>>,
    rows: Vec<Rows>,
    stored: BTreeMap<(Output, i64), (i64, Vec<u8>)>,
    known: BTreeMap<Output, Ranges>,
    changes: BTreeMap<(Output, i64), Change>,
    nights: BTreeMap<LocalDay, Nights>,
}

impl View {
    pub(super) fn new(subject: Subject, now_ms: i64, not_after_us: i64) -> Self {
        View {
            subject,
            now_ms,
            not_after_us,
            kept_from_us: BTreeMap::new(),
            seen: Measured::default(),
            latest: None,
            newest_news: None,
            days: Days::default(),
            touched: BTreeMap::new(),
            vital_intervals: None,
            ahead_us: BTreeMap::new(),
            rows: Vec::new(),
            stored: BTreeMap::new(),
            known: BTreeMap::new(),
            changes: BTreeMap::new(),
            nights: BTreeMap::new(),
        }
    }

    /// Takes what was read.
    pub(super) fn take(&mut self, answer: Answer) {
        match answer {
            Answer::Rows(rows) => self.rows.push(rows),
            Answer::Derived { output: Output::Slots, keys, rows } => {
                self.days.take_whole((day_of(keys.0).0, day_of(keys.1).0), rows);
            }
            Answer::Derived { output, keys, rows } => self.know(output, keys, rows),
            Answer::DerivedBefore { output, key, row } => {
                // No row before a key is knowledge as well: the next search need not ask again.
                let from = row.as_ref().map_or(i64::MIN, |row| row.key);
                self.know(output, (from, key.saturating_sub(1)), row.into_iter().collect());
            }
            Answer::VitalDaysBefore(rows) => self.days.take_before(rows),
            Answer::VitalDaysAfter(rows) => self.days.take_after(rows),
        }
    }

    fn know(&mut self, output: Output, keys: (i64, i64), rows: Vec<DerivedRow>) {
        self.known.entry(output).or_default().add(keys.0, keys.1);
        let stored = rows.into_iter().filter_map(|row| Some(((output, row.key), (row.version, row.body?))));
        self.stored.extend(stored);
    }

    /// Forgets the rows that were read, but for some.
    pub(super) fn keep_rows(&mut self, count: usize) {
        self.rows.truncate(count);
    }

    /// Returns the rows of a type in some windows, one block a channel.
    pub(super) fn rows(&self, data_type: DataType, windows: &Windows) -> Computed<Vec<Block>> {
        let (from_us, to_us) = (windows.start * WINDOW_US, windows.end * WINDOW_US - 1);
        let holds = |rows: &&Rows| rows.data_type == data_type && rows.from_us <= from_us && to_us <= rows.to_us;
        let Some(found) = self.rows.iter().find(holds) else {
            return Err(Need::Rows { data_type, from_us, to_us }.into());
        };
        // Rows are read once for the widest derivation; the others see only the windows that they asked for.
        let clipped = found.blocks.iter().map(|block| block.slice(block.rows_between(from_us, to_us)));
        Ok(clipped.filter(|block| !block.is_empty()).collect())
    }

    /// Returns what is stored of an output from a key to another one, both included, in the order of keys; not what this
    /// batch has written.
    pub(super) fn stored(
        &self,
        output: Output,
        from: i64,
        to: i64,
    ) -> Computed<impl DoubleEndedIterator<Item = (i64, &[u8])>> {
        if !self.known.get(&output).is_some_and(|known| known.has(from, to)) {
            return Err(Need::Derived { output, from, to }.into());
        }
        // An empty range has no order of its ends.
        let range = (output, from)..=(output, to.max(from));
        let is_empty = from > to;
        let found = self.stored.range(range).filter(move |_| !is_empty);
        Ok(found.map(|((_, key), (_, body))| (*key, body.as_slice())))
    }

    /// Returns the last stored value of an output below a key.
    pub(super) fn stored_before(&self, output: Output, key: i64) -> Computed<Option<(i64, &[u8])>> {
        let known = self.known.get(&output).and_then(|known| known.around(key.saturating_sub(1)));
        let Some((from, _)) = known else { return Err(Need::DerivedBefore { output, key }.into()) };
        match self.stored.range((output, from)..(output, key)).next_back() {
            Some(((_, key), (_, body))) => Ok(Some((*key, body))),
            None if from == i64::MIN => Ok(None),
            None => Err(Need::DerivedBefore { output, key: from }.into()),
        }
    }

    /// Writes a value of an output, or removes it. What is known to be stored just so stays as it is.
    pub(super) fn put(&mut self, output: Output, key: i64, version: i64, body: Option<Vec<u8>>) {
        let is_known = self.known.get(&output).is_some_and(|known| known.has(key, key));
        let is_same = match (self.stored.get(&(output, key)), &body) {
            (Some((stored_version, stored)), Some(body)) => *stored_version == version && stored == body,
            // Removing what is known not to be there is no change; what was never looked for may be there.
            (None, None) => is_known,
            _ => false,
        };
        if is_same {
            self.changes.remove(&(output, key));
        } else {
            self.changes.insert((output, key), (version, body));
        }
    }

    /// Returns the keys of an output that this batch changes.
    pub(super) fn changed(&self, output: Output) -> impl Iterator<Item = (i64, Option<&[u8]>)> {
        let changes = self.changes.range((output, i64::MIN)..=(output, i64::MAX));
        changes.map(|((_, key), (_, body))| (*key, body.as_deref()))
    }

    /// Returns the touched windows of some types, in order and apart from each other.
    pub(super) fn touched_of(&self, types: &[DataType]) -> Vec<Windows> {
        joined(types.iter().filter_map(|data_type| self.touched.get(data_type)).flatten().cloned().collect())
    }

    /// Asks for the aggregates of all days that windows can lie on.
    pub(super) fn need_days_around(&self, windows: &[Windows]) -> Computed {
        let around = |windows: &Windows| self.days.need(*days_around(windows).start(), *days_around(windows).end());
        windows.iter().try_for_each(around)
    }

    /// Asks for the aggregates of a day and of the day before: nights begin there.
    pub(super) fn need_day(&self, day: LocalDay) -> Computed {
        self.days.need(LocalDay(day.0 - 1), day)
    }

    /// Computes something of a day from its aggregates, those of the day before and its nights.
    pub(super) fn of_day<T>(
        &mut self,
        day: LocalDay,
        compute: impl FnOnce(&DaySource<'_>, &Nights) -> T,
    ) -> Computed<T> {
        self.need_day(day)?;
        let empty = Day::default();
        let cells = |day| self.days.get(day).unwrap_or(&empty);
        let source = DaySource {
            day,
            slot_count: self.subject.slot_count(day),
            cells: cells(day),
            before: cells(LocalDay(day.0 - 1)),
            profile: &self.subject.profile_on(day),
            settings: &self.subject.summary_settings(day),
        };
        // Several derivations ask for the same nights, and finding one means walking through the epochs of two days.
        let nights = self.nights.entry(day).or_insert_with(|| Nights::of(&source));
        Ok(compute(&source, nights))
    }

    /// Ends the batch: what changes, with the version of the window aggregates of a type.
    pub(super) fn into_changes(mut self, version_of: fn(DataType) -> i64) -> (Vec<DerivedRow>, Option<Measured>) {
        let slots: Vec<_> = self.days.packed().collect();
        for ((date, data_type), body) in slots {
            self.changes.insert((Output::Slots, day_and_type(date, data_type)), (version_of(data_type), body));
        }
        let row = |((output, key), (version, body))| DerivedRow { output, key, version, body };
        (self.changes.into_iter().map(row).collect(), self.latest)
    }
}

/// Rows of vital signs in windows, of both types that have them.
pub(super) fn vital_rows(view: &View, windows: &Windows) -> Computed<Vec<Block>> {
    let of_types = VITAL_TYPES.map(|data_type| view.rows(data_type, windows));
    Ok(Missing::gather(of_types)?.into_iter().flatten().collect())
}
