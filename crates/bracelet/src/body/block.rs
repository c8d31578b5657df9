//! Rows of one data type in columns, and the time that they are of.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::column::Column;

/// A span of time `[from_ms, to_ms)` in whole seconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Window {
    /// Begin, Unix ms.
    pub from_ms: i64,
    /// End, Unix ms, exclusive.
    pub to_ms: i64,
}

impl Window {
    /// Makes a window whose ends are moved back to the last whole second.
    ///
    /// Waveforms are sampled on the grid of their rate since the epoch, so a window in whole seconds holds a whole
    /// count of samples of every rate, and neighbouring windows stay neighbours.
    pub fn new(from_ms: i64, to_ms: i64) -> Self {
        let floor = |at_ms: i64| at_ms.div_euclid(1_000) * 1_000;
        Self { from_ms: floor(from_ms), to_ms: floor(to_ms).max(floor(from_ms)) }
    }
}

/// Samples per second of the waveforms; integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SignalRates {
    /// `ppg1`.
    pub ppg1_hz: u32,
    /// `ppg2`, per colour.
    pub ppg2_hz: u32,
    /// `acc`.
    pub acc_hz: u32,
    /// `bioz`.
    pub bioz_hz: u32,
    /// `ecg`.
    pub ecg_hz: u32,
    /// `eda`, 4 to 128.
    pub eda_hz: u32,
    /// `gyro`, 16 to 128.
    pub gyro_hz: u32,
}

impl Default for SignalRates {
    fn default() -> Self {
        Self { ppg1_hz: 25, ppg2_hz: 128, acc_hz: 32, bioz_hz: 25, ecg_hz: 256, eda_hz: 4, gyro_hz: 32 }
    }
}

/// Rows of one data type, as columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Time of the first sample (Unix ms) and samples per second, for a waveform.
    pub start_and_rate: Option<(i64, u32)>,
    /// Names and values.
    pub columns: Vec<(&'static str, Column)>,
}

impl Block {
    pub(super) fn of_rows(columns: Vec<(&'static str, Column)>) -> Self {
        Self { start_and_rate: None, columns }
    }

    pub(super) fn of_samples(start_ms: i64, rate_hz: u32, columns: Vec<(&'static str, Column)>) -> Self {
        Self { start_and_rate: Some((start_ms, rate_hz)), columns }
    }

    /// No block when the first column, that of the timestamps, is empty.
    pub(super) fn unless_empty(columns: Vec<(&'static str, Column)>) -> Vec<Self> {
        match columns.first() {
            Some((_, timestamps)) if !timestamps.is_empty() => vec![Self::of_rows(columns)],
            _ => Vec::new(),
        }
    }

    /// Returns how many rows the block holds.
    pub fn row_count(&self) -> usize {
        let longest = self.columns.iter().map(|(_, column)| column.len()).max();
        longest.unwrap_or(0)
    }

    /// Returns how many values it carries: cells that are not null, without timestamps and constants.
    pub fn value_count(&self) -> usize {
        self.columns.iter().filter(|(name, _)| *name != "timestamp").map(|(_, column)| column.value_count()).sum()
    }
}

impl Serialize for Block {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some((start_ms, rate_hz)) = self.start_and_rate {
            map.serialize_entry("start", &start_ms)?;
            map.serialize_entry("rate_hz", &rate_hz)?;
        }
        for (name, column) in &self.columns {
            map.serialize_entry(name, column)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn windows_begin_and_end_on_whole_seconds_and_stay_neighbours() {
        for (from_ms, to_ms, expected) in [
            (0, 1_000, (0, 1_000)),
            (999, 1_999, (0, 1_000)),
            (1_000, 1_001, (1_000, 1_000)),
            (-1, 1, (-1_000, 0)),
            (5_500, 4_500, (5_000, 5_000)),
        ] {
            let window = Window::new(from_ms, to_ms);
            assert_eq!((window.from_ms, window.to_ms), expected, "{from_ms} to {to_ms}");
        }
        for cut_ms in [1, 999, 1_000, 61_234] {
            assert_eq!(Window::new(0, cut_ms).to_ms, Window::new(cut_ms, 99_000).from_ms);
        }
    }

    #[test]
    fn rows_are_known_by_their_time_and_samples_by_start_and_rate() {
        let rows = Block::of_rows(vec![
            ("timestamp", Column::Integers(vec![1, 2])),
            ("rr", Column::OptionalIntegers(vec![Some(800), None])),
            ("unit", Column::Words(vec!["ms", "ms"])),
            ("quality", Column::Constant(4)),
        ]);
        let expected = json!({"timestamp": [1, 2], "rr": [800, null], "unit": ["ms", "ms"], "quality": 4});
        assert_eq!(serde_json::to_value(&rows).unwrap(), expected);
        assert_eq!((rows.row_count(), rows.value_count()), (2, 3), "no time, no null, no constant is a value");
        let samples = Block::of_samples(
            7_000,
            25,
            vec![
                ("metric_id", Column::ConstantText("0x7e")),
                ("value", Column::Counts(vec![65_535, 0, 1])),
                ("ecg", Column::SignedCounts(vec![-1, 0, 1])),
                ("eda", Column::OptionalDecimals(vec![Some(0.5), None, None])),
            ],
        );
        let expected = json!({"start": 7_000, "rate_hz": 25, "metric_id": "0x7e", "value": [65_535, 0, 1],
            "ecg": [-1, 0, 1], "eda": [0.5, null, null]});
        assert_eq!(serde_json::to_value(&samples).unwrap(), expected);
        assert_eq!((samples.row_count(), samples.value_count()), (3, 7));
    }

    #[test]
    fn without_a_time_there_is_no_block() {
        let column = |name, times: Vec<i64>| (name, Column::Integers(times));
        assert!(Block::unless_empty(vec![]).is_empty());
        assert!(Block::unless_empty(vec![column("timestamp", vec![]), ("quality", Column::Constant(4))]).is_empty());
        assert_eq!(Block::unless_empty(vec![column("timestamp", vec![1])]).len(), 1);
        assert_eq!(Block::of_rows(vec![]).row_count(), 0);
    }
}
