//! Which stored periods a range of local time touches, and which rows of them lie in it.
//!
//! A sample's local time is that of its own zone, so a range of local time is no range of UTC for somebody who
//! travels. The tally knows the offset of every quarter of an hour that has samples; what lies wholly within needs no
//! look at its rows.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use store::segment::SealedPeriod;
use store::{LocalQuarter, PatientId};
use vitals::block::Block;
use vitals::registry::{DataType, Period};
use vitals::zone::{DAY_US, LocalClock, QUARTER_US, SECOND_US};

use super::request::ExportRequest;
use crate::core::Core;
use crate::core::access::Readable;
use crate::core::error::Result;

/// A stored period and what is asked for of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TouchedPeriod {
    /// The period.
    pub period: SealedPeriod,
    /// Between which times rows are asked for, µs.
    pub times_us: RangeInclusive<i64>,
    /// Whether all that is stored of the period is asked for.
    pub is_whole: bool,
}

/// A range of local time, µs since 1970-01-01T00:00, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LocalRange {
    from_us: i64,
    to_us: i64,
}

impl LocalRange {
    pub(super) fn of(request: &ExportRequest) -> Self {
        LocalRange { from_us: request.from_local_ms * 1000, to_us: request.to_local_ms * 1000 + 999 }
    }

    /// Returns the periods that have rows in the range, in the order of time.
    pub(super) async fn touched_periods(
        self,
        core: &Core,
        patient: &Readable<PatientId>,
        data_type: DataType,
    ) -> Result<Vec<TouchedPeriod>> {
        // Wide enough to see all quarters of every period that is touched.
        let around_us = match data_type.period() {
            Period::Day => 3 * DAY_US,
            Period::Month => 33 * DAY_US,
        };
        let (from_us, to_us) = (self.from_us.saturating_sub(around_us), self.to_us.saturating_add(around_us));
        let quarters = core.health().local_quarters(patient.uuid(), data_type, from_us, to_us).await?;
        Ok(self.periods(data_type, &quarters))
    }

    fn periods(self, data_type: DataType, quarters: &[LocalQuarter]) -> Vec<TouchedPeriod> {
        let mut periods: BTreeMap<SealedPeriod, Vec<&LocalQuarter>> = BTreeMap::new();
        for quarter in quarters {
            periods.entry(SealedPeriod::of(data_type, quarter.start_us)).or_default().push(quarter);
        }
        let touched = |(period, quarters): (SealedPeriod, Vec<&LocalQuarter>)| {
            let inside: Vec<_> = quarters.iter().filter(|quarter| self.overlaps(quarter)).collect();
            let first_us = inside.iter().map(|quarter| quarter.start_us).min()?;
            let last_us = inside.iter().map(|quarter| quarter.start_us + QUARTER_US - 1).max()?;
            let is_whole = quarters.iter().all(|quarter| self.contains(quarter));
            Some(TouchedPeriod { period, times_us: first_us..=last_us, is_whole })
        };
        periods.into_iter().filter_map(touched).collect()
    }

    fn overlaps(self, quarter: &LocalQuarter) -> bool {
        let local_us = local_us(quarter);
        local_us <= self.to_us && local_us + QUARTER_US > self.from_us
    }

    fn contains(self, quarter: &LocalQuarter) -> bool {
        let local_us = local_us(quarter);
        local_us >= self.from_us && local_us + QUARTER_US - 1 <= self.to_us
    }

    /// Returns the rows whose own local clock lies in the range; none when there is no such row.
    pub(super) fn clipped(self, block: Block) -> Option<Block> {
        let mut kept: Vec<std::ops::Range<usize>> = Vec::new();
        for (run, zone) in block.zones.iter() {
            let mut clock = LocalClock::new(zone);
            for row in run {
                let local_us = clock.local_us(block.times_us[row]);
                if local_us < self.from_us || local_us > self.to_us {
                    continue;
                }
                match kept.last_mut() {
                    Some(last) if last.end == row => last.end += 1,
                    _ => kept.push(row..row + 1),
                }
            }
        }
        match kept.as_slice() {
            [] => None,
            [all] if all.len() == block.rows() => Some(block),
            parts => {
                let parts: Vec<Block> = parts.iter().map(|rows| block.slice(rows.clone())).collect();
                Some(Block::concatenated(&parts.iter().collect::<Vec<_>>()))
            }
        }
    }
}

fn local_us(quarter: &LocalQuarter) -> i64 {
    quarter.start_us + i64::from(quarter.offset_s) * SECOND_US
}

#[cfg(test)]
mod tests {
    use vitals::registry::Channel;
    use vitals::zone::ZoneRuns;

    use super::*;

    const MIDNIGHT_US: i64 = 1_763_596_800_000_000; // 2025-11-20T00:00Z
    const HOUR_US: i64 = 3_600_000_000;

    fn quarter(start_us: i64, offset_s: i32) -> LocalQuarter {
        LocalQuarter { start_us, offset_s }
    }

    #[test]
    fn a_period_is_whole_when_each_of_its_quarters_is() {
        let range = LocalRange { from_us: MIDNIGHT_US, to_us: MIDNIGHT_US + DAY_US - 1 };
        let quarters = [quarter(MIDNIGHT_US - HOUR_US, 3600), quarter(MIDNIGHT_US, 3600)];
        let periods = range.periods(DataType::Ecg, &quarters);
        assert_eq!(periods.iter().map(|touched| touched.is_whole).collect::<Vec<_>>(), [true, true]);
        assert_eq!(periods[0].times_us, MIDNIGHT_US - HOUR_US..=MIDNIGHT_US - HOUR_US + QUARTER_US - 1);

        let evening = [quarter(MIDNIGHT_US, 3600), quarter(MIDNIGHT_US + 23 * HOUR_US, 3600)];
        let periods = range.periods(DataType::Ecg, &evening);
        assert_eq!(periods.len(), 1);
        assert!(!periods[0].is_whole);
        assert_eq!(*periods[0].times_us.end(), MIDNIGHT_US + QUARTER_US - 1);

        let half = LocalRange { from_us: MIDNIGHT_US + 1, ..range };
        assert!(!half.periods(DataType::Ecg, &[quarter(MIDNIGHT_US, 0)])[0].is_whole);
    }

    #[test]
    fn rows_are_judged_by_their_own_clock() {
        let mut block = Block::empty(DataType::Sleep, Channel::default());
        block.times_us = vec![MIDNIGHT_US - HOUR_US, MIDNIGHT_US, MIDNIGHT_US + 1, MIDNIGHT_US + 2 * HOUR_US];
        block.zones = ZoneRuns::constant("Europe/Zurich".into(), 2);
        block.zones.push("America/New_York".into(), 2);
        let day = LocalRange { from_us: MIDNIGHT_US, to_us: MIDNIGHT_US + DAY_US - 1 };
        let before = LocalRange { from_us: MIDNIGHT_US - DAY_US, to_us: MIDNIGHT_US - 1 };
        assert_eq!(day.clipped(block.clone()).expect("rows").times_us, [MIDNIGHT_US - HOUR_US, MIDNIGHT_US]);
        assert_eq!(before.clipped(block.clone()).expect("rows").times_us, [MIDNIGHT_US + 1, MIDNIGHT_US + 2 * HOUR_US]);
        assert!(LocalRange { from_us: 0, to_us: 5 }.clipped(block).is_none());
    }
}
