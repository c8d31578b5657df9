//! Heart rate over a day: averages, resting rate, zones. Cut points and rules are **ours**.

use crate::signal::mean;

/// Length of a slot in ms.
const SLOT_MS: i64 = 300_000;
/// Slots of the resting rate: 30 minutes.
const RESTING_SLOTS: usize = 6;
/// Worn slots below which there is no resting rate: 4 hours.
const LEAST_WORN_SLOTS: usize = 48;

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

/// One five-minute slot of heart rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeartSlot {
    /// Start, Unix epoch milliseconds.
    pub start_ms: i64,
    /// Mean of the valid rows (above 0, quality ≥ 2, worn), per minute; None without any.
    pub per_min: Option<f64>,
    /// Steps in the slot.
    pub steps: u32,
    /// Whether the bracelet was worn.
    pub worn: bool,
}

/// Mean over valid slots, per minute; None without any.
pub fn average(slots: &[HeartSlot]) -> Option<f64> {
    mean(&valid_rates(slots))
}

/// Greatest valid slot, per minute; None without any.
pub fn maximum(slots: &[HeartSlot]) -> Option<f64> {
    valid_rates(slots).into_iter().reduce(f64::max)
}

/// Resting heart rate per minute (**ours**): the lowest mean of 30 consecutive minutes, all six
/// slots valid and worn, without a step. None under four hours of wear. Slots ascend in time.
pub fn resting(slots: &[HeartSlot]) -> Option<f64> {
    // A bracelet put on for a run alone would otherwise make a resting rate of its cool-down.
    if slots.iter().filter(|slot| slot.worn).count() < LEAST_WORN_SLOTS {
        return None;
    }
    let at_rest = |slot: &HeartSlot| slot.worn && slot.steps == 0;
    let mut lowest: Option<f64> = None;
    for half_hour in slots.windows(RESTING_SLOTS) {
        // Slots without rows are left out of the list: six in a row may span hours.
        let together = half_hour.windows(2).all(|pair| pair[1].start_ms - pair[0].start_ms == SLOT_MS);
        let rates = valid_rates(half_hour);
        if !together || rates.len() < RESTING_SLOTS || !half_hour.iter().all(at_rest) {
            continue;
        }
        lowest = mean(&rates).into_iter().chain(lowest).reduce(f64::min);
    }
    lowest
}

/// Returns the finite rates above 0 of the slots.
fn valid_rates(slots: &[HeartSlot]) -> Vec<f64> {
    let valid = |rate: &f64| rate.is_finite() && *rate > 0.0;
    slots.iter().filter_map(|slot| slot.per_min).filter(valid).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slots(rates: impl IntoIterator<Item = f64>) -> Vec<HeartSlot> {
        let slot = |(i, rate): (usize, f64)| HeartSlot {
            start_ms: i as i64 * SLOT_MS,
            per_min: (rate > 0.0).then_some(rate),
            steps: 0,
            worn: true,
        };
        rates.into_iter().enumerate().map(slot).collect()
    }

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

    #[test]
    fn resting_rate_is_the_lowest_still_half_hour() {
        let mut day = slots((0..60).map(|i| if (20..26).contains(&i) { 55.0 } else { 75.0 }));
        assert_eq!(resting(&day), Some(55.0));
        day[22].steps = 1;
        assert_eq!(resting(&day), Some((3.0 * 75.0 + 3.0 * 55.0) / 6.0));
        day[22].steps = 0;
        day[22].per_min = None;
        assert_eq!(resting(&day), Some((3.0 * 75.0 + 3.0 * 55.0) / 6.0));
        for slot in &mut day[23..] {
            slot.start_ms += SLOT_MS;
        }
        assert!(resting(&day).is_some());
    }

    #[test]
    fn four_hours_of_wear_are_needed() {
        let mut day = slots([60.0; 48]);
        assert_eq!(resting(&day), Some(60.0));
        day[0].worn = false;
        assert_eq!(resting(&day), None);
        assert_eq!(resting(&[]), None);
        assert_eq!((average(&[]), maximum(&[])), (None, None));
    }

    #[test]
    fn averages_leave_out_what_is_not_valid() {
        let day = slots([60.0, 0.0, 90.0]);
        assert_eq!(average(&day), Some(75.0));
        assert_eq!(maximum(&day), Some(90.0));
    }

    proptest! {
        #[test]
        fn zones_add_up_whatever_the_order(mut rates in prop::collection::vec((1.0..250.0f64, 1..120i64), 0..100)) {
            let times = zone_times(&rates, 180.0);
            prop_assert_eq!(times.all_time(), rates.iter().map(|rate| rate.1).sum::<i64>());
            rates.reverse();
            prop_assert_eq!(zone_times(&rates, 180.0), times);
        }

        #[test]
        fn resting_lies_between_least_and_average(rates in prop::collection::vec(40.0..180.0f64, 48..288)) {
            let day = slots(rates.iter().copied());
            let rest = resting(&day).unwrap();
            let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
            prop_assert!(rest >= least - 1e-9 && rest <= maximum(&day).unwrap() + 1e-9);
            let faster = slots(rates.iter().map(|rate| rate + 5.0));
            prop_assert!((resting(&faster).unwrap() - rest - 5.0).abs() < 1e-9);
        }
    }
}
