//! Versions of profiles, and the spans that follow from them.

use super::scene::*;
use crate::alarms::*;

fn profile(valid_from_ms: i64, rules: &[Rule]) -> Version<Profile> {
    Version { valid_from_ms, value: Profile { builtin: None, rules: rules.to_vec() } }
}

fn patient(valid_from_ms: i64, rules: &[Rule]) -> Version<Vec<Rule>> {
    Version { valid_from_ms, value: rules.to_vec() }
}

/// Rule, threshold, beginning and end of a span.
type Shown<'span> = (&'span str, f64, i64, Option<(i64, Ending)>);

fn shown(spans: &[Span]) -> Vec<Shown<'_>> {
    spans.iter().map(|span| (&*span.rule.id, span.rule.below.unwrap_or(0.0), span.from_ms, span.until)).collect()
}

fn named(id: &str, below: f64) -> Rule {
    Rule { id: id.to_owned(), below: Some(below), ..below_90(0) }
}

#[test]
fn change_of_one_rule_is_no_change_of_another() {
    let study =
        [profile(10, &[named("a", 90.0), named("b", 80.0)]), profile(20, &[named("a", 90.0), named("b", 85.0)])];
    let expected = [("a", 90.0, 10, None), ("b", 80.0, 10, Some((20, Ending::RuleChanged))), ("b", 85.0, 20, None)];
    assert_eq!(shown(&spans(&study, &[])), expected);
}

#[test]
fn rule_that_is_removed_or_disabled_ends_and_begins_again_later() {
    let disabled = Rule { enabled: false, ..named("b", 80.0) };
    let both = [named("a", 90.0), named("b", 80.0)];
    let study = [profile(10, &both), profile(20, &[disabled]), profile(30, &both)];
    let removed = Some((20, Ending::RuleRemoved));
    let expected = [("a", 90.0, 10, removed), ("b", 80.0, 10, removed), ("a", 90.0, 30, None), ("b", 80.0, 30, None)];
    assert_eq!(shown(&spans(&study, &[])), expected);
}

#[test]
fn rules_of_a_patient_replace_those_with_their_id_and_add_others() {
    let study = [profile(10, &[named("a", 90.0), named("b", 80.0)])];
    let own = [patient(20, &[named("b", 70.0), named("c", 60.0)]), patient(30, &[])];
    let expected = [
        ("a", 90.0, 10, None),
        ("b", 80.0, 10, Some((20, Ending::RuleChanged))),
        ("b", 70.0, 20, Some((30, Ending::RuleChanged))),
        ("c", 60.0, 20, Some((30, Ending::RuleRemoved))),
        ("b", 80.0, 30, None),
    ];
    assert_eq!(shown(&spans(&study, &own)), expected);
    let off = [patient(20, &[Rule { enabled: false, ..named("a", 90.0) }])];
    let removed = spans(&study, &off).into_iter().find(|span| span.rule.id == "a").unwrap();
    assert_eq!(removed.until, Some((20, Ending::RuleRemoved)), "switched off for one patient");
}

#[test]
fn new_name_is_no_change_and_a_new_priority_is_one() {
    let renamed = Rule { name: "Saturation".to_owned(), ..named("a", 90.0) };
    let lower = Rule { priority: Priority::Low, ..renamed.clone() };
    let spans = spans(&[profile(10, &[named("a", 90.0)]), profile(20, &[renamed]), profile(30, &[lower])], &[]);
    assert_eq!(shown(&spans), [("a", 90.0, 10, Some((30, Ending::RuleChanged))), ("a", 90.0, 30, None)]);
    assert_eq!(spans[0].rule.name, "Saturation");
}

#[test]
fn builtin_profile_is_a_rule_that_a_patient_can_replace() {
    let value = Profile { builtin: Some(Builtin::News2), rules: vec![named("a", 90.0)] };
    let study = [Version { valid_from_ms: 10, value }, profile(40, &[named("a", 90.0)])];
    let own = Rule { id: "news2".to_owned(), above: Some(6.0), ..Rule::on(Signal::NewsScore, Priority::High) };
    let found = spans(&study, &[patient(20, &[own]), patient(30, &[])]);
    let of_builtin: Vec<_> = found.iter().filter(|span| span.rule.id == "news2").collect();
    let expected = [
        (Signal::NewsLevels, 10, Some((20, Ending::RuleChanged))),
        (Signal::NewsScore, 20, Some((30, Ending::RuleChanged))),
        (Signal::NewsLevels, 30, Some((40, Ending::RuleRemoved))),
    ];
    assert_eq!(
        of_builtin.iter().map(|span| (span.rule.signal, span.from_ms, span.until)).collect::<Vec<_>>(),
        expected
    );
}

#[test]
fn of_versions_of_one_millisecond_the_last_is_valid() {
    let study = [profile(10, &[named("a", 90.0)]), profile(10, &[named("a", 88.0)])];
    assert_eq!(shown(&spans(&study, &[])), [("a", 88.0, 10, None)]);
}

#[test]
fn changed_threshold_judges_again_from_its_validity() {
    let minute = |minute: i64| minute * MINUTE_MS;
    let for_two = |below| Rule { for_s: 120, ..named("a", below) };
    let spans = spans(&[profile(0, &[for_two(90.0)]), profile(minute(6), &[for_two(92.0)])], &[]);
    let samples = each_minute(&[88.0; 10]);
    let found: Vec<Episode> = spans.iter().flat_map(|span| episodes(span, &samples)).collect();
    // The old one ends with its rule; the new rule counts from its own beginning.
    assert_eq!(times(&found), [(1, 3, Some((6, Ending::RuleChanged))), (6, 8, None)]);
    assert_eq!(found.iter().map(|episode| episode.id.rule_version_ms).collect::<Vec<_>>(), [0, minute(6)]);
}
