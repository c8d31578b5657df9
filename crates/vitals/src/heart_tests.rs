//! Heart rate of a day from its definitions: zones at every age, resting rate by the slow way.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::heart::{HeartSlot, MaxHeartRateRule, average, maximum, resting, zone_times};

const SLOT_MS: i64 = 300_000;

fn any_slots() -> impl Strategy<Value = Vec<HeartSlot>> {
    let rate = prop_oneof![10 => (38.0..180.0_f64).prop_map(Some), 1 => Just(None), 1 => Just(Some(0.0)), 1 => Just(Some(f64::NAN))];
    let row =
        (rate, prop_oneof![5 => Just(0_u32), 1 => 1..300_u32], prop::bool::weighted(0.95), prop::bool::weighted(0.97));
    vec(row, 0..120).prop_map(|rows| {
        let mut start_ms = 1_763_596_800_000;
        let next = |(per_min, steps, worn, is_next): (Option<f64>, u32, bool, bool)| {
            start_ms += if is_next { SLOT_MS } else { 3 * SLOT_MS };
            HeartSlot { start_ms, per_min, steps, worn }
        };
        rows.into_iter().map(next).collect()
    })
}

fn valid(slot: &HeartSlot) -> Option<f64> {
    slot.per_min.filter(|rate| rate.is_finite() && *rate > 0.0)
}

proptest! {
    /// The lowest mean of any thirty minutes: tried from every slot on, by time.
    #[test]
    fn the_resting_rate_is_the_lowest_calm_half_hour(slots in any_slots()) {
        let at = |time_ms: i64| slots.iter().find(|slot| slot.start_ms == time_ms);
        let calm = |slot: &HeartSlot| valid(slot).filter(|_| slot.worn && slot.steps == 0);
        let half_hour = |slot: &HeartSlot| {
            let rates: Option<Vec<f64>> = (0..6).map(|later| at(slot.start_ms + later * SLOT_MS).and_then(calm)).collect();
            rates.map(|rates| rates.iter().sum::<f64>() / 6.0)
        };
        let lowest = slots.iter().filter_map(half_hour).fold(f64::INFINITY, f64::min);
        let is_enough = slots.iter().filter(|slot| slot.worn).count() >= 48;
        match resting(&slots) {
            Some(found) => prop_assert!(is_enough && (found - lowest).abs() < 1e-9, "{} {}", found, lowest),
            None => prop_assert!(!is_enough || lowest.is_infinite()),
        }
    }

    #[test]
    fn averages_are_of_valid_slots(slots in any_slots()) {
        let rates: Vec<f64> = slots.iter().filter_map(valid).collect();
        let expected = (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64);
        prop_assert!(average(&slots).zip(expected).is_none_or(|(found, expected)| (found - expected).abs() < 1e-9));
        prop_assert_eq!(average(&slots).is_some(), expected.is_some());
        prop_assert_eq!(maximum(&slots), rates.iter().copied().reduce(f64::max));
    }

    #[test]
    fn each_beat_rate_has_one_zone(rate in 1.0..260.0_f64, age in 0.0..110.0_f64) {
        let highest = MaxHeartRateRule::Fox.max_heart_rate(age).unwrap();
        let times = zone_times(&[(rate, 60)], highest);
        let zones = [times.rest_time, times.warm_up_time, times.fat_burn_time, times.endurance_time, times.performance_time, times.max_time];
        prop_assert_eq!(zones.iter().filter(|time| **time == 60).count(), 1);
        prop_assert_eq!(zones.iter().sum::<i64>(), 60);
        let zone = zones.iter().position(|time| *time == 60).unwrap();
        let share = rate / highest;
        let lower = [0.0, 0.5, 0.6, 0.7, 0.8, 0.9][zone];
        let upper = [0.5, 0.6, 0.7, 0.8, 0.9, f64::INFINITY][zone];
        prop_assert!(lower - 1e-9 <= share && share < upper + 1e-9);
    }
}

#[test]
fn every_cut_point_belongs_to_the_zone_above_it_at_every_age() {
    for age in 0..=110 {
        // Highest rates whose tenths are whole, so that cut points are exact.
        let highest = 220.0 - f64::from(age);
        for (tenth, zone) in [(5, 1), (6, 2), (7, 3), (8, 4), (9, 5)] {
            let cut = highest * f64::from(tenth) / 10.0;
            let zone_of = |rate: f64| {
                let times = zone_times(&[(rate, 1)], highest);
                let zones = [
                    times.rest_time,
                    times.warm_up_time,
                    times.fat_burn_time,
                    times.endurance_time,
                    times.performance_time,
                    times.max_time,
                ];
                zones.iter().position(|time| *time == 1).unwrap()
            };
            assert_eq!(zone_of(cut + 1e-9), zone, "{tenth}0 % at {age}");
            assert_eq!(zone_of(cut - 1e-6), zone - 1, "below {tenth}0 % at {age}");
        }
    }
}

#[test]
fn the_two_rules_meet_at_forty_and_part_from_there() {
    let (fox, tanaka) = (MaxHeartRateRule::Fox, MaxHeartRateRule::Tanaka);
    for (age, by_fox, by_tanaka) in
        [(0.0, 220.0, 208.0), (20.0, 200.0, 194.0), (40.0, 180.0, 180.0), (80.0, 140.0, 152.0)]
    {
        assert!((fox.max_heart_rate(age).unwrap() - by_fox).abs() < 1e-9);
        assert!((tanaka.max_heart_rate(age).unwrap() - by_tanaka).abs() < 1e-9);
    }
    for age in [-0.1, 130.1, f64::NAN, f64::INFINITY] {
        assert_eq!((fox.max_heart_rate(age), tanaka.max_heart_rate(age)), (None, None), "{age}");
    }
    assert_eq!((MaxHeartRateRule::from_name("Fox"), MaxHeartRateRule::from_name("")), (None, None));
}
