//! Answers compressed for clients that ask for it, streams among them, piece by piece.

use axum::http::header::CONTENT_TYPE;
use axum::http::{Extensions, HeaderMap, StatusCode, Version};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{Predicate, SizeAbove};

/// Below this an answer is not worth the work. Answers that hold a token are smaller, which is as well: the size of what is
/// compressed next to a secret says something of it. Streams have no size beforehand and hold no tokens.
const WORTH_BYTES: u64 = 2048;

/// Compresses texts. Archives, Parquet files and Arrow streams stay as they are, since they are compressed within or are
/// read faster than they would be expanded; so do events, each of which has to leave at once.
pub(crate) fn layer() -> CompressionLayer<impl Predicate> {
    // A day with slots becomes a tenth of its size at the lowest level already; the highest would hold up the stream.
    CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(SizeAbove::new(WORTH_BYTES).and(is_text))
}

fn is_text(_: StatusCode, _: Version, headers: &HeaderMap, _: &Extensions) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    matches!(kind, "application/json" | "text/csv" | "text/html" | "text/plain")
}
