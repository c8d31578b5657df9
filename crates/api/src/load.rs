//! How much is taken on at once. What is beyond is refused before it costs memory, and nothing of it is stored.
//!
//! An upload has one account, its [`Room`], which everything made of its body is counted in before it is made: what
//! vectors can hold and not what is in them, and both copies while one grows. All accounts share the upload memory, of
//! which large uploads leave a part to small ones: anyone who sends bombs does not stop the syncs of others.
//!
//! Nor does anyone who sends many uploads slowly, which hold what has come of them for hours: several uploads of one owner
//! have an eighth of the memory together, and beyond it what nobody else asks for. One that holds more than all others of its
//! owner has as much as any.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runtime::HashMap;

use crate::places::shares::{PART_IN_COMMON, PART_OF_OWNER};

/// Memory is taken from what is shared in pieces of this size, bytes, and of the larger one by accounts that hold more
/// than that.
const PIECE: usize = 4096;
const LARGE_PIECE: usize = 64 << 10;
/// Uploads that take less, bytes, are small: only they may take the last of the memory.
const SMALL: usize = 1 << 20;
/// Most memory that is reserved for small uploads, bytes.
const LEFT_TO_SMALL: usize = 64 << 20;

/// The memory that uploads under way may take. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct UploadMemory {
    held: Arc<AtomicUsize>,
    all: usize,
    /// Part of it that large uploads can have, bytes.
    for_large: usize,
    owners: Arc<Mutex<HashMap<u64, OwnerMemory>>>,
}

/// What uploads of one owner hold.
#[derive(Debug, Default)]
struct OwnerMemory {
    uploads: usize,
    held: Arc<AtomicUsize>,
}

/// The account of one upload: a part of the memory, given back when the last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Room(Arc<Account>);

#[derive(Debug)]
struct Account {
    memory: UploadMemory,
    owner: u64,
    /// Held by all uploads of the owner.
    held_of_owner: Arc<AtomicUsize>,
    used: AtomicUsize,
    held: AtomicUsize,
}

/// There is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRoom {
    /// Others are using it.
    #[error("there is no room for more just now")]
    JustNow,
    /// It is more than there is for one upload.
    #[error("the upload takes more memory than one may have: send its rows in several")]
    AtAll,
}

impl UploadMemory {
    /// Room for so many bytes. A single upload of `largest` bytes always fits when there is no other.
    pub(crate) fn new(bytes: usize, largest: usize) -> Self {
        let left = LEFT_TO_SMALL.min(bytes / 8).min(bytes.saturating_sub(largest));
        UploadMemory { held: Arc::default(), all: bytes, for_large: bytes - left, owners: Arc::default() }
    }

    /// Returns an account of an owner without room yet, to grow; refused when what is announced would not fit.
    pub(crate) fn enter(&self, owner: u64, announced: usize) -> Result<Room, NoRoom> {
        // A look ahead only: nothing is held before bytes arrive, or clients that announce much and send nothing
        // would lock out the rest.
        if self.most_of(announced).saturating_sub(self.held_bytes()) < announced {
            return Err(NoRoom::JustNow);
        }
        let held_of_owner = {
            let mut owners = self.owners();
            let of_owner = owners.entry(owner).or_default();
            of_owner.uploads += 1;
            of_owner.held.clone()
        };
        let (used, held) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Ok(Room(Arc::new(Account { memory: self.clone(), owner, held_of_owner, used, held })))
    }

    fn owners(&self) -> MutexGuard<'_, HashMap<u64, OwnerMemory>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes that are held.
    pub(crate) fn held_bytes(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Returns what all uploads together may hold, for one that takes so many bytes.
    fn most_of(&self, bytes: usize) -> usize {
        if bytes <= SMALL { self.all } else { self.for_large }
    }
}

impl Room {
    /// Counts memory that is about to be taken, bytes.
    pub(crate) fn take(&self, bytes: usize) -> Result<(), NoRoom> {
        let account = &*self.0;
        let used = account.used.load(Ordering::Relaxed).saturating_add(bytes);
        let held = account.held.load(Ordering::Relaxed);
        if used > held {
            let most = account.memory.most_of(used);
            if used > most {
                return Err(NoRoom::AtAll);
            }
            let piece = if used > LARGE_PIECE { LARGE_PIECE } else { PIECE };
            // The last piece may be cut short by the end of the memory.
            let wanted = used.next_multiple_of(piece).min(most.max(used)) - held;
            let more = |all_held: usize| all_held.checked_add(wanted).filter(|sum| *sum <= most);
            if account.is_beyond_share(wanted) {
                return Err(NoRoom::JustNow);
            }
            // Two uploads that both wait for room would wait for each other; one that is refused comes again.
            let taken = account.memory.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
            taken.map_err(|_| NoRoom::JustNow)?;
            account.held.fetch_add(wanted, Ordering::Relaxed);
            account.held_of_owner.fetch_add(wanted, Ordering::Relaxed);
        }
        account.used.store(used, Ordering::Relaxed);
        Ok(())
    }

    /// Counts memory of a body as it is sent or expanded. Within its limits such a body fits when it is alone, which the
    /// settings are held to at the start, so it is never too much for good.
    pub(crate) fn take_for_body(&self, bytes: usize) -> Result<(), NoRoom> {
        self.take(bytes).map_err(|_| NoRoom::JustNow)
    }

    /// Counts memory that has been freed, bytes.
    pub(crate) fn give_back(&self, bytes: usize) {
        let account = &*self.0;
        let used = account.used.load(Ordering::Relaxed).saturating_sub(bytes);
        account.used.store(used, Ordering::Relaxed);
        // What is given back in small pieces is taken again at once.
        let held = account.held.load(Ordering::Relaxed);
        let kept = used.next_multiple_of(LARGE_PIECE);
        if held > kept + LARGE_PIECE {
            account.memory.held.fetch_sub(held - kept, Ordering::Relaxed);
            account.held_of_owner.fetch_sub(held - kept, Ordering::Relaxed);
            account.held.store(kept, Ordering::Relaxed);
        }
    }

    /// Holds exactly so many bytes from here on.
    pub(crate) fn hold_exactly(&self, bytes: usize) -> Result<(), NoRoom> {
        let used = self.used();
        if bytes > used {
            return self.take(bytes - used);
        }
        self.give_back(used - bytes);
        Ok(())
    }

    /// Bytes that are counted.
    pub(crate) fn used(&self) -> usize {
        self.0.used.load(Ordering::Relaxed)
    }

    /// Makes an account without end, for what is read without a service.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn without_end() -> Self {
        let memory = UploadMemory::new(usize::MAX / 2, 0);
        let (held_of_owner, used, held) = Default::default();
        Room(Arc::new(Account { memory, owner: 0, held_of_owner, used, held }))
    }
}

impl Account {
    /// Returns whether so many bytes more are beyond what the owner may have for several uploads.
    fn is_beyond_share(&self, wanted: usize) -> bool {
        let of_owner = self.held_of_owner.load(Ordering::Relaxed);
        // One upload may need nearly all of the memory, or a day of a waveform could never be stored. Of two large ones the
        // larger goes on: were both refused, they would meet again.
        let is_most = 2 * self.held.load(Ordering::Relaxed) >= of_owner;
        let is_scarce = self.memory.held_bytes() + wanted > self.memory.all / PART_IN_COMMON;
        !is_most && is_scarce && of_owner + wanted > self.memory.all / PART_OF_OWNER
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        let held = *self.held.get_mut();
        self.memory.held.fetch_sub(held, Ordering::Relaxed);
        self.held_of_owner.fetch_sub(held, Ordering::Relaxed);
        let mut owners = self.memory.owners();
        // An owner without uploads leaves nothing behind.
        if let Some(of_owner) = owners.get_mut(&self.owner) {
            of_owner.uploads -= 1;
            if of_owner.uploads == 0 {
                owners.remove(&self.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_share_the_memory_and_give_it_back() {
        let memory = UploadMemory::new(10 * PIECE, 10 * PIECE);
        let first = memory.enter(1, 10 * PIECE).expect("room");
        assert_eq!(memory.held_bytes(), 0, "what is only announced takes no room");
        first.take(1).expect("room");
        first.take(6 * PIECE - 1).expect("room");
        assert_eq!((memory.held_bytes(), first.used()), (6 * PIECE, 6 * PIECE));
        assert!(memory.enter(2, 5 * PIECE).is_err());
        let second = memory.enter(2, 0).expect("room");
        assert_eq!(second.take(5 * PIECE), Err(NoRoom::JustNow));
        assert_eq!(second.take(11 * PIECE), Err(NoRoom::AtAll));
        second.take(4 * PIECE).expect("room");
        let clone = first.clone();
        drop(first);
        assert_eq!(second.take(PIECE), Err(NoRoom::JustNow), "a clone keeps the account");
        drop(clone);
        second.take(6 * PIECE).expect("room");
        drop(second);
        assert_eq!(memory.held_bytes(), 0);
    }

    #[test]
    fn large_uploads_leave_a_part_to_small_ones() {
        let all = 1 << 30;
        let memory = UploadMemory::new(all, all / 2);
        let bomb = memory.enter(1, 0).expect("room");
        while bomb.take(SMALL).is_ok() {}
        assert_eq!(memory.held_bytes(), all - LEFT_TO_SMALL);
        assert_eq!(bomb.take(SMALL), Err(NoRoom::AtAll));
        assert_eq!(memory.enter(2, 0).expect("room").take(2 * SMALL), Err(NoRoom::JustNow));
        for small in 0..LEFT_TO_SMALL / SMALL {
            // Kept until the end of the test.
            let owner = 3 + small as u64;
            std::mem::forget(memory.enter(owner, 0).map(|room| room.take(SMALL).map(|()| room)).expect("room"));
            assert_eq!(memory.held_bytes(), all - LEFT_TO_SMALL + (small + 1) * SMALL);
        }
    }

    #[test]
    fn what_is_freed_can_be_taken_by_others() {
        let memory = UploadMemory::new(64 * LARGE_PIECE, 0);
        let room = memory.enter(2, 0).expect("room");
        room.take(32 * LARGE_PIECE).expect("room");
        room.give_back(20 * LARGE_PIECE);
        assert_eq!(memory.held_bytes(), 12 * LARGE_PIECE);
        room.hold_exactly(3 * LARGE_PIECE).expect("room");
        assert_eq!((room.used(), memory.held_bytes()), (3 * LARGE_PIECE, 3 * LARGE_PIECE));
        room.hold_exactly(5 * LARGE_PIECE).expect("room");
        assert_eq!(memory.held_bytes(), 5 * LARGE_PIECE);
    }

    #[test]
    fn several_uploads_of_an_owner_leave_most_of_the_memory_to_others() {
        let all = 1024 * LARGE_PIECE;
        let memory = UploadMemory::new(all, all / 2);
        let grow = |room: &Room| (0..1024).take_while(|_| room.take(LARGE_PIECE).is_ok()).count();
        let slow: Vec<Room> = (0..8).map(|_| memory.enter(1, 0).expect("an account")).collect();
        for round in 0..200 {
            for (at, room) in slow.iter().enumerate() {
                let is_taken = room.take(LARGE_PIECE).is_ok();
                assert!(is_taken || round * slow.len() + at >= all / LARGE_PIECE / PART_IN_COMMON - 1, "{round}");
            }
        }
        assert!(memory.held_bytes() <= all / PART_IN_COMMON, "{}", memory.held_bytes());
        let largest = memory.enter(2, all / 2).expect("an account");
        largest.take(all / 2).expect("one upload may have more than its owner's share");
        let second = memory.enter(2, 0).expect("an account");
        assert_eq!(second.take(LARGE_PIECE), Err(NoRoom::JustNow));
        let other = memory.enter(3, 0).expect("an account");
        assert!(grow(&other) > 0, "below its share it is refused nothing that is there");
        drop((slow, largest, second, other));
        assert!(memory.owners().is_empty() && memory.held_bytes() == 0);
    }
}
