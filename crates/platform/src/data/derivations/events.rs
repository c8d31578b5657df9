//! The events of what a derivation changes, for readers of the log.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use store::{DerivationCommit, EventType, NewEvent};
use vitals::derivation::{DerivedRow, Output, day_of};
use vitals::news_timeline::{NewestNews, NewsEntry};
use vitals::news2::{Availability, Parameter, Risk};
use vitals::summary::Section;

/// Returns the events of a commit. `news` are the newest entries, where they were computed.
pub(super) fn events(commit: &DerivationCommit, news: Option<&NewestNews>) -> Vec<NewEvent> {
    let event = |event_type, body: Value| NewEvent { event_type, time_ms: commit.now_ms, body };
    // A day of which only inputs of other days have changed looks as before.
    let is_shown = |row: &&DerivedRow| row.output.is_of_days() && row.output != Output::DayInputs;
    let mut days: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
    for row in commit.rows.iter().filter(is_shown) {
        let (day, number) = day_of(row.key);
        // Slots are part of a day's summaries; a day of which only they have changed names no section.
        let section = match row.output {
            Output::Section => Section::from_number(number).map(Section::name),
            Output::Extra => Some("extra"),
            _ => None,
        };
        days.entry(day).or_default().extend(section);
    }
    let of_day = |(day, sections): (_, _)| {
        event(EventType::DayUpdated, json!({ "day": format!("{day}"), "sections": sections }))
    };
    let mut events: Vec<NewEvent> = days.into_iter().map(of_day).collect();
    // Entries of the past change with late rows; only another newest one is news for those who follow the log. It need have
    // no total: a part of 3 asks for somebody as well.
    if let Some(news) = news.filter(|news| news.is_changed()) {
        events.push(event(EventType::NewsScored, news.after.as_ref().map_or_else(no_news, news_body)));
    }
    // Each of the other events makes readers look at the patient again, and a second one would only cost them.
    if events.is_empty() && commit.latest.is_some_and(|change| change.computed != change.seen) {
        events.push(event(EventType::LatestChanged, json!({})));
    }
    events
}

/// The same fields, so that a reader of them need not ask which there are.
fn no_news() -> Value {
    json!({ "score": null, "band": null, "time_ms": null, "sub_scores": {}, "missing": [], "low_quality": [], "stale": [] })
}

fn news_body(entry: &NewsEntry) -> Value {
    let parts = Parameter::ALL.map(|parameter| (parameter.name(), entry.part(parameter)));
    let named = |availability: Availability| -> Vec<&str> {
        parts.iter().filter(|(_, part)| part.availability == availability).map(|(name, _)| *name).collect()
    };
    let mut sub_scores: Map<String, Value> =
        parts.iter().map(|(name, part)| ((*name).to_owned(), json!(part.score))).collect();
    sub_scores.insert("oxygen".to_owned(), json!(entry.score_oxygen));
    sub_scores.insert("consciousness".to_owned(), json!(entry.score_consciousness));
    json!({
        "score": entry.total,
        "band": entry.risk().map(Risk::name),
        "time_ms": entry.time_ms,
        "sub_scores": sub_scores,
        "missing": named(Availability::Missing),
        "low_quality": named(Availability::LowQuality),
        "stale": named(Availability::Stale),
    })
}
