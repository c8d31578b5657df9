//! Security events that come in numbers: failed logins, wrong second factors, refusals.
//!
//! The first of a minute is written at once. The same again, by the same caller from the same address, is counted and
//! written as one event with its count when the minute is over. Beyond [`MOST`] different ones a minute only their types
//! are counted, so that no flood fills the database: a node writes at most twice [`MOST`] and a few events a minute.
//! A node that is killed loses the counts of its last minute and never a first event; one that is stopped writes them.

use std::sync::{Mutex, PoisonError};

use runtime::HashMap;
use store::NewSecurityEvent;

/// Time for which the same is counted before it is written, ms.
pub(crate) const WINDOW_MS: i64 = 60_000;
/// Different events that are distinguished within the time.
const MOST: usize = 256;

/// Events of the present minute.
#[derive(Default)]
pub(crate) struct Repeats(Mutex<Minute>);

#[derive(Default)]
struct Minute {
    began_ms: i64,
    /// How many of each have come that are not written yet.
    waiting: HashMap<NewSecurityEvent, i64>,
    is_timed: bool,
}

/// Treatment of an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Noted {
    /// Events to write now.
    pub write: Vec<NewSecurityEvent>,
    /// Whether somebody has to see to it that [`Repeats::take`] is called after the minute.
    pub needs_timer: bool,
}

impl Repeats {
    /// Takes note of an event, which represents one.
    pub(crate) fn note(&self, event: NewSecurityEvent, now_ms: i64) -> Noted {
        let mut minute = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut write = if now_ms - minute.began_ms >= WINDOW_MS { minute.end(now_ms) } else { Vec::new() };
        let is_new = !minute.waiting.contains_key(&event);
        if is_new && minute.waiting.len() < MOST {
            minute.waiting.insert(event.clone(), 0);
            write.push(event);
            return Noted { write, needs_timer: false };
        }
        let counted = if is_new { NewSecurityEvent::new(event.event_type) } else { event };
        *minute.waiting.entry(counted).or_default() += 1;
        let needs_timer = !minute.is_timed;
        minute.is_timed = true;
        Noted { write, needs_timer }
    }

    /// Forgets what is counted under hashes of names.
    pub(crate) fn forget(&self, name_hashes: &[String]) {
        let mut minute = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        minute.waiting.retain(|event, _| !event.name_hash.as_ref().is_some_and(|hash| name_hashes.contains(hash)));
    }

    /// Ends the minute; returns what was counted in it.
    pub(crate) fn take(&self, now_ms: i64) -> Vec<NewSecurityEvent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).end(now_ms)
    }
}

impl Minute {
    fn end(&mut self, now_ms: i64) -> Vec<NewSecurityEvent> {
        self.began_ms = now_ms;
        self.is_timed = false;
        let counted = self.waiting.drain().filter(|(_, count)| *count > 0);
        counted.map(|(event, count)| NewSecurityEvent { count, ..event }).collect()
    }
}

#[cfg(test)]
mod tests {
    use store::SecurityEventType;

    use super::*;

    fn failed(from: usize) -> NewSecurityEvent {
        let address = Some(format!("192.0.2.{from}"));
        NewSecurityEvent { address, ..NewSecurityEvent::new(SecurityEventType::LoginFailed) }
    }

    #[test]
    fn first_is_written_at_once_and_the_same_again_with_its_count() {
        let repeats = Repeats::default();
        let at_once = Noted { write: vec![failed(1)], needs_timer: false };
        assert_eq!(repeats.note(failed(1), WINDOW_MS), at_once);
        assert_eq!(repeats.note(failed(2), WINDOW_MS).write, [failed(2)]);
        assert_eq!(repeats.note(failed(1), WINDOW_MS), Noted { write: Vec::new(), needs_timer: true });
        assert_eq!(repeats.note(failed(1), WINDOW_MS + 1), Noted { write: Vec::new(), needs_timer: false });
        let later = repeats.note(failed(3), 2 * WINDOW_MS).write;
        assert_eq!(later, [NewSecurityEvent { count: 2, ..failed(1) }, failed(3)]);
        assert_eq!(repeats.note(failed(1), 2 * WINDOW_MS).write, [failed(1)], "another minute");
    }

    #[test]
    fn what_the_minute_has_counted_is_taken_once() {
        let repeats = Repeats::default();
        for _ in 0..5 {
            repeats.note(failed(1), WINDOW_MS);
        }
        assert_eq!(repeats.take(WINDOW_MS), [NewSecurityEvent { count: 4, ..failed(1) }]);
        assert_eq!(repeats.take(WINDOW_MS), []);
    }

    #[test]
    fn name_that_is_forgotten_is_not_written_any_more() {
        let repeats = Repeats::default();
        let named = |name: &str| NewSecurityEvent { name_hash: Some(name.to_owned()), ..failed(1) };
        for event in [named("a"), named("b"), failed(1), named("a"), named("b"), failed(1)] {
            repeats.note(event, WINDOW_MS);
        }
        repeats.forget(&["a".to_owned()]);
        let mut left = repeats.take(WINDOW_MS);
        left.sort_by_key(|event| event.name_hash.clone());
        assert_eq!(left, [NewSecurityEvent { count: 1, ..failed(1) }, NewSecurityEvent { count: 1, ..named("b") }]);
    }

    #[test]
    fn flood_from_everywhere_is_counted_by_its_type_alone() {
        let repeats = Repeats::default();
        let written: usize = (0..10_000).map(|from| repeats.note(failed(from), WINDOW_MS).write.len()).sum();
        assert_eq!(written, MOST);
        let counted = repeats.take(WINDOW_MS);
        let rest = i64::try_from(10_000 - MOST).expect("a count");
        assert_eq!(
            counted,
            [NewSecurityEvent { count: rest, ..NewSecurityEvent::new(SecurityEventType::LoginFailed) }]
        );
    }
}
