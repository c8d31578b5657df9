//! One row for every token of the Users Cloud: what makes a signed token end before its time.
//!
//! A login begins a family of tokens; each refresh adds one. A family ends by its first row, which every look-up
//! reads as well: so it ends at once and as a whole, also for a token that another transaction is just adding.

use boxed_futures::boxed_futures;

use super::audit::Audit;
use super::audit_head;
use super::db::UsersDb;
use super::messages::HealthMessage;
use super::totp::{UsedFactor, use_factor};
use crate::engine::Tx;
use crate::engine::row::Columns;
use crate::error::Result;
use crate::ids::{AccountId, FamilyId, PatientId, SessionId, UserId};
use crate::refresh::{Refreshed, Successor, TokenTimes, verdict};
use crate::texts::{record, sql};
use crate::user::User;

/// What is behind a token of the Users Cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Identity of the token.
    pub id: SessionId,
    /// Whose it is.
    pub owner: UserId,
    /// Identity of the first token of its family: of the login.
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

impl Session {
    fn times(&self) -> TokenTimes {
        TokenTimes { ended_ms: self.ended_ms, refresh_until_ms: self.refresh_until_ms, replaced_ms: self.replaced_ms }
    }
}

/// A session and what its owner has to do first, as one look-up returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionHolder {
    /// The session.
    pub session: Session,
    /// Whether staff or an operator chose the owner's password.
    pub must_change_password: bool,
}

record! {
    session_columns!("s."), read_session(columns) -> Session {
        id, owner, family, first_issued_ms, issued_ms, expires_ms, refresh_until_ms, replaced_ms,
        ended_ms = "COALESCE(s.ended_ms, f.ended_ms)",
    }
}

record! {
    holder_columns!("s."), read_holder(row) -> SessionHolder {
        session <- session_columns!(read_session),
        must_change_password = "(EXISTS (SELECT 1 FROM patient p WHERE p.uuid = s.owner AND p.must_change_password)
            OR EXISTS (SELECT 1 FROM account a WHERE a.uuid = s.owner AND a.must_change_password))",
    }
}

sql! {
    /// Holds a person's row, unless the password has changed meanwhile.
    HOLD_PATIENT = "UPDATE patient SET updated_ms = updated_ms WHERE uuid = $1 AND password_hash = $2";
    HOLD_ACCOUNT = "UPDATE account SET updated_ms = updated_ms
        WHERE uuid = $1 AND password_hash = $2 AND disabled_ms IS NULL";
    ADD = "INSERT INTO session (id, owner, family, first_issued_ms, issued_ms, expires_ms, refresh_until_ms,
        replaced_ms, ended_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    FIND = concat!("SELECT ", session_columns!(), " FROM session s JOIN session f ON f.id = s.family WHERE s.id = $1");
    /// The person's row says it and not the session's: a session of before a change is ended anyway.
    HOLDER = concat!("SELECT ", holder_columns!(), " FROM session s JOIN session f ON f.id = s.family WHERE s.id = $1");
    HOLD = "UPDATE session SET replaced_ms = replaced_ms WHERE id = $1";
    REPLACE = "UPDATE session SET replaced_ms = $2 WHERE id = $1 AND replaced_ms IS NULL";
    END = "UPDATE session SET ended_ms = $2 WHERE id = $1 AND ended_ms IS NULL";
    PURGE = "DELETE FROM session WHERE refresh_until_ms < $1";
}

#[boxed_futures]
impl UsersDb {
    /// Adds the first session of a login and writes the login's entries. False, and nothing is written, when the
    /// owner's password is not the one of this hash any more, their account is disabled, or it has got a second factor:
    /// then the login came too late.
    pub async fn add_session(&self, session: Session, owner: &User, password_hash: &str, audit: Audit) -> Result<bool> {
        let (person, owner, password_hash) = (owner, owner.clone(), password_hash.to_owned());
        self.db
            .write_in_line(&[(&person.id()).into(), audit_head::LINE], async move |tx| {
                if !hold_person(tx, &owner, &password_hash).await? {
                    return Ok(false);
                }
                if let User::Account(account, _) = &owner
                    && !use_factor(tx, account, &UsedFactor::None).await?
                {
                    return Ok(false);
                }
                add(tx, &session).await?;
                audit.append(tx).await?;
                Ok(true)
            })
            .await
    }

    /// Writes the entries of a login that begins no session here. False as for [`UsersDb::add_session`].
    pub async fn note_login(&self, owner: &User, password_hash: &str, audit: Audit) -> Result<bool> {
        let (person, owner, password_hash) = (owner, owner.clone(), password_hash.to_owned());
        self.db
            .write_in_line(&[(&person.id()).into(), audit_head::LINE], async move |tx| {
                if !hold_person(tx, &owner, &password_hash).await? {
                    return Ok(false);
                }
                audit.append(tx).await?;
                Ok(true)
            })
            .await
    }

    /// Returns the session with this identity, ended or not.
    pub async fn session(&self, id: &SessionId) -> Result<Option<Session>> {
        let id = id.clone();
        self.db.look_up(async move |tx| find(tx, &id).await).await
    }

    /// Returns the session with this identity, ended or not, and whether its owner has to change the password first.
    pub async fn session_holder(&self, id: &SessionId) -> Result<Option<SessionHolder>> {
        let id = id.clone();
        self.db.look_up(async move |tx| tx.query_opt(HOLDER, &[&id], read_holder).await).await
    }

    /// Replaces a token by its successor. A token that was replaced no longer than `grace_ms` ago may be replaced
    /// again; later its whole family ends, and the health database gets a message to end what came from it.
    pub async fn refresh_session(
        &self,
        id: &SessionId,
        successor: Successor,
        grace_ms: i64,
        reused: HealthMessage,
    ) -> Result<Refreshed<Session>> {
        let id = id.clone();
        self.db
            .write(async move |tx| {
                // Two refreshes of one token follow each other: the second finds it replaced.
                tx.put(HOLD, &[&id]).await?;
                let Some(old) = find(tx, &id).await? else { return Ok(Refreshed::Ended) };
                let now_ms = successor.issued_ms;
                match verdict(old.times(), now_ms, grace_ms) {
                    Refreshed::Ended => Ok(Refreshed::Ended),
                    Refreshed::Late => Ok(Refreshed::Late),
                    Refreshed::Reused => {
                        // The copy may have been refreshed by now, so all tokens of the login end and not this one
                        // alone.
                        tx.put(END, &[&old.family, &now_ms]).await?;
                        // Tokens of the Health Cloud that were exchanged for one of these end too.
                        reused.enqueue(tx).await?;
                        Ok(Refreshed::Reused)
                    }
                    Refreshed::Done(()) => {
                        tx.put(REPLACE, &[&id, &now_ms]).await?;
                        let new = Session {
                            id: successor.id.clone(),
                            issued_ms: now_ms,
                            expires_ms: successor.expires_ms,
                            replaced_ms: None,
                            ..old
                        };
                        add(tx, &new).await?;
                        Ok(Refreshed::Done(new))
                    }
                }
            })
            .await
    }

    /// Ends a login with all its tokens and enqueues for the health database the end of those that came from it.
    /// Whether it was still in force.
    pub async fn end_login(&self, family: &FamilyId, now_ms: i64, message: HealthMessage) -> Result<bool> {
        let family = family.clone();
        self.db
            .write(async move |tx| {
                if tx.execute(END, &[&family, &now_ms]).await? == 0 {
                    return Ok(false);
                }
                message.enqueue(tx).await?;
                Ok(true)
            })
            .await
    }

    /// Removes families that cannot have been refreshed since a time. Answers how many rows there were.
    pub async fn purge_sessions(&self, refresh_until_ms: i64) -> Result<u64> {
        self.db.write(async move |tx| tx.execute(PURGE, &[&refresh_until_ms]).await).await
    }
}

/// Makes a change of a person's password, and the disabling of an account, wait for the end of this transaction. False
/// when that has been done already.
async fn hold_person(tx: &Tx<'_>, owner: &User, password_hash: &str) -> Result<bool> {
    match owner {
        User::Patient(patient) => hold_patient(tx, patient, password_hash).await,
        User::Account(account, _) => hold_account(tx, account, password_hash).await,
    }
}

/// Does the same for a patient.
pub(super) async fn hold_patient(tx: &Tx<'_>, patient: &PatientId, password_hash: &str) -> Result<bool> {
    Ok(tx.execute(HOLD_PATIENT, &[&patient, &password_hash]).await? > 0)
}

/// Does the same for an account.
pub(super) async fn hold_account(tx: &Tx<'_>, account: &AccountId, password_hash: &str) -> Result<bool> {
    Ok(tx.execute(HOLD_ACCOUNT, &[&account, &password_hash]).await? > 0)
}

async fn find(tx: &Tx<'_>, id: &SessionId) -> Result<Option<Session>> {
    tx.query_opt(FIND, &[&id], |row| read_session(&mut Columns::of(row))).await
}

async fn add(tx: &Tx<'_>, session: &Session) -> Result<()> {
    tx.execute(
        ADD,
        &[
            &session.id,
            &session.owner,
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
