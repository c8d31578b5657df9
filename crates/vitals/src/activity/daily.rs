//! Sums over the activity rows of a day.

use super::sex::Sex;

/// One row of the `activity` type, as far as sums need it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ActivityRow {
    /// Unix epoch milliseconds.
    pub time_ms: i64,
    /// Period that the row represents, s (10 to 60).
    pub duration_s: f64,
    /// Steps of the period.
    pub steps: u32,
    /// Valid heart rate per minute; None without one.
    pub per_min: Option<f64>,
    /// Speed as uploaded, in 0.1 m/s.
    pub speed_dm_per_s: Option<f64>,
    /// Energy of the period as uploaded, in cal.
    pub energy_cal: Option<f64>,
}

impl ActivityRow {
    /// Returns the period when it makes sense, else 0 s.
    pub(super) fn sound_duration_s(&self) -> f64 {
        if self.duration_s.is_finite() { self.duration_s.max(0.0) } else { 0.0 }
    }
}

/// Distance in m: speed × time where a speed was uploaded, else steps × step length, which is
/// 0.415 (women 0.413) of the height (a common rule of thumb). None when rows with steps but
/// without speed meet an unknown height.
pub fn distance_m(rows: &[ActivityRow], height_cm: Option<f64>, sex: Sex) -> Option<f64> {
    let factor = if sex == Sex::Female { 0.413 } else { 0.415 };
    let stride_m = height_cm.filter(|height| (30.0..=280.0).contains(height)).map(|cm| cm / 100.0 * factor);
    let mut sum_m = 0.0;
    for row in rows {
        let speed = row.speed_dm_per_s.filter(|speed| speed.is_finite() && *speed > 0.0);
        sum_m += match speed {
            Some(speed) => speed / 10.0 * row.sound_duration_s(),
            None if row.steps == 0 => 0.0,
            // Without a height the distance is unknown and not shorter.
            None => f64::from(row.steps) * stride_m?,
        };
    }
    Some(sum_m)
}

/// Minutes of the UTC clock with at least 60 steps or a mean heart rate of at least 50 % of the
/// greatest. Rows ascend in time.
pub fn active_minutes(rows: &[ActivityRow], max_heart_rate: Option<f64>) -> u32 {
    // Rows come every ten seconds or every minute; counting rows would count some minutes six times.
    let minute = |row: &ActivityRow| row.time_ms.div_euclid(60_000);
    let mut active = 0;
    for rows in rows.chunk_by(|one, next| minute(one) == minute(next)) {
        let steps: u64 = rows.iter().map(|row| u64::from(row.steps)).sum();
        let rates: Vec<f64> = rows.iter().filter_map(|row| row.per_min).filter(|rate| *rate > 0.0).collect();
        let half = max_heart_rate.map(|max| max / 2.0);
        let beats = crate::signal::mean(&rates).zip(half).is_some_and(|(rate, half)| rate >= half);
        active += u32::from(steps >= 60 || beats);
    }
    active
}

/// Hours of the local day from 8 to 20 h with at least 50 steps (**ours**), of twelve.
/// `steps_by_hour` holds the steps of each local hour 0–23.
pub fn move_every_hour(steps_by_hour: &[u32; 24]) -> u32 {
    steps_by_hour[8..20].iter().map(|steps| u32::from(*steps >= 50)).sum()
}

/// Percentage of the goal reached, at most 100; None for a goal of 0.
pub fn goal_percent(steps: u64, goal: u32) -> Option<f64> {
    (goal > 0).then(|| (100.0 * steps as f64 / f64::from(goal)).min(100.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(time_ms: i64, steps: u32) -> ActivityRow {
        ActivityRow { time_ms, duration_s: 60.0, steps, ..ActivityRow::default() }
    }

    #[test]
    fn speed_comes_before_steps() {
        let walk = ActivityRow { speed_dm_per_s: Some(14.0), ..row(0, 100) };
        assert_eq!(distance_m(&[walk], None, Sex::Other), Some(84.0));
        let still = ActivityRow { speed_dm_per_s: Some(0.0), ..row(0, 100) };
        for (row, sex, expected) in
            [(row(0, 100), Sex::Male, 74.7), (row(0, 100), Sex::Female, 74.34), (still, Sex::Male, 74.7)]
        {
            let metres = distance_m(&[row], Some(180.0), sex).unwrap();
            assert!((metres - expected).abs() < 1e-9);
        }
        assert_eq!(distance_m(&[row(0, 100)], None, Sex::Male), None);
        assert_eq!(distance_m(&[row(0, 0)], None, Sex::Male), Some(0.0));
        assert_eq!(distance_m(&[], None, Sex::Male), Some(0.0));
    }

    #[test]
    fn a_minute_is_active_by_steps_or_by_heart() {
        let halves = [ActivityRow { duration_s: 30.0, ..row(0, 30) }, row(30_000, 30)];
        assert_eq!(active_minutes(&halves, None), 1);
        assert_eq!(active_minutes(&[row(59_000, 30), row(60_000, 30)], None), 0);
        let beating = |per_min| [ActivityRow { per_min: Some(per_min), ..row(0, 0) }];
        assert_eq!(active_minutes(&beating(90.0), Some(180.0)), 1);
        assert_eq!(active_minutes(&beating(89.9), Some(180.0)), 0);
        assert_eq!(active_minutes(&beating(f64::NAN), Some(180.0)), 0);
        assert_eq!(active_minutes(&beating(120.0), None), 0);
    }

    #[test]
    fn hours_with_movement() {
        let mut hours = [0; 24];
        assert_eq!(move_every_hour(&hours), 0);
        (hours[7], hours[8], hours[19], hours[20], hours[12]) = (50, 50, 50, 50, 49);
        assert_eq!(move_every_hour(&hours), 2);
        assert_eq!(move_every_hour(&[9999; 24]), 12);
    }

    #[test]
    fn goals() {
        assert_eq!(goal_percent(2500, 10_000), Some(25.0));
        assert_eq!(goal_percent(25_000, 10_000), Some(100.0));
        assert_eq!(goal_percent(1, 0), None);
    }

    proptest! {
        #[test]
        fn more_steps_are_never_less(steps in prop::collection::vec(0..200u32, 1..50), at in 0..50usize) {
            let rows: Vec<_> = steps.iter().enumerate().map(|(i, s)| row(i as i64 * 20_000, *s)).collect();
            let mut more = rows.clone();
            let at = at % rows.len();
            more[at].steps += 10;
            prop_assert!(active_minutes(&more, None) >= active_minutes(&rows, None));
            let metres = |rows: &[ActivityRow]| distance_m(rows, Some(170.0), Sex::Other).unwrap();
            prop_assert!(metres(&more) > metres(&rows));
        }
    }
}
