//! The event of a sync: what it stored, and the ranges that derivations have to look at.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use vitals::block::Block;
use vitals::derivation::is_input;
use vitals::registry::DataType;
use vitals::zone::WINDOW_US;

use super::super::claims::DueRange;
use super::super::due::SETTLING_MS;
use super::request::Counts;
use crate::error::{Result, StoreError};
use crate::health::due::AHEAD_MS;

/// Data of `sync.stored`.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct SyncBody {
    /// What was stored, by name of the type.
    pub types: BTreeMap<String, TypeBody>,
    /// Whether the sync described a bracelet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub device: bool,
}

/// What a sync stored of one type.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TypeBody {
    /// Rows that were not there before.
    pub stored: u64,
    /// Rows that took the place of another.
    pub replaced: u64,
    /// Ranges of new or changed rows.
    pub ranges: Vec<RangeBody>,
}

/// First and last time, µs; rows; and the first time of a row that is ahead of the clock, where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RangeBody(pub i64, pub i64, pub u64, #[serde(default)] pub Option<i64>);

/// A range that a sync touched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct TouchedRange {
    /// The type.
    pub data_type: DataType,
    /// First and last time, µs.
    pub first_us: i64,
    /// Last time, µs.
    pub last_us: i64,
    /// Rows.
    pub rows: u64,
    /// The first time of a row that was ahead of the clock, µs.
    pub ahead_us: Option<i64>,
}

impl SyncBody {
    /// Takes note of rows that are stored.
    pub fn note(&mut self, block: &Block, received_ms: i64) {
        let (Some(first_us), Some(last_us)) = (block.first_us(), block.last_us()) else { return };
        let ahead_from_us = (received_ms + AHEAD_MS) * 1000 + 999;
        let ahead_us = (last_us > ahead_from_us)
            .then(|| block.times_us[block.times_us.partition_point(|time| *time <= ahead_from_us)]);
        let ranges = &mut self.types.entry(block.data_type.name().to_owned()).or_default().ranges;
        let range = RangeBody(first_us, last_us, block.rows() as u64, ahead_us);
        // Channels and blocks of one stretch of a waveform are one range.
        match ranges.last_mut() {
            Some(last) if touch(last, &range) => {
                let ahead_us = [last.3, range.3].into_iter().flatten().min();
                *last = RangeBody(last.0.min(range.0), last.1.max(range.1), last.2 + range.2, ahead_us);
            }
            _ => ranges.push(range),
        }
    }

    /// Adds the counts of a type.
    pub fn count(&mut self, data_type: DataType, counts: Counts) {
        if counts.stored + counts.replaced > 0 {
            let of_type = self.types.entry(data_type.name().to_owned()).or_default();
            of_type.stored += counts.stored;
            of_type.replaced += counts.replaced;
        }
    }

    /// Returns when the first of the ranges can be derived, ms; `None` when nothing was stored. Ranges of which nothing
    /// is derived are passed over by a derivation, which notes that it has been there.
    pub fn ready_ms(&self, received_ms: i64) -> Option<i64> {
        let mut ranges = touched(self).peekable();
        ranges.peek()?;
        Some(ranges.flat_map(|range| range.due(0, received_ms)).map(|due| due.ready_ms).min().unwrap_or(received_ms))
    }
}

/// Returns whether two ranges lie within neighbouring windows.
fn touch(one: &RangeBody, other: &RangeBody) -> bool {
    other.0 <= one.1.saturating_add(WINDOW_US) && one.0 <= other.1.saturating_add(WINDOW_US)
}

fn touched(body: &SyncBody) -> impl Iterator<Item = TouchedRange> + '_ {
    body.types.iter().flat_map(|(name, of_type)| {
        // A type of a newer program, from which nothing is derived here.
        let data_type = DataType::from_name(name);
        of_type.ranges.iter().filter_map(move |range| {
            let RangeBody(first_us, last_us, rows, ahead_us) = *range;
            Some(TouchedRange { data_type: data_type?, first_us, last_us, rows, ahead_us })
        })
    })
}

/// Returns the ranges that a stored event of a sync names.
pub(in super::super) fn touched_ranges(body: &str) -> Result<Vec<TouchedRange>> {
    let body: SyncBody = serde_json::from_str(body).map_err(|error| StoreError::Damaged(error.to_string()))?;
    Ok(touched(&body).collect())
}

impl TouchedRange {
    /// Returns what is to be derived of it, and when. Rows ahead of the clock are looked at a second time when theirs
    /// has come; the window of a waveform that still runs is looked at once it has ended.
    pub fn due(self, arrival: i64, received_ms: i64) -> Vec<DueRange> {
        let TouchedRange { data_type, first_us, last_us, ahead_us, .. } = self;
        let range = DueRange { arrival, data_type: data_type.number(), first_us, last_us, ready_ms: received_ms };
        if data_type.is_waveform() {
            if !is_input(data_type) {
                return Vec::new();
            }
            let end_ms = (last_us.div_euclid(WINDOW_US) + 1) * WINDOW_US / 1000;
            // Phones send waveforms in blocks of seconds: a window that still runs would be computed dozens of times.
            let ready_ms = if end_ms <= received_ms { received_ms } else { end_ms + SETTLING_MS };
            return vec![DueRange { ready_ms, ..range }];
        }
        let ahead = ahead_us.map(|ahead_us| DueRange {
            first_us: ahead_us,
            ready_ms: ahead_us.div_euclid(1000) - AHEAD_MS,
            ..range
        });
        [Some(range), ahead].into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_each_type_from_which_something_is_derived_become_due() {
        for data_type in DataType::ALL {
            let range = TouchedRange { data_type, first_us: 10, last_us: 20, rows: 2, ahead_us: None };
            let is_due = !range.due(1, 7).is_empty();
            assert!(is_due || !is_input(data_type), "{}", data_type.name());
            assert!(!is_due || is_input(data_type) || !data_type.is_waveform(), "{}", data_type.name());
        }
    }

    #[test]
    fn body_is_read_back_as_ranges() {
        let text = r#"{"types":{"activity":{"stored":2,"replaced":0,"ranges":[[10,20,2,null],[900000000,900000001,1]]},
            "of_a_newer_program":{"stored":1,"replaced":0,"ranges":[[1,2,1]]}}}"#;
        let ranges = touched_ranges(text).expect("ranges");
        let range = |first_us, last_us, rows| TouchedRange {
            data_type: DataType::Activity,
            first_us,
            last_us,
            rows,
            ahead_us: None,
        };
        assert_eq!(ranges, [range(10, 20, 2), range(900_000_000, 900_000_001, 1)]);
        assert!(touched_ranges("{").is_err());
    }

    #[test]
    fn rows_ahead_of_the_clock_are_due_twice_and_running_windows_later() {
        let range = TouchedRange {
            data_type: DataType::Activity,
            first_us: 0,
            last_us: 10_000_000_000,
            rows: 9,
            ahead_us: Some(9_000_000_000),
        };
        let due = range.due(7, 1_000);
        assert_eq!(due.iter().map(|due| due.ready_ms).collect::<Vec<_>>(), [1_000, 9_000_000 - AHEAD_MS]);
        let waveform = TouchedRange { data_type: DataType::Ppg1, last_us: WINDOW_US + 1, ahead_us: None, ..range };
        let running = waveform.due(7, 1_000);
        assert_eq!(running[0].ready_ms, 2 * WINDOW_US / 1000 + SETTLING_MS);
        let ended = waveform.due(7, 3 * WINDOW_US / 1000);
        assert_eq!(ended[0].ready_ms, 3 * WINDOW_US / 1000);
    }
}
