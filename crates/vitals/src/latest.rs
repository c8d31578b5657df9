//! The newest valid value of each vital sign.
//!
//! Merging is a choice of the newer. Of several values of one millisecond the graver one wins: that which NEWS2 scores
//! higher, so that a bracelet that finds everything in order does not hide what somebody measured by hand in the same
//! minute. So it does not matter in which order blocks are looked at, or how the rows were spread over them.

use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::news2::{Spo2Bands, score_pulse, score_respiration, score_spo2, score_systolic, score_temperature};
use crate::registry::DataType;
use crate::vital_rows::{ActivityRows, Pressure, SpotRows, SpotVital};

/// A value and when it was measured. Serialised as `[value, timestamp_ms]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "(f64, i64)", into = "(f64, i64)")]
pub struct Timed {
    /// In the unit of the vital sign.
    pub value: f64,
    /// Unix epoch milliseconds.
    pub timestamp_ms: i64,
}

impl From<(f64, i64)> for Timed {
    fn from((value, timestamp_ms): (f64, i64)) -> Self {
        Timed { value, timestamp_ms }
    }
}

impl From<Timed> for (f64, i64) {
    fn from(timed: Timed) -> Self {
        (timed.value, timed.timestamp_ms)
    }
}

/// The newest valid values of a patient, each with its own time: of the two pressures one can be older, when a row
/// brought the other half alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LatestValues {
    /// /min.
    #[serde(rename = "hr", skip_serializing_if = "Option::is_none")]
    pub heart_rate: Option<Timed>,
    /// /min.
    #[serde(rename = "rr", skip_serializing_if = "Option::is_none")]
    pub respiration_rate: Option<Timed>,
    /// Body temperature, °C; never a skin temperature.
    #[serde(rename = "t", skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Timed>,
    /// %.
    #[serde(rename = "o2", skip_serializing_if = "Option::is_none")]
    pub spo2: Option<Timed>,
    /// mmHg.
    #[serde(rename = "sys", skip_serializing_if = "Option::is_none")]
    pub nibp_systolic: Option<Timed>,
    /// mmHg.
    #[serde(rename = "dia", skip_serializing_if = "Option::is_none")]
    pub nibp_diastolic: Option<Timed>,
    /// Total of the newest NEWS entry, where that has one. It comes from the entries and never from a block.
    #[serde(rename = "news", skip_serializing_if = "Option::is_none")]
    pub news_score: Option<Timed>,
}

impl LatestValues {
    /// Takes over every value of `other` that is newer; at equal times the graver one. Answers whether anything
    /// changed.
    pub fn merge_newer(&mut self, other: &LatestValues) -> bool {
        let before = *self;
        self.heart_rate = newer(self.heart_rate, other.heart_rate, score_pulse);
        self.respiration_rate = newer(self.respiration_rate, other.respiration_rate, score_respiration);
        self.temperature = newer(self.temperature, other.temperature, score_temperature);
        // Scale 1 for everybody: which of two values is graver must not change with a setting that is changed later,
        // and on scale 1 a lower value never scores less.
        self.spo2 = newer(self.spo2, other.spo2, |percent| score_spo2(percent, Spo2Bands::ScaleOne));
        // Two totals of one millisecond cannot be, and nothing scores a diastolic pressure.
        self.news_score = newer(self.news_score, other.news_score, |_| None);
        self.nibp_systolic = newer(self.nibp_systolic, other.nibp_systolic, score_systolic);
        self.nibp_diastolic = newer(self.nibp_diastolic, other.nibp_diastolic, |_| None);
        *self != before
    }

    /// Returns the newest time of a vital sign that NEWS scores, ms.
    pub fn scored_ms(&self) -> Option<i64> {
        let scored = [self.heart_rate, self.respiration_rate, self.temperature, self.spo2, self.nibp_systolic];
        scored.into_iter().flatten().map(|timed| timed.timestamp_ms).max()
    }

    /// Returns the values that are not later than a time.
    #[must_use]
    pub fn not_after(mut self, time_ms: i64) -> Self {
        self.retain(|timed| timed.timestamp_ms <= time_ms);
        self
    }

    /// Returns the vital signs, always in the same order; the score is none.
    pub fn signs(&self) -> [Option<Timed>; 6] {
        let mut copy = *self;
        copy.signs_mut().map(|sign| *sign)
    }

    /// Returns the vital signs to be changed, in the order of [`LatestValues::signs`].
    pub fn signs_mut(&mut self) -> [&mut Option<Timed>; 6] {
        [
            &mut self.heart_rate,
            &mut self.respiration_rate,
            &mut self.temperature,
            &mut self.spo2,
            &mut self.nibp_systolic,
            &mut self.nibp_diastolic,
        ]
    }

    /// Keeps the vital signs that fulfil a condition.
    pub fn retain(&mut self, keep: impl Fn(&Timed) -> bool) {
        for sign in self.signs_mut() {
            *sign = sign.filter(&keep);
        }
    }

    /// Returns whether no vital sign is known.
    pub fn is_empty(&self) -> bool {
        self.scored_ms().is_none() && self.nibp_diastolic.is_none()
    }
}

/// Returns the later of two values; of the same time the one that scores higher, and of these the larger.
fn newer(mine: Option<Timed>, other: Option<Timed>, score: impl Fn(f64) -> Option<u8>) -> Option<Timed> {
    let (Some(known), Some(candidate)) = (mine, other) else { return mine.or(other) };
    // Values that score alike still need an order, or the result would depend on which block was looked at first.
    let of_one_time = || score(candidate.value).cmp(&score(known.value)).then(candidate.value.total_cmp(&known.value));
    let order = candidate.timestamp_ms.cmp(&known.timestamp_ms).then_with(of_one_time);
    if order.is_gt() { other } else { mine }
}

/// Returns the newest valid values among the rows of a block that are not later than `not_after_us`.
///
/// Blocks of other types than activity and tests have none.
pub fn newest_of(block: &Block, not_after_us: i64) -> LatestValues {
    // Samples up to a day ahead of the clock are stored; what lies ahead is nobody's latest value yet.
    let rows = block.times_us.partition_point(|time| *time <= not_after_us);
    newest_in_rows(block, 0..rows)
}

/// Returns the newest valid values among some rows of a block.
pub fn newest_in_rows(block: &Block, rows: std::ops::Range<usize>) -> LatestValues {
    let mut newest = LatestValues::default();
    let Some(readings) = Readings::of(block) else { return newest };
    for row in rows.rev() {
        let time_ms = block.times_us[row].div_euclid(1000);
        // Rows are looked at from the end. Equal times have to be looked at too, because of them the graver value
        // counts.
        if all_later_than(&newest, time_ms) {
            break;
        }
        newest.merge_newer(&readings.at(row, time_ms));
    }
    newest
}

/// Reads the vital signs of single rows of a block.
#[derive(Clone, Copy, Debug)]
pub enum Readings<'block> {
    /// Of type activity.
    Activity(ActivityRows<'block>),
    /// Of type tests.
    Spot(SpotRows<'block>),
}

impl<'block> Readings<'block> {
    /// Returns the readings of a block; `None` when it cannot have any.
    pub fn of(block: &'block Block) -> Option<Self> {
        match block.data_type {
            DataType::Activity => Some(Readings::Activity(ActivityRows::of(block))),
            DataType::Tests => SpotRows::of(block).map(Readings::Spot),
            _ => None,
        }
    }

    /// Returns the valid vital signs of a row, all with the time given.
    pub fn at(&self, row: usize, time_ms: i64) -> LatestValues {
        match self {
            Readings::Activity(rows) => activity_at(rows, row, time_ms),
            Readings::Spot(rows) => spot_of(rows.vital, rows.thousandths(row), time_ms),
        }
    }

    /// Returns the vital signs of a row that would be valid but for their quality, all with the time given.
    pub fn poor_at(&self, row: usize, timestamp_ms: i64) -> LatestValues {
        match self {
            Readings::Activity(rows) => {
                let timed = |value: i32, steps: f64| Timed { value: f64::from(value) / steps, timestamp_ms };
                LatestValues {
                    heart_rate: rows.poor_bpm(row).map(|value| timed(value, 1.0)),
                    respiration_rate: rows.poor_respiration_tenths(row).map(|value| timed(value, 10.0)),
                    spo2: rows.poor_spo2_tenths(row).map(|value| timed(value, 10.0)),
                    // The registry has no column for the quality of the others.
                    ..LatestValues::default()
                }
            }
            Readings::Spot(rows) => spot_of(rows.vital, rows.poor_thousandths(row), timestamp_ms),
        }
    }
}

/// Returns whether no row at `time_ms` or before can change anything.
fn all_later_than(newest: &LatestValues, time_ms: i64) -> bool {
    let singles = [newest.heart_rate, newest.respiration_rate, newest.temperature, newest.spo2];
    let pressures = [newest.nibp_systolic, newest.nibp_diastolic];
    singles.into_iter().chain(pressures).all(|timed| timed.is_some_and(|timed| timed.timestamp_ms > time_ms))
}

fn activity_at(rows: &ActivityRows<'_>, row: usize, timestamp_ms: i64) -> LatestValues {
    let timed = |value: i32, steps: f64| Timed { value: f64::from(value) / steps, timestamp_ms };
    let pressure = rows.pressure(row).unwrap_or(Pressure { systolic: None, diastolic: None });
    LatestValues {
        heart_rate: rows.bpm(row).map(|value| timed(value, 1.0)),
        respiration_rate: rows.respiration_tenths(row).map(|value| timed(value, 10.0)),
        temperature: rows.core_temp_hundredths(row).map(|value| timed(value, 100.0)),
        spo2: rows.spo2_tenths(row).map(|value| timed(value, 10.0)),
        nibp_systolic: pressure.systolic.map(|value| timed(value, 1.0)),
        nibp_diastolic: pressure.diastolic.map(|value| timed(value, 1.0)),
        news_score: None,
    }
}

fn spot_of(vital: SpotVital, thousandths: Option<i32>, timestamp_ms: i64) -> LatestValues {
    let mut values = LatestValues::default();
    let timed = thousandths.map(|thousandths| Timed { value: f64::from(thousandths) / 1000.0, timestamp_ms });
    match vital {
        SpotVital::HeartRate => values.heart_rate = timed,
        SpotVital::RespirationRate => values.respiration_rate = timed,
        SpotVital::Spo2 => values.spo2 = timed,
        SpotVital::Temperature => values.temperature = timed,
        SpotVital::Systolic => values.nibp_systolic = timed,
        SpotVital::Diastolic => values.nibp_diastolic = timed,
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Cells;
    use crate::registry::{Channel, NULL, TestKind};
    use crate::zone::ZoneRuns;
    use proptest::prelude::*;

    fn block(data_type: DataType, channel: Channel, times_ms: &[i64], columns: &[(&str, &[i32])]) -> Block {
        let mut block = Block::empty(data_type, channel);
        block.times_us = times_ms.iter().map(|ms| ms * 1000).collect();
        block.zones = ZoneRuns::constant("UTC".into(), times_ms.len());
        for (name, cells) in columns {
            block.columns[data_type.column_index(name).unwrap()] = Cells::Values(cells.to_vec());
        }
        block
    }

    fn activity(times_ms: &[i64], columns: &[(&str, &[i32])]) -> Block {
        block(DataType::Activity, Channel::default(), times_ms, columns)
    }

    fn spot(name: &str, time_ms: i64, thousandths: i32) -> Block {
        let channel = Channel::of_test(TestKind::code(name).unwrap());
        block(DataType::Tests, channel, &[time_ms], &[("value", &[thousandths])])
    }

    #[allow(clippy::unnecessary_wraps, reason = "it is compared with the fields")]
    fn timed(value: f64, timestamp_ms: i64) -> Option<Timed> {
        Some(Timed { value, timestamp_ms })
    }

    #[test]
    fn zero_poor_and_unworn_rows_are_passed_over() {
        let rows = activity(
            &[1, 2, 3, 4],
            &[
                ("bpm", &[61, 62, 63, 0]),
                ("bpm_q", &[NULL, 1, 4, 4]),
                ("wearing", &[4, 4, 0, 4]),
                ("respiration_rate", &[NULL, 155, 160, NULL]),
                ("resp_q", &[4, 2, 4, 4]),
            ],
        );
        let newest = newest_of(&rows, i64::MAX);
        assert_eq!(newest.heart_rate, timed(61.0, 1));
        assert_eq!(newest.respiration_rate, timed(15.5, 2));
        assert_eq!(newest.spo2, None);
    }

    #[test]
    fn rows_after_the_limit_are_left_out() {
        let rows = activity(&[1, 2], &[("bpm", &[61, 62])]);
        assert_eq!(newest_of(&rows, 1999).heart_rate, timed(61.0, 1));
        assert_eq!(newest_of(&rows, 2000).heart_rate, timed(62.0, 2));
        assert_eq!(newest_of(&rows, 999), LatestValues::default());
    }

    #[test]
    fn the_combined_pressure_goes_before_the_plain_one_and_halves_are_not_mixed() {
        let rows = activity(
            &[1, 2],
            &[
                ("nibp_systolic_combine", &[121, 0]),
                ("nibp_diastolic_combine", &[NULL, 0]),
                ("nibp_systolic", &[130, 131]),
                ("nibp_diastolic", &[85, 86]),
            ],
        );
        let newest = newest_of(&rows, 1000);
        assert_eq!((newest.nibp_systolic, newest.nibp_diastolic), (timed(121.0, 1), None));
        let newest = newest_of(&rows, 2000);
        assert_eq!((newest.nibp_systolic, newest.nibp_diastolic), (timed(131.0, 2), timed(86.0, 2)));
    }

    #[test]
    fn skin_temperature_is_never_a_temperature() {
        let skin = block(DataType::Temperature, Channel::default(), &[1], &[("temp_sk1", &[3350])]);
        assert!(newest_of(&skin, i64::MAX).is_empty());
        assert_eq!(newest_of(&spot("temperature", 5, 37_200), i64::MAX).temperature, timed(37.2, 5));
        assert!(newest_of(&spot("weight", 5, 70_000), i64::MAX).is_empty());
    }

    #[test]
    fn the_halves_of_a_spot_pressure_come_together_and_replace_an_older_pair() {
        let rows = activity(&[1], &[("nibp_systolic", &[130]), ("nibp_diastolic", &[85])]);
        let mut newest = newest_of(&rows, i64::MAX);
        assert!(newest.merge_newer(&newest_of(&spot("blood_pressure_diastolic", 9, 70_000), i64::MAX)));
        assert!(newest.merge_newer(&newest_of(&spot("blood_pressure_systolic", 9, 118_000), i64::MAX)));
        assert!(!newest.merge_newer(&newest_of(&rows, i64::MAX)));
        assert_eq!((newest.nibp_systolic, newest.nibp_diastolic), (timed(118.0, 9), timed(70.0, 9)));
    }

    #[test]
    fn a_lone_half_of_a_pressure_leaves_the_other_half_as_it_is() {
        let rows = activity(&[1, 2], &[("nibp_systolic", &[130, 141]), ("nibp_diastolic", &[85, NULL])]);
        let newest = newest_of(&rows, i64::MAX);
        assert_eq!((newest.nibp_systolic, newest.nibp_diastolic), (timed(141.0, 2), timed(85.0, 1)));
    }

    #[test]
    fn the_stored_form_is_short_and_read_back() {
        let newest = newest_of(&activity(&[7], &[("bpm", &[61]), ("spo2", &[975])]), i64::MAX);
        let text = serde_json::to_string(&newest).unwrap();
        assert_eq!(text, r#"{"hr":[61.0,7],"o2":[97.5,7]}"#);
        assert_eq!(serde_json::from_str::<LatestValues>(&text).unwrap(), newest);
        assert_eq!(serde_json::from_str::<LatestValues>("{}").unwrap(), LatestValues::default());
    }

    #[test]
    fn of_one_millisecond_the_graver_value_is_kept() {
        let rows = activity(
            &[7],
            &[
                ("bpm", &[60]),
                ("respiration_rate", &[140]),
                ("spo2", &[980]),
                ("nibp_systolic", &[120]),
                ("core_temp", &[3700]),
            ],
        );
        for (name, thousandths, graver) in [
            ("heart_rate", 35_000, true),
            ("heart_rate", 145_000, true),
            ("heart_rate", 55_000, false),
            ("respiration_rate", 5_000, true),
            ("spo2", 80_000, true),
            ("spo2", 97_000, false),
            ("temperature", 34_000, true),
            ("blood_pressure_systolic", 85_000, true),
            ("blood_pressure_systolic", 118_000, false),
        ] {
            let by_hand = newest_of(&spot(name, 7, thousandths), i64::MAX);
            let by_bracelet = newest_of(&rows, i64::MAX);
            let (mut one, mut other) = (by_bracelet, by_hand);
            one.merge_newer(&by_hand);
            other.merge_newer(&by_bracelet);
            assert_eq!(one, other);
            let kept = by_hand
                .signs()
                .into_iter()
                .zip(one.signs())
                .all(|(by_hand, kept)| by_hand.is_none_or(|by_hand| kept == Some(by_hand)));
            assert_eq!(kept, graver, "{name} {thousandths}");
        }
    }

    proptest! {
        /// Several rows share a millisecond here, so that ties matter.
        #[test]
        fn neither_order_nor_cutting_changes_the_newest(
            rows in proptest::collection::vec((0_i64..4, 0_i32..3, 0_i32..3, 0_i32..3, 0_i32..2), 1..12),
            cut in 0_usize..12,
        ) {
            let mut block = activity(&vec![0; rows.len()], &[]);
            block.times_us = rows.iter().enumerate().map(|(at, row)| row.0 * 1000 + at as i64).collect();
            block.times_us.sort_unstable();
            let pick = |field: fn(&(i64, i32, i32, i32, i32)) -> i32| Cells::Values(rows.iter().map(field).collect());
            for (name, cells) in [
                ("bpm", pick(|row| row.1)),
                ("nibp_systolic", pick(|row| row.2)),
                ("nibp_diastolic", pick(|row| row.3)),
                ("wearing", pick(|row| row.4)),
            ] {
                block.columns[DataType::Activity.column_index(name).unwrap()] = cells;
            }
            let whole = newest_of(&block, i64::MAX);
            let cut = cut.min(rows.len());
            let early = newest_of(&block.slice(0..cut), i64::MAX);
            let late = newest_of(&block.slice(cut..rows.len()), i64::MAX);
            for (first, second) in [(early, late), (late, early)] {
                let mut merged = first;
                merged.merge_newer(&second);
                prop_assert_eq!(merged, whole);
            }
        }
    }
}
