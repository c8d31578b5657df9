//! Second factors of accounts. A secret counts once a first code has shown that it has arrived.

use boxed_futures::boxed_futures;

use super::accounts::{end_sessions, hold_account};
use super::db::UsersDb;
use super::recovery_codes;
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

/// What a login gave as its second factor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UsedFactor {
    /// Nothing.
    None,
    /// A code of the app, by the number of its step.
    Step(i64),
    /// A recovery code, by its hash.
    RecoveryCode(Vec<u8>),
}

/// What confirms a second factor.
#[derive(Clone)]
pub struct TotpConfirmation {
    /// Number of the step whose code was shown.
    pub step: i64,
    /// Hashes of the recovery codes that are made with it.
    pub recovery_codes: Vec<Vec<u8>>,
    /// Portal session that shows the code and goes on.
    pub kept_session: PortalSessionId,
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

    /// Confirms a secret by the code of a step, which is used up, stores its recovery codes, and ends what was signed in
    /// without one: all sessions of the account but one of the portal. False when there is no secret that waits.
    pub async fn confirm_totp(&self, account: &AccountId, shown: TotpConfirmation, now_ms: i64) -> Result<bool> {
        let account = account.clone();
        self.db
            .write(async move |tx| {
                hold_account(tx, &account).await?;
                if tx.execute(CONFIRM, &[&account, &shown.step, &now_ms]).await? == 0 {
                    return Ok(false);
                }
                // Sessions that began without the second factor end; the one that confirms it has just shown a code.
                end_sessions(tx, &account, Some(&shown.kept_session), now_ms).await?;
                recovery_codes::replace(tx, &account, &shown.recovery_codes).await?;
                Ok(true)
            })
            .await
    }

    /// Removes the second factor and its recovery codes. Whether there was one, confirmed or not.
    pub async fn remove_totp(&self, account: &AccountId) -> Result<bool> {
        let account = account.clone();
        self.db
            .write(async move |tx| {
                recovery_codes::remove(tx, &account).await?;
                Ok(tx.execute(REMOVE, &[&account]).await? > 0)
            })
            .await
    }
}

/// Uses the second factor of a login up; without one, true only where none is asked for.
pub(super) async fn use_factor(tx: &Tx<'_>, account: &AccountId, factor: &UsedFactor) -> Result<bool> {
    match factor {
        // The update decides: of two logins with one code the second finds the step used.
        UsedFactor::Step(step) => Ok(tx.execute(USE, &[&account, step]).await? > 0),
        // Of a factor that was removed meanwhile the codes are gone as well, and the login begins again.
        UsedFactor::RecoveryCode(hash) => recovery_codes::use_code(tx, account, hash).await,
        UsedFactor::None => Ok(!recovery_codes::has_second_factor(tx, account).await?),
    }
}
