//! Verifying the audit log: its chain, its seal, and the checkpoints that were signed of it.

use boxed_futures::boxed_futures;
use futures::stream::{self, StreamExt as _};
use store::{AuditEnd, AuditKeyId, KnownEntry, SealState, StoreError, checkpoint_path};

use super::checkpoint::key_id;
use super::judge::{CheckpointFault, Judge};
use crate::core::error::{PlatformError, Result};
use crate::core::ids::hex;
use crate::upkeep::Upkeep;

/// Checkpoints that are read at once: in a bucket each takes a round trip.
const READS_AT_ONCE: usize = 16;
/// Faults that are named; the others are counted.
const NAMED_FAULTS: usize = 10;

/// A checkpoint that somebody kept elsewhere.
#[derive(Clone, Debug)]
pub struct KeptCheckpoint {
    /// Its file, for the report.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What comparing checkpoints with the log has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComparedCheckpoints {
    /// Checkpoints whose entry the log has as they say.
    pub agreeing: u64,
    /// Number of the last of those, and when it was made (ISO 8601).
    pub last: Option<(i64, String)>,
    /// Checkpoints with a fault.
    pub faulty: u64,
    /// Some of them, by name.
    pub faults: Vec<(String, CheckpointFault)>,
}

/// What verifying the audit log has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditReport {
    /// Entries that hold.
    pub entries: i64,
    /// Number of the first entry that is missing or not known to be what was written.
    pub first_broken: Option<i64>,
    /// The end of the log with its seal.
    pub end: AuditEnd,
    /// The public key of the checkpoints, hexadecimal, and its name.
    pub public_key: (String, AuditKeyId),
    /// Checkpoints among the objects.
    pub stored: ComparedCheckpoints,
    /// Checkpoints that were kept elsewhere; `None` when nobody gave any.
    pub kept: Option<ComparedCheckpoints>,
}

impl AuditReport {
    /// Returns whether nothing was found.
    pub fn is_intact(&self) -> bool {
        self.first_broken.is_none()
            && self.end.state == SealState::Sealed
            && self.stored.faulty == 0
            && self.kept.as_ref().is_none_or(|kept| kept.faulty == 0)
    }
}

/// Where a checkpoint comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Stored,
    Kept,
}

/// A checkpoint that is what was signed, before its entry is looked up.
struct Signed {
    entry: KnownEntry,
    time: String,
    source: Source,
    /// Of a kept one; that of a stored one follows from its number.
    name: Option<Box<str>>,
}

/// Checkpoints as they are collected.
struct Collected {
    judge: Judge,
    signed: Vec<Signed>,
    stored: ComparedCheckpoints,
    kept: Option<ComparedCheckpoints>,
}

#[boxed_futures]
impl Upkeep {
    /// Follows the chain of the audit log, compares its end with its seal, and compares every checkpoint: those among the
    /// objects and those that were kept elsewhere, which are taken one after another.
    ///
    /// # Errors
    /// Those of the stores, and the first one of `kept`.
    pub async fn verify_audit_log<E: From<PlatformError> + Send>(
        &self,
        kept: impl Iterator<Item = std::result::Result<KeptCheckpoint, E>> + Send,
    ) -> std::result::Result<AuditReport, E> {
        // Before the log is read: every entry of a checkpoint was committed when the checkpoint was written.
        let mut collected = self.stored_checkpoints().await?;
        for checkpoint in kept {
            let KeptCheckpoint { name, bytes } = checkpoint?;
            collected.add(Source::Kept, name, &bytes);
        }
        Ok(self.compare(collected).await?)
    }

    async fn stored_checkpoints(&self) -> Result<Collected> {
        let (users, key) = (self.core.users(), &self.core.audit_keys().head);
        let (end, retired) = (users.audit_end(key).await?, users.retired_audit_keys(key).await?);
        let judge = Judge::of(&end, &retired, key.public_key());
        let mut collected = Collected { judge, signed: Vec::new(), stored: ComparedCheckpoints::default(), kept: None };
        let listed = self.core.objects().checkpoints().await?;
        let read = async |path: String| {
            let bytes = match self.core.objects().read_checkpoint(&path).await {
                // What is too large for one is reported like what cannot be parsed.
                Err(StoreError::Damaged(_)) => Ok(Some(Vec::new())),
                read => read,
            };
            Ok::<_, StoreError>((path, bytes?))
        };
        let mut reading = stream::iter(listed.into_iter().map(|object| read(object.path))).buffered(READS_AT_ONCE);
        while let Some(read) = reading.next().await {
            // One that is gone was set aside by a restore.
            if let (path, Some(bytes)) = read? {
                collected.add(Source::Stored, path, &bytes);
            }
        }
        drop(reading);
        Ok(collected)
    }

    async fn compare(&self, mut collected: Collected) -> Result<AuditReport> {
        collected.signed.sort_by_key(|signed| signed.entry.number);
        let known = collected.signed.iter().map(|signed| signed.entry).collect();
        let key = &self.core.audit_keys().head;
        let verdict = self.core.users().verify_audit_against(key, known).await?;
        let is_whole = verdict.first_broken.is_none();
        let mut last_agreed = 0;
        let mut first_broken = verdict.first_broken;
        let mut differing = verdict.differing.iter().copied().peekable();
        for (at, signed) in std::mem::take(&mut collected.signed).into_iter().enumerate() {
            let number = signed.entry.number;
            let fault = if at >= verdict.compared {
                // Behind a break nothing is known of what the log has.
                if !is_whole {
                    break;
                }
                CheckpointFault::Missing
            } else if differing.next_if_eq(&at).is_some() {
                CheckpointFault::Differs
            } else {
                last_agreed = number;
                collected.of(signed.source).agree(signed);
                continue;
            };
            // What holds up to the checkpoint before is known; of what follows, something is another entry.
            let from = if fault == CheckpointFault::Missing { verdict.entries } else { last_agreed } + 1;
            first_broken = Some(first_broken.map_or(from, |broken| broken.min(from)));
            let name = signed.name.map_or_else(|| checkpoint_path(number), String::from);
            collected.of(signed.source).blame(name, fault);
        }
        if verdict.end.state != SealState::Sealed {
            first_broken = first_broken.or(Some(verdict.entries + 1));
        }
        let Collected { stored, kept, .. } = collected;
        let public_key = (hex(key.public_key()), key_id(key.public_key()));
        Ok(AuditReport { entries: verdict.entries, first_broken, end: verdict.end, public_key, stored, kept })
    }
}

impl Collected {
    fn of(&mut self, source: Source) -> &mut ComparedCheckpoints {
        match source {
            Source::Stored => &mut self.stored,
            // Also where none of them can be compared, so that the report has a place for them.
            Source::Kept => self.kept.get_or_insert_default(),
        }
    }

    fn add(&mut self, source: Source, name: String, bytes: &[u8]) {
        let read = self.judge.read(bytes);
        let compared = self.of(source);
        match read {
            Ok((entry, _)) if source == Source::Stored && name != checkpoint_path(entry.number) => {
                // A copy under another number would be taken for one that is gone.
                compared.blame(name, CheckpointFault::Unreadable);
            }
            Ok((entry, time)) => {
                let name = (source == Source::Kept).then(|| name.into_boxed_str());
                self.signed.push(Signed { entry, time, source, name });
            }
            Err(fault) => compared.blame(name, fault),
        }
    }
}

impl ComparedCheckpoints {
    fn agree(&mut self, signed: Signed) {
        self.agreeing += 1;
        self.last = Some((signed.entry.number, signed.time));
    }

    fn blame(&mut self, name: String, fault: CheckpointFault) {
        self.faulty += 1;
        if self.faults.len() < NAMED_FAULTS {
            self.faults.push((name, fault));
        }
    }
}
