//! Messages from one database to the other: hidden from readers, kept until they are delivered, empty afterwards.

use std::collections::BTreeSet;

use serde_json::json;

use super::example_rows::{message, patient, with_ada_in};
use super::{Stores, audit, deliver_entries_of, export_entry, no_settings, on_both_engines};
use crate::events::{EventType, Followed, MessageKey};
use crate::ids::{ExportId, MessageId, PatientId};
use crate::{AccountId, Alarm, GroupCode, HealthChange, HealthMessage, NewExport, Profile};

on_both_engines! {
    delivered_message_is_empty
    readers_of_the_log_see_no_messages
    undelivered_messages_come_in_pages
    undelivered_message_does_not_expire
    erased_patient_leaves_undelivered_entries_without_details
}

fn alarms(name: &str, created_ms: i64) -> HealthMessage {
    let alarms = vec![Alarm { vital: "secret of Grace".to_owned(), below: None, above: None, for_s: 0 }];
    let change = HealthChange::SetAlarms { uuid: PatientId::new(format!("uuid-{name}")), alarms };
    HealthMessage { id: MessageId::new(""), change, entries: vec![export_entry(name)], created_ms }
}

async fn enrol(stores: &Stores, name: &str) {
    let added = stores
        .users
        .add_patient(patient(name), &GroupCode::new("AAAAA"), message(&format!("i-{name}"), 0), no_settings())
        .await;
    added.expect("a patient");
    stores
        .users
        .complete(&MessageKey::of_id(&MessageId::new(format!("i-{name}"))), audit(Vec::new(), 0))
        .await
        .expect("an answer");
}

async fn delivered_message_is_empty(stores: Stores) {
    const ROWS: &str = "SELECT type, body, message FROM event ORDER BY position";
    with_ada_in(&stores, &["AAAAA"]).await;
    enrol(&stores, "grace").await;
    stores.users.enqueue(alarms("grace", 5)).await.expect("enqueued");
    stores.users.enqueue(message("m", 5)).await.expect("enqueued");
    let pending = stores.users.messages_of(&PatientId::new("uuid-grace")).await.expect("a list");
    let [pending] = &pending[..] else { panic!("{pending:?}") };
    assert_eq!((pending.key.sequence, pending.created_ms, &pending.entries), (2, 5, &vec![export_entry("grace")]));
    for key in [&pending.key, &MessageKey::of_id(&MessageId::new("m"))] {
        assert!(stores.users.complete(key, audit(Vec::new(), 9)).await.expect("an answer"));
        assert!(!stores.users.complete(key, audit(vec![export_entry("late")], 9)).await.expect("an answer"));
    }
    let rows = stores.users.db.read(async |tx| {
        tx.query(ROWS, &[], |row| Ok((row.get::<String>(0)?, row.get::<String>(1)?, row.get::<Option<String>>(2)?)))
            .await
    });
    let mut rows = rows.await.expect("rows");
    rows.retain(|(event_type, ..)| event_type == "message");
    assert_eq!(rows, vec![("message".to_owned(), "{}".to_owned(), None); 3]);
    assert_eq!(stores.users.verify_audit().await.expect("a chain"), (0, None));
}

async fn readers_of_the_log_see_no_messages(stores: Stores) {
    with_ada_in(&stores, &["AAAAA", "BBBBB"]).await;
    enrol(&stores, "grace").await;
    stores.users.enqueue(alarms("grace", 5)).await.expect("enqueued");
    stores
        .users
        .attach_patient(&GroupCode::new("BBBBB"), &PatientId::new("uuid-grace"), no_settings(), audit(Vec::new(), 5))
        .await
        .expect("attached");
    let log = stores.users.events();
    while log.lag_ms(i64::MAX).await.expect("a number") > 0 {
        runtime::sleep(std::time::Duration::from_millis(1)).await;
    }
    for limit in [1, 10] {
        let mut cursor = log.oldest().await.expect("a cursor");
        let mut seen = Vec::new();
        loop {
            let followed = log.read_after(&cursor, limit).await.expect("a page");
            let Followed::Page(page) = followed else { panic!("{followed:?}") };
            seen.extend(page.events.into_iter().map(|event| (event.event_type, event.sequence)));
            cursor = page.next;
            if !page.more {
                break;
            }
        }
        assert_eq!(seen, [(EventType::PatientAttached, 1), (EventType::PatientAttached, 3)]);
    }
    let after = log.after(&PatientId::new("uuid-grace"), 1, 9).await.expect("a list");
    assert_eq!(after.iter().map(|event| event.sequence).collect::<Vec<_>>(), [3]);
}

async fn undelivered_messages_come_in_pages(stores: Stores) {
    with_ada_in(&stores, &["AAAAA"]).await;
    enrol(&stores, "grace").await;
    for number in 0..130 {
        stores.users.enqueue(message(&number.to_string(), number)).await.expect("enqueued");
    }
    for _ in 0..2 {
        stores.users.enqueue(alarms("grace", 3)).await.expect("enqueued");
    }
    let (mut seen, mut last) = (Vec::new(), None);
    loop {
        let keys = stores.users.events().undelivered(120, last).await.expect("a list");
        let Some(key) = keys.last() else { break };
        last = Some(key.clone());
        seen.push(keys);
    }
    assert_eq!(seen.iter().map(Vec::len).collect::<Vec<_>>(), [100, 23]);
    let seen: Vec<MessageKey> = seen.concat();
    let expected: BTreeSet<MessageKey> =
        (0..=120).map(|number| MessageKey::of_id(&MessageId::new(number.to_string()))).collect();
    assert_eq!(seen[..121].iter().cloned().collect::<BTreeSet<_>>(), expected);
    let of_grace = |sequence| MessageKey { patient: PatientId::new("uuid-grace"), sequence };
    assert_eq!(seen[121..], [of_grace(2), of_grace(3)]);
    assert_eq!((seen[0].patient(), seen[121].patient()), (None, Some(&PatientId::new("uuid-grace"))));
}

async fn undelivered_message_does_not_expire(stores: Stores) {
    with_ada_in(&stores, &["AAAAA"]).await;
    enrol(&stores, "grace").await;
    stores.users.enqueue(alarms("grace", 5)).await.expect("enqueued");
    stores.users.enqueue(message("newest", 6)).await.expect("enqueued");
    let log = stores.users.events();
    while log.lag_ms(i64::MAX).await.expect("a number") > 0 {
        runtime::sleep(std::time::Duration::from_millis(1)).await;
    }
    assert_eq!(log.expire(1_000, 100).await.expect("a count"), 2, "the enrolment");
    assert_eq!(log.expire(1_000, 100).await.expect("a count"), 0);
    let pending = stores.users.messages_of(&PatientId::new("uuid-grace")).await.expect("a list");
    assert!(stores.users.complete(&pending[0].key, audit(Vec::new(), 9)).await.expect("an answer"));
    assert_eq!(log.expire(1_000, 100).await.expect("a count"), 1);
}

async fn erased_patient_leaves_undelivered_entries_without_details(stores: Stores) {
    let put = HealthChange::PutPatient {
        uuid: PatientId::new("uuid-grace"),
        record_id: crate::ids::RecordId::new("r"),
        customer_code: None,
        profile: Profile::default(),
        at_ms: 1,
    };
    stores.health.apply(put).await.expect("a patient");
    let export = NewExport {
        id: ExportId::new("e1"),
        patient: PatientId::new("uuid-grace"),
        actor: AccountId::new("ada"),
        request: json!({"types": ["ppg2"]}).to_string(),
        entry: export_entry("e1"),
        now_ms: 1,
        interval_ms: 1,
    };
    stores.health.begin_export(export).await.expect("begun");
    stores.health.erase_rows(&PatientId::new("uuid-grace"), 50).await.expect("erased");
    let pending = stores.health.entries_of(&PatientId::new("uuid-grace")).await.expect("a list");
    assert_eq!(pending[0].entries, [crate::NewAuditEntry { details: None, ..export_entry("e1") }]);
    assert_eq!(deliver_entries_of(&stores, "uuid-grace").await, 1);
    assert_eq!(deliver_entries_of(&stores, "uuid-grace").await, 0);
    assert_eq!(stores.users.verify_audit().await.expect("a chain"), (1, None));
}

/// A patient's messages are found without looking at all events of the patient.
#[tokio::test]
async fn messages_have_an_index_of_their_own() {
    const PLAN: &str = "EXPLAIN QUERY PLAN SELECT patient, sequence, time_ms, message FROM event
        WHERE patient = $1 AND message IS NOT NULL ORDER BY sequence";
    let stores = Stores::sqlite().await;
    let plan = stores.users.db.read(async |tx| tx.query(PLAN, &[&"uuid"], |row| row.get::<String>(3)).await).await;
    assert_eq!(plan.expect("a plan"), ["SEARCH event USING INDEX event_message (patient=?)"]);
}
