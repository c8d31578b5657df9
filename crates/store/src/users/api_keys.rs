//! API keys: stored as a hash with a visible prefix; the key itself is never here.

use boxed_futures::boxed_futures;

use super::db::UsersDb;
use super::messages::HealthMessage;
use crate::engine::row::Columns;
use crate::error::Result;
use crate::ids::{AccountId, ApiKeyId, GroupCode};
use crate::names::Role;
use crate::readers::pair;
use crate::texts::{record, sql};

/// An API key, without what would let anyone use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// Record identifier, 24 hex digits.
    pub id: ApiKeyId,
    /// SHA-256 of the key.
    pub key_hash: Vec<u8>,
    /// The first characters of the key, for people to distinguish keys.
    pub prefix: String,
    /// The account that it acts for.
    pub account: AccountId,
    /// Whether it acts on the groups named for it alone, and on none where none is named any more.
    pub is_scoped: bool,
    /// What its owner calls it.
    pub name: Option<String>,
    /// Creation, ms.
    pub created_ms: i64,
    /// Time at which it ends by itself, ms.
    pub expires_ms: Option<i64>,
    /// Time at which it was revoked, ms.
    pub revoked_ms: Option<i64>,
    /// Time at which it was last used, ms, to the minute.
    pub last_used_ms: Option<i64>,
}

/// Who calls with a key, as one look-up returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyHolder {
    /// The key.
    pub key_id: ApiKeyId,
    /// Time at which the key ends by itself, ms.
    pub key_expires_ms: Option<i64>,
    /// Time at which the key was revoked, ms.
    pub key_revoked_ms: Option<i64>,
    /// Time at which the key was last used, ms.
    pub key_last_used_ms: Option<i64>,
    /// Whether the key acts on named groups only.
    pub key_scoped: bool,
    /// The account.
    pub account: AccountId,
    /// Its role.
    pub role: Role,
    /// Time until which its subscription is active, ms.
    pub subscription_until_ms: Option<i64>,
    /// Time at which it was disabled, ms.
    pub disabled_ms: Option<i64>,
}

record! {
    key_columns!(""), read_key(row) -> ApiKey {
        id, key_hash, prefix, account, is_scoped, name, created_ms, expires_ms, revoked_ms, last_used_ms,
    }
}

/// Whether a key, if there is one, acts on a group: a scoped key without a row of groups acts on none.
macro_rules! key_opens {
    ($key:literal, $group:literal) => {
        concat!(
            "(NOT EXISTS (SELECT 1 FROM api_key k WHERE k.id = ",
            $key,
            " AND k.is_scoped)
                OR EXISTS (SELECT 1 FROM api_key_group s WHERE s.api_key = ",
            $key,
            " AND s.group_code = ",
            $group,
            "))"
        )
    };
}
pub(super) use key_opens;

record! {
    holder_columns!("k."), read_holder(columns) -> KeyHolder {
        key_id = "k.id", key_expires_ms = "k.expires_ms", key_revoked_ms = "k.revoked_ms",
        key_last_used_ms = "k.last_used_ms",
        key_scoped = "k.is_scoped",
        account = "a.uuid", role = "a.role", subscription_until_ms = "a.subscription_until_ms",
        disabled_ms = "a.disabled_ms",
    }
}

sql! {
    ADD = concat!("INSERT INTO api_key (", key_columns!(), ")
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)");
    ADD_GROUP = "INSERT INTO api_key_group (api_key, group_code) VALUES ($1, $2)";
    HOLDER = concat!("SELECT ", holder_columns!(),
        " FROM api_key k JOIN account a ON a.uuid = k.account WHERE k.key_hash = $1");
    FIND = concat!("SELECT ", key_columns!(), " FROM api_key WHERE id = $1");
    LIST = concat!("SELECT ", key_columns!(), " FROM api_key WHERE account = $1 ORDER BY created_ms, id");
    GROUPS = "SELECT g.api_key, g.group_code FROM api_key_group g JOIN api_key k ON k.id = g.api_key
        WHERE k.account = $1 ORDER BY g.api_key, g.group_code";
    USED = "UPDATE api_key SET last_used_ms = $2 WHERE id = $1";
    REVOKE = "UPDATE api_key SET revoked_ms = $2 WHERE id = $1 AND revoked_ms IS NULL";
}

#[boxed_futures]
impl UsersDb {
    /// Adds a key. A scoped one acts on the groups named, any other on all groups of its account.
    pub async fn add_api_key(&self, key: ApiKey, groups: Vec<GroupCode>) -> Result<()> {
        self.db
            .write(async move |tx| {
                tx.put(
                    ADD,
                    &[
                        &key.id,
                        &key.key_hash,
                        &key.prefix,
                        &key.account,
                        &key.is_scoped,
                        &key.name,
                        &key.created_ms,
                        &key.expires_ms,
                        &key.revoked_ms,
                        &key.last_used_ms,
                    ],
                )
                .await?;
                for group in &groups {
                    tx.put(ADD_GROUP, &[&key.id, group]).await?;
                }
                Ok(())
            })
            .await
    }

    /// Returns who holds the key with this hash, whether or not it still counts.
    pub async fn key_holder(&self, key_hash: &[u8]) -> Result<Option<KeyHolder>> {
        let key_hash = key_hash.to_owned();
        self.db
            .look_up(async move |tx| tx.query_opt(HOLDER, &[&key_hash], |row| read_holder(&mut Columns::of(row))).await)
            .await
    }

    /// Returns the key with this record identifier.
    pub async fn api_key(&self, id: &ApiKeyId) -> Result<Option<ApiKey>> {
        let id = id.clone();
        self.db.read(async move |tx| tx.query_opt(FIND, &[&id], read_key).await).await
    }

    /// Returns the keys of an account, oldest first.
    pub async fn api_keys(&self, account: &AccountId) -> Result<Vec<ApiKey>> {
        let account = account.clone();
        self.db.read(async move |tx| tx.query(LIST, &[&account], read_key).await).await
    }

    /// Returns the groups that each scoped key of an account acts on, as pairs of key and group.
    pub async fn groups_of_keys(&self, account: &AccountId) -> Result<Vec<(ApiKeyId, GroupCode)>> {
        let account = account.clone();
        self.db.read(async move |tx| tx.query(GROUPS, &[&account], pair).await).await
    }

    /// Notes when a key was last used.
    pub async fn note_key_used(&self, id: &ApiKeyId, now_ms: i64) -> Result<()> {
        let id = id.clone();
        self.db.write(async move |tx| tx.execute(USED, &[&id, &now_ms]).await.map(drop)).await
    }

    /// Revokes a key and enqueues for the health database the end of the tokens made with it. Whether the key was
    /// still in force.
    pub async fn revoke_api_key(&self, id: &ApiKeyId, now_ms: i64, message: HealthMessage) -> Result<bool> {
        let id = id.clone();
        self.db
            .write(async move |tx| {
                // Revoked before: the first call has its message in the outbox already.
                if tx.execute(REVOKE, &[&id, &now_ms]).await? == 0 {
                    return Ok(false);
                }
                // Health tokens that were asked for with the key live in the other database, and end there.
                message.enqueue(tx).await?;
                Ok(true)
            })
            .await
    }
}
