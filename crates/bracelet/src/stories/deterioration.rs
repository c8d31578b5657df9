//! The patient becomes ill over hours, stays so, and recovers under treatment.
//!
//! The shapes are ours: how far each vital sign moves is chosen so that NEWS2 passes 7 in patients with low and with high
//! resting values alike. They are no model of a disease.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::story::{Draft, Plot, Scene, Story};
use super::strain::Strain;
use crate::time::{HOUR_MS, MINUTE_MS};

/// How one kind goes.
struct Illness {
    kind: &'static str,
    /// Hours until the worst, shortest and longest.
    rising_h: (f64, f64),
    /// At the worst.
    full: Strain,
    /// Above 1 the pressure falls later than the rest: a body keeps it up as long as it can.
    pressure_delay: f64,
}

const ILLNESSES: [Illness; 3] = [
    Illness {
        kind: "sepsis",
        rising_h: (6.0, 14.0),
        full: Strain {
            illness: 1.0,
            heart_rate: 45.0,
            respiration_rate: 12.0,
            spo2: -6.5,
            core_temp_c: 2.3,
            skin_temp_c: 1.0,
            systolic_mmhg: -34.0,
            diastolic_mmhg: -18.0,
        },
        pressure_delay: 1.5,
    },
    Illness {
        kind: "respiratory-failure",
        rising_h: (3.0, 8.0),
        full: Strain {
            illness: 1.0,
            heart_rate: 45.0,
            respiration_rate: 16.0,
            spo2: -10.5,
            core_temp_c: 1.6,
            skin_temp_c: 0.3,
            systolic_mmhg: 6.0,
            diastolic_mmhg: 3.0,
        },
        pressure_delay: 1.0,
    },
    Illness {
        kind: "bleeding",
        rising_h: (1.5, 5.0),
        full: Strain {
            illness: 1.0,
            heart_rate: 66.0,
            respiration_rate: 11.0,
            spo2: -1.5,
            core_temp_c: -0.6,
            skin_temp_c: -2.5,
            systolic_mmhg: -60.0,
            diastolic_mmhg: -26.0,
        },
        pressure_delay: 2.5,
    },
];

#[derive(Debug)]
pub(super) struct Deterioration;

impl Plot for Deterioration {
    fn name(&self) -> &'static str {
        "deterioration"
    }

    fn kinds(&self) -> &'static [&'static str] {
        const KINDS: [&str; 3] = [ILLNESSES[0].kind, ILLNESSES[1].kind, ILLNESSES[2].kind];
        &KINDS
    }

    fn draw(&self, scene: &Scene, kind: &'static str, random: &mut ChaCha8Rng) -> Option<Draft> {
        let illness = illness(kind)?;
        let minutes = |hours: f64| (hours * 60.0).round() as i64 * MINUTE_MS;
        let rising_ms = minutes(random.random_range(illness.rising_h.0..illness.rising_h.1));
        let worst_ms = minutes(random.random_range(2.0..8.0));
        let recovering_ms = minutes(random.random_range(6.0..14.0));
        let strength = random.random_range(0.95..1.2);
        // What an alarm is judged by is the way up and two hours at the worst; the way down may be cut off by the end.
        let start_ms = scene.from_ms..scene.to_ms - rising_ms - 2 * HOUR_MS;
        let start_ms = super::minutes::whole_minute_in(start_ms, random)?;
        Some(Draft::new(
            start_ms,
            &[("rising", rising_ms), ("worst", worst_ms), ("recovering", recovering_ms)],
            strength,
        ))
    }

    fn strain(&self, story: &Story, at_ms: i64) -> Strain {
        let Some(illness) = illness(story.kind) else {
            return Strain::default();
        };
        let severity = severity(story, at_ms);
        let strain = illness.full * (severity * story.strength);
        let pressure = severity.powf(illness.pressure_delay) * story.strength;
        Strain {
            // Respiration moves first, as it does in patients.
            respiration_rate: illness.full.respiration_rate * severity.powf(0.8) * story.strength,
            systolic_mmhg: illness.full.systolic_mmhg * pressure,
            diastolic_mmhg: illness.full.diastolic_mmhg * pressure,
            ..strain
        }
    }

    fn confines(&self) -> bool {
        true
    }
}

fn illness(kind: &str) -> Option<&'static Illness> {
    ILLNESSES.iter().find(|illness| illness.kind == kind)
}

/// 0 at the onset and at the end, 1 at the worst, without a kink in between.
fn severity(story: &Story, at_ms: i64) -> f64 {
    let along = |name| {
        let phase = story.phase(name).filter(|phase| (phase.start_ms..phase.end_ms).contains(&at_ms))?;
        let share = (at_ms - phase.start_ms) as f64 / (phase.end_ms - phase.start_ms) as f64;
        Some(share * share * (3.0 - 2.0 * share))
    };
    along("rising").or_else(|| along("recovering").map(|share| 1.0 - share)).unwrap_or(1.0)
}
