//! Erasure: what goes, what stays, and what does not come back.

use crate::names::JobKind;
use std::collections::BTreeSet;

use super::example_rows::{message, patient, with_ada_in};
use super::{Stores, audit, audit_entries, no_settings, on_both_engines};
use crate::events::MessageKey;
use crate::ids::{AuditEntryId, EntityId, ExportId, MessageId, NodeId, PatientId};
use crate::{
    AccountErasure, AccountId, ActorRole, Entity, GroupCode, HealthChange, HealthMessage, NameHashes, NewAuditEntry,
    NewExport, PatientErasure, Profile, Role, StoreError, UserId, UserRole,
};

on_both_engines! {
    a_person_goes_and_their_entries_stay_without_details
    a_patient_of_the_health_database_does_not_come_back
    archives_of_a_patient_go
    an_account_goes_unless_patients_would_be_left_alone
}

fn erase(id: &str) -> HealthMessage {
    let change = HealthChange::ErasePatient { uuid: PatientId::new("uuid-grace"), at_ms: 50 };
    HealthMessage { id: MessageId::new(id), change, entries: Vec::new(), created_ms: 50 }
}

fn entry(id: &str) -> NewAuditEntry {
    let entity = |id: &str| Entity { id: EntityId::new(id), kind: "patient.id".to_owned() };
    NewAuditEntry {
        id: AuditEntryId::new(id),
        action_type: "PATIENT_UPDATE".to_owned(),
        user_id: UserId::new("uuid-ada"),
        user_role: ActorRole::User(UserRole::Account(Role::Researcher)),
        primary: entity("uuid-grace"),
        secondary: None,
        details: Some("{\"first_name\":\"Grace\"}".to_owned()),
        salt: [3; 16],
    }
}

fn put(uuid: &str) -> HealthChange {
    HealthChange::PutPatient {
        uuid: PatientId::new(uuid),
        record_id: crate::ids::RecordId::new("r"),
        customer_code: None,
        profile: Profile { birthday: Some("1906-12-09".to_owned()), ..Profile::default() },
        at_ms: 1,
    }
}

async fn a_person_goes_and_their_entries_stay_without_details(stores: Stores) {
    with_ada_in(&stores, &["AAAAA"]).await;
    let users = &stores.users;
    users
        .add_patient(patient("grace"), &GroupCode::new("AAAAA"), message("i1", 0), no_settings())
        .await
        .expect("a patient");
    users.complete(&MessageKey::of_id(&MessageId::new("i1")), audit(vec![entry("e1")], 5)).await.expect("an answer");
    // Under way when the erasure comes: noted, and read by somebody who will write its entries from memory.
    let pending = HealthMessage {
        id: MessageId::new("i2"),
        change: put("uuid-grace"),
        entries: vec![entry("e2")],
        created_ms: 6,
    };
    users.enqueue(pending).await.expect("noted");

    users
        .erase_patient(&PatientId::new("uuid-grace"), PatientErasure::default(), 50, erase("x1"))
        .await
        .expect("erased");
    assert!(matches!(
        users.erase_patient(&PatientId::new("uuid-grace"), PatientErasure::default(), 60, erase("x2")).await,
        Err(StoreError::Gone("patient"))
    ));
    assert!(matches!(users.enqueue(erase("x3")).await, Err(StoreError::Gone("patient"))));
    let erasure = users.erasure(&PatientId::new("uuid-grace")).await.expect("an answer").expect("an erasure");
    assert_eq!((erasure.erased_ms, erasure.counts["persons"], erasure.counts["audit_details"]), (50, 1, 1));

    let undelivered = users.messages_of(&PatientId::new("uuid-grace")).await.expect("a list");
    assert_eq!(undelivered.iter().map(|undelivered| undelivered.created_ms).collect::<Vec<_>>(), [6, 50]);
    for undelivered in &undelivered {
        assert!(matches!(undelivered.change, HealthChange::ErasePatient { .. }));
        assert!(undelivered.entries.iter().all(|entry| entry.details.is_none()));
    }
    assert_eq!(users.erasures_to_overwrite().await.expect("a list").count(), 0, "it is still undelivered");
    assert!(users.complete(&undelivered[0].key, audit(vec![entry("e2")], 51)).await.expect("an answer"));
    assert_eq!(users.erasures_to_overwrite().await.expect("a list").count(), 0, "the erasure itself is");
    assert!(users.complete(&undelivered[1].key, audit(Vec::new(), 52)).await.expect("an answer"));

    let query = crate::AuditQuery {
        appears: AccountId::new("uuid-grace"),
        from_ms: 0,
        to_ms: 99,
        action_type: None,
        scoped_key: None,
    };
    let entries = audit_entries(users, query, 100).await;
    assert_eq!(
        entries.iter().map(|entry| (entry.id.as_str(), &entry.details)).collect::<Vec<_>>(),
        [("e1", &None), ("e2", &None)]
    );
    assert_eq!(users.verify_audit().await.expect("an answer"), (2, None));
    let erased = users.erasures_to_overwrite().await.expect("a list");
    assert_eq!((&erased.patients[..], erased.count()), (&[PatientId::new("uuid-grace")][..], 1));
    users.overwrite_deleted().await.expect("rewritten");
    users.note_overwritten(erased, 60).await.expect("noted");
    assert_eq!(users.erasures_to_overwrite().await.expect("a list").count(), 0);
}

async fn a_patient_of_the_health_database_does_not_come_back(stores: Stores) {
    let health = &stores.health;
    for uuid in ["uuid-grace", "uuid-hedy"] {
        health.apply_numbered(put(uuid), 1).await.expect("made");
    }
    let HealthChange::ErasePatient { uuid, at_ms } = erase("x").change else { unreachable!() };
    health.erase_rows(&uuid, at_ms).await.expect("erased");
    // A second call that finds this incomplete begins again; late changes, numbered or not, bring nothing back.
    health.apply(erase("x").change).await.expect("erased");
    health.apply_numbered(put("uuid-grace"), 2).await.expect("not made");
    health.apply(put("uuid-grace")).await.expect("not made");
    assert!(health.patient(&PatientId::new("uuid-grace")).await.expect("an answer").is_none());
    assert!(health.patient(&PatientId::new("uuid-hedy")).await.expect("an answer").is_some());
    let mark = health.erased_patient(&PatientId::new("uuid-grace")).await.expect("an answer").expect("a mark");
    assert_eq!((mark.erased_ms, mark.counts["profiles"], mark.counts["samples"]), (50, 1, 0));
    assert_eq!(health.objects.erased().await.expect("a list"), [PatientId::new("uuid-grace")]);
    health.overwrite_deleted().await.expect("rewritten");
}

async fn archives_of_a_patient_go(stores: Stores) {
    let health = &stores.health;
    for name in ["grace", "hedy"] {
        let uuid = format!("uuid-{name}");
        health.apply_numbered(put(&uuid), 1).await.expect("made");
        let export = NewExport {
            id: ExportId::new(format!("export-{name}")),
            patient: PatientId::new(uuid.clone()),
            actor: AccountId::new("ada"),
            request: "{}".to_owned(),
            entry: super::export_entry(name),
            now_ms: 1,
            interval_ms: 1,
        };
        health.begin_export(export).await.expect("begun");
        assert_eq!(super::deliver_entries_of(&stores, &uuid).await, 1);
        let lease = health
            .claim_jobs(JobKind::new("export"), &NodeId::new("node"), 1, 1000, 1)
            .await
            .expect("an answer")
            .remove(0);
        let job = health.try_export(&lease, 1).await.expect("an answer").expect("a job");
        let path = format!("{}/archive.zip", crate::health::exports::folder(&job.patient));
        assert!(health.place_export(&lease, &path).await.expect("an answer"));
        let mut upload = health.objects.upload(&path).expect("an upload");
        upload.put("bytes".into()).await.expect("put");
        upload.finish().await.expect("written");
    }
    health.apply(erase("x").change).await.expect("erased");
    let archives = async |name: &str| {
        let folder = crate::health::exports::folder(&PatientId::new(format!("uuid-{name}")));
        health.objects.listed(&folder).await.expect("a list").len()
    };
    assert_eq!((archives("grace").await, archives("hedy").await), (0, 1));
    assert!(health.export(&ExportId::new("export-grace")).await.expect("an answer").is_none());
    for erased in health.erased_before(51, 10).await.expect("a list") {
        assert_eq!(health.check_erasure(&erased).await.expect("checked"), 0);
    }
    assert!(health.erased_before(51, 10).await.expect("a list").is_empty());
}

async fn an_account_goes_unless_patients_would_be_left_alone(stores: Stores) {
    with_ada_in(&stores, &["AAAAA"]).await;
    let users = &stores.users;
    users.add_account(super::example_rows::account("bob")).await.expect("an account");
    users
        .add_patient(patient("grace"), &GroupCode::new("AAAAA"), message("i1", 0), no_settings())
        .await
        .expect("a patient");
    let erase =
        async |id: &str| users.erase_account(&AccountId::new("uuid-ada"), NameHashes::default(), message(id, 0)).await;
    assert_eq!(erase("x1").await.expect("an answer"), AccountErasure::LastManager);
    users.add_member(&AccountId::new("uuid-bob"), &GroupCode::new("AAAAA"), 1).await.expect("a member");
    let AccountErasure::Erased(counts) = erase("x2").await.expect("an answer") else { panic!("it is still there") };
    assert_eq!(counts["memberships"], 1);
    assert!(matches!(erase("x3").await, Err(StoreError::Gone("account"))));
    assert_eq!(users.account(&AccountId::new("uuid-ada")).await.expect("an answer"), None);
}

const PATIENT_TABLES: &str = "SELECT DISTINCT t.name FROM sqlite_master t, pragma_table_info(t.name) c
    WHERE t.type = 'table' AND c.name = 'patient'";
/// Tables with a column `patient` that an erasure writes and does not empty.
const KEPT: [&str; 1] = ["erased_period"];

#[tokio::test]
async fn every_table_of_patients_is_emptied() {
    let stores = Stores::sqlite().await;
    let tables =
        stores.health.db.read(async |tx| tx.query(PATIENT_TABLES, &[], |row| row.get::<String>(0)).await).await;
    let tables: BTreeSet<String> = tables.expect("the tables").into_iter().collect();
    let is_emptied = |table: &String| {
        let starts = [format!("DELETE FROM {table} WHERE"), format!("UPDATE {table} SET body = '{{}}',")];
        let texts = crate::health::patient_tables::DELETE.map(|(_, text)| text);
        texts.iter().any(|text| starts.iter().any(|start| text.starts_with(start)))
    };
    let left: Vec<&String> =
        tables.iter().filter(|table| !is_emptied(table) && !KEPT.contains(&table.as_str())).collect();
    assert!(left.is_empty(), "erasure leaves rows in {left:?}");
}
