//! Compliance: how much of what a bracelet measured has reached the service.
//!
//! Raw rows are counted from the tally, which knows whole quarters of an hour; where a range begins or ends within
//! one, the rows of that quarter are read, so that a count is exact to the millisecond. Slots are counted from the
//! day's cells.

use std::collections::{BTreeMap, BTreeSet};

use boxed_futures::boxed_futures;
use store::PatientId;
use vitals::cells::{ActivityCell, BeatCell, DayCells, TemperatureCell, WindowCell};
use vitals::derivation::{DerivedRow, Output, day_of, keys_of_days};
use vitals::registry::DataType;
use vitals::summary::Section;
use vitals::zone::{DAY_US, LocalClock, LocalDay, QUARTER_US, SECOND_US, WINDOW_US};

use crate::core::access::{Readable, Researcher};
use crate::core::error::{PlatformError, Result};
use crate::data::Data;

/// The longest range that is counted at once, ms.
pub const LONGEST_RANGE_MS: i64 = 48 * 3_600_000;

/// Local clocks are at most so far from UTC.
const FURTHEST_OFFSET_US: i64 = 16 * 3600 * SECOND_US;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedSpan {
    /// Samples whose own local clock showed this day.
    LocalDay(LocalDay),
    /// Samples from one millisecond since 1970 UTC to another, both included.
    Utc {
        /// First millisecond.
        from_ms: i64,
        /// Last millisecond.
        to_ms: i64,
    },
}

impl CountedSpan {
    /// Makes a day of UTC.
    pub fn utc_day(day: LocalDay) -> Self {
        let start_ms = i64::from(day.0) * (DAY_US / 1000);
        CountedSpan::Utc { from_ms: start_ms, to_ms: start_ms + DAY_US / 1000 - 1 }
    }
}

/// How much there is. What there is nothing of is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComplianceCounts {
    /// Rows by type.
    pub rows: BTreeMap<DataType, u64>,
    /// Slots with data by section: five-minute slots of the heart rate, valid five-minute windows of stress, thirty-minute
    /// slots of the others, 30-second epochs of sleep.
    pub slots: BTreeMap<Section, u64>,
}

#[boxed_futures]
impl Data {
    /// Counts of a patient's rows and slots. Invalid when the range is reversed or longer than
    /// [`LONGEST_RANGE_MS`].
    pub async fn compliance_counts(
        &self,
        researcher: &Researcher,
        patient: &PatientId,
        span: CountedSpan,
    ) -> Result<ComplianceCounts> {
        check_range(span)?;
        let readable = self.core.readable_patient(researcher, patient).await?;
        let patient = readable.uuid();
        let (rows, slots) = match span {
            CountedSpan::LocalDay(day) => {
                let rows = self.core.health().count_local_day(patient, day).await?.into_iter().collect();
                let cells = self.core.health().derived(patient, Output::Slots, keys_of_days(day, day)).await?;
                (rows, count_slots(&cells, |_| true))
            }
            CountedSpan::Utc { from_ms, to_ms } => {
                let (from_us, to_us) = (from_ms * 1000, to_ms * 1000 + 999);
                let utc_day = |time_us: i64| LocalDay(time_us.div_euclid(DAY_US) as i32);
                // Slots are stored by local day: the days around are read, and the start of each slot decides.
                let days = keys_of_days(utc_day(from_us - FURTHEST_OFFSET_US), utc_day(to_us + FURTHEST_OFFSET_US));
                let cells = self.core.health().derived(patient, Output::Slots, days).await?;
                let slots = count_slots(&cells, |start_ms| (from_ms..=to_ms).contains(&start_ms));
                (self.count_rows(&readable, from_us, to_us).await?, slots)
            }
        };
        let mut counts = ComplianceCounts { rows, slots };
        // A row of sleep is one epoch of 30 s, which is what the section counts; there are no cells of it to count.
        if let Some(epochs) = counts.rows.get(&DataType::Sleep) {
            counts.slots.insert(Section::Sleep, *epochs);
        }
        // At an edge, a quarter can have rows of a type and none of them within the range.
        counts.rows.retain(|_, rows| *rows > 0);
        counts.slots.retain(|_, slots| *slots > 0);
        Ok(counts)
    }

    /// Percent, with one decimal, of a local day's five-minute slots that have a stored heart rate; of today, of the
    /// slots that have elapsed.
    pub async fn heart_rate_compliance(
        &self,
        researcher: &Researcher,
        patient: &PatientId,
        day: LocalDay,
    ) -> Result<f64> {
        let readable = self.core.readable_patient(researcher, patient).await?;
        let patient = readable.uuid();
        let body = self.core.health().patient(patient).await?.map(|found| found.profile).unwrap_or_default();
        let clock = LocalClock::new(body.time_zone.as_deref().unwrap_or("UTC"));
        let cells = self.core.health().derived(patient, Output::Slots, keys_of_days(day, day)).await?;
        let stored = activity_of(&cells).map_or(0, |cells| with_heart_rate(&cells).count());
        Ok(percent(stored, slots_so_far(day, &clock, self.core.now_ms())))
    }

    /// Rows from a time to another, µs, both included.
    async fn count_rows(
        &self,
        patient: &Readable<PatientId>,
        from_us: i64,
        to_us: i64,
    ) -> Result<BTreeMap<DataType, u64>> {
        let patient = patient.uuid();
        let mut counts: BTreeMap<DataType, u64> = BTreeMap::new();
        let parts = Parts::of(from_us, to_us);
        if let Some((start_us, end_us)) = parts.quarters {
            counts.extend(self.core.health().count_quarters(patient, start_us, end_us).await?);
        }
        for (from_us, to_us) in parts.edges {
            // The counts of the quarters say which types are worth reading: most patients send three or four of them.
            let around_us = (quarter_of(from_us), quarter_of(to_us) + QUARTER_US);
            let present = self.core.health().count_quarters(patient, around_us.0, around_us.1).await?;
            for (data_type, _) in present {
                let blocks = self.core.health().rows(patient, data_type, from_us, to_us).await?;
                let rows: u64 = blocks.iter().map(|block| block.rows() as u64).sum();
                *counts.entry(data_type).or_default() += rows;
            }
        }
        Ok(counts)
    }
}

fn check_range(span: CountedSpan) -> Result<()> {
    let CountedSpan::Utc { from_ms, to_ms } = span else { return Ok(()) };
    if to_ms < from_ms {
        return Err(PlatformError::invalid("utc_date_to", "must not be before utc_date_from"));
    }
    if to_ms - from_ms > LONGEST_RANGE_MS {
        return Err(PlatformError::invalid("utc_date_to", "must be at most 48 hours after utc_date_from"));
    }
    Ok(())
}

/// A range cut into what the tally knows and what has to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Parts {
    /// Whole quarters, from (included) to (excluded), µs.
    quarters: Option<(i64, i64)>,
    /// The rest, µs, both ends included.
    edges: Vec<(i64, i64)>,
}

impl Parts {
    fn of(from_us: i64, to_us: i64) -> Self {
        let start_us = quarter_of(from_us + QUARTER_US - 1);
        let end_us = quarter_of(to_us + 1);
        // A range within one quarter has no whole quarter, and its two edges would overlap.
        if start_us >= end_us {
            return Parts { quarters: None, edges: vec![(from_us, to_us)] };
        }
        let edges = [(from_us, start_us - 1), (end_us, to_us)];
        Parts { quarters: Some((start_us, end_us)), edges: edges.into_iter().filter(|edge| edge.0 <= edge.1).collect() }
    }
}

/// Start of the UTC quarter of an hour that holds a time.
fn quarter_of(time_us: i64) -> i64 {
    time_us.div_euclid(QUARTER_US) * QUARTER_US
}

/// Slots with data whose start, ms, is wanted. A slot counts once, also where it lies on two local days because the
/// patient travelled.
fn count_slots(rows: &[DerivedRow], is_wanted: impl Fn(i64) -> bool) -> BTreeMap<Section, u64> {
    let mut starts: BTreeMap<Section, BTreeSet<i64>> = BTreeMap::new();
    let mut note = |section, start_ms| {
        if is_wanted(start_ms) {
            starts.entry(section).or_default().insert(start_ms);
        }
    };
    for row in rows {
        if let Some(cells) = activity_of(std::slice::from_ref(row)) {
            with_heart_rate(&cells).for_each(|cell| note(Section::HeartRate, cell.place.start_ms()));
            for slot in cells.half_hours() {
                let start_ms = slot.place.start_ms();
                note(Section::Activity, start_ms);
                if slot.respiration.values.count > 0 {
                    note(Section::RespirationRate, start_ms);
                }
                if slot.spo2.values.count > 0 {
                    note(Section::Spo2, start_ms);
                }
            }
        }
        if let Some(cells) = cells_of::<BeatCell>(std::slice::from_ref(row)) {
            let valid = cells.cells().iter().filter(|cell| cell.valid_windows > 0);
            valid.for_each(|cell| note(Section::Stress, cell.place.start_ms()));
        }
        if let Some(cells) = cells_of::<TemperatureCell>(std::slice::from_ref(row)) {
            let measured = cells.half_hours().into_iter().filter(|slot| slot.sk1.count + slot.sk2.count > 0);
            measured.for_each(|slot| note(Section::Temperature, slot.place.start_ms()));
        }
    }
    starts.into_iter().map(|(section, starts)| (section, starts.len() as u64)).collect()
}

/// Returns the first day of cells of one type among some rows. Cells of another version of the program cannot be read;
/// their day is due and will be counted again.
pub(crate) fn cells_of<C: WindowCell>(rows: &[DerivedRow]) -> Option<DayCells<C>> {
    let is_of_type = |row: &&DerivedRow| row.output == Output::Slots && day_of(row.key).1 == C::DATA_TYPE.number();
    DayCells::unpack(rows.iter().find(is_of_type)?.body.as_deref()?)
}

pub(crate) fn activity_of(rows: &[DerivedRow]) -> Option<DayCells<ActivityCell>> {
    cells_of(rows)
}

/// Five-minute slots with a stored heart rate, of whatever quality.
pub(crate) fn with_heart_rate(cells: &DayCells<ActivityCell>) -> impl Iterator<Item = &ActivityCell> {
    cells.cells().iter().filter(|cell| cell.stored_bpm > 0)
}

/// Five-minute slots of a day; of today, those that have elapsed, at least the first.
pub(crate) fn slots_so_far(day: LocalDay, clock: &LocalClock, now_ms: i64) -> u32 {
    let (start_us, end_us) = day.span_us(clock);
    let now_us = now_ms * 1000;
    if (start_us..end_us).contains(&now_us) {
        // Just after midnight no slot has elapsed, and a percentage of none would be 0 although data have arrived.
        return ((now_us - start_us) / WINDOW_US).max(1) as u32;
    }
    day.slot_count(clock)
}

/// Returns a percentage with one decimal, at most 100; 0 of a day that does not exist in its zone.
pub(crate) fn percent(slots: usize, of_slots: u32) -> f64 {
    if of_slots == 0 {
        return 0.0;
    }
    let tenths = (slots as f64 * 1000.0 / f64::from(of_slots)).round();
    // A slot that is just going on is stored before it counts as elapsed (refinement 9).
    tenths.min(1000.0) / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_range_is_limited() {
        let range = |from_ms, to_ms| check_range(CountedSpan::Utc { from_ms, to_ms }).is_ok();
        assert!(range(5, 5) && range(0, LONGEST_RANGE_MS));
        assert!(!range(5, 4) && !range(0, LONGEST_RANGE_MS + 1));
    }

    #[test]
    fn whole_quarters_leave_no_edges() {
        let Parts { quarters, edges } = Parts::of(0, 2 * QUARTER_US - 1);
        assert_eq!((quarters, edges.len()), (Some((0, 2 * QUARTER_US)), 0));
        assert_eq!(Parts::of(1, QUARTER_US - 1).quarters, None);
    }

    proptest! {
        #[test]
        fn the_parts_of_a_range_are_the_range(from in -5_000_000_000_i64..5_000_000_000, length in 0_i64..9_000_000_000) {
            let to = from + length;
            let Parts { quarters, edges } = Parts::of(from, to);
            let mut pieces = edges;
            if let Some((start, end)) = quarters {
                prop_assert!(start % QUARTER_US == 0 && end % QUARTER_US == 0 && start < end);
                pieces.push((start, end - 1));
            }
            pieces.sort_unstable();
            prop_assert_eq!((pieces[0].0, pieces[pieces.len() - 1].1), (from, to));
            for pair in pieces.windows(2) {
                prop_assert_eq!(pair[0].1 + 1, pair[1].0);
            }
            prop_assert!(pieces.iter().filter(|piece| Some((piece.0, piece.1 + 1)) != quarters)
                .all(|piece| piece.1 - piece.0 < 2 * QUARTER_US));
        }
    }

    #[test]
    fn today_counts_the_slots_that_have_elapsed() {
        let clock = LocalClock::new("Europe/Zurich");
        let day = LocalDay::parse("2026-03-29").expect("a day");
        let start_ms = day.span_us(&clock).0 / 1000;
        let minute_ms = 60_000;
        for (minutes, slots) in [(-1, 276), (0, 1), (9, 1), (10, 2), (60 * 23 - 1, 275), (60 * 23, 276)] {
            assert_eq!(slots_so_far(day, &clock, start_ms + minutes * minute_ms), slots, "{minutes}");
        }
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "what is rounded to a decimal is exactly that decimal")]
    fn a_percentage_has_one_decimal_and_ends_at_100() {
        assert_eq!([percent(0, 288), percent(1, 288), percent(96, 288), percent(288, 288)], [0.0, 0.3, 33.3, 100.0]);
        assert_eq!([percent(300, 288), percent(1, 0), percent(0, 0)], [100.0, 0.0, 0.0]);
        let apia = LocalClock::new("Pacific/Apia");
        let skipped = LocalDay::parse("2011-12-30").expect("a day");
        assert_eq!(slots_so_far(skipped, &apia, 0), 0);
    }
}
