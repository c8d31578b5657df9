//! Each story does to what is stored what its truth says, and the truth agrees with the service's own score.
#![allow(clippy::unwrap_used)]

mod story_fleet;

use bracelet::{
    Contact, Course, DataType, HOUR_MS, MINUTE_MS, Minute, Patient, SignalRates, Story, SyncBody, Wear, Window,
    patient_lines,
};
use serde_json::Value;
use story_fleet::{cell, fleet, known, lines, minutes_of, plan, rows};
use vitals::news2::{Measurement, Measurements, Settings, evaluate};

/// NEWS2 of the true values by the service's library.
fn news2(minute: &Minute) -> u8 {
    let measured = |value| Some(Measurement { value, time_ms: minute.start_ms, good: true });
    let measurements = Measurements {
        respiration_rate: measured(minute.respiration_rate),
        spo2: measured(minute.spo2),
        blood_pressure: measured(minute.systolic_mmhg),
        heart_rate: measured(minute.heart_rate),
        temperature: measured(minute.core_temp_c),
    };
    evaluate(minute.start_ms, &measurements, &Settings::default()).total.unwrap()
}

fn stories<'p>(patients: &'p [Patient], name: &str) -> Vec<(&'p Patient, &'p Story)> {
    let all = patients.iter().flat_map(|patient| patient.stories.iter().map(move |story| (patient, story)));
    let found: Vec<_> = all.filter(|(_, story)| story.name() == name).collect();
    assert!(!found.is_empty(), "{name}");
    found
}

/// The line of a story in the truth.
fn line(patient: &Patient, story: &Story) -> Value {
    let lines = patient_lines(known(patient), &plan("healthy", 10)).unwrap();
    let is_it = |line: &&Value| line["record"] == "story" && line["onset_ms"] == story.start_ms();
    lines.iter().find(is_it).unwrap().clone()
}

#[test]
fn the_truth_names_when_the_score_passes_five_and_seven_as_the_service_scores_it() {
    let patients = fleet("deterioration:30,exercise:10", 40, 10);
    for (patient, story) in stories(&patients, "deterioration").into_iter().chain(stories(&patients, "exercise")) {
        let line = line(patient, story);
        let scores: Vec<(i64, u8)> = minutes_of(patient, story).iter().map(|m| (m.start_ms, news2(m))).collect();
        let first = |least| scores.iter().find(|(_, score)| *score >= least).map(|(at_ms, _)| *at_ms);
        assert_eq!(line["news2"]["first_at_least_5_ms"].as_i64(), first(5), "{line}");
        assert_eq!(line["news2"]["first_at_least_7_ms"].as_i64(), first(7), "{line}");
        assert_eq!(line["news2"]["highest"].as_u64(), scores.iter().map(|(_, score)| u64::from(*score)).max());
        if story.name() == "deterioration" {
            let (five_ms, seven_ms) = (first(5).unwrap(), first(7).unwrap_or_else(|| panic!("{line}")));
            assert!(story.start_ms() < five_ms && five_ms <= seven_ms, "{line}");
            assert!(seven_ms <= story.phase("recovering").unwrap().start_ms, "{line}");
        }
    }
}

#[test]
fn every_kind_of_deterioration_moves_its_own_signs() {
    let patients = fleet("deterioration:30", 40, 10);
    for (patient, story) in stories(&patients, "deterioration") {
        let course = Course::new(patient, story.start_ms(), story.end_ms()).unwrap();
        let at = |at_ms: i64| course.minute(at_ms / MINUTE_MS);
        let (onset, worst) = (at(story.start_ms()), at(story.phase("worst").unwrap().start_ms + HOUR_MS));
        let change = |value: fn(&Minute) -> f64| value(&worst) - value(&onset);
        assert!(change(|minute| minute.heart_rate) > 15.0, "{story:?}");
        assert!(change(|minute| minute.respiration_rate) > 5.0, "{story:?}");
        match story.kind {
            "sepsis" => {
                assert!(change(|minute| minute.core_temp_c) > 1.2 && change(|minute| minute.spo2) < -3.0, "{story:?}");
                assert!(change(|minute| minute.systolic_mmhg) < -10.0, "{story:?}");
            }
            "respiratory-failure" => assert!(change(|minute| minute.spo2) < -6.0, "{story:?}"),
            "bleeding" => assert!(change(|minute| minute.systolic_mmhg) < -30.0, "{story:?}"),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn what_is_stored_crosses_a_limit_when_the_truth_says() {
    let patients = fleet("deterioration:12", 20, 10);
    let mut compared = 0;
    for (patient, story) in stories(&patients, "deterioration") {
        let line = line(patient, story);
        let crossing = line["crossings"].as_array().unwrap().iter();
        let crossing = crossing.clone().find(|crossing| crossing["signal"] == "spo2" && crossing["below"] == 92.0);
        let Some(first_ms) = crossing.unwrap()["first_ms"].as_i64() else {
            continue;
        };
        let window = Window::new(story.start_ms(), story.end_ms());
        let rows = rows(patient, window);
        let measured = |from_ms: i64, to_ms: i64| -> Vec<i64> {
            let good = rows.iter().filter(|row| cell(row, "spo2_q") >= 2);
            let within = good.filter(|row| (from_ms..to_ms).contains(&cell(row, "timestamp")));
            within.map(|row| cell(row, "spo2")).collect()
        };
        // The device rounds and errs by a quarter of a percent; four deviations of both.
        assert!(measured(story.start_ms(), first_ms).iter().all(|spo2| *spo2 >= 91), "{line}");
        assert!(measured(first_ms, first_ms + HOUR_MS).iter().any(|spo2| *spo2 <= 92), "{line}");
        compared += 1;
    }
    assert!(compared >= 6, "{compared}");
}

#[test]
fn a_loose_sensor_sends_low_quality_unsure_wear_and_gaps() {
    for (patient, story) in stories(&fleet("loose-sensor:12", 20, 10), "loose-sensor") {
        let rows = rows(patient, Window::new(story.start_ms(), story.end_ms()));
        let minutes = (story.end_ms() - story.start_ms()) / MINUTE_MS;
        let gaps = minutes - rows.len() as i64;
        assert!(gaps > minutes / 20 && gaps < minutes / 2, "{gaps} of {minutes}");
        for row in rows.iter().filter(|row| cell(row, "charging") == 0) {
            assert_eq!(cell(row, "wearing"), 1);
            assert!(["bpm_q", "resp_q", "spo2_q"].iter().all(|quality| cell(row, quality) < 2), "{row}");
        }
        let course = Course::new(patient, story.start_ms(), story.end_ms()).unwrap();
        assert_ne!(course.contact_at(story.start_ms() - MINUTE_MS), Contact::Loose);
        assert_eq!(course.contact_at(story.end_ms()), Contact::Firm);
    }
}

#[test]
fn a_dead_battery_falls_to_nothing_and_makes_no_row_until_it_is_charged() {
    for (patient, story) in stories(&fleet("dead-battery:12", 20, 10), "dead-battery") {
        let (dead, charging) = (story.phase("dead").unwrap(), story.phase("charging").unwrap());
        let course = Course::new(patient, story.start_ms() - 2 * HOUR_MS, story.end_ms() + 30 * HOUR_MS).unwrap();
        let battery = |at_ms: i64| course.minute(at_ms / MINUTE_MS).battery_percent;
        assert!(battery(dead.start_ms - 30 * MINUTE_MS) <= 15.0, "low before it is dead");
        // Five minutes of beats before it have their row at its begin.
        let from_ms = dead.start_ms + 5 * MINUTE_MS;
        let whole = Window::new(from_ms, dead.end_ms);
        for data_type in DataType::ALL {
            let body = SyncBody::new(patient, whole, &[data_type], &SignalRates::default()).unwrap();
            assert!(body.is_empty(), "{data_type} of {story:?}");
        }
        assert_eq!(course.wear_at(charging.start_ms), Wear::Charging);
        assert!(battery(story.end_ms()) > 95.0);
        let mut last = battery(story.start_ms() - HOUR_MS);
        for at_ms in (story.start_ms() - HOUR_MS..story.end_ms() + 29 * HOUR_MS).step_by(MINUTE_MS as usize) {
            let now = battery(at_ms);
            let is_charging =
                course.wear_at(at_ms) == Wear::Charging || course.wear_at(at_ms - MINUTE_MS) == Wear::Charging;
            assert!((0.0..=100.0).contains(&now) && (is_charging || (now <= last && last - now < 0.6)), "{last} {now}");
            last = now;
        }
    }
}

#[test]
fn charging_at_an_odd_time_sends_rows_without_values_and_fills_the_battery() {
    for (patient, story) in stories(&fleet("charging:12", 20, 10), "charging") {
        let rows = rows(patient, Window::new(story.start_ms(), story.end_ms()));
        assert_eq!(rows.len() as i64, (story.end_ms() - story.start_ms()) / MINUTE_MS);
        assert!(
            rows.iter().all(|row| cell(row, "charging") == 1 && cell(row, "bpm") == 0 && cell(row, "wearing") == 0)
        );
        assert!(rows.windows(2).all(|pair| cell(&pair[0], "battery") <= cell(&pair[1], "battery")));
        assert!(cell(rows.last().unwrap(), "battery") > 90);
    }
}

#[test]
fn exercise_raises_pulse_and_respiration_of_somebody_who_is_up() {
    for (patient, story) in stories(&fleet("exercise:12", 20, 10), "exercise") {
        let effort = story.phase("effort").unwrap();
        let course = Course::new(patient, story.start_ms(), story.end_ms()).unwrap();
        let during = course.minute((effort.end_ms - MINUTE_MS) / MINUTE_MS);
        assert!(during.heart_rate > 100.0 && during.respiration_rate > 20.0, "{during:?}");
        assert!(during.stage.is_none() && during.exertion > 0.55, "{during:?}");
        let after = course.minute(story.end_ms() / MINUTE_MS);
        assert!(after.heart_rate < during.heart_rate - 30.0);
    }
}

#[test]
fn healthy_patients_never_reach_five_by_themselves_in_thirty_days() {
    for patient in fleet("healthy", 12, 30) {
        let plan = plan("healthy", 30);
        let course = Course::new(&patient, plan.from_ms, plan.to_ms).unwrap();
        for number in plan.from_ms / MINUTE_MS..plan.to_ms / MINUTE_MS {
            let minute = course.minute(number);
            // Effort scores by itself, and no nurse measures somebody who runs.
            if minute.exertion < 0.05 {
                assert!(minute.news2() < 5, "{} {minute:?}", patient.index);
            }
        }
    }
}

#[test]
fn one_seed_has_one_truth_and_one_body_and_another_seed_another() {
    let request = "deterioration:3,exercise:20%,loose-sensor:4,charging:3,late-sync:4,dead-battery:3";
    let (first, again) = (fleet(request, 15, 6), fleet(request, 15, 6));
    assert_eq!(lines(&first, request, 6), lines(&again, request, 6));
    let window = Window::new(plan(request, 6).from_ms, plan(request, 6).to_ms);
    for (one, other) in first.iter().zip(&again) {
        let json = |patient| SyncBody::new(patient, window, &DataType::VITALS, &SignalRates::default()).unwrap();
        assert_eq!(json(one).to_json().unwrap(), json(other).to_json().unwrap());
    }
    assert_ne!(lines(&first, request, 6), lines(&story_fleet::fleet_of(request, 15, 6, 8), request, 6));
    let count =
        |name: &str| first.iter().flat_map(|patient| &patient.stories).filter(|story| story.name() == name).count();
    assert_eq!((count("deterioration"), count("exercise"), count("late-sync")), (3, 3, 4));
}

#[test]
fn stories_of_a_patient_keep_apart_and_those_without_room_are_refused() {
    for patient in fleet("deterioration:12,exercise:12,charging:12,dead-battery:12", 12, 10) {
        assert!(patient.stories.windows(2).all(|pair| pair[0].end_ms() + 3 * HOUR_MS <= pair[1].start_ms()));
    }
    let plan = plan("deterioration:40", 2);
    let mut patients = fleet("healthy", 2, 2);
    let error = bracelet::cast(&mut patients, &plan, 1).unwrap_err().to_string();
    assert!(error.contains("deterioration") && error.contains("more days"), "{error}");
}
