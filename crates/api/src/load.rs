//! How much is taken on at once. What is beyond is refused with 503 before it costs memory, and nothing of it is stored.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

/// Memory is counted in pieces of this size, bytes.
const PIECE: usize = 4096;

/// The memory that uploads under way may take. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct UploadMemory {
    pieces: Arc<Semaphore>,
    all: usize,
}

/// A part of the memory, given back when this is dropped.
pub(crate) struct Room {
    memory: UploadMemory,
    held: Option<OwnedSemaphorePermit>,
}

/// There is no room just now.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no room for more just now")]
pub struct NoRoom;

impl UploadMemory {
    /// Room for so many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        // The semaphore panics above its largest number, which a setting in MiB can reach on paper.
        let all = bytes.div_ceil(PIECE).min(Semaphore::MAX_PERMITS);
        UploadMemory { pieces: Arc::new(Semaphore::new(all)), all }
    }

    /// No room yet, to grow; refused when what is announced would not fit.
    pub(crate) fn enter(&self, announced: usize) -> Result<Room, NoRoom> {
        // A look ahead only: nothing is held before bytes arrive, or clients that announce much and send nothing
        // would lock out the rest.
        if self.pieces.available_permits() < announced.div_ceil(PIECE) {
            return Err(NoRoom);
        }
        Ok(Room { memory: self.clone(), held: None })
    }

    /// Bytes that are held.
    pub(crate) fn held_bytes(&self) -> usize {
        (self.all - self.pieces.available_permits().min(self.all)) * PIECE
    }
}

impl Room {
    /// Makes room for so many bytes in all. What is held already stays held.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<(), NoRoom> {
        let held = self.held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let missing = bytes.div_ceil(PIECE).saturating_sub(held);
        if missing == 0 {
            return Ok(());
        }
        // tokio counts permits that are taken at once in 32 bits: 16 TiB of pieces.
        let missing = u32::try_from(missing).map_err(|_| NoRoom)?;
        // Two uploads that both wait for room would wait for each other; one that is refused comes again.
        let more = self.memory.pieces.clone().try_acquire_many_owned(missing).map_err(|_: TryAcquireError| NoRoom)?;
        match &mut self.held {
            Some(held) => held.merge(more),
            None => self.held = Some(more),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_share_the_memory_and_give_it_back() {
        let memory = UploadMemory::new(10 * PIECE);
        let mut first = memory.enter(10 * PIECE).expect("room");
        assert_eq!(memory.held_bytes(), 0, "what is only announced takes no room");
        first.grow_to(1).expect("room");
        first.grow_to(6 * PIECE).expect("room");
        first.grow_to(PIECE).expect("room");
        assert_eq!(memory.held_bytes(), 6 * PIECE);
        assert!(memory.enter(5 * PIECE).is_err());
        let mut second = memory.enter(0).expect("room");
        assert_eq!(second.grow_to(5 * PIECE), Err(NoRoom));
        second.grow_to(4 * PIECE).expect("room");
        drop(first);
        second.grow_to(10 * PIECE).expect("room");
        drop(second);
        assert_eq!(memory.held_bytes(), 0);
    }
}
