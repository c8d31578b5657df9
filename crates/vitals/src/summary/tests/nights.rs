//! Nights: from stages of sleep to the section of the day.

use super::super::units::Seconds;
use super::super::{DayFacts, DaySource, FactsByDay, Nights, Profile, SleepSection, SummarySettings};
use super::block;
use crate::cells::Day;
use crate::registry::{DataType, NULL};
use crate::zone::LocalDay;

/// Facts of the days of some stages, in a zone.
fn facts_of_stages(times_us: Vec<i64>, states: Vec<i32>, zone: &str) -> FactsByDay {
    let rows = block(DataType::Sleep, times_us, zone, &[("sleep_state", states)]);
    let mut days: std::collections::BTreeMap<LocalDay, Day> = std::collections::BTreeMap::new();
    for (date, cells) in crate::cells::stage_cells(&rows) {
        days.entry(date).or_default().stages.replace(i64::MIN..i64::MAX, cells);
        days.entry(LocalDay(date.0 + 1)).or_default();
    }
    let (empty, profile, settings) = (Day::default(), Profile::default(), SummarySettings::default());
    let facts = |(date, cells): (&LocalDay, &Day)| {
        let before = days.get(&LocalDay(date.0 - 1)).unwrap_or(&empty);
        let source = DaySource { day: *date, slot_count: 288, cells, before, profile: &profile, settings: &settings };
        (*date, DayFacts::of(&source, &Nights::of(&source)))
    };
    days.iter().map(facts).collect()
}

#[test]
fn nights_of_a_clock_change_lose_or_gain_no_sleep() {
    // Eight hours of light sleep across the change of 2026: in spring from 22:00 to 7:00, in autumn to 5:00.
    for (start, date, from, to) in [
        ("2026-03-28T21:00:00Z", "2026-03-29", "2026-03-28T22:00:00+01:00", "2026-03-29T07:00:00+02:00"),
        ("2026-10-24T20:00:00Z", "2026-10-25", "2026-10-24T22:00:00+02:00", "2026-10-25T05:00:00+01:00"),
    ] {
        let start_us = start.parse::<jiff::Timestamp>().unwrap().as_microsecond();
        let times_us = (0..960).map(|epoch| start_us + epoch * 30_000_000).collect();
        let facts = facts_of_stages(times_us, vec![1; 960], "Europe/Zurich");
        let date = LocalDay::parse(date).unwrap();
        let section = SleepSection::of_stages(date, &facts).unwrap();
        assert_eq!(
            (section.sleep_duration, section.awake_time, section.time_to_sleep),
            (Seconds(8 * 3600), Seconds(0), Seconds(0))
        );
        assert_eq!((section.start_date.to_string(), section.end_date.to_string()), (from.to_owned(), to.to_owned()));
        assert_eq!(SleepSection::of_stages(LocalDay(date.0 - 1), &facts), None);
        assert_eq!(SleepSection::of_stages(LocalDay(date.0 + 1), &facts), None);
        assert_eq!(DayFacts::unpack(&facts[&date].pack()), Some(facts[&date]));
    }
}

#[test]
fn the_hours_between_two_nights_are_no_stretch_awake() {
    // Two nights from 22:00 to 6:15, each with ten minutes awake before the sleep and five after it.
    let evening_us = "2026-06-01T22:00:00Z".parse::<jiff::Timestamp>().unwrap().as_microsecond();
    let states = [vec![0; 20], vec![1; 960], vec![0; 10]].concat();
    let of_night = |night: i64| (0..990).map(move |epoch| evening_us + night * 86_400_000_000 + epoch * 30_000_000);
    let facts = facts_of_stages(of_night(0).chain(of_night(1)).collect(), states.repeat(2), "UTC");
    for date in ["2026-06-02", "2026-06-03"] {
        let night = SleepSection::of_stages(LocalDay::parse(date).unwrap(), &facts).unwrap();
        assert_eq!(
            (night.time_to_sleep, night.time_to_wake_up, night.awake_time),
            (Seconds(600), Seconds(300), Seconds(900)),
            "{date}"
        );
    }
}

#[test]
fn an_evening_asleep_belongs_to_the_next_sleep_day() {
    let evening_us = "2026-06-01T18:00:00Z".parse::<jiff::Timestamp>().unwrap().as_microsecond();
    let facts = facts_of_stages((0..60).map(|epoch| evening_us + epoch * 30_000_000).collect(), vec![2; 60], "UTC");
    let date = LocalDay::parse("2026-06-01").unwrap();
    assert_eq!(SleepSection::of_stages(date, &facts), None);
    let night = SleepSection::of_stages(LocalDay(date.0 + 1), &facts).unwrap();
    assert_eq!((night.deep_time, night.consistency), (Some(Seconds(1800)), None));
    assert!(DayFacts::unpack(&[]).is_none() && DayFacts::default().pack().is_empty());
}

proptest::proptest! {
    #[test]
    fn any_stages_give_sums_that_fit_their_session(
        states in proptest::collection::vec(-1..4_i32, 1..400), step_s in 1..4000_i64,
    ) {
        let start_us = 1_763_500_000_000_000;
        let times_us: Vec<i64> = (0..states.len() as i64).map(|row| start_us + row * step_s * 1_000_000).collect();
        let states = states.into_iter().map(|state| if state < 0 { NULL } else { state }).collect();
        for facts in facts_of_stages(times_us, states, "Asia/Kathmandu").values() {
            let Some(night) = facts.night else { continue };
            let session = night.session;
            proptest::prop_assert!(session.start_ms <= session.onset_ms && session.offset_ms <= session.end_ms);
            proptest::prop_assert!(session.onset_ms < session.offset_ms && session.sleep_duration_s > 0);
            proptest::prop_assert!(night.all_sleep_s >= session.sleep_duration_s);
            let stages = session.stages.unwrap();
            proptest::prop_assert_eq!(stages.rem_s + stages.light_s + stages.deep_s, session.sleep_duration_s);
            proptest::prop_assert!((0.0..1440.0).contains(&night.mid_sleep_minute()));
            proptest::prop_assert_eq!(DayFacts::unpack(&facts.pack()), Some(*facts));
        }
    }
}
