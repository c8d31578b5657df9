//! What is damaged of the sealed files: who asks hears of it, and what was put right is noticed.

use std::collections::BTreeMap;

use boxed_futures::boxed_futures;
use futures::StreamExt as _;
use store::segment::{SegmentRow, WrittenSegment};
use store::{DamagedObjects, DamagedRowCount, Digest, ObjectFault, Objects, StoreError};

use crate::core::error::{PlatformError, Result};
use crate::core::settings::ObjectCopies;
use crate::core::work::Work;
use crate::upkeep::Upkeep;

/// Damaged files that are looked up at once.
const AGAIN_AT_ONCE: i64 = 64;
/// Where sealed files lie.
const SEALED: &str = "v1";

/// Sealed files that cannot be read, by what is wrong with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage(Vec<DamagedObjects>);

impl Damage {
    /// Those with a fault, where there are any.
    #[must_use]
    pub fn of(&self, fault: ObjectFault) -> Option<&DamagedObjects> {
        self.0.iter().find(|objects| objects.fault == fault)
    }

    /// Returns how many have a fault.
    #[must_use]
    pub fn count(&self, fault: ObjectFault) -> u64 {
        self.of(fault).map_or(0, |objects| objects.files)
    }

    /// Some of them, where there are any.
    #[must_use]
    pub fn any(&self) -> Option<&DamagedObjects> {
        self.0.first()
    }
}

#[boxed_futures]
impl Upkeep {
    /// Sealed files that somebody has found missing or damaged.
    pub async fn damage(&self) -> Result<Damage> {
        Ok(Damage(self.core.health().known_damage().await?))
    }

    /// Rows of the health database that the passes over everything stored have found damaged.
    pub async fn damaged_rows(&self) -> Result<DamagedRowCount> {
        Ok(self.core.health().damaged_rows().await?)
    }

    /// Compares the catalog with a listing of the objects, without reading them: notes what is missing or has another
    /// size.
    pub async fn look_for_missing(&self) -> Result<()> {
        let listed = self.core.objects().listed(SEALED).await?;
        let sizes: BTreeMap<&str, u64> = listed.iter().map(|object| (object.path.as_str(), object.bytes)).collect();
        let mut behind = String::new();
        loop {
            let (rows, unlisted) = self.files_behind(&behind).await?;
            for SegmentRow { object, .. } in &rows {
                if sizes.get(object.path.as_str()).copied() != Some(object.bytes) {
                    self.look_for_file(object).await?;
                }
            }
            let Some(last) = rows.last() else { return Ok(()) };
            // Around damage all files are listed at once.
            if !unlisted.is_empty() {
                return Ok(());
            }
            behind.clone_from(&last.object.path);
        }
    }

    /// Notes what is wrong with a file that is not listed as it was sealed. Asked for by itself: it may have been sealed while
    /// the objects were listed.
    async fn look_for_file(&self, object: &WrittenSegment) -> Result<()> {
        let fault = match self.core.objects().size(&object.path).await {
            Ok(None) => ObjectFault::Missing,
            Ok(Some(bytes)) if bytes == object.bytes => return Ok(()),
            Ok(Some(_)) => ObjectFault::Damaged,
            Err(_) if self.core.objects().can_be_read().await => ObjectFault::Damaged,
            Err(error) => return Err(error.into()),
        };
        unless_damaged(&object.path, self.core.health().note_damage(&object.path, fault).await)?;
        Ok(())
    }

    /// Reads the sealed files again that are noted as missing or damaged; returns those that still are, with what is wrong.
    pub async fn look_at_known_damage(&self) -> Result<Vec<(String, ObjectFault)>> {
        let (mut faulty, mut behind) = (Vec::new(), String::new());
        loop {
            let damaged = self.core.health().damaged_objects(&behind, AGAIN_AT_ONCE).await?;
            let Some(last) = damaged.last() else { return Ok(faulty) };
            behind.clone_from(last);
            for path in damaged {
                if let Some(fault) = self.look_at_sealed_file(&path).await? {
                    faulty.push((path, fault));
                }
            }
        }
    }

    /// Reads a sealed file, notes what is wrong with it, and brings it back where there are copies. Returns what is wrong then;
    /// nothing also when it is not needed any more.
    pub async fn look_at_sealed_file(&self, path: &str) -> Result<Option<ObjectFault>> {
        match self.core.health().segment_at(path).await? {
            Some(row) => self.check_file(&row).await,
            None => Ok(None),
        }
    }

    /// Notes that a sealed file is missing or damaged, as somebody has found who has looked at it elsewhere.
    pub async fn note_fault(&self, path: &str, fault: ObjectFault) -> Result<()> {
        self.core.health().note_damage(path, fault).await?;
        Ok(())
    }

    /// Reads the files again that were found damaged, and forgets those that were brought back; answers how many.
    pub(crate) async fn look_at_damaged_again(&self, work: &Work) -> Result<u64> {
        let health = self.core.health();
        // What of the notes cannot be written keeps no file from being looked at.
        let tidied = async {
            health.forget_unused_damage().await?;
            health.announce_damage(self.core.now_ms()).await
        };
        if let Err(error) = tidied.await {
            tracing::warn!(%error, "notes of damaged files could not be brought up to date");
        }
        let (mut healed, mut behind) = (0, String::new());
        loop {
            let damaged = health.damaged_objects(&behind, AGAIN_AT_ONCE).await?;
            let Some(last) = damaged.last() else { return Ok(healed) };
            behind.clone_from(last);
            for path in &damaged {
                work.check()?;
                healed += u64::from(self.is_healed(path).await?);
            }
        }
    }

    /// Returns whether a damaged file is whole again, by itself or because it was brought back.
    async fn is_healed(&self, path: &str) -> Result<bool> {
        if !self.is_whole(path).await? {
            return Ok(self.is_brought_back(path).await);
        }
        let is_noted = unless_damaged(path, self.core.health().clear_damage(path, self.core.now_ms()).await)?.is_some();
        if is_noted {
            tracing::info!(path, "a damaged file is whole again");
        }
        Ok(is_noted)
    }

    /// Brings a sealed file back from where copies of the objects lie: at the same path, and only when the copy is what was
    /// sealed. Answers its size.
    ///
    /// # Errors
    /// Not found when the store has no such file, or there is no copy of it.
    pub async fn bring_back(&self, path: &str, copies: &Objects) -> Result<u64> {
        let row = self.core.health().segment_at(path).await?.ok_or(PlatformError::NotFound("sealed file"))?;
        let copy = copies.read(path, None).await?.ok_or(PlatformError::NotFound("copy"))?;
        let mut pieces = copy.bytes;
        // Nothing of it can be read before it is whole, so that a copy that is damaged as well replaces nothing.
        let mut upload = self.core.objects().upload(path)?;
        let mut digest = Digest::default();
        while let Some(piece) = pieces.next().await {
            let piece = piece?;
            digest.add(&piece);
            upload.put(piece).await?;
        }
        if digest.finish() != row.object.sha256 {
            upload.abort().await?;
            return Err(StoreError::Damaged(format!("the copy of {path} is not what was sealed either")).into());
        }
        let bytes = upload.finish().await?;
        self.core.health().clear_damage(path, self.core.now_ms()).await?;
        tracing::info!(path, bytes, "a damaged file was brought back from its copy");
        Ok(bytes)
    }

    /// Reads a sealed file and notes whether it is what was written; brings it back where there are copies. Whether it is
    /// sound.
    pub(crate) async fn check_file(&self, row: &SegmentRow) -> Result<Option<ObjectFault>> {
        let (health, path) = (self.core.health(), &row.object.path);
        let fault = match health.verify_sealed_file(row).await {
            Ok(()) => {
                unless_damaged(path, health.clear_damage(path, self.core.now_ms()).await)?;
                return Ok(None);
            }
            Err(error) if error.is_damage() => self.fault_of(path).await,
            // Others can be read, so it is this file: a disk that fails where it lies, or something that is no file.
            Err(error) if self.core.objects().can_be_read().await => {
                tracing::error!(path, %error, "a sealed file gives an error");
                ObjectFault::Damaged
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(None) = unless_damaged(path, health.segment_at(path).await)? {
            // Sealed again since it was listed, and deleted.
            return Ok(None);
        }
        if unless_damaged(path, health.note_damage(path, fault).await)? == Some(true) {
            tracing::error!(path, %fault, "a sealed file cannot be read");
        }
        // Before it is brought back: the patient's log has both, or neither.
        if let Err(error) = health.announce_damage(self.core.now_ms()).await {
            // An event that is missing keeps no file from being looked at.
            tracing::warn!(%error, "damaged files could not be announced");
        }
        Ok((!self.is_brought_back(path).await).then_some(fault))
    }

    async fn fault_of(&self, path: &str) -> ObjectFault {
        let is_missing = matches!(self.core.objects().size(path).await, Ok(None));
        if is_missing { ObjectFault::Missing } else { ObjectFault::Damaged }
    }

    /// Brings a damaged file back where copies are configured. Whether it is whole now.
    pub(crate) async fn is_brought_back(&self, path: &str) -> bool {
        let Some(ObjectCopies(copies)) = &self.core.settings().object_copies else { return false };
        let brought_back = self.bring_back(path, copies).await;
        if let Err(error) = &brought_back {
            tracing::warn!(path, %error, "a damaged file could not be brought back");
        }
        brought_back.is_ok()
    }

    /// Returns whether a sealed file is what was written; also when it is not needed any more.
    async fn is_whole(&self, path: &str) -> Result<bool> {
        let Some(row) = self.core.health().segment_at(path).await? else { return Ok(true) };
        match is_as_sealed(self.core.objects(), &row).await {
            // Others can be read, so it is this file that cannot: those behind it may be whole.
            Err(_) if self.core.objects().can_be_read().await => Ok(false),
            is_whole => Ok(is_whole?),
        }
    }
}

/// Hands on what became of a note of a file; none where the page of the notes, or of the patient's log, is damaged, which is
/// to keep no other file from being looked at.
fn unless_damaged<T>(path: &str, noted: store::Result<T>) -> Result<Option<T>> {
    match noted {
        Err(error) if error.is_damage() => {
            tracing::error!(path, %error, "what was found of a sealed file could not be noted");
            Ok(None)
        }
        noted => Ok(Some(noted?)),
    }
}

async fn is_as_sealed(objects: &Objects, SegmentRow { object, .. }: &SegmentRow) -> store::Result<bool> {
    // The size first, which is cheap: most of what is damaged is missing.
    if objects.size(&object.path).await? != Some(object.bytes) {
        return Ok(false);
    }
    Ok(objects.digest(&object.path).await?.is_some_and(|(_, sha256)| sha256 == object.sha256))
}
