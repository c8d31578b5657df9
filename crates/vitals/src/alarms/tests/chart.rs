//! Levels of NEWS2 against another reading of the published chart: points are looked up in a list of limits, and the
//! trigger in the printed rows.
//!
//! Source: Royal College of Physicians, National Early Warning Score (NEWS) 2, 2017, charts 1 and 2.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use super::scene::*;
use crate::alarms::*;
use crate::latest::{LatestValues, Timed};
use crate::news_timeline::{NewsEntry, SettingsAt};
use crate::news2::{Consciousness, Settings, Spo2Scale};

/// What a nurse writes on the chart.
#[derive(Clone, Copy, Debug)]
struct Signs {
    breaths: u16,
    saturation: u16,
    scale_two: bool,
    oxygen: bool,
    systolic: u16,
    pulse: u16,
    level: &'static str,
    tenths: u16,
}

/// Points of the first row whose upper limit is not exceeded.
fn points(value: u16, rows: &[(u16, u8)]) -> u8 {
    rows.iter().find(|(limit, _)| value <= *limit).map_or(0, |(_, points)| *points)
}

const TOP: u16 = u16::MAX;

impl Signs {
    fn points(&self) -> [u8; 7] {
        let high_on_oxygen: &[(u16, u8)] = &[(83, 3), (85, 2), (87, 1), (92, 0), (94, 1), (96, 2), (TOP, 3)];
        let saturation = match (self.scale_two, self.oxygen) {
            (false, _) => points(self.saturation, &[(91, 3), (93, 2), (95, 1), (TOP, 0)]),
            (true, true) => points(self.saturation, high_on_oxygen),
            (true, false) => points(self.saturation.min(92), high_on_oxygen),
        };
        [
            points(self.breaths, &[(8, 3), (11, 1), (20, 0), (24, 2), (TOP, 3)]),
            saturation,
            if self.oxygen { 2 } else { 0 },
            points(self.systolic, &[(90, 3), (100, 2), (110, 1), (219, 0), (TOP, 3)]),
            points(self.pulse, &[(40, 3), (50, 1), (90, 0), (110, 1), (130, 2), (TOP, 3)]),
            if self.level == "A" { 0 } else { 3 },
            points(self.tenths, &[(350, 3), (360, 1), (380, 0), (390, 1), (TOP, 2)]),
        ]
    }

    /// The chart's trigger: number of the level, 0 for none.
    fn trigger(&self) -> u8 {
        let points = self.points();
        let sum: u32 = points.iter().copied().map(u32::from).sum();
        if sum >= 7 {
            return 4;
        }
        if sum == 5 || sum == 6 {
            return 3;
        }
        if points.contains(&3) {
            return 2;
        }
        u8::from(sum > 0)
    }

    /// The same as the service sees it.
    fn entry(&self) -> NewsEntry {
        let timed = |value: f64| Some(Timed { value, timestamp_ms: MINUTE_MS });
        let values = LatestValues {
            heart_rate: timed(f64::from(self.pulse)),
            respiration_rate: timed(f64::from(self.breaths)),
            spo2: timed(f64::from(self.saturation)),
            nibp_systolic: timed(f64::from(self.systolic)),
            temperature: timed(f64::from(self.tenths) / 10.0),
            ..LatestValues::default()
        };
        let settings = Settings {
            spo2_scale: if self.scale_two { Spo2Scale::Two } else { Spo2Scale::One },
            oxygen: self.oxygen,
            consciousness: Consciousness::from_letter(self.level).unwrap(),
        };
        NewsEntry::at(MINUTE_MS, &values.into(), &SettingsAt { settings, ..SettingsAt::default() }, None)
    }
}

/// Mostly near the bands of 0: with all signs anywhere, nearly every total would be above 7.
fn near(middle: std::ops::RangeInclusive<u16>, all: std::ops::RangeInclusive<u16>) -> impl Strategy<Value = u16> {
    prop_oneof![4 => middle, 1 => all]
}

fn signs() -> impl Strategy<Value = Signs> {
    let measured = (
        near(10..=22, 4..=40),
        near(92..=100, 80..=100),
        near(98..=140, 60..=240),
        near(48..=100, 30..=180),
        near(356..=384, 330..=410),
    );
    let set = (
        prop::bool::weighted(0.3),
        prop::bool::weighted(0.2),
        prop_oneof![8 => Just("A"), 1 => Just("C"), 1 => Just("U")],
    );
    (measured, set).prop_map(|((breaths, saturation, systolic, pulse, tenths), (scale_two, oxygen, level))| Signs {
        breaths,
        saturation,
        scale_two,
        oxygen,
        systolic,
        pulse,
        level,
        tenths,
    })
}

#[test]
fn thousand_vectors_have_the_level_of_the_chart() {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[18; 32]);
    let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), rng);
    let builtin = always(Builtin::News2.rule());
    let mut counts = [0; 5];
    for _ in 0..1000 {
        let signs = signs().new_tree(&mut runner).unwrap().current();
        let trigger = signs.trigger();
        let found = episodes(&builtin, &news_samples(None, &[signs.entry()], &[]));
        assert_eq!(found.first().map_or(0, Episode::level), trigger, "{signs:?} {:?}", signs.points());
        counts[usize::from(trigger)] += 1;
    }
    assert!(counts.iter().all(|count| *count >= 50), "each level has to be among them: {counts:?}");
}

#[test]
fn levels_have_the_responses_of_the_chart() {
    let rule = Builtin::News2.rule();
    let of = |number| rule.level(number).map(|level| (level.name, level.next_observation));
    assert_eq!((of(0), of(5)), (None, None));
    let expected = [
        ("low", "within 4 to 6 hours"),
        ("single_three", "within 1 hour"),
        ("medium", "within 1 hour"),
        ("high", "continuous monitoring"),
    ];
    assert_eq!([1, 2, 3, 4].map(|number| of(number).unwrap()), expected);
    assert!(rule.level(3).unwrap().response.starts_with("Urgent"));
    assert!(rule.level(4).unwrap().response.starts_with("Emergency"));
    assert_eq!(below_90(0).level(1), None);
}
