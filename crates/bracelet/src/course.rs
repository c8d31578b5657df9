//! The course of a patient: their true physiology, minute by minute.
//!
//! Sensors look at this truth. It exists whether or not the bracelet is worn; the rows of an upload leave out what the
//! bracelet could not see.

use jiff::Timestamp;
use rand::RngExt;
use rand_distr::StandardNormal;

use crate::bout::{Bout, Movement};
use crate::day::DayPlan;
use crate::error::BraceletError;
use crate::moment::Moment;
use crate::night::Stage;
use crate::patient::Patient;
use crate::randomness::Subject;
use crate::scenario::Scenario;
use crate::signals::{blood_pressure, heart_rate, respiration, spo2, temperature};
use crate::stories::story::{BatteryPlan, Story};
use crate::stories::strain::Strain;
use crate::time::{HOUR_MS, MINUTE_MS};
use crate::wear::{Contact, Wear};

/// The truth of one minute.
#[derive(Debug, Clone, PartialEq)]
pub struct Minute {
    /// Begin of the minute, Unix ms.
    pub start_ms: i64,
    /// Where the bracelet is.
    pub wear: Wear,
    /// How well it feels.
    pub contact: Contact,
    /// Charge of the battery, %.
    pub battery_percent: f64,
    /// Sleep stage at the begin of the minute, none when the patient is up.
    pub stage: Option<Stage>,
    /// What the patient does.
    pub movement: Movement,
    /// Steps in the minute.
    pub steps: u32,
    /// Metres per second.
    pub speed_mps: f64,
    /// Share of the heart-rate reserve in use, 0 to 1.
    pub exertion: f64,
    /// Beats per minute.
    pub heart_rate: f64,
    /// Breaths per minute.
    pub respiration_rate: f64,
    /// Oxygen saturation, %.
    pub spo2: f64,
    /// Core temperature, °C.
    pub core_temp_c: f64,
    /// Skin temperatures of the two sensors, °C.
    pub skin_temp_c: [f64; 2],
    /// Temperature of the surroundings, °C.
    pub ambient_temp_c: f64,
    /// Systolic pressure, mmHg.
    pub systolic_mmhg: f64,
    /// Diastolic pressure, mmHg.
    pub diastolic_mmhg: f64,
    /// Independent normal values for the errors of measurement.
    pub(crate) noise: [f64; 6],
    /// A uniform value in 0..1 for rare events.
    pub(crate) chance: f64,
}

/// A patient's life around a window of time.
#[derive(Debug, Clone)]
pub struct Course<'p> {
    patient: &'p Patient,
    days: Vec<DayPlan>,
}

impl<'p> Course<'p> {
    /// Plans the days around `[from_ms, to_ms)`; the other methods answer for that window and an hour on both sides.
    pub fn new(patient: &'p Patient, from_ms: i64, to_ms: i64) -> Result<Self, BraceletError> {
        let day_of = |at_ms: i64| {
            Timestamp::from_millisecond(at_ms)
                .map(|at| at.to_zoned(patient.zone.clone()).date())
                .map_err(|_| BraceletError::TimeOutOfRange(at_ms))
        };
        // Nights begin on the eve and effects of effort last: each day is planned with the ones around it, whatever
        // window is asked for. By the calendar and not by hours: a day may have 25.
        let mut day = day_of(from_ms - HOUR_MS)?.yesterday().map_err(|_| BraceletError::TimeOutOfRange(from_ms))?;
        let last_day = day_of(to_ms + HOUR_MS)?.tomorrow().map_err(|_| BraceletError::TimeOutOfRange(to_ms))?;
        let mut days = Vec::new();
        while day <= last_day {
            days.push(DayPlan::new(patient, day)?);
            day = day.tomorrow().map_err(|_| BraceletError::TimeOutOfRange(to_ms))?;
        }
        Ok(Self { patient, days })
    }

    /// Returns the patient whose course this is.
    pub fn patient(&self) -> &'p Patient {
        self.patient
    }

    /// Returns the planned days: those that the window touches and one or two around them.
    pub fn days(&self) -> &[DayPlan] {
        &self.days
    }

    /// Index of the local day of `at_ms`.
    fn day_index(&self, at_ms: i64) -> usize {
        self.days.partition_point(|day| day.start_ms <= at_ms).saturating_sub(1)
    }

    /// Returns the plan of the local day of `at_ms`.
    pub fn day_at(&self, at_ms: i64) -> &DayPlan {
        &self.days[self.day_index(at_ms)]
    }

    /// Returns the bouts of the local day of `at_ms` and of the day before it: one late in the evening goes on over
    /// midnight.
    fn bouts_around(&self, at_ms: i64) -> impl Iterator<Item = &Bout> {
        let today = self.day_index(at_ms);
        self.days[today.saturating_sub(1)..=today].iter().flat_map(|day| &day.bouts)
    }

    /// Returns the stage of sleep at `at_ms` and the begin of that night, none when the patient is up.
    pub fn sleep_at(&self, at_ms: i64) -> Option<(Stage, i64)> {
        let today = self.day_index(at_ms);
        // The night that ends tomorrow may have begun before midnight.
        self.days[today..].iter().take(2).find_map(|day| Some((day.night.stage_at(at_ms)?, day.night.start_ms)))
    }

    /// Returns where the bracelet is at `at_ms`.
    pub fn wear_at(&self, at_ms: i64) -> Wear {
        // A bracelet that measures nothing is for all that look at it the same as one that lies on a table.
        if self.contact_at(at_ms) == Contact::None {
            return Wear::Off;
        }
        if let Some(wear) = self.patient.stories.iter().find_map(|story| story.wear_at(at_ms)) {
            return wear;
        }
        let day = self.day_at(at_ms);
        let is_charging = (day.charge_start_ms..day.charge_end_ms).contains(&at_ms);
        match self.patient.scenario {
            Scenario::Charging if self.patient.is_after_onset(at_ms) => Wear::Charging,
            // A bracelet that was left on the table is still charged every morning.
            _ if is_charging => Wear::Charging,
            Scenario::NotWorn if self.patient.is_after_onset(at_ms) => Wear::Off,
            _ => Wear::Worn,
        }
    }

    /// Returns how well the bracelet feels in the minute of `at_ms`.
    pub fn contact_at(&self, at_ms: i64) -> Contact {
        let minute = at_ms.div_euclid(MINUTE_MS);
        let stories = self.patient.stories.iter().filter(|story| story.covers(at_ms));
        stories.fold(Contact::Firm, |contact, story| {
            // By the minute, so that all data types agree about it, and drawn for stories only: healthy days cost nothing.
            let mut chance = || self.patient.randomness.stream(Subject::Contact, minute).random();
            match story.contact(minute * MINUTE_MS, &mut chance) {
                Contact::Firm => contact,
                other => other,
            }
        })
    }

    fn moment(&self, at_ms: i64) -> Moment {
        let day = self.day_at(at_ms);
        let sleep = self.sleep_at(at_ms);
        Moment {
            at_ms,
            // A day of 23 or 25 hours is lived faster or slower: a body has no jump of an hour at its end.
            hour: 24.0 * (at_ms - day.start_ms) as f64 / (day.end_ms - day.start_ms) as f64,
            stage: sleep.map(|(stage, _)| stage),
            in_bed_ms: sleep.map_or(0, |(_, since_ms)| at_ms - since_ms),
            // The heart follows effort within a minute and comes down within two; warmth takes a quarter of an hour.
            exertion: response(self.bouts_around(at_ms), at_ms, 1.0, 2.0),
            heat: response(self.bouts_around(at_ms), at_ms, 15.0, 20.0),
            deterioration: self.patient.deterioration(at_ms),
            strain: self.patient.stories.iter().map(|story| story.strain(at_ms)).fold(Strain::default(), |a, b| a + b),
            fibrillates: self.patient.fibrillates(at_ms),
        }
    }

    /// True heart and respiration rate per minute at `at_ms`.
    pub(crate) fn rates_at(&self, at_ms: i64) -> (f64, f64) {
        let moment = self.moment(at_ms);
        (heart_rate::heart_rate(self.patient, &moment), respiration::respiration_rate(self.patient, &moment))
    }

    /// Returns the truth of the minute that begins at `minute * 60 s` after the epoch.
    pub fn minute(&self, minute: i64) -> Minute {
        let start_ms = minute * MINUTE_MS;
        let moment = self.moment(start_ms);
        let mut random = self.patient.randomness.stream(Subject::Minute, minute);
        // Drawn before anything depends on the scenario: the same minute has the same errors in every story.
        let noise: [f64; 6] = std::array::from_fn(|_| random.sample(StandardNormal));
        let (movement, steps, speed_mps) = self.movement(&moment, noise[0], random.random());
        let (systolic_mmhg, diastolic_mmhg) = blood_pressure::pressure(self.patient, &moment);
        Minute {
            start_ms,
            wear: self.wear_at(start_ms),
            battery_percent: self.battery_percent(start_ms),
            contact: self.contact_at(start_ms),
            stage: moment.stage,
            movement,
            steps,
            speed_mps,
            exertion: moment.exertion,
            heart_rate: heart_rate::heart_rate(self.patient, &moment),
            respiration_rate: respiration::respiration_rate(self.patient, &moment),
            spo2: spo2::saturation(self.patient, &moment),
            core_temp_c: temperature::core(self.patient, &moment),
            skin_temp_c: temperature::skin(self.patient, &moment),
            ambient_temp_c: temperature::ambient(self.patient, &moment),
            systolic_mmhg,
            diastolic_mmhg,
            noise,
            chance: random.random(),
        }
    }

    /// Kind of movement, steps of the minute, and speed in m/s.
    fn movement(&self, moment: &Moment, noise: f64, chance: f64) -> (Movement, u32, f64) {
        if let Some(bout) = self.bouts_around(moment.at_ms).find(|bout| bout.is_under_way(moment.at_ms)) {
            let steps = if bout.cadence > 0.0 { (bout.cadence + 2.0 * noise).round().max(0.0) as u32 } else { 0 };
            return (bout.movement, steps, bout.speed_mps * (1.0 + 0.03 * noise));
        }
        // Who is ill does not potter about: a fall in these steps is part of the story.
        let stirs = 0.22 * self.patient.baseline.liveliness * (1.0 - moment.deterioration - moment.strain.illness);
        if moment.stage.is_none() && chance < stirs {
            let steps = 6 + (chance / stirs * 28.0) as u32;
            return (Movement::Other, steps, f64::from(steps) / 60.0 * 0.6);
        }
        (Movement::Rest, 0, 0.0)
    }

    /// Charge of the battery, %.
    pub(crate) fn battery_percent(&self, at_ms: i64) -> f64 {
        self.battery_after(&self.patient.stories, at_ms)
    }

    /// Charge of the battery as these stories leave it. Each begins with what the ones before it have left: taken from the
    /// plan of the day, the charge would jump where an earlier charging has not yet been used up.
    fn battery_after(&self, stories: &[Story], at_ms: i64) -> f64 {
        let Some((last, earlier)) = stories.split_last() else {
            return self.planned_battery_percent(at_ms);
        };
        let planned = |at_ms| self.battery_after(earlier, at_ms);
        let plan = BatteryPlan { planned: &planned, drain_per_hour: self.patient.baseline.battery_drain };
        let has_begun = last.start_ms() <= at_ms;
        has_begun.then(|| last.battery_percent(at_ms, &plan)).flatten().unwrap_or_else(|| planned(at_ms))
    }

    /// What the daily charging makes of the battery: it falls evenly from the end of one charging to the begin of the next.
    fn planned_battery_percent(&self, at_ms: i64) -> f64 {
        const GAIN_PER_MS: f64 = 1.5 / 60_000.0;
        let patient = self.patient;
        if patient.scenario == Scenario::Charging && patient.is_after_onset(at_ms) {
            let gain = at_ms.saturating_sub(patient.onset_ms) as f64 * GAIN_PER_MS;
            return (40.0 + gain).min(100.0);
        }
        let today = self.day_index(at_ms);
        let day = &self.days[today];
        let drained = |at_ms: i64, full_ms: i64| {
            let hours = (at_ms - full_ms) as f64 / HOUR_MS as f64;
            (100.0 - hours * patient.baseline.battery_drain).clamp(2.0, 100.0)
        };
        if at_ms >= day.charge_end_ms {
            return drained(at_ms, day.charge_end_ms);
        }
        // The first planned day has no yesterday: its battery counts from itself and is never above full.
        let yesterday_ms = self.days[today.saturating_sub(1)].charge_end_ms.min(at_ms);
        if at_ms < day.charge_start_ms {
            return drained(at_ms, yesterday_ms);
        }
        let begin = drained(day.charge_start_ms, yesterday_ms);
        let progress = (at_ms - day.charge_start_ms) as f64 / (day.charge_end_ms - day.charge_start_ms) as f64;
        begin + (100.0 - begin) * progress
    }
}

/// Returns the effort of bouts at `at_ms`, rising and falling exponentially with these time constants in minutes.
fn response<'b>(bouts: impl Iterator<Item = &'b Bout>, at_ms: i64, rise_min: f64, fall_min: f64) -> f64 {
    let minutes_since = |then_ms: i64| (at_ms - then_ms) as f64 / MINUTE_MS as f64;
    bouts
        .filter(|bout| bout.start_ms <= at_ms)
        .map(|bout| {
            let active_min = minutes_since(bout.start_ms).min((bout.end_ms - bout.start_ms) as f64 / MINUTE_MS as f64);
            let recovering_min = minutes_since(bout.end_ms).max(0.0);
            bout.effort * (1.0 - (-active_min / rise_min).exp()) * (-recovering_min / fall_min).exp()
        })
        .sum::<f64>()
        // Two bouts may still add up after each other; nobody uses more than the whole reserve.
        .min(1.0)
}
