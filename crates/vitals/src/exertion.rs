//! Heart-rate zones, distance and energy from what a bracelet measures.
//!
//! Where the bracelet reports energy or speed itself, that stands; these are the fallbacks.

/// Gender as far as formulas ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gender {
    /// `female`.
    Female,
    /// `male`.
    Male,
    /// `other`: formulas that know two take the mean of both (**ours**).
    Other,
}

impl Gender {
    /// The gender of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "female" => Some(Gender::Female),
            "male" => Some(Gender::Male),
            "other" => Some(Gender::Other),
            _ => None,
        }
    }

    fn pick(self, female: f64, male: f64) -> f64 {
        match self {
            Gender::Female => female,
            Gender::Male => male,
            Gender::Other => f64::midpoint(female, male),
        }
    }
}

/// How the highest heart rate follows from age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MaxHeartRateRule {
    /// 220 − age (Fox, Naughton, Haskell 1971).
    #[default]
    Fox,
    /// 208 − 0.7·age (Tanaka, Monahan, Seals 2001).
    Tanaka,
}

impl MaxHeartRateRule {
    /// The rule of that name: `fox` or `tanaka`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "fox" => Some(MaxHeartRateRule::Fox),
            "tanaka" => Some(MaxHeartRateRule::Tanaka),
            _ => None,
        }
    }

    /// Highest heart rate at an age in whole years, /min.
    pub fn max_bpm(self, age_years: i32) -> f64 {
        let age = f64::from(age_years.max(0));
        match self {
            MaxHeartRateRule::Fox => 220.0 - age,
            MaxHeartRateRule::Tanaka => 208.0 - 0.7 * age,
        }
    }
}

/// The zone of a heart rate: 0 below 50 % of the highest, then steps of 10 %, 5 from 90 % on (cut points: **ours**).
pub fn zone_of_bpm(bpm: f64, max_bpm: f64) -> usize {
    [0.5, 0.6, 0.7, 0.8, 0.9].into_iter().filter(|share| bpm >= share * max_bpm).count()
}

/// Length of a step in metres: 0.415 of the height, for women 0.413; their mean where gender is not known.
pub fn step_metres(height_cm: f64, gender: Option<Gender>) -> f64 {
    gender.unwrap_or(Gender::Other).pick(0.413, 0.415) * height_cm / 100.0
}

/// Energy of a minute above rest, kcal, from heart rate (Keytel and others 2005, without VO2max); never below 0.
pub fn active_kcal_per_minute(bpm: f64, weight_kg: f64, age_years: i32, gender: Gender) -> f64 {
    const KILOJOULES_PER_KCAL: f64 = 4.184;
    let age = f64::from(age_years);
    let male = -55.0969 + 0.6309 * bpm + 0.1988 * weight_kg + 0.2017 * age;
    let female = -20.4022 + 0.4472 * bpm - 0.1263 * weight_kg + 0.074 * age;
    (gender.pick(female, male) / KILOJOULES_PER_KCAL).max(0.0)
}

/// Energy of a minute at rest, kcal (Mifflin, St Jeor and others 1990); never below 0.
pub fn resting_kcal_per_minute(weight_kg: f64, height_cm: f64, age_years: i32, gender: Gender) -> f64 {
    const MINUTES_A_DAY: f64 = 1440.0;
    let common = 10.0 * weight_kg + 6.25 * height_cm - 5.0 * f64::from(age_years);
    ((common + gender.pick(-161.0, 5.0)) / MINUTES_A_DAY).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_begin_at_their_lower_cut() {
        let zones: Vec<usize> = [99.0, 100.0, 119.9, 120.0, 140.0, 160.0, 179.0, 180.0, 230.0]
            .into_iter()
            .map(|bpm| zone_of_bpm(bpm, 200.0))
            .collect();
        assert_eq!(zones, [0, 1, 1, 2, 3, 4, 4, 5, 5]);
    }

    #[test]
    fn highest_heart_rate_falls_with_age() {
        assert!((MaxHeartRateRule::Fox.max_bpm(40) - 180.0).abs() < 1e-9);
        assert!((MaxHeartRateRule::Tanaka.max_bpm(40) - 180.0).abs() < 1e-9);
        assert!((MaxHeartRateRule::Tanaka.max_bpm(60) - 166.0).abs() < 1e-9);
    }

    #[test]
    fn energy_is_what_the_published_equations_give() {
        // Worked by hand from the equations: 140 /min, 70 kg, 30 years.
        let male = active_kcal_per_minute(140.0, 70.0, 30, Gender::Male);
        assert!((male - (88.326 + 13.916 + 6.051 - 55.0969) / 4.184).abs() < 1e-9);
        assert!(active_kcal_per_minute(20.0, 70.0, 30, Gender::Male).abs() < 1e-9);
        let rest = resting_kcal_per_minute(60.0, 165.0, 30, Gender::Female) * 1440.0;
        assert!((rest - 1320.25).abs() < 1e-9);
        let other = resting_kcal_per_minute(60.0, 165.0, 30, Gender::Other) * 1440.0;
        assert!((other - 1403.25).abs() < 1e-9);
    }
}
