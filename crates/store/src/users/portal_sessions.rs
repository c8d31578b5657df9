//! Sessions of the portal's pages: what is behind the cookie.

use boxed_futures::boxed_futures;

use super::audit::Audit;
use super::db::UsersDb;
use super::sessions::hold_account;
use super::totp::{UsedFactor, use_factor};
use crate::engine::row::Columns;
use crate::error::Result;
use crate::ids::{AccountId, PortalSessionId};
use crate::names::Role;
use crate::texts::{record, sql};

/// A session of the pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortalSession {
    /// Record identifier, 24 hex digits.
    pub id: PortalSessionId,
    /// SHA-256 of the cookie's value.
    pub token_hash: Vec<u8>,
    /// Whose it is.
    pub account: AccountId,
    /// Whether it may only read.
    pub view_only: bool,
    /// Where it was begun from.
    pub address: String,
    /// What the browser calls itself.
    pub user_agent: String,
    /// Begin, ms.
    pub created_ms: i64,
    /// Time at which it was last used, ms, to some seconds.
    pub last_seen_ms: i64,
    /// Time at which it ends whatever happens, ms.
    pub ends_ms: i64,
}

/// A session and whose it is, as one look-up returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortalHolder {
    /// The session.
    pub session: PortalSession,
    /// The account's role.
    pub role: Role,
    /// Time until which its subscription is active, ms.
    pub subscription_until_ms: Option<i64>,
    /// Time at which it was disabled, ms.
    pub disabled_ms: Option<i64>,
    /// Whether an operator chose the password.
    pub must_change_password: bool,
    /// Whether it has a confirmed second factor.
    pub has_totp: bool,
}

record! {
    session_columns!("s."), read_session(columns) -> PortalSession {
        id, token_hash, account, view_only, address, user_agent, created_ms, last_seen_ms, ends_ms,
    }
}

record! {
    holder_columns!("a."), read_holder(row) -> PortalHolder {
        session <- session_columns!(read_session), role, subscription_until_ms, disabled_ms,
        must_change_password,
        has_totp = "EXISTS (SELECT 1 FROM totp t WHERE t.account = a.uuid AND t.confirmed_ms IS NOT NULL)",
    }
}

sql! {
    ADD = "INSERT INTO portal_session (id, token_hash, account, view_only, address, user_agent, created_ms, last_seen_ms,
        ends_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    HOLDER = concat!("SELECT ", holder_columns!(),
        " FROM portal_session s JOIN account a ON a.uuid = s.account WHERE s.token_hash = $1");
    LIST = concat!("SELECT ", session_columns!(), " FROM portal_session s
        WHERE account = $1 AND ends_ms > $2 AND (view_only = $4 OR last_seen_ms > $3) ORDER BY created_ms, id");
    SEEN = "UPDATE portal_session SET last_seen_ms = $2 WHERE id = $1 AND last_seen_ms < $2";
    END = "DELETE FROM portal_session WHERE id = $1 AND account = $2";
    PURGE = "DELETE FROM portal_session WHERE ends_ms <= $1 OR (view_only = $3 AND last_seen_ms <= $2)";
}

#[boxed_futures]
impl UsersDb {
    /// Adds a session and writes the login's entries. `factor` is what was given as the second factor, which is
    /// thereby used up. False, and nothing is written, when the password is not the one of this hash any more, the
    /// account is disabled, the code was used before, or a second factor was set up meanwhile.
    pub async fn add_portal_session(
        &self,
        session: PortalSession,
        password_hash: &str,
        factor: UsedFactor,
        audit: Audit,
    ) -> Result<bool> {
        let password_hash = password_hash.to_owned();
        self.write_logged(async move |tx| {
            // Held with the password that the login has checked: one that was changed meanwhile has ended sessions
            // that this one would escape.
            if !hold_account(tx, &session.account, &password_hash).await?
                || !use_factor(tx, &session.account, &factor).await?
            {
                return Ok(false);
            }
            let new = &session;
            tx.put(
                ADD,
                &[
                    &new.id,
                    &new.token_hash,
                    &new.account,
                    &new.view_only,
                    &new.address,
                    &new.user_agent,
                    &new.created_ms,
                    &new.last_seen_ms,
                    &new.ends_ms,
                ],
            )
            .await?;
            audit.append(tx).await?;
            Ok(true)
        })
        .await
    }

    /// Returns the session whose cookie has this hash, and whose it is; whether it still counts is for the caller to
    /// see.
    pub async fn portal_holder(&self, token_hash: &[u8]) -> Result<Option<PortalHolder>> {
        let token_hash = token_hash.to_owned();
        self.db.look_up(async move |tx| tx.query_opt(HOLDER, &[&token_hash], read_holder).await).await
    }

    /// Returns the sessions of an account that have not ended by themselves, oldest first: neither by their time nor,
    /// unless they only read, because nobody has used them since `idle_since_ms`.
    pub async fn portal_sessions(
        &self,
        account: &AccountId,
        now_ms: i64,
        idle_since_ms: i64,
    ) -> Result<Vec<PortalSession>> {
        let account = account.clone();
        self.db
            .read(async move |tx| {
                tx.query(LIST, &[&account, &now_ms, &idle_since_ms, &true], |row| read_session(&mut Columns::of(row)))
                    .await
            })
            .await
    }

    /// Notes that a session was used.
    pub async fn note_portal_seen(&self, id: &PortalSessionId, now_ms: i64) -> Result<()> {
        let id = id.clone();
        self.db.write(async move |tx| tx.execute(SEEN, &[&id, &now_ms]).await.map(drop)).await
    }

    /// Ends a session of an account. Whether it was there.
    pub async fn end_portal_session(&self, id: &PortalSessionId, account: &AccountId) -> Result<bool> {
        let (id, account) = (id.clone(), account.clone());
        self.db.write(async move |tx| Ok(tx.execute(END, &[&id, &account]).await? > 0)).await
    }

    /// Removes sessions that have ended by themselves. Answers how many there were.
    pub async fn purge_portal_sessions(&self, now_ms: i64, idle_since_ms: i64) -> Result<u64> {
        self.db.write(async move |tx| tx.execute(PURGE, &[&now_ms, &idle_since_ms, &false]).await).await
    }
}
