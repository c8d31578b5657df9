//! Bytes of packed cells: variable-length integers, so that the many zeros and small differences cost a byte each.

use crate::latest::{LatestValues, Timed};

/// Writes integers as bytes.
#[derive(Clone, Debug, Default)]
pub struct Packer {
    bytes: Vec<u8>,
}

impl Packer {
    /// Makes an empty packer with room for some bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        Packer { bytes: Vec::with_capacity(capacity) }
    }

    /// Writes one byte.
    pub fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// Writes a number of 1 byte per 7 bits.
    pub fn unsigned(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// Writes a number that may be below zero; small ones of either sign are short.
    pub fn signed(&mut self, value: i64) {
        // Zigzag: without it every number below zero would take ten bytes.
        self.unsigned(((value << 1) ^ (value >> 63)) as u64);
    }

    /// Writes a number that may be missing, in steps of 1 / `steps_per_unit`.
    pub fn decimal(&mut self, value: Option<f64>, steps_per_unit: f64) {
        // A NaN that got this far is no value and must not become a number when it is read.
        match value.filter(|value| value.is_finite()) {
            // One more, so that 0 is free to represent none.
            Some(value) => {
                let steps = (value * steps_per_unit).round() as i64;
                self.signed(if steps >= 0 { steps + 1 } else { steps });
            }
            None => self.signed(0),
        }
    }

    /// Writes the newest values of a cell that starts at `start_ms`.
    pub fn newest(&mut self, newest: &LatestValues, start_ms: i64) {
        let values = values_of(newest);
        // One byte says which signs follow: a window of a still patient has two of six.
        let mut mask = 0;
        for (bit, value) in values.iter().enumerate() {
            mask |= u8::from(value.is_some()) << bit;
        }
        self.byte(mask);
        let mut last_ms = start_ms;
        for timed in values.into_iter().flatten() {
            self.unsigned((timed.value * THOUSANDTHS).round() as u64);
            self.signed(timed.timestamp_ms - last_ms);
            last_ms = timed.timestamp_ms;
        }
    }

    /// Returns all that was written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// No vital sign is kept finer than this.
const THOUSANDTHS: f64 = 1000.0;

fn values_of(newest: &LatestValues) -> [Option<Timed>; 6] {
    [
        newest.heart_rate,
        newest.respiration_rate,
        newest.temperature,
        newest.spo2,
        newest.nibp_systolic,
        newest.nibp_diastolic,
    ]
}

/// Reads what a [`Packer`] wrote. Every read answers `None` when the bytes end too early.
#[derive(Clone, Debug)]
pub struct Unpacker<'bytes> {
    bytes: &'bytes [u8],
}

impl<'bytes> Unpacker<'bytes> {
    /// Reads from the start of some bytes.
    pub fn new(bytes: &'bytes [u8]) -> Self {
        Unpacker { bytes }
    }

    /// Returns whether everything has been read.
    pub fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Reads one byte.
    #[inline]
    pub fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*byte)
    }

    /// Reads what [`Packer::unsigned`] wrote.
    #[inline]
    pub fn unsigned(&mut self) -> Option<u64> {
        // Most numbers are one byte.
        match self.bytes {
            [byte, rest @ ..] if *byte < 0x80 => {
                self.bytes = rest;
                Some(u64::from(*byte))
            }
            _ => self.long_unsigned(),
        }
    }

    fn long_unsigned(&mut self) -> Option<u64> {
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

    /// Reads a number that fits an integer type.
    #[inline]
    pub fn number<T: TryFrom<u64>>(&mut self) -> Option<T> {
        T::try_from(self.unsigned()?).ok()
    }

    /// Reads what [`Packer::signed`] wrote.
    pub fn signed(&mut self) -> Option<i64> {
        let value = self.unsigned()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Reads what [`Packer::decimal`] wrote.
    pub fn decimal(&mut self, steps_per_unit: f64) -> Option<Option<f64>> {
        let steps = match self.signed()? {
            0 => return Some(None),
            above @ 1.. => above - 1,
            below => below,
        };
        Some(Some(steps as f64 / steps_per_unit))
    }

    /// Reads what [`Packer::newest`] wrote.
    pub fn newest(&mut self, start_ms: i64) -> Option<LatestValues> {
        let mask = self.byte()?;
        let mut last_ms = start_ms;
        let mut next = |bit: u8| -> Option<Option<Timed>> {
            if mask & (1 << bit) == 0 {
                return Some(None);
            }
            let value = self.unsigned()? as f64 / THOUSANDTHS;
            last_ms = last_ms.checked_add(self.signed()?)?;
            Some(Some(Timed { value, timestamp_ms: last_ms }))
        };
        Some(LatestValues {
            heart_rate: next(0)?,
            respiration_rate: next(1)?,
            temperature: next(2)?,
            spo2: next(3)?,
            nibp_systolic: next(4)?,
            nibp_diastolic: next(5)?,
            news_score: None,
        })
    }
}
