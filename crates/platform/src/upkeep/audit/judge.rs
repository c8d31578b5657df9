//! Judging checkpoints, before their entries are looked up: whose they are, by which key, under which seal.

use store::{AuditEnd, KnownEntry, RetiredAuditKey, SealedBy};

use super::checkpoint::{Checkpoint, FORMAT, unhex};
use crate::core::ids::hex;

/// Fault of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointFault {
    /// It cannot be read, or its name is that of another entry.
    Unreadable,
    /// It is not what was signed.
    Signature,
    /// It is signed by a key that is none of the store's, or was none any more.
    Key,
    /// It is of another store.
    Store,
    /// It was made under a seal that the log does not have any more, and no operator has sealed the log since.
    Seal,
    /// The entry in the log is another one.
    Differs,
    /// The log does not have the entry.
    Missing,
}

impl CheckpointFault {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            CheckpointFault::Unreadable => "unreadable",
            CheckpointFault::Signature => "signature",
            CheckpointFault::Key => "key",
            CheckpointFault::Store => "store",
            CheckpointFault::Seal => "seal",
            CheckpointFault::Differs => "differs",
            CheckpointFault::Missing => "missing",
        }
    }
}

/// What checkpoints are held against.
pub(super) struct Judge {
    store: String,
    public_key: String,
    /// Public keys before the one in use, each with the last entry that it guarded.
    retired: Vec<(String, i64)>,
    /// Last entry and time of the seal, and whether an operator has made it.
    seal: Option<(i64, i64, bool)>,
}

impl Judge {
    /// Makes a judge of what the users database says, and the public key in use.
    pub fn of(end: &AuditEnd, retired: &[RetiredAuditKey], public_key: &[u8]) -> Self {
        let by_operator = |by: &str| by == SealedBy::Operator.name();
        Judge {
            store: end.store.as_ref().map(ToString::to_string).unwrap_or_default(),
            public_key: hex(public_key),
            retired: retired.iter().map(|key| (hex(&key.public_key), key.until_number)).collect(),
            seal: end.seal.as_ref().map(|seal| (seal.from, seal.at_ms, by_operator(&seal.by))),
        }
    }

    /// Reads a checkpoint; returns what it says of an entry, and when it was made.
    pub fn read(&self, bytes: &[u8]) -> Result<(KnownEntry, String), CheckpointFault> {
        let read: Option<Checkpoint> = serde_json::from_slice(bytes).ok();
        let checkpoint = read.filter(|read| read.format == FORMAT && read.number > 0);
        let checkpoint = checkpoint.ok_or(CheckpointFault::Unreadable)?;
        if !checkpoint.is_signed() {
            return Err(CheckpointFault::Signature);
        }
        self.judge_key(&checkpoint)?;
        if checkpoint.store != self.store {
            return Err(CheckpointFault::Store);
        }
        let entry_hash = unhex(&checkpoint.entry_hash).and_then(|hash| hash.try_into().ok());
        let entry_hash = entry_hash.ok_or(CheckpointFault::Unreadable)?;
        Ok((KnownEntry { number: checkpoint.number, entry_hash }, checkpoint.time))
    }

    fn judge_key(&self, checkpoint: &Checkpoint) -> Result<(), CheckpointFault> {
        let Checkpoint { public_key, number, sealed_from, sealed_ms, .. } = checkpoint;
        if *public_key != self.public_key {
            let is_known = self.retired.iter().any(|(key, until)| key == public_key && number <= until);
            return if is_known { Ok(()) } else { Err(CheckpointFault::Key) };
        }
        match self.seal {
            Some((from, at_ms, _)) if (from, at_ms) == (*sealed_from, *sealed_ms) => Ok(()),
            // The operator took what was there, older seals with it.
            Some((from, _, true)) if *number <= from => Ok(()),
            _ => Err(CheckpointFault::Seal),
        }
    }
}
