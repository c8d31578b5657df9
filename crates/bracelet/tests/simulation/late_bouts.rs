//! An effort late in the evening is felt over midnight.

use bracelet::{Bout, Course, DayPlan, HOUR_MS, MINUTE_MS, Patient, Scenario};
use jiff::civil::{Date, date};

/// Days on which clocks are put forward in Zurich: bouts end late, because the evening is counted from the first midnight.
const SHORT_DAYS: [Date; 5] =
    [date(2024, 3, 31), date(2025, 3, 30), date(2026, 3, 29), date(2027, 3, 28), date(2028, 3, 26)];

/// Bouts that end less than an hour before midnight or after it, with their patients and plans.
fn late_bouts() -> Vec<(Patient, DayPlan, Bout)> {
    let patients = (0..2_000).map(|index| Patient::new(71, index, Scenario::Healthy, 0, "Europe/Zurich").unwrap());
    // Those who go to bed late.
    let late = patients.filter(|patient| patient.baseline.bed_hour > 23.5).flat_map(|patient| {
        SHORT_DAYS.into_iter().filter_map(move |day| {
            let plan = DayPlan::new(&patient, day).unwrap();
            let bout = plan.bouts.last().filter(|bout| bout.end_ms > plan.end_ms - HOUR_MS)?.clone();
            Some((patient.clone(), plan, bout))
        })
    });
    late.collect()
}

#[test]
fn an_effort_late_in_the_evening_is_felt_over_midnight() {
    let late = late_bouts();
    assert!(!late.is_empty());
    for (patient, plan, bout) in &late {
        let course = Course::new(patient, plan.end_ms - HOUR_MS, plan.end_ms + HOUR_MS).unwrap();
        let first = plan.end_ms / MINUTE_MS - 60;
        let minutes: Vec<_> = (first..first + 120).map(|number| course.minute(number)).collect();
        for pair in minutes.windows(2) {
            let step = (pair[1].core_temp_c - pair[0].core_temp_c).abs();
            assert!(step < 0.05, "{}: {step} °C at {}, {bout:?}", patient.index, pair[1].start_ms);
        }
    }
}

#[test]
fn a_bout_goes_on_over_midnight() {
    let late = late_bouts();
    let mut minutes = 0;
    for (patient, plan, bout) in late.iter().filter(|(_, plan, bout)| bout.end_ms > plan.end_ms) {
        let course = Course::new(patient, plan.end_ms, plan.end_ms + HOUR_MS).unwrap();
        for number in plan.end_ms / MINUTE_MS..bout.end_ms / MINUTE_MS {
            assert_eq!(course.minute(number).movement, bout.movement, "{}: {bout:?}", patient.index);
            minutes += 1;
        }
    }
    assert!(minutes > 0);
}
