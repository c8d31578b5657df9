//! Zones of heart rate at every age, from their definitions.

use proptest::prelude::*;

use crate::heart::{MaxHeartRateRule, zone_times};

proptest! {
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
