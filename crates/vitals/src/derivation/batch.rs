//! The list of derivations, run over what is dirty of one patient.

use std::collections::{BTreeMap, BTreeSet};

use super::aggregates;
use super::days::days_around;
use super::days_ahead::DaysAhead;
use super::declaration::{Derivation, Work};
use super::list::DERIVATIONS;
use super::need::{Answer, Computed, Missing, Need, Rows};
use super::output::{DerivedRow, Output, day_of};
use super::subject::Subject;
use super::view::View;
use super::vital::VITAL_TYPES;
use super::windows::{Windows, cut, joined, widened};
use crate::measured::Measured;
use crate::news_timeline::NewestNews;
use crate::registry::DataType;
use crate::zone::LocalDay;

/// What a batch starts from.
#[derive(Clone, Debug)]
pub struct Start {
    /// Body and settings.
    pub subject: Subject,
    /// Windows to compute again by type, in order and apart from each other.
    pub touched: BTreeMap<DataType, Vec<Windows>>,
    /// Touched windows that no sync has touched: something else has changed that enters formulas. Their days are
    /// computed again also where their aggregates stay the same.
    pub revisited: Vec<Windows>,
    /// Latest values, read before the rows.
    pub seen: Measured,
    /// From when on rows of a type are still there, µs; types that are not named are there from the beginning.
    pub kept_from_us: BTreeMap<DataType, i64>,
    /// The time, ms.
    pub now_ms: i64,
    /// Rows after this time do not count yet, µs.
    pub not_after_us: i64,
}

/// How far a batch has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Something is to be read and given to [`Batch::take`].
    Missing(Vec<Need>),
    /// One computation is done.
    Computed,
    /// Everything is.
    Done,
}

/// What a batch changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// Derived values, by output and key.
    pub rows: Vec<DerivedRow>,
    /// Latest values, where they were computed.
    pub latest: Option<Measured>,
    /// The newest NEWS entries, where they were computed.
    pub news: Option<NewestNews>,
    /// Times of rows that do not count yet, µs, by type.
    pub ahead_us: BTreeMap<DataType, Vec<i64>>,
}

/// A part of the work: some windows of a derivation, or its days.
#[derive(Clone, Debug)]
struct Step {
    derivation: &'static Derivation,
    /// The windows; `None` for a derivation of days.
    windows: Option<Vec<Windows>>,
    /// Whether the rows that were read for it are of no more use after it.
    ends_rows: bool,
}

/// Derivations of one patient under way.
#[derive(Debug)]
pub struct Batch {
    view: View,
    revisited: Vec<Windows>,
    steps: Vec<Step>,
    at: usize,
    /// Rows that were read ahead and are kept to the end.
    rows_ahead: usize,
    days_ahead: Option<DaysAhead>,
}

impl Batch {
    /// Begins a batch.
    pub fn new(start: Start) -> Self {
        let mut view = View::new(start.subject, start.now_ms, start.not_after_us);
        (view.seen, view.kept_from_us, view.touched) = (start.seen, start.kept_from_us, start.touched);
        let steps = steps(&view);
        Batch { view, revisited: start.revisited, steps, at: 0, rows_ahead: 0, days_ahead: None }
    }

    /// Returns the derivation that is computed next.
    pub fn next_derivation(&self) -> Option<&'static Derivation> {
        self.steps.get(self.at).map(|step| step.derivation)
    }

    /// Goes one step on.
    pub fn advance(&mut self) -> Progress {
        let Some(step) = self.steps.get(self.at) else { return Progress::Done };
        let ends_rows = step.ends_rows;
        // A computation begins again after each read instead of waiting in the middle: it then is a plain function,
        // and one snapshot serves all reads of a batch.
        while let Err(Missing(needs)) = self.compute() {
            let needs = self.take_from_ahead(needs);
            if !needs.is_empty() {
                return Progress::Missing(needs);
            }
        }
        if ends_rows {
            self.view.keep_rows(self.rows_ahead);
        }
        self.at += 1;
        Progress::Computed
    }

    /// Takes what is needed of the days that were read ahead; returns the other needs.
    fn take_from_ahead(&mut self, mut needs: Vec<Need>) -> Vec<Need> {
        let Some(ahead) = &self.days_ahead else { return needs };
        let mut answers: Vec<(Need, Answer)> = Vec::new();
        needs.retain(|need| match ahead.answer(*need) {
            // Two derivations may ask for the same range in one go; taking it twice would be a copy for nothing.
            Some(_) if answers.iter().any(|(answered, _)| answered == need) => false,
            Some(answer) => {
                answers.push((*need, answer));
                false
            }
            None => true,
        });
        for (_, answer) in answers {
            self.view.take(answer);
        }
        needs
    }

    fn compute(&mut self) -> Computed {
        let Step { derivation, windows, .. } = &self.steps[self.at];
        let windows = windows.as_deref().unwrap_or_default();
        match derivation.work {
            Work::Windows { compute, .. } => compute(&mut self.view, windows),
            Work::Days { after, compute } => {
                let days = self.days(derivation, after)?;
                if days.is_empty() { Ok(()) } else { compute(&mut self.view, &days) }
            }
            Work::Figure(figure) => {
                let days = self.days(derivation, 1)?;
                figure.of_days(derivation.version, &mut self.view, &days)
            }
        }
    }

    /// Returns the days that changed inputs of a derivation reach. A revisited day reaches the next one: nights begin
    /// the evening before.
    fn days(&self, derivation: &Derivation, after: i32) -> Computed<BTreeSet<LocalDay>> {
        for windows in &self.revisited {
            self.view.days.need(*days_around(windows).start(), *days_around(windows).end())?;
        }
        let revisited = self.revisited.iter().flat_map(|windows| self.view.days.with_cells_in(windows));
        // A night begins the evening before: what changes of a day reaches the next.
        let mut days: BTreeSet<LocalDay> = revisited.flat_map(|day| [day, LocalDay(day.0 + 1)]).collect();
        for input in DERIVATIONS.iter().filter(|input| derivation.takes(input)) {
            let changed: Vec<LocalDay> = match input.output {
                Some(Output::Slots) => {
                    let of_input = |data_type: DataType| input.row_types().any(|known| known == data_type);
                    let changed = self.view.days.changed().iter();
                    changed.filter(|(_, data_type)| of_input(*data_type)).map(|(day, _)| *day).collect()
                }
                Some(output) if output.is_of_days() => {
                    self.view.changed(output).map(|(key, _)| day_of(key).0).collect()
                }
                _ => Vec::new(),
            };
            days.extend(changed.into_iter().flat_map(|day| (day.0..=day.0 + after).map(LocalDay)));
        }
        Ok(days)
    }

    /// Takes what was read: what it asked for, or what it will ask for.
    pub fn take(&mut self, answer: Answer) {
        self.view.take(answer);
    }

    /// Takes days before anything was asked for.
    pub fn take_days_ahead(&mut self, days: DaysAhead) {
        self.days_ahead = Some(days);
    }

    /// Takes rows before anything was asked for; they are kept to the end.
    pub fn take_rows_ahead(&mut self, rows: Rows) {
        self.view.take(Answer::Rows(rows));
        self.rows_ahead += 1;
    }

    /// Ends the batch and returns what it changes.
    pub fn finish(self) -> Changes {
        let mut view = self.view;
        let (ahead_us, news) = (std::mem::take(&mut view.ahead_us), view.newest_news);
        let (rows, latest) = view.into_changes(aggregates::version_of);
        Changes { rows, latest, news, ahead_us }
    }
}

/// Plans the work: derivations that read the same rows go through them together, a part after the other.
fn steps(view: &View) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut rest = DERIVATIONS;
    while let Some(first) = rest.first() {
        let Work::Windows { at_once, .. } = first.work else {
            steps.push(Step { derivation: first, windows: None, ends_rows: false });
            rest = &rest[1..];
            continue;
        };
        let shares_rows = |derivation: &&Derivation| {
            let of_group = |data_type: DataType| rest_types(first).contains(&data_type);
            matches!(derivation.work, Work::Windows { at_once: other, .. } if other == at_once)
                && derivation.row_types().all(of_group)
        };
        let count = rest.iter().take_while(shares_rows).count().max(1);
        let (group, others) = rest.split_at(count);
        rest = others;
        steps.extend(steps_of_group(view, group, at_once));
    }
    steps
}

/// Returns the types whose rows are read with those of a derivation.
fn rest_types(derivation: &Derivation) -> Vec<DataType> {
    let own: Vec<DataType> = derivation.row_types().collect();
    let is_vital = own.iter().any(|data_type| VITAL_TYPES.contains(data_type));
    if is_vital { VITAL_TYPES.to_vec() } else { own }
}

fn steps_of_group(view: &View, group: &'static [Derivation], at_once: Option<i64>) -> Vec<Step> {
    let windows_of = |derivation: &Derivation| {
        let Work::Windows { aligned, .. } = derivation.work else { return Vec::new() };
        let touched = view.touched_of(&derivation.row_types().collect::<Vec<_>>());
        joined(touched.iter().map(|windows| widened(windows, aligned)).collect())
    };
    let group: Vec<(&'static Derivation, Vec<Windows>)> =
        group.iter().map(|derivation| (derivation, windows_of(derivation))).collect();
    let all = joined(group.iter().flat_map(|(_, windows)| windows).cloned().collect());
    let parts: Vec<Windows> = match at_once {
        Some(at_once) => all.iter().flat_map(|windows| cut(windows, at_once)).collect(),
        None => all.first().zip(all.last()).map(|(first, last)| first.start..last.end).into_iter().collect(),
    };
    let mut steps: Vec<Step> = Vec::new();
    for part in parts {
        for (derivation, windows) in &group {
            let inside = |windows: &Windows| windows.start.max(part.start)..windows.end.min(part.end);
            let windows: Vec<Windows> = windows.iter().map(inside).filter(|windows| !windows.is_empty()).collect();
            if !windows.is_empty() {
                steps.push(Step { derivation, windows: Some(windows), ends_rows: false });
            }
        }
        if let Some(last) = steps.last_mut() {
            last.ends_rows = true;
        }
    }
    steps
}
