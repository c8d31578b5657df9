//! Accounts: the people who read and run studies. A patient has no account.

use boxed_futures::boxed_futures;

use super::db::UsersDb;
use super::emails;
use super::messages::HealthMessage;
use crate::engine::Tx;
use crate::error::Result;
use crate::ids::{AccountId, PortalSessionId, RecordId};
use crate::names::Role;
use crate::texts::{record, sql};

/// A researcher, a healthcare practitioner or an administrator.
#[derive(Clone, PartialEq, Eq)]
pub struct Account {
    /// Identity towards clients.
    pub uuid: AccountId,
    /// Record identifier, 24 hex digits.
    pub id: RecordId,
    /// Address to log in with, in lower case.
    pub email: String,
    /// Role, which decides what the account may do.
    pub role: Role,
    /// Given name.
    pub first_name: Option<String>,
    /// Family name.
    pub last_name: Option<String>,
    /// Argon2id hash in PHC form.
    pub password_hash: String,
    /// Whether an operator chose the password, so that the owner has to choose another.
    pub must_change_password: bool,
    /// End of the subscription, ms; absent without one.
    pub subscription_until_ms: Option<i64>,
    /// Time at which the account was disabled, ms.
    pub disabled_ms: Option<i64>,
    /// Creation, ms.
    pub created_ms: i64,
    /// Last change, ms.
    pub updated_ms: i64,
}

impl std::fmt::Debug for Account {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The rest is personal data and a password hash.
        formatter.debug_struct("Account").field("uuid", &self.uuid).field("role", &self.role).finish_non_exhaustive()
    }
}

/// A new password of an account.
#[derive(Clone, Default)]
pub struct NewPassword {
    /// Argon2id hash in PHC form.
    pub hash: String,
    /// Set where an operator chose it, so that the owner has to choose another.
    pub must_change: bool,
    /// Portal session that asked for the change and is not ended by it.
    pub kept_session: Option<PortalSessionId>,
}

record! {
    account_columns!(""), read_account(row) -> Account {
        uuid, id, email, role, first_name, last_name, password_hash, must_change_password, subscription_until_ms,
        disabled_ms, created_ms, updated_ms,
    }
}

sql! {
    ADD = concat!("INSERT INTO account (", account_columns!(), ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)");
    FIND = concat!("SELECT ", account_columns!(), " FROM account WHERE uuid = $1");
    FIND_BY_EMAIL = concat!("SELECT ", account_columns!(), " FROM account WHERE email = $1");
    LIST = concat!("SELECT ", account_columns!(), " FROM account ORDER BY created_ms, uuid");
    SET_SUBSCRIPTION = "UPDATE account SET subscription_until_ms = $2, updated_ms = $3 WHERE uuid = $1";
    SET_PASSWORD = "UPDATE account SET password_hash = $2, must_change_password = $4, updated_ms = $3 WHERE uuid = $1";
    /// An empty name removes the stored one; NULL keeps it.
    SET_NAMES = "UPDATE account SET first_name = NULLIF(COALESCE($2, first_name), ''),
        last_name = NULLIF(COALESCE($3, last_name), ''), updated_ms = $4 WHERE uuid = $1";
    DISABLE = "UPDATE account SET disabled_ms = $2, updated_ms = $2 WHERE uuid = $1 AND disabled_ms IS NULL";
    ENABLE = "UPDATE account SET disabled_ms = NULL, updated_ms = $2 WHERE uuid = $1 AND disabled_ms IS NOT NULL";
    /// Keys from before the account was disabled, or had another role, stay ended: their holders need not be the owner.
    END_KEYS = "UPDATE api_key SET revoked_ms = $2 WHERE account = $1 AND revoked_ms IS NULL";
    /// Locks the row, which every login of the account locks before it looks at the password.
    HOLD = "UPDATE account SET updated_ms = updated_ms WHERE uuid = $1";
    END_SESSIONS = "UPDATE session SET ended_ms = $2 WHERE owner = $1 AND ended_ms IS NULL";
    END_PORTAL_SESSIONS = "DELETE FROM portal_session WHERE account = $1 AND id <> COALESCE($2, '')";
}

#[boxed_futures]
impl UsersDb {
    /// Adds an account.
    ///
    /// # Errors
    /// [`crate::StoreError::Conflict`] when its e-mail is taken, by an account or by a patient.
    pub async fn add_account(&self, account: Account) -> Result<()> {
        self.db
            .write(async move |tx| {
                emails::hold_for_account(tx, &account.email).await?;
                let account = &account;
                tx.put(
                    ADD,
                    &[
                        &account.uuid,
                        &account.id,
                        &account.email,
                        &account.role,
                        &account.first_name,
                        &account.last_name,
                        &account.password_hash,
                        &account.must_change_password,
                        &account.subscription_until_ms,
                        &account.disabled_ms,
                        &account.created_ms,
                        &account.updated_ms,
                    ],
                )
                .await?;
                Ok(())
            })
            .await
    }

    /// Returns the account with this uuid.
    pub async fn account(&self, uuid: &AccountId) -> Result<Option<Account>> {
        let uuid = uuid.clone();
        self.db.read(async move |tx| tx.query_opt(FIND, &[&uuid], read_account).await).await
    }

    /// Returns the account with this e-mail, which has to be in lower case.
    pub async fn account_by_email(&self, email: &str) -> Result<Option<Account>> {
        let email = email.to_owned();
        self.db.read(async move |tx| tx.query_opt(FIND_BY_EMAIL, &[&email], read_account).await).await
    }

    /// Returns all accounts, oldest first.
    pub async fn accounts(&self) -> Result<Vec<Account>> {
        self.db.read(async |tx| tx.query(LIST, &[], read_account).await).await
    }

    /// Sets the end of the subscription, ms. Returns whether there is such an account.
    pub async fn set_subscription(&self, uuid: &AccountId, until_ms: Option<i64>, now_ms: i64) -> Result<bool> {
        let uuid = uuid.clone();
        self.db.write(async move |tx| Ok(tx.execute(SET_SUBSCRIPTION, &[&uuid, &until_ms, &now_ms]).await? > 0)).await
    }

    /// Sets the password and ends the account's sessions on the Users Cloud and of the portal, except the one to keep.
    /// Returns whether there is such an account.
    pub async fn set_account_password(&self, uuid: &AccountId, new: NewPassword, now_ms: i64) -> Result<bool> {
        let uuid = uuid.clone();
        let kept = new.kept_session;
        self.db
            .write(async move |tx| {
                // A login that looked at the old password either has its session by now, and it is ended here, or waits
                // and finds the new one.
                hold_account(tx, &uuid).await?;
                end_sessions(tx, &uuid, kept.as_ref(), now_ms).await?;
                Ok(tx.execute(SET_PASSWORD, &[&uuid, &new.hash, &now_ms, &new.must_change]).await? > 0)
            })
            .await
    }

    /// Sets the names that are given; an empty one removes the stored name. Returns whether there is such an account.
    pub async fn set_account_names(
        &self,
        uuid: &AccountId,
        first_name: Option<String>,
        last_name: Option<String>,
        now_ms: i64,
    ) -> Result<bool> {
        let uuid = uuid.clone();
        self.db
            .write(async move |tx| Ok(tx.execute(SET_NAMES, &[&uuid, &first_name, &last_name, &now_ms]).await? > 0))
            .await
    }

    /// Disables an account, ends its sessions, and enqueues the end of its tokens of the Health Cloud. Returns `false` where
    /// there is no such account or it is disabled already; then nothing is enqueued.
    pub async fn disable_account(&self, uuid: &AccountId, now_ms: i64, message: HealthMessage) -> Result<bool> {
        let uuid = uuid.clone();
        self.db
            .write(async move |tx| {
                // The account's row first: a login that begins a session holds the same row.
                if tx.execute(DISABLE, &[&uuid, &now_ms]).await? == 0 {
                    return Ok(false);
                }
                end_sessions(tx, &uuid, None, now_ms).await?;
                message.enqueue(tx).await?;
                Ok(true)
            })
            .await
    }

    /// Enables a disabled account, whose sessions, tokens and keys stay ended. Returns `false` where there is no such account
    /// or it is not disabled.
    pub async fn enable_account(&self, uuid: &AccountId, now_ms: i64) -> Result<bool> {
        let uuid = uuid.clone();
        self.db
            .write(async move |tx| {
                if tx.execute(ENABLE, &[&uuid, &now_ms]).await? == 0 {
                    return Ok(false);
                }
                end_keys(tx, &uuid, now_ms).await?;
                Ok(true)
            })
            .await
    }
}

/// Keeps an account from beginning sessions until the transaction ends. Must precede changes of what a login looks at.
pub(super) async fn hold_account(tx: &Tx<'_>, account: &AccountId) -> Result<()> {
    tx.execute(HOLD, &[&account]).await.map(drop)
}

/// Ends the API keys of an account. Returns how many were in force.
pub(super) async fn end_keys(tx: &Tx<'_>, account: &AccountId, now_ms: i64) -> Result<u64> {
    tx.execute(END_KEYS, &[&account, &now_ms]).await
}

/// Ends the sessions of an account on the Users Cloud and of the portal, except one of the portal.
pub(super) async fn end_sessions(
    tx: &Tx<'_>,
    account: &AccountId,
    kept: Option<&PortalSessionId>,
    now_ms: i64,
) -> Result<()> {
    tx.put(END_SESSIONS, &[&account, &now_ms]).await?;
    tx.put(END_PORTAL_SESSIONS, &[&account, &kept]).await?;
    Ok(())
}
