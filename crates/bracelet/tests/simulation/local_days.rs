//! Local days of zones whose clocks change, and what stays the same whatever is asked for.

use bracelet::{
    BraceletError, Cast, Course, DataType, DayPlan, HOUR_MS, MINUTE_MS, Patient, Scenario, SignalRates, SyncBody,
    Truth, Window,
};
use jiff::ToSpan as _;
use jiff::civil::{Date, date};

use crate::common::{DAY_MS, MIDNIGHT_MS, patient};

/// Zones with a day on which their clocks change, and how many minutes it lasts.
const CHANGES: [(&str, Date, i64); 6] = [
    ("Europe/Zurich", date(2026, 3, 29), 23 * 60),
    ("Europe/Zurich", date(2026, 10, 25), 25 * 60),
    ("America/New_York", date(2026, 3, 8), 23 * 60),
    ("America/New_York", date(2026, 11, 1), 25 * 60),
    ("Australia/Lord_Howe", date(2026, 10, 4), 23 * 60 + 30),
    ("Australia/Lord_Howe", date(2026, 4, 5), 24 * 60 + 30),
];

fn living_in(zone: &str, index: u64) -> Patient {
    Patient::new(83, index, Scenario::Healthy, 0, zone).unwrap()
}

fn json(patient: &Patient, window: Window, types: &[DataType]) -> Vec<u8> {
    SyncBody::new(patient, window, types, &SignalRates::default()).unwrap().to_json().unwrap()
}

#[test]
fn truth_of_such_a_day_has_a_row_for_each_of_its_minutes() {
    for (zone, day, minutes) in CHANGES {
        for index in 0..2 {
            let patient = living_in(zone, index);
            let truth = Truth::new(&patient, day, i64::MAX).unwrap();
            assert_eq!(truth.end_ms - truth.start_ms, minutes * MINUTE_MS, "{zone} {day}");
            assert_eq!(truth.activity_rows as i64, minutes, "{zone} {day}");
            let charging = (truth.activity_rows - truth.worn_minutes) as i64;
            assert!((40..65).contains(&charging), "{zone} {day}: {charging} minutes off the wrist");
            let sleep_h = truth.sleep.sleep_duration_s as f64 / 3_600.0;
            assert!((4.0..10.0).contains(&sleep_h), "{zone} {day}: {sleep_h} h of sleep");
        }
    }
}

#[test]
fn days_around_a_change_add_up_to_what_is_uploaded() {
    for (zone, day, _) in CHANGES {
        let patient = living_in(zone, 3);
        let days = [day.yesterday().unwrap(), day, day.tomorrow().unwrap()];
        let truths = days.map(|day| Truth::new(&patient, day, i64::MAX).unwrap());
        assert!(truths.windows(2).all(|pair| pair[0].end_ms == pair[1].start_ms), "{zone} {day}");
        let window = Window::new(truths[0].start_ms, truths[2].end_ms);
        let body = SyncBody::new(&patient, window, &[DataType::Activity], &SignalRates::default()).unwrap();
        assert_eq!(body.row_count(), truths.iter().map(|truth| truth.activity_rows).sum::<usize>(), "{zone} {day}");
        // Nights lie apart, and each is as long as its own begin and end say.
        for pair in truths.windows(2) {
            assert!(pair[0].sleep.end_ms < pair[1].sleep.start_ms, "{zone} {day}");
        }
        for sleep in truths.iter().map(|truth| &truth.sleep) {
            assert_eq!(sleep.awake_s + sleep.sleep_duration_s, (sleep.end_ms - sleep.start_ms) / 1_000, "{zone} {day}");
        }
    }
}

#[test]
fn nobody_jumps_at_a_midnight_or_at_a_change() {
    for (zone, day, _) in CHANGES {
        let patient = living_in(zone, 5);
        let plan = DayPlan::new(&patient, day).unwrap();
        let course = Course::new(&patient, plan.start_ms - HOUR_MS, plan.end_ms + HOUR_MS).unwrap();
        let minutes: Vec<_> = ((plan.start_ms - HOUR_MS) / MINUTE_MS..(plan.end_ms + HOUR_MS) / MINUTE_MS)
            .map(|number| course.minute(number))
            .collect();
        for pair in minutes.windows(2) {
            let at = format!("{zone} {day} at {}", pair[1].start_ms);
            let core = (pair[1].core_temp_c - pair[0].core_temp_c).abs();
            assert!(core < 0.06, "{at}: {core} °C");
            let battery = pair[0].battery_percent - pair[1].battery_percent;
            assert!(battery < 0.2, "{at}: the battery falls by {battery} %");
        }
    }
}

#[test]
fn truth_of_a_running_day_ends_where_the_data_end() {
    let patient = patient(2, Scenario::Healthy);
    let day = date(2025, 11, 20);
    let whole = Truth::new(&patient, day, i64::MAX).unwrap();
    let mut before: Option<Truth> = None;
    for hour in [1, 5, 9, 14, 24] {
        let until_ms = MIDNIGHT_MS + hour * HOUR_MS;
        let truth = Truth::new(&patient, day, until_ms).unwrap();
        assert_eq!((truth.activity_rows as i64, truth.end_ms), (hour * 60, until_ms));
        if let Some(before) = before {
            assert!(before.total_steps <= truth.total_steps && before.energy_kcal < truth.energy_kcal, "{hour}");
            assert!(before.sleep.sleep_duration_s <= truth.sleep.sleep_duration_s, "{hour}");
        }
        before = Some(truth);
    }
    assert_eq!(before, Some(whole), "all of the day is the day");
}

#[test]
fn a_sync_is_known_by_what_it_holds() {
    let window = Window::new(MIDNIGHT_MS, MIDNIGHT_MS + 10 * MINUTE_MS);
    let id = |patient: &Patient, window: Window, types: &[DataType], rates: &SignalRates| {
        SyncBody::new(patient, window, types, rates).unwrap().sync_id
    };
    let rates = SignalRates::default();
    let healthy = patient(0, Scenario::Healthy);
    let types = [DataType::Activity, DataType::Acc];
    let first = id(&healthy, window, &types, &rates);
    assert_eq!(first, id(&patient(0, Scenario::Healthy), window, &types, &rates));
    let twisted = [DataType::Acc, DataType::Activity, DataType::Acc];
    assert_eq!(first, id(&healthy, window, &twisted, &rates), "the order of the types is no content");
    let later = Window::new(window.from_ms, window.to_ms + 1_000);
    let faster = SignalRates { acc_hz: 64, ..rates };
    let others = [
        id(&patient(1, Scenario::Healthy), window, &types, &rates),
        id(&patient(0, Scenario::NotWorn), window, &types, &rates),
        id(&living_in("UTC", 0), window, &types, &rates),
        id(&living_in("Europe/Zurich", 0), window, &types, &rates),
        id(&healthy, later, &types, &rates),
        id(&healthy, window, &types[..1], &rates),
        id(&healthy, window, &types, &faster),
    ];
    for (at, other) in others.iter().enumerate() {
        assert!(*other != first && others[..at].iter().all(|earlier| earlier != other), "{at}");
    }
}

#[test]
fn what_is_only_late_or_doubled_is_the_same_data() {
    let window = Window::new(MIDNIGHT_MS - HOUR_MS, MIDNIGHT_MS + 8 * HOUR_MS);
    let data = |scenario: Scenario| {
        let text = json(&patient(4, scenario), window, &DataType::VITALS);
        serde_json::from_slice::<serde_json::Value>(&text).unwrap()["data"].clone()
    };
    let healthy = data(Scenario::Healthy);
    for scenario in [Scenario::LateSync, Scenario::DuplicateSync] {
        assert_eq!(data(scenario), healthy, "{scenario}");
    }
    for scenario in [Scenario::Deteriorating, Scenario::AtrialFibrillation, Scenario::NotWorn, Scenario::Charging] {
        assert_ne!(data(scenario), healthy, "{scenario}");
    }
}

#[test]
fn before_its_onset_every_scenario_is_that_of_a_healthy_twin() {
    let before = Window::new(MIDNIGHT_MS - DAY_MS / 2, MIDNIGHT_MS - HOUR_MS);
    for scenario in Scenario::ALL {
        let (reported, twin) = (patient(6, scenario), patient(6, Scenario::Healthy));
        let course = |patient| Course::new(patient, before.from_ms, before.to_ms).unwrap();
        let (of_reported, of_twin) = (course(&reported), course(&twin));
        for minute in before.from_ms / MINUTE_MS..before.to_ms / MINUTE_MS {
            assert_eq!(of_reported.minute(minute), of_twin.minute(minute), "{scenario} {minute}");
        }
    }
}

#[test]
fn courses_of_every_window_agree_on_what_they_share() {
    let patient = living_in("Europe/Zurich", 1);
    let plan = DayPlan::new(&patient, date(2026, 10, 26)).unwrap();
    let whole = Course::new(&patient, plan.start_ms - 3 * DAY_MS, plan.end_ms + 3 * DAY_MS).unwrap();
    // Each window begins at another hour around the end of the day with 25 hours.
    for hour in -3..4 {
        let from_ms = plan.start_ms + hour * HOUR_MS + 30 * MINUTE_MS;
        let course = Course::new(&patient, from_ms, from_ms + HOUR_MS).unwrap();
        for minute in (from_ms - HOUR_MS) / MINUTE_MS..(from_ms + 2 * HOUR_MS) / MINUTE_MS {
            assert_eq!(course.minute(minute), whole.minute(minute), "{hour} {minute}");
        }
    }
}

#[test]
fn what_no_calendar_has_is_an_error_and_what_nobody_knows_is_named() {
    let patient = patient(0, Scenario::Healthy);
    for at_ms in [i64::MAX / 2, i64::MIN / 2] {
        let error = Course::new(&patient, at_ms, at_ms).unwrap_err();
        assert!(matches!(error, BraceletError::TimeOutOfRange(_)), "{error}");
    }
    let last = Date::MAX;
    assert!(matches!(Truth::new(&patient, last, i64::MAX), Err(BraceletError::TimeOutOfRange(_))));
    assert!(matches!(DayPlan::new(&patient, Date::MIN), Err(BraceletError::TimeOutOfRange(_))));
    let error = Patient::new(1, 0, Scenario::Healthy, 0, "Europe/Atlantis").unwrap_err();
    assert_eq!(error.to_string(), "unknown time zone `Europe/Atlantis`");
    let error = "mood".parse::<DataType>().unwrap_err().to_string();
    assert!(error.starts_with("unknown data type `mood`") && error.contains("rr-interval"), "{error}");
    let error = "Mixed".parse::<Cast>().unwrap_err().to_string();
    assert!(error.starts_with("unknown scenario `Mixed`") && error.ends_with("mixed"), "{error}");
}

#[test]
fn people_live_on_over_years() {
    // Every third month of five years: leap days, turns of years, both changes of clocks.
    let patient = living_in("America/St_Johns", 2);
    let mut day = date(2023, 12, 31);
    while day.year() < 2029 {
        let truth = Truth::new(&patient, day, i64::MAX).unwrap();
        assert_eq!(truth.activity_rows as i64 * MINUTE_MS, truth.end_ms - truth.start_ms, "{day}");
        let rate = truth.avg_daily_heart_rate.unwrap();
        assert!((45.0..110.0).contains(&rate) && truth.total_steps > 1_000, "{day}: {rate} {}", truth.total_steps);
        day = day.checked_add(91.days()).unwrap();
    }
}
