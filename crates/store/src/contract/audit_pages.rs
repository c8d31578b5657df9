//! The audit log read in pages: the same entries as one statement finds, while others write.
#![allow(clippy::disallowed_methods, reason = "a page must not wait for the writer, which a time-out shows")]

use crate::names::ActionCode;
use std::time::Duration;

use super::example_rows::{account, message, patient, with_ada_in};
use super::held_head::HeldHead;
use super::{Stores, audit, audit_entries, no_settings, on_both_engines};
use crate::engine::{Row, Tx};
use crate::ids::{AttachmentId, AuditEntryId, EntityId, PatientId, SerialNumber};
use crate::{
    AccountId, ActorRole, ApiKey, ApiKeyId, AuditEntry, AuditQuery, Bracelet, BraceletId, Entity, GroupCode,
    NewAuditEntry, Role, UserId, UserRole,
};

/// The most entries that a page may have, so that memory does not grow with the log.
const PAGE: usize = 1000;
const ENTRIES: i64 = 3_600;
/// Within these numbers the time does not move, for longer than a page.
const STILL: std::ops::Range<i64> = 1_000..2_300;

/// Finds in one statement what pages have to find.
const UNPAGED: &str = "SELECT id FROM audit_entry
    WHERE (user_id = $1 OR primary_entity_id = $1 OR secondary_entity_id = $1)
    AND time_ms >= $2 AND time_ms <= $3 AND ($4 = '' OR action_type = $4)
    AND ($5 = ''
        OR EXISTS (SELECT 1 FROM api_key_group s JOIN membership m ON m.group_code = s.group_code
            JOIN study_group g ON g.code = s.group_code
            WHERE s.api_key = $5 AND m.account = $1
            AND (g.id = secondary_entity_id
                 OR g.id = primary_entity_id AND COALESCE(secondary_entity_type, '') <> 'group.id'))
        OR COALESCE(secondary_entity_type, '') <> 'group.id'
            AND EXISTS (SELECT 1 FROM api_key_group s JOIN membership m ON m.group_code = s.group_code
                JOIN group_patient h ON h.group_code = s.group_code
                LEFT JOIN bracelet_attachment w ON w.patient = h.patient AND w.detached_ms IS NULL
                WHERE s.api_key = $5 AND m.account = $1
                AND (h.patient = primary_entity_id OR h.patient = secondary_entity_id
                     OR w.bracelet = primary_entity_id OR w.bracelet = secondary_entity_id)))
    ORDER BY number";

on_both_engines! {
    pages_hold_exactly_what_one_statement_finds
    reading_ends_where_the_log_ended_when_it_began
    page_is_read_while_an_entry_is_being_written
}

/// Ada and Bob are in A and B; Grace is a patient of A and wears a bracelet, Hedy is one of B. Ada has a key for A.
async fn with_people(stores: &Stores) {
    with_ada_in(stores, &["AAAAA", "BBBBB"]).await;
    let users = &stores.users;
    users.add_account(account("bob")).await.expect("an account");
    for (name, code) in [("grace", "AAAAA"), ("hedy", "BBBBB")] {
        users
            .add_patient(patient(name), &GroupCode::new(code), message(name, 0), no_settings())
            .await
            .expect("a patient");
    }
    let bracelet = Bracelet {
        id: BraceletId::new("id-band"),
        serial_number: SerialNumber::new("band"),
        device_type: "wrist".to_owned(),
        firmware_version: None,
        registered_by: AccountId::new("uuid-ada"),
        created_ms: 1,
        worn_by: None,
    };
    users.add_bracelet(bracelet, audit(Vec::new(), 0)).await.expect("a bracelet");
    users
        .attach_bracelet(
            &AttachmentId::new("worn"),
            &BraceletId::new("id-band"),
            &PatientId::new("uuid-grace"),
            2,
            message("worn", 0),
        )
        .await
        .expect("attached");
    let key = ApiKey {
        id: ApiKeyId::new("key-of-a"),
        key_hash: vec![1],
        prefix: String::new(),
        account: AccountId::new("uuid-ada"),
        is_scoped: true,
        name: None,
        created_ms: 0,
        expires_ms: None,
        revoked_ms: None,
        last_used_ms: None,
    };
    users.add_api_key(key, vec![GroupCode::new("AAAAA")]).await.expect("a key");
}

fn time_ms(number: i64) -> i64 {
    if STILL.contains(&number) { STILL.start } else { number }
}

/// Entries in which everybody appears in every place, often in two at once.
fn entry(number: i64) -> NewAuditEntry {
    let entities = [
        ("uuid-grace", "patient.id"),
        ("uuid-hedy", "patient.id"),
        ("id-AAAAA", "group.id"),
        ("id-BBBBB", "group.id"),
        ("id-band", "bracelet.id"),
        ("uuid-ada", "user.id"),
        ("uuid-bob", "doctor.uuid"),
    ];
    let entity = |at: i64| {
        let (id, kind) = entities[at as usize % entities.len()];
        Entity { id: EntityId::new(id), kind: kind.to_owned() }
    };
    NewAuditEntry {
        id: AuditEntryId::new(format!("entry-{number}")),
        action_type: if number % 5 == 0 { "Y" } else { "X" }.to_owned(),
        user_id: UserId::new(if number % 3 == 0 { "uuid-bob" } else { "uuid-ada" }),
        user_role: ActorRole::User(UserRole::Account(Role::Researcher)),
        primary: entity(number),
        secondary: (number % 4 != 0).then(|| entity(number / 7)),
        details: Some(format!("{{\"number\":{number}}}")),
        salt: [3; 16],
    }
}

/// Writes entries of one time with one transaction.
async fn write(stores: &Stores, numbers: impl Iterator<Item = i64>, now_ms: i64) {
    let entries: Vec<NewAuditEntry> = numbers.map(entry).collect();
    stores.users.record(audit(entries, now_ms)).await.expect("written");
}

async fn with_entries(stores: &Stores) {
    with_people(stores).await;
    // Times do not move for fifty entries each, and once for much longer.
    for first in (0..ENTRIES).step_by(50) {
        write(stores, first..first + 50, time_ms(first)).await;
    }
}

fn query(appears: &str, range: (i64, i64), action: Option<&'static str>, key: Option<&str>) -> AuditQuery {
    AuditQuery {
        appears: AccountId::new(appears),
        from_ms: range.0,
        to_ms: range.1,
        action_type: action.map(ActionCode::new),
        scoped_key: key.map(ApiKeyId::new),
    }
}

async fn unpaged(stores: &Stores, query: AuditQuery) -> Vec<String> {
    let find = async move |tx: &Tx<'_>| {
        let (action, key) = (
            query.action_type.map_or("", ActionCode::name),
            query.scoped_key.clone().map_or_else(String::new, |key| key.to_string()),
        );
        let AuditQuery { appears, from_ms, to_ms, .. } = &query;
        tx.query(UNPAGED, &[appears, from_ms, to_ms, &action, &key], |row: &Row<'_>| row.get(0)).await
    };
    stores.users.db.read(find).await.expect("a list")
}

fn ids(entries: Vec<AuditEntry>) -> Vec<String> {
    entries.into_iter().map(|entry| entry.id.to_string()).collect()
}

async fn pages_hold_exactly_what_one_statement_finds(stores: Stores) {
    with_entries(&stores).await;
    let ranges = [(0, ENTRIES), (STILL.start, STILL.start), (STILL.start - 50, STILL.end), (STILL.end, 3_000)];
    let mut most = 0;
    for appears in ["uuid-ada", "uuid-bob", "uuid-grace", "id-band", "uuid-nobody"] {
        for range in ranges {
            for (action, key) in
                [(None, None), (Some("Y"), None), (None, Some("key-of-a")), (Some("X"), Some("key-of-a"))]
            {
                let query = query(appears, range, action, key);
                let expected = unpaged(&stores, query.clone()).await;
                most = most.max(expected.len());
                assert_eq!(ids(audit_entries(&stores.users, query.clone(), ENTRIES).await), expected, "{query:?}");
            }
        }
    }
    assert!(most > 2 * PAGE, "{most} entries are too few to need pages");
    let of_key = unpaged(&stores, query("uuid-ada", (0, ENTRIES), None, Some("key-of-a"))).await;
    assert!(of_key.len() > PAGE && of_key.len() < most, "{} entries of the key", of_key.len());
}

async fn reading_ends_where_the_log_ended_when_it_began(stores: Stores) {
    with_entries(&stores).await;
    let query = query("uuid-ada", (0, i64::MAX), None, None);
    let expected = unpaged(&stores, query.clone()).await;
    let mut reader = stores.users.read_audit(query.clone(), ENTRIES).await.expect("a reader");
    let mut read = Vec::new();
    let mut late = ENTRIES;
    while let Some(page) = reader.next_page().await.expect("a page") {
        assert!(page.len() <= PAGE, "{}", page.len());
        read.extend(page);
        // Nothing is held between two pages: this ends before the next one is asked for.
        write(&stores, late..late + 3, 0).await;
        late += 3;
    }
    assert!(late > ENTRIES + 6, "there was one page only");
    assert_eq!(ids(read), expected);
    let with_late = unpaged(&stores, query).await;
    assert!(with_late.len() > expected.len());
    assert_eq!(stores.users.verify_audit().await.expect("an answer").1, None);
}

/// A write holds the writer of SQLite and the head's row of PostgreSQL. Pages need neither, so they hold
/// neither.
async fn page_is_read_while_an_entry_is_being_written(stores: Stores) {
    with_entries(&stores).await;
    let query = query("uuid-ada", (0, ENTRIES), None, None);
    let expected = unpaged(&stores, query.clone()).await;
    let mut reader = stores.users.read_audit(query, ENTRIES).await.expect("a reader");

    let held = HeldHead::of(&stores).await;
    let mut read = Vec::new();
    let reading = async {
        while let Some(page) = reader.next_page().await.expect("a page") {
            read.extend(page);
        }
    };
    tokio::time::timeout(Duration::from_mins(1), reading).await.expect("pages do not wait for the writer");
    assert!(held.is_held());
    assert_eq!(ids(read), expected);
    held.release().await;
}
