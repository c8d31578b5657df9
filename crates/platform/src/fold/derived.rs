//! Everything that folds derive of one patient, in memory: what a recomputation fills and compares with the store.

use std::collections::BTreeMap;

use store::{AfHourRow, DueRange, FactsRow, FoldCommit, SlotRow, StoredSection, SummaryRow};
use vitals::latest::LatestValues;
use vitals::news_timeline::NewsEntry;
use vitals::registry::DataType;
use vitals::summary::{FORMAT, Section};
use vitals::zone::LocalDay;

use super::source::VITAL_TYPES;

/// Derived values of one patient, and what is due of him.
#[derive(Clone, Debug, Default)]
pub(crate) struct Derived {
    pub slots: BTreeMap<(LocalDay, DataType), Vec<u8>>,
    pub summaries: BTreeMap<(LocalDay, Section), String>,
    pub facts: BTreeMap<LocalDay, Vec<u8>>,
    pub af_hours: BTreeMap<i64, Vec<u8>>,
    pub news: BTreeMap<i64, NewsEntry>,
    pub latest: LatestValues,
    pub due: Vec<DueRange>,
}

impl Derived {
    /// Does what a fold commits.
    pub fn apply(&mut self, commit: FoldCommit) {
        for row in commit.slots {
            put(&mut self.slots, (row.day, row.data_type), row.cells);
        }
        for row in commit.summaries {
            match row.body {
                Some(body) => self.summaries.insert((row.day, row.section), body),
                None => self.summaries.remove(&(row.day, row.section)),
            };
        }
        for row in commit.facts {
            put(&mut self.facts, row.day, row.facts);
        }
        for row in commit.af_hours {
            put(&mut self.af_hours, row.hour_ms, row.records);
        }
        if let Some(change) = commit.latest {
            self.latest = change.computed;
        }
        for row in commit.news {
            match row.entry {
                Some(entry) => self.news.insert(row.time_ms, entry),
                None => self.news.remove(&row.time_ms),
            };
        }
        self.due.retain(|mark| !commit.done.contains(mark));
        for mark in commit.due {
            if !self.due.contains(&mark) {
                self.due.push(mark);
            }
        }
    }

    pub fn slots(&self, first: LocalDay, last: LocalDay) -> Vec<SlotRow> {
        self.slots.iter().filter(|((day, _), _)| (first..=last).contains(day)).map(slot_row).collect()
    }

    pub fn vital_slots(&self, first: LocalDay, last: LocalDay) -> Vec<SlotRow> {
        vital(self.slots(first, last))
    }

    pub fn slots_before(&self, day: LocalDay) -> Vec<SlotRow> {
        let found = self.slots.keys().rev().filter(|(_, data_type)| VITAL_TYPES.contains(data_type));
        let last = found.map(|(found, _)| *found).find(|found| *found < day);
        last.map(|last| self.vital_slots(last, last)).unwrap_or_default()
    }

    pub fn slots_after(&self, day: LocalDay) -> Vec<SlotRow> {
        let found = self.slots.keys().filter(|(_, data_type)| VITAL_TYPES.contains(data_type));
        let next = found.map(|(found, _)| *found).find(|found| *found > day);
        next.map(|next| self.vital_slots(next, next)).unwrap_or_default()
    }

    pub fn sections(&self, first: LocalDay, last: LocalDay) -> Vec<StoredSection> {
        let found = self.summaries.iter().filter(|((day, _), _)| (first..=last).contains(day));
        let stored = |((day, section), body): (&(LocalDay, Section), &String)| StoredSection {
            row: SummaryRow { day: *day, section: *section, body: Some(body.clone()) },
            format: FORMAT,
        };
        found.map(stored).collect()
    }

    pub fn facts(&self, first: LocalDay, last: LocalDay) -> Vec<FactsRow> {
        let found = self.facts.range(first..=last);
        found.map(|(day, facts)| FactsRow { day: *day, facts: facts.clone() }).collect()
    }

    pub fn af_hours(&self, from_ms: i64, to_ms: i64) -> Vec<AfHourRow> {
        let found = self.af_hours.range(from_ms..=to_ms);
        found.map(|(hour_ms, records)| AfHourRow { hour_ms: *hour_ms, records: records.clone() }).collect()
    }

    pub fn news_between(&self, from_ms: i64, to_ms: i64) -> Vec<NewsEntry> {
        if from_ms > to_ms {
            return Vec::new();
        }
        self.news.range(from_ms..=to_ms).map(|(_, entry)| *entry).collect()
    }

    pub fn news_before(&self, time_ms: i64) -> Option<NewsEntry> {
        self.news.range(..time_ms).next_back().map(|(_, entry)| *entry)
    }
}

fn put<Key: Ord>(map: &mut BTreeMap<Key, Vec<u8>>, key: Key, bytes: Vec<u8>) {
    if bytes.is_empty() {
        map.remove(&key);
    } else {
        map.insert(key, bytes);
    }
}

fn slot_row(((day, data_type), cells): (&(LocalDay, DataType), &Vec<u8>)) -> SlotRow {
    SlotRow { day: *day, data_type: *data_type, cells: cells.clone() }
}

fn vital(mut rows: Vec<SlotRow>) -> Vec<SlotRow> {
    rows.retain(|row| VITAL_TYPES.contains(&row.data_type));
    rows
}
