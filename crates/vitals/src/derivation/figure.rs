//! A figure of a day, computed of what is kept of that day and the one before it.

use std::collections::BTreeSet;

use super::need::Computed;
use super::output::{Output, day_and, keys_of_days};
use super::view::View;
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
    /// Computes the figure of some days.
    pub(super) fn of_days(&self, version: i64, view: &mut View, days: &BTreeSet<LocalDay>) -> Computed {
        let (Some(first), Some(last)) = (days.first(), days.last()) else { return Ok(()) };
        let (from, to) = keys_of_days(*first, *last);
        // What is stored has to be known before anything is put, so that an unchanged figure is no write.
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
