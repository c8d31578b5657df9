//! Second factors of accounts. A secret counts once a first code has shown that it has arrived.

use boxed_futures::boxed_futures;

use super::accounts::{end_sessions, hold_account};
use super::db::UsersDb;
use crate::engine::Tx;
use crate::error::Result;
use crate::ids::{AccountId, PortalSessionId};
use crate::readers::pair;
use crate::texts::{record, sql};

/// An account's second factor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Totp {
    /// The secret, sealed.
    pub sealed_secret: Vec<u8>,
    /// Time at which a first code was given, ms.
    pub confirmed_ms: Option<i64>,
    /// Number of the last step whose code was used.
    pub last_step: i64,
}

record! {
    totp_columns!(""), read_totp(row) -> Totp { sealed_secret, confirmed_ms, last_step }
}

sql! {
    PUT = "INSERT INTO totp (account, sealed_secret, last_step) VALUES ($1, $2, 0)
        ON CONFLICT (account) DO UPDATE SET sealed_secret = excluded.sealed_secret WHERE totp.confirmed_ms IS NULL";
    ANY = "SELECT 1 FROM totp LIMIT 1";
    FIND = concat!("SELECT ", totp_columns!(), " FROM totp WHERE account = $1");
    CONFIRM = "UPDATE totp SET confirmed_ms = $3, last_step = $2 WHERE account = $1 AND confirmed_ms IS NULL";
    USE = "UPDATE totp SET last_step = $2 WHERE account = $1 AND confirmed_ms IS NOT NULL AND last_step < $2";
    IS_CONFIRMED = "SELECT account FROM totp WHERE account = $1 AND confirmed_ms IS NOT NULL";
    ALL = "SELECT account, sealed_secret FROM totp ORDER BY account";
    REMOVE = "DELETE FROM totp WHERE account = $1";
}

#[boxed_futures]
impl UsersDb {
    /// Keeps a new secret that waits for its first code, in the place of another that waits. False when one was
    /// confirmed.
    pub async fn put_totp(&self, account: &AccountId, sealed_secret: Vec<u8>) -> Result<bool> {
        let account = account.clone();
        self.db.write(async move |tx| Ok(tx.execute(PUT, &[&account, &sealed_secret]).await? > 0)).await
    }

    /// Returns the second factor of an account, confirmed or not.
    pub async fn totp(&self, account: &AccountId) -> Result<Option<Totp>> {
        let account = account.clone();
        self.db.read(async move |tx| tx.query_opt(FIND, &[&account], read_totp).await).await
    }

    /// Returns the sealed secrets of all accounts that have one, confirmed or not.
    pub async fn sealed_totp_secrets(&self) -> Result<Vec<(AccountId, Vec<u8>)>> {
        self.db.read(async |tx| tx.query(ALL, &[], pair).await).await
    }

    /// Returns whether any account has a second factor, confirmed or not.
    pub(super) async fn has_totp(&self) -> Result<bool> {
        self.db.read(async |tx| Ok(tx.query_opt(ANY, &[], |_| Ok(())).await?.is_some())).await
    }

    /// Confirms a secret by the code of a step, which is used up, and ends what was signed in without one: all
    /// sessions of the account but one of the portal. False when there is no secret that waits.
    pub async fn confirm_totp(
        &self,
        account: &AccountId,
        step: i64,
        kept_session: &PortalSessionId,
        now_ms: i64,
    ) -> Result<bool> {
        let (account, kept) = (account.clone(), kept_session.clone());
        self.db
            .write(async move |tx| {
                hold_account(tx, &account).await?;
                if tx.execute(CONFIRM, &[&account, &step, &now_ms]).await? == 0 {
                    return Ok(false);
                }
                // Sessions that began without the second factor end; the one that confirms it has just shown a code.
                end_sessions(tx, &account, Some(&kept), now_ms).await?;
                Ok(true)
            })
            .await
    }

    /// Removes the second factor. Whether there was one, confirmed or not.
    pub async fn remove_totp(&self, account: &AccountId) -> Result<bool> {
        let account = account.clone();
        self.db.write(async move |tx| Ok(tx.execute(REMOVE, &[&account]).await? > 0)).await
    }
}

/// Uses the code of a step up; without a code, true only where none is asked for.
pub(super) async fn use_step(tx: &Tx<'_>, account: &AccountId, step: Option<i64>) -> Result<bool> {
    match step {
        // The update decides: of two logins with one code the second finds the step used.
        Some(step) => Ok(tx.execute(USE, &[&account, &step]).await? > 0),
        None => Ok(tx.query_opt(IS_CONFIRMED, &[&account], |_| Ok(())).await?.is_none()),
    }
}
