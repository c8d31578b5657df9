//! The head of the audit log: the transaction that holds it writes next, to the log and to the security log behind it.
//!
//! The head carries a code under a key that is not in the database (its seal), so that nobody who can only write to the
//! database can cut the log and set the head to what is left. Every entry looks at the code that it finds. One that is
//! wrong stays as it is for good: a right code from then on would say that nothing had happened.

use super::db::UsersDb;
use crate::audit_key::AuditKey;
use crate::engine::Tx;
use crate::engine::line::Line;
use crate::error::Result;
use crate::ids::StoreId;
use crate::names::SealState;
use crate::texts::{record, sql};

/// Since when a key guards the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seal {
    /// Number of the last entry that was there; 0 when the log was empty.
    pub from: i64,
    /// Time of sealing, ms.
    pub at_ms: i64,
    /// Name of the act ([`crate::SealedBy`]), as it is written.
    pub by: String,
}

/// The row at the end of the log.
#[derive(Default)]
pub(super) struct Head {
    /// Number of the last entry; 0 before the first one.
    pub number: i64,
    pub time_ms: i64,
    /// Its hash; `None` before the first entry.
    pub entry_hash: Option<Vec<u8>>,
    pub mac: Option<Vec<u8>>,
    pub public_key: Option<Vec<u8>>,
    sealed_from: Option<i64>,
    sealed_ms: Option<i64>,
    sealed_by: Option<String>,
    pub store: Option<StoreId>,
}

record! {
    head_columns!(""), pub(super) read_head(row) -> Head {
        number, time_ms, entry_hash, mac, public_key, sealed_from, sealed_ms, sealed_by,
        store = "(SELECT id FROM store_identity)",
    }
}

/// The line of all writes that hold the head. No owner has such a name.
pub(super) const LINE: Line<'static> = Line::named("audit_head");

sql! {
    HOLD = "UPDATE audit_head SET number = number";
    END = concat!("SELECT ", head_columns!(), " FROM audit_head");
    NEXT = concat!("UPDATE audit_head SET number = number + 1 RETURNING ", head_columns!());
    PUT_LAST = "UPDATE audit_head SET time_ms = $1, entry_hash = $2, mac = $3";
    PUT_SEAL = "UPDATE audit_head SET public_key = $1, sealed_from = $2, sealed_ms = $3, sealed_by = $4, mac = $5";
}

/// Makes what is being written come before or after what follows in this transaction.
pub(super) async fn hold(tx: &Tx<'_>) -> Result<()> {
    tx.execute(HOLD, &[]).await.map(drop)
}

/// Returns the head as it is.
pub(super) async fn read(tx: &Tx<'_>) -> Result<Head> {
    Ok(tx.query_opt(END, &[], read_head).await?.unwrap_or_default())
}

/// Takes the number behind the last entry and holds the head. Returns the head as it was before.
pub(super) async fn take_next(tx: &Tx<'_>) -> Result<Head> {
    let taken = tx.query_opt(NEXT, &[], read_head).await?;
    // Without a row the log would be empty.
    let taken = taken.unwrap_or(Head { number: 1, ..Head::default() });
    Ok(Head { number: taken.number - 1, ..taken })
}

impl Head {
    /// Returns since when a key guards the log; `None` when none does, or the row does not say so in full.
    pub fn seal(&self) -> Option<Seal> {
        Some(Seal { from: self.sealed_from?, at_ms: self.sealed_ms?, by: self.sealed_by.clone()? })
    }

    /// Compares the head with its code.
    pub fn state(&self, key: &AuditKey) -> SealState {
        let Some(seal) = self.seal() else {
            let is_blank = self.mac.is_none()
                && self.public_key.is_none()
                && self.sealed_from.is_none()
                && self.sealed_ms.is_none()
                && self.sealed_by.is_none();
            return if is_blank { SealState::Unsealed } else { SealState::Altered };
        };
        match (&self.public_key, &self.mac) {
            // Named before it is compared: an operator with the wrong key file is to hear of that, and not of a changed log.
            (Some(named), _) if named[..] != key.public_key()[..] => SealState::OtherKey,
            (Some(_), Some(mac)) if self.with_fields(&seal, |fields| key.accepts(fields, mac)) => SealState::Sealed,
            _ => SealState::Altered,
        }
    }

    /// Puts an entry behind this head, which is held. A head that is not what was written is not made good by it.
    pub async fn put_last(self, tx: &Tx<'_>, key: &AuditKey, entry: (i64, Vec<u8>)) -> Result<()> {
        let (time_ms, entry_hash) = entry;
        let was_sealed = self.state(key) == SealState::Sealed;
        let next = Head { number: self.number + 1, time_ms, entry_hash: Some(entry_hash), ..self };
        let mac = match next.seal() {
            // Whatever it was before stays, so that the log shows for good that somebody has been at it.
            Some(seal) if was_sealed => Some(next.with_fields(&seal, |fields| key.code(fields))),
            _ => next.mac.clone(),
        };
        tx.put(PUT_LAST, &[&next.time_ms, &next.entry_hash, &mac]).await
    }

    /// Seals this head, which is held.
    pub async fn put_seal(self, tx: &Tx<'_>, key: &AuditKey, seal: &Seal) -> Result<()> {
        let mac = self.with_fields(seal, |fields| key.code(fields));
        let public_key = key.public_key().to_vec();
        tx.execute(PUT_SEAL, &[&public_key, &seal.from, &seal.at_ms, &seal.by, &mac]).await.map(drop)
    }

    /// Calls `compute` with what the code is of. The time is not among it, because readers raise it; that of the entry is
    /// in its hash.
    fn with_fields<T>(&self, seal: &Seal, compute: impl FnOnce(&[&[u8]]) -> T) -> T {
        compute(&[
            b"end of the audit log",
            self.store.as_ref().map_or(b"", |store| store.as_str().as_bytes()),
            &self.number.to_be_bytes(),
            self.entry_hash.as_deref().unwrap_or_default(),
            &seal.from.to_be_bytes(),
            &seal.at_ms.to_be_bytes(),
            seal.by.as_bytes(),
        ])
    }
}

impl UsersDb {
    /// Writes in a transaction that comes to hold the head. A node that freezes with it keeps the others waiting, so
    /// those that wait leave most connections to what needs no head.
    pub(super) async fn write_logged<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFnMut(&Tx<'_>) -> Result<T> + Send + 'static,
    {
        self.db.write_in_line(&[LINE], work).await
    }
}
