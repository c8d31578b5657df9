//! Bytes of packed cells: variable-length integers, so that the many zeros and small differences cost a byte each.

use crate::latest::{LatestValues, Timed};
use crate::measured::Measured;

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

    /// Writes the newest measurements of a cell that starts at `start_ms`.
    pub fn newest(&mut self, newest: &Measured, start_ms: i64) {
        let has_poor = !newest.poor.is_empty();
        self.signs(&newest.valid, start_ms, if has_poor { POOR_FOLLOW } else { 0 });
        if has_poor {
            self.signs(&newest.poor, start_ms, 0);
        }
    }

    /// Writes one byte that says which signs follow, with one more bit, and the signs: a window of a still patient has
    /// two of six.
    fn signs(&mut self, values: &LatestValues, start_ms: i64, more: u8) {
        let values = values.signs();
        let signs: u8 = values.iter().enumerate().map(|(bit, value)| u8::from(value.is_some()) << bit).sum();
        self.byte(signs | more);
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

/// Bit next to those of the signs: the poor measurements follow.
const POOR_FOLLOW: u8 = 1 << 6;

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
    pub fn newest(&mut self, start_ms: i64) -> Option<Measured> {
        let (valid, more) = self.signs(start_ms)?;
        let poor = if more & POOR_FOLLOW == 0 { LatestValues::default() } else { self.signs(start_ms)?.0 };
        Some(Measured { valid, poor })
    }

    /// Reads signs, and the byte that says which they are.
    fn signs(&mut self, start_ms: i64) -> Option<(LatestValues, u8)> {
        let mask = self.byte()?;
        let mut values = LatestValues::default();
        let mut last_ms = start_ms;
        for (bit, sign) in values.signs_mut().into_iter().enumerate() {
            if mask & (1 << bit) != 0 {
                let value = self.unsigned()? as f64 / THOUSANDTHS;
                last_ms = last_ms.checked_add(self.signed()?)?;
                *sign = Some(Timed { value, timestamp_ms: last_ms });
            }
        }
        Some((values, mask))
    }
}
