//! Reads one Arrow IPC stream of one type.
//!
//! Every length in a stream is a claim of the sender. The stream is therefore walked before it is decoded
//! ([`claims`]), and its schema is held to flat columns before any batch is. What is left is decoded by a reader that
//! was written for trusted files and panics where it was never contradicted before; such a panic ends as the same 400
//! as any other damaged stream, because the fault is the sender's and the next request is not concerned: the reader
//! changes nothing but what is its own, and all of that is dropped.

mod claims;

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::{StreamDecoder, StreamReader};
use arrow_schema::ArrowError;
use bytes::Bytes;
use platform::ingest::TypeBatches;
use store::columnar::{SharedTexts, StructureFault, TIMESTAMP, ZONE, check_schema, most_bytes_read, read_batch};
use vitals::registry::DataType;
use vitals::zone::ZoneName;

use super::body::BodyError;
use crate::load::Room;

/// End of a stream, whether or not its sender wrote it. A last message without a body is decoded when it comes.
const END_OF_STREAM: &[u8] = &[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// Rows that are read at once. Before it is read, a row is counted with the most that it can take.
const ROWS_AT_ONCE: usize = 1 << 19;

/// Returns the rows of a stream. `zone` is that of rows that name none; `room` is the account of the upload, in which
/// the stream itself is counted already.
pub(crate) fn read(
    data_type: DataType,
    stream: &Bytes,
    zone: &ZoneName,
    room: &Room,
) -> Result<TypeBatches, BodyError> {
    let at_its_place = |fault: StructureFault| at_its_place(data_type, &fault);
    // In this order: nothing is decoded before its claims have been held against the bytes.
    claims::check_schema(stream).map_err(not_a_stream)?;
    let schema = guarded(|| StreamReader::try_new(&stream[..], None))?.schema();
    check_schema(data_type, &schema).map_err(at_its_place)?;
    let messages = claims::check_batches(stream, &schema).map_err(not_a_stream)?;

    // Equal texts are kept once: a column of views can point at the same text from every row.
    let mut texts = SharedTexts::within(stream.len());
    let mut batches = Vec::new();
    // Columns stay where they arrived; a reader of streams would copy each message first.
    let mut decoder = StreamDecoder::new();
    // The decoder hands a batch out when the next message begins, so the last one needs an end behind it.
    for mut buffer in [Buffer::from(stream.slice(..messages)), Buffer::from(END_OF_STREAM)] {
        while let Some(batch) = guarded(|| decoder.decode(&mut buffer))? {
            for rows in pieces(&batch) {
                let most = most_bytes_read(data_type, &rows);
                room.take(most)?;
                let read = read_batch(data_type, &rows, zone, &mut texts).map_err(at_its_place)?;
                room.give_back(most.saturating_sub(read.bytes()));
                // A batch without rows is allowed and would become an empty chunk.
                if !read.times_us.is_empty() {
                    batches.push(read);
                }
            }
        }
    }
    Ok(TypeBatches { data_type, batches })
}

/// Returns the rows of a batch, no more at once than are read at once; one piece also where there is no row.
fn pieces(batch: &RecordBatch) -> impl Iterator<Item = RecordBatch> {
    let rows = batch.num_rows();
    (0..rows.max(1)).step_by(ROWS_AT_ONCE).map(move |start| batch.slice(start, ROWS_AT_ONCE.min(rows - start)))
}

/// Returns what the reader answers; a panic of it is an answer too.
fn guarded<T>(read: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, BodyError> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(read) => read.map_err(not_a_stream),
        Err(_) => Err(not_a_stream("it contradicts itself")),
    }
}

fn not_a_stream(reason: impl std::fmt::Display) -> BodyError {
    BodyError::NotArrow(reason.to_string())
}

fn at_its_place(data_type: DataType, fault: &StructureFault) -> BodyError {
    let column = match fault {
        StructureFault::UnknownColumn(column)
        | StructureFault::WrongKind(column)
        | StructureFault::RepeatedColumn(column) => column,
        StructureFault::NoTimestamp => TIMESTAMP,
        StructureFault::UnknownZone(_) => ZONE,
    };
    BodyError::Structure { place: format!("data.{}.{column}", data_type.name()), message: fault.to_string() }
}

#[cfg(test)]
mod tests;
