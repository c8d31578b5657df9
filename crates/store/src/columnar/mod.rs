//! Samples as columns that every tool reads: Arrow record batches, and through them Arrow IPC and Parquet.
//!
//! One schema per data type follows from the registry and serves segments, answers and uploads alike, so that what a
//! researcher reads can be sent back as it is. The two directions are [`record_batch`] (blocks to a batch) and
//! [`blocks_from_batch`] (a batch from outside to blocks, row by row judged).

mod accept;
mod batch;
mod cells;
mod decode;
mod judge;
mod order;
mod schema;
mod spot_measurement;
mod split;
mod texts;
mod times;

pub use accept::{Accepted, StructureFault, blocks_from_batch};
pub use batch::{record_batch, record_batches};
pub use judge::{Reason, RejectedRow, RejectedRows};
pub use schema::{TIMESTAMP, ZONE, arrow_schema};

pub(crate) use batch::{Run, batch_of_runs};
pub(crate) use decode::{RowsOfBatch, block_of_rows};


#[cfg(test)]
mod tests;
