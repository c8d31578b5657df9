//! Local time against the calendar library asked directly, and against arithmetic by hand.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZoneDatabase;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::zone::{DAY_US, LocalClock, LocalDay, SECOND_US, WINDOW_US, ZoneName, ZoneRuns, known_zone, timestamp_of};

/// With summer time, without, on half and quarter hours, on both sides of the date line, with a changed date line.
const ZONES: [&str; 10] = [
    "UTC",
    "Europe/Zurich",
    "America/New_York",
    "America/St_Johns",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Pacific/Chatham",
    "Pacific/Apia",
    "Africa/Casablanca",
    "Pacific/Kiritimati",
];

const HOUR_US: i64 = 3600 * SECOND_US;

fn us(text: &str) -> i64 {
    text.parse::<Timestamp>().unwrap().as_microsecond()
}

fn any_zone() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(ZONES.to_vec())
}

/// Times of the years 2000 to 2040.
fn any_time_us() -> std::ops::Range<i64> {
    946_684_800_000_000..2_208_988_800_000_000
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// A clock keeps the span of its last answer; jumping to and fro must not make it answer from the wrong one.
    #[test]
    fn a_clock_says_what_the_calendar_says(zone in any_zone(), times_us in vec(any_time_us(), 1..20)) {
        let time_zone = TimeZoneDatabase::bundled().get(zone).unwrap();
        let mut clock = LocalClock::new(zone);
        for time_us in times_us {
            let offset = time_zone.to_offset(timestamp_of(time_us));
            prop_assert_eq!(clock.offset_seconds(time_us), offset.seconds());
            let local = offset.to_datetime(timestamp_of(time_us));
            prop_assert_eq!(clock.day(time_us), LocalDay::from_date(local.date()));
            let midnight = local.date().at(0, 0, 0, 0);
            let since_midnight_us = local.duration_since(midnight).as_micros() as i64;
            prop_assert_eq!(clock.local_us(time_us).rem_euclid(DAY_US), since_midnight_us);
        }
    }

    /// Days of a zone follow each other without gap or overlap, and every instant lies in the day that its clock shows.
    #[test]
    fn days_tile_the_time_line(zone in any_zone(), day in 10_958_i32..25_567) {
        let clock = LocalClock::new(zone);
        let day = LocalDay(day);
        let (start_us, end_us) = day.span_us(&clock);
        prop_assert_eq!(LocalDay(day.0 + 1).span_us(&clock).0, end_us);
        prop_assert_eq!(i64::from(day.slot_count(&clock)) * WINDOW_US, end_us - start_us);
        let mut asking = clock.clone();
        if end_us > start_us {
            for time_us in [start_us, i64::midpoint(start_us, end_us), end_us - 1] {
                prop_assert_eq!(asking.day(time_us), day);
            }
            prop_assert!(asking.day(start_us - 1) < day && asking.day(end_us) > day);
        }
    }

    /// The days of the civil calendar by Howard Hinnant's arithmetic, which knows no library.
    #[test]
    fn dates_are_counted_as_by_hand(year in 1900_i16..2200, month in 1_i8..=12, day in 1_i8..=28) {
        let shifted = i64::from(year) - i64::from(month <= 2);
        let era = shifted.div_euclid(400);
        let of_era = shifted - era * 400;
        let of_year = (153 * (i64::from(month) + if month > 2 { -3 } else { 9 }) + 2) / 5 + i64::from(day) - 1;
        let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
        let date = Date::new(year, month, day).unwrap();
        prop_assert_eq!(i64::from(LocalDay::from_date(date).0), days);
        prop_assert_eq!(LocalDay(days as i32).date(), date);
        prop_assert_eq!(LocalDay::parse(&format!("{year:04}-{month:02}-{day:02}")), Some(LocalDay(days as i32)));
    }

    #[test]
    fn any_text_is_a_day_only_in_the_form_that_it_is_written_in(text in "[0-9-]{8,11}") {
        if let Some(day) = LocalDay::parse(&text) {
            prop_assert_eq!(day.to_string(), text);
        }
    }

    #[test]
    fn a_day_is_read_from_json_as_it_was_written(day in -700_000_i32..2_000_000) {
        let json = serde_json::to_string(&LocalDay(day)).unwrap();
        prop_assert_eq!(serde_json::from_str::<LocalDay>(&json).unwrap(), LocalDay(day));
    }

    /// Runs against a list with a zone for each row.
    #[test]
    fn runs_of_zones_are_a_short_form_of_a_list(
        pushed in vec((0_usize..3, 0_usize..4), 0..12), from in 0_usize..30, to in 0_usize..30,
    ) {
        let names: Vec<ZoneName> = ZONES[..3].iter().map(|name| (*name).into()).collect();
        let (mut runs, mut list) = (ZoneRuns::default(), Vec::new());
        for (name, rows) in pushed {
            runs.push(names[name].clone(), rows);
            list.extend(std::iter::repeat_n(names[name].clone(), rows));
        }
        prop_assert_eq!(runs.rows() as usize, list.len());
        for (row, name) in list.iter().enumerate() {
            prop_assert_eq!(runs.zone_of(row), name);
            let (end, of_run) = runs.run_of(row);
            prop_assert!(of_run == name && list[row..end].iter().all(|other| other == name));
            prop_assert!(end == list.len() || list[end] != *name, "a run ends where the zone does");
        }
        let flat: Vec<ZoneName> = runs.iter().flat_map(|(rows, name)| vec![name.clone(); rows.len()]).collect();
        prop_assert_eq!(&flat, &list);
        let (from, to) = (from.min(to).min(list.len()), from.max(to).min(list.len()));
        let part: Vec<ZoneName> = runs.slice(from..to).iter().flat_map(|(rows, name)| vec![name.clone(); rows.len()]).collect();
        prop_assert_eq!(part, list[from..to].to_vec());
    }
}

#[test]
fn a_time_in_a_gap_is_the_one_after_it_and_in_an_hour_that_comes_twice_the_first() {
    let zurich = LocalClock::new("Europe/Zurich");
    let at = |text: &str| zurich.time_us_of(text.parse().unwrap()).unwrap();
    for (local, utc) in [
        ("2026-03-29T01:59:59", "2026-03-29T00:59:59Z"),
        ("2026-03-29T02:30:00", "2026-03-29T01:30:00Z"),
        ("2026-03-29T03:00:00", "2026-03-29T01:00:00Z"),
        ("2026-10-25T02:30:00", "2026-10-25T00:30:00Z"),
        ("2026-10-25T03:00:00", "2026-10-25T02:00:00Z"),
    ] {
        assert_eq!(at(local), us(utc), "{local}");
    }
}

#[test]
fn days_of_clock_changes_have_their_own_length() {
    let slots = |zone: &str, date: &str| LocalDay::parse(date).unwrap().slot_count(&LocalClock::new(zone));
    for (zone, date, count) in [
        ("UTC", "2024-02-29", 288),
        ("Europe/Zurich", "2024-03-31", 276),
        ("Europe/Zurich", "2024-10-27", 300),
        ("America/New_York", "2026-03-08", 276),
        ("America/New_York", "2026-11-01", 300),
        ("Australia/Lord_Howe", "2026-04-05", 294),
        ("Australia/Lord_Howe", "2026-10-04", 282),
        ("Pacific/Chatham", "2026-04-05", 300),
        ("Pacific/Chatham", "2026-09-27", 276),
        ("Asia/Kathmandu", "2026-03-29", 288),
        // Samoa went over the date line and had no such Friday.
        ("Pacific/Apia", "2011-12-29", 288),
        ("Pacific/Apia", "2011-12-30", 0),
        ("Pacific/Apia", "2011-12-31", 288),
    ] {
        assert_eq!(slots(zone, date), count, "{zone} {date}");
    }
}

#[test]
fn midnight_that_a_clock_change_skips_belongs_to_the_new_day() {
    // Beirut and Asunción changed their clocks at midnight: the day begins at one.
    for (zone, date, first) in [
        ("Asia/Beirut", "2024-03-31", "2024-03-30T22:00:00Z"),
        ("America/Asuncion", "2023-10-01", "2023-10-01T04:00:00Z"),
    ] {
        let clock = LocalClock::new(zone);
        let day = LocalDay::parse(date).unwrap();
        let (start_us, end_us) = day.span_us(&clock);
        assert_eq!((start_us, end_us - start_us), (us(first), 23 * HOUR_US), "{zone}");
        let mut asking = clock.clone();
        assert_eq!((asking.day(start_us - 1), asking.day(start_us)), (LocalDay(day.0 - 1), day), "{zone}");
    }
}

#[test]
fn leap_days_are_days() {
    for (text, exists) in [
        ("2024-02-29", true),
        ("2023-02-29", false),
        ("2000-02-29", true),
        ("2100-02-29", false),
        ("2026-04-31", false),
    ] {
        assert_eq!(LocalDay::parse(text).is_some(), exists, "{text}");
    }
    assert_eq!(LocalDay::parse("2024-03-01").unwrap().0 - LocalDay::parse("2024-02-28").unwrap().0, 2);
}

#[test]
fn unknown_zones_are_known_to_be_unknown_and_read_as_utc() {
    for name in ["", "Mars/Olympus", "Europe/Zurich ", "zürich", "+01:00"] {
        assert_eq!(known_zone(name), None, "{name}");
    }
    assert!(ZONES.into_iter().all(|name| known_zone(name) == Some(name)));
    assert_eq!(LocalClock::new("Mars/Olympus").offset_seconds(us("2026-07-01T00:00:00Z")), 0);
}

#[test]
fn times_beyond_the_calendar_are_its_ends() {
    assert_eq!(timestamp_of(i64::MAX), Timestamp::MAX);
    assert_eq!(timestamp_of(i64::MIN), Timestamp::MIN);
    assert_eq!(timestamp_of(-1).as_microsecond(), -1);
}
