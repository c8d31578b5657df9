//! Who wears the bracelet: an invented person and their resting values.

use std::sync::LazyLock;

use jiff::tz::{TimeZone, TimeZoneDatabase};
use rand::RngExt;
use serde::Serialize;

use crate::error::BraceletError;
use crate::randomness::{Randomness, Subject};
use crate::scenario::Scenario;
use crate::stories::story::Story;

/// What an activation says about a person. Nobody real.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Person {
    /// `Patient <number>`.
    pub first_name: String,
    /// Date of birth, `YYYY-MM-DD`.
    pub birthday: String,
    /// `female` or `male`.
    pub gender: &'static str,
    /// Height in centimetres.
    pub height: u32,
    /// Weight in kilograms.
    pub weight: u32,
    /// Fitzpatrick scale, 1 to 6.
    pub skin_color: u8,
    /// 1 to 4.
    pub hair_density: u8,
}

/// The values around which a patient's physiology moves.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    /// Age in years, for the maximal heart rate.
    pub age_years: f64,
    /// Heart rate awake at rest, per minute.
    pub heart_rate: f64,
    /// Half the difference between afternoon and early morning, per minute.
    pub heart_rate_swing: f64,
    /// Breaths per minute awake at rest.
    pub respiration_rate: f64,
    /// Oxygen saturation, %.
    pub spo2: f64,
    /// Core temperature, mean of the day, °C.
    pub core_temp_c: f64,
    /// Wrist skin temperature awake, °C.
    pub skin_temp_c: f64,
    /// Systolic pressure awake at rest, mmHg.
    pub systolic_mmhg: f64,
    /// Diastolic pressure awake at rest, mmHg.
    pub diastolic_mmhg: f64,
    /// Share by which the systolic pressure falls in sleep.
    pub systolic_dip: f64,
    /// Share by which the diastolic pressure falls in sleep.
    pub diastolic_dip: f64,
    /// Respiratory sinus arrhythmia: relative change of the interval at rest, 0 to 1.
    pub sinus_arrhythmia: f64,
    /// Usual hour of going to bed, hours after the local midnight that begins the day (may exceed 24).
    pub bed_hour: f64,
    /// Usual length of the night in hours.
    pub night_hours: f64,
    /// How much the patient moves, 0.5 to 1.5.
    pub liveliness: f64,
    /// What the battery loses, % per hour.
    pub battery_drain: f64,
}

/// One simulated patient with their bracelet.
#[derive(Debug, Clone)]
pub struct Patient {
    /// Number in the fleet.
    pub index: u64,
    /// What happens to the patient.
    pub scenario: Scenario,
    /// From when on (Unix ms) the scenario holds.
    pub onset_ms: i64,
    /// What else happens, in order of time and without overlap.
    pub stories: Vec<Story>,
    /// What the service knows of the patient.
    pub person: Person,
    /// Their resting values.
    pub baseline: Baseline,
    /// Serial number of their bracelet: by default made from their number. A fleet makes it from the uuid that the
    /// service gave them, so that two runs with one seed don't share bracelets.
    pub serial_number: String,
    /// Name of their time zone.
    pub zone_name: String,
    pub(crate) zone: TimeZone,
    pub(crate) randomness: Randomness,
}

/// Returns a zone of the tables that this program brings along, as the service has them: by those of a machine, the simulated
/// day would be another than the one that is computed of it. `Factory` is there for machines whose zone has not been set.
fn bundled_zone(name: &str) -> Option<TimeZone> {
    static TABLES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);
    TABLES.get(name).ok().filter(|_| !name.eq_ignore_ascii_case("Factory"))
}

impl Patient {
    /// Patient number `index` of the fleet with this `seed`, living in the zone of that name.
    pub fn new(
        seed: u64,
        index: u64,
        scenario: Scenario,
        onset_ms: i64,
        zone_name: &str,
    ) -> Result<Self, BraceletError> {
        let zone = bundled_zone(zone_name).ok_or_else(|| BraceletError::UnknownZone(zone_name.to_owned()))?;
        let randomness = Randomness::new(seed, index);
        let (person, baseline) = invent_person(&randomness, index);
        Ok(Self {
            index,
            scenario,
            onset_ms,
            stories: Vec::new(),
            person,
            baseline,
            serial_number: format!("SIM-{index:06}"),
            zone_name: zone_name.to_owned(),
            zone,
            randomness,
        })
    }

    /// Returns whether the scenario has begun at `at_ms`.
    pub fn is_after_onset(&self, at_ms: i64) -> bool {
        at_ms >= self.onset_ms
    }

    /// Returns how far the deterioration has gone at `at_ms`: 0 before the onset, 1 eight hours later.
    pub fn deterioration(&self, at_ms: i64) -> f64 {
        const FULL_AFTER_MS: f64 = 8.0 * 3_600_000.0;
        if self.scenario != Scenario::Deteriorating || !self.is_after_onset(at_ms) {
            return 0.0;
        }
        let progress = (at_ms.saturating_sub(self.onset_ms) as f64 / FULL_AFTER_MS).min(1.0);
        progress * progress * (3.0 - 2.0 * progress)
    }

    /// Returns whether the atria fibrillate at `at_ms`.
    pub fn fibrillates(&self, at_ms: i64) -> bool {
        self.scenario == Scenario::AtrialFibrillation && self.is_after_onset(at_ms)
    }
}

/// Invents a person and the resting values that suit their age.
fn invent_person(randomness: &Randomness, index: u64) -> (Person, Baseline) {
    /// The year in which a simulated age is reckoned; a few years off changes no signal visibly.
    const REFERENCE_YEAR: i32 = 2025;
    let mut random = randomness.stream(Subject::Person, 0);
    let birth_year: i32 = random.random_range(1940..=2003);
    let age_years = f64::from(REFERENCE_YEAR - birth_year);
    let is_female = random.random_bool(0.5);
    let height: u32 = if is_female { random.random_range(154..=178) } else { random.random_range(165..=192) };
    let body_mass_index = random.random_range(20.0..30.0);
    let height_m = f64::from(height) / 100.0;
    let person = Person {
        first_name: format!("Patient {}", index + 1),
        birthday: format!("{birth_year:04}-{:02}-{:02}", random.random_range(1..=12), random.random_range(1..=28)),
        gender: if is_female { "female" } else { "male" },
        height,
        weight: (body_mass_index * height_m * height_m).round() as u32,
        skin_color: random.random_range(1..=6),
        hair_density: random.random_range(1..=4),
    };
    let youth = ((85.0 - age_years) / 65.0).clamp(0.0, 1.0);
    let baseline = Baseline {
        age_years,
        heart_rate: random.random_range(58.0..74.0) + if is_female { 3.0 } else { 0.0 },
        heart_rate_swing: random.random_range(3.0..6.0),
        respiration_rate: random.random_range(13.5..16.5),
        spo2: random.random_range(97.0..98.6),
        core_temp_c: random.random_range(36.6..36.9),
        skin_temp_c: random.random_range(31.8..33.4),
        systolic_mmhg: random.random_range(114.0..124.0) + 14.0 * (1.0 - youth),
        diastolic_mmhg: random.random_range(70.0..80.0) + 5.0 * (1.0 - youth),
        systolic_dip: 0.12,
        diastolic_dip: 0.12,
        sinus_arrhythmia: random.random_range(0.010..0.016) + 0.014 * youth,
        bed_hour: random.random_range(21.8..23.9),
        night_hours: random.random_range(6.8..8.6),
        liveliness: random.random_range(0.6..1.4),
        battery_drain: random.random_range(2.2..3.6),
    };
    (person, baseline)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_machine_are_no_zones() {
        for name in ["localtime", "posixrules", "Factory", "factory", "Mars/Olympus"] {
            assert!(bundled_zone(name).is_none(), "{name}");
        }
        assert!(["UTC", "Europe/Zurich", "asia/kathmandu"].iter().all(|name| bundled_zone(name).is_some()));
    }
}
