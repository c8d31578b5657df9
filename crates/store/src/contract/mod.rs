//! The same tests on both engines: what a store function promises, it promises on SQLite and on PostgreSQL.

mod audit;
mod audit_pages;
mod audit_seal;
mod backup;
mod bracelet_states;
mod bracelets;
mod columns;
mod counts;
mod damaged_pages;
mod damaged_patients;
mod damaged_rows;
mod derivation_statements;
mod derivations;
mod engine_checks;
mod erasure;
mod errors;
mod events;
mod example_rows;
mod exports;
mod flips;
mod followers;
mod groups;
mod health;
mod held_head;
mod jobs;
mod messages;
mod nodes;
mod oauth;
mod older_stores;
mod people;
mod portal;
mod retirements;
mod roles;
mod sealing;
mod security_events;
mod sessions;
mod study_attachments;
mod syncs;
mod texts;
mod written_events;

use std::sync::Arc;
use std::time::Duration;

use vitals::block::{Block, Cells};
use vitals::registry::{Channel, DataType};
use vitals::zone::ZoneRuns;

use crate::engine::{Address, Tx};
use crate::error::Result;
use crate::ids::{AuditEntryId, EntityId, PatientId};
use crate::{
    ActorRole, Audit, AuditEntry, AuditKey, AuditQuery, EffectiveSettings, Entity, HealthDb, NewAuditEntry, Objects,
    Role, UserId, UserRole, UsersDb,
};

/// Both databases on one engine.
pub(crate) struct Stores {
    pub users: UsersDb,
    pub health: HealthDb,
    /// Where they are.
    pub addresses: [Address; 2],
    folder: tempfile::TempDir,
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
        let addresses = [users.clone(), health.clone()];
        let users = UsersDb::open(users).await.expect("a database");
        let health = HealthDb::open(health, objects).await.expect("a database");
        Stores { users, health, addresses, folder }
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

/// One row of `activity` at a time, with one column.
pub(crate) fn activity_row(time_ms: i64, column: &str, value: i32) -> Block {
    let mut block = Block::empty(DataType::Activity, Channel::default());
    block.times_us = vec![time_ms * 1000];
    let column = DataType::Activity.column_index(column).expect("a column");
    block.columns[column] = Cells::Values(vec![value]).simplified();
    block.zones = ZoneRuns::constant("UTC".into(), 1);
    block
}

/// Waits, in a transaction on PostgreSQL, until another one of this database waits for a lock.
pub(crate) async fn until_another_waits(tx: &Tx<'_>) -> Result<()> {
    until_waiting(tx, 1).await
}

/// The same until some others wait.
pub(crate) async fn until_waiting(tx: &Tx<'_>, others: i64) -> Result<()> {
    const WAITING: &str =
        "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    /// 5 ms apart.
    const LOOKS: usize = 1000;
    for _ in 0..LOOKS {
        // What a transaction has seen of the others is kept for it otherwise.
        tx.query_opt("SELECT pg_stat_clear_snapshot()", &[], |_| Ok(())).await?;
        if tx.query_opt(WAITING, &[], |row| row.get::<i64>(0)).await? >= Some(others) {
            return Ok(());
        }
        runtime::sleep(Duration::from_millis(5)).await;
    }
    panic!("no transaction came to what is held");
}

/// A key of the audit log.
pub(crate) fn audit_key(byte: u8) -> AuditKey {
    AuditKey::new(&[byte; 32], [byte; 32])
}

/// Entries stamped with a fixed time.
pub(crate) fn audit(entries: Vec<NewAuditEntry>, now_ms: i64) -> Audit {
    Audit { entries, security: Vec::new(), clock: Arc::new(move || now_ms), key: audit_key(1) }
}

/// Returns all entries of the audit log that a query asks for.
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

/// Returns the entry of an export.
pub(crate) fn export_entry(id: &str) -> NewAuditEntry {
    NewAuditEntry {
        id: AuditEntryId::new(format!("entry-{id}")),
        action_type: "PATIENT_API_EXPORT".to_owned(),
        user_id: UserId::new("an account"),
        user_role: ActorRole::User(UserRole::Account(Role::Researcher)),
        primary: Entity { id: EntityId::new("a patient"), kind: "patient.id".to_owned() },
        secondary: None,
        details: Some("{\"types\":[\"ppg2\"]}".to_owned()),
        salt: [1; 16],
    }
}

/// Delivers what the health database enqueues for the users database about a patient. Returns how many messages there
/// were.
pub(crate) async fn deliver_entries_of(stores: &Stores, patient: &str) -> usize {
    let pending = stores.health.entries_of(&PatientId::new(patient)).await.expect("a list");
    for message in &pending {
        stores.users.take_entries(audit(message.entries.clone(), 1_500)).await.expect("written");
        stores.health.entries_taken(&message.key).await.expect("noted");
    }
    pending.len()
}
