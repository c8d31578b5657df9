//! Reads one Arrow IPC stream of one type.

use arrow_ipc::reader::StreamReader;
use platform::ingest::TypeBatches;
use store::columnar::{StructureFault, TIMESTAMP, ZONE, read_batch};
use vitals::registry::DataType;
use vitals::zone::ZoneName;

use super::body::BodyError;

/// The rows of a stream. `zone` is that of rows that name none.
pub(super) fn read(data_type: DataType, bytes: &[u8], zone: &ZoneName) -> Result<TypeBatches, BodyError> {
    let not_a_stream = |error: arrow_schema::ArrowError| BodyError::Syntax(format!("not an Arrow stream: {error}"));
    let stream = StreamReader::try_new(bytes, None).map_err(not_a_stream)?;
    let mut batches = Vec::new();
    for batch in stream {
        let batch = batch.map_err(not_a_stream)?;
        batches.push(read_batch(data_type, &batch, zone).map_err(|fault| at_its_place(data_type, &fault))?);
    }
    Ok(TypeBatches { data_type, batches })
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
