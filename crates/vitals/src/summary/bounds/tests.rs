//! Tests of `bounds.rs`.

use super::*;
use crate::recovery::{Day, recovery};
use crate::stress_index::stress_index;
use crate::zone::LocalDay;

fn is_within(value: Option<f64>, (lowest, highest): Bounds) -> bool {
    value.is_some_and(|value| (lowest..=highest).contains(&value))
}

#[test]
fn a_stress_index_of_intervals_a_microsecond_apart_is_within_its_bounds() {
    let index = stress_index(&[300.0, 300.001]).expect("an index");
    assert!(is_within(Some(index.si), STRESS_INDEX), "{index:?}");
    assert!(is_within(Some(index.normalised()), column(DataType::HeartRateVariability, "si_n")));
    assert!(index.si > STRESS_INDEX.1 * 0.99, "the bound is that of the least difference");
}

#[test]
fn the_largest_changes_of_recovery_are_within_their_bounds() {
    let day = |rmssd, bpm, skin| Day { rmssd_ms: Some(rmssd), resting_bpm: Some(bpm), skin_temperature: Some(skin) };
    let (lowest, highest) = (day(0.001, 0.01, 0.01), day(60_000.0, 255.0, 100.0));
    for (today, past) in [(highest, lowest), (lowest, highest)] {
        let found = recovery(LocalDay(0), &today, &[past; 60], None, 1.0).expect("recovery");
        assert!(is_within(found.resting_bpm_delta.map(|change| change.0), RATE_CHANGE), "{found:?}");
        assert!(is_within(found.avg_hrv_delta.map(|change| change.0), RMSSD_CHANGE), "{found:?}");
        assert!(is_within(found.avg_hrv_delta_factor, RMSSD_FACTOR), "{found:?}");
        assert!(is_within(found.temperature_deviation.map(|change| change.0), TEMPERATURE_CHANGE), "{found:?}");
    }
}

#[test]
fn bounds_are_those_of_the_columns() {
    assert_eq!(column(DataType::Temperature, "temp_sk1"), (-40.0, 100.0));
    assert_eq!(column(DataType::Activity, "respiration_rate"), (0.0, 255.0));
    assert_eq!(STEPS_OF_A_SLOT.1 as i64, 180_000_000_000_000);
    assert_eq!((SECONDS.1, MINUTES.1, NIGHT_SECONDS.1), (9_072_000.0, 151_200.0, 266_400.0));
}
