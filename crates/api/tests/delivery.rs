//! What an operation leaves behind that was killed between the two databases, and how it is finished.

mod common;

use common::{Enrolled, Story};
use platform::jobs;
use serde_json::json;
use store::{
    AccountId, ActorRole, AuditEntryId, EffectiveSettings, Entity, EntityId, ExportId, ExportState, ExportTurn,
    GroupCode, HealthChange, HealthMessage, MessageId, NewAuditEntry, NewExport, Patient, PatientId, PatientState,
    Profile, Role, UserId, UserRole,
};

/// Makes what enrolling a patient leaves behind when it is killed right after its first commit.
async fn half_enrolled(story: &Story, group: &str, name: &str) -> String {
    let uuid = format!("uuid-{name}");
    let patient = Patient {
        uuid: PatientId::new(uuid.clone()),
        record_id: store::RecordId::new(format!("record-{name}")),
        state: PatientState::PreCreated,
        voucher_code: store::VoucherCode::new(name),
        voucher_expires_ms: i64::MAX,
        email: None,
        password_hash: None,
        must_change_password: false,
        person: "{}".to_owned(),
        created_ms: story.now_ms(),
        updated_ms: story.now_ms(),
    };
    story
        .platform
        .core
        .users()
        .add_patient(patient, &GroupCode::new(group), message(story, name), no_settings(story))
        .await
        .expect("a patient");
    uuid
}

fn no_settings(story: &Story) -> EffectiveSettings {
    EffectiveSettings { rule: |_| serde_json::Map::new(), at_ms: story.now_ms() }
}

fn message(story: &Story, name: &str) -> HealthMessage {
    let entry = NewAuditEntry {
        id: AuditEntryId::new(format!("entry-{name}")),
        action_type: "PATIENT_CREATE".to_owned(),
        user_id: UserId::new("ada"),
        user_role: ActorRole::User(UserRole::Account(Role::Researcher)),
        primary: Entity { id: EntityId::new(format!("uuid-{name}")), kind: "patient.id".to_owned() },
        secondary: None,
        details: None,
        salt: [1; 16],
    };
    let change = HealthChange::PutPatient {
        uuid: PatientId::new(format!("uuid-{name}")),
        record_id: store::RecordId::new(format!("record-{name}")),
        customer_code: None,
        profile: Profile::default(),
        at_ms: story.now_ms(),
    };
    HealthMessage {
        id: MessageId::new(format!("message-{name}")),
        change,
        entries: vec![entry],
        created_ms: story.now_ms(),
    }
}

#[tokio::test]
async fn killed_enrolment_is_finished_in_the_background() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let (before, _) = story.platform.core.users().verify_audit().await.expect("an answer");

    // Killed before the health change, and between the health change and the completion.
    let first = half_enrolled(&story, &group, "AAAA").await;
    let second = half_enrolled(&story, &group, "BBBB").await;
    story.platform.core.health().apply(message(&story, "BBBB").change).await.expect("made");
    assert!(story.platform.core.health().patient(&PatientId::new(first.as_str())).await.expect("an answer").is_none());

    assert_eq!(story.platform.core.deliver_pending(30_000).await.expect("nothing is old yet"), 0);
    story.pass_ms(30_000);
    assert_eq!(story.platform.core.deliver_pending(30_000).await.expect("finished"), 2);
    assert_eq!(story.platform.core.deliver_pending(30_000).await.expect("nothing is left"), 0);
    for uuid in [&first, &second] {
        assert!(
            story.platform.core.health().patient(&PatientId::new(uuid.as_str())).await.expect("an answer").is_some()
        );
    }
    assert_eq!(story.platform.core.users().verify_audit().await.expect("an answer"), (before + 2, None));
}

/// Makes what asking for an export leaves behind when it is killed right after its first commit.
async fn half_begun_export(story: &Story, patient: &Enrolled) -> ExportId {
    let entry = NewAuditEntry {
        action_type: "PATIENT_API_EXPORT".to_owned(),
        primary: Entity { id: EntityId::new(patient.uuid.clone()), kind: "patient.id".to_owned() },
        ..message(story, "export").entries[0].clone()
    };
    let export = NewExport {
        id: ExportId::new("e".repeat(24)),
        patient: PatientId::new(patient.uuid.clone()),
        actor: AccountId::new("ada"),
        request: json!({"format": "csv", "types": ["activity"]}).to_string(),
        entry,
        now_ms: story.now_ms(),
        interval_ms: 0,
    };
    let id = export.id.clone();
    assert_eq!(story.platform.core.health().begin_export(export).await.expect("begun"), ExportTurn::Begun);
    id
}

#[tokio::test]
async fn killed_request_for_an_export_is_audited_before_anybody_works_on_it() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let patient = story.patient(&key, &group, json!({})).await;
    let (before, _) = story.platform.core.users().verify_audit().await.expect("an answer");
    let id = half_begun_export(&story, &patient).await;
    let work = async || jobs::drain(&story.platform.upkeep, &["export"]).await.expect("worked");
    assert_eq!(work().await, 0);

    // Killed once more, after the entry was written.
    let pending = story
        .platform
        .core
        .health()
        .entries_of(&PatientId::new(patient.uuid.as_str()))
        .await
        .expect("a list")
        .remove(0);
    let entries = store::Audit {
        entries: pending.entries,
        security: Vec::new(),
        clock: story.platform.core.clock().clone(),
        key: platform::audit_key(&[7; 32]),
    };
    story.platform.core.users().take_entries(entries).await.expect("written");
    assert_eq!(work().await, 0);

    assert_eq!(story.platform.core.deliver_pending(0).await.expect("delivered"), 1);
    assert_eq!(story.platform.core.deliver_pending(0).await.expect("nothing is left"), 0);
    assert_eq!(story.platform.core.users().verify_audit().await.expect("an answer"), (before + 1, None));
    assert_eq!(work().await, 1);
    let job = story.platform.core.health().export(&id).await.expect("an answer").expect("a job");
    assert_ne!(job.state, ExportState::InProgress);
}

#[tokio::test]
async fn message_that_cannot_be_delivered_does_not_hold_up_others() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let platform = &story.platform;
    let mut uuids = Vec::new();
    for name in ["AAAA", "BBBB", "CCCC"] {
        uuids.push(half_enrolled(&story, &group, name).await);
    }
    // Erasing needs the objects, which are away.
    let change = HealthChange::ErasePatient { uuid: PatientId::new(uuids[1].clone()), at_ms: story.now_ms() };
    let erasure = HealthMessage { change, ..message(&story, "erasure") };
    platform
        .core
        .users()
        .erase_patient(&PatientId::new(uuids[1].as_str()), store::PatientErasure::default(), story.now_ms(), erasure)
        .await
        .expect("erased");
    let objects = story.folder().join("objects");
    let away = story.folder().join("away");
    std::fs::rename(&objects, &away).expect("moved");
    std::fs::write(&objects, b"no folder").expect("written");
    platform.core.deliver_pending(0).await.expect_err("one fails");
    let are_there = async || {
        let mut are_there = Vec::new();
        for uuid in &uuids {
            are_there.push(
                platform.core.health().patient(&PatientId::new(uuid.as_str())).await.expect("an answer").is_some(),
            );
        }
        are_there
    };
    assert_eq!(are_there().await, [true, false, true]);
    assert_eq!(
        platform.core.health().erased_patient(&PatientId::new(uuids[1].as_str())).await.expect("an answer"),
        None
    );

    std::fs::remove_file(&objects).expect("removed");
    std::fs::rename(&away, &objects).expect("moved");
    assert_eq!(platform.core.deliver_pending(0).await.expect("delivered"), 2, "the enrolment became the erasure too");
    assert!(
        platform.core.health().erased_patient(&PatientId::new(uuids[1].as_str())).await.expect("an answer").is_some()
    );
}

#[tokio::test]
async fn events_expire_after_thirty_days_and_undelivered_messages_do_not() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let grace = story.patient(&key, &group, json!({})).await;
    let left = half_enrolled(&story, &group, "AAAA").await;
    let log = story.platform.core.users().events();
    let events_of = async |uuid: &str| log.after(&PatientId::new(uuid), 0, 9).await.expect("events").len();
    story.pass_ms(30 * 86_400_000);
    assert_eq!(story.jobs(&["expire_events"]).await, 1);
    assert_eq!((events_of(&grace.uuid).await, events_of(&left).await), (2, 1));
    story.pass_ms(3_600_000);
    story.jobs(&["expire_events"]).await;
    assert_eq!(events_of(&grace.uuid).await, 0);
    assert_eq!(story.platform.core.deliver_pending(0).await.expect("delivered"), 1);
    assert!(story.platform.core.health().patient(&PatientId::new(left.as_str())).await.expect("an answer").is_some());
}
