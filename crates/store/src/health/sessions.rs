//! One row for every token of the Health Cloud: what makes a signed token end before its time.
//!
//! Tokens that are refreshed from one another are a family. It ends by its first row, which every look-up reads as
//! well: so it ends at once and as a whole, also for a token that another transaction is just adding.

use crate::names::SettingName;
use std::collections::BTreeMap;

use boxed_futures::boxed_futures;
use vitals::registry::DataType;

use super::db::HealthDb;
use crate::engine::{Columns, Row, Tx};
use crate::error::{Result, StoreError};
use crate::ids::{AccountId, ApiKeyId, ClientId, ConsentId, FamilyId, PatientId, SessionId};
use crate::refresh::{Refreshed, Successor, TokenTimes, verdict};
use crate::texts::{record, sql};

/// What is behind a token of the Health Cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthSession {
    /// Identity of the token.
    pub id: SessionId,
    /// Whose data it opens.
    pub patient: PatientId,
    /// The account that reads on the patient's behalf; absent when it is the patient.
    pub actor: Option<AccountId>,
    /// The API key that the actor asked for it with.
    pub api_key: Option<ApiKeyId>,
    /// The login on the Users Cloud that it was exchanged for.
    pub login: Option<FamilyId>,
    /// The OAuth client that it was issued to.
    pub client: Option<ClientId>,
    /// The consent that the client acts on.
    pub consent: Option<ConsentId>,
    /// What it allows, words with blanks between.
    pub scope: String,
    /// Identity of the first token of its family.
    pub family: FamilyId,
    /// Time at which the first token of this family was issued, ms.
    pub first_issued_ms: i64,
    /// Time at which this token was issued, ms.
    pub issued_ms: i64,
    /// Time at which this token ends by itself, ms.
    pub expires_ms: i64,
    /// Time until which it can be refreshed, ms.
    pub refresh_until_ms: i64,
    /// Time at which it was refreshed, ms.
    pub replaced_ms: Option<i64>,
    /// Time at which it or its family was ended, ms.
    pub ended_ms: Option<i64>,
}

impl HealthSession {
    fn times(&self) -> TokenTimes {
        TokenTimes { ended_ms: self.ended_ms, refresh_until_ms: self.refresh_until_ms, replaced_ms: self.replaced_ms }
    }
}

/// What decides how rows of a patient are taken in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntakeFacts {
    /// The zone of the patient's profile.
    pub time_zone: Option<String>,
    /// The rule of how long rows are kept, JSON.
    pub retention: Option<String>,
    /// Before when rows of a type have expired, µs.
    pub expired_us: BTreeMap<DataType, i64>,
}

record! {
    session_columns!("s."), read_session(columns) -> HealthSession {
        id, patient, actor, api_key, login, client, consent, scope, family, first_issued_ms, issued_ms,
        expires_ms, refresh_until_ms, replaced_ms, ended_ms = "COALESCE(s.ended_ms, f.ended_ms)",
    }
}

sql! {
    ADD = "INSERT INTO session (id, patient, actor, api_key, login, client, consent, scope, family, first_issued_ms,
        issued_ms, expires_ms, refresh_until_ms, replaced_ms, ended_ms)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";
    FIND = concat!("SELECT ", session_columns!(), " FROM session s JOIN session f ON f.id = s.family WHERE s.id = $1");
    /// The same, with what decides how the patient's rows are taken in: a row for each type of which rows have expired.
    FIND_CALLER = concat!("SELECT ", session_columns!(), ", p.time_zone,
        (SELECT body FROM patient_setting WHERE patient = s.patient AND name = $2 AND valid_from_ms <= $3
            ORDER BY valid_from_ms DESC LIMIT 1), r.data_type, r.before_us
        FROM session s JOIN session f ON f.id = s.family LEFT JOIN patient p ON p.uuid = s.patient
        LEFT JOIN retired r ON r.patient = s.patient WHERE s.id = $1");
    /// Makes an erasure of the patient wait for the end of this transaction.
    HOLD_PATIENT = "UPDATE patient SET updated_ms = updated_ms WHERE uuid = $1";
    HOLD = "UPDATE session SET replaced_ms = replaced_ms WHERE id = $1";
    REPLACE = "UPDATE session SET replaced_ms = $2 WHERE id = $1 AND replaced_ms IS NULL";
    END = "UPDATE session SET ended_ms = $2 WHERE id = $1 AND ended_ms IS NULL";
    PURGE = "DELETE FROM session WHERE refresh_until_ms < $1";
}

#[boxed_futures]
impl HealthDb {
    /// Adds the first session of a family. [`StoreError::Gone`] when the patient is not there.
    pub async fn add_session(&self, session: HealthSession) -> Result<()> {
        let owner = session.patient.clone();
        self.db
            .write_of((&owner).into(), async move |tx| {
                hold_patient(tx, &session.patient).await?;
                add(tx, &session).await
            })
            .await
    }

    /// Returns the session with this identity, ended or not.
    pub async fn session(&self, id: &SessionId) -> Result<Option<HealthSession>> {
        let id = id.clone();
        self.db.look_up(async move |tx| find(tx, &id).await).await
    }

    /// Returns the session with this identity, ended or not, and what decides how rows of its patient are taken in.
    /// `setting` is the name of the setting that says how long rows are kept.
    pub async fn calling_session(
        &self,
        id: &SessionId,
        setting: SettingName,
        now_ms: i64,
    ) -> Result<Option<(HealthSession, IntakeFacts)>> {
        let (id, setting) = (id.clone(), setting.name());
        let read = |row: &Row<'_>| {
            let mut columns = Columns::of(row);
            let (session, time_zone, retention) = (read_session(&mut columns)?, columns.take()?, columns.take()?);
            let expired: (Option<i64>, Option<i64>) = (columns.take()?, columns.take()?);
            Ok((session, time_zone, retention, expired.0.zip(expired.1)))
        };
        let found = self.db.look_up(async move |tx| tx.query(FIND_CALLER, &[&id, &setting, &now_ms], read).await);
        // The session comes once for each type of which rows have expired.
        let mut caller: Option<(HealthSession, IntakeFacts)> = None;
        for (session, time_zone, retention, expired) in found.await? {
            let facts = IntakeFacts { time_zone, retention, expired_us: BTreeMap::new() };
            let (_, facts) = caller.get_or_insert((session, facts));
            let known = expired.and_then(|(number, us)| Some((DataType::from_number(number)?, us)));
            facts.expired_us.extend(known);
        }
        Ok(caller)
    }

    /// Replaces a token by its successor. A token that was replaced less than `grace_ms` ago may be replaced again;
    /// later its whole family ends.
    pub async fn refresh_session(
        &self,
        id: &SessionId,
        successor: Successor,
        grace_ms: i64,
    ) -> Result<Refreshed<HealthSession>> {
        let id = id.clone();
        // The patient of a session never changes.
        let Some(HealthSession { patient: owner, .. }) = self.session(&id).await? else { return Ok(Refreshed::Ended) };
        let patient = owner.clone();
        self.db
            .write_of((&owner).into(), async move |tx| {
                // The patient before their session, in the order in which erasure takes them.
                hold_patient(tx, &patient).await?;
                tx.put(HOLD, &[&id]).await?;
                // Once more under the lock: another refresh of the same token may have replaced it meanwhile.
                let Some(old) = find(tx, &id).await? else { return Ok(Refreshed::Ended) };
                let now_ms = successor.issued_ms;
                match verdict(old.times(), now_ms, grace_ms) {
                    Refreshed::Ended => Ok(Refreshed::Ended),
                    Refreshed::Late => Ok(Refreshed::Late),
                    Refreshed::Reused => {
                        // The copy may have been refreshed by now, so all tokens of the login end and not this one
                        // alone.
                        end(tx, &old.family, now_ms).await?;
                        Ok(Refreshed::Reused)
                    }
                    Refreshed::Done(()) => {
                        tx.put(REPLACE, &[&id, &now_ms]).await?;
                        let new = succeed(old, &successor);
                        add(tx, &new).await?;
                        Ok(Refreshed::Done(new))
                    }
                }
            })
            .await
    }

    /// Ends a family of tokens. Whether it was still in force.
    pub async fn end_family(&self, family: &FamilyId, now_ms: i64) -> Result<bool> {
        let family = family.clone();
        self.db.write(async move |tx| end(tx, &family, now_ms).await).await
    }

    /// Removes families that cannot have been refreshed since a time. Answers how many rows there were.
    pub async fn purge_sessions(&self, refresh_until_ms: i64) -> Result<u64> {
        self.db.write(async move |tx| tx.execute(PURGE, &[&refresh_until_ms]).await).await
    }
}

/// Makes an erasure of the patient wait, so that it finds what is added here. [`StoreError::Gone`] after it.
pub(super) async fn hold_patient(tx: &Tx<'_>, patient: &PatientId) -> Result<()> {
    match tx.execute(HOLD_PATIENT, &[&patient]).await? {
        0 => Err(StoreError::Gone("patient")),
        _ => Ok(()),
    }
}

/// Returns the session of a token that takes another's place.
pub(super) fn succeed(old: HealthSession, successor: &Successor) -> HealthSession {
    HealthSession {
        id: successor.id.clone(),
        issued_ms: successor.issued_ms,
        expires_ms: successor.expires_ms,
        replaced_ms: None,
        ended_ms: None,
        ..old
    }
}

pub(super) async fn find(tx: &Tx<'_>, id: &SessionId) -> Result<Option<HealthSession>> {
    tx.query_opt(FIND, &[&id], |row| read_session(&mut Columns::of(row))).await
}

/// Ends a family by its first row. Whether it was still in force.
pub(super) async fn end(tx: &Tx<'_>, family: &FamilyId, now_ms: i64) -> Result<bool> {
    Ok(tx.execute(END, &[&family, &now_ms]).await? > 0)
}

pub(super) async fn add(tx: &Tx<'_>, session: &HealthSession) -> Result<()> {
    tx.execute(
        ADD,
        &[
            &session.id,
            &session.patient,
            &session.actor,
            &session.api_key,
            &session.login,
            &session.client,
            &session.consent,
            &session.scope,
            &session.family,
            &session.first_issued_ms,
            &session.issued_ms,
            &session.expires_ms,
            &session.refresh_until_ms,
            &session.replaced_ms,
            &session.ended_ms,
        ],
    )
    .await
    .map(drop)
}
