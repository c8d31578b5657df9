//! Windows as they are stored and given out: rounded to the digits that they are given with, an hour's together.
//!
//! Counting begins again in each UTC hour, so the records of an hour are a pure function of its intervals and are
//! stored in one piece.

use super::windows::{AfWindow, Classification, HOUR_MS, WINDOW_BEATS, classify};
use crate::beats::Beat;
use crate::cells::{Packer, Unpacker};

/// Version of the packed form and of the definitions.
const FORMAT: u8 = 1;
/// Steps per unit of probabilities.
const MILLIONTHS: f64 = 1e6;
/// Steps per unit of everything else.
const THOUSANDTHS: f64 = 1e3;

/// Start of the UTC hour that holds a time, ms.
pub fn hour_of(time_ms: i64) -> i64 {
    time_ms.div_euclid(HOUR_MS) * HOUR_MS
}

/// A window with the fields of the `AFib` detection record that follow from intervals.
///
/// Probabilities have six decimals, the rest three.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AfRecord {
    /// Time of the first beat, Unix epoch milliseconds.
    pub time_ms: i64,
    /// Time of the last beat, Unix epoch milliseconds.
    pub end_ms: i64,
    /// Seconds that local time was ahead of UTC at the first beat.
    pub offset_s: i32,
    /// Class of the window alone.
    pub classification: Classification,
    /// Probability of fibrillation in the window.
    pub afb_probability: f64,
    /// Median of it over the windows that vote.
    pub final_probability: f64,
    /// Whether most of the three windows around are fibrillation.
    pub af_detected: Option<bool>,
    /// Number of good intervals out of 64.
    pub good_ibi_number: u32,
    /// Mean good interval, ms.
    pub avnn: Option<f64>,
    /// Standard deviation of the good intervals, ms.
    pub sdnn: Option<f64>,
    /// Root mean square of successive differences, ms.
    pub rmssd: Option<f64>,
    /// Differences above 50 ms, percent.
    pub pnn50: Option<f64>,
    /// Low-frequency power, ms².
    pub lf: Option<f64>,
}

impl AfRecord {
    fn of(window: &AfWindow, offset_s: i32) -> Self {
        let thousandths = |value: Option<f64>| value.map(|value| rounded(value, THOUSANDTHS));
        AfRecord {
            time_ms: window.time_ms,
            end_ms: window.end_ms,
            offset_s,
            classification: window.classification,
            afb_probability: rounded(window.afb_probability, MILLIONTHS),
            final_probability: rounded(window.final_probability, MILLIONTHS),
            af_detected: window.af_detected,
            good_ibi_number: window.good_ibi_number as u32,
            avnn: thousandths(window.avnn),
            sdnn: thousandths(window.sdnn),
            rmssd: thousandths(window.rmssd),
            pnn50: thousandths(window.pnn50),
            lf: thousandths(window.lf),
        }
    }

    /// 1 − probability of fibrillation; None when unclassified.
    pub fn nsr_probability(&self) -> Option<f64> {
        // Unclassified windows carry the probability 0, and its complement would say "surely normal".
        (self.classification != Classification::Unc).then(|| rounded(1.0 - self.afb_probability, MILLIONTHS))
    }

    /// Share of good intervals.
    pub fn good_quality_probability(&self) -> f64 {
        rounded(f64::from(self.good_ibi_number) / WINDOW_BEATS as f64, MILLIONTHS)
    }

    /// 60,000 / `avnn`, per minute.
    pub fn heart_rate(&self) -> Option<f64> {
        self.avnn.map(|avnn| rounded(60_000.0 / avnn, THOUSANDTHS))
    }

    /// Share of good intervals where there is an `lf`.
    pub fn lf_confidence(&self) -> Option<f64> {
        self.lf.map(|_| self.good_quality_probability())
    }

    fn pack(&self, packer: &mut Packer, last_ms: i64) {
        packer.signed(self.time_ms - last_ms);
        packer.signed(self.end_ms - self.time_ms);
        packer.signed(i64::from(self.offset_s));
        let class = match self.classification {
            Classification::Nsr => 0,
            Classification::Af => 1,
            Classification::Unc => 2,
        };
        let detected = match self.af_detected {
            None => 0,
            Some(false) => 1,
            Some(true) => 2,
        };
        // Both have three values, so one byte holds them.
        packer.byte(class * 3 + detected);
        packer.unsigned(u64::from(self.good_ibi_number));
        packer.decimal(Some(self.afb_probability), MILLIONTHS);
        packer.decimal(Some(self.final_probability), MILLIONTHS);
        for value in [self.avnn, self.sdnn, self.rmssd, self.pnn50, self.lf] {
            packer.decimal(value, THOUSANDTHS);
        }
    }

    fn unpack(unpacker: &mut Unpacker<'_>, last_ms: i64) -> Option<Self> {
        let time_ms = last_ms.checked_add(unpacker.signed()?)?;
        let end_ms = time_ms.checked_add(unpacker.signed()?)?;
        let offset_s = i32::try_from(unpacker.signed()?).ok()?;
        let both = unpacker.byte()?;
        let classification = match both / 3 {
            0 => Classification::Nsr,
            1 => Classification::Af,
            _ => Classification::Unc,
        };
        let af_detected = match both % 3 {
            0 => None,
            1 => Some(false),
            _ => Some(true),
        };
        Some(AfRecord {
            time_ms,
            end_ms,
            offset_s,
            classification,
            af_detected,
            good_ibi_number: unpacker.number()?,
            afb_probability: unpacker.decimal(MILLIONTHS)??,
            final_probability: unpacker.decimal(MILLIONTHS)??,
            avnn: unpacker.decimal(THOUSANDTHS)?,
            sdnn: unpacker.decimal(THOUSANDTHS)?,
            rmssd: unpacker.decimal(THOUSANDTHS)?,
            pnn50: unpacker.decimal(THOUSANDTHS)?,
            lf: unpacker.decimal(THOUSANDTHS)?,
        })
    }
}

fn rounded(value: f64, steps_per_unit: f64) -> f64 {
    (value * steps_per_unit).round() / steps_per_unit
}

/// A record, and when the service learned of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoredRecord {
    /// The record.
    pub record: AfRecord,
    /// Time at which a record of that time was first there, ms.
    pub created_ms: i64,
    /// Time at which it last changed, ms.
    pub updated_ms: i64,
}

/// Returns the records of one UTC hour from its intervals, which ascend in time; each with the offset that `offset_s`
/// gives of its first beat.
pub fn records_of_hour(beats: &[Beat], mut offset_s: impl FnMut(i64) -> i32) -> Vec<AfRecord> {
    classify(beats).iter().map(|window| AfRecord::of(window, offset_s(window.time_ms))).collect()
}

/// New records of an hour with the times of the old ones: what was there keeps when it was created, what is
/// unchanged also when it was updated.
pub fn with_times(new: Vec<AfRecord>, old: &[StoredRecord], now_ms: i64) -> Vec<StoredRecord> {
    let stored = |record: AfRecord| match old.iter().find(|old| old.record.time_ms == record.time_ms) {
        // Recomputing must not look like news: a client that asks for what was updated would fetch the whole history
        // again.
        Some(old) if old.record == record => *old,
        Some(old) => StoredRecord { record, created_ms: old.created_ms, updated_ms: now_ms },
        None => StoredRecord { record, created_ms: now_ms, updated_ms: now_ms },
    };
    new.into_iter().map(stored).collect()
}

/// Returns the records of an hour as bytes; empty when there are none.
pub fn pack_hour(records: &[StoredRecord]) -> Vec<u8> {
    let Some(first) = records.first() else { return Vec::new() };
    let mut packer = Packer::with_capacity(8 + records.len() * 40);
    packer.byte(FORMAT);
    packer.unsigned(records.len() as u64);
    // Times are written as steps from one to the next: an hour of records costs a few bytes each.
    let mut last_ms = hour_of(first.record.time_ms);
    packer.signed(last_ms);
    let mut last_created_ms = last_ms;
    for stored in records {
        stored.record.pack(&mut packer, last_ms);
        packer.signed(stored.created_ms - last_created_ms);
        packer.signed(stored.updated_ms - stored.created_ms);
        (last_ms, last_created_ms) = (stored.record.time_ms, stored.created_ms);
    }
    packer.into_bytes()
}

/// Returns the records that [`pack_hour`] made the bytes of; None when they are not such, or of another version.
pub fn unpack_hour(bytes: &[u8]) -> Option<Vec<StoredRecord>> {
    let mut unpacker = Unpacker::new(bytes);
    if unpacker.byte()? != FORMAT {
        return None;
    }
    let count: usize = unpacker.number()?;
    let mut last_ms = unpacker.signed()?;
    let mut last_created_ms = last_ms;
    let mut records = Vec::with_capacity(count.min(bytes.len()));
    for _ in 0..count {
        let record = AfRecord::unpack(&mut unpacker, last_ms)?;
        let created_ms = last_created_ms.checked_add(unpacker.signed()?)?;
        let updated_ms = created_ms.checked_add(unpacker.signed()?)?;
        records.push(StoredRecord { record, created_ms, updated_ms });
        (last_ms, last_created_ms) = (record.time_ms, created_ms);
    }
    unpacker.is_at_end().then_some(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beats(count: i64, rr_ms: impl Fn(i64) -> f64) -> Vec<Beat> {
        (0..count).map(|at| Beat { time_ms: 7_200_000 + at * 800, rr_ms: rr_ms(at), good: at % 70 != 3 }).collect()
    }

    #[test]
    fn an_hour_is_read_back_as_it_was_packed() {
        let irregular = beats(64 * 5 + 3, |at| 600.0 + f64::from((at * 7919 % 401) as i32));
        let new = records_of_hour(&irregular, |_| 3600);
        assert_eq!(new.len(), 5);
        let stored = with_times(new, &[], 9_000_000);
        assert_eq!(unpack_hour(&pack_hour(&stored)), Some(stored.clone()));
        assert!(pack_hour(&[]).is_empty());
        let bytes = pack_hour(&stored);
        assert_eq!(unpack_hour(&bytes[..bytes.len() - 1]), None);
        assert_eq!(unpack_hour(&[FORMAT + 1]), None);
        let poor = records_of_hour(&[Beat { time_ms: 0, rr_ms: 0.0, good: false }; 64], |_| 0);
        assert_eq!(unpack_hour(&pack_hour(&with_times(poor.clone(), &[], 1))).unwrap()[0].record, poor[0]);
        assert_eq!((poor[0].nsr_probability(), poor[0].heart_rate()), (None, None));
    }

    #[test]
    fn what_is_unchanged_keeps_its_times() {
        let even = records_of_hour(&beats(64 * 3, |_| 800.0), |_| 0);
        let first = with_times(even.clone(), &[], 100);
        let mut changed = even.clone();
        changed[1].good_ibi_number -= 1;
        let second = with_times(changed, &first[..2], 200);
        let times: Vec<_> = second.iter().map(|stored| (stored.created_ms, stored.updated_ms)).collect();
        assert_eq!(times, [(100, 100), (100, 200), (200, 200)]);
    }
}
