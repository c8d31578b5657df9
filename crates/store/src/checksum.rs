//! The checksum of what is stored: made and compared here and nowhere else.
//!
//! CRC-32 finds every single flipped bit and every burst of up to 32 bits, and costs less than reading the bytes. It is
//! no protection against anyone who changes bytes on purpose. A row's sum covers its identity (patient, type, times) as
//! well as its content, so that an intact payload in a wrong row is found too. Content is summed first and by itself,
//! because what goes into a row is known only inside the transaction, in which nothing long may be computed.

use crate::ids::PatientId;

/// Version of how sums are made. Kept above the 32 bits of the sum, so that a later program knows which it reads.
const VERSION: i64 = 1;

/// Which rows a sum is of: equal numbers in rows of two tables have different sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Chunk = 1,
    Derived = 2,
    Segment = 3,
    Latest = 4,
    Setting = 5,
    Profile = 6,
    Bracelet = 7,
}

/// Returns the sum of bytes alone.
pub(crate) fn of_bytes(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// Returns the sum of a patient's row, as it is stored with it: its numbers in a fixed order, and the sum of its
/// content.
pub(crate) fn of_row(of: Of, patient: &PatientId, numbers: &[i64], content: u32) -> i64 {
    // One slice: many short ones cost several times as much.
    let mut bytes = Vec::with_capacity(64 + 8 * numbers.len());
    bytes.push(of as u8);
    bytes.extend_from_slice(patient.as_str().as_bytes());
    bytes.push(0);
    for number in numbers {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(&content.to_le_bytes());
    VERSION << 32 | i64::from(of_bytes(&bytes))
}

/// Returns whether a row has the sum that was made of it. Rows of before there were sums have none, and are believed.
pub(crate) fn is_intact(stored: Option<i64>, made: i64) -> bool {
    stored.is_none_or(|stored| stored == made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sum_covers_table_patient_numbers_and_content() {
        let (ada, bob) = (PatientId::new("ada"), PatientId::new("bob"));
        let sum = of_row(Of::Chunk, &ada, &[1, 2], of_bytes(b"payload"));
        for other in [
            of_row(Of::Derived, &ada, &[1, 2], of_bytes(b"payload")),
            of_row(Of::Chunk, &bob, &[1, 2], of_bytes(b"payload")),
            of_row(Of::Chunk, &ada, &[2, 1], of_bytes(b"payload")),
            of_row(Of::Chunk, &ada, &[1, 2], of_bytes(b"Payload")),
        ] {
            assert!(is_intact(Some(sum), sum) && !is_intact(Some(sum), other));
        }
        assert!(is_intact(None, sum));
        assert_eq!(sum >> 32, VERSION);
    }

    #[test]
    fn every_flipped_bit_of_numbers_and_content_is_found() {
        let ada = PatientId::new("ada");
        let sum = of_row(Of::Chunk, &ada, &[7], 9);
        for bit in 0..64 {
            assert_ne!(of_row(Of::Chunk, &ada, &[7 ^ (1 << bit)], 9), sum, "bit {bit}");
        }
        let content: Vec<u8> = (0..200).collect();
        for bit in 0..content.len() * 8 {
            let mut flipped = content.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(of_bytes(&flipped), of_bytes(&content), "bit {bit}");
        }
    }
}
