//! Recovery codes of second factors, as hashes. A row is a code that has not been used.

use boxed_futures::boxed_futures;

use super::db::UsersDb;
use crate::engine::Tx;
use crate::error::Result;
use crate::ids::AccountId;
use crate::texts::sql;

sql! {
    ADD = "INSERT INTO recovery_code (account, hash) VALUES ($1, $2)";
    HAS_FACTOR = "SELECT account FROM totp WHERE account = $1 AND confirmed_ms IS NOT NULL";
    FIND = "SELECT account FROM recovery_code WHERE account = $1 AND hash = $2";
    COUNT = "SELECT COUNT(*) FROM recovery_code WHERE account = $1";
    USE = "DELETE FROM recovery_code WHERE account = $1 AND hash = $2";
    REMOVE = "DELETE FROM recovery_code WHERE account = $1";
}

#[boxed_futures]
impl UsersDb {
    /// Puts recovery codes in the place of those of before. False, and nothing is changed, when the account has no
    /// confirmed second factor.
    pub async fn replace_recovery_codes(&self, account: &AccountId, hashes: Vec<Vec<u8>>) -> Result<bool> {
        let account = account.clone();
        self.db
            .write(async move |tx| {
                if !has_second_factor(tx, &account).await? {
                    return Ok(false);
                }
                replace(tx, &account, &hashes).await?;
                Ok(true)
            })
            .await
    }

    /// Returns how many recovery codes of an account have not been used; `None` when it has no confirmed second factor.
    pub async fn recovery_codes_left(&self, account: &AccountId) -> Result<Option<i64>> {
        let account = account.clone();
        self.db
            .read(async move |tx| {
                if !has_second_factor(tx, &account).await? {
                    return Ok(None);
                }
                tx.query_opt(COUNT, &[&account], |row| row.get(0)).await
            })
            .await
    }

    /// Returns whether an account has an unused recovery code with this hash.
    pub async fn has_recovery_code(&self, account: &AccountId, hash: &[u8]) -> Result<bool> {
        let (account, hash) = (account.clone(), hash.to_owned());
        self.db.read(async move |tx| Ok(tx.query_opt(FIND, &[&account, &hash], |_| Ok(())).await?.is_some())).await
    }
}

/// Returns whether an account has a confirmed second factor.
pub(super) async fn has_second_factor(tx: &Tx<'_>, account: &AccountId) -> Result<bool> {
    Ok(tx.query_opt(HAS_FACTOR, &[&account], |_| Ok(())).await?.is_some())
}

/// Puts codes in the place of those of before.
pub(super) async fn replace(tx: &Tx<'_>, account: &AccountId, hashes: &[Vec<u8>]) -> Result<()> {
    remove(tx, account).await?;
    for hash in hashes {
        tx.put(ADD, &[&account, hash]).await?;
    }
    Ok(())
}

/// Removes all codes of an account.
pub(super) async fn remove(tx: &Tx<'_>, account: &AccountId) -> Result<()> {
    tx.put(REMOVE, &[&account]).await.map(drop)
}

/// Uses a code up. The deletion decides: of two logins with one code the second finds none.
pub(super) async fn use_code(tx: &Tx<'_>, account: &AccountId, hash: &[u8]) -> Result<bool> {
    Ok(tx.execute(USE, &[&account, &hash.to_owned()]).await? > 0)
}
