//! How the window aggregates of a day are written as bytes.

use crate::error::{Result, StoreError};

const ZSTD_LEVEL: i32 = 1;
/// A day of cells is a few kilobytes; a damaged length must not ask for more.
const LARGEST_DAY: u32 = 1 << 24;

/// Length, then zstd: what neighbouring windows have in common costs little.
pub(super) fn compress(cells: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = (cells.len() as u32).to_le_bytes().to_vec();
    let packed = zstd::bulk::compress(cells, ZSTD_LEVEL);
    bytes.extend(packed.map_err(|error| StoreError::Damaged(error.to_string()))?);
    Ok(bytes)
}

/// The cells of a stored row.
pub(super) fn unpack(bytes: &[u8]) -> Result<Vec<u8>> {
    let damaged = || StoreError::Damaged("a day's cells cannot be read".to_owned());
    let (length, packed) = bytes.split_first_chunk::<4>().ok_or_else(damaged)?;
    let length = u32::from_le_bytes(*length);
    // The length comes from the row: damaged bytes must not ask for gigabytes.
    if length > LARGEST_DAY {
        return Err(damaged());
    }
    zstd::bulk::decompress(packed, length as usize).map_err(|_| damaged())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_read_back_and_damage_is_reported() {
        let cells: Vec<u8> = (0..5000_u32).map(|at| (at % 7) as u8).collect();
        let bytes = compress(&cells).unwrap();
        assert!(bytes.len() < cells.len() / 10);
        assert_eq!(unpack(&bytes).unwrap(), cells);
        assert!(unpack(&bytes[..3]).is_err());
        assert!(unpack(&bytes[..bytes.len() - 1]).is_err());
        assert!(unpack(&[255; 40]).is_err());
    }
}
