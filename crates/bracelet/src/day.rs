//! The plan of one local day: rising, charging, walks, exercise, going to bed.

use jiff::civil::{Date, date};
use jiff::tz::TimeZone;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::bout::{Bout, Movement};
use crate::error::BraceletError;
use crate::night::Night;
use crate::patient::Patient;
use crate::randomness::Subject;
use crate::time::{HOUR_MS, MINUTE_MS};

/// One local day of one patient.
#[derive(Debug, Clone, PartialEq)]
pub struct DayPlan {
    /// The local date.
    pub date: Date,
    /// Local midnight, Unix ms.
    pub start_ms: i64,
    /// The next local midnight, Unix ms: 23, 24 or 25 hours later.
    pub end_ms: i64,
    /// The night that ends in the morning of this day.
    pub night: Night,
    /// Time at which the patient goes to bed at the end of this day; may lie after midnight.
    pub bed_ms: i64,
    /// Time at which the bracelet is put on its charger, Unix ms.
    pub charge_start_ms: i64,
    /// Time at which it is full and put on again, Unix ms.
    pub charge_end_ms: i64,
    /// Walks and exercise in order, without overlap.
    pub bouts: Vec<Bout>,
}

impl DayPlan {
    /// Returns the plan of `patient` for a local date.
    pub fn new(patient: &Patient, day: Date) -> Result<Self, BraceletError> {
        let eve = day.yesterday().map_err(|_| BraceletError::TimeOutOfRange(i64::MIN))?;
        let start_ms = midnight_ms(&patient.zone, day)?;
        let end_ms = midnight_ms(&patient.zone, tomorrow(day)?)?;
        let (bed_ms, wake_ms, mut random) = rhythm(patient, day)?;
        let (last_bed_ms, _, _) = rhythm(patient, eve)?;
        // A stream of its own: the number of bouts drawn for a day must not change its night.
        let mut night_random = patient.randomness.stream(Subject::Night, day_number(day));
        let night = Night::draw(last_bed_ms, wake_ms, &mut night_random);
        // After rising: nights and exercise are then on record.
        let charge_start_ms = wake_ms + random.random_range(10..40) * MINUTE_MS;
        let charge_end_ms = charge_start_ms + random.random_range(40..65) * MINUTE_MS;
        let mut bouts = draw_bouts(patient, charge_end_ms, bed_ms, &mut random);
        // All bouts are drawn first, so that the day before the onset is the same as that of the healthy twin.
        bouts.retain(|bout| patient.deterioration(bout.start_ms) < 0.05);
        for story in &patient.stories {
            story.change_bouts(&mut bouts, start_ms..end_ms);
        }
        Ok(Self { date: day, start_ms, end_ms, night, bed_ms, charge_start_ms, charge_end_ms, bouts })
    }

    /// Returns when the patient gets up, Unix ms.
    pub fn wake_ms(&self) -> i64 {
        self.night.end_ms()
    }

    /// Returns the bout under way at `at_ms`.
    pub fn bout_at(&self, at_ms: i64) -> Option<&Bout> {
        self.bouts.iter().find(|bout| bout.is_under_way(at_ms))
    }
}

/// Days since 1970-01-01.
pub fn day_number(day: Date) -> i64 {
    day.duration_since(date(1970, 1, 1)).as_hours() / 24
}

fn tomorrow(day: Date) -> Result<Date, BraceletError> {
    day.tomorrow().map_err(|_| BraceletError::TimeOutOfRange(i64::MAX))
}

fn midnight_ms(zone: &TimeZone, day: Date) -> Result<i64, BraceletError> {
    day.to_zoned(zone.clone())
        .map(|midnight| midnight.timestamp().as_millisecond())
        .map_err(|_| BraceletError::TimeOutOfRange(day_number(day) * 24 * HOUR_MS))
}

/// Bedtime in the evening of `day`, rising in its morning (Unix ms, whole minutes), and the stream after these draws.
fn rhythm(patient: &Patient, day: Date) -> Result<(i64, i64, ChaCha8Rng), BraceletError> {
    let midnight = midnight_ms(&patient.zone, day)?;
    let mut random = patient.randomness.stream(Subject::Day, day_number(day));
    let bed_hour = patient.baseline.bed_hour + random.random_range(-0.5..0.7);
    // The bedtime is that of the evening before, hence a day less.
    let wake_hour = patient.baseline.bed_hour - 24.0 + patient.baseline.night_hours + random.random_range(-0.6..0.6);
    // Counted from midnight and not read off the clock: on the day of a change people get up an hour off, and sleep
    // as long.
    let at = |hour: f64| midnight + (hour * 60.0).round() as i64 * MINUTE_MS;
    Ok((at(bed_hour), at(wake_hour), random))
}

/// Draws exercise first and walks around it, between two hours after charging and an hour before bed.
fn draw_bouts(patient: &Patient, from_ms: i64, bed_ms: i64, random: &mut ChaCha8Rng) -> Vec<Bout> {
    let last_start_min = ((bed_ms - from_ms) / MINUTE_MS - 120).max(1);
    let liveliness = patient.baseline.liveliness;
    let mut bouts = Vec::new();
    let has_exercise = random.random_bool(0.45 * liveliness);
    let walks = (8.0 * liveliness).round() as usize + random.random_range(0..4);
    for number in 0..=walks {
        let start_ms = from_ms + random.random_range(0..last_start_min) * MINUTE_MS;
        let bout = match number {
            0 if !has_exercise => continue,
            0 => exercise(start_ms, random),
            _ => walk(start_ms, random),
        };
        // Five minutes of rest between two bouts keep their heart-rate responses apart.
        let margin_ms = 5 * MINUTE_MS;
        let is_free =
            !bouts.iter().any(|other: &Bout| other.overlaps(bout.start_ms - margin_ms, bout.end_ms + margin_ms));
        if is_free {
            bouts.push(bout);
        }
    }
    bouts.sort_by_key(|bout| bout.start_ms);
    bouts
}

fn walk(start_ms: i64, random: &mut ChaCha8Rng) -> Bout {
    let cadence = random.random_range(92.0..120.0);
    Bout {
        start_ms,
        end_ms: start_ms + random.random_range(4..22) * MINUTE_MS,
        movement: Movement::Walk,
        effort: random.random_range(0.15..0.32),
        cadence,
        speed_mps: cadence / 60.0 * 0.72,
    }
}

fn exercise(start_ms: i64, random: &mut ChaCha8Rng) -> Bout {
    let end_ms = start_ms + random.random_range(20..50) * MINUTE_MS;
    let effort = random.random_range(0.5..0.8);
    if random.random_bool(0.5) {
        let cadence = random.random_range(148.0..172.0);
        return Bout {
            start_ms,
            end_ms,
            movement: Movement::Run,
            effort,
            cadence,
            speed_mps: cadence / 60.0 * random.random_range(0.95..1.15),
        };
    }
    Bout { start_ms, end_ms, movement: Movement::Cycle, effort, cadence: 0.0, speed_mps: random.random_range(4.5..7.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    #[test]
    fn plans_are_ordered_and_fit_into_their_day() {
        for index in 0..20 {
            let patient = Patient::new(5, index, Scenario::Healthy, 0, "Europe/Zurich").unwrap();
            let mut last_bed_ms = None;
            for day in 0..30 {
                let date = date(2025, 3, 10).saturating_add(jiff::Span::new().days(day));
                let plan = DayPlan::new(&patient, date).unwrap();
                assert!(plan.wake_ms() < plan.charge_start_ms);
                assert!(plan.charge_end_ms < plan.bed_ms);
                assert!(plan.start_ms < plan.wake_ms() && plan.wake_ms() < plan.end_ms);
                for pair in plan.bouts.windows(2) {
                    assert!(pair[0].end_ms < pair[1].start_ms);
                }
                for bout in &plan.bouts {
                    assert!(bout.start_ms >= plan.charge_end_ms && bout.end_ms < plan.bed_ms);
                    assert_eq!(bout.start_ms % MINUTE_MS, 0);
                }
                if let Some(bed) = last_bed_ms {
                    assert_eq!(plan.night.start_ms, bed, "the night begins at the bedtime");
                }
                last_bed_ms = Some(plan.bed_ms);
            }
        }
    }

    #[test]
    fn the_day_of_a_clock_change_has_its_own_length() {
        let patient = Patient::new(5, 0, Scenario::Healthy, 0, "Europe/Zurich").unwrap();
        let hours = |month, day| {
            let plan = DayPlan::new(&patient, date(2025, month, day)).unwrap();
            (plan.end_ms - plan.start_ms) / HOUR_MS
        };
        assert_eq!((hours(3, 30), hours(10, 26), hours(6, 1)), (23, 25, 24));
    }
}
