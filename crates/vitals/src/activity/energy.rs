//! Energy spent.
//!
//! Uploaded energy comes first. Else above 90 beats per minute the regression of Keytel et al.
//! (J Sports Sci 2005;23:289-297) on heart rate, weight and age, and below it the resting rate of
//! Mifflin, St Jeor et al. (Am J Clin Nutr 1990;51:241-247). The seam is **ours**: never less
//! than at rest.

use super::daily::ActivityRow;
use super::sex::Sex;

/// Heart rate from which the heart rate gives the energy, per minute.
const KEYTEL_FROM_PER_MIN: f64 = 90.0;

/// What the formulas need of a person.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Body {
    /// Sex.
    pub sex: Sex,
    /// Age in years.
    pub age_years: f64,
    /// Height in cm.
    pub height_cm: f64,
    /// Weight in kg.
    pub weight_kg: f64,
}

impl Body {
    /// Returns whether it is a person's: the formulas mean nothing for others.
    fn plausible(&self) -> bool {
        // Heights in metres or weights in grams would give plausible-looking nonsense.
        (0.0..=130.0).contains(&self.age_years)
            && (30.0..=280.0).contains(&self.height_cm)
            && (1.0..=500.0).contains(&self.weight_kg)
    }
}

/// Energy at rest in kcal per day (Mifflin–St Jeor); None for an implausible body, never negative.
pub fn resting_kcal_per_day(body: &Body) -> Option<f64> {
    if !body.plausible() {
        return None;
    }
    let common = 10.0 * body.weight_kg + 6.25 * body.height_cm - 5.0 * body.age_years;
    Some((common + body.sex.choose(-161.0, 5.0)).max(0.0))
}

/// Energy in kcal per minute at a heart rate (Keytel, without fitness); None for an implausible
/// body or rate, never negative.
pub fn keytel_kcal_per_min(body: &Body, per_min: f64) -> Option<f64> {
    if !body.plausible() || !(0.0..=300.0).contains(&per_min) {
        return None;
    }
    let female = -20.4022 + 0.4472 * per_min - 0.1263 * body.weight_kg + 0.074 * body.age_years;
    let male = -55.0969 + 0.6309 * per_min + 0.1988 * body.weight_kg + 0.2017 * body.age_years;
    let kilojoule = body.sex.choose(female, male);
    Some((kilojoule / 4.184).max(0.0))
}

/// Energy of the rows in kcal; None when a row without uploaded energy meets an unknown or
/// implausible body.
pub fn calories_kcal(rows: &[ActivityRow], body: Option<&Body>) -> Option<f64> {
    let mut sum_kcal = 0.0;
    for row in rows {
        if let Some(cal) = row.energy_cal.filter(|cal| cal.is_finite() && *cal >= 0.0) {
            sum_kcal += cal / 1000.0;
            continue;
        }
        // One unknown part makes the sum unknown: half of a day's energy is not a day's energy.
        let body = body?;
        let minutes = row.sound_duration_s() / 60.0;
        let resting = resting_kcal_per_day(body)? / 1440.0;
        let fast = row.per_min.filter(|per_min| *per_min > KEYTEL_FROM_PER_MIN);
        let moving = fast.and_then(|per_min| keytel_kcal_per_min(body, per_min));
        // At 90 beats the regression falls below the resting rate for heavy women: nobody spends less than at rest.
        sum_kcal += moving.unwrap_or(0.0).max(resting) * minutes;
    }
    Some(sum_kcal)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAN: Body = Body { sex: Sex::Male, age_years: 40.0, height_cm: 180.0, weight_kg: 80.0 };
    const WOMAN: Body = Body { sex: Sex::Female, age_years: 30.0, height_cm: 165.0, weight_kg: 60.0 };

    fn minute(per_min: Option<f64>, energy_cal: Option<f64>) -> ActivityRow {
        ActivityRow { duration_s: 60.0, per_min, energy_cal, ..ActivityRow::default() }
    }

    #[test]
    fn worked_by_hand() {
        assert_eq!(resting_kcal_per_day(&MAN), Some(1730.0));
        assert_eq!(resting_kcal_per_day(&WOMAN), Some(1320.25));
        let other = Body { sex: Sex::Other, ..MAN };
        assert_eq!(resting_kcal_per_day(&other), Some(1647.0));
        // (−55.0969 + 0.6309·140 + 0.1988·80 + 0.2017·40) / 4.184
        assert!((keytel_kcal_per_min(&MAN, 140.0).unwrap() - 57.2011 / 4.184).abs() < 1e-9);
        // (−20.4022 + 0.4472·140 − 0.1263·60 + 0.074·30) / 4.184
        assert!((keytel_kcal_per_min(&WOMAN, 140.0).unwrap() - 36.8478 / 4.184).abs() < 1e-9);
    }

    #[test]
    fn uploaded_energy_comes_first_then_heart_then_rest() {
        assert_eq!(calories_kcal(&[minute(Some(140.0), Some(2500.0))], None), Some(2.5));
        let beating = calories_kcal(&[minute(Some(140.0), None)], Some(&MAN)).unwrap();
        assert!((beating - 57.2011 / 4.184).abs() < 1e-9);
        for rate in [None, Some(90.0), Some(f64::NAN)] {
            let still = calories_kcal(&[minute(rate, None)], Some(&MAN)).unwrap();
            assert!((still - 1730.0 / 1440.0).abs() < 1e-9);
        }
        assert_eq!(calories_kcal(&[minute(None, None)], None), None);
        assert_eq!(calories_kcal(&[], None), Some(0.0));
    }

    #[test]
    fn implausible_bodies_have_no_energy() {
        for body in
            [Body { weight_kg: 0.0, ..MAN }, Body { height_cm: f64::NAN, ..MAN }, Body { age_years: -1.0, ..MAN }]
        {
            assert_eq!(resting_kcal_per_day(&body), None);
            assert_eq!(keytel_kcal_per_min(&body, 120.0), None);
            assert_eq!(calories_kcal(&[minute(None, None)], Some(&body)), None);
        }
        assert_eq!(keytel_kcal_per_min(&MAN, 301.0), None);
    }

    #[test]
    fn energy_grows_with_heart_rate_and_never_falls_below_rest() {
        let mut last = 0.0;
        for rate in 60..220 {
            let kcal = calories_kcal(&[minute(Some(f64::from(rate)), None)], Some(&MAN)).unwrap();
            assert!(kcal >= last && kcal >= 1730.0 / 1440.0 - 1e-12);
            last = kcal;
        }
    }
}
