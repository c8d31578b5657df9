//! The section `activity`.

use serde::Serialize;

use super::{DaySource, hundredths, percent};
use crate::cells::ActivityCell;
use crate::exertion::{Gender, active_kcal_per_minute, resting_kcal_per_minute, step_metres};
use crate::zone::LocalDay;

/// Steps, distance and energy of a day.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ActivitySection {
    /// `YYYY-MM-DD`.
    pub date: String,
    /// Steps; null when no row tells any number of them.
    pub total_steps: Option<u64>,
    /// Percent of the goal, at most 100; null without steps.
    pub daily_percent: Option<f64>,
    /// Metres; null when neither speed nor steps with a height are known.
    pub distance: Option<f64>,
    /// kcal; null when neither energy nor a full profile with heart rate is known.
    pub calories: Option<f64>,
    /// Workouts: 0, nothing feeds them yet.
    pub workouts: u32,
    /// Minutes with at least 60 steps or half of the highest heart rate.
    pub active_minutes: u32,
    /// Hours from 8 to 20 o'clock with at least 50 steps (**ours**).
    pub move_every_hour: u32,
    /// Glasses of water: 0, nothing feeds them yet.
    pub total_glasses: u32,
    /// Percent; null when no row tells it.
    pub avg_gait_asymmetry: Option<f64>,
    /// m/s; null when no row tells it.
    pub avg_gait_speed: Option<f64>,
    /// Percent; null when no row tells it.
    pub avg_gait_var: Option<f64>,
}

impl ActivitySection {
    /// The section of a day; `None` without any row.
    pub fn of(source: &DaySource<'_>) -> Option<Self> {
        let cells = source.activity.cells();
        if cells.is_empty() {
            return None;
        }
        let tells_steps = cells.iter().any(|cell| cell.steps.count > 0);
        let total_steps = tells_steps.then(|| cells.iter().map(|cell| cell.steps.sum).sum());
        let goal = f64::from(source.settings.activity_goal_steps);
        Some(ActivitySection {
            date: source.day.to_string(),
            total_steps,
            daily_percent: total_steps.map(|steps: u64| percent(steps as f64, goal)),
            distance: sum(cells.iter().map(|cell| distance_metres(cell, source))),
            calories: sum(cells.iter().map(|cell| kcal(cell, source))),
            workouts: 0,
            active_minutes: cells.iter().map(|cell| cell.active_minutes).sum(),
            move_every_hour: hours_with_movement(cells),
            total_glasses: 0,
            avg_gait_asymmetry: mean_of_rows(cells, |cell| cell.gait_asymmetry),
            avg_gait_speed: mean_of_rows(cells, |cell| cell.gait_speed),
            avg_gait_var: mean_of_rows(cells, |cell| cell.gait_var),
        })
    }
}

/// The sum of what is known, rounded to two decimals; `None` when nothing is.
fn sum(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let known: Vec<f64> = values.flatten().collect();
    (!known.is_empty()).then(|| hundredths(known.iter().sum()))
}

/// Gait columns have three decimals.
fn mean_of_rows(cells: &[ActivityCell], column: impl Fn(&ActivityCell) -> crate::cells::Sum) -> Option<f64> {
    let mut total = crate::cells::Sum::default();
    for sum in cells.iter().map(column) {
        total.sum += sum.sum;
        total.count += sum.count;
    }
    total.mean().map(|thousandths| hundredths(thousandths / 1000.0))
}

/// Speed times time where the bracelet tells a speed, else steps times the length of a step.
fn distance_metres(cell: &ActivityCell, source: &DaySource<'_>) -> Option<f64> {
    const DECIMETRES: f64 = 10.0;
    if cell.speed.sum > 0 {
        let seconds = f64::from(cell.row_ms()) / 1000.0;
        return Some(cell.speed.sum as f64 / DECIMETRES * seconds);
    }
    let height_cm = source.profile.height_cm;
    if cell.steps.sum == 0 {
        let tells = cell.speed.count > 0 || (cell.steps.count > 0 && height_cm.is_some());
        return tells.then_some(0.0);
    }
    height_cm.map(|height_cm| cell.steps.sum as f64 * step_metres(height_cm, source.profile.gender))
}

/// Energy as uploaded; else from heart rate, above 90 /min by exertion and below by the resting rate.
fn kcal(cell: &ActivityCell, source: &DaySource<'_>) -> Option<f64> {
    const EXERTION_BPM: f64 = 90.0;
    const CAL_PER_KCAL: f64 = 1000.0;
    if cell.energy.count > 0 {
        return Some(cell.energy.sum as f64 / CAL_PER_KCAL);
    }
    let bpm = cell.bpm.values.mean()?;
    let Body { weight_kg, height_cm, age_years, gender } = Body::of(source)?;
    let per_minute = if bpm > EXERTION_BPM {
        active_kcal_per_minute(bpm, weight_kg, age_years, gender)
    } else {
        resting_kcal_per_minute(weight_kg, height_cm, age_years, gender)
    };
    let minutes = f64::from(cell.row_ms()) * f64::from(cell.worn) / 60_000.0;
    Some(per_minute * minutes)
}

/// What the formulas of energy ask for.
struct Body {
    weight_kg: f64,
    height_cm: f64,
    age_years: i32,
    gender: Gender,
}

impl Body {
    fn of(source: &DaySource<'_>) -> Option<Self> {
        let day: LocalDay = source.day;
        Some(Body {
            weight_kg: source.profile.weight_kg?,
            height_cm: source.profile.height_cm?,
            age_years: source.profile.age_on(day)?,
            gender: source.profile.gender?,
        })
    }
}

fn hours_with_movement(cells: &[ActivityCell]) -> u32 {
    const FIRST_HOUR: usize = 8;
    const END_HOUR: usize = 20;
    const STEPS: u64 = 50;
    let mut steps_by_hour = [0; 24];
    for cell in cells {
        steps_by_hour[(cell.place.local_minute() / 60) as usize] += cell.steps.sum;
    }
    steps_by_hour[FIRST_HOUR..END_HOUR].iter().filter(|steps| **steps >= STEPS).count() as u32
}
