//! A story of one patient, and what its plot may change.

use std::fmt;
use std::ops::Range;

use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::strain::Strain;
use crate::bout::Bout;
use crate::time::{HOUR_MS, MINUTE_MS};
use crate::wear::{Contact, Wear};

/// A stretch of a story; begins and ends on whole minutes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Phase {
    /// What it is.
    pub name: &'static str,
    /// Begin, Unix ms.
    pub start_ms: i64,
    /// End, Unix ms, exclusive.
    pub end_ms: i64,
}

/// Where a story may be put.
#[derive(Debug, Clone)]
pub struct Scene {
    /// Earliest begin, Unix ms.
    pub from_ms: i64,
    /// Latest end of what must be seen of it, Unix ms.
    pub to_ms: i64,
    /// When the patient is up and has the bracelet on, one for each local day.
    pub waking: Vec<Range<i64>>,
}

/// The charge of the battery without a story.
pub struct BatteryPlan<'p> {
    /// Percent at a time, Unix ms.
    pub planned: &'p dyn Fn(i64) -> f64,
    /// What a worn bracelet loses, percent.
    pub drain_per_hour: f64,
}

/// A kind of story. What a plot does not mention stays as on a healthy day.
pub trait Plot: fmt::Debug + Sync {
    /// Returns the name on the command line and in the truth.
    fn name(&self) -> &'static str;

    /// Returns the kinds that are played in turn.
    fn kinds(&self) -> &'static [&'static str];

    /// Draws a story of the kind; none where the scene has no room for it.
    fn draw(&self, scene: &Scene, kind: &'static str, random: &mut ChaCha8Rng) -> Option<Draft>;

    /// Returns what is added to the true vital signs.
    fn strain(&self, _story: &Story, _at_ms: i64) -> Strain {
        Strain::default()
    }

    /// Returns the effort that the story adds to the day.
    fn bout(&self, _story: &Story) -> Option<Bout> {
        None
    }

    /// Returns whether the patient neither walks nor exercises from an hour before until the end.
    fn confines(&self) -> bool {
        false
    }

    /// Returns where the bracelet is instead of where the day has it.
    fn wear(&self, _story: &Story, _at_ms: i64) -> Option<Wear> {
        None
    }

    /// Returns how well the sensors touch the skin; `chance` draws from 0..1 for the minute.
    fn contact(&self, _story: &Story, _at_ms: i64, _chance: &mut dyn FnMut() -> f64) -> Contact {
        Contact::Firm
    }

    /// Returns the charge of the battery from the begin of the story on, also after its end.
    fn battery_percent(&self, _story: &Story, _at_ms: i64, _plan: &BatteryPlan<'_>) -> Option<f64> {
        None
    }

    /// Returns when samples of this time are sent, where that is not at once.
    fn arrival_ms(&self, _story: &Story, _at_ms: i64) -> Option<i64> {
        None
    }
}

/// What is drawn of a story.
#[derive(Debug, Clone)]
pub struct Draft {
    /// In order, each beginning where the one before ends.
    pub phases: Vec<Phase>,
    /// How strong it is; 1 is usual.
    pub strength: f64,
}

impl Draft {
    /// Makes phases of these names and lengths, one after the other.
    pub fn new(start_ms: i64, lengths: &[(&'static str, i64)], strength: f64) -> Self {
        let mut at_ms = start_ms;
        let phases = lengths
            .iter()
            .map(|(name, length_ms)| {
                let phase = Phase { name, start_ms: at_ms, end_ms: at_ms + length_ms };
                at_ms = phase.end_ms;
                phase
            })
            .collect();
        Self { phases, strength }
    }
}

/// A story of one patient.
#[derive(Debug, Clone)]
pub struct Story {
    plot: &'static dyn Plot,
    /// Which variant of the plot.
    pub kind: &'static str,
    /// In order, each beginning where the one before ends.
    pub phases: Vec<Phase>,
    /// How strong it is; 1 is usual.
    pub strength: f64,
}

impl Story {
    /// Makes a story of what its plot has drawn.
    pub(crate) fn new(plot: &'static dyn Plot, kind: &'static str, draft: Draft) -> Self {
        Self { plot, kind, phases: draft.phases, strength: draft.strength }
    }

    /// Returns the name of the plot.
    pub fn name(&self) -> &'static str {
        self.plot.name()
    }

    /// Returns the onset, Unix ms.
    pub fn start_ms(&self) -> i64 {
        self.phases.first().map_or(i64::MAX, |phase| phase.start_ms)
    }

    /// Returns the end, Unix ms, exclusive.
    pub fn end_ms(&self) -> i64 {
        self.phases.last().map_or(i64::MAX, |phase| phase.end_ms)
    }

    /// Returns whether it is under way.
    pub fn covers(&self, at_ms: i64) -> bool {
        (self.start_ms()..self.end_ms()).contains(&at_ms)
    }

    /// Returns the phase of that name.
    pub fn phase(&self, name: &str) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.name == name)
    }

    /// Returns whether the phase of that name is under way.
    pub fn is_in(&self, name: &str, at_ms: i64) -> bool {
        self.phase(name).is_some_and(|phase| (phase.start_ms..phase.end_ms).contains(&at_ms))
    }

    pub(crate) fn strain(&self, at_ms: i64) -> Strain {
        if self.covers(at_ms) { self.plot.strain(self, at_ms) } else { Strain::default() }
    }

    pub(crate) fn wear_at(&self, at_ms: i64) -> Option<Wear> {
        self.covers(at_ms).then(|| self.plot.wear(self, at_ms)).flatten()
    }

    pub(crate) fn contact(&self, at_ms: i64, chance: &mut dyn FnMut() -> f64) -> Contact {
        if self.covers(at_ms) { self.plot.contact(self, at_ms, chance) } else { Contact::Firm }
    }

    pub(crate) fn battery_percent(&self, at_ms: i64, plan: &BatteryPlan<'_>) -> Option<f64> {
        self.plot.battery_percent(self, at_ms, plan)
    }

    /// Returns when samples of this time are sent, none for at once.
    pub fn arrival_ms(&self, at_ms: i64) -> Option<i64> {
        self.covers(at_ms).then(|| self.plot.arrival_ms(self, at_ms)).flatten()
    }

    /// Takes out the efforts of a local day that the story rules out, and adds its own.
    pub(crate) fn change_bouts(&self, bouts: &mut Vec<Bout>, day: Range<i64>) {
        if self.plot.confines() {
            // The warmth of an effort lasts for most of an hour, and would be taken for a part of the story.
            bouts.retain(|bout| !bout.overlaps(self.start_ms() - HOUR_MS, self.end_ms()));
        }
        if let Some(bout) = self.plot.bout(self).filter(|bout| day.contains(&bout.start_ms)) {
            let margin_ms = 10 * MINUTE_MS;
            // A walk within the recovery would make it no recovery.
            bouts.retain(|other| !other.overlaps(bout.start_ms - margin_ms, self.end_ms() + margin_ms));
            bouts.push(bout);
            bouts.sort_by_key(|bout| bout.start_ms);
        }
    }
}
