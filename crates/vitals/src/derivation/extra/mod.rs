//! Figures of a day beyond the specification: answers carry them in one object, `extra`, by topic.

pub(super) mod night_resting_heart_rate;
mod values;

use super::declaration::is_equal;
use super::figure::Figure;
use super::output::{Output, day_of};
use super::sections::{AGGREGATES_OF_A_DAY, frozen_day};
use super::{DERIVATIONS, Derivation, Work};

pub use values::{Extra, FigureValue};

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

/// Reads the figures of a day, of keys and bodies of its rows. Rows of figures that this version does not know are left out.
pub fn extra_of_day<'rows>(rows: impl IntoIterator<Item = (i64, &'rows [u8])>) -> Extra {
    let rows: Vec<(i64, &[u8])> = rows.into_iter().map(|(key, body)| (day_of(key).1, body)).collect();
    let value_of = |figure: &Figure| {
        let (_, body) = rows.iter().find(|(number, _)| *number == figure.number)?;
        serde_json::from_slice(body).ok()
    };
    Extra { values: figures().map(|figure| FigureValue { figure, value: value_of(figure) }).collect() }
}
