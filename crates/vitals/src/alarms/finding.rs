//! What a sample says about one level of a rule.

use serde::{Deserialize, Serialize};

use super::level::{NewsLevel, news_level};
use super::rule::Rule;
use super::sample::{Reading, Reason, Sample};
use super::signal::Signal;

/// The threshold that a value breaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Side {
    Below,
    Above,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Finding {
    /// Beyond a threshold.
    Breach(Breach),
    /// Within the threshold, and not yet where a breach of it counts as cleared.
    Between,
    /// Where a breach counts as cleared.
    Clear,
    /// Cannot be judged.
    Unknown(Reason),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Breach {
    pub side: Side,
    /// The value and how far it lies beyond; `None` where the breach is known and the value is not.
    pub value: Option<(f64, f64)>,
}

/// Returns what a sample says about a level of a rule. `breached` is the side on which it was breached last, of which
/// alone a value has to be clear.
pub(super) fn find(rule: &Rule, level: u8, sample: &Sample, breached: Option<Side>) -> Finding {
    match (rule.signal, sample.reading) {
        (_, Reading::Unknown(reason)) => Finding::Unknown(reason),
        (Signal::NewsScore, Reading::News { total: Some(total), .. }) => of_value(rule, f64::from(total), breached),
        (Signal::NewsScore, Reading::News { total: None, .. }) => Finding::Unknown(Reason::NoTotal),
        (Signal::NewsPart, Reading::News { total, highest_part }) => of_part(total, highest_part),
        (Signal::NewsLevels, Reading::News { total, highest_part }) => of_level(level, total, highest_part),
        (Signal::Afib, Reading::Rhythm { fibrillation, probability }) => match fibrillation {
            Some(true) => breach(Some(probability)),
            Some(false) => Finding::Clear,
            None => Finding::Unknown(Reason::NotClassified),
        },
        (_, Reading::Value(value, _)) if value.is_nan() => Finding::Unknown(Reason::NoValue),
        (_, Reading::Value(value, quality)) => {
            let is_good = quality.is_none_or(|quality| quality >= rule.min_quality);
            if is_good { of_value(rule, value, breached) } else { Finding::Unknown(Reason::LowQuality) }
        }
        // A sample of another signal says nothing about this one.
        _ => Finding::Unknown(Reason::NoValue),
    }
}

fn breach(value: Option<f64>) -> Finding {
    Finding::Breach(Breach { side: Side::Above, value: value.map(|value| (value, value)) })
}

fn of_value(rule: &Rule, value: f64, breached: Option<Side>) -> Finding {
    if let Some(below) = rule.below.filter(|below| value < *below) {
        return Finding::Breach(Breach { side: Side::Below, value: Some((value, below - value)) });
    }
    if let Some(above) = rule.above.filter(|above| value > *above) {
        return Finding::Breach(Breach { side: Side::Above, value: Some((value, value - above)) });
    }
    // A pulse that was too slow has recovered at 125, although one that was too fast would not have.
    let is_clear = match breached {
        None => true,
        Some(Side::Below) => rule.clear_below.or(rule.below).is_none_or(|clear| value >= clear),
        Some(Side::Above) => rule.clear_above.or(rule.above).is_none_or(|clear| value <= clear),
    };
    if is_clear { Finding::Clear } else { Finding::Between }
}

fn of_part(total: Option<u8>, highest_part: u8) -> Finding {
    match (total, highest_part) {
        // Each part counts alone, so that one that is known needs no other.
        (_, 3..) => breach(Some(f64::from(highest_part))),
        (Some(_), _) => Finding::Clear,
        // The part that scored 3 may be the one that has become too old.
        (None, _) => Finding::Unknown(Reason::NoTotal),
    }
}

fn of_level(level: u8, total: Option<u8>, highest_part: u8) -> Finding {
    match news_level(total, highest_part) {
        NewsLevel::Exactly(found) | NewsLevel::AtLeast(found) if found >= level => breach(total.map(f64::from)),
        NewsLevel::Exactly(_) => Finding::Clear,
        NewsLevel::AtLeast(_) | NewsLevel::Unknown => Finding::Unknown(Reason::NoTotal),
    }
}
