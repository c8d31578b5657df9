//! Sections of the daily summary, and what days need of each other.
//!
//! Aggregates of a day enter the sections of that day and, because nights begin the evening before, of the next. What
//! other days need of a day (its inputs) enters the recovery of sixty days and the consistency of six nights after it.
//! So each section follows from stored aggregates and day inputs alone, and whatever the order of syncs, the last batch
//! that changes something also brings the days after it up to date.

use std::collections::BTreeSet;

use super::declaration::{Derivation, Input, Work, is_equal};
use super::frozen::Frozen;
use super::need::Computed;
use super::output::{Output, day_and, day_of, keys_of_days};
use super::view::View;
use crate::cells::Day;
use crate::summary::{
    CONSISTENCY_REACH_DAYS, DailySummary, DayFacts, FactsByDay, RECOVERY_REACH_DAYS, Section, bodies_of_facts,
};
use crate::zone::{DAY_US, LocalDay};

/// Version of the definitions of all sections.
const SECTIONS_VERSION: i64 = 4;
/// Version of the day inputs.
const INPUTS_VERSION: i64 = 2;

/// Aggregates of all types, and what formulas ask about the patient.
pub(super) const AGGREGATES_OF_A_DAY: &[Input] = &[Input::Aggregates, Input::Body, Input::Settings];

/// The sections that aggregates of a day and of the day before give.
pub(super) const DAY_SECTIONS: Derivation = Derivation {
    id: "day_sections",
    version: SECTIONS_VERSION,
    output: Some(Output::Section),
    inputs: AGGREGATES_OF_A_DAY,
    work: Work::Days { after: 1, compute: day_sections },
    frozen: frozen_day,
    is_same: is_equal,
};

/// What other days need of a day.
pub(super) const DAY_INPUTS: Derivation = Derivation {
    id: "day_inputs",
    version: INPUTS_VERSION,
    output: Some(Output::DayInputs),
    inputs: AGGREGATES_OF_A_DAY,
    work: Work::Days { after: 1, compute: day_inputs },
    frozen: frozen_day,
    is_same: is_equal,
};

/// The sections of sleep: a night is compared with those before it.
pub(super) const SLEEP_SECTIONS: Derivation = Derivation {
    id: "sleep_sections",
    version: SECTIONS_VERSION,
    output: Some(Output::Section),
    inputs: &[Input::Derived("day_inputs")],
    work: Work::Days {
        after: CONSISTENCY_REACH_DAYS,
        compute: |view, days| of_inputs(view, days, |section| section != Section::Recovery),
    },
    frozen: frozen_day,
    is_same: is_equal,
};

/// The section of recovery: a day is compared with the sixty before it.
pub(super) const RECOVERY_SECTION: Derivation = Derivation {
    id: "recovery_section",
    version: SECTIONS_VERSION,
    output: Some(Output::Section),
    inputs: &[Input::Derived("day_inputs"), Input::Body],
    work: Work::Days {
        after: RECOVERY_REACH_DAYS,
        compute: |view, days| of_inputs(view, days, |section| section == Section::Recovery),
    },
    frozen: frozen_day,
    is_same: is_equal,
};

/// Days before the first row of any type. What is made of several types is frozen where any of them has expired.
pub(super) fn frozen_day(frozen: &Frozen, key: i64, body: &[u8]) -> Option<Vec<u8>> {
    // A local day may begin so long before the UTC day of its date, and end so long after it.
    let mut first_day = LocalDay(frozen.first_of(Day::TYPES).div_euclid(DAY_US) as i32 - 1);
    if let Some(kept_from_us) = frozen.kept_from_us.values().max() {
        first_day = first_day.max(LocalDay(kept_from_us.div_euclid(DAY_US) as i32 + 2));
    }
    (day_of(key).0 < first_day).then(|| body.to_vec())
}

fn day_sections(view: &mut View, days: &BTreeSet<LocalDay>) -> Computed {
    need_stored(view, Output::Section, days)?;
    for day in days {
        let summary = view.of_day(*day, DailySummary::of)?;
        for (section, body) in summary.bodies() {
            put(view, *day, section, body);
        }
    }
    Ok(())
}

fn day_inputs(view: &mut View, days: &BTreeSet<LocalDay>) -> Computed {
    need_stored(view, Output::DayInputs, days)?;
    for day in days {
        let inputs = view.of_day(*day, DayFacts::of)?.pack();
        view.put(Output::DayInputs, day_and(*day, 0), INPUTS_VERSION, (!inputs.is_empty()).then_some(inputs));
    }
    Ok(())
}

/// Returns the sections that follow from day inputs: of the days, and of those between them that have inputs. Days
/// without have none of these sections, but those that have just lost them have to lose the sections too.
fn of_inputs(view: &mut View, days: &BTreeSet<LocalDay>, is_wanted: fn(Section) -> bool) -> Computed {
    let (Some(first), Some(last)) = (days.first().copied(), days.last().copied()) else { return Ok(()) };
    let inputs = inputs_between(view, LocalDay(first.0 - RECOVERY_REACH_DAYS), last)?;
    let with_inputs: BTreeSet<LocalDay> = days.iter().filter(|day| inputs.contains_key(day)).copied().collect();
    need_stored(view, Output::Section, &with_inputs)?;
    for day in with_inputs {
        for (section, body) in bodies_of_facts(day, &inputs, &view.subject.profile_on(day)) {
            if is_wanted(section) {
                put(view, day, section, body);
            }
        }
    }
    Ok(())
}

/// Returns the inputs of some days, first and last included, with what this batch has changed of them.
fn inputs_between(view: &View, first: LocalDay, last: LocalDay) -> Computed<FactsByDay> {
    // Inputs of another version of the program count as missing: their days are due anyway.
    let read = |key: i64, body: &[u8]| Some((day_of(key).0, DayFacts::unpack(body)?));
    let (from, to) = keys_of_days(first, last);
    let mut inputs: FactsByDay =
        view.stored(Output::DayInputs, from, to)?.filter_map(|(key, body)| read(key, body)).collect();
    for (key, body) in view.changed(Output::DayInputs) {
        inputs.insert(day_of(key).0, body.and_then(DayFacts::unpack).unwrap_or_default());
    }
    Ok(inputs)
}

/// Asks for what is stored of some days, each stretch of them at once.
fn need_stored(view: &View, output: Output, days: &BTreeSet<LocalDay>) -> Computed {
    let (Some(first), Some(last)) = (days.first(), days.last()) else { return Ok(()) };
    let (from, to) = keys_of_days(*first, *last);
    view.stored(output, from, to).map(drop)
}

fn put(view: &mut View, day: LocalDay, section: Section, body: Option<String>) {
    view.put(Output::Section, day_and(day, section.number()), SECTIONS_VERSION, body.map(String::into_bytes));
}
