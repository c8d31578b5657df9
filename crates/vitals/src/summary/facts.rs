//! What other days need to know of a day.
//!
//! Recovery compares a day with the sixty before it, and the consistency of a night with the six before it. What they
//! take from a day is kept next to its cells, rounded as its sections show it, so that anyone who has the answers of
//! the API can compute the same. The sections `sleep`, `service_sleep` and `recovery` follow from facts alone.

use std::collections::BTreeMap;

use super::night::{Night, Nights};
use super::recovery::RecoverySection;
use super::rounding::{hundredths, tenths};
use super::source::{DaySource, Profile};
use super::{heart_rate, stress, temperature};
use crate::cells::{Packer, Unpacker};
use crate::recovery::{self, LONG_BASELINE_DAYS};
use crate::signal::mean;
use crate::sleep::scores::{CONSISTENCY_NIGHTS, consistency, performance, tranquility};
use crate::zone::LocalDay;

/// Version of the packed form and of the definitions.
const FORMAT: u8 = 1;
const HUNDREDTHS: f64 = 100.0;
const THOUSANDTHS: f64 = 1000.0;

/// Days after a day whose recovery its facts enter.
pub const RECOVERY_REACH_DAYS: i32 = LONG_BASELINE_DAYS as i32;
/// Days after a day whose consistency its nights enter.
pub const CONSISTENCY_REACH_DAYS: i32 = CONSISTENCY_NIGHTS as i32 - 1;

/// Facts by day.
pub type FactsByDay = BTreeMap<LocalDay, DayFacts>;

/// What other days need to know of a day.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DayFacts {
    /// What recovery compares.
    pub measured: recovery::Day,
    /// The night by stages.
    pub night: Option<Night>,
    /// The night by movements.
    pub service_night: Option<Night>,
}

impl DayFacts {
    /// Returns the facts of a day.
    pub fn of(source: &DaySource<'_>, nights: &Nights) -> Self {
        let (night, service_night) = (nights.by_stages, nights.by_movements);
        DayFacts {
            measured: recovery::Day {
                rmssd_ms: stress::rmssd_ms(source.cells),
                resting_bpm: heart_rate::resting_bpm(source.cells.activity.cells()),
                skin_temperature: skin_temperature(source, night.or(service_night).as_ref()),
            },
            night,
            service_night,
        }
    }

    /// Returns whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == DayFacts::default()
    }

    /// Returns the facts as bytes; empty when nothing is known.
    pub fn pack(&self) -> Vec<u8> {
        // Nothing is kept of a day without anything: sixty empty rows per patient would be read for every night.
        if self.is_empty() {
            return Vec::new();
        }
        let mut packer = Packer::with_capacity(96);
        packer.byte(FORMAT);
        packer.decimal(self.measured.rmssd_ms, THOUSANDTHS);
        packer.decimal(self.measured.resting_bpm, HUNDREDTHS);
        packer.decimal(self.measured.skin_temperature, HUNDREDTHS);
        for night in [&self.night, &self.service_night] {
            packer.byte(u8::from(night.is_some()));
            if let Some(night) = night {
                night.pack(&mut packer);
            }
        }
        packer.into_bytes()
    }

    /// Returns the facts that [`DayFacts::pack`] made the bytes of; `None` when they are not such, or of another
    /// version.
    pub fn unpack(bytes: &[u8]) -> Option<Self> {
        let mut unpacker = Unpacker::new(bytes);
        if unpacker.byte()? != FORMAT {
            return None;
        }
        let (rmssd_ms, resting_bpm) = (unpacker.decimal(THOUSANDTHS)?, unpacker.decimal(HUNDREDTHS)?);
        let skin_temperature = unpacker.decimal(HUNDREDTHS)?;
        let mut night = || -> Option<Option<Night>> {
            if unpacker.byte()? == 0 { Some(None) } else { Some(Some(Night::unpack(&mut unpacker)?)) }
        };
        let (night, service_night) = (night()?, night()?);
        let measured = recovery::Day { rmssd_ms, resting_bpm, skin_temperature };
        Some(DayFacts { measured, night, service_night })
    }
}

/// Mean over the valid five-minute slots during the night, or over all where there was none, two decimals.
fn skin_temperature(source: &DaySource<'_>, night: Option<&Night>) -> Option<f64> {
    let mut means = Vec::new();
    for day in [source.before, source.cells] {
        for cell in day.temperature.cells() {
            let start_ms = cell.place.start_ms();
            let counts = match night {
                Some(night) => (night.session.onset_ms..night.session.offset_ms).contains(&start_ms),
                // Without a night only the day itself counts: the evening before belongs to another day.
                None => std::ptr::eq(day, source.cells),
            };
            if counts && temperature::is_worn(cell, &day.activity) {
                means.extend(cell.sk1.mean_hundredths().map(|hundredths| hundredths as f64 / HUNDREDTHS));
            }
        }
    }
    mean(&means).map(hundredths)
}

/// Which of a day's two nights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Stages,
    Movements,
}

impl Kind {
    pub(super) fn of(self, facts: &DayFacts) -> Option<Night> {
        match self {
            Kind::Stages => facts.night,
            Kind::Movements => facts.service_night,
        }
    }
}

/// Consistency of the nights up to a day, percent with one decimal; `None` with fewer than three of the last seven.
pub(super) fn consistency_on(day: LocalDay, facts: &FactsByDay, kind: Kind) -> Option<f64> {
    let nights = facts.range(LocalDay(day.0 - CONSISTENCY_REACH_DAYS)..=day);
    let mid_sleeps: Vec<f64> =
        nights.filter_map(|(_, facts)| kind.of(facts)).map(|night| night.mid_sleep_minute()).collect();
    consistency(&mid_sleeps).map(tenths)
}

/// Returns how good a night was, 0 to 100 (**ours**): the mean of performance, tranquility and consistency, as far as
/// known.
fn sleep_score(day: LocalDay, facts: &FactsByDay) -> Option<f64> {
    let today = facts.get(&day)?;
    // One kind for the whole score: nights by stages and by movements are not comparable.
    let kind = if today.night.is_some() { Kind::Stages } else { Kind::Movements };
    let night = kind.of(today)?;
    let parts = [
        Some(performance(night.session.sleep_duration_s)),
        tranquility(&night.session),
        consistency_on(day, facts, kind),
    ];
    mean(&parts.into_iter().flatten().collect::<Vec<f64>>()).map(hundredths)
}

/// The section `recovery` of a day; `None` when today's RMSSD or resting heart rate is not known, or no day before knows
/// them.
pub(super) fn recovery_on(day: LocalDay, facts: &FactsByDay, profile: &Profile) -> Option<RecoverySection> {
    let today = facts.get(&day)?.measured;
    // Days without data stay in their place, so that "seven days" means a week and not the last seven that were worn.
    let past_of = |back: i32| facts.get(&LocalDay(day.0 - back)).map(|facts| facts.measured).unwrap_or_default();
    let past: Vec<recovery::Day> = (1..=RECOVERY_REACH_DAYS).map(past_of).collect();
    let age_years = profile.age_on(day).map(f64::from);
    let factor = recovery::age_gender_factor(age_years, profile.sex);
    let section = recovery::recovery(day, &today, &past, sleep_score(day, facts), factor)?;
    Some(section.rounded())
}
