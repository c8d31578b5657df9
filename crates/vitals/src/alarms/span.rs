//! Spans: from when to when a rule was valid for a patient.

use super::ending::Ending;
use super::profile::{Profile, Version};
use super::rule::Rule;

/// A rule, and the time in which it judges alike. Spans of one rule do not depend on each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The rule.
    pub rule: Rule,
    /// First moment at which it is valid, Unix epoch milliseconds; also the version of the rule in identifiers.
    pub from_ms: i64,
    /// First moment at which it is valid no more, and why; `None` while it is valid.
    pub until: Option<(i64, Ending)>,
}

impl Span {
    /// Returns a rule that is valid from a time on.
    pub fn from(rule: Rule, from_ms: i64) -> Self {
        Span { rule, from_ms, until: None }
    }

    /// Returns whether the rule is valid at a time, ms.
    pub fn contains(&self, time_ms: i64) -> bool {
        time_ms >= self.from_ms && self.until.is_none_or(|(until_ms, _)| time_ms < until_ms)
    }
}

/// Returns the spans of all rules of a patient in a study, in the order of their beginning. Versions are given in the
/// order in which they became valid.
///
/// A version that leaves a rule as it is does not end its span: a change of one rule is no change of the others.
pub fn spans(of_study: &[Version<Profile>], of_patient: &[Version<Vec<Rule>>]) -> Vec<Span> {
    let mut times: Vec<i64> = of_study.iter().map(|version| version.valid_from_ms).collect();
    times.extend(of_patient.iter().map(|version| version.valid_from_ms));
    times.sort_unstable();
    times.dedup();
    let mut spans: Vec<Span> = Vec::new();
    for time_ms in times {
        let study = valid_at(of_study, time_ms).cloned().unwrap_or_default();
        let patient = valid_at(of_patient, time_ms).map_or(&[][..], Vec::as_slice);
        let mut rules = study.with_rules_of_patient(patient);
        // A rule that is disabled is kept for its owner and is none for judging.
        rules.retain(|rule| rule.enabled);
        change(&mut spans, &rules, time_ms);
    }
    spans
}

fn valid_at<T>(versions: &[Version<T>], time_ms: i64) -> Option<&T> {
    // The last of those set within one millisecond is the one that its owner saw last.
    versions.iter().rfind(|version| version.valid_from_ms <= time_ms).map(|version| &version.value)
}

/// Ends the spans of rules that are not among those valid from a time on, and begins those that are new.
fn change(spans: &mut Vec<Span>, rules: &[Rule], time_ms: i64) {
    for span in spans.iter_mut().filter(|span| span.until.is_none()) {
        match rules.iter().find(|rule| rule.id == span.rule.id) {
            None => span.until = Some((time_ms, Ending::RuleRemoved)),
            Some(rule) if !rule.judges_like(&span.rule) => span.until = Some((time_ms, Ending::RuleChanged)),
            // The newest name is the one that people know the rule by.
            Some(rule) => span.rule.name.clone_from(&rule.name),
        }
    }
    for rule in rules {
        if !spans.iter().any(|span| span.until.is_none() && span.rule.id == rule.id) {
            spans.push(Span::from(rule.clone(), time_ms));
        }
    }
}
