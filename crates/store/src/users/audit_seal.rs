//! Keys that guard the audit log: the one in use, and those before it.

use boxed_futures::boxed_futures;

use super::audit_head::{self, Head, Seal};
use super::db::UsersDb;
use crate::audit_key::AuditKey;
use crate::engine::Tx;
use crate::error::Result;
use crate::ids::StoreId;
use crate::names::{SealState, SealedBy};
use crate::texts::{record, sql};

/// The end of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEnd {
    /// Identity of the store; none before it was made.
    pub store: Option<StoreId>,
    /// Number of the last entry; 0 when there is none.
    pub number: i64,
    /// Its hash; empty when there is none.
    pub entry_hash: Vec<u8>,
    /// What it shows of its seal.
    pub state: SealState,
    /// Since when a key guards the log.
    pub seal: Option<Seal>,
    /// Public key of checkpoints that the row names.
    pub public_key: Option<Vec<u8>>,
}

/// A public key whose checkpoints are good up to an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetiredAuditKey {
    /// The key (Ed25519).
    pub public_key: Vec<u8>,
    /// The last entry that it guarded.
    pub until_number: i64,
    /// Time at which another key came, ms.
    pub retired_ms: i64,
    mac: Vec<u8>,
}

record! {
    retired_columns!(""), read_retired(row) -> RetiredAuditKey { public_key, until_number, retired_ms, mac }
}

sql! {
    ANY_SEALED = "SELECT 1 FROM audit_head WHERE public_key IS NOT NULL AND number > 0";
    RETIRED = concat!("SELECT ", retired_columns!(), " FROM audit_key ORDER BY until_number, public_key");
    PUT_RETIRED = concat!("INSERT INTO audit_key (", retired_columns!(), ") VALUES ($1, $2, $3, $4)
        ON CONFLICT (public_key) DO UPDATE SET until_number = EXCLUDED.until_number,
            retired_ms = EXCLUDED.retired_ms, mac = EXCLUDED.mac");
    DROP_RETIRED = "DELETE FROM audit_key WHERE public_key = $1";
}

#[boxed_futures]
impl UsersDb {
    /// Returns the end of the log, compared with its seal.
    pub async fn audit_end(&self, key: &AuditKey) -> Result<AuditEnd> {
        let head = self.db.read(async |tx| audit_head::read(tx).await).await?;
        Ok(AuditEnd::of(head, key))
    }

    /// Returns whether a key guards entries.
    pub(super) async fn has_sealed_audit(&self) -> Result<bool> {
        self.db.read(async |tx| Ok(tx.query_opt(ANY_SEALED, &[], |_| Ok(())).await?.is_some())).await
    }

    /// Returns the keys before this one. Rows that were not written under it are left out.
    pub async fn retired_audit_keys(&self, key: &AuditKey) -> Result<Vec<RetiredAuditKey>> {
        let read = async |tx: &Tx<'_>| Ok((tx.query(RETIRED, &[], read_retired).await?, audit_head::read(tx).await?));
        let (mut keys, head) = self.db.read(read).await?;
        // Anyone who can write to the database could add a key of their own.
        keys.retain(|retired| retired.with_fields(head.store.as_ref(), |fields| key.accepts(fields, &retired.mac)));
        Ok(keys)
    }

    /// Lets a key guard the log where none does yet, or where there is nothing to guard. False when another one does, or
    /// this one.
    pub async fn seal_new_audit(&self, key: &AuditKey, now_ms: i64) -> Result<bool> {
        let is_new = |head: &Head, key: &AuditKey| match head.state(key) {
            SealState::Unsealed => true,
            SealState::OtherKey => head.number == 0,
            SealState::Sealed | SealState::Altered => false,
        };
        // Nearly every start finds it sealed, and is not to wait for a writer.
        let head = self.db.read(async |tx| audit_head::read(tx).await).await?;
        if !is_new(&head, key) {
            return Ok(false);
        }
        let key = key.clone();
        self.db
            .write(async move |tx| {
                audit_head::hold(tx).await?;
                let head = audit_head::read(tx).await?;
                let is_new = is_new(&head, &key);
                if is_new {
                    let seal = seal_of(&head, now_ms, SealedBy::Start);
                    head.put_seal(tx, &key, &seal).await?;
                }
                Ok(is_new)
            })
            .await
    }

    /// Lets a key guard the log as it is from now on, whatever its end shows: an operator has decided so. The key before
    /// stays known, for its checkpoints.
    pub async fn seal_audit_again(&self, key: &AuditKey, now_ms: i64) -> Result<()> {
        let key = key.clone();
        self.db
            .write(async move |tx| {
                audit_head::hold(tx).await?;
                let head = audit_head::read(tx).await?;
                if head.state(&key) == SealState::OtherKey {
                    retire(tx, &head, &key, now_ms).await?;
                }
                let seal = seal_of(&head, now_ms, SealedBy::Operator);
                head.put_seal(tx, &key, &seal).await
            })
            .await
    }
}

impl AuditEnd {
    /// Returns whether entries are guarded by another key than the one in use.
    pub fn is_of_other_key(&self) -> bool {
        self.number > 0 && self.state == SealState::OtherKey
    }

    pub(super) fn of(head: Head, key: &AuditKey) -> Self {
        AuditEnd {
            state: head.state(key),
            seal: head.seal(),
            store: head.store,
            number: head.number,
            entry_hash: head.entry_hash.unwrap_or_default(),
            public_key: head.public_key,
        }
    }
}

impl RetiredAuditKey {
    fn with_fields<T>(&self, store: Option<&StoreId>, compute: impl FnOnce(&[&[u8]]) -> T) -> T {
        compute(&[
            b"key of the audit log",
            store.map_or(b"", |store| store.as_str().as_bytes()),
            &self.public_key,
            &self.until_number.to_be_bytes(),
            &self.retired_ms.to_be_bytes(),
        ])
    }
}

fn seal_of(head: &Head, now_ms: i64, by: SealedBy) -> Seal {
    Seal { from: head.number, at_ms: now_ms, by: by.name().to_owned() }
}

/// Adds the key of the head to those before `key`. Their codes were made under keys that are lost, so all are made again.
async fn retire(tx: &Tx<'_>, head: &Head, key: &AuditKey, now_ms: i64) -> Result<()> {
    let mut keys = tx.query(RETIRED, &[], read_retired).await?;
    keys.extend(head.public_key.clone().map(|public_key| RetiredAuditKey {
        public_key,
        until_number: head.number,
        retired_ms: now_ms,
        mac: Vec::new(),
    }));
    for retired in keys {
        // A key that is in use again is none before it.
        if retired.public_key[..] == key.public_key()[..] {
            tx.execute(DROP_RETIRED, &[&retired.public_key]).await?;
            continue;
        }
        let mac = retired.with_fields(head.store.as_ref(), |fields| key.code(fields));
        tx.execute(PUT_RETIRED, &[&retired.public_key, &retired.until_number, &retired.retired_ms, &mac]).await?;
    }
    Ok(())
}
