//! Highest heart rate of an age, and the zones below it. Cut points and rules are **ours**.

/// How the greatest heart rate follows from age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MaxHeartRateRule {
    /// 220 − age (Fox 1971).
    #[default]
    Fox,
    /// 208 − 0.7·age (Tanaka, J Am Coll Cardiol 2001;37:153-156).
    Tanaka,
}

impl MaxHeartRateRule {
    /// Returns the rule of that name, `fox` or `tanaka`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "fox" => Some(Self::Fox),
            "tanaka" => Some(Self::Tanaka),
            _ => None,
        }
    }

    /// Greatest heart rate per minute at an age in years; None outside 0–130 years.
    pub fn max_heart_rate(self, age_years: f64) -> Option<f64> {
        if !(0.0..=130.0).contains(&age_years) {
            return None;
        }
        Some(match self {
            Self::Fox => 220.0 - age_years,
            Self::Tanaka => 208.0 - 0.7 * age_years,
        })
    }
}

/// Time in each zone in s, in the names of the `heart_rate` section (**ours** cut points).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZoneTimes {
    /// Below 50 % of the greatest heart rate.
    pub rest_time: i64,
    /// 50 % to below 60 %.
    pub warm_up_time: i64,
    /// 60 % to below 70 %.
    pub fat_burn_time: i64,
    /// 70 % to below 80 %.
    pub endurance_time: i64,
    /// 80 % to below 90 %.
    pub performance_time: i64,
    /// 90 % and above.
    pub max_time: i64,
}

impl ZoneTimes {
    /// Sum of all zones in s.
    pub fn all_time(&self) -> i64 {
        self.rest_time
            + self.warm_up_time
            + self.fat_burn_time
            + self.endurance_time
            + self.performance_time
            + self.max_time
    }
}

/// Time per zone of pairs of heart rate (per minute) and its duration in s. Rates that are zero,
/// negative or not finite and durations below one second enter no zone.
pub fn zone_times(rates: &[(f64, i64)], max_heart_rate: f64) -> ZoneTimes {
    let mut times = ZoneTimes::default();
    for &(per_min, duration_s) in rates {
        // A highest rate that is not known comes as NaN and ends in no zone.
        let percent = 100.0 * per_min / max_heart_rate;
        if !percent.is_finite() || percent <= 0.0 || duration_s < 1 {
            continue;
        }
        let zone = match percent {
            ..50.0 => &mut times.rest_time,
            ..60.0 => &mut times.warm_up_time,
            ..70.0 => &mut times.fat_burn_time,
            ..80.0 => &mut times.endurance_time,
            ..90.0 => &mut times.performance_time,
            _ => &mut times.max_time,
        };
        // A caller may bring any durations; a sum that wraps would be below zero.
        *zone = zone.saturating_add(duration_s);
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn greatest_heart_rates() {
        assert_eq!(MaxHeartRateRule::from_name("fox").unwrap().max_heart_rate(40.0), Some(180.0));
        assert_eq!(MaxHeartRateRule::from_name("tanaka").unwrap().max_heart_rate(40.0), Some(180.0));
        assert_eq!(MaxHeartRateRule::Tanaka.max_heart_rate(70.0), Some(159.0));
        assert_eq!(MaxHeartRateRule::Fox.max_heart_rate(f64::NAN), None);
        assert_eq!(MaxHeartRateRule::Fox.max_heart_rate(-1.0), None);
    }

    #[test]
    fn zones_begin_at_their_cut_points() {
        let rates = [(99.9, 1), (100.0, 2), (120.0, 4), (140.0, 8), (160.0, 16), (180.0, 32), (250.0, 64)];
        let times = zone_times(&rates, 200.0);
        let expected = ZoneTimes {
            rest_time: 1,
            warm_up_time: 2,
            fat_burn_time: 4,
            endurance_time: 8,
            performance_time: 16,
            max_time: 96,
        };
        assert_eq!(times, expected);
        assert_eq!(times.all_time(), 127);
        assert_eq!(zone_times(&[(0.0, 60), (f64::NAN, 60), (70.0, 0)], 200.0), ZoneTimes::default());
        assert_eq!(zone_times(&[(70.0, 60)], f64::NAN), ZoneTimes::default());
    }

    proptest! {
        #[test]
        fn zones_add_up_whatever_the_order(mut rates in prop::collection::vec((1.0..250.0f64, 1..120i64), 0..100)) {
            let times = zone_times(&rates, 180.0);
            prop_assert_eq!(times.all_time(), rates.iter().map(|rate| rate.1).sum::<i64>());
            rates.reverse();
            prop_assert_eq!(zone_times(&rates, 180.0), times);
        }
    }
}
