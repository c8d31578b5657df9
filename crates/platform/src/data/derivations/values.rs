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

/// Returns the rows of the first days, whole.
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

/// Returns whether this version of the program knows what a value is: another one has others.
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

#[cfg(test)]
mod tests {
    use vitals::derivation::{Look, day_and, day_and_type, keys_of_days};
    use vitals::zone::LocalDay;

    use super::*;

    fn put(output: Output, key: i64, body: &str) -> DerivedRow {
        DerivedRow { output, key, version: 1, body: Some(body.as_bytes().to_vec()) }
    }

    fn gone(output: Output, key: i64) -> DerivedRow {
        DerivedRow { output, key, version: 0, body: None }
    }

    /// Slots of a type on each of these days.
    fn slots(data_type: DataType, days: &[i32]) -> Vec<DerivedRow> {
        days.iter().map(|day| put(Output::Slots, day_and_type(LocalDay(*day), data_type), "s")).collect()
    }

    fn keys(rows: &[DerivedRow]) -> Vec<i64> {
        rows.iter().map(|row| row.key).collect()
    }

    #[test]
    fn rows_are_put_replaced_and_taken_away() {
        let mut values: Values = [put(Output::News, 2, "two"), put(Output::News, 1, "one")].into_iter().collect();
        values.apply(vec![put(Output::News, 2, "zwei"), gone(Output::News, 1), gone(Output::News, 9)]);
        values.apply(vec![put(Output::Extra, 2, "elsewhere")]);
        let news: Vec<_> = values.of(Output::News).collect();
        assert_eq!(news, [(2, &b"zwei"[..])], "of this output alone");
        assert_eq!(values.of(Output::Extra).count(), 1);
    }

    #[test]
    fn ranges_hold_both_ends_and_nothing_of_other_outputs() {
        let values: Values = [1, 2, 3, 4].map(|key| put(Output::News, key, "n")).into_iter().collect();
        let between = |from, to| match values.answer(Need::Derived { output: Output::News, from, to }) {
            Some(Answer::Derived { keys: asked, rows, .. }) => {
                assert_eq!(asked, (from, to));
                keys(&rows)
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(between(2, 3), [2, 3]);
        assert_eq!(between(i64::MIN, i64::MAX), [1, 2, 3, 4]);
        assert_eq!(between(3, 2), [0; 0], "a range that is none has nothing");
        let before = |output, key| match values.answer(Need::DerivedBefore { output, key }) {
            Some(Answer::DerivedBefore { row, .. }) => row.map(|row| row.key),
            other => panic!("{other:?}"),
        };
        assert_eq!((before(Output::News, 3), before(Output::News, 1)), (Some(2), None), "below, and not at");
        assert_eq!(before(Output::Extra, 99), None);
        let rows = Need::Rows { data_type: DataType::Activity, from_us: 0, to_us: 1 };
        assert!(values.answer(rows).is_none(), "rows are not derived");
    }

    #[test]
    fn days_with_vital_signs_are_counted_and_come_whole() {
        let mut rows = slots(DataType::Activity, &[10, 12, 13, 20]);
        rows.extend(slots(DataType::Tests, &[12, 21]));
        rows.extend(slots(DataType::Sleep, &[11, 14, 19]));
        let values: Values = rows.into_iter().collect();
        let days = |rows: &[DerivedRow]| rows.iter().map(|row| day_of(row.key).0.0).collect::<Vec<_>>();
        let around = |day: i32, count: i64| {
            let look = || Look { day: LocalDay(day), days: count };
            match (values.answer(Need::VitalDaysBefore(look())), values.answer(Need::VitalDaysAfter(look()))) {
                (Some(Answer::VitalDaysBefore(before)), Some(Answer::VitalDaysAfter(after))) => {
                    (days(&before), days(&after))
                }
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(around(13, 1), (vec![12, 12], vec![20]), "both types of the nearest day, and no day of sleep alone");
        assert_eq!(around(13, 2), (vec![12, 12, 10], vec![20, 21]));
        assert_eq!(around(14, 9), (vec![13, 12, 12, 10], vec![20, 21]));
        assert_eq!(around(14, 0), (vec![], vec![]));
        assert_eq!(around(5, 3), (vec![], vec![10, 12, 12, 13]));
    }

    #[test]
    fn changes_make_the_others_of_these() {
        let mut these: Values =
            [put(Output::News, 1, "same"), put(Output::News, 2, "old"), put(Output::News, 3, "gone")]
                .into_iter()
                .collect();
        let others: Values = [
            DerivedRow { version: 7, ..put(Output::News, 1, "same") },
            put(Output::News, 2, "new"),
            put(Output::Extra, 2, "more"),
        ]
        .into_iter()
        .collect();
        let changes = these.changes_to(&others);
        assert_eq!(
            changes,
            [gone(Output::News, 3), put(Output::News, 2, "new"), put(Output::Extra, 2, "more")],
            "a later version that says the same is no change"
        );
        assert!(others.changes_to(&others).is_empty());
        these.apply(changes);
        assert!(these.changes_to(&others).is_empty());
    }

    #[test]
    fn what_another_version_has_derived_is_not_known() {
        let day = LocalDay(20_000);
        let row = |output, number| put(output, day_and(day, number), "x");
        assert!(is_known(&row(Output::Slots, DataType::Activity.number())));
        assert!(is_known(&row(Output::Section, Section::Activity.number())));
        let figure = figures().next().expect("a figure").number;
        assert!(is_known(&row(Output::Extra, figure)));
        let (_, last) = keys_of_days(day, day);
        for output in [Output::Slots, Output::Section, Output::Extra] {
            assert!(!is_known(&put(output, last, "x")), "{output:?}");
        }
        for output in [Output::DayInputs, Output::AfHour, Output::News] {
            assert!(is_known(&put(output, last, "x")), "{output:?}: their keys are times or nothing");
        }
    }
}
