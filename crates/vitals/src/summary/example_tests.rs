//! Examples of sections: what follows from other fields follows from their examples too, since readers reckon with them.

use super::Section;

/// Returns the example of a field.
fn example(section: Section, name: &str) -> f64 {
    let field = section.description().fields.iter().find(|field| field.name == name);
    let text = field.and_then(|field| field.example).unwrap_or_else(|| panic!("{name} has no example"));
    text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}"))
}

#[test]
fn recovery_is_the_weighted_scores_times_both_factors() {
    let of = |name: &str| example(Section::Recovery, name);
    let scores = 0.4 * of("recovery_hrv_score") + 0.3 * of("recovery_rhr_score") + 0.3 * of("sleep_score");
    let factors = of("age_gender_factor") * of("temperature_deviation_factor");
    assert_eq!(of("value") as i64, (scores * factors).round() as i64);
    let share = |today: &str, past: &str| 100.0 * (of(today) / of(past) - 1.0);
    assert!((of("avg_hrv_delta") - share("avg_rmssd_today", "avg_rmssd_past_60_days")).abs() < 0.01);
    assert!((of("resting_bpm_delta") - share("resting_bpm_today", "resting_bpm_past_60_days")).abs() < 0.01);
    assert!((of("avg_hrv_delta_factor") - (1.0 + of("avg_hrv_delta") / 100.0)).abs() < 0.001);
    let deviation = of("avg_temperature_today") - of("avg_temperature_past_7_days");
    assert!((of("temperature_deviation") - deviation).abs() < 0.01);
}

#[test]
fn zones_add_up_and_fit_the_slots_that_have_a_heart_rate() {
    let of = |name: &str| example(Section::HeartRate, name);
    let zones = ["max_time", "performance_time", "endurance_time", "fat_burn_time", "warm_up_time", "rest_time"];
    assert_eq!(of("all_time") as i64, zones.into_iter().map(of).sum::<f64>() as i64);
    // Half a slot more for the rounding of the share.
    assert!(of("all_time") <= of("daily_percent") / 100.0 * 86_400.0 + 150.0);
    assert!(of("rest_daily_heart_rate") <= of("avg_daily_heart_rate"));
    assert!(of("avg_daily_heart_rate") <= of("max_daily_heart_rate"));
}
