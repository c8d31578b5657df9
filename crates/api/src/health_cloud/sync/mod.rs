//! Uploads: `POST /v1/sync` takes the JSON of all types, `POST /v1/sync/:type` one Arrow IPC stream of one.
//!
//! An answer of 200 means that what it counts as stored is durable.

mod arrow;
mod body;
mod cells;
mod columns;
mod encoding;
mod whole_numbers;

use std::collections::BTreeMap;

use axum::Json;
use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::{Path, Request, State};
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use platform::ingest::{self, Receipt, SyncBody, TypeOutcome};
use platform::{HealthCaller, PlatformError};
use serde::Serialize;
use tracing::Instrument as _;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vitals::registry::DataType;

use self::body::BodyError;
use self::encoding::{Encoding, ExpandError};
use crate::body::rejection::BodyRejection;
use crate::error::{ApiError, ErrorBody, Result};
use crate::extract::HealthCall;
use crate::load::{NoRoom, Room};
use crate::parameters::Parameters;
use crate::state::ApiState;
use store::SerialNumber;

/// The readers of bodies, for the fuzz targets.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod readers {
    pub(crate) use super::arrow::read as read_arrow;
    pub(crate) use super::body::read as read_json;
}

/// The scope of a token that may send.
const SYNC: &str = "patient.sync";
/// The content type of an Arrow IPC stream.
const ARROW_STREAM: &str = "application/vnd.apache.arrow.stream";
/// Bodies up to this size are read where they arrive; reading a larger one would hold up other requests.
const READ_IN_PLACE: usize = 16 * 1024;

/// The routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(sync)).routes(routes!(sync_arrow))
}

/// What became of a sync.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = SyncReceipt)]
struct SyncAnswer {
    /// The sync's own id, or one made for it.
    #[schema(example = "80876de9-4e89-449a-9a8f-c1e11f720437")]
    sync_id: String,
    /// By data type.
    #[schema(example = json!({"activity": {"stored": 59, "duplicate": 0, "replaced": 0, "rejected": 1,
        "errors": [{"index": 7, "column": "bpm", "reason": "out of range"}]}}))]
    types: BTreeMap<&'static str, TypeAnswer>,
}

/// What became of the rows of one type.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = TypeReceipt)]
struct TypeAnswer {
    /// Rows that were not there before and are durable now.
    #[schema(example = 60)]
    stored: u64,
    /// Rows that were there already.
    #[schema(example = 0)]
    duplicate: u64,
    /// Rows that took the place of another value at the same time.
    #[schema(example = 0)]
    replaced: u64,
    /// Rows that are not stored.
    #[schema(example = 1)]
    rejected: u64,
    /// The first hundred of the rejected rows.
    errors: Vec<RowError>,
}

/// A row that is not stored.
#[derive(Serialize, utoipa::ToSchema)]
struct RowError {
    /// Position among the rows of its type, from 0.
    #[schema(example = 7)]
    index: u64,
    /// The column at fault.
    #[schema(example = "bpm")]
    column: &'static str,
    /// What is wrong with it.
    #[schema(example = "out of range")]
    reason: String,
}

impl From<Receipt> for SyncAnswer {
    fn from(receipt: Receipt) -> Self {
        let by_type = |outcome: TypeOutcome| (outcome.data_type.name(), TypeAnswer::from(outcome));
        SyncAnswer { sync_id: receipt.sync_id, types: receipt.types.into_iter().map(by_type).collect() }
    }
}

impl From<TypeOutcome> for TypeAnswer {
    fn from(outcome: TypeOutcome) -> Self {
        let row =
            |row: vitals::intake::Rejection| RowError { index: row.index, column: row.column, reason: row.reason };
        TypeAnswer {
            stored: outcome.counts.stored,
            duplicate: outcome.counts.duplicate,
            replaced: outcome.counts.replaced,
            rejected: outcome.rejected,
            errors: outcome.rejections.into_iter().map(row).collect(),
        }
    }
}

/// Stores a sync of the token's patient. The answer of 200 means that the counted rows are durable.
#[utoipa::path(post, path = "/v1/sync", tag = "sync", security(("health_token" = []), ("oauth2" = ["patient.sync"])),
    request_body(
    content = ref("#/components/schemas/Sync"), content_type = "application/json",
    description = "time_zone, device and data: columns, column blocks or rows by data type"),
    responses((status = 200, body = SyncAnswer), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
    (status = 403, body = ErrorBody), (status = 409, body = ErrorBody), (status = 413, body = ErrorBody),
    (status = 415, body = ErrorBody), (status = 422, body = ErrorBody), (status = 503, body = ErrorBody)))]
async fn sync(
    State(state): State<ApiState>,
    HealthCall(caller): HealthCall,
    headers: HeaderMap,
    sent: Body,
) -> Result<Json<SyncAnswer>> {
    // Before the body is looked at: who may only read must not cost memory for an upload.
    caller.require(SYNC)?;
    require_content_type(&headers, &["application/json"], "application/json")?;
    let body = read_off_thread(&state, &headers, sent, |bytes| body::read(&bytes)).await?;
    store(&state, &caller, body).await
}

/// Stores one Arrow IPC stream of rows of one type.
#[utoipa::path(post, path = "/v1/sync/{type}", tag = "sync",
    params(("type" = String, Path, description = "data type"),
        ("time_zone" = Option<String>, Query, description = "IANA zone of the samples"),
        ("sync_id" = Option<String>, Query, description = "the sync's own id, a uuid"),
        ("serial_number" = Option<String>, Query, description = "bracelet")),
    security(("health_token" = []), ("oauth2" = ["patient.sync"])),
    request_body(content((Vec<u8> = "application/vnd.apache.arrow.stream"), (Vec<u8> = "application/octet-stream"))),
    responses((status = 200, body = SyncAnswer), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
    (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
    (status = 413, body = ErrorBody), (status = 415, body = ErrorBody), (status = 422, body = ErrorBody),
    (status = 503, body = ErrorBody)))]
async fn sync_arrow(
    State(state): State<ApiState>,
    HealthCall(caller): HealthCall,
    Path(data_type): Path<String>,
    parameters: Parameters,
    request: Request,
) -> Result<Json<SyncAnswer>> {
    let (Parts { headers, .. }, sent) = request.into_parts();
    caller.require(SYNC)?;
    // In the path the type is part of the address, so an unknown one is 404; in a body it is 422.
    let data_type = DataType::from_name(&data_type).ok_or(PlatformError::NotFound("data type"))?;
    // Some clients of Arrow know no media type for it and send plain bytes.
    require_content_type(&headers, &[ARROW_STREAM, "application/octet-stream"], ARROW_STREAM)?;
    let one = |name: &str| parameters.one(name).map(str::to_owned);
    let (sync_id, time_zone, serial_number) = (one("sync_id"), one("time_zone"), one("serial_number"));
    // An unknown zone refuses the stream before it is received, however large it is.
    let zone = ingest::zone_of(&caller, time_zone.clone())?;
    let device = serial_number.map(|text| ingest::DeviceReport::new(SerialNumber::new(text)));
    let body = read_off_thread(&state, &headers, sent, move |bytes| {
        let data = vec![arrow::read(data_type, &bytes, &zone)?];
        Ok(SyncBody { sync_id, time_zone, device, data })
    });
    store(&state, &caller, body.await?).await
}

async fn store(state: &ApiState, caller: &HealthCaller, (body, _room): (SyncBody, Room)) -> Result<Json<SyncAnswer>> {
    let receipt = state.platform.data.store_sync(caller, body).await?;
    // After the commit: what was refused or lost is no sync.
    state.metrics.synced(&receipt);
    Ok(Json(receipt.into()))
}

fn require_content_type(headers: &HeaderMap, accepted: &[&str], named: &'static str) -> Result<()> {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    // Parameters such as a charset are allowed: JSON is UTF-8 whatever they say.
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if accepted.iter().any(|accepted| kind.eq_ignore_ascii_case(accepted)) {
        return Ok(());
    }
    Err(BodyRejection::OtherKind(named).into())
}

/// A body as it was sent, up to a limit and as far as there is room.
async fn receive(sent: Body, announced: usize, limit: usize, room: &mut Room) -> Result<Bytes> {
    // What was announced may be less than what comes, or nothing with chunked bodies.
    let mut sent = Limited::new(sent, limit);
    // Memory costs nothing before it is written to, but on a machine that is strict about it there may be none.
    let mut received: Vec<u8> = Vec::new();
    received.try_reserve_exact(announced).map_err(|_| NoRoom)?;
    while let Some(frame) = sent.frame().await {
        let frame = match frame {
            Ok(frame) => frame,
            // Only this is the client's doing; everything else is a connection that broke off.
            Err(error) if error.is::<LengthLimitError>() => return Err(BodyRejection::TooLarge.into()),
            Err(_) => return Err(BodyRejection::CutOff.into()),
        };
        // Trailers mean nothing here.
        let Ok(piece) = frame.into_data() else { continue };
        room.grow_to(received.len() + piece.len())?;
        received.extend_from_slice(&piece);
    }
    Ok(Bytes::from(received))
}

/// Expands and reads a body, off the async threads when it is large. The room is held for as long as the body is.
async fn read_off_thread<Read>(
    state: &ApiState,
    headers: &HeaderMap,
    sent: Body,
    read: Read,
) -> Result<(SyncBody, Room)>
where
    Read: FnOnce(Bytes) -> std::result::Result<SyncBody, BodyError> + Send + 'static,
{
    let encoding = Encoding::of(headers.get(CONTENT_ENCODING)).ok_or(ApiError::Particular {
        status: StatusCode::UNSUPPORTED_MEDIA_TYPE,
        code: "unsupported_encoding",
        message: "the Content-Encoding must be gzip, zstd or identity",
    })?;
    let announced = sent.size_hint().lower();
    // Refused on its word, before a byte of it is received; who announces nothing is stopped at the limit.
    if announced > state.limits.sync_bytes as u64 {
        return Err(BodyRejection::TooLarge.into());
    }
    let announced = announced as usize;
    // 503 and not 413: the same upload is welcome when others are done, and an app keeps it until then.
    let mut room = state.uploads.enter(announced)?;
    let receiving = tracing::debug_span!("receive body");
    let bytes = receive(sent, announced, state.limits.sync_bytes, &mut room).instrument(receiving).await?;
    let limit = state.limits.sync_expanded_bytes;
    // Handing a small body to another thread takes longer than reading it; a packed one of that size can be large.
    let in_place = bytes.len() <= READ_IN_PLACE && encoding == Encoding::Identity;
    let work = move || -> Result<(SyncBody, Room)> {
        // Rows are made of the expanded text while it is still there, and are about as large.
        let sent = bytes.len();
        let expanded = encoding.expand(bytes, limit, &mut |expanded| room.grow_to(sent + 2 * expanded))?;
        Ok((read(expanded)?, room))
    };
    let reading = tracing::debug_span!("read body");
    if in_place {
        return reading.in_scope(work);
    }
    let joined = runtime::blocking("read a body", work).instrument(reading).await;
    joined.map_err(|error| PlatformError::Internal(format!("reading a body stopped: {error}")))?
}

impl From<BodyError> for ApiError {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::Structure { place, message } => PlatformError::invalid(&short(place), short(message)).into(),
            BodyError::Syntax(_) | BodyError::NotArrow(_) => {
                PlatformError::Malformed { code: "malformed_body", message: short(error.to_string()) }.into()
            }
        }
    }
}

/// What a body says of itself, such as the name of a column that there is not, can be as long as the body. An answer
/// repeats no more than this of it.
fn short(mut text: String) -> String {
    const LONGEST: usize = 300;
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(end);
        text.push('…');
    }
    text
}

impl From<ExpandError> for ApiError {
    fn from(error: ExpandError) -> Self {
        match error {
            // 413 as for what is sent: a client that is asked to split its upload solves both.
            ExpandError::TooLarge { .. } => BodyRejection::TooLarge.into(),
            ExpandError::NoRoom(no_room) => no_room.into(),
            // A truncated packing is a fault of syntax and stores nothing, although its beginning could be read.
            ExpandError::Damaged(_) => {
                PlatformError::Malformed { code: "malformed_body", message: error.to_string() }.into()
            }
        }
    }
}
