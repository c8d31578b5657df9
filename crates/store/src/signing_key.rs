//! The keys that sign tokens, sealed. Each cloud keeps its own in its database, so that every node has them.

use crate::engine::{Db, Tx};
use crate::error::Result;
use crate::ids::SigningKeyId;
use crate::texts::{record, sql};

/// A key that signs the tokens of one cloud.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningKey {
    /// Its name in the header of a token.
    pub kid: SigningKeyId,
    /// The private key, sealed by the master key.
    pub sealed_key: Vec<u8>,
    /// The public key, 32 bytes.
    pub public_key: Vec<u8>,
    /// Creation, ms.
    pub created_ms: i64,
    /// Time since which it only verifies, ms.
    pub retired_ms: Option<i64>,
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SigningKey").field("kid", &self.kid).finish_non_exhaustive()
    }
}

record! {
    key_columns!(""), pub(crate) read_key(row) -> SigningKey { kid, sealed_key, public_key, created_ms, retired_ms }
}
#[expect(clippy::single_component_path_imports, reason = "a macro is visible to other files by an import alone")]
pub(crate) use key_columns;

sql! {
    LIST = concat!("SELECT ", key_columns!(), " FROM signing_key ORDER BY created_ms, kid");
    ANY = "SELECT 1 FROM signing_key LIMIT 1";
    RETIRE = "UPDATE signing_key SET retired_ms = $1 WHERE retired_ms IS NULL";
    PURGE = "DELETE FROM signing_key WHERE retired_ms < $1";
    ADD = concat!("INSERT INTO signing_key (", key_columns!(), ") VALUES ($1, $2, $3, $4, $5)");
}

/// Returns all keys, oldest first.
pub(crate) async fn list(db: &Db) -> Result<Vec<SigningKey>> {
    db.read(async |tx| tx.query(LIST, &[], read_key).await).await
}

/// Returns the keys in less than a second or not at all, for readiness.
pub(crate) async fn probe(db: &Db) -> Result<Vec<SigningKey>> {
    // Not among the operations: those may hold every connection while the keys are as they should be.
    db.probe(async |tx: &Tx<'_>| tx.query(LIST, &[], read_key).await).await
}

/// Returns whether there is a key, also one that only verifies.
pub(crate) async fn is_any(db: &Db) -> Result<bool> {
    db.read(async |tx| Ok(tx.query_opt(ANY, &[], |_| Ok(())).await?.is_some())).await
}

/// Retires what signs so far and adds a key. Two nodes that do so at once leave two keys that sign, which is
/// harmless: either verifies everywhere.
pub(crate) async fn rotate(db: &Db, key: SigningKey) -> Result<()> {
    db.write(async move |tx| {
        // In one transaction with the new key: without any that signs, nobody could log in.
        tx.put(RETIRE, &[&key.created_ms]).await?;
        tx.put(ADD, &[&key.kid, &key.sealed_key, &key.public_key, &key.created_ms, &key.retired_ms]).await?;
        Ok(())
    })
    .await
}

/// Removes keys that have only verified since before a time.
pub(crate) async fn purge(db: &Db, retired_before_ms: i64) -> Result<u64> {
    db.write(async move |tx| tx.execute(PURGE, &[&retired_before_ms]).await).await
}
