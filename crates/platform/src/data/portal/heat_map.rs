//! Heat maps of compliance: a study by patient and day, and a patient's day by type and hour.
//!
//! They count as compliance does: five-minute slots with a stored heart rate against the slots of the day that have
//! elapsed, and rows from the tally.

use std::collections::BTreeMap;

use boxed_futures::boxed_futures;
use store::{GroupCode, LocalQuarter, Patient, PatientId, TallyRow};
use vitals::derivation::day_of;
use vitals::registry::{DataType, Role};
use vitals::zone::{DAY_US, LocalClock, LocalDay, QUARTER_US, SECOND_US};

use crate::core::access::{Readable, Researcher};
use crate::core::error::{PlatformError, Result};
use crate::data::Data;
use crate::data::compliance::{activity_of, percent, slots_so_far, with_heart_rate};
use crate::data::patient_rows::PatientColumns;
use crate::people::patients::PatientRow;

/// The most days of a study that are shown at once.
pub const MOST_DAYS: i32 = 92;
/// Days before the one shown from whose fullest quarter of an hour follows what an hour should bring.
const EARLIER_DAYS: i64 = 7;
const HOUR_US: i64 = 4 * QUARTER_US;
/// No local clock is further from UTC than this.
const FURTHEST_OFFSET_US: i64 = 16 * 3600 * SECOND_US;

/// A patient's days.
#[derive(Clone, Debug, PartialEq)]
pub struct PatientDays {
    /// The patient.
    pub uuid: PatientId,
    /// First and last name, else the identifier of the customer, else the first eight characters of the uuid.
    pub name: String,
    /// The days, in their order.
    pub days: Vec<DayCompliance>,
    /// What the days are counted by is damaged; nothing but who it is is known then.
    pub is_unreadable: bool,
}

/// How much of a day's heart rate has arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DayCompliance {
    /// Percent with one decimal; `None` before the patient was there and after today.
    pub percent: Option<f64>,
    /// Five-minute slots with a heart rate.
    pub received: u32,
    /// Five-minute slots that have elapsed.
    pub expected: u32,
}

/// Rows of a type by hour of a local day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeHours {
    /// The type.
    pub data_type: DataType,
    /// Rows of each hour.
    pub received: Vec<u64>,
    /// What each hour that has elapsed would have at the rate of the fullest quarter of an hour of this day and the
    /// week before; 0 of what is measured now and then.
    pub expected: Vec<u64>,
}

#[boxed_futures]
impl Data {
    /// The patients of a study whose days are to be shown. Invalid when the range is reversed or too long.
    pub async fn heat_map_patients(
        &self,
        researcher: &Researcher,
        group_code: &GroupCode,
        first: LocalDay,
        last: LocalDay,
    ) -> Result<Readable<Vec<PatientId>>> {
        if last < first || last.0 - first.0 >= MOST_DAYS {
            return Err(PlatformError::invalid(
                "to",
                format!("must not be before from, nor {MOST_DAYS} days after it"),
            ));
        }
        self.people.readable_members(researcher, group_code).await
    }

    /// The days of patients, in their order, without unused vouchers. Who cannot be read has days without a percentage, and says so.
    pub async fn heat_map(
        &self,
        patients: Readable<Vec<PatientId>>,
        first: LocalDay,
        last: LocalDay,
    ) -> Result<Vec<PatientDays>> {
        let columns = PatientColumns { person: true, profile: true, device: false, latest_values: false };
        let mut all = Vec::with_capacity(patients.uuids().len());
        let rows = self.patient_rows(patients, columns).await?;
        // An unused voucher is no patient yet.
        for row in rows.into_iter().filter(|row| !row.patient.as_ref().is_some_and(Patient::is_voucher)) {
            let days = match self.days_of_row(&row, first, last).await {
                Err(error) if error.is_unavailable() => return Err(error),
                Err(error) => {
                    self.log_unreadable(&row.uuid, "compliance", &error);
                    None
                }
                Ok(days) => days,
            };
            let is_unreadable = days.is_none();
            let unknown = DayCompliance { percent: None, received: 0, expected: 0 };
            all.push(PatientDays {
                // Of one who cannot be read, nothing but the whole uuid is certain.
                name: match &row.patient {
                    Some(_) => super::board::name_of(&row.person, &row.uuid),
                    None => row.uuid.to_string(),
                },
                days: days.unwrap_or_else(|| vec![unknown; (last.0 - first.0 + 1) as usize]),
                is_unreadable,
                uuid: row.uuid,
            });
        }
        Ok(all)
    }

    /// The days of a patient; none where what they are counted by is damaged.
    async fn days_of_row(
        &self,
        row: &PatientRow,
        first: LocalDay,
        last: LocalDay,
    ) -> Result<Option<Vec<DayCompliance>>> {
        let Some(patient) = row.patient.as_ref().filter(|_| !row.is_unreadable) else { return Ok(None) };
        let clock = LocalClock::new(row.profile.time_zone.as_deref().unwrap_or("UTC"));
        let types = [DataType::Activity, DataType::Activity];
        let cells = self.core.health().slots_of_types(&row.uuid, first, last, types).await?;
        let (created_ms, now_ms) = (patient.created_ms, self.core.now_ms());
        let counting = move || {
            let of = |day: i32| {
                let of_day: Vec<_> = cells.iter().filter(|row| day_of(row.key).0.0 == day).cloned().collect();
                let received = activity_of(&of_day).map_or(0, |cells| with_heart_rate(&cells).count());
                day_compliance(LocalDay(day), received, &clock, created_ms, now_ms)
            };
            (first.0..=last.0).map(of).collect()
        };
        let days = runtime::blocking("count days", counting).await;
        days.map(Some).map_err(|error| PlatformError::Internal(error.to_string()))
    }

    /// A patient's day by type and hour; how many hours it has.
    pub async fn day_by_hour(
        &self,
        researcher: &Researcher,
        patient: &PatientId,
        day: LocalDay,
    ) -> Result<(usize, Vec<TypeHours>)> {
        let readable = self.core.readable_patient(researcher, patient).await?;
        let patient = readable.uuid();
        let body = self.core.health().patient(patient).await?.map(|found| found.profile).unwrap_or_default();
        let clock = LocalClock::new(body.time_zone.as_deref().unwrap_or("UTC"));
        let (start_us, end_us) = day.span_us(&clock);
        // Quarters are found by UTC and chosen by the local clock they were stored with, which can be any offset away.
        let from_us = start_us - EARLIER_DAYS * DAY_US - FURTHEST_OFFSET_US;
        let from_us = from_us.div_euclid(QUARTER_US) * QUARTER_US;
        let tally = self.core.health().tally_between(patient, from_us, end_us + FURTHEST_OFFSET_US).await?;
        Ok(by_hour(&tally, day, (start_us, end_us), self.core.now_ms() * 1000))
    }
}

fn day_compliance(day: LocalDay, received: usize, clock: &LocalClock, created_ms: i64, now_ms: i64) -> DayCompliance {
    let (start_us, end_us) = day.span_us(clock);
    let is_ahead = start_us > now_ms * 1000;
    // Imported data can be older than the patient's row, and are shown all the same.
    let is_before = end_us <= created_ms * 1000 && received == 0;
    let expected = if is_ahead || is_before { 0 } else { slots_so_far(day, clock, now_ms) };
    let percent = (expected > 0).then(|| percent(received, expected));
    DayCompliance { percent, received: received as u32, expected }
}

fn by_hour(tally: &[TallyRow], day: LocalDay, span_us: (i64, i64), now_us: i64) -> (usize, Vec<TypeHours>) {
    let hours = ((span_us.1 - span_us.0 + HOUR_US - 1) / HOUR_US) as usize;
    let mut received: BTreeMap<DataType, Vec<u64>> = BTreeMap::new();
    let mut fullest: BTreeMap<DataType, u64> = BTreeMap::new();
    for row in tally {
        // What came after the day says nothing of what the bracelet was set to measure then.
        if row.quarter.start_us < span_us.1 {
            let most = fullest.entry(row.data_type).or_default();
            *most = (*most).max(row.samples);
        }
        if let Some(hour) = hour_of(row.quarter, day, span_us, hours) {
            received.entry(row.data_type).or_insert_with(|| vec![0; hours])[hour] += row.samples;
        }
    }
    let elapsed = |hour: usize| (now_us - span_us.0 - hour as i64 * HOUR_US).clamp(0, HOUR_US);
    let of = |(data_type, most): (DataType, u64)| {
        // Sleep and spot measurements come when they come.
        let is_steady = matches!(data_type.declaration().role, Role::Series | Role::Waveform);
        let expected = |hour: usize| {
            let length_us = elapsed(hour).min(span_us.1 - span_us.0 - hour as i64 * HOUR_US);
            if is_steady { most * length_us as u64 / QUARTER_US as u64 } else { 0 }
        };
        TypeHours {
            data_type,
            received: received.remove(&data_type).unwrap_or_else(|| vec![0; hours]),
            expected: (0..hours).map(expected).collect(),
        }
    };
    (hours, fullest.into_iter().map(of).collect())
}

/// The hour that a quarter counts in, of a day on which its own local clock showed it; none of another day. Hours are
/// counted from the day's begin, so that the hour that a clock shows twice is two.
fn hour_of(quarter: LocalQuarter, day: LocalDay, span_us: (i64, i64), hours: usize) -> Option<usize> {
    let local_us = quarter.start_us + i64::from(quarter.offset_s) * SECOND_US;
    if local_us.div_euclid(DAY_US) != i64::from(day.0) {
        return None;
    }
    let of_day_us = if (span_us.0..span_us.1).contains(&quarter.start_us) {
        quarter.start_us - span_us.0
    } else {
        // The patient was in another zone: what counts is what their clock showed.
        local_us.rem_euclid(DAY_US)
    };
    Some(((of_day_us / HOUR_US) as usize).min(hours.saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(start_us: i64, offset_s: i32, samples: u64) -> TallyRow {
        TallyRow { data_type: DataType::Activity, quarter: LocalQuarter { start_us, offset_s }, samples }
    }

    #[test]
    fn a_day_of_a_clock_change_has_its_hours() {
        let clock = LocalClock::new("Europe/Zurich");
        for (day, hours) in [("2026-03-28", 24), ("2026-03-29", 23), ("2026-10-25", 25)] {
            let day = LocalDay::parse(day).expect("a day");
            assert_eq!(by_hour(&[], day, day.span_us(&clock), 0).0, hours);
        }
    }

    #[test]
    fn rows_are_counted_once_in_the_hour_of_their_clock() {
        let clock = LocalClock::new("Europe/Zurich");
        let day = LocalDay::parse("2026-10-25").expect("a day");
        let span = day.span_us(&clock);
        let (summer, winter) = (7200, 3600);
        let tally = [
            row(span.0 - QUARTER_US, summer, 60),
            row(span.0, summer, 10),
            row(span.0 + 2 * HOUR_US, summer, 20),
            row(span.0 + 3 * HOUR_US, winter, 30),
            row(span.1 - QUARTER_US, winter, 40),
            row(span.1, winter, 70),
            // Somewhere else it is still, or already, this day.
            row(span.1, -3600, 5),
        ];
        let (hours, types) = by_hour(&tally, day, span, span.1);
        let received = &types[0].received;
        assert_eq!((hours, received[0], received[2], received[3], received[24]), (25, 10, 20, 30, 40));
        assert_eq!(received.iter().sum::<u64>(), 105);
        assert_eq!(received[22], 5);
        assert_eq!(types[0].expected, [240; 25]);
    }

    #[test]
    fn what_has_not_elapsed_is_not_expected() {
        let clock = LocalClock::new("UTC");
        let day = LocalDay::parse("2026-11-20").expect("a day");
        let span = day.span_us(&clock);
        let (_, types) = by_hour(&[row(span.0, 0, 60)], day, span, span.0 + HOUR_US + 2 * QUARTER_US);
        assert_eq!(types[0].expected[..4], [240, 120, 0, 0]);
        let of = |day: &str, received| {
            let day = LocalDay::parse(day).expect("a day");
            day_compliance(day, received, &clock, span.0 / 1000, span.0 / 1000 + 600_000)
        };
        assert_eq!(of("2026-11-20", 1), DayCompliance { percent: Some(50.0), received: 1, expected: 2 });
        assert_eq!(of("2026-11-21", 0), DayCompliance { percent: None, received: 0, expected: 0 });
        assert_eq!(of("2026-11-19", 0), DayCompliance { percent: None, received: 0, expected: 0 });
        assert_eq!(of("2026-11-19", 144).percent, Some(50.0), "sent later for an earlier day");
    }
}
