//! Each rule of refinements 62, 63 and 70 of the specification, by an example.

use super::scene::*;
use crate::alarms::*;
use crate::latest::Timed;

fn rows(pieces: &[&[Sample]]) -> Vec<Sample> {
    pieces.concat()
}

#[test]
fn thresholds_are_strict() {
    let both = Rule { above: Some(100.0), ..below_90(0) };
    let episodes = episodes(&always(both), &each_minute(&[90.0, 100.0, 89.9, 90.0, 100.1, 100.0]));
    assert_eq!(times(&episodes), [(3, 3, Some((4, Ending::Cleared))), (5, 5, Some((6, Ending::Cleared)))]);
}

#[test]
fn clear_threshold_itself_counts_as_cleared_and_less_does_not() {
    let rule = Rule { clear_below: Some(93.0), ..below_90(0) };
    let found = episodes(&always(rule.clone()), &each_minute(&[89.0, 90.0, 92.9, 89.0, 93.0, 92.0]));
    assert_eq!(times(&found), [(1, 1, Some((5, Ending::Cleared)))]);
    let above = Rule { above: Some(130.0), clear_above: Some(120.0), ..Rule::on(Signal::HeartRate, Priority::High) };
    let found = episodes(&always(above), &each_minute(&[131.0, 130.0, 120.1, 120.0]));
    assert_eq!(times(&found), [(1, 1, Some((4, Ending::Cleared)))]);
    let never_breached = episodes(&always(rule), &each_minute(&[91.0, 92.0, 90.0]));
    assert!(never_breached.is_empty(), "what is within the threshold opens nothing");
}

#[test]
fn clearing_is_judged_on_the_side_that_was_breached() {
    let both = Rule {
        below: Some(40.0),
        clear_below: Some(50.0),
        above: Some(130.0),
        clear_above: Some(110.0),
        ..Rule::on(Signal::HeartRate, Priority::High)
    };
    let slow = episodes(&always(both.clone()), &each_minute(&[35.0, 45.0, 125.0]));
    assert_eq!(times(&slow), [(1, 1, Some((3, Ending::Cleared)))]);
    let fast_after_slow = episodes(&always(both), &each_minute(&[35.0, 131.0, 125.0, 45.0, 131.0]));
    let (first, second) = ((1, 1, Some((4, Ending::Cleared))), (5, 5, None));
    assert_eq!(times(&fast_after_slow), [first, second]);
}

#[test]
fn breach_opens_once_it_has_lasted_for_s_and_starts_with_its_first_row() {
    let found = episodes(&always(below_90(2)), &each_minute(&[88.0, 87.0, 91.0, 88.0, 86.0, 87.0, 91.0]));
    assert_eq!(times(&found), [(4, 6, Some((7, Ending::Cleared)))]);
    let extreme = found[0].extreme.unwrap();
    assert_eq!((extreme.value, extreme.timestamp_ms), (86.0, 5 * MINUTE_MS), "before it opened, and part of it");
    assert_eq!(found[0].id.to_string(), "spo2.0.240000");
}

#[test]
fn recovery_closes_once_it_has_lasted_clear_for_s() {
    let rule = Rule { clear_for_s: 120, ..below_90(0) };
    let found = episodes(&always(rule.clone()), &each_minute(&[88.0, 95.0, 95.0, 88.0, 95.0, 95.0, 95.0, 88.0]));
    assert_eq!(times(&found), [(1, 1, Some((7, Ending::Cleared))), (8, 8, None)]);
    let hysteresis = Rule { clear_below: Some(94.0), ..rule };
    let found = episodes(&always(hysteresis), &each_minute(&[88.0, 95.0, 92.0, 95.0, 95.0, 95.0]));
    assert_eq!(times(&found), [(1, 1, Some((6, Ending::Cleared)))], "92 is not cleared and restarts the count");
}

#[test]
fn states_follow_each_other() {
    let span = always(Rule { clear_for_s: 60, ..below_90(1) });
    let mut judgement = Judgement::default();
    let expected = [State::Normal, State::Pending, State::Active, State::Recovering, State::Active, State::Recovering];
    let samples = each_minute(&[95.0, 88.0, 88.0, 95.0, 88.0, 95.0, 95.0]);
    for (sample, state) in samples.iter().zip(expected) {
        assert!(judgement.judge(&span, &[*sample]).is_empty());
        assert_eq!(judgement.at(&span, sample.time_ms).state, state, "{sample:?}");
    }
    assert_eq!(judgement.judge(&span, &samples).len(), 1, "rows that were taken before are left out");
    assert_eq!(judgement.at(&span, 7 * MINUTE_MS).state, State::Normal);
    let later = judgement.at(&span, 13 * MINUTE_MS);
    assert_eq!((later.state, later.unknown_since), (State::Unknown, Some((7 * MINUTE_MS, Reason::NoData))));
    let before_any_row = Judgement::default().at(&span, 6 * MINUTE_MS);
    assert_eq!((before_any_row.state, before_any_row.episode), (State::Unknown, None));
}

#[test]
fn gap_of_five_minutes_counts_and_a_longer_one_restarts_for_s() {
    for (gap, expected) in [(5, Some((1, 6))), (6, None)] {
        let found = episodes(&always(below_90(2)), &[value(1, 88.0), value(1 + gap, 88.0)]);
        assert_eq!(times(&found).first().map(|(start, opened, _)| (*start, *opened)), expected, "{gap} min");
    }
    let pressure = Rule { signal: Signal::NibpSystolic, ..below_90(30) };
    for (gap, is_open) in [(60, true), (61, false)] {
        let found = episodes(&always(pressure.clone()), &[value(1, 88.0), value(1 + gap, 88.0)]);
        assert_eq!(!found.is_empty(), is_open, "a pressure is measured each 30 min: {gap} min");
    }
}

#[test]
fn gap_restarts_clear_for_s_and_leaves_the_episode_open() {
    let rule = Rule { clear_for_s: 120, ..below_90(0) };
    let samples = [value(1, 88.0), value(2, 95.0), value(3, 95.0), value(9, 95.0), value(10, 95.0), value(11, 95.0)];
    let found = episodes(&always(rule), &samples);
    assert_eq!(times(&found), [(1, 1, Some((11, Ending::Cleared)))]);
    assert_eq!(unknowns(&found[0]), [(3, Some(9), Reason::NoData)]);
}

#[test]
fn quality_below_that_of_the_rule_is_unknown_and_one_not_given_is_good() {
    let with = |quality| move |minute| reading(minute, Reading::Value(88.0, quality));
    for (min_quality, quality, is_open) in
        [(2, Some(1), false), (2, Some(2), true), (2, None, true), (1, Some(1), true), (4, Some(3), false)]
    {
        let rule = Rule { min_quality, ..below_90(0) };
        let found = episodes(&always(rule), &[with(quality)(1)]);
        assert_eq!(!found.is_empty(), is_open, "{min_quality} {quality:?}");
    }
    let poor_recovery = [value(1, 88.0), reading(2, Reading::Value(97.0, Some(1))), value(3, 88.0)];
    let found = episodes(&always(below_90(0)), &poor_recovery);
    assert_eq!(times(&found), [(1, 1, None)], "a poor value does not close");
    assert_eq!(unknowns(&found[0]), [(2, Some(3), Reason::LowQuality)]);
}

#[test]
fn bracelet_that_is_not_worn_or_charging_neither_opens_nor_closes() {
    for reason in [Reason::NotWorn, Reason::Charging, Reason::NoValue] {
        let only = [unknown(1, reason), unknown(2, reason)];
        assert!(episodes(&always(below_90(0)), &only).is_empty());
        let during = [value(1, 88.0), unknown(2, reason), unknown(3, reason), value(4, 95.0)];
        let found = episodes(&always(below_90(0)), &during);
        assert_eq!(times(&found), [(1, 1, Some((4, Ending::Cleared)))]);
        assert_eq!(unknowns(&found[0]), [(2, Some(4), reason)]);
    }
}

#[test]
fn unknown_restarts_a_pending_count() {
    let samples = [value(1, 88.0), value(2, 88.0), unknown(3, Reason::NotWorn), value(4, 88.0), value(5, 88.0)];
    assert!(episodes(&always(below_90(2)), &samples).is_empty());
    let longer = rows(&[&samples, &[value(6, 88.0)]]);
    assert_eq!(times(&episodes(&always(below_90(2)), &longer)), [(4, 6, None)]);
}

#[test]
fn unknown_rows_neither_advance_nor_restart_a_clearing_count() {
    let rule = Rule { clear_for_s: 180, ..below_90(0) };
    let begun = [value(1, 88.0), value(2, 95.0), value(3, 95.0), value(4, 95.0)];
    let off: Vec<Sample> = (5..15).map(|minute| unknown(minute, Reason::NotWorn)).collect();
    let after = [value(15, 95.0), value(16, 95.0)];
    let found = episodes(&always(rule.clone()), &rows(&[&begun, &off, &after]));
    assert_eq!(times(&found), [(1, 1, Some((16, Ending::Cleared)))], "two minutes before and one after");
    let not_yet = episodes(&always(rule), &rows(&[&begun, &off, &after[..1]]));
    assert_eq!(times(&not_yet), [(1, 1, None)]);
}

#[test]
fn episode_ends_as_not_judged_twelve_hours_after_the_last_judged_row() {
    let off: Vec<Sample> = (2..14 * HOUR).map(|minute| unknown(minute, Reason::NotWorn)).collect();
    let found = episodes(&always(below_90(0)), &rows(&[&[value(1, 88.0)], &off]));
    assert_eq!(times(&found), [(1, 1, Some((1 + 12 * HOUR, Ending::NotJudged)))]);
    assert_eq!(unknowns(&found[0]), [(2, Some(1 + 12 * HOUR), Reason::NotWorn)]);
    // The time runs from the last row that was judged, be it one of a recovery.
    let recovering = Rule { clear_for_s: 3600, ..below_90(0) };
    let found = episodes(&always(recovering), &[value(1, 88.0), value(30, 95.0), value(15 * HOUR, 88.0)]);
    assert_eq!(times(&found), [(1, 1, Some((30 + 12 * HOUR, Ending::NotJudged))), (15 * HOUR, 15 * HOUR, None)]);
    let just_before = episodes(&always(below_90(0)), &[value(1, 88.0), value(12 * HOUR, 88.0)]);
    assert_eq!(times(&just_before), [(1, 1, None)]);
}

#[test]
fn silence_ends_an_episode_for_who_asks_twelve_hours_later() {
    let span = always(below_90(0));
    let mut judgement = Judgement::default();
    assert!(judgement.judge(&span, &[value(1, 88.0)]).is_empty());
    let soon = judgement.at(&span, 6 * MINUTE_MS);
    assert_eq!((soon.state, soon.unknown_since), (State::Active, None));
    let silent = judgement.at(&span, 7 * MINUTE_MS);
    assert_eq!((silent.state, silent.unknown_since), (State::Unknown, Some((MINUTE_MS, Reason::NoData))));
    assert_eq!(unknowns(&silent.episode.unwrap()), [(1, None, Reason::NoData)]);
    let ended = judgement.at(&span, (1 + 12 * HOUR) * MINUTE_MS).episode.unwrap();
    assert_eq!(times(&[ended]), [(1, 1, Some((1 + 12 * HOUR, Ending::NotJudged)))]);
    assert_eq!(times(&[judgement.open().unwrap()]), [(1, 1, None)], "what is kept knows no clock");
}

#[test]
fn reasons_that_follow_each_other_are_kept_apart() {
    let samples = [
        value(1, 88.0),
        unknown(2, Reason::NotWorn),
        unknown(3, Reason::Charging),
        unknown(4, Reason::Charging),
        unknown(30, Reason::Charging),
        value(31, 88.0),
    ];
    let found = episodes(&always(below_90(0)), &samples);
    let expected = [
        (2, Some(3), Reason::NotWorn),
        (3, Some(4), Reason::Charging),
        (4, Some(30), Reason::NoData),
        (30, Some(31), Reason::Charging),
    ];
    assert_eq!(unknowns(&found[0]), expected);
}

#[test]
fn news_without_total_is_unknown_and_not_zero() {
    let rule = Rule { above: Some(4.0), ..Rule::on(Signal::NewsScore, Priority::Medium) };
    let samples = [news(1, None, 0), news(2, 5, 2), news(3, None, 2), news(4, 6, 2), news(5, 4, 2)];
    let found = episodes(&always(rule), &samples);
    assert_eq!(times(&found), [(2, 2, Some((5, Ending::Cleared)))]);
    assert_eq!(unknowns(&found[0]), [(3, Some(4), Reason::NoTotal)]);
    assert_eq!(found[0].extreme, Some(Timed { value: 6.0, timestamp_ms: 4 * MINUTE_MS }));
}

#[test]
fn part_of_three_opens_without_a_total_and_closes_with_one_alone() {
    let part = always(Rule::on(Signal::NewsPart, Priority::Medium));
    let samples = [news(1, None, 2), news(2, None, 3), news(3, None, 1), news(4, 2, 1)];
    let found = episodes(&part, &samples);
    // In minute 3 the part that scored 3 has become too old.
    assert_eq!(times(&found), [(2, 2, Some((4, Ending::Cleared)))]);
    assert_eq!(unknowns(&found[0]), [(3, Some(4), Reason::NoTotal)]);
}

#[test]
fn fibrillation_opens_once_its_records_have_lasted() {
    let rhythm = |minute, fibrillation| reading(minute, Reading::Rhythm { fibrillation, probability: 0.9 });
    let rule = Rule { for_s: 120, ..Rule::on(Signal::Afib, Priority::Medium) };
    let samples = [
        rhythm(1, Some(true)),
        rhythm(2, None),
        rhythm(3, Some(true)),
        rhythm(4, Some(true)),
        rhythm(5, Some(true)),
        rhythm(6, None),
        rhythm(7, Some(false)),
    ];
    let found = episodes(&always(rule), &samples);
    assert_eq!(times(&found), [(3, 5, Some((7, Ending::Cleared)))]);
    assert_eq!(unknowns(&found[0]), [(6, Some(7), Reason::NotClassified)]);
}

#[test]
fn news2_is_one_episode_whose_level_rises_and_falls() {
    let builtin = always(Builtin::News2.rule());
    let samples = [
        news(1, 0, 0),
        news(2, 2, 2),
        news(3, 3, 3),
        news(4, 5, 2),
        news(5, 8, 3),
        news(6, None, 3),
        news(7, None, 1),
        news(8, 6, 2),
        news(9, 1, 1),
        news(10, 0, 0),
    ];
    let found = episodes(&builtin, &samples);
    assert_eq!(times(&found), [(2, 2, Some((10, Ending::Cleared)))]);
    assert_eq!(levels(&found[0]), [(2, 1), (3, 2), (4, 3), (5, 4), (8, 3), (9, 1)]);
    assert_eq!(unknowns(&found[0]), [(7, Some(8), Reason::NoTotal)], "in minute 6 a part of 3 is known");
    assert_eq!(found[0].extreme, Some(Timed { value: 8.0, timestamp_ms: 5 * MINUTE_MS }));
    let priorities = [1, 2, 3, 4].map(|level| builtin.rule.priority_at(level));
    assert_eq!(priorities, [Priority::Low, Priority::Medium, Priority::Medium, Priority::High]);
}

#[test]
fn high_level_that_can_no_longer_be_judged_falls_after_twelve_hours() {
    let mut samples = vec![news(1, 8, 3)];
    samples.extend((2..13 * HOUR).map(|minute| news(minute, None, 3)));
    let found = episodes(&always(Builtin::News2.rule()), &samples);
    assert_eq!(times(&found), [(1, 1, None)], "a part of 3 is judged all the time");
    assert_eq!(levels(&found[0]), [(1, 4), (1 + 12 * HOUR, 2)]);
    samples.truncate(1);
    samples.push(news(13 * HOUR, None, 0));
    let found = episodes(&always(Builtin::News2.rule()), &samples);
    assert_eq!(times(&found), [(1, 1, Some((1 + 12 * HOUR, Ending::NotJudged)))]);
    assert_eq!(levels(&found[0]), [(1, 4)]);
}

#[test]
fn rule_that_is_removed_ends_its_episode_then() {
    let mut span = always(below_90(0));
    span.until = Some((4 * MINUTE_MS, Ending::RuleRemoved));
    let found = episodes(&span, &each_minute(&[88.0; 8]));
    assert_eq!(times(&found), [(1, 1, Some((4, Ending::RuleRemoved)))]);
    span.until = Some((20 * HOUR * MINUTE_MS, Ending::RuleRemoved));
    let found = episodes(&span, &each_minute(&[88.0]));
    assert_eq!(times(&found), [(1, 1, Some((1 + 12 * HOUR, Ending::NotJudged)))], "it had ended before");
}

#[test]
fn samples_of_another_signal_and_of_no_number_are_unknown() {
    let samples =
        [news(1, 20, 3), value(2, f64::NAN), reading(3, Reading::Rhythm { fibrillation: None, probability: 0.0 })];
    assert!(episodes(&always(below_90(0)), &samples).is_empty());
    assert!(episodes(&always(Builtin::News2.rule()), &each_minute(&[88.0])).is_empty());
}
