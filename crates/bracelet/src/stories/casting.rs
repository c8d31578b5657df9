//! Which patients have which stories, and when.

use jiff::Timestamp;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::request::StoryRequests;
use super::story::{Plot, Scene, Story};
use crate::day::DayPlan;
use crate::error::BraceletError;
use crate::patient::Patient;
use crate::randomness::{Randomness, Subject};
use crate::time::HOUR_MS;

const DAY_MS: i64 = 24 * HOUR_MS;
/// Draws after which a story counts as having no room. A fleet of which half is taken misses that often by chance once in
/// 10^60 times.
const MOST_DRAWS: usize = 200;
/// Free time between two stories of a patient: what one leaves behind must be over before the other begins.
const MARGIN_MS: i64 = 3 * HOUR_MS;

/// The stories of a fleet, and the time in which they lie.
#[derive(Debug, Clone)]
pub struct StoryPlan {
    /// Which and how many.
    pub requests: StoryRequests,
    /// Begin of the data that are sent, Unix ms.
    pub from_ms: i64,
    /// Where stories have to be seen by, Unix ms.
    pub to_ms: i64,
}

impl StoryPlan {
    /// Returns the plan of a fleet that sends so many UTC days up to `now_ms`, and then the present if it is `live`.
    ///
    /// Its ends are midnights, so that runs of one seed have the same stories all day long. Only where nothing but the
    /// running day is sent it ends with the last full hour.
    pub fn new(requests: StoryRequests, now_ms: i64, days: u32, live: Presence) -> Self {
        let midnight_ms = (now_ms - 1).div_euclid(DAY_MS) * DAY_MS;
        let to_ms = match live {
            Presence::Live => midnight_ms + 2 * DAY_MS,
            Presence::History if days > 1 => midnight_ms,
            Presence::History => now_ms.div_euclid(HOUR_MS) * HOUR_MS,
        };
        Self { requests, from_ms: midnight_ms - i64::from(days.max(1) - 1) * DAY_MS, to_ms }
    }
}

/// Whether a fleet goes on after its past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It ends with the past.
    History,
    /// It sends the present.
    Live,
}

/// Gives the patients of a fleet their stories; the seed decides all.
pub fn cast(patients: &mut [Patient], plan: &StoryPlan, seed: u64) -> Result<(), BraceletError> {
    // A number that no patient has: the fleet's own chance is none of theirs.
    let randomness = Randomness::new(seed, u64::MAX);
    for (row, (plot, count)) in plan.requests.counts(patients.len() as u64).enumerate() {
        // A stream for each plot: more stories of one leave those of the plots before it where they are.
        let mut random = randomness.stream(Subject::Casting, row as i64);
        for number in 0..count {
            let kinds = plot.kinds();
            // In turn and not by chance, so that few stories have all kinds.
            let kind = kinds[number as usize % kinds.len()];
            place(patients, plan, (plot, kind), &mut random)?;
        }
    }
    for patient in patients {
        patient.stories.sort_by_key(Story::start_ms);
    }
    Ok(())
}

/// Draws patients and times until a story fits.
fn place(
    patients: &mut [Patient],
    plan: &StoryPlan,
    (plot, kind): (&'static dyn Plot, &'static str),
    random: &mut ChaCha8Rng,
) -> Result<(), BraceletError> {
    for _ in 0..MOST_DRAWS {
        let patient = random.random_range(0..patients.len().max(1));
        let Some(patient) = patients.get_mut(patient) else {
            break;
        };
        let Some(draft) = plot.draw(&scene(patient, plan)?, kind, random) else {
            continue;
        };
        let story = Story::new(plot, kind, draft);
        let is_free = patient.stories.iter().all(|other| {
            story.end_ms() + MARGIN_MS <= other.start_ms() || other.end_ms() + MARGIN_MS <= story.start_ms()
        });
        if is_free {
            patient.stories.push(story);
            return Ok(());
        }
    }
    Err(BraceletError::NoRoomForStory(plot.name()))
}

fn scene(patient: &Patient, plan: &StoryPlan) -> Result<Scene, BraceletError> {
    let date_of = |at_ms: i64| {
        Timestamp::from_millisecond(at_ms)
            .map(|at| at.to_zoned(patient.zone.clone()).date())
            .map_err(|_| BraceletError::TimeOutOfRange(at_ms))
    };
    let (mut day, last) = (date_of(plan.from_ms)?, date_of(plan.to_ms)?);
    let mut waking = Vec::new();
    while day <= last {
        let plan = DayPlan::new(patient, day)?;
        waking.push(plan.charge_end_ms..plan.bed_ms);
        day = day.tomorrow().map_err(|_| BraceletError::TimeOutOfRange(i64::MAX))?;
    }
    Ok(Scene { from_ms: plan.from_ms, to_ms: plan.to_ms, waking })
}
