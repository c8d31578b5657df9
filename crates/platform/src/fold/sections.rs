//! The sections of days that a fold has changed, and of the days after them.
//!
//! Cells of a day enter the sections of that day and, because nights begin the evening before, of the next. What a day
//! tells of itself (its facts) enters the recovery of sixty days and the consistency of six nights after it. So each
//! section follows from stored cells and facts alone, and whatever the order of syncs, the last fold that changes
//! something also brings the days after it up to date.

use std::collections::{BTreeMap, BTreeSet};

use store::{FactsRow, StoredSection, SummaryRow};
use vitals::cells::Day;
use vitals::summary::{
    CONSISTENCY_REACH_DAYS, DailySummary, DayFacts, DaySource, FORMAT, FactsByDay, Nights, RECOVERY_REACH_DAYS,
    Section, bodies_of_facts,
};
use vitals::zone::LocalDay;

use super::days::Days;
use super::source::FoldSource;
use super::subject::Subject;

/// What has changed of sections and facts.
#[derive(Debug, Default)]
pub(crate) struct SectionsEdit {
    pub summaries: Vec<SummaryRow>,
    pub facts: Vec<FactsRow>,
}

/// Days to sum up anew.
#[derive(Clone, Debug, Default)]
pub(crate) struct DirtyDays {
    /// Days whose cells have changed.
    pub changed: BTreeSet<LocalDay>,
    /// Days of which something else has changed that enters a formula.
    pub revisited: BTreeSet<LocalDay>,
}

impl DirtyDays {
    /// Both, each with the day after it.
    fn with_next(&self) -> BTreeSet<LocalDay> {
        self.changed.iter().chain(&self.revisited).flat_map(|day| [*day, next(*day)]).collect()
    }
}

fn next(day: LocalDay) -> LocalDay {
    LocalDay(day.0 + 1)
}

/// Sums up dirty days and brings the days after them up to date.
pub(crate) async fn sum_up(
    source: &impl FoldSource,
    days: &mut Days,
    subject: &Subject,
    dirty: &DirtyDays,
) -> store::Result<SectionsEdit> {
    let summed = dirty.with_next();
    let (Some(first), Some(last)) = (summed.first().copied(), summed.last().copied()) else {
        return Ok(SectionsEdit::default());
    };
    days.make_whole(source, LocalDay(first.0 - 1), last).await?;
    let stored = Stored::of(source.sections(first, last).await?);
    let known: BTreeMap<LocalDay, Vec<u8>> =
        source.facts(first, last).await?.into_iter().map(|row| (row.day, row.facts)).collect();
    let mut edit = SectionsEdit::default();
    let mut found = FactsByDay::new();
    for day in &summed {
        let (summary, facts) = of_cells(days, subject, *day);
        let of_day = summary.bodies().into_iter().map(|(section, body)| SummaryRow { day: *day, section, body });
        edit.summaries.extend(of_day.filter(|row| !stored.has(row)));
        found.insert(*day, facts);
    }
    let mut changed = BTreeSet::new();
    for (day, facts) in &found {
        let facts = facts.pack();
        if known.get(day).is_none_or(|known| *known != facts) && (known.contains_key(day) || !facts.is_empty()) {
            changed.insert(*day);
            edit.facts.push(FactsRow { day: *day, facts });
        }
    }
    let revisited = dirty.revisited.iter().flat_map(|day| [*day, next(*day)]).collect();
    edit.summaries.extend(of_facts(source, subject, found, &changed, &revisited).await?);
    Ok(edit)
}

/// What follows from the cells of a day and the one before.
fn of_cells(days: &Days, subject: &Subject, day: LocalDay) -> (DailySummary, DayFacts) {
    let empty = Day::default();
    let cells = |day| days.get(day).unwrap_or(&empty);
    let source = DaySource {
        day,
        slot_count: subject.slot_count(day),
        cells: cells(day),
        before: cells(LocalDay(day.0 - 1)),
        profile: &subject.profile_on(day),
        settings: &subject.summary_settings(day),
    };
    let nights = Nights::of(&source);
    (DailySummary::of(&source, &nights), DayFacts::of(&source, &nights))
}

/// The sections that follow from facts: of days that are revisited, of those whose facts have changed, and of the days
/// after these.
async fn of_facts(
    source: &impl FoldSource,
    subject: &Subject,
    found: FactsByDay,
    changed: &BTreeSet<LocalDay>,
    revisited: &BTreeSet<LocalDay>,
) -> store::Result<Vec<SummaryRow>> {
    let ends = || changed.iter().chain(revisited).copied();
    let (Some(first), Some(last)) = (ends().min(), ends().max()) else { return Ok(Vec::new()) };
    let reach = RECOVERY_REACH_DAYS;
    let mut facts = read_facts(&source.facts(LocalDay(first.0 - reach), LocalDay(last.0 + reach)).await?);
    facts.extend(found);
    // Days without facts have none of these sections, but those that have just lost them have to lose the sections too.
    let within = |day: LocalDay, reach: i32| changed.range(LocalDay(day.0 - reach)..=day).next().is_some();
    let mut rows = Vec::new();
    for day in facts.range(first..=LocalDay(last.0 + reach)).map(|(day, _)| *day) {
        let (nights, recovery) = (within(day, CONSISTENCY_REACH_DAYS), within(day, reach));
        if !recovery && !revisited.contains(&day) {
            continue;
        }
        for (section, body) in bodies_of_facts(day, &facts, &subject.profile_on(day)) {
            if nights || section == Section::Recovery || revisited.contains(&day) {
                rows.push(SummaryRow { day, section, body });
            }
        }
    }
    Ok(rows)
}

fn read_facts(rows: &[FactsRow]) -> FactsByDay {
    // Facts of another version of the program count as missing: their days are due anyway.
    rows.iter().filter_map(|row| Some((row.day, DayFacts::unpack(&row.facts)?))).collect()
}

/// Sections as they are stored.
struct Stored(BTreeMap<(LocalDay, Section), StoredSection>);

impl Stored {
    fn of(rows: Vec<StoredSection>) -> Self {
        Stored(rows.into_iter().map(|stored| ((stored.row.day, stored.row.section), stored)).collect())
    }

    /// Whether a section is stored just so, by the definitions of this version.
    fn has(&self, row: &SummaryRow) -> bool {
        match self.0.get(&(row.day, row.section)) {
            Some(stored) => stored.format == FORMAT && stored.row.body == row.body,
            None => row.body.is_none(),
        }
    }
}
