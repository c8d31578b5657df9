//! Derived values of one patient in memory: what a recomputation fills and compares with the store.

use std::collections::BTreeMap;

use vitals::derivation::{Answer, DerivedRow, Frozen, Need, Output, VITAL_TYPES, day_of, figures, of_output};
use vitals::registry::DataType;
use vitals::summary::Section;

type Place = (Output, i64);

/// Values by output and key, with the version that computed each.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Values(BTreeMap<Place, (i64, Vec<u8>)>);

impl Values {
    /// Does what a commit does.
    pub fn apply(&mut self, rows: Vec<DerivedRow>) {
        for row in rows {
            match row.body {
                Some(body) => self.0.insert((row.output, row.key), (row.version, body)),
                None => self.0.remove(&(row.output, row.key)),
            };
        }
    }

    /// Returns keys and bodies of an output, in the order of keys.
    pub fn of(&self, output: Output) -> impl DoubleEndedIterator<Item = (i64, &[u8])> {
        let values = self.0.range((output, i64::MIN)..=(output, i64::MAX));
        values.map(|((_, key), (_, body))| (*key, body.as_slice()))
    }

    /// Answers a need from what is in memory; nothing for rows.
    pub fn answer(&self, need: Need) -> Option<Answer> {
        Some(match need {
            Need::Rows { .. } => return None,
            Need::Derived { output, from, to } => {
                Answer::Derived { output, keys: (from, to), rows: self.between(output, from, to) }
            }
            Need::DerivedBefore { output, key } => {
                let last = self.0.range((output, i64::MIN)..(output, key)).next_back();
                Answer::DerivedBefore { output, key, row: last.map(row) }
            }
            Need::VitalDaysBefore(look) => {
                let earlier = self.vital_rows().rev().skip_while(|row| day_of(row.key).0 >= look.day);
                Answer::VitalDaysBefore(some_days(earlier, look.days))
            }
            Need::VitalDaysAfter(look) => {
                let later = self.vital_rows().skip_while(|row| day_of(row.key).0 <= look.day);
                Answer::VitalDaysAfter(some_days(later, look.days))
            }
        })
    }

    fn between(&self, output: Output, from: i64, to: i64) -> Vec<DerivedRow> {
        if from > to { Vec::new() } else { self.0.range((output, from)..=(output, to)).map(row).collect() }
    }

    fn vital_rows(&self) -> impl DoubleEndedIterator<Item = DerivedRow> {
        let slots = self.0.range((Output::Slots, i64::MIN)..=(Output::Slots, i64::MAX));
        slots.filter(|((_, key), _)| is_vital(day_of(*key).1)).map(row)
    }

    /// Returns what remains of values that cannot be computed again.
    pub fn frozen(&self, frozen: &Frozen) -> Self {
        let kept = self.0.iter().filter_map(|((output, key), (version, body))| {
            let body = (of_output(*output)?.frozen)(frozen, *key, body)?;
            Some(((*output, *key), (*version, body)))
        });
        Values(kept.collect())
    }

    /// Returns what has to be put in place of these values to have others; without a body what has to go.
    pub fn changes_to(&self, others: &Values) -> Vec<DerivedRow> {
        let gone = self.0.keys().filter(|place| !others.0.contains_key(place));
        let gone = gone.map(|(output, key)| DerivedRow { output: *output, key: *key, version: 0, body: None });
        let is_new = |((output, key), (_, body)): &(&Place, &(i64, Vec<u8>))| {
            // Bytes can differ where values do not: an older version packed them in another way.
            let is_same = |known: &[u8]| of_output(*output).is_some_and(|of| (of.is_same)(known, body));
            self.0.get(&(*output, *key)).is_none_or(|(_, known)| !is_same(known))
        };
        gone.chain(others.0.iter().filter(is_new).map(row)).collect()
    }
}

impl FromIterator<DerivedRow> for Values {
    fn from_iter<Rows: IntoIterator<Item = DerivedRow>>(rows: Rows) -> Self {
        let mut values = Values::default();
        values.apply(rows.into_iter().collect());
        values
    }
}

fn row(((output, key), (version, body)): (&Place, &(i64, Vec<u8>))) -> DerivedRow {
    DerivedRow { output: *output, key: *key, version: *version, body: Some(body.clone()) }
}

/// The rows of the first days, whole.
fn some_days(rows: impl Iterator<Item = DerivedRow>, days: i64) -> Vec<DerivedRow> {
    let (mut last, mut count) = (None, 0);
    rows.take_while(|row| {
        let day = Some(day_of(row.key).0);
        count += i64::from(day != last);
        last = day;
        count <= days
    })
    .collect()
}

/// Whether this version of the program knows what a value is: another one has others.
pub(super) fn is_known(row: &DerivedRow) -> bool {
    let number = day_of(row.key).1;
    match row.output {
        Output::Slots => DataType::from_number(number).is_some(),
        Output::Section => Section::from_number(number).is_some(),
        Output::Extra => figures().any(|figure| figure.number == number),
        Output::DayInputs | Output::AfHour | Output::News => true,
    }
}

fn is_vital(number: i64) -> bool {
    DataType::from_number(number).is_some_and(|data_type| VITAL_TYPES.contains(&data_type))
}
