//! Samples as columns that every tool reads: Arrow record batches, and through them Arrow IPC and Parquet.
//!
//! One schema per data type follows from the registry and serves segments, answers and uploads alike, so that what a
//! researcher reads can be sent back as it is. The two directions are [`record_batch`] (blocks to a batch) and
//! [`read_batch`] (a batch from outside, on its way to the intake).

mod accept;
mod batch;
mod cells;
mod decode;
mod faults;
mod order;
mod schema;
mod structure_fault;
mod texts;
mod times;

pub use accept::{check_schema, most_bytes_read, read_batch};
pub use batch::{record_batch, record_batches};
pub use schema::{TIMESTAMP, ZONE, arrow_schema};
pub use structure_fault::StructureFault;
pub use texts::SharedTexts;

pub(crate) use batch::{Run, batch_of_runs};
pub(crate) use decode::{RowsOfBatch, block_of_rows};

#[cfg(test)]
mod tests;
