//! How the samples of a chunk are written as bytes.
//!
//! Columns one after the other; a constant is a number, a column of integers is differenced, zigzagged and split into
//! byte planes, so that zstd sees the high bytes of small steps as runs of zeros. Times are differenced twice: an even
//! sampling becomes zeros. Measured against other encodings in docs/benchmarks.md.
//!
//! A few damaged bytes can claim any number of rows, because even times and constants take no room at all. So there
//! is a most that is ever written, and more than that is never believed.

use std::ops::{BitOr, BitOrAssign, Shl};
use std::sync::Arc;

use runtime::HashMap;
use vitals::block::{Block, Cells};
use vitals::registry::{Channel, DataType};
use vitals::zone::ZoneRuns;

use crate::error::{Result, StoreError};

const FORMAT: u8 = 1;
const STORED: u8 = 0;
const ZSTD: u8 = 1;
/// Below this, zstd's own header and set-up cost more than they save.
const SMALLEST_COMPRESSED: usize = 256;
const ZSTD_LEVEL: i32 = 1;

/// The most rows of a payload: an hour at 1165 Hz. Chunks are much smaller; what merges them leaves more apart.
const MOST_ROWS: usize = 1 << 22;
/// The most bytes of a payload before compression.
const LONGEST_BODY: usize = 1 << 29;

const CONSTANT: u8 = 0;
const VALUES: u8 = 1;
const TEXT: u8 = 2;

/// Returns the bytes of a block.
///
/// # Errors
/// [`StoreError::Damaged`] when the block is larger than [`decode`] would believe.
pub fn encode(block: &Block) -> Result<Vec<u8>> {
    if block.rows() > MOST_ROWS {
        return Err(StoreError::Damaged("a chunk has too many rows".to_owned()));
    }
    let mut body = Vec::with_capacity(64 + block.rows() * 2);
    put_varint(&mut body, block.rows() as u64);
    put_times(&mut body, &block.times_us);
    for cells in &block.columns {
        put_cells(&mut body, cells);
    }
    let runs: Vec<_> = block.zones.iter().collect();
    put_varint(&mut body, runs.len() as u64);
    for (run, zone) in runs {
        put_varint(&mut body, run.len() as u64);
        put_text(&mut body, zone);
    }

    // Refused here, because it could never be read again.
    if body.len() > LONGEST_BODY {
        return Err(StoreError::Damaged("a chunk has too long texts".to_owned()));
    }
    let mut bytes = vec![FORMAT];
    if body.len() < SMALLEST_COMPRESSED {
        bytes.push(STORED);
        bytes.extend_from_slice(&body);
    } else {
        bytes.push(ZSTD);
        bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
        let compressed = zstd::bulk::compress(&body, ZSTD_LEVEL);
        bytes.extend(compressed.map_err(|error| StoreError::Damaged(error.to_string()))?);
    }
    Ok(bytes)
}

/// Returns the block that [`encode`] made the bytes of.
///
/// # Errors
/// [`StoreError::Damaged`] when the bytes are not such.
pub fn decode(data_type: DataType, channel: Channel, bytes: &[u8]) -> Result<Block> {
    let body = match bytes {
        [FORMAT, STORED, body @ ..] => body.to_vec(),
        [FORMAT, ZSTD, a, b, c, d, body @ ..] => {
            let length = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
            // The length is allocated before a byte is decompressed.
            if length > LONGEST_BODY {
                return Err(damaged());
            }
            zstd::bulk::decompress(body, length).map_err(|error| StoreError::Damaged(error.to_string()))?
        }
        _ => return Err(damaged()),
    };
    read_block(data_type, channel, &mut Reader(&body)).ok_or_else(damaged)
}

fn damaged() -> StoreError {
    StoreError::Damaged("a chunk's payload cannot be read".to_owned())
}

fn read_block(data_type: DataType, channel: Channel, reader: &mut Reader<'_>) -> Option<Block> {
    let rows = usize::try_from(reader.varint()?).ok().filter(|rows| *rows <= MOST_ROWS)?;
    let times_us = reader.times(rows)?;
    let columns = data_type.columns().iter().map(|_| reader.cells(rows)).collect::<Option<Vec<_>>>()?;
    let mut zones = ZoneRuns::default();
    for _ in 0..reader.varint()? {
        let run = usize::try_from(reader.varint()?).ok()?;
        // Held to the rows as it grows: the sum of claimed runs could overflow.
        if run > rows - zones.rows() as usize {
            return None;
        }
        zones.push(reader.text()?.into(), run);
    }
    (zones.rows() as usize == rows).then_some(Block { data_type, channel, times_us, columns, zones })
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn zigzag32(value: i32) -> u32 {
    ((value << 1) ^ (value >> 31)) as u32
}

fn unzigzag32(value: u32) -> i32 {
    (value >> 1) as i32 ^ -((value & 1) as i32)
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put_varint(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
}

/// First time, then the differences of the differences as byte planes of the width that the largest needs.
fn put_times(bytes: &mut Vec<u8>, times_us: &[i64]) {
    let mut steps = Vec::with_capacity(times_us.len());
    let (mut last_time, mut last_step) = (0_i64, 0_i64);
    for time in times_us {
        let step = time.wrapping_sub(last_time);
        steps.push(zigzag(step.wrapping_sub(last_step)));
        (last_time, last_step) = (*time, step);
    }
    // The first two carry the absolute time; alone they would widen every plane.
    let (head, tail) = steps.split_at(steps.len().min(2));
    for step in head {
        put_varint(bytes, *step);
    }
    put_planes(bytes, tail);
}

fn put_cells(bytes: &mut Vec<u8>, cells: &Cells) {
    match cells {
        Cells::Constant(cell) => {
            bytes.push(CONSTANT);
            put_varint(bytes, zigzag(i64::from(*cell)));
        }
        Cells::Values(cells) => {
            bytes.push(VALUES);
            put_varint(bytes, zigzag(i64::from(cells.first().copied().unwrap_or(0))));
            // Differences that wrap around come back by wrapping around.
            let steps: Vec<u32> = cells.windows(2).map(|pair| zigzag32(pair[1].wrapping_sub(pair[0]))).collect();
            put_planes(bytes, &steps);
        }
        Cells::Text(texts) => {
            bytes.push(TEXT);
            for text in texts {
                match text {
                    None => put_varint(bytes, 0),
                    Some(text) => {
                        put_varint(bytes, text.len() as u64 + 1);
                        bytes.extend_from_slice(text.as_bytes());
                    }
                }
            }
        }
    }
}

/// The number of bytes that the largest value needs, then all lowest bytes, all second bytes, and so on.
fn put_planes<Step: Copy + Default + Into<u64> + BitOr<Output = Step>>(bytes: &mut Vec<u8>, values: &[Step]) {
    let bits: u64 = values.iter().fold(Step::default(), |all, value| all | *value).into();
    let width = 8 - (bits.leading_zeros() / 8) as usize;
    bytes.push(width as u8);
    for plane in 0..width {
        bytes.extend(values.iter().map(|value| ((*value).into() >> (8 * plane)) as u8));
    }
}

/// Reads what the `put_` functions wrote; `None` when the bytes end early or make no sense.
struct Reader<'bytes>(&'bytes [u8]);

impl<'bytes> Reader<'bytes> {
    fn take(&mut self, count: usize) -> Option<&'bytes [u8]> {
        let (head, tail) = self.0.split_at_checked(count)?;
        self.0 = tail;
        Some(head)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn text(&mut self) -> Option<&'bytes str> {
        let length = usize::try_from(self.varint()?).ok()?;
        self.text_of(length)
    }

    fn text_of(&mut self, length: usize) -> Option<&'bytes str> {
        std::str::from_utf8(self.take(length)?).ok()
    }

    fn planes<Step>(&mut self, count: usize) -> Option<Vec<Step>>
    where
        Step: Copy + Default + From<u8> + BitOrAssign + Shl<usize, Output = Step>,
    {
        let width = Some(self.byte()? as usize).filter(|width| *width <= size_of::<Step>())?;
        let planes = self.take(count.checked_mul(width)?)?;
        let mut values = vec![Step::default(); count];
        for (plane, bytes) in planes.chunks_exact(count.max(1)).enumerate() {
            for (value, byte) in values.iter_mut().zip(bytes) {
                *value |= Step::from(*byte) << (8 * plane);
            }
        }
        Some(values)
    }

    fn times(&mut self, rows: usize) -> Option<Vec<i64>> {
        let head = rows.min(2);
        let mut steps = (0..head).map(|_| self.varint()).collect::<Option<Vec<_>>>()?;
        steps.extend(self.planes::<u64>(rows - head)?);
        let (mut time, mut step) = (0_i64, 0_i64);
        Some(
            steps
                .into_iter()
                .map(|change| {
                    step = step.wrapping_add(unzigzag(change));
                    time = time.wrapping_add(step);
                    time
                })
                .collect(),
        )
    }

    fn cells(&mut self, rows: usize) -> Option<Cells> {
        match self.byte()? {
            CONSTANT => Some(Cells::Constant(i32::try_from(unzigzag(self.varint()?)).ok()?)),
            VALUES => {
                let mut cell = i32::try_from(unzigzag(self.varint()?)).ok()?;
                let steps = self.planes::<u32>(rows.checked_sub(1)?)?;
                let mut cells = Vec::with_capacity(rows);
                cells.push(cell);
                for step in steps {
                    cell = cell.wrapping_add(unzigzag32(step));
                    cells.push(cell);
                }
                Some(Cells::Values(cells))
            }
            TEXT => {
                // A constant text is written in each row; it must not take as much memory again.
                let mut shared: HashMap<&str, Arc<str>> = HashMap::default();
                let mut text = || match self.varint()? {
                    0 => Some(None),
                    length => {
                        let text = self.text_of(usize::try_from(length - 1).ok()?)?;
                        Some(Some(shared.entry(text).or_insert_with(|| text.into()).clone()))
                    }
                };
                Some(Cells::Text((0..rows).map(|_| text()).collect::<Option<Vec<_>>>()?))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use vitals::registry::NULL;

    fn cells(rows: usize) -> impl Strategy<Value = Cells> {
        prop_oneof![
            any::<i32>().prop_map(Cells::Constant),
            proptest::collection::vec(prop_oneof![any::<i32>(), Just(NULL), 0..100], rows).prop_map(Cells::Values),
        ]
    }

    fn blocks() -> impl Strategy<Value = Block> {
        proptest::collection::btree_set(-4_000_000_000_000_000_i64..9_000_000_000_000_000, 1..400).prop_flat_map(
            |times| {
                let times_us: Vec<i64> = times.into_iter().collect();
                let rows = times_us.len();
                let columns = proptest::collection::vec(cells(rows), DataType::Ppg2.columns().len());
                (columns, 0..=rows).prop_map(move |(columns, cut)| {
                    let mut zones = ZoneRuns::constant("Europe/Zurich".into(), cut);
                    zones.push("UTC".into(), rows - cut);
                    Block { data_type: DataType::Ppg2, channel: Channel(7), times_us: times_us.clone(), columns, zones }
                })
            },
        )
    }

    proptest! {
        #[test]
        fn blocks_come_back_as_they_were(block in blocks()) {
            let bytes = encode(&block).unwrap();
            prop_assert_eq!(decode(block.data_type, block.channel, &bytes).unwrap(), block);
        }

        #[test]
        fn damaged_bytes_are_reported_and_never_panic(block in blocks(), at in any::<proptest::sample::Index>(), bit in 0_u8..8) {
            let mut bytes = encode(&block).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= 1_u8 << bit;
            let _ = decode(block.data_type, block.channel, &bytes);
            bytes.truncate(at);
            prop_assert!(decode(block.data_type, block.channel, &bytes).is_err());
        }
    }

    #[test]
    fn texts_come_back_as_they_were() {
        let mut block = Block::empty(DataType::Tests, Channel::of_test(3));
        block.times_us = vec![1, 2];
        block.columns[4] = Cells::Text(vec![Some("naïve".into()), None]);
        block.zones = ZoneRuns::constant("UTC".into(), 2);
        let bytes = encode(&block).unwrap();
        assert_eq!(decode(DataType::Tests, block.channel, &bytes).unwrap(), block);
    }

    #[test]
    fn a_few_bytes_cannot_claim_much_memory() {
        let stored = |body: &[u8]| [&[FORMAT, STORED], body].concat();
        let mut most = Vec::new();
        put_varint(&mut most, MOST_ROWS as u64 + 1);
        let no_such_length = [FORMAT, ZSTD, 0xff, 0xff, 0xff, 0xff, 0];
        let a_run_too_long = [
            1, // row
            0, 0, // its time
            CONSTANT, 0, CONSTANT, 0, CONSTANT, 0, // metric_id, chunk_index, value
            1, 0xff, 0xff, 0xff, 0xff, 0x1f, 0, // a zone of more rows than 32 bits count
        ];
        let endless = stored(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0]);
        for bytes in
            [endless, stored(&[&most[..], &[0, 0, 0]].concat()), no_such_length.to_vec(), stored(&a_run_too_long)]
        {
            assert!(decode(DataType::Bioz, Channel::default(), &bytes).is_err(), "{bytes:?}");
        }
        let mut block = Block::empty(DataType::Bioz, Channel::default());
        block.times_us = (0..=MOST_ROWS as i64).collect();
        assert!(encode(&block).is_err());
    }

    #[test]
    fn an_even_sampling_costs_nothing_for_its_times() {
        let mut block = Block::empty(DataType::Bioz, Channel::default());
        block.times_us = (0..10_000).map(|row| 1_763_600_000_000_000 + row * 40_000).collect();
        block.zones = ZoneRuns::constant("UTC".into(), 10_000);
        assert!(encode(&block).unwrap().len() < 120);
    }
}
