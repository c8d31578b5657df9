//! A body on its way in: received, expanded and read, with all that it takes in one account.

use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::header::CONTENT_ENCODING;
use axum::http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use platform::PlatformError;
use platform::ingest::SyncBody;
use store::PatientId;
use tracing::Instrument as _;
use vitals::intake::Batch;

use super::body::BodyError;
use super::encoding::Encoding;
use crate::body::rejection::BodyRejection;
use crate::error::{ApiError, Result};
use crate::load::Room;
use crate::state::ApiState;

/// Bodies up to this size are read where they arrive; reading a larger one would hold up other requests.
const READ_IN_PLACE: usize = 16 * 1024;
/// Number of times that the rows of a sync are in memory at most while they are stored: as they were read, put in order
/// and by channel, and as chunks with their payloads.
const COPIES: usize = 3;

/// A body as it is sent, for a patient.
pub(super) struct Sent<'headers> {
    /// Whose data it brings, whose share of the memory it takes.
    pub patient: &'headers PatientId,
    /// Headers of the request.
    pub headers: &'headers HeaderMap,
    /// The body.
    pub body: Body,
}

/// Receives, expands and reads a body, off the async threads when it is large. The room is held for as long as the rows
/// are.
pub(super) async fn read_off_thread<Read>(
    state: &ApiState,
    Sent { patient, headers, body: sent }: Sent<'_>,
    read: Read,
) -> Result<(SyncBody, Room)>
where
    Read: FnOnce(Bytes, &Room) -> std::result::Result<SyncBody, BodyError> + Send + 'static,
{
    let encoding = Encoding::of(headers.get(CONTENT_ENCODING)).ok_or(ApiError::Particular {
        status: StatusCode::UNSUPPORTED_MEDIA_TYPE,
        code: "unsupported_encoding",
        message: "the Content-Encoding must be gzip, zstd or identity".into(),
    })?;
    let announced = sent.size_hint().lower();
    // Refused on its word, before a byte of it is received; who announces nothing is stopped at the limit.
    if announced > state.limits.sync_bytes as u64 {
        return Err(BodyRejection::TooLarge.into());
    }
    let announced = announced as usize;
    // 503 and not 413: the same upload is welcome when others are done, and an app keeps it until then.
    let room = state.uploads.enter(state.callers.owner(patient.as_str()), announced)?;
    let receiving = tracing::debug_span!("receive body");
    let bytes = receive(sent, announced, state.limits.sync_bytes, &room).instrument(receiving).await?;
    let limit = state.limits.sync_expanded_bytes;
    // Handing a small body to another thread takes longer than reading it; a packed one of that size can be large.
    let in_place = bytes.len() <= READ_IN_PLACE && encoding == Encoding::Identity;
    let work = move || -> Result<(SyncBody, Room)> {
        let expanded = encoding.expand(bytes, limit, &room)?;
        let body = read(expanded, &room)?;
        // The text is gone, and what the rows need from here on is known.
        let rows = body.data.iter().flat_map(|rows| &rows.batches).map(Batch::bytes).sum::<usize>();
        room.hold_exactly(COPIES * rows)?;
        Ok((body, room))
    };
    let reading = tracing::debug_span!("read body");
    if in_place {
        return reading.in_scope(work);
    }
    let joined = runtime::blocking("read a body", work).instrument(reading).await;
    joined.map_err(|error| PlatformError::Internal(format!("reading a body stopped: {error}")))?
}

/// Returns a body as it was sent, up to a limit and as far as there is room.
async fn receive(sent: Body, announced: usize, limit: usize, room: &Room) -> Result<Bytes> {
    // What was announced may be less than what comes, or nothing with chunked bodies.
    let mut sent = Limited::new(sent, limit);
    let mut received: Vec<u8> = Vec::new();
    while let Some(frame) = sent.frame().await {
        let frame = match frame {
            Ok(frame) => frame,
            // Only this is the client's doing; everything else is a connection that broke off.
            Err(error) if error.is::<LengthLimitError>() => return Err(BodyRejection::TooLarge.into()),
            Err(error) => return Err(BodyRejection::of_broken(&*error).into()),
        };
        // Trailers mean nothing here.
        let Ok(piece) = frame.into_data() else { continue };
        let needed = received.len() + piece.len();
        if needed > received.capacity() {
            // Not all at once that was announced: a client may announce much and send little, for hours.
            let wanted = needed.max((2 * received.capacity()).min(announced.max(needed)));
            let held = received.capacity();
            room.take_for_body(wanted)?;
            received.reserve_exact(wanted - received.len());
            room.give_back(held);
        }
        received.extend_from_slice(&piece);
    }
    Ok(Bytes::from(received))
}
