//! The healthy fleet has the distributions that `docs/simulated-population.md` names with their sources.
#![allow(clippy::unwrap_used)]

mod story_fleet;

use bracelet::{Course, MINUTE_MS, Minute, Movement, Wear};
use story_fleet::{fleet, plan};

const PATIENTS: u64 = 200;
const DAYS: u32 = 3;
const PAGE: &str = include_str!("../../../docs/simulated-population.md");

/// One mean per patient of each figure, over all days.
struct Person {
    figures: Vec<(&'static str, f64)>,
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64).sqrt()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn person(patient: &bracelet::Patient) -> Person {
    let plan = plan("healthy", DAYS);
    let course = Course::new(patient, plan.from_ms, plan.to_ms).unwrap();
    // Every third minute: drifts take longer than that.
    let numbers = (plan.from_ms / MINUTE_MS..plan.to_ms / MINUTE_MS).step_by(3);
    let minutes: Vec<Minute> = numbers.map(|number| course.minute(number)).collect();
    let pick = |holds: &dyn Fn(&Minute) -> bool, value: fn(&Minute) -> f64| -> Vec<f64> {
        minutes.iter().filter(|minute| holds(minute)).map(value).collect()
    };
    let still = |m: &Minute| m.movement == Movement::Rest && m.exertion < 0.02;
    let awake_at_rest = |m: &Minute| m.stage.is_none() && still(m);
    let asleep = |m: &Minute| m.stage.is_some();
    let up = |m: &Minute| m.stage.is_none();
    let share = |wear: Wear| minutes.iter().filter(|m| m.wear == wear).count() as f64 / minutes.len() as f64;
    let systolic = |m: &Minute| m.systolic_mmhg;
    let diastolic = |m: &Minute| m.diastolic_mmhg;
    let (day, night) = (mean(&pick(&up, systolic)), mean(&pick(&asleep, systolic)));
    let (day_diastolic, night_diastolic) = (mean(&pick(&up, diastolic)), mean(&pick(&asleep, diastolic)));
    Person {
        figures: vec![
            ("heart rate, awake at rest", mean(&pick(&awake_at_rest, |m| m.heart_rate))),
            ("respiration rate, night", mean(&pick(&asleep, |m| m.respiration_rate))),
            ("SpO2, median of the night", median(pick(&asleep, |m| m.spo2))),
            ("core temperature, one reading at rest", pick(&awake_at_rest, |m| m.core_temp_c)[100]),
            ("systolic pressure, day", day),
            ("diastolic pressure, day", day_diastolic),
            ("systolic pressure, night", night),
            ("diastolic pressure, night", night_diastolic),
            ("night to day, systolic", night / day),
            ("night to day, diastolic", night_diastolic / day_diastolic),
            ("worn, share of the time", share(Wear::Worn)),
            ("charging, hours a day", share(Wear::Charging) * 24.0),
        ],
    }
}

/// A row of the page's table: name, and the bounds of mean and spread that are held.
fn bounds() -> Vec<(String, [f64; 4])> {
    let range = |cell: &str| -> [f64; 2] {
        let (low, high) = cell.split_once(" to ").unwrap_or_else(|| panic!("{cell}"));
        [low.parse().unwrap(), high.parse().unwrap()]
    };
    let table = PAGE.lines().skip_while(|line| !line.starts_with("| Figure")).skip(2);
    let rows = table.take_while(|line| line.starts_with('|'));
    rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let ([a, b], [c, d]) = (range(cells[2]), range(cells[3]));
        (cells[0].to_owned(), [a, b, c, d])
    })
    .collect()
}

#[test]
fn the_healthy_fleet_has_the_means_and_spreads_that_the_page_names() {
    let people: Vec<Person> = fleet("healthy", PATIENTS, DAYS).iter().map(person).collect();
    let mut named: Vec<&str> = people[0].figures.iter().map(|(name, _)| *name).collect();
    let mut report = Vec::new();
    let mut is_held = true;
    for (name, [low, high, narrow, wide]) in bounds() {
        let at = named.iter().position(|own| *own == name).unwrap_or_else(|| panic!("{name} is not measured"));
        let values: Vec<f64> =
            people.iter().map(|person| person.figures.iter().find(|f| f.0 == name).unwrap().1).collect();
        let (mean, deviation) = (mean(&values), deviation(&values));
        named.remove(at);
        is_held &= (low..=high).contains(&mean) && (narrow..=wide).contains(&deviation);
        report.push(format!("{name}: {mean:.3} ± {deviation:.3}, held {low} to {high}, {narrow} to {wide}"));
    }
    assert!(is_held, "{}", report.join("\n"));
    assert!(named.is_empty(), "no bounds for {named:?}");
}
