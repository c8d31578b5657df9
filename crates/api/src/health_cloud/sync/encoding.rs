//! Bodies as they were sent: plain, gzip or zstd, expanded no further than the limit.

use std::io::Read;

use axum::http::HeaderValue;
use bytes::Bytes;

use crate::load::NoRoom;

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Not at all.
    Identity,
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
}

/// Why a body cannot be expanded.
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
}

impl Encoding {
    /// The encoding that a `Content-Encoding` header names; `None` when it is not one of ours.
    pub fn of(header: Option<&HeaderValue>) -> Option<Self> {
        let Some(header) = header else { return Some(Encoding::Identity) };
        match header.to_str().ok()?.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Some(Encoding::Identity),
            "gzip" | "x-gzip" => Some(Encoding::Gzip),
            "zstd" => Some(Encoding::Zstd),
            _ => None,
        }
    }

    /// The body without its compression. Stops at the limit, so a small body cannot fill the memory, and when `make_room`
    /// refuses the number of expanded bytes that it is called with before they are there.
    pub fn expand(
        self,
        body: Bytes,
        limit: usize,
        make_room: &mut dyn FnMut(usize) -> Result<(), NoRoom>,
    ) -> Result<Bytes, ExpandError> {
        match self {
            Encoding::Identity if body.len() > limit => Err(ExpandError::TooLarge { limit }),
            Encoding::Identity => {
                make_room(body.len())?;
                Ok(body)
            }
            Encoding::Gzip => read_all(flate2::bufread::MultiGzDecoder::new(&body[..]), "gzip", limit, make_room),
            Encoding::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(&body[..]);
                read_all(decoder.map_err(|_| ExpandError::Damaged("zstd"))?, "zstd", limit, make_room)
            }
        }
    }
}

/// Bytes that are expanded between two questions for room.
const STEP: usize = 1 << 20;

fn read_all(
    mut reader: impl Read,
    name: &'static str,
    limit: usize,
    make_room: &mut dyn FnMut(usize) -> Result<(), NoRoom>,
) -> Result<Bytes, ExpandError> {
    let mut expanded = Vec::new();
    loop {
        let wanted = STEP.min(limit + 1 - expanded.len());
        make_room(expanded.len() + wanted)?;
        let read = reader.by_ref().take(wanted as u64).read_to_end(&mut expanded);
        let read = read.map_err(|_| ExpandError::Damaged(name))?;
        if expanded.len() > limit {
            return Err(ExpandError::TooLarge { limit });
        }
        if read < wanted {
            return Ok(Bytes::from(expanded));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Bytes {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap().into()
    }

    #[test]
    fn what_was_compressed_comes_back() {
        let body = b"{\"data\": {}}".repeat(100);
        let zstd: Bytes = zstd::bulk::compress(&body, 1).unwrap().into();
        assert_eq!(Encoding::Gzip.expand(gzip(&body), 10_000, &mut |_| Ok(())).unwrap(), body);
        assert_eq!(Encoding::Zstd.expand(zstd, 10_000, &mut |_| Ok(())).unwrap(), body);
        assert_eq!(Encoding::of(Some(&HeaderValue::from_static("GZIP"))), Some(Encoding::Gzip));
        assert_eq!(Encoding::of(Some(&HeaderValue::from_static("br"))), None);
    }

    #[test]
    fn bombs_stop_at_the_limit_and_cut_bodies_are_told() {
        let bomb = vec![0_u8; 50_000_000];
        let limit = 1_000_000;
        assert_eq!(Encoding::Gzip.expand(gzip(&bomb), limit, &mut |_| Ok(())), Err(ExpandError::TooLarge { limit }));
        let zstd: Bytes = zstd::bulk::compress(&bomb, 1).unwrap().into();
        assert_eq!(Encoding::Zstd.expand(zstd.clone(), limit, &mut |_| Ok(())), Err(ExpandError::TooLarge { limit }));
        let whole = gzip(b"{\"data\": {}}");
        assert_eq!(Encoding::Gzip.expand(whole.slice(..15), limit, &mut |_| Ok(())), Err(ExpandError::Damaged("gzip")));
        assert_eq!(Encoding::Zstd.expand(zstd.slice(..20), limit, &mut |_| Ok(())), Err(ExpandError::Damaged("zstd")));
        assert_eq!(
            Encoding::Zstd.expand(Bytes::from_static(b"{}"), limit, &mut |_| Ok(())),
            Err(ExpandError::Damaged("zstd"))
        );
    }

    #[test]
    fn expanding_asks_for_room_before_it_takes_it() {
        let body = vec![b' '; 3 * STEP + 5];
        let mut asked = Vec::new();
        let expanded = Encoding::Gzip.expand(gzip(&body), 10 * STEP, &mut |bytes| {
            asked.push(bytes);
            Ok(())
        });
        assert_eq!(expanded.unwrap().len(), body.len());
        assert_eq!(asked, [STEP, 2 * STEP, 3 * STEP, 4 * STEP]);
        let mut only_two = |bytes| if bytes > 2 * STEP { Err(NoRoom) } else { Ok(()) };
        assert_eq!(Encoding::Gzip.expand(gzip(&body), 10 * STEP, &mut only_two), Err(ExpandError::NoRoom(NoRoom)));
        assert_eq!(Encoding::Identity.expand(body.into(), 10 * STEP, &mut only_two), Err(ExpandError::NoRoom(NoRoom)));
    }
}
