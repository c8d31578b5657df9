//! Days that were read before anything asked for them, packed: a batch decodes only those that it needs.

use super::need::{Answer, Look, Need};
use super::output::{DerivedRow, Output, day_of, keys_of_days};
use super::vital::VITAL_TYPES;
use crate::registry::DataType;
use crate::zone::LocalDay;

/// Stored window aggregates of some days, of all types.
#[derive(Clone, Debug)]
pub struct DaysAhead {
    /// First day.
    pub first: LocalDay,
    /// Last day.
    pub last: LocalDay,
    /// All that is stored of these days.
    pub rows: Vec<DerivedRow>,
    /// Whether nothing is stored of days before the first.
    pub is_from_begin: bool,
    /// Whether nothing is stored of days after the last.
    pub is_to_end: bool,
}

impl DaysAhead {
    /// Answers a need as a reader would; `None` where it asks for more than these days.
    pub(super) fn answer(&self, need: Need) -> Option<Answer> {
        match need {
            Need::Derived { output: Output::Slots, from, to } => {
                let (first, last) = keys_of_days(self.first, self.last);
                let holds = |row: &&DerivedRow| (from..=to).contains(&row.key);
                let rows = || self.rows.iter().filter(holds).cloned().collect();
                (first <= from && to <= last).then(|| Answer::Derived {
                    output: Output::Slots,
                    keys: (from, to),
                    rows: rows(),
                })
            }
            Need::VitalDaysBefore(Look { day, .. }) if day.0 <= self.last.0.saturating_add(1) => {
                let rows = self.vital_rows(|found| found < day);
                (!rows.is_empty() || self.is_from_begin).then_some(Answer::VitalDaysBefore(rows))
            }
            Need::VitalDaysAfter(Look { day, .. }) if day.0 >= self.first.0.saturating_sub(1) => {
                let rows = self.vital_rows(|found| found > day);
                (!rows.is_empty() || self.is_to_end).then_some(Answer::VitalDaysAfter(rows))
            }
            _ => None,
        }
    }

    fn vital_rows(&self, is_wanted: impl Fn(LocalDay) -> bool) -> Vec<DerivedRow> {
        let is_vital = |number| DataType::from_number(number).is_some_and(|known| VITAL_TYPES.contains(&known));
        let wanted = self.rows.iter().filter(|row| {
            let (day, number) = day_of(row.key);
            is_wanted(day) && is_vital(number)
        });
        wanted.cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::output::day_and_type;
    use super::*;

    fn row(day: i32, data_type: DataType) -> DerivedRow {
        let key = day_and_type(LocalDay(day), data_type);
        DerivedRow { output: Output::Slots, key, version: 1, body: Some(vec![1]) }
    }

    fn look(day: i32) -> Look {
        Look { day: LocalDay(day), days: 6 }
    }

    #[test]
    fn only_what_lies_within_the_days_is_answered() {
        let rows = vec![row(3, DataType::Activity), row(4, DataType::Acc), row(5, DataType::Tests)];
        let (first, last) = (LocalDay(2), LocalDay(6));
        let ahead = DaysAhead { first, last, rows: rows.clone(), is_from_begin: true, is_to_end: false };
        let derived = |first, last| {
            let (from, to) = keys_of_days(LocalDay(first), LocalDay(last));
            ahead.answer(Need::Derived { output: Output::Slots, from, to })
        };
        assert!(matches!(derived(4, 6), Some(Answer::Derived { rows: found, .. }) if found == rows[1..]));
        assert!(derived(1, 4).is_none() && derived(4, 7).is_none());
        assert!(ahead.answer(Need::Derived { output: Output::News, from: 200, to: 201 }).is_none());

        let before = |day| match ahead.answer(Need::VitalDaysBefore(look(day))) {
            Some(Answer::VitalDaysBefore(rows)) => Some(rows),
            _ => None,
        };
        assert_eq!(before(5), Some(vec![rows[0].clone()]));
        assert_eq!(before(3), Some(Vec::new()), "nothing is stored before");
        assert_eq!(before(8), None, "a day between is not known");
        let after = |day| match ahead.answer(Need::VitalDaysAfter(look(day))) {
            Some(Answer::VitalDaysAfter(rows)) => Some(rows),
            _ => None,
        };
        assert_eq!(after(3), Some(vec![rows[2].clone()]));
        assert_eq!(after(5), None, "more may be stored after");
    }
}
