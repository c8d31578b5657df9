//! The section `activity`.

use serde::{Deserialize, Serialize};

use super::bounds::{KILOCALORIES, METRES, MINUTES, STEPS, column};
use super::described::{Shape, Shaped, TextForm, described};
use super::rounding::{hundredths, tenths};
use super::slots::StepSlot;
use super::source::DaySource;
use super::units::{Kilocalories, Metres, MetresPerSecond, Percent};
use crate::activity::{ActivityRow, Body, calories_kcal, distance_m, goal_percent, move_every_hour};
use crate::cells::{ActivityCell, Place, Sum};
use crate::registry::DataType;
use crate::zone::LocalDay;

described! {
    /// Steps, distance and energy of a day.
    pub struct ActivitySection {
        /// Local day.
        pub date: LocalDay = "2025-11-20",
        /// Steps; null when neither a row nor acceleration gives any number of them.
        pub total_steps: Option<u64> = 8412 "steps" within STEPS,
        /// Share of the goal, at most 100; null without steps or with a goal of 0.
        pub daily_percent: Option<Percent> = 84.1 in 0 to 100,
        /// Distance; null when neither speed nor steps with a height are known.
        pub distance: Option<Metres> = 6213.75 within METRES,
        /// Energy; null when neither energy nor birthday, height and weight are known.
        pub calories: Option<Kilocalories> = 2140.5 within KILOCALORIES,
        /// Workouts: 0, nothing feeds them yet.
        pub workouts: u32 = 0 "count",
        /// Minutes with at least 60 steps or half of the highest heart rate.
        pub active_minutes: u32 = 64 "min" within MINUTES,
        /// Hours from 8 to 20 o'clock with at least 50 steps (**ours**).
        pub move_every_hour: u32 = 9 "h" in 0 to 12,
        /// Glasses of water: 0, nothing feeds them yet.
        pub total_glasses: u32 = 0 "count",
        /// Mean of the rows; null when none has it.
        pub avg_gait_asymmetry: Option<Percent> = 2.31 within column(DataType::Activity, "gait_asymmetry"),
        /// Mean of the rows; null when none has it.
        pub avg_gait_speed: Option<MetresPerSecond> = 1.21 within column(DataType::Activity, "gait_speed"),
        /// Mean of the rows; null when none has it.
        pub avg_gait_var: Option<Percent> = 3.4 within column(DataType::Activity, "gait_var"),
    }
    optional {
        /// Where no activity row of the day has steps and they were found elsewhere (**ours**); else left out.
        pub steps_source: StepsSource = "acceleration",
        /// Slots of five minutes, where an answer has them; never in what is stored.
        pub slots_five_minutes: Vec<StepSlot>,
        /// Slots of thirty minutes, where an answer has them; never in what is stored.
        pub slots_thirty_minutes: Vec<StepSlot>,
        /// The slots of thirty minutes again, where an answer has them; never in what is stored.
        pub slots: Vec<StepSlot>,
    }
}

/// Where steps were found that no activity row has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepsSource {
    /// In raw acceleration.
    Acceleration,
}

impl Shaped for StepsSource {
    const SHAPE: Shape = Shape::Text(TextForm::OneOf(&["acceleration"]));
}

impl ActivitySection {
    /// Returns the section of a day; `None` without any activity row and without acceleration that holds steps.
    pub fn of(source: &DaySource<'_>) -> Option<Self> {
        let cells = source.cells.activity.cells();
        let (steps_source, steps) = steps_by_window(source);
        let are_known = steps.clone().next().is_some();
        // Acceleration that shows no walking for lack of a fast enough stretch is no activity.
        if cells.is_empty() && !are_known {
            return None;
        }
        let total_steps = are_known.then(|| steps.clone().map(|(_, steps)| steps).sum());
        let goal = source.settings.activity_goal_steps;
        let body = body(source);
        Some(ActivitySection {
            date: source.day,
            total_steps,
            daily_percent: total_steps
                .and_then(|steps: u64| goal_percent(steps, goal))
                .map(|percent| Percent(tenths(percent))),
            distance: sum(cells.iter().map(|cell| distance_metres(cell, source))).map(Metres),
            calories: sum(cells.iter().map(|cell| kcal(cell, body.as_ref()))).map(Kilocalories),
            workouts: 0,
            active_minutes: cells.iter().map(|cell| cell.active_minutes).sum(),
            move_every_hour: hours_with_movement(steps),
            total_glasses: 0,
            avg_gait_asymmetry: mean_of_rows(cells, |cell| cell.gait_asymmetry).map(Percent),
            avg_gait_speed: mean_of_rows(cells, |cell| cell.gait_speed).map(MetresPerSecond),
            avg_gait_var: mean_of_rows(cells, |cell| cell.gait_var).map(Percent),
            steps_source: steps_source.filter(|_| are_known),
            slots_five_minutes: None,
            slots_thirty_minutes: None,
            slots: None,
        })
    }
}

/// Returns the sum of what is known, rounded to two decimals; `None` when nothing is.
fn sum(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let known: Vec<f64> = values.flatten().collect();
    // Rounded once, at the end: 288 windows rounded one by one could be off by a metre.
    (!known.is_empty()).then(|| hundredths(known.iter().sum()))
}

/// Gait columns have three decimals.
fn mean_of_rows(cells: &[ActivityCell], column: impl Fn(&ActivityCell) -> Sum) -> Option<f64> {
    let mut total = Sum::default();
    for sum in cells.iter().map(column) {
        total.sum += sum.sum;
        total.count += sum.count;
    }
    total.mean().map(|thousandths| hundredths(thousandths / 1000.0))
}

/// Speed times time for the rows that report a speed, steps times the length of a step for the others; `None` where
/// neither is known. A window keeps one number of steps, so those of the rows without a speed are taken as their share
/// of it.
fn distance_metres(cell: &ActivityCell, source: &DaySource<'_>) -> Option<f64> {
    if cell.speed.count == 0 && cell.steps.count == 0 {
        return None;
    }
    // A window keeps no rows, so which of them had both is not known any more; their share is the fairest guess.
    let with_speed = cell.steps.sum * u64::from(cell.speed.count.min(cell.rows)) / u64::from(cell.rows.max(1));
    let steps = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let rows = [
        ActivityRow {
            duration_s: f64::from(cell.row_ms()) * f64::from(cell.speed.count) / 1000.0,
            steps: steps(with_speed),
            speed_dm_per_s: cell.speed.mean(),
            ..ActivityRow::default()
        },
        ActivityRow { steps: steps(cell.steps.sum - with_speed), ..ActivityRow::default() },
    ];
    let (height_cm, sex) = (source.profile.height_cm, source.profile.sex());
    // Without a height the rows with a speed still have a distance.
    let by_speed = || (cell.speed.count > 0).then(|| distance_m(&rows[..1], height_cm, sex)).flatten();
    distance_m(&rows, height_cm, sex).or_else(by_speed)
}

/// Energy as uploaded; for the rows without it from the heart rate while the bracelet was worn.
fn kcal(cell: &ActivityCell, body: Option<&Body>) -> Option<f64> {
    let without = cell.rows.saturating_sub(cell.energy.count);
    // On the table nobody spends energy, though the row is there.
    let worn = f64::from(cell.worn) * f64::from(without) / f64::from(cell.rows.max(1));
    let rows = [
        ActivityRow { energy_cal: (cell.energy.count > 0).then_some(cell.energy.sum as f64), ..ActivityRow::default() },
        ActivityRow {
            duration_s: f64::from(cell.row_ms()) * worn / 1000.0,
            per_min: cell.bpm.values.mean(),
            ..ActivityRow::default()
        },
    ];
    let reported = || (cell.energy.count > 0).then(|| calories_kcal(&rows[..1], None)).flatten();
    calories_kcal(&rows, body).or_else(reported)
}

fn body(source: &DaySource<'_>) -> Option<Body> {
    let profile = source.profile;
    Some(Body {
        sex: profile.sex(),
        age_years: f64::from(profile.age_on(source.day)?),
        height_cm: profile.height_cm?,
        weight_kg: profile.weight_kg?,
    })
}

/// Returns the steps of the windows of a day, none when nothing reports any number of them, and where they were found.
/// Acceleration is used only where no activity row of the day reports one.
fn steps_by_window(source: &DaySource<'_>) -> (Option<StepsSource>, impl Iterator<Item = (Place, u64)> + Clone) {
    let (activity, motion) = (source.cells.activity.cells(), source.cells.motion.cells());
    // A bracelet that counts steps knows better than a filter; both together would count each step twice.
    let is_reported = activity.iter().any(|cell| cell.steps.count > 0);
    let reported = activity.iter().filter(move |_| is_reported).map(|cell| (cell.place, cell.steps.sum));
    let found = motion.iter().filter(move |_| !is_reported);
    let found = found.filter_map(|cell| Some((cell.place, u64::from(cell.steps?))));
    ((!is_reported).then_some(StepsSource::Acceleration), reported.chain(found))
}

fn hours_with_movement(steps: impl Iterator<Item = (Place, u64)>) -> u32 {
    let mut steps_by_hour = [0_u32; 24];
    for (place, steps) in steps {
        let hour = &mut steps_by_hour[(place.local_minute() / 60) as usize];
        *hour = hour.saturating_add(u32::try_from(steps).unwrap_or(u32::MAX));
    }
    move_every_hour(&steps_by_hour)
}
