//! What events mean to boards: rows that are other ones now, and boards that have to be read again.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use store::events::{Cursor, Event};
use store::{EventType, GroupCode, PatientId};

use super::board_event::BoardEvent;
use super::board_row::BoardRow;
use crate::core::access::Readable;
use crate::core::error::Result;
use crate::data::Data;
use crate::data::patient_rows::ROWS_AT_ONCE;

/// Events that are looked through for a listener that comes back; behind more of them, reading the board is cheaper.
const MOST_MISSED: usize = 10_000;

/// Returns what a listener has missed that comes back to a study.
pub(super) async fn missed(data: &Data, group_code: &GroupCode, last_seen: &str) -> Result<VecDeque<BoardEvent>> {
    let reload = || VecDeque::from([BoardEvent::Reload]);
    let Ok(last_seen) = last_seen.parse::<Cursor>() else { return Ok(reload()) };
    let mut missed = Changes::default();
    let (mut place, mut count) = (last_seen.clone(), 0);
    loop {
        let Ok(page) = data.events_after(&place).await? else { return Ok(reload()) };
        count += page.events().count();
        missed.add(page.events());
        // Looked at page by page: a cursor of last month must not be followed to its end first.
        if count > MOST_MISSED || missed.needs_reload(group_code) {
            return Ok(reload());
        }
        place = page.next();
        if !page.has_more() {
            break;
        }
    }
    let rows = rows_of(data, &missed.patients, |code| code == group_code).await?;
    Ok(missed.events_for(group_code, &rows, &last_seen, &place).into())
}

/// What events mean to boards.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Patients whose rows are other ones now.
    pub patients: BTreeSet<PatientId>,
    /// Studies that somebody has left.
    left: BTreeSet<GroupCode>,
    /// Whether it is not known any more which study somebody has left.
    unknown_left: bool,
}

/// A row, and the studies that show it.
pub(crate) struct ChangedRow {
    row: Arc<BoardRow>,
    studies: Vec<GroupCode>,
}

impl Changes {
    pub fn of<'event>(events: impl IntoIterator<Item = &'event Event>) -> Self {
        let mut changes = Changes::default();
        changes.add(events);
        changes
    }

    pub fn add<'event>(&mut self, events: impl IntoIterator<Item = &'event Event>) {
        for event in events {
            match event.event_type {
                EventType::SyncStored
                | EventType::SyncRepeated
                | EventType::LatestChanged
                | EventType::DayUpdated
                | EventType::NewsScored
                | EventType::DeviceChanged
                | EventType::PatientActivated
                | EventType::RowsVerified
                | EventType::PatientAttached => {
                    self.patients.insert(event.patient.clone());
                }
                // The data of a patient's earlier events go with the patient.
                EventType::PatientDetached => match event.body["group"].as_str() {
                    Some(code) => drop(self.left.insert(GroupCode::new(code))),
                    None => self.unknown_left = true,
                },
                EventType::PatientErased => {
                    let codes = event.body["groups"].as_array().into_iter().flatten();
                    self.left.extend(codes.filter_map(|code| code.as_str().map(GroupCode::new)));
                }
                EventType::DataDamaged | EventType::DataRestored | EventType::ExportFinished | EventType::Unknown => {}
            }
        }
    }

    pub fn needs_reload(&self, group_code: &GroupCode) -> bool {
        self.unknown_left || self.left.contains(group_code)
    }

    /// Events of a study's board. Only the last row carries the place behind all of them: a listener that goes
    /// away between two rows gets them again.
    pub fn events_for(
        &self,
        group_code: &GroupCode,
        rows: &[ChangedRow],
        before: &Cursor,
        behind: &Cursor,
    ) -> Vec<BoardEvent> {
        let (before, behind) = (before.to_string(), behind.to_string());
        let shown: Vec<_> = rows.iter().filter(|row| row.studies.iter().any(|code| code == group_code)).collect();
        let count = shown.len();
        let rows = shown.into_iter().enumerate().map(|(at, changed)| {
            let id = if at + 1 == count { &behind } else { &before };
            BoardEvent::Row { id: id.clone(), row: changed.row.clone() }
        });
        let reload = self.needs_reload(group_code).then_some(BoardEvent::Reload);
        reload.into_iter().chain(rows).collect()
    }
}

/// Returns the rows of those among some patients that wanted studies hold now.
pub(crate) async fn rows_of(
    data: &Data,
    patients: &BTreeSet<PatientId>,
    is_wanted: impl Fn(&GroupCode) -> bool,
) -> Result<Vec<ChangedRow>> {
    let mut held = data.core.users().groups_holding(patients.iter().cloned().collect()).await?;
    held.retain(|(_, code)| is_wanted(code));
    let mut uuids: Vec<PatientId> = held.iter().map(|(patient, _)| patient.clone()).collect();
    // The set is in the order of patients: one who is in several studies is read once.
    uuids.dedup();
    let mut changed = Vec::with_capacity(uuids.len());
    for part in Readable::for_board_listeners(uuids).into_parts(ROWS_AT_ONCE) {
        // Who cannot be read keeps what the boards show, with its times, until they are read again.
        for row in data.board_rows(part).await?.into_iter().filter(|row| !row.is_unreadable) {
            let of_patient = held.iter().filter(|(patient, _)| *patient == row.uuid);
            let studies = of_patient.map(|(_, code)| code.clone()).collect();
            changed.push(ChangedRow { row: Arc::new(row), studies });
        }
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use store::events::{LogCursor, Place};

    use super::*;

    fn event(event_type: EventType, patient: &str, body: Value) -> Event {
        let next = Place { position: 1, offset: 0 };
        Event { patient: PatientId::new(patient), sequence: 1, time_ms: 0, event_type, body, next }
    }

    fn cursor(offset: i64) -> Cursor {
        let log = || LogCursor { epoch: store::LogEpoch::new("e"), place: Place { position: 0, offset } };
        Cursor { users: log(), health: log() }
    }

    fn row(patient: &str, studies: &[&str]) -> ChangedRow {
        let row = BoardRow { name: patient.to_owned(), ..BoardRow::empty(PatientId::new(patient), 0) };
        ChangedRow { row: Arc::new(row), studies: studies.iter().map(|code| GroupCode::new(*code)).collect() }
    }

    /// Events of a board as texts: `reload`, or patient and whether the place is the one before or behind.
    fn events_of(changes: &Changes, code: &str, rows: &[ChangedRow]) -> Vec<String> {
        let (before, behind) = (cursor(1), cursor(2));
        let events = changes.events_for(&GroupCode::new(code), rows, &before, &behind);
        let text = |event: BoardEvent| match event {
            BoardEvent::Reload => "reload".to_owned(),
            BoardEvent::Row { id, row } if id == before.to_string() => format!("{} before", row.name),
            BoardEvent::Row { id, row } if id == behind.to_string() => format!("{} behind", row.name),
            BoardEvent::Row { id, .. } => panic!("{id}"),
        };
        events.into_iter().map(text).collect()
    }

    #[test]
    fn what_a_board_shows_of_a_patient_makes_a_row_once() {
        let shown = [
            EventType::SyncStored,
            EventType::SyncRepeated,
            EventType::LatestChanged,
            EventType::DayUpdated,
            EventType::NewsScored,
            EventType::DeviceChanged,
            EventType::PatientActivated,
            EventType::PatientAttached,
        ];
        for event_type in shown {
            let changes = Changes::of(&[event(event_type, "grace", json!({})), event(event_type, "grace", json!({}))]);
            assert_eq!(changes.patients, BTreeSet::from([PatientId::new("grace")]), "{event_type:?}");
            assert!(!changes.needs_reload(&GroupCode::new("AAAAA")), "{event_type:?}");
        }
        for event_type in [EventType::ExportFinished, EventType::Unknown] {
            let changes = Changes::of(&[event(event_type, "grace", json!({"group": "AAAAA"}))]);
            assert!(changes.patients.is_empty() && !changes.needs_reload(&GroupCode::new("AAAAA")), "{event_type:?}");
        }
    }

    #[test]
    fn who_leaves_has_the_boards_of_those_studies_read_again() {
        let needs = |event_type, body| {
            let changes = Changes::of(&[event(event_type, "grace", body)]);
            ["AAAAA", "BBBBB", "CCCCC"].map(|code| changes.needs_reload(&GroupCode::new(code)))
        };
        assert_eq!(needs(EventType::PatientDetached, json!({"group": "BBBBB"})), [false, true, false]);
        assert_eq!(needs(EventType::PatientErased, json!({"groups": ["AAAAA", "CCCCC"]})), [true, false, true]);
        assert_eq!(needs(EventType::PatientErased, json!({})), [false; 3], "of no study");
        // The data of an earlier event are gone after an erasure: it could have been any study.
        assert_eq!(needs(EventType::PatientDetached, json!({})), [true; 3]);
    }

    #[test]
    fn only_the_last_row_of_a_study_carries_the_place_behind_all() {
        let changes = Changes::default();
        let rows = [row("ada", &["AAAAA"]), row("bea", &["AAAAA", "BBBBB"]), row("cleo", &["BBBBB"]), row("dora", &[])];
        assert_eq!(events_of(&changes, "AAAAA", &rows), ["ada before", "bea behind"]);
        assert_eq!(events_of(&changes, "BBBBB", &rows), ["bea before", "cleo behind"]);
        assert_eq!(events_of(&changes, "CCCCC", &rows), [""; 0]);
        let left = Changes::of(&[event(EventType::PatientDetached, "eve", json!({"group": "AAAAA"}))]);
        assert_eq!(
            events_of(&left, "AAAAA", &rows),
            ["reload", "ada before", "bea behind"],
            "first who has gone, then rows"
        );
        assert_eq!(events_of(&left, "CCCCC", &rows), [""; 0]);
        assert_eq!(events_of(&left, "AAAAA", &[]), ["reload"]);
    }

    #[test]
    fn pages_of_events_add_up() {
        let mut changes = Changes::of(&[event(EventType::SyncStored, "ada", json!({}))]);
        changes.add(&[event(EventType::DayUpdated, "bea", json!({})), event(EventType::SyncStored, "ada", json!({}))]);
        changes.add(&[event(EventType::PatientDetached, "ada", json!({"group": "AAAAA"}))]);
        assert_eq!(changes.patients.len(), 2);
        assert!(changes.needs_reload(&GroupCode::new("AAAAA")));
        assert!(!changes.needs_reload(&GroupCode::new("BBBBB")));
    }
}
