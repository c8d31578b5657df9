//! The same tests on both engines: what a store function promises, it promises on SQLite and on PostgreSQL.

mod audit;
mod audit_pages;
mod bracelets;
mod columns;
mod counts;
mod erasure;
mod errors;
mod events;
mod exports;
mod fold_statements;
mod folds;
mod followers;
mod groups;
mod health;
mod jobs;
mod messages;
mod nodes;
mod oauth;
mod people;
mod portal;
mod sealing;
mod sessions;
mod syncs;
mod texts;
mod written_events;

use std::sync::Arc;

use crate::engine::Address;
use crate::{Audit, AuditEntry, AuditQuery, EffectiveSettings, Entity, HealthDb, NewAuditEntry, Objects, UsersDb};

/// Both databases on one engine.
pub(crate) struct Stores {
    pub users: UsersDb,
    pub health: HealthDb,
    _folder: tempfile::TempDir,
}

impl Stores {
    pub async fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let users = Address::File(folder.path().join("users.sqlite"));
        let health = Address::File(folder.path().join("health.sqlite"));
        Stores::open(users, health, folder).await
    }

    /// `None` where there is no PostgreSQL.
    pub async fn postgres() -> Option<Self> {
        let start = || testkit::Postgres::start().map(|database| Address::Postgres(database.url));
        Some(Stores::open(start()?, start()?, tempfile::tempdir().expect("a folder")).await)
    }

    async fn open(users: Address, health: Address, folder: tempfile::TempDir) -> Self {
        let objects = Objects::folder(&folder.path().join("objects")).expect("a folder");
        let users = UsersDb::open(users).await.expect("a database");
        let health = HealthDb::open(health, objects).await.expect("a database");
        Stores { users, health, _folder: folder }
    }
}

/// Makes of each `async fn name(stores: Stores)` a test on SQLite and one on PostgreSQL.
macro_rules! on_both_engines {
    ($($name:ident)*) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                super::$name(crate::contract::Stores::sqlite().await).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                if let Some(stores) = crate::contract::Stores::postgres().await {
                    super::$name(stores).await;
                }
            })*
        }
    };
}
pub(crate) use on_both_engines;

/// Entries stamped with a fixed time.
pub(crate) fn audit(entries: Vec<NewAuditEntry>, now_ms: i64) -> Audit {
    Audit { entries, clock: Arc::new(move || now_ms) }
}

/// All entries of the audit log that a query asks for.
pub(crate) async fn audit_entries(users: &UsersDb, query: AuditQuery, now_ms: i64) -> Vec<AuditEntry> {
    let mut reader = users.read_audit(query, now_ms).await.expect("a reader");
    let mut entries = Vec::new();
    while let Some(page) = reader.next_page().await.expect("a page") {
        entries.extend(page);
    }
    entries
}

/// Groups that have set nothing.
pub(crate) fn no_settings() -> EffectiveSettings {
    EffectiveSettings { rule: |_| serde_json::Map::new(), at_ms: 0 }
}

/// The entry of an export.
pub(crate) fn export_entry(id: &str) -> NewAuditEntry {
    NewAuditEntry {
        id: format!("entry-{id}"),
        action_type: "PATIENT_API_EXPORT".to_owned(),
        user_id: "an account".to_owned(),
        user_role: "researcher".to_owned(),
        primary: Entity { id: "a patient".to_owned(), kind: "patient.id".to_owned() },
        secondary: None,
        details: Some("{\"types\":[\"ppg2\"]}".to_owned()),
        salt: [1; 16],
    }
}

/// Delivers what the health database owes the users database about a patient. Returns how many messages there were.
pub(crate) async fn deliver_entries_of(stores: &Stores, patient: &str) -> usize {
    let pending = stores.health.entries_of(patient).await.expect("a list");
    for message in &pending {
        stores.users.take_entries(audit(message.entries.clone(), 1_500)).await.expect("written");
        stores.health.entries_taken(&message.key).await.expect("noted");
    }
    pending.len()
}
