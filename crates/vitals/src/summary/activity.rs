//! The section `activity`.

use serde::Serialize;

use super::{DaySource, hundredths, tenths};
use crate::activity::{ActivityRow, Body, calories_kcal, distance_m, goal_percent, move_every_hour};
use crate::cells::{ActivityCell, Sum};

/// Steps, distance and energy of a day.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ActivitySection {
    /// `YYYY-MM-DD`.
    pub date: String,
    /// Steps; null when no row tells any number of them.
    pub total_steps: Option<u64>,
    /// Percent of the goal, at most 100; null without steps or with a goal of 0.
    pub daily_percent: Option<f64>,
    /// Metres; null when neither speed nor steps with a height are known.
    pub distance: Option<f64>,
    /// kcal; null when neither energy nor birthday, height and weight are known.
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
        let goal = source.settings.activity_goal_steps;
        let body = body(source);
        Some(ActivitySection {
            date: source.day.to_string(),
            total_steps,
            daily_percent: total_steps.and_then(|steps: u64| goal_percent(steps, goal)).map(tenths),
            distance: sum(cells.iter().map(|cell| distance_metres(cell, source))),
            calories: sum(cells.iter().map(|cell| kcal(cell, body.as_ref()))),
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
fn mean_of_rows(cells: &[ActivityCell], column: impl Fn(&ActivityCell) -> Sum) -> Option<f64> {
    let mut total = Sum::default();
    for sum in cells.iter().map(column) {
        total.sum += sum.sum;
        total.count += sum.count;
    }
    total.mean().map(|thousandths| hundredths(thousandths / 1000.0))
}

/// Speed times time where the bracelet tells a speed, else steps times the length of a step; `None` where neither
/// is known.
fn distance_metres(cell: &ActivityCell, source: &DaySource<'_>) -> Option<f64> {
    if cell.speed.count == 0 && cell.steps.count == 0 {
        return None;
    }
    let row = ActivityRow {
        duration_s: f64::from(cell.row_ms()) * f64::from(cell.speed.count) / 1000.0,
        steps: u32::try_from(cell.steps.sum).unwrap_or(u32::MAX),
        speed_dm_per_s: cell.speed.mean(),
        ..ActivityRow::default()
    };
    distance_m(&[row], source.profile.height_cm, source.profile.sex)
}

/// Energy as uploaded; else from the heart rate while the bracelet was worn.
fn kcal(cell: &ActivityCell, body: Option<&Body>) -> Option<f64> {
    let row = ActivityRow {
        duration_s: f64::from(cell.row_ms()) * f64::from(cell.worn) / 1000.0,
        per_min: cell.bpm.values.mean(),
        energy_cal: (cell.energy.count > 0).then_some(cell.energy.sum as f64),
        ..ActivityRow::default()
    };
    calories_kcal(&[row], body)
}

fn body(source: &DaySource<'_>) -> Option<Body> {
    let profile = source.profile;
    Some(Body {
        sex: profile.sex,
        age_years: f64::from(profile.age_on(source.day)?),
        height_cm: profile.height_cm?,
        weight_kg: profile.weight_kg?,
    })
}

fn hours_with_movement(cells: &[ActivityCell]) -> u32 {
    let mut steps_by_hour = [0_u32; 24];
    for cell in cells {
        let steps = u32::try_from(cell.steps.sum).unwrap_or(u32::MAX);
        let hour = &mut steps_by_hour[(cell.place.local_minute() / 60) as usize];
        *hour = hour.saturating_add(steps);
    }
    move_every_hour(&steps_by_hour)
}
