//! Sealed periods: one immutable Parquet file of one patient and one type.
//!
//! A segment is written once, from what a period's chunks and its older segment hold together, and then published in
//! the catalog; nothing reads it before that, and nothing changes it after.
//!
//! Rows lie in *pieces*: all rows of a stretch of time, channel after channel, each in the order of time. Strictly by
//! time, the colours of a ppg2 file would alternate and no row would be like the one before it, which makes the file
//! 40 % larger (measured on three noisy colours); channel after channel over the whole day, nobody could read the file
//! in the order of time without holding all of it. A file of a type with one channel is simply in the order of time.

mod block_sums;
pub(crate) mod catalog;
mod check;
mod encode;
mod file;
mod lake;
mod layout;
pub(crate) mod name;
mod pages;
pub(crate) mod period;
mod pieces;
pub(crate) mod read;
mod repeated;
mod seal;
mod sealed_file;
mod stream;
pub(crate) mod verify;
mod write;

pub use crate::health::stored_chunk::ChunkKey;
pub use block_sums::Tail;
pub use catalog::{Publication, SegmentRow, UnsealedPeriod};
pub use check::StoredAmount;
pub use file::PeriodFile;
pub use lake::{LakeSegment, OpenPeriod};
pub use layout::{RowOrder, file_properties};
pub use name::{SegmentName, folders_of_segment};
pub use period::SealedPeriod;
pub use read::{SegmentPieces, SegmentReader};
pub use repeated::RepeatedRows;
pub use seal::Sealed;
pub use stream::{PeriodContent, PeriodRows};
pub use verify::Verified;
pub use write::{SegmentWriter, WrittenSegment};

#[cfg(test)]
pub(crate) use catalog::TEXTS;
#[cfg(test)]
pub(crate) use check::TEXTS as CHECK_TEXTS;
#[cfg(test)]
pub(crate) use lake::TEXTS as LAKE_TEXTS;
#[cfg(test)]
pub(crate) use seal::TEXTS as SEAL_TEXTS;

#[cfg(test)]
mod tests;
