//! The log of what bears on security: logins, credentials, refusals.
//!
//! Numbers are given while the head of the audit log is held, which a login holds anyway, so a transaction that commits
//! late cannot come in behind a reader.

use boxed_futures::boxed_futures;

use super::audit_head;
use super::db::UsersDb;
use crate::engine::Tx;
use crate::error::Result;
use crate::ids::{AccountId, EntityId, LogEpoch, PatientId, UserId};
use crate::security_event::NewSecurityEvent;
use crate::texts::{record, sql};

/// A security event as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecurityEvent {
    /// Number in the log, from 1.
    pub number: i64,
    /// Time, ms.
    pub time_ms: i64,
    /// Type.
    pub event_type: String,
    /// How many of the same it represents.
    pub count: i64,
    /// Uuid of the patient or account that did it; absent where nobody was recognised, and after their erasure.
    pub actor: Option<UserId>,
    /// Role of that.
    pub actor_role: Option<String>,
    /// Uuid or record identifier of the patient, account or thing that it was done to; absent after their erasure.
    pub subject: Option<EntityId>,
    /// Keyed hash of a name that nobody had.
    pub name_hash: Option<String>,
    /// Address that it came from; absent after the erasure of those that it is about.
    pub address: Option<String>,
    /// What belongs to the type.
    pub detail: Option<String>,
}

/// Which security events are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecurityQuery {
    /// Behind this number.
    pub after: i64,
    /// From this time, ms.
    pub from_ms: Option<i64>,
    /// To this time, included, ms.
    pub to_ms: Option<i64>,
    /// Of this type alone.
    pub event_type: Option<String>,
    /// At most so many.
    pub limit: i64,
}

/// Hashes of the names that somebody logs in by, as failed logins from before the name was theirs are kept under.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameHashes(pub Vec<String>);

/// Security events in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecurityPage {
    /// The events.
    pub events: Vec<SecurityEvent>,
    /// Name of the store's life that the numbers belong to.
    pub epoch: LogEpoch,
}

record! {
    event_columns!(""), read_event(row) -> SecurityEvent {
        number, time_ms, event_type = "type", count = "count", actor, actor_role, subject, name_hash, address, detail,
    }
}

/// Whether an event that is about to be written is about somebody who was erased ($4 the actor, $6 the subject).
macro_rules! about_erased {
    () => {
        "EXISTS (SELECT 1 FROM erasure e WHERE e.patient = $4 OR e.patient = $6)
            OR EXISTS (SELECT 1 FROM account_erasure a WHERE a.account = $4 OR a.account = $6)"
    };
}

sql! {
    /// What is written late must not bring back who was erased meanwhile.
    ADD = concat!("INSERT INTO security_event
        (number, time_ms, type, count, actor, actor_role, subject, name_hash, address, detail)
        SELECT COALESCE(MAX(number), 0) + 1, CAST($1 AS BIGINT), CAST($2 AS TEXT), CAST($3 AS BIGINT),
            CASE WHEN ", about_erased!(), " THEN NULL ELSE CAST($4 AS TEXT) END, CAST($5 AS TEXT),
            CASE WHEN ", about_erased!(), " THEN NULL ELSE CAST($6 AS TEXT) END, CAST($7 AS TEXT),
            CASE WHEN ", about_erased!(), " THEN NULL ELSE CAST($8 AS TEXT) END, CAST($9 AS TEXT)
        FROM security_event");
    EPOCH = "SELECT epoch FROM store_epoch";
    PAGE = concat!("SELECT ", event_columns!(), " FROM security_event
        WHERE number > $1 AND time_ms >= $2 AND time_ms <= $3 AND ($4 = '' OR type = $4) ORDER BY number LIMIT $5");
    /// Readers go on behind numbers, so the rows stay.
    EMPTY = "UPDATE security_event SET actor = NULL, subject = NULL, name_hash = NULL, address = NULL
        WHERE actor = $1 OR subject = $1";
    /// The same of a name that was nobody's yet when it was tried.
    EMPTY_OF_NAME = "UPDATE security_event SET name_hash = NULL, address = NULL WHERE name_hash = $1";
    // The newest stays, however old: the next number is one more than the largest, and a number must not be given twice.
    PURGE = "DELETE FROM security_event
        WHERE time_ms < $1 AND number < (SELECT MAX(number) FROM security_event)";
}

#[boxed_futures]
impl UsersDb {
    /// Writes events that happened at a time.
    pub async fn add_security_events(&self, events: Vec<NewSecurityEvent>, time_ms: i64) -> Result<()> {
        self.write_logged(async move |tx| {
            // Also where there is only one: two that came at the same time would be given the same number.
            audit_head::hold(tx).await?;
            for event in &events {
                write(tx, event, time_ms).await?;
            }
            Ok(())
        })
        .await
    }

    /// Returns events, oldest first.
    pub async fn security_events(&self, query: SecurityQuery) -> Result<SecurityPage> {
        self.db
            .read(async move |tx| {
                let SecurityQuery { after, from_ms, to_ms, event_type, limit } = &query;
                let epoch: Option<LogEpoch> = tx.query_opt(EPOCH, &[], |row| row.get(0)).await?;
                let (from_ms, to_ms) = (from_ms.unwrap_or(i64::MIN), to_ms.unwrap_or(i64::MAX));
                let event_type = event_type.clone().unwrap_or_default();
                let events = tx.query(PAGE, &[after, &from_ms, &to_ms, &event_type, limit], read_event).await?;
                Ok(SecurityPage { events, epoch: epoch.unwrap_or_else(|| LogEpoch::new("")) })
            })
            .await
    }

    /// Deletes events from before a time, except the newest of all. Returns how many there were.
    pub async fn purge_security_events(&self, before_ms: i64) -> Result<u64> {
        self.db.write(async move |tx| tx.execute(PURGE, &[&before_ms]).await).await
    }
}

/// Writes an event, in the transaction of what it is about. The head of the audit log has to be held.
pub(super) async fn write(tx: &Tx<'_>, event: &NewSecurityEvent, time_ms: i64) -> Result<()> {
    tx.execute(
        ADD,
        &[
            &time_ms,
            &event.event_type,
            &event.count,
            &event.actor,
            &event.actor_role,
            &event.subject,
            &event.name_hash,
            &event.address,
            &event.detail,
        ],
    )
    .await
    .map(drop)
}

/// Takes a patient out of all events, with the names that the patient logged in by. Returns how many there were.
pub(super) async fn forget_patient(tx: &Tx<'_>, patient: &PatientId, names: &NameHashes) -> Result<u64> {
    // An event that is being written may be of this patient, and is only found once it is committed.
    audit_head::hold(tx).await?;
    Ok(tx.execute(EMPTY, &[&patient]).await? + forget_names(tx, names).await?)
}

/// Does the same for an account.
pub(super) async fn forget_account(tx: &Tx<'_>, account: &AccountId, names: &NameHashes) -> Result<u64> {
    audit_head::hold(tx).await?;
    Ok(tx.execute(EMPTY, &[&account]).await? + forget_names(tx, names).await?)
}

async fn forget_names(tx: &Tx<'_>, NameHashes(names): &NameHashes) -> Result<u64> {
    let mut events = 0;
    for name in names {
        events += tx.execute(EMPTY_OF_NAME, &[&name]).await?;
    }
    Ok(events)
}
