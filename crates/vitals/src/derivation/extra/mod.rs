//! Figures of a day beyond the specification: answers carry them in one object, `extra`, by topic.

pub(super) mod night_resting_heart_rate;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::need::Computed;
use super::output::{Output, day_and, day_of, keys_of_days};
use super::sections::{AGGREGATES_OF_A_DAY, frozen_day};
use super::view::View;
use super::{DERIVATIONS, Derivation, Work};
use crate::summary::{DaySource, Nights};
use crate::zone::LocalDay;

/// A figure of a day, which follows from its aggregates, those of the day before and its nights.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// The number that it is stored under, 0 to 63. Numbers are never given to another figure.
    pub number: i64,
    /// Topic: the object within `extra` that holds the figure.
    pub topic: &'static str,
    /// Name within the topic.
    pub name: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// What it is, for documents.
    pub meaning: &'static str,
    /// Lowest and highest value, in the unit.
    pub range: (f64, f64),
    /// Computes it; `None` where nothing is known.
    pub compute: fn(&DaySource<'_>, &Nights) -> Option<f64>,
}

impl Figure {
    /// The derivation of the figure.
    pub(super) const fn derivation(self, id: &'static str, version: i64) -> Derivation {
        Derivation {
            id,
            version,
            output: Some(Output::Extra),
            inputs: AGGREGATES_OF_A_DAY,
            work: Work::Figure(self),
            frozen: frozen_day,
            is_same: super::is_equal,
        }
    }

    /// Computes the figure of some days.
    pub(super) fn of_days(&self, version: i64, view: &mut View, days: &BTreeSet<LocalDay>) -> Computed {
        let (Some(first), Some(last)) = (days.first(), days.last()) else { return Ok(()) };
        let (from, to) = keys_of_days(*first, *last);
        view.stored(Output::Extra, from, to).map(drop)?;
        for day in days {
            let value = view.of_day(*day, self.compute)?;
            // The shortest text of a number that it is read back from: always JSON.
            let body = value.and_then(|value| serde_json::to_vec(&value).ok());
            view.put(Output::Extra, day_and(*day, self.number), version, body);
        }
        Ok(())
    }
}

/// Returns all figures, in the order of the list of derivations.
pub fn figures() -> impl Iterator<Item = &'static Figure> {
    DERIVATIONS.iter().filter_map(|derivation| match &derivation.work {
        Work::Figure(figure) => Some(figure),
        _ => None,
    })
}

/// Returns the object `extra` of a day: every figure that this version knows, by topic; `null` where nothing is known.
/// `rows` are keys and bodies of the day.
pub fn extra_of_day<'rows>(rows: impl IntoIterator<Item = (i64, &'rows [u8])>) -> Map<String, Value> {
    let mut topics: Map<String, Value> = Map::new();
    let rows: Vec<(i64, &[u8])> = rows.into_iter().map(|(key, body)| (day_of(key).1, body)).collect();
    for figure in figures() {
        let body = rows.iter().find(|(number, _)| *number == figure.number).map(|(_, body)| *body);
        let value = body.and_then(|body| serde_json::from_slice(body).ok()).unwrap_or(Value::Null);
        let topic = topics.entry(figure.topic).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(topic) = topic {
            topic.insert(figure.name.to_owned(), value);
        }
    }
    topics
}
