//! The audit log: its order, its stamps and its chain.

use super::{Stores, audit, audit_entries, on_both_engines};
use crate::engine::Address;
use crate::ids::{AuditEntryId, EntityId};
use crate::names::ActionCode;
use crate::{AccountId, ActorRole, AuditQuery, Entity, NewAuditEntry, Role, UserId, UserRole};

const KEEP: &str = "CREATE TABLE kept AS SELECT * FROM audit_entry";
const EMPTY: &str = "DELETE FROM audit_entry";
const RESTORE: &str = "INSERT INTO audit_entry SELECT * FROM kept";
/// What somebody could do to a log of four entries, and the first entry that is then not what was written.
const TAMPERINGS: [(&[&str], i64); 16] = [
    (&["UPDATE audit_entry SET id = 'other' WHERE number = 2"], 2),
    (&["UPDATE audit_entry SET time_ms = 99 WHERE number = 2"], 2),
    (&["UPDATE audit_entry SET action_type = 'NAP' WHERE number = 2"], 2),
    (&["UPDATE audit_entry SET user_id = 'eve' WHERE number = 2"], 2),
    (&["UPDATE audit_entry SET user_role = 'admin' WHERE number = 2"], 2),
    (&["UPDATE audit_entry SET primary_entity_id = 'hedy' WHERE number = 2"], 2),
    (&["UPDATE audit_entry SET primary_entity_type = 'user.id' WHERE number = 2"], 2),
    (&["UPDATE audit_entry SET secondary_entity_id = 'eve' WHERE number = 2"], 2),
    (&["UPDATE audit_entry SET details = '{}' WHERE number = 2"], 2),
    (&["UPDATE audit_entry SET details = NULL WHERE number = 2"], 2),
    (&["UPDATE audit_entry SET salt = NULL WHERE number = 2"], 2),
    (&["DELETE FROM audit_entry WHERE number = 1"], 1),
    (&["DELETE FROM audit_entry WHERE number = 3"], 3),
    (&["DELETE FROM audit_entry WHERE number = 4"], 4),
    // Closing the gap does not help.
    (&["DELETE FROM audit_entry WHERE number = 2", "UPDATE audit_entry SET number = 2 WHERE number = 3"], 2),
    // Two entries change places.
    (
        &[
            "UPDATE audit_entry SET number = 9 WHERE number = 2",
            "UPDATE audit_entry SET number = 2 WHERE number = 3",
            "UPDATE audit_entry SET number = 3 WHERE number = 9",
        ],
        2,
    ),
];
const CHANGE_DETAILS: &str = "UPDATE audit_entry SET details = '{}' WHERE number = 1";
const ERASE: &str = "UPDATE audit_entry SET details = NULL, salt = NULL WHERE number = 1";

on_both_engines! {
    entries_are_found_by_everyone_who_appears
    a_past_that_was_read_gains_nothing
    whatever_is_tampered_with_is_reported
    every_column_of_an_entry_is_bound
    the_chain_outlives_erased_details
    entries_written_at_once_are_all_chained
}

pub(super) fn entry(id: &str, action: &str, user: &str, primary: &str, secondary: Option<&str>) -> NewAuditEntry {
    let entity = |id: &str| Entity { id: EntityId::new(id), kind: "patient.id".to_owned() };
    NewAuditEntry {
        id: AuditEntryId::new(id),
        action_type: action.to_owned(),
        user_id: UserId::new(user),
        user_role: ActorRole::User(UserRole::Account(Role::Researcher)),
        primary: entity(primary),
        secondary: secondary.map(entity),
        details: Some("{\"name\":\"Grace\"}".to_owned()),
        salt: [9; 16],
    }
}

async fn write(stores: &Stores, entries: Vec<NewAuditEntry>, now_ms: i64) {
    stores.users.record(audit(entries, now_ms)).await.expect("written");
}

fn query(appears: &str, from_ms: i64, to_ms: i64, action: Option<&'static str>) -> AuditQuery {
    AuditQuery {
        appears: AccountId::new(appears),
        from_ms,
        to_ms,
        action_type: action.map(ActionCode::new),
        scoped_key: None,
    }
}

async fn ids(stores: &Stores, query: AuditQuery, now_ms: i64) -> Vec<String> {
    let entries = audit_entries(&stores.users, query, now_ms).await;
    entries.into_iter().map(|entry| entry.id.to_string()).collect()
}

async fn entries_are_found_by_everyone_who_appears(stores: Stores) {
    write(&stores, vec![entry("a", "X", "ada", "grace", None), entry("b", "Y", "bob", "ada", None)], 10).await;
    write(&stores, vec![entry("c", "X", "bob", "grace", Some("ada")), entry("d", "X", "bob", "grace", None)], 20).await;
    assert_eq!(ids(&stores, query("ada", 0, 100, None), 50).await, ["a", "b", "c"]);
    assert_eq!(ids(&stores, query("ada", 0, 100, Some("X")), 50).await, ["a", "c"]);
    assert_eq!(ids(&stores, query("ada", 10, 10, None), 50).await, ["a", "b"]);
    assert_eq!(ids(&stores, query("ada", 11, 20, None), 50).await, ["c"]);
    assert!(ids(&stores, query("ada", 11, 19, None), 50).await.is_empty());
    let found = audit_entries(&stores.users, query("bob", 20, 20, None), 50).await;
    let expected = entry("c", "X", "bob", "grace", Some("ada"));
    assert_eq!((found[0].number, found[0].time_ms), (3, 20));
    assert_eq!((&found[0].secondary, &found[0].details), (&expected.secondary, &expected.details));
}

async fn a_past_that_was_read_gains_nothing(stores: Stores) {
    assert!(ids(&stores, query("ada", 0, 99, None), 100).await.is_empty());
    // A node whose clock is late.
    write(&stores, vec![entry("a", "X", "ada", "grace", None)], 40).await;
    assert!(ids(&stores, query("ada", 0, 99, None), 100).await.is_empty());
    assert_eq!(ids(&stores, query("ada", 100, 100, None), 100).await, ["a"]);
    assert_eq!(stores.users.verify_audit().await.expect("an answer"), (1, None));
}

async fn whatever_is_tampered_with_is_reported(stores: Stores) {
    assert_eq!(stores.users.verify_audit().await.expect("an answer"), (0, None));
    for (at, id) in ["a", "b", "c", "d"].iter().enumerate() {
        write(&stores, vec![entry(id, "X", "ada", "grace", Some("bob"))], at as i64).await;
    }
    assert_eq!(stores.users.verify_audit().await.expect("an answer"), (4, None));
    let run = async |text| stores.users.db.write(async move |tx| tx.execute(text, &[]).await).await.expect("changed");
    run(KEEP).await;
    for (texts, broken) in TAMPERINGS {
        for text in texts {
            run(text).await;
        }
        let verdict = stores.users.verify_audit().await.expect("an answer");
        assert_eq!(verdict, (broken - 1, Some(broken)), "{texts:?}");
        run(EMPTY).await;
        run(RESTORE).await;
        assert_eq!(stores.users.verify_audit().await.expect("an answer"), (4, None));
    }
}

/// Every column of an entry with what its value could be changed to; NULL only where the schema takes it.
const CHANGES: [(&str, &[&str]); 14] = [
    ("number", &["7", "-1"]),
    ("id", &["'other'", "''"]),
    ("time_ms", &["99", "0"]),
    ("action_type", &["'NAP'", "''"]),
    ("user_id", &["'eve'", "''"]),
    ("user_role", &["'admin'", "''"]),
    ("primary_entity_id", &["'hedy'", "''"]),
    ("primary_entity_type", &["'user.id'", "''"]),
    ("secondary_entity_id", &["'eve'", "''", "NULL"]),
    ("secondary_entity_type", &["'user.id'", "''", "NULL"]),
    ("details", &["'{}'", "''", "NULL"]),
    ("salt", &["details_hash", "EMPTY", "NULL"]),
    ("details_hash", &["entry_hash", "EMPTY"]),
    ("entry_hash", &["details_hash", "EMPTY"]),
];

async fn every_column_of_an_entry_is_bound(stores: Stores) {
    let full = entry("e1", "GROUP_CREATE", "ada", "grace", Some("hedy"));
    let bare = NewAuditEntry { details: None, ..entry("e2", "GROUP_CREATE", "ada", "grace", None) };
    write(&stores, vec![full, bare, entry("e3", "GROUP_CREATE", "ada", "grace", None)], 10).await;
    assert_eq!(stores.users.verify_audit().await.expect("an answer"), (3, None));
    // Bytes of no length are written in another way on each engine.
    let empty = if matches!(stores.addresses[0], Address::File(_)) { "x''" } else { "''::bytea" };
    let run = async |text: String| {
        let text: &'static str = text.leak();
        stores.users.db.write(async move |tx| tx.execute(text, &[]).await).await.expect("changed")
    };
    run(KEEP.to_owned()).await;
    let mut unnoticed = Vec::new();
    for number in [1, 2] {
        for (column, values) in CHANGES {
            for value in values {
                let value = value.replace("EMPTY", empty);
                let which = format!("number = {number} AND {column} IS DISTINCT FROM {value}");
                let changed = run(format!("UPDATE audit_entry SET {column} = {value} WHERE {which}")).await;
                let verdict = stores.users.verify_audit().await.expect("an answer");
                if changed == 1 && verdict != (number - 1, Some(number)) {
                    unnoticed.push(format!("entry {number}: {column} = {value}"));
                }
                run(EMPTY.to_owned()).await;
                run(RESTORE.to_owned()).await;
            }
        }
    }
    assert!(unnoticed.is_empty(), "{unnoticed:#?}");
}

async fn the_chain_outlives_erased_details(stores: Stores) {
    write(&stores, vec![entry("a", "X", "ada", "grace", None), entry("b", "X", "ada", "grace", None)], 1).await;
    let run = async |text| stores.users.db.write(async move |tx| tx.execute(text, &[]).await).await.expect("changed");
    run(CHANGE_DETAILS).await;
    assert_eq!(stores.users.verify_audit().await.expect("an answer"), (0, Some(1)));
    run(ERASE).await;
    assert_eq!(stores.users.verify_audit().await.expect("an answer"), (2, None));
}

async fn entries_written_at_once_are_all_chained(stores: Stores) {
    let ids: Vec<String> = (0..40).map(|at| format!("entry-{at}")).collect();
    let writes = ids.iter().map(|id| write(&stores, vec![entry(id, "X", "ada", "grace", None)], 5));
    futures::future::join_all(writes).await;
    assert_eq!(stores.users.verify_audit().await.expect("an answer"), (40, None));
}
