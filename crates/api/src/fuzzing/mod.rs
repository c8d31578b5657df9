//! What the fuzz targets run (docs/fuzzing.md): bytes of anyone through the readers of uploads, and what comes out of
//! them through everything that must be able to hold it.
//!
//! Each function panics where something does not hold. They are built with the feature `fuzzing` and in this crate's
//! own tests, which run the seeds through them.

mod answers;
mod intake;
#[cfg(test)]
mod seeds;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use vitals::registry::{Channel, DataType};
use vitals::zone::{ZoneName, known_zone};

use crate::health_cloud::sync::readers;

/// The zone of rows that name none.
const ZONE: &str = "Europe/Zurich";

/// What became of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// They could not be read.
    Refused,
    /// They were read; so many rows would be stored, and so many were rejected.
    Read {
        /// Rows without fault.
        good: u64,
        /// Rows with one.
        rejected: u64,
    },
}

/// Returns the body of a sync in JSON.
///
/// # Panics
/// When something does not hold.
pub fn sync_json(bytes: &[u8]) -> Outcome {
    let Ok(body) = readers::read_json(bytes) else { return Outcome::Refused };
    let zone: ZoneName = body.time_zone.as_deref().and_then(known_zone).unwrap_or(ZONE).into();
    let (mut good, mut rejected) = (0, 0);
    for batches in body.data {
        let accepted = intake::take_in(batches, &zone);
        rejected += accepted.rejected;
        good += answers::check(accepted, &zone);
    }
    Outcome::Read { good, rejected }
}

/// Returns the body of a sync as an Arrow stream, behind a byte that chooses the data type.
///
/// # Panics
/// When something does not hold.
pub fn sync_arrow(bytes: &[u8]) -> Outcome {
    let Some((data_type, stream)) = choose_type(bytes) else { return Outcome::Refused };
    let zone = ZoneName::from(ZONE);
    let Ok(batches) = readers::read_arrow(data_type, &Bytes::copy_from_slice(stream), &zone) else {
        return Outcome::Refused;
    };
    let accepted = intake::take_in(batches, &zone);
    let rejected = accepted.rejected;
    Outcome::Read { good: answers::check(accepted, &zone), rejected }
}

/// Returns the payload of a chunk, behind a byte that chooses the data type.
///
/// # Panics
/// When what was read is not read again from what is written of it.
pub fn payload(bytes: &[u8]) -> Outcome {
    /// What a chunk has at most; a few bytes can claim more, and writing that takes seconds.
    const ROWS_OF_A_CHUNK: usize = 65_536;
    let Some((data_type, bytes)) = choose_type(bytes) else { return Outcome::Refused };
    let Ok(block) = store::fuzzing::decode(data_type, Channel::default(), bytes) else { return Outcome::Refused };
    intake::check_shape(&block);
    if block.rows() <= ROWS_OF_A_CHUNK {
        intake::check_payload(&block);
    }
    Outcome::Read { good: block.rows() as u64, rejected: 0 }
}

fn choose_type(bytes: &[u8]) -> Option<(DataType, &[u8])> {
    let (choice, rest) = bytes.split_first()?;
    Some((DataType::ALL[usize::from(*choice) % DataType::ALL.len()], rest))
}
