//! Figures of a day beyond the specification: answers carry them in one object, `extra`, by topic.

pub(super) mod night_resting_heart_rate;

use serde_json::{Map, Value};

use super::declaration::is_equal;
use super::figure::Figure;
use super::output::{Output, day_of};
use super::sections::{AGGREGATES_OF_A_DAY, frozen_day};
use super::{DERIVATIONS, Derivation, Work};

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
            is_same: is_equal,
        }
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
