//! What was done is written down, also by an operation that was killed halfway.

mod common;
#[path = "audit_log/details.rs"]
mod details;
#[path = "audit_log/readers.rs"]
mod readers;

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::Request;
use common::{START_MS, Story, text};
use futures::StreamExt;
use platform::NewApiKey;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use store::{ActorRole, Audit, AuditEntryId, Entity, EntityId, GroupCode, NewAuditEntry, Role, UserId, UserRole};

#[tokio::test]
async fn the_log_says_what_the_caller_did() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let ada = story.platform.identity.account_by_email("ada@example.org").await.expect("an account").uuid;
    let created = story
        .post(&format!("/integration/v1/groups?token={key}"), json!({"name": "Sleep", "description": ""}))
        .await
        .ok();
    let (group, group_id) = (text(&created["code"]), text(&created["id"]));
    story.pass_ms(10);
    let grace = story.patient(&key, &group, Value::Null).await;
    let log = |query: &str| format!("/integration/v1/patients/audit/logs?token={key}&{query}");

    let entries = story.get(&log(&format!("from={START_MS}&to={}", START_MS + 10))).await.ok();
    let reported: Vec<Value> = entries
        .as_array()
        .expect("a list")
        .iter()
        .map(|entry| {
            assert_eq!((&entry["user_id"], &entry["user_role"]), (&json!(ada), &json!("researcher")));
            json!([entry["timestamp"], entry["action_type"], entry["primary_entity_id"], entry["secondary_entity_id"]])
        })
        .collect();
    let expected = [
        json!([START_MS, "GROUP_CREATE", group_id, null]),
        json!([START_MS + 10, "PATIENT_CREATE", grace.uuid, null]),
        json!([START_MS + 10, "PATIENT_ATTACH_GROUP", grace.uuid, group_id]),
    ];
    assert_eq!(reported, expected);
    assert_eq!(entries[2]["primary_entity_type"], "patient.id");
    assert_eq!(entries[2]["secondary_entity_type"], "group.id");

    let all = format!("from=0&to={}", START_MS + 10);
    let one = story.get(&log(&format!("{all}&action_type=PATIENT_CREATE"))).await.ok();
    assert_eq!(one.as_array().expect("a list").len(), 1);
    // 9999-12-31, as programs write it for "no end".
    let open = story.get(&log("from=0&to=253402300799999&action_type=PATIENT_CREATE")).await.ok();
    assert_eq!(open.as_array().expect("a list").len(), 1);
    assert_eq!(story.get(&log(&format!("{all}&action_type=NAP"))).await.error(), (422, "invalid"));
    assert_eq!(story.get(&log("from=5")).await.error(), (422, "invalid"));
    let both = story.get(&log("")).await;
    assert_eq!(both.error(), (422, "invalid"));
    assert!(both.body["errors"]["from"].is_array() && both.body["errors"]["to"].is_array(), "{}", both.body);
    assert_eq!(story.get(&log("from=5&to=4")).await.error(), (422, "invalid"));
    assert_eq!(story.get(&log("from=x&to=4")).await.error(), (400, "malformed_parameter"));

    story.platform.identity.set_subscription("ada@example.org", Some(story.now_ms())).await.expect("set");
    assert_eq!(story.get(&log(&all)).await.error(), (403, "forbidden"));
    assert_eq!(story.get(&log("")).await.error(), (403, "forbidden"));

    // The patient's own registration and login are there too, under their own name.
    let (entries, broken) = story.platform.core.users().verify_audit().await.expect("an answer");
    assert_eq!((entries, broken), (5, None));
}

/// An entry as the specification's answer has it.
#[derive(Serialize)]
struct EntryBody<'entry> {
    id: &'entry str,
    timestamp: i64,
    action_type: &'entry str,
    user_id: &'entry str,
    user_role: &'entry str,
    primary_entity_id: &'entry str,
    primary_entity_type: &'entry str,
    secondary_entity_id: Option<&'entry str>,
    secondary_entity_type: Option<&'entry str>,
    details: Option<&'entry RawValue>,
}

/// A log of several thousand entries in which Ada appears, about a patient of each of two groups.
struct LongLog {
    story: Story,
    key: String,
    /// A key for the group of the first patient.
    scoped: String,
    first: String,
    /// With their times.
    entries: Vec<(i64, NewAuditEntry)>,
}

impl LongLog {
    const ENTRIES: i64 = 4_200;
    const AT_ONCE: usize = 100;

    async fn begin() -> Self {
        let story = Story::begin().await;
        let key = story.key_of("ada@example.org", Role::Researcher).await;
        let (code, other) = (story.group(&key).await, story.group(&key).await);
        let first = story.patient(&key, &code, Value::Null).await.uuid;
        let second = story.patient(&key, &other, Value::Null).await.uuid;
        let ada = story.platform.identity.account_by_email("ada@example.org").await.expect("an account");
        let scope = NewApiKey { groups: vec![GroupCode::new(code)], ..NewApiKey::default() };
        let (_, scoped) = story.platform.identity.create_api_key(&ada, scope).await.expect("a key");
        let new = |number: i64| NewAuditEntry {
            id: AuditEntryId::new(format!("{number:024x}")),
            action_type: ["PATIENT_UPDATE", "PATIENT_PROFILE_UPDATE"][usize::from(number % 3 == 0)].to_owned(),
            user_id: UserId::from(&ada.uuid),
            user_role: ActorRole::User(UserRole::Account(Role::Researcher)),
            primary: Entity {
                id: EntityId::new([&first, &second][(number % 2) as usize].clone()),
                kind: "patient.id".to_owned(),
            },
            secondary: (number % 5 == 0)
                .then(|| Entity { id: EntityId::new(ada.uuid.to_string()), kind: "hcp_admin.id".to_owned() }),
            details: (number % 7 != 0).then(|| format!("{{\"note\": \"\\\"{number}\\\"\",\"z\":1,\"a\":[1.50]}}")),
            salt: [1; 16],
        };
        let all: Vec<NewAuditEntry> = (0..Self::ENTRIES).map(new).collect();
        let mut entries = Vec::new();
        for some in all.chunks(Self::AT_ONCE) {
            story.pass_ms(1);
            let now_ms = story.now_ms();
            let audit = Audit {
                entries: some.to_vec(),
                security: Vec::new(),
                clock: Arc::new(move || now_ms),
                key: platform::audit_key(&[7; 32]),
            };
            story.platform.core.users().record(audit).await.expect("written");
            entries.extend(some.iter().map(|entry| (now_ms, entry.clone())));
        }
        LongLog { story, key, scoped, first, entries }
    }

    fn path(from_ms: i64, to_ms: i64, more: &str) -> String {
        format!("/integration/v1/patients/audit/logs?from={from_ms}&to={to_ms}{more}")
    }

    /// Returns the answer in one piece.
    fn whole(&self, is_asked_for: impl Fn(i64, &NewAuditEntry) -> bool) -> Vec<u8> {
        let asked_for = self.entries.iter().filter(|(time_ms, entry)| is_asked_for(*time_ms, entry));
        let bodies = asked_for.map(|(timestamp, entry)| EntryBody {
            id: entry.id.as_str(),
            timestamp: *timestamp,
            action_type: &entry.action_type,
            user_id: entry.user_id.as_str(),
            user_role: entry.user_role.name(),
            primary_entity_id: entry.primary.id.as_str(),
            primary_entity_type: &entry.primary.kind,
            secondary_entity_id: entry.secondary.as_ref().map(|entity| entity.id.as_str()),
            secondary_entity_type: entry.secondary.as_ref().map(|entity| entity.kind.as_str()),
            details: entry.details.as_ref().map(|details| serde_json::from_str(details).expect("JSON")),
        });
        serde_json::to_vec(&bodies.collect::<Vec<_>>()).expect("JSON")
    }
}

#[tokio::test]
async fn long_log_is_byte_for_byte_what_one_piece_would_be() {
    let log = LongLog::begin().await;
    let (from_ms, to_ms) = (log.entries[0].0, log.story.now_ms());
    let bytes = async |key: &str, from_ms: i64, to_ms: i64, more: &str| {
        let (status, bytes) = log.story.bytes_of(&LongLog::path(from_ms, to_ms, more), key, "*/*").await;
        assert_eq!(status, 200);
        bytes
    };
    assert!(bytes(&log.key, from_ms, to_ms, "").await == log.whole(|_, _| true));
    let updates = log.whole(|_, entry| entry.action_type == "PATIENT_UPDATE");
    assert!(bytes(&log.key, from_ms, to_ms, "&action_type=PATIENT_UPDATE").await == updates);
    let middle = log.whole(|time_ms, _| time_ms >= from_ms + 3 && time_ms <= to_ms - 4);
    assert!(bytes(&log.key, from_ms + 3, to_ms - 4, "").await == middle);
    let of_first = log.whole(|_, entry| entry.primary.id.as_str() == log.first);
    assert!(bytes(&log.scoped, from_ms, to_ms, "").await == of_first);
    assert_eq!(bytes(&log.key, to_ms + 1, to_ms + 9, "").await, "[]");
}

#[tokio::test]
async fn log_that_cannot_be_read_to_its_end_breaks_off() {
    let log = LongLog::begin().await;
    let path = LongLog::path(log.entries[0].0, log.story.now_ms(), "");
    let request = Request::get(path).header("authorization", format!("Bearer {}", log.key));
    let answer = log.story.open(request.body(Body::empty()).expect("a request")).await;
    assert_eq!(answer.status(), 200);
    let mut body = answer.into_body().into_data_stream();
    let begin = body.next().await.expect("a piece").expect("bytes");
    assert!(begin.starts_with(b"[{"), "{begin:?}");
    assert!(log.story.platform.upkeep.close_stores().await.is_empty(), "closed");
    let mut ended = Ok(Bytes::new());
    while let (true, Some(piece)) = (ended.is_ok(), body.next().await) {
        ended = piece;
    }
    assert!(ended.is_err(), "the answer looks whole");
}
