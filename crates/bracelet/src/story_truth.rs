//! The truth of a fleet's stories, as lines of JSON.
//!
//! It speaks of what was true of the patients and their bracelets, not of what was measured. The form is in
//! `docs/simulated-population.md`; a change of a field's meaning needs another version.

use serde::Serialize;
use serde_json::{Value, json};

use crate::course::{Course, Minute};
use crate::error::BraceletError;
use crate::patient::Patient;
use crate::stories::casting::StoryPlan;
use crate::stories::story::Story;
use crate::time::MINUTE_MS;
use crate::wear::{Contact, Wear};

/// Name of the form, in its first line.
pub const TRUTH_FORMAT: &str = "pulseward-simulation-truth";
/// Version of the form.
pub const TRUTH_VERSION: u32 = 1;
/// At and below which a battery counts as low, %: as the service has it.
const LOW_BATTERY_PERCENT: f64 = 15.0;

/// A patient and who they are for the service.
#[derive(Debug, Clone, Copy)]
pub struct KnownPatient<'p> {
    /// The patient of the simulation.
    pub patient: &'p Patient,
    /// The uuid that the service gave them.
    pub uuid: &'p str,
}

/// A stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct Span {
    start_ms: i64,
    end_ms: i64,
}

/// A limit of a vital sign that is of interest, and which side of it.
struct Limit {
    signal: &'static str,
    side: &'static str,
    at: f64,
    value: fn(&Minute) -> f64,
}

/// Where bands of NEWS2 end, so that a rule of any of these thresholds has its truth.
const LIMITS: [Limit; 7] = [
    Limit { signal: "heart_rate", side: "above", at: 110.0, value: |minute| minute.heart_rate },
    Limit { signal: "heart_rate", side: "above", at: 130.0, value: |minute| minute.heart_rate },
    Limit { signal: "respiration_rate", side: "above", at: 24.0, value: |minute| minute.respiration_rate },
    Limit { signal: "spo2", side: "below", at: 94.0, value: |minute| minute.spo2 },
    Limit { signal: "spo2", side: "below", at: 92.0, value: |minute| minute.spo2 },
    Limit { signal: "temperature", side: "above", at: 38.0, value: |minute| minute.core_temp_c },
    Limit { signal: "nibp_systolic", side: "below", at: 101.0, value: |minute| minute.systolic_mmhg },
];

/// Returns the first line.
pub fn run_line(plan: &StoryPlan, seed: u64, patients: u64) -> Value {
    json!({
        "record": "run", "format": TRUTH_FORMAT, "version": TRUTH_VERSION,
        "seed": seed, "patients": patients, "from_ms": plan.from_ms, "to_ms": plan.to_ms,
    })
}

/// Returns the lines of one patient: who it is, their stories, and their bracelet.
pub fn patient_lines(known: KnownPatient<'_>, plan: &StoryPlan) -> Result<Vec<Value>, BraceletError> {
    let patient = known.patient;
    let baseline = &patient.baseline;
    let mut lines = vec![json!({
        "record": "patient", "number": patient.index, "uuid": known.uuid,
        "serial_number": patient.serial_number, "time_zone": patient.zone_name,
        "stories": patient.stories.iter().map(Story::name).collect::<Vec<_>>(),
        "resting": {
            "heart_rate": baseline.heart_rate, "respiration_rate": baseline.respiration_rate, "spo2": baseline.spo2,
            "temperature": baseline.core_temp_c, "nibp_systolic": baseline.systolic_mmhg,
            "nibp_diastolic": baseline.diastolic_mmhg,
        },
    })];
    for story in &patient.stories {
        lines.push(story_line(known, story)?);
    }
    lines.push(bracelet_line(known, plan)?);
    Ok(lines)
}

fn story_line(known: KnownPatient<'_>, story: &Story) -> Result<Value, BraceletError> {
    let (start_ms, end_ms) = (story.start_ms(), story.end_ms());
    let course = Course::new(known.patient, start_ms, end_ms)?;
    let minutes: Vec<Minute> = (start_ms / MINUTE_MS..end_ms / MINUTE_MS).map(|number| course.minute(number)).collect();
    // Of every minute, also those in which nothing was measured: illness does not wait for the bracelet.
    let scores: Vec<u8> = minutes.iter().map(Minute::news2).collect();
    let first = |least: u8| scores.iter().position(|score| *score >= least).map(|at| minutes[at].start_ms);
    let last = scores.iter().rposition(|score| *score >= 5).map(|at| minutes[at].start_ms + MINUTE_MS);
    let crossings: Vec<Value> = LIMITS
        .iter()
        .map(|limit| {
            let crosses = |minute: &&Minute| {
                let value = (limit.value)(minute);
                if limit.side == "below" { value < limit.at } else { value > limit.at }
            };
            let first_ms = minutes.iter().find(crosses).map(|minute| minute.start_ms);
            json!({"signal": limit.signal, limit.side: limit.at, "first_ms": first_ms})
        })
        .collect();
    // A phase is withheld as a whole or not at all, so its begin answers for it.
    let withheld: Vec<Value> = story
        .phases
        .iter()
        .filter_map(|phase| {
            let due_ms = story.arrival_ms(phase.start_ms)?;
            Some(json!({"start_ms": phase.start_ms, "end_ms": phase.end_ms, "due_ms": due_ms}))
        })
        .collect();
    Ok(json!({
        "record": "story", "number": known.patient.index, "uuid": known.uuid,
        "story": story.name(), "kind": story.kind, "strength": story.strength,
        "onset_ms": start_ms, "end_ms": end_ms, "phases": story.phases,
        "news2": {
            "highest": scores.iter().max(), "first_at_least_5_ms": first(5), "first_at_least_7_ms": first(7),
            "last_at_least_5_ms": last,
        },
        "crossings": crossings, "withheld": withheld,
    }))
}

fn bracelet_line(known: KnownPatient<'_>, plan: &StoryPlan) -> Result<Value, BraceletError> {
    let course = Course::new(known.patient, plan.from_ms, plan.to_ms)?;
    // By the minute, as rows are made: no rule can see more than that.
    let spans = |holds: &dyn Fn(i64) -> bool| {
        let mut spans: Vec<Span> = Vec::new();
        for minute in plan.from_ms.div_euclid(MINUTE_MS)..plan.to_ms.div_euclid(MINUTE_MS) {
            let start_ms = minute * MINUTE_MS;
            let end_ms = start_ms + MINUTE_MS;
            match spans.last_mut() {
                _ if !holds(start_ms) => {}
                Some(last) if last.end_ms == start_ms => last.end_ms = end_ms,
                _ => spans.push(Span { start_ms, end_ms }),
            }
        }
        spans
    };
    let is_dead = |at_ms| course.battery_percent(at_ms) <= 0.0;
    Ok(json!({
        "record": "bracelet", "number": known.patient.index, "uuid": known.uuid,
        "charging": spans(&|at_ms| course.wear_at(at_ms) == Wear::Charging),
        "off": spans(&|at_ms| course.contact_at(at_ms) == Contact::Firm && course.wear_at(at_ms) == Wear::Off),
        "loose": spans(&|at_ms| course.contact_at(at_ms) == Contact::Loose),
        "no_rows": spans(&|at_ms| course.contact_at(at_ms) == Contact::None),
        "battery_low": spans(&|at_ms| course.battery_percent(at_ms) <= LOW_BATTERY_PERCENT),
        "battery_dead": spans(&is_dead),
    }))
}
