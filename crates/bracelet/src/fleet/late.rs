//! What is sent late because a story says so.

use rand::seq::SliceRandom;

use crate::body::Window;
use crate::patient::Patient;
use crate::randomness::Subject;
use crate::time::HOUR_MS;

/// A window, and when it is sent: none for at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub window: Window,
    pub due_ms: Option<i64>,
}

/// Cuts a window so that each piece is wholly withheld or not at all; those withheld are an hour long at most, so that
/// there is something to put out of order.
pub(crate) fn cut(patient: &Patient, window: Window) -> Vec<Piece> {
    let due_ms = |at_ms| patient.stories.iter().find_map(|story| story.arrival_ms(at_ms));
    let phases = patient.stories.iter().flat_map(|story| &story.phases);
    let mut cuts: Vec<i64> = phases.flat_map(|phase| [phase.start_ms, phase.end_ms]).collect();
    cuts.retain(|at_ms| due_ms(*at_ms).is_some() || due_ms(*at_ms - 1).is_some());
    cuts.sort_unstable();
    let mut pieces = Vec::new();
    let mut from_ms = window.from_ms;
    while from_ms < window.to_ms {
        let next_cut_ms = cuts.iter().find(|at_ms| **at_ms > from_ms).copied().unwrap_or(i64::MAX);
        let due_ms = due_ms(from_ms);
        let longest_ms = if due_ms.is_some() { from_ms + HOUR_MS } else { i64::MAX };
        let to_ms = window.to_ms.min(next_cut_ms).min(longest_ms);
        pieces.push(Piece { window: Window { from_ms, to_ms }, due_ms });
        from_ms = to_ms;
    }
    pieces
}

/// Returns what is sent of these windows up to `now_ms`: what was never withheld in the order given, then what was, out
/// of order. What is due later is left out.
pub(crate) fn arrived(patient: &Patient, windows: Vec<Window>, now_ms: i64) -> Vec<Window> {
    if !is_ever_late(patient) {
        return windows;
    }
    let pieces: Vec<Piece> = windows.into_iter().flat_map(|window| cut(patient, window)).collect();
    let mut sent: Vec<Window> =
        pieces.iter().filter(|piece| piece.due_ms.is_none()).map(|piece| piece.window).collect();
    let mut late = pieces;
    sent.extend(release(patient, &mut late, now_ms));
    sent
}

/// Takes out what is due by `now_ms`, out of order.
pub(crate) fn release(patient: &Patient, held: &mut Vec<Piece>, now_ms: i64) -> Vec<Window> {
    let is_due = |piece: &Piece| piece.due_ms.is_some_and(|due_ms| due_ms <= now_ms);
    let mut due: Vec<Window> = held.iter().filter(|piece| is_due(piece)).map(|piece| piece.window).collect();
    held.retain(|piece| !is_due(piece));
    if let Some(first_ms) = due.first().map(|window| window.from_ms) {
        due.shuffle(&mut patient.randomness.stream(Subject::SyncId, first_ms));
    }
    due
}

/// Returns whether a story of the patient withholds anything: all others are sent as they always were.
pub(crate) fn is_ever_late(patient: &Patient) -> bool {
    patient.stories.iter().any(|story| story.phases.iter().any(|phase| story.arrival_ms(phase.start_ms).is_some()))
}

/// Returns what of the time before `now_ms` is still withheld then.
pub(crate) fn still_held(patient: &Patient, past: Window) -> Vec<Piece> {
    if !is_ever_late(patient) {
        return Vec::new();
    }
    cut(patient, past).into_iter().filter(|piece| piece.due_ms.is_some_and(|due_ms| due_ms > past.to_ms)).collect()
}
