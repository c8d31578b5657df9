//! What a sync brings, and what becomes of it.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use vitals::block::Block;
use vitals::registry::DataType;

use super::super::devices::DeviceReport;
use crate::ids::{PatientId, SyncId};

/// A sync that has been read and found well-formed.
#[derive(Clone, Debug)]
pub struct Sync {
    /// Whose samples these are.
    pub patient: PatientId,
    /// Time at which it arrived, ms since 1970.
    pub received_ms: i64,
    /// The app's own name for this sync, with a hash of its content.
    pub id: Option<NamedSync>,
    /// The bracelet that it came from.
    pub device: Option<DeviceReport>,
    /// Samples by type and channel, in any order.
    pub blocks: Vec<Block>,
}

/// The app's own name for a sync, and what came under it.
#[derive(Clone, Debug)]
pub struct NamedSync {
    /// The name.
    pub id: SyncId,
    /// A hash that shows whether the same name comes with other content.
    pub content_hash: Vec<u8>,
}

/// How the rows of one type counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rows that were not there before.
    pub stored: u64,
    /// Rows that are there already.
    pub duplicate: u64,
    /// Rows that took the place of another.
    pub replaced: u64,
    /// Values of replaced rows that have none in the row in their place.
    pub columns_removed: u64,
    /// Rows that are stored and could not be compared: what is stored at their time is damaged.
    pub unverified: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, more: Counts) {
        self.stored += more.stored;
        self.duplicate += more.duplicate;
        self.replaced += more.replaced;
        self.columns_removed += more.columns_removed;
        self.unverified += more.unverified;
    }
}

/// What becomes of the rows of a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// They are stored.
    Store,
    /// They are counted as if they were stored, and nothing is.
    Validate,
}

/// What became of a sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncOutcome {
    /// Its rows are durable; the counts by type.
    Stored(BTreeMap<DataType, Counts>),
    /// There is no such patient.
    UnknownPatient,
    /// The sync's id was used before with other content. Nothing was stored.
    IdReused,
}
