//! An event as a study reads it.

use runtime::HashMap;
use serde_json::{Value, json};
use store::{EventType, GroupCode, PatientId, StudyAttachment};

use super::log_page::{Log, PlacedEvent, Places};

/// An event of a patient that a study held at its time.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupEvent {
    /// What happened.
    pub event_type: EventType,
    /// The subject.
    pub patient: PatientId,
    /// Time at which it happened, ms since 1970.
    pub time_ms: i64,
    /// Log that it is in.
    pub log: Log,
    /// Number among the patient's events of that log, from 1.
    pub sequence: i64,
    pub(crate) body: Value,
    pub(crate) behind: Places,
}

impl GroupEvent {
    pub(crate) fn new(placed: PlacedEvent) -> Self {
        let PlacedEvent { event, log, behind } = placed;
        let store::events::Event { patient, sequence, time_ms, event_type, body, next: _ } = event;
        GroupEvent { event_type, patient, time_ms, log, sequence, body, behind }
    }

    /// Identifier, the same however the event is read.
    pub fn id(&self) -> String {
        format!("{}.{}.{}", self.log.name(), self.patient, self.sequence)
    }

    /// Names of what changed, without a value.
    pub fn names(&self) -> Value {
        let body = &self.body;
        match self.event_type {
            EventType::SyncStored => json!({ "types": synced(body).map(|(name, _)| name).collect::<Vec<_>>() }),
            EventType::DayUpdated => json!({ "day": body["day"], "sections": body["sections"] }),
            EventType::DeviceChanged => json!({ "state": body["state"] }),
            EventType::ExportFinished => json!({ "export": body["export"], "state": body["state"] }),
            // Which study it was is said of every event.
            _ => json!({}),
        }
    }

    /// Names and values of what changed. Times are ms since 1970.
    pub fn values(&self) -> Value {
        let body = &self.body;
        match self.event_type {
            EventType::SyncStored => {
                json!({ "types": synced(body).map(|(name, _)| name).collect::<Vec<_>>(),
                    "rows": synced(body).map(rows_of_type).collect::<Vec<_>>(), "device": body["device"] == true })
            }
            // These hold what is shown, under the names of the interface.
            EventType::NewsScored | EventType::DeviceChanged => body.clone(),
            _ => self.names(),
        }
    }
}

fn synced(body: &Value) -> impl Iterator<Item = (&String, &Value)> {
    body["types"].as_object().into_iter().flatten()
}

/// What a sync stored of one type. Ranges are stored as first and last time in µs, and more that is of no use to readers.
fn rows_of_type((name, of_type): (&String, &Value)) -> Value {
    let ranges = || of_type["ranges"].as_array().into_iter().flatten();
    let ms = |us: Option<i64>| us.map(|us| us.div_euclid(1000));
    let from = ms(ranges().filter_map(|range| range[0].as_i64()).min());
    let to = ms(ranges().filter_map(|range| range[1].as_i64()).max());
    json!({ "type": name, "from": from, "to": to, "stored": of_type["stored"], "replaced": of_type["replaced"] })
}

/// Returns the studies that read an event. `attachments` are those of its patient.
pub(crate) fn studies_of(
    placed: &PlacedEvent,
    attachments: &HashMap<PatientId, Vec<StudyAttachment>>,
) -> Vec<GroupCode> {
    let body = &placed.event.body;
    let named = |code: &Value| code.as_str().map(GroupCode::new);
    match placed.event.event_type {
        // Which study a patient joins or leaves is the business of that study alone.
        EventType::PatientAttached | EventType::PatientDetached => named(&body["group"]).into_iter().collect(),
        // Those of that moment; nothing else is known of an erased patient any more.
        EventType::PatientErased => body["groups"].as_array().into_iter().flatten().filter_map(named).collect(),
        _ => {
            let of_patient = attachments.get(&placed.event.patient).into_iter().flatten();
            let mut codes: Vec<GroupCode> = of_patient
                .filter(|attachment| attachment.covers(placed.event.time_ms))
                .map(|attachment| attachment.group_code.clone())
                .collect();
            // Who left and came back within a millisecond was there twice.
            codes.sort_unstable();
            codes.dedup();
            codes
        }
    }
}

#[cfg(test)]
mod tests {
    use store::events::{Event, Place};

    use super::*;

    fn placed(event_type: EventType, time_ms: i64, body: Value) -> PlacedEvent {
        let place = Place::default();
        let event = Event { patient: PatientId::new("ada"), sequence: 7, time_ms, event_type, body, next: place };
        PlacedEvent { event, log: Log::Health, behind: Places { users: place, health: place } }
    }

    fn attachments(spans: &[(&str, i64, Option<i64>)]) -> HashMap<PatientId, Vec<StudyAttachment>> {
        let attachment = |(code, attached_ms, detached_ms): &(&str, i64, Option<i64>)| StudyAttachment {
            patient: PatientId::new("ada"),
            group_code: GroupCode::new(*code),
            attached_ms: *attached_ms,
            detached_ms: *detached_ms,
        };
        HashMap::from_iter([(PatientId::new("ada"), spans.iter().map(attachment).collect())])
    }

    fn codes(event_type: EventType, time_ms: i64, body: Value) -> Vec<String> {
        let spans = [("AAAAA", 10, Some(20)), ("AAAAA", 30, None), ("BBBBB", 15, None)];
        let found = studies_of(&placed(event_type, time_ms, body), &attachments(&spans));
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn study_reads_events_of_the_time_at_which_it_held_the_patient() {
        let of = |time_ms| codes(EventType::SyncStored, time_ms, json!({}));
        assert_eq!(of(9), [""; 0]);
        assert_eq!(of(10), ["AAAAA"]);
        assert_eq!(of(20), ["AAAAA", "BBBBB"]);
        assert_eq!(of(25), ["BBBBB"]);
        assert_eq!(of(30), ["AAAAA", "BBBBB"]);
    }

    #[test]
    fn joining_and_leaving_is_read_by_that_study_and_an_erasure_by_those_of_its_moment() {
        assert_eq!(codes(EventType::PatientDetached, 25, json!({"group": "AAAAA"})), ["AAAAA"]);
        // The data of an erased patient's earlier events are gone, and with them the study.
        assert_eq!(codes(EventType::PatientAttached, 25, json!({})), [""; 0]);
        assert_eq!(codes(EventType::PatientErased, 99, json!({"groups": ["CCCCC", "BBBBB"]})), ["CCCCC", "BBBBB"]);
    }

    #[test]
    fn values_are_only_in_what_is_asked_for_in_full() {
        let body = json!({"device": true, "types": {"activity": {"stored": 3, "replaced": 1,
            "ranges": [[2_000_999, 3_000_000, 2, null], [1_000_500, 1_000_500, 1, null]]}}});
        let event = GroupEvent::new(placed(EventType::SyncStored, 9, body));
        assert_eq!(event.id(), "health.ada.7");
        assert_eq!(event.names(), json!({"types": ["activity"]}));
        let rows = json!([{"type": "activity", "from": 1000, "to": 3000, "stored": 3, "replaced": 1}]);
        assert_eq!(event.values(), json!({"types": ["activity"], "rows": rows, "device": true}));
        let battery =
            GroupEvent::new(placed(EventType::DeviceChanged, 9, json!({"state": "battery_low", "battery_level": 9})));
        assert_eq!(battery.names(), json!({"state": "battery_low"}));
        assert_eq!(battery.values(), json!({"state": "battery_low", "battery_level": 9}));
        let worn = GroupEvent::new(placed(EventType::DeviceChanged, 9, json!({"state": "not_worn", "time_ms": 5})));
        assert_eq!(worn.names(), json!({"state": "not_worn"}));
        assert_eq!(worn.values(), json!({"state": "not_worn", "time_ms": 5}));
        let erased = GroupEvent::new(placed(EventType::PatientErased, 9, json!({"groups": ["AAAAA", "BBBBB"]})));
        // A study does not learn in which others a patient was.
        assert_eq!(erased.values(), json!({}));
    }
}
