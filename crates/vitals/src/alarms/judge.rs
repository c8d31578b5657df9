//! Judging: what the rows of a signal say about a rule, row by row.

use serde::{Deserialize, Serialize};

use super::ending::Ending;
use super::episode::{Episode, Unknown};
use super::finding::{Breach, Finding, find};
use super::level::NEWS2_LEVELS;
use super::machine::{Machine, Transition};
use super::sample::{Reason, Sample};
use super::span::Span;
use crate::latest::Timed;

/// What is known of a rule after some rows: all that judging the rows after them needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// One a level; those that the rule has not stay normal.
    machines: [Machine; NEWS2_LEVELS.len()],
    /// Time of the last row, ms.
    last_ms: Option<i64>,
    /// Since when nothing could be judged, and why.
    unknown: Option<(i64, Reason)>,
    /// Value farthest beyond its threshold since the breach began, and how far it lies beyond.
    farthest: Option<(Timed, f64)>,
    open: Option<Episode>,
}

/// State of a rule at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Nothing is breached.
    Normal,
    /// It is breached, for less time than the rule asks for.
    Pending,
    /// An episode is open.
    Active,
    /// An episode is open, and values are cleared for less time than the rule asks for.
    Recovering,
    /// Cannot be judged. An episode may be open.
    Unknown,
}

/// What is known of a rule at a time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    /// The state.
    pub state: State,
    /// Since when it cannot be judged, ms, and why.
    pub unknown_since: Option<(i64, Reason)>,
    /// The episode that is open; one that ended by that time because nothing could be judged, with its end.
    pub episode: Option<Episode>,
}

impl Judgement {
    /// Takes rows, which ascend in time, and returns the episodes that they end. Rows that were taken already, and those
    /// of other times than the rule's, are left out.
    pub fn judge(&mut self, span: &Span, samples: &[Sample]) -> Vec<Episode> {
        let mut ended = Vec::new();
        for sample in samples {
            // A row that is taken twice would open an episode after the one that it has closed.
            let is_new = self.last_ms.is_none_or(|last_ms| sample.time_ms > last_ms);
            if is_new && span.contains(sample.time_ms) {
                ended.extend(self.pass(span, sample.time_ms));
                ended.extend(self.row(span, sample));
            }
        }
        ended
    }

    /// Ends the span where the rule is valid no more; returns the episode that ends with it.
    pub fn end(&mut self, span: &Span) -> Option<Episode> {
        let (until_ms, ending) = span.until?;
        // Nothing may be judged for so long that it ended before.
        self.pass(span, until_ms).or_else(|| self.close(until_ms, ending))
    }

    /// Returns the open episode as the rows show it, without a clock.
    pub fn open(&self) -> Option<Episode> {
        let mut episode = self.open.clone()?;
        if let Some((from_ms, reason)) = self.unknown {
            episode.unknown.push(Unknown { from_ms, to_ms: None, reason });
        }
        Some(episode)
    }

    /// Returns what is known at a time, which is not before the last row.
    pub fn at(&self, span: &Span, time_ms: i64) -> Status {
        let mut later = self.clone();
        let ended = later.pass(span, time_ms);
        let state = match later.machines[0] {
            _ if later.unknown.is_some() => State::Unknown,
            Machine::Normal => State::Normal,
            Machine::Pending { .. } => State::Pending,
            Machine::Active { .. } => State::Active,
            Machine::Recovering { .. } => State::Recovering,
        };
        Status { state, unknown_since: later.unknown, episode: ended.or_else(|| later.open()) }
    }

    /// Lets time pass until a row or until somebody asks; returns the episode that ends meanwhile.
    fn pass(&mut self, span: &Span, time_ms: i64) -> Option<Episode> {
        let last_ms = self.last_ms.unwrap_or(span.from_ms);
        if time_ms - last_ms > span.rule.signal.largest_gap_ms() {
            // From the last row and not from the end of the gap that is allowed: that is how long nobody knows.
            self.set_unknown(last_ms, Some(Reason::NoData));
            self.machines.iter_mut().for_each(Machine::restart);
        }
        let mut ended = None;
        // The highest first: it is judged by fewer rows, and leaves the lower ones open.
        for level in (0..self.machines.len()).rev() {
            let Some(end_ms) = self.machines[level].expire(time_ms) else { continue };
            if level == 0 {
                ended = self.close(end_ms, Ending::NotJudged);
            } else if let Some(open) = &mut self.open {
                open.set_level(end_ms, level as u8);
            }
        }
        ended
    }

    fn row(&mut self, span: &Span, sample: &Sample) -> Option<Episode> {
        let time_ms = sample.time_ms;
        let since_last_ms = self.last_ms.map_or(0, |last_ms| time_ms - last_ms);
        self.last_ms = Some(time_ms);
        if self.machines[0].is_normal() {
            self.farthest = None;
        }
        let (mut transition, mut level) = (None, 0);
        for number in 1..=span.rule.level_count() {
            let machine = &mut self.machines[usize::from(number) - 1];
            let finding = find(&span.rule, number, sample, machine.side());
            let found = machine.step(&span.rule, time_ms, since_last_ms, finding);
            // Levels are nested: what reaches a level reaches those below it.
            level = if machine.is_open() { number } else { level };
            if number == 1 {
                transition = found;
                self.note(time_ms, finding);
            }
        }
        match transition {
            Some(Transition::Closed) => return self.close(time_ms, Ending::Cleared),
            Some(Transition::Opened { since_ms }) => self.open = Some(Episode::open(span, since_ms, time_ms)),
            None => {}
        }
        if let Some(open) = &mut self.open {
            open.extreme = self.farthest.map(|(timed, _)| timed);
            // A level that cannot be judged stays as it was.
            open.set_level(time_ms, level);
        }
        None
    }

    /// Keeps what a row says of the lowest level, which knows whatever the others know.
    fn note(&mut self, time_ms: i64, finding: Finding) {
        match finding {
            Finding::Unknown(reason) => self.set_unknown(time_ms, Some(reason)),
            _ => self.set_unknown(time_ms, None),
        }
        let Finding::Breach(Breach { value: Some((value, beyond)), .. }) = finding else { return };
        // Of values that lie equally far beyond, the first is kept, so that a longer episode does not move it.
        if self.farthest.is_none_or(|(_, farthest)| beyond > farthest) {
            self.farthest = Some((Timed { value, timestamp_ms: time_ms }, beyond));
        }
    }

    /// Ends what is unknown so far at a time, and begins what is unknown from then on, unless it goes on.
    fn set_unknown(&mut self, time_ms: i64, reason: Option<Reason>) {
        let known = self.unknown;
        if known.map(|(_, reason)| reason) == reason {
            return;
        }
        self.unknown = reason.map(|reason| (time_ms, reason));
        self.keep_unknown(known, time_ms);
    }

    fn keep_unknown(&mut self, unknown: Option<(i64, Reason)>, to_ms: i64) {
        let (Some(open), Some((from_ms, reason))) = (&mut self.open, unknown) else { return };
        if from_ms < to_ms {
            open.unknown.push(Unknown { from_ms, to_ms: Some(to_ms), reason });
        }
    }

    /// Closes the episode that is open, whatever the machines say.
    fn close(&mut self, time_ms: i64, ending: Ending) -> Option<Episode> {
        self.keep_unknown(self.unknown, time_ms);
        self.machines = Default::default();
        let mut episode = self.open.take()?;
        episode.close(time_ms, ending);
        Some(episode)
    }
}

/// Returns all episodes of a rule, the open one last.
pub fn episodes(span: &Span, samples: &[Sample]) -> Vec<Episode> {
    let mut judgement = Judgement::default();
    let mut episodes = judgement.judge(span, samples);
    episodes.extend(judgement.end(span));
    episodes.extend(judgement.open());
    episodes
}

/// Returns the time from which rows have to be judged, beginning with nothing, so that whatever holds from `at_ms` on is
/// as if all rows had been judged. `open` is the episode that is open then, by the rows before.
///
/// An episode lasts as long as it likes, but its start is known. Apart from it nothing reaches across a time but a count
/// that is pending: shorter than `for_s`, and ended by the largest gap.
pub fn judged_from_ms(span: &Span, open: Option<&Episode>, at_ms: i64) -> i64 {
    let pending_ms = i64::from(span.rule.for_s) * 1000 + span.rule.signal.largest_gap_ms();
    open.map_or(at_ms - pending_ms, |open| open.id.start_ms).max(span.from_ms)
}
