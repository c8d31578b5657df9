//! Bodies as they were sent: plain, gzip or zstd, expanded no further than the limit.

use std::io::{self, Read};

use axum::http::HeaderValue;
use bytes::Bytes;

use crate::load::{NoRoom, Room};

/// Compression of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Not at all.
    Identity,
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
}

/// Reason why a body cannot be expanded.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    /// The compressed bytes are damaged or end early.
    #[error("the body is not whole {0}")]
    Damaged(&'static str),
    /// There is no room for the expanded body just now.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    /// The expanded body is over the limit.
    #[error("the expanded body is larger than {limit} bytes")]
    TooLarge {
        /// The limit, bytes.
        limit: usize,
    },
    /// Expanding would take more memory than a sender may ask for.
    #[error("the window of the zstd body is larger than 8 MiB, the most for a Content-Encoding (RFC 9659)")]
    WideWindow,
}

impl Encoding {
    /// Returns the encoding that a `Content-Encoding` header names; `None` when it is not one of ours.
    pub fn of(header: Option<&HeaderValue>) -> Option<Self> {
        let Some(header) = header else { return Some(Encoding::Identity) };
        match header.to_str().ok()?.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Some(Encoding::Identity),
            "gzip" | "x-gzip" => Some(Encoding::Gzip),
            "zstd" => Some(Encoding::Zstd),
            _ => None,
        }
    }

    /// Returns the body without its compression. Stops at the limit, so a small body cannot fill the memory, and where
    /// the account of the upload has no room, in which the body itself is counted already.
    pub fn expand(self, body: Bytes, limit: usize, room: &Room) -> Result<Bytes, ExpandError> {
        match self {
            Encoding::Identity if body.len() > limit => Err(ExpandError::TooLarge { limit }),
            Encoding::Identity => Ok(body),
            Encoding::Gzip => {
                let expected = gzip_length(&body).min(limit);
                let reader = flate2::bufread::MultiGzDecoder::new(&body[..]);
                read_all(reader, expected, limit, room).map_err(|failed| failed.of("gzip"))
            }
            Encoding::Zstd => {
                let expected = zstd_length(&body).min(limit);
                // Taken by the decoder as it goes, and no more than is expanded.
                let window = expected.min(1 << ZSTD_WINDOW_LOG);
                room.take_for_body(window)?;
                let decoder = zstd_decoder(&body).map_err(|_| ExpandError::Damaged("zstd"))?;
                let expanded = read_all(decoder, expected, limit, room).map_err(|failed| failed.of("zstd"));
                room.give_back(window);
                expanded
            }
        }
    }
}

/// The largest window that is read, as the power of two of its bytes: 8 MiB. The format allows gigabytes.
const ZSTD_WINDOW_LOG: u32 = 23;

fn zstd_decoder(body: &[u8]) -> io::Result<impl Read> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(body)?;
    decoder.window_log_max(ZSTD_WINDOW_LOG)?;
    Ok(decoder)
}

/// Returns the expanded length that the sender claims, or one step where nothing is claimed.
fn zstd_length(body: &[u8]) -> usize {
    let claimed = zstd::zstd_safe::get_frame_content_size(body).ok().flatten();
    claimed.and_then(|length| usize::try_from(length).ok()).unwrap_or(STEP)
}

/// Returns the expanded length that the sender claims; no more than bytes of that number can become.
fn gzip_length(body: &[u8]) -> usize {
    const MOST_PER_BYTE: usize = 1032;
    let claimed = body.last_chunk::<4>().map_or(0, |length| u32::from_le_bytes(*length) as usize);
    claimed.min(body.len().saturating_mul(MOST_PER_BYTE))
}

/// Bytes by which the expanded body grows at least when it is longer than was expected.
const STEP: usize = 1 << 20;

/// Reason why expanding ended.
enum Failed {
    Expand(ExpandError),
    Reading(io::Error),
}

impl Failed {
    fn of(self, name: &'static str) -> ExpandError {
        match self {
            Failed::Expand(error) => error,
            // The decoder has no kind of error for it.
            Failed::Reading(error) if error.to_string().contains("too much memory") => ExpandError::WideWindow,
            Failed::Reading(_) => ExpandError::Damaged(name),
        }
    }
}

impl From<NoRoom> for Failed {
    fn from(no_room: NoRoom) -> Self {
        Failed::Expand(no_room.into())
    }
}

fn read_all(mut reader: impl Read, expected: usize, limit: usize, room: &Room) -> Result<Bytes, Failed> {
    let mut expanded: Vec<u8> = Vec::new();
    // One more than is expected, so that the end is found without growing.
    let mut wanted = expected + 1;
    loop {
        let held = expanded.capacity();
        // Both are there while it grows.
        room.take_for_body(wanted)?;
        expanded.reserve_exact(wanted - expanded.len());
        room.give_back(held);
        let spare = wanted - expanded.len();
        let read = reader.by_ref().take(spare as u64).read_to_end(&mut expanded).map_err(Failed::Reading)?;
        if expanded.len() > limit {
            return Err(Failed::Expand(ExpandError::TooLarge { limit }));
        }
        if read < spare {
            return Ok(Bytes::from(expanded));
        }
        wanted = (wanted + wanted.max(STEP)).min(limit + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::UploadMemory;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Bytes {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap().into()
    }

    fn expand(encoding: Encoding, body: Bytes, limit: usize) -> Result<Bytes, ExpandError> {
        encoding.expand(body, limit, &Room::without_end())
    }

    #[test]
    fn what_was_compressed_comes_back() {
        let body = b"{\"data\": {}}".repeat(100);
        let zstd: Bytes = zstd::bulk::compress(&body, 1).unwrap().into();
        assert_eq!(expand(Encoding::Gzip, gzip(&body), 10_000).unwrap(), body);
        assert_eq!(expand(Encoding::Zstd, zstd, 10_000).unwrap(), body);
        assert_eq!(Encoding::of(Some(&HeaderValue::from_static("GZIP"))), Some(Encoding::Gzip));
        assert_eq!(Encoding::of(Some(&HeaderValue::from_static("br"))), None);
    }

    #[test]
    fn bodies_that_claim_another_length_come_back_too() {
        let body: Vec<u8> = (0..3 * STEP + 5).map(|at| (at % 251) as u8).collect();
        let mut members = gzip(&body).to_vec();
        members.extend_from_slice(&gzip(b"the end"));
        let whole = [&body[..], b"the end"].concat();
        assert_eq!(expand(Encoding::Gzip, members.into(), 10 * STEP).unwrap(), whole);
        let mut unclaimed = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        unclaimed.write_all(&whole).unwrap();
        assert_eq!(expand(Encoding::Zstd, unclaimed.finish().unwrap().into(), 10 * STEP).unwrap(), whole);
    }

    #[test]
    fn bombs_stop_at_the_limit_and_cut_bodies_are_reported() {
        let bomb = vec![0_u8; 50_000_000];
        let limit = 1_000_000;
        assert_eq!(expand(Encoding::Gzip, gzip(&bomb), limit), Err(ExpandError::TooLarge { limit }));
        let zstd: Bytes = zstd::bulk::compress(&bomb, 1).unwrap().into();
        assert_eq!(expand(Encoding::Zstd, zstd.clone(), limit), Err(ExpandError::TooLarge { limit }));
        let whole = gzip(b"{\"data\": {}}");
        assert_eq!(expand(Encoding::Gzip, whole.slice(..15), limit), Err(ExpandError::Damaged("gzip")));
        assert_eq!(expand(Encoding::Zstd, zstd.slice(..20), limit), Err(ExpandError::Damaged("zstd")));
        let plain = Bytes::from_static(b"{}");
        assert_eq!(expand(Encoding::Zstd, plain, limit), Err(ExpandError::Damaged("zstd")));
    }

    #[test]
    fn a_window_wider_than_any_sender_needs_is_refused_with_the_reason() {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(ZSTD_WINDOW_LOG + 1).unwrap();
        encoder.write_all(&vec![7; 100_000]).unwrap();
        let packed: Bytes = encoder.finish().unwrap().into();
        assert_eq!(expand(Encoding::Zstd, packed, STEP), Err(ExpandError::WideWindow));
    }

    #[test]
    fn expanding_asks_for_room_before_it_takes_it() {
        let body = vec![b' '; 3 * STEP + 5];
        let packed = gzip(&body);
        let memory = UploadMemory::new(2 * STEP, 2 * STEP);
        let room = memory.enter(1, 0).unwrap();
        assert_eq!(Encoding::Gzip.expand(packed.clone(), 10 * STEP, &room), Err(NoRoom::JustNow.into()));
        let memory = UploadMemory::new(4 * STEP, 4 * STEP);
        let room = memory.enter(1, 0).unwrap();
        assert_eq!(Encoding::Gzip.expand(packed, 10 * STEP, &room).unwrap().len(), body.len());
        assert_eq!(room.used(), body.len() + 1, "what it can hold counts");
    }
}
