//! What holds for any rows: how they are cut makes no difference, and what the reach is.

use proptest::prelude::*;

use super::scene::*;
use crate::alarms::*;

/// Steps between rows in seconds: the usual one, the largest gap to the second, and silences around twelve hours.
fn step() -> impl Strategy<Value = i64> {
    prop_oneof![
        20 => Just(60),
        4 => 1_i64..200,
        2 => prop_oneof![Just(300), Just(301), Just(3_600), Just(3_601)],
        1 => prop_oneof![Just(12 * 3_600 - 60), Just(12 * 3_600), Just(12 * 3_600 + 60)],
    ]
}

fn unknown_reading() -> impl Strategy<Value = Reading> {
    prop_oneof![Just(Reading::Unknown(Reason::NotWorn)), Just(Reading::Unknown(Reason::Charging))]
}

fn value_reading() -> impl Strategy<Value = Reading> {
    let value = (0_u8..8).prop_map(|step| Reading::Value(85.0 + f64::from(step) * 2.0, Some(4)));
    let poor = (85.0..100.0).prop_map(|value| Reading::Value(value, Some(1)));
    prop_oneof![12 => value, 1 => poor, 2 => unknown_reading()]
}

fn news_reading() -> impl Strategy<Value = Reading> {
    let total = (0_u8..9, 0_u8..4).prop_map(|(total, highest_part)| Reading::News { total: Some(total), highest_part });
    let none = (0_u8..4).prop_map(|highest_part| Reading::News { total: None, highest_part });
    prop_oneof![8 => total, 4 => none, 1 => unknown_reading()]
}

fn rhythm_reading() -> impl Strategy<Value = Reading> {
    prop::option::of(any::<bool>()).prop_map(|fibrillation| Reading::Rhythm { fibrillation, probability: 0.5 })
}

/// Values that stay for a while: rows of which each is drawn alone would hardly ever fulfil a `for_s`.
fn samples(reading: impl Strategy<Value = Reading>) -> impl Strategy<Value = Vec<Sample>> {
    let run = (reading, prop::collection::vec(step(), 1..8));
    prop::collection::vec(run, 1..30).prop_map(|runs| {
        let mut time_ms = 0;
        let mut samples = Vec::new();
        for (reading, steps) in runs {
            for step in steps {
                time_ms += step * 1000;
                samples.push(Sample { time_ms, reading });
            }
        }
        samples
    })
}

fn timing() -> impl Strategy<Value = (u32, u32)> {
    let seconds = || prop_oneof![Just(0_u32), Just(60), Just(150), Just(600), Just(50_000)];
    (seconds(), seconds())
}

fn vital_rule() -> impl Strategy<Value = Rule> {
    let sides = (any::<bool>(), any::<bool>(), 0_u8..4, 0_u8..4);
    (timing(), sides, prop::bool::weighted(0.2)).prop_map(
        |((for_s, clear_for_s), (low, high, lower, upper), is_pressure)| {
            let signal = if is_pressure { Signal::NibpSystolic } else { Signal::HeartRate };
            Rule {
                below: (low || !high).then_some(89.0),
                above: high.then_some(95.0),
                clear_below: (low && lower > 0).then_some(89.0 + f64::from(lower)),
                clear_above: (high && upper > 0).then_some(95.0 - f64::from(upper)),
                for_s,
                clear_for_s,
                ..Rule::on(signal, Priority::High)
            }
        },
    )
}

fn rule_on(rule: Rule) -> impl Strategy<Value = Rule> {
    timing().prop_map(move |(for_s, clear_for_s)| Rule { for_s, clear_for_s, ..rule.clone() })
}

/// A rule of each form with rows for it; the rule may end among the rows.
fn scene() -> impl Strategy<Value = (Span, Vec<Sample>)> {
    let above_four = Rule { above: Some(4.0), ..Rule::on(Signal::NewsScore, Priority::High) };
    let rules_and_rows = prop_oneof![
        4 => (vital_rule().boxed(), samples(value_reading()).boxed()),
        3 => (rule_on(Builtin::News2.rule()).boxed(), samples(news_reading()).boxed()),
        1 => (rule_on(above_four).boxed(), samples(news_reading()).boxed()),
        1 => (rule_on(Rule::on(Signal::NewsPart, Priority::High)).boxed(), samples(news_reading()).boxed()),
        1 => (rule_on(Rule::on(Signal::Afib, Priority::High)).boxed(), samples(rhythm_reading()).boxed()),
    ];
    (rules_and_rows, 0_i64..200, prop::option::weighted(0.2, 1_i64..3_000)).prop_map(
        |((rule, samples), from, length)| {
            let from_ms = from * MINUTE_MS;
            let until = length.map(|length| (from_ms + length * MINUTE_MS, Ending::RuleChanged));
            (Span { rule, from_ms, until }, samples)
        },
    )
}

/// Judges pieces of rows, each with what was known after the one before.
fn judged_in_pieces(span: &Span, pieces: &[&[Sample]]) -> (Vec<Episode>, Judgement) {
    let mut judgement = Judgement::default();
    let mut found = Vec::new();
    for piece in pieces {
        // What is known is stored between two pieces.
        let stored = serde_json::to_string(&judgement).unwrap();
        judgement = serde_json::from_str(&stored).unwrap();
        found.extend(judgement.judge(span, piece));
    }
    (found, judgement)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn any_cut_of_the_rows_gives_the_same_episodes(
        (span, samples) in scene(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(samples.len() + 1)).collect();
        cuts.extend([0, samples.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[Sample]> = cuts.windows(2).map(|ends| &samples[ends[0]..ends[1]]).collect();
        let whole = judged_in_pieces(&span, &[&samples]);
        prop_assert_eq!(&judged_in_pieces(&span, &pieces), &whole);
        let each: Vec<&[Sample]> = samples.chunks(1).collect();
        prop_assert_eq!(&judged_in_pieces(&span, &each), &whole);
        // Rows that come again change nothing.
        let again: Vec<&[Sample]> = pieces.iter().flat_map(|piece| [*piece, *piece]).collect();
        prop_assert_eq!(&judged_in_pieces(&span, &again), &whole);
    }

    #[test]
    fn judging_from_the_reach_equals_judging_everything((span, samples) in scene(), at in any::<prop::sample::Index>()) {
        let at_ms = samples[at.index(samples.len())].time_ms;
        let before = samples.partition_point(|sample| sample.time_ms < at_ms);
        // The episode that is open at that time, as somebody knows it who has kept the episodes and nothing else.
        let mut first = Judgement::default();
        first.judge(&span, &samples[..before]);
        let open = first.at(&span, at_ms).episode.filter(|episode| episode.end.is_none());
        let from_ms = judged_from_ms(&span, open.as_ref(), at_ms);
        let from = samples.partition_point(|sample| sample.time_ms < from_ms);
        let later = |episodes: Vec<Episode>| -> Vec<Episode> {
            episodes.into_iter().filter(|episode| episode.end.is_none_or(|(end_ms, _)| end_ms > at_ms)).collect()
        };
        prop_assert_eq!(later(episodes(&span, &samples[from..])), later(episodes(&span, &samples)));
    }

    #[test]
    fn episodes_are_apart_and_say_nothing_absurd((span, samples) in scene()) {
        let found = episodes(&span, &samples);
        for (at, episode) in found.iter().enumerate() {
            let end_ms = episode.end.map_or(i64::MAX, |(end_ms, _)| end_ms);
            prop_assert!(span.from_ms <= episode.id.start_ms && episode.id.start_ms <= episode.opened_ms);
            prop_assert!(episode.opened_ms < end_ms);
            prop_assert!(episode.opened_ms - episode.id.start_ms >= i64::from(span.rule.for_s) * 1000);
            prop_assert!(found.get(at + 1).is_none_or(|next| end_ms <= next.id.start_ms));
            prop_assert!(episode.end.is_some() || at + 1 == found.len());
            prop_assert_eq!(episode.levels.first().map(|change| change.time_ms), Some(episode.opened_ms));
            for changes in episode.levels.windows(2) {
                prop_assert!(changes[0].time_ms < changes[1].time_ms && changes[0].level != changes[1].level);
            }
            prop_assert!(episode.levels.iter().all(|change| change.level >= 1 && change.time_ms < end_ms));
            let mut last_ms = episode.id.start_ms;
            for unknown in &episode.unknown {
                prop_assert!(last_ms <= unknown.from_ms && unknown.to_ms.is_none_or(|to_ms| unknown.from_ms < to_ms));
                last_ms = unknown.to_ms.unwrap_or(i64::MAX);
            }
            prop_assert!(last_ms <= end_ms);
        }
    }
}
