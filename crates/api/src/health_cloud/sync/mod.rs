//! Uploads: `POST /v1/sync` takes the JSON of all types, `POST /v1/sync/:type` one Arrow IPC stream of one.
//!
//! An answer of 200 means that what it counts as stored is durable.

mod arrow;
mod body;
mod cells;
mod column_place;
mod columns;
mod encoding;
mod passed_over;
mod receive;
mod rows;
mod texts;
mod times;
mod whole_numbers;

use std::collections::BTreeMap;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use platform::ingest::{self, Receipt, SyncBody, TypeOutcome};
use platform::{HealthCaller, PlatformError};
use serde::Serialize;
use tracing::Instrument as _;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::body::BodyError;
use self::encoding::ExpandError;
use self::receive::{Sent, read_off_thread};
use crate::body::rejection::BodyRejection;
use crate::error::{ApiError, ErrorBody, Result};
use crate::extract::HealthCall;
use crate::load::Room;
use crate::parameters::Parameters;
use crate::path_type::data_type_of_path;
use crate::state::ApiState;
use store::{SerialNumber, SyncId};

/// The readers of bodies, for the fuzz targets: without an account of memory.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod readers {
    use bytes::Bytes;
    use platform::ingest::{SyncBody, TypeBatches};
    use vitals::registry::DataType;
    use vitals::zone::ZoneName;

    use super::body::BodyError;
    use super::{arrow, body};
    use crate::load::Room;

    pub(crate) fn read_json(bytes: &[u8]) -> Result<SyncBody, BodyError> {
        body::read(bytes, &Room::without_end())
    }

    pub(crate) fn read_arrow(data_type: DataType, stream: &Bytes, zone: &ZoneName) -> Result<TypeBatches, BodyError> {
        arrow::read(data_type, stream, zone, &Room::without_end())
    }
}

/// The scope of a token that may send.
const SYNC: &str = "patient.sync";
/// The content type of an Arrow IPC stream.
const ARROW_STREAM: &str = "application/vnd.apache.arrow.stream";
/// Syncs that take up to so many bytes are stored where they arrive; a task of their own would cost more than it saves.
const STORED_IN_PLACE: usize = 1 << 20;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(sync)).routes(routes!(sync_arrow))
}

/// Receipt of a sync: counts of its rows by type.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = SyncReceipt)]
struct SyncAnswer {
    /// The sync's own id, or one made for it.
    #[schema(example = "80876de9-4e89-449a-9a8f-c1e11f720437")]
    sync_id: String,
    /// True where the rows were only counted and none is stored, as `validate` asks for. Left out otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = json!(null))]
    validated: Option<bool>,
    /// By data type.
    #[schema(example = json!({"activity": {"stored": 59, "duplicate": 0, "replaced": 0, "columns_removed": 0, "rejected": 1,
        "errors": [{"index": 7, "column": "bpm", "reason": "out of range: must be 0 to 255 /min"}]}}))]
    types: BTreeMap<&'static str, TypeAnswer>,
}

/// Counts of the rows of one type.
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
    /// Values that the replaced rows had and the rows in their place do not have: a row is whole, and takes away what it does not
    /// name.
    #[schema(example = 0)]
    columns_removed: u64,
    /// Rows that are stored and could not be compared with what is stored at their time, which is damaged; left out when
    /// there are none. They count as the others once it is brought back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 3)]
    unverified: Option<u64>,
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
    /// Reason for which it is not stored.
    #[schema(example = "out of range: must be 0 to 255 /min")]
    reason: String,
}

impl From<Receipt> for SyncAnswer {
    fn from(receipt: Receipt) -> Self {
        let by_type = |outcome: TypeOutcome| (outcome.data_type.name(), TypeAnswer::from(outcome));
        let types = receipt.types.into_iter().map(by_type).collect();
        SyncAnswer { sync_id: receipt.sync_id.to_string(), validated: None, types }
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
            columns_removed: outcome.counts.columns_removed,
            unverified: Some(outcome.counts.unverified).filter(|rows| *rows > 0),
            rejected: outcome.rejected,
            errors: outcome.rejections.into_iter().map(row).collect(),
        }
    }
}

/// Stores a sync of the token's patient. The answer of 200 means that the counted rows are durable.
///
/// A row is whole: one at the time of a stored row takes its place with everything that it has and has not. With `validate=1` the
/// answer is the receipt that the sync would get now, and nothing is stored.
#[utoipa::path(post, path = "/v1/sync", tag = "sync", params(("validate" = Option<i64>, Query)), security(("health_token" = []), ("oauth2" = ["patient.sync"])),
    request_body(
    content = ref("#/components/schemas/Sync"), content_type = "application/json",
    description = "time_zone, device and data: columns, column blocks or rows by data type"),
    responses((status = 200, body = SyncAnswer), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
    (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
    (status = 413, body = ErrorBody), (status = 415, body = ErrorBody), (status = 422, body = ErrorBody),
    (status = 503, body = ErrorBody)))]
async fn sync(
    State(state): State<ApiState>,
    HealthCall(caller): HealthCall,
    parameters: Parameters,
    headers: HeaderMap,
    sent: Body,
) -> Result<Json<SyncAnswer>> {
    // Before the body is looked at: who may only read must not cost memory for an upload.
    caller.require(SYNC)?;
    require_content_type(&headers, &["application/json"], "application/json")?;
    let purpose = Purpose::read(&parameters)?;
    let sent = Sent { patient: caller.patient(), headers: &headers, body: sent };
    let body = read_off_thread(&state, sent, |bytes, room| body::read(&bytes, room)).await?;
    store(&state, caller, body, purpose).await
}

/// Stores an Arrow IPC stream of rows of one type.
///
/// Columns have the names and units of the type; `timestamp` is an integer in ms or an Arrow timestamp of any unit. A row
/// with a bad value is rejected and named in the answer, and the others are stored. With `validate=1` the answer is the
/// receipt that the stream would get, and nothing is stored. The `sync_id` makes a repetition safe: the same content is
/// answered as before, other content is 409 `sync_id_reused`.
#[utoipa::path(post, path = "/v1/sync/{type}", tag = "sync",
    params(("type" = String, Path, description = "data type"),
        ("time_zone" = Option<String>, Query, description = "IANA zone of the samples"),
        ("sync_id" = Option<String>, Query, description = "the sync's own id, a uuid"),
        ("serial_number" = Option<String>, Query, description = "bracelet"), ("validate" = Option<i64>, Query)),
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
    let data_type = data_type_of_path(&data_type, "data_type_not_found")?;
    // Some clients of Arrow know no media type for it and send plain bytes.
    require_content_type(&headers, &[ARROW_STREAM, "application/octet-stream"], ARROW_STREAM)?;
    let purpose = Purpose::read(&parameters)?;
    let one = |name: &str| parameters.one(name).map(str::to_owned);
    let (sync_id, time_zone, serial_number) = (one("sync_id"), one("time_zone"), one("serial_number"));
    // An unknown zone refuses the stream before it is received, however large it is.
    let zone = ingest::zone_of(&caller, time_zone.clone())?;
    let device = serial_number.map(|text| ingest::DeviceReport::new(SerialNumber::new(text)));
    let sent = Sent { patient: caller.patient(), headers: &headers, body: sent };
    let body = read_off_thread(&state, sent, move |bytes, room| {
        let data = vec![arrow::read(data_type, &bytes, &zone, room)?];
        Ok(SyncBody { sync_id: sync_id.map(SyncId::new), time_zone, device, data })
    });
    let body = body.await?;
    store(&state, caller, body, purpose).await
}

/// Whether rows are stored or only counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Store,
    Validate,
}

impl Purpose {
    /// Reads `validate`. Malformed when it is no flag: a sync that was meant to be stored must not be passed over.
    fn read(parameters: &Parameters) -> std::result::Result<Self, PlatformError> {
        Ok(if parameters.flag("validate")? { Purpose::Validate } else { Purpose::Store })
    }
}

async fn store(
    state: &ApiState,
    caller: HealthCaller,
    (body, room): (SyncBody, Room),
    purpose: Purpose,
) -> Result<Json<SyncAnswer>> {
    let storing = store_counted(state.clone(), caller, (body, room.clone()), purpose);
    if room.used() <= STORED_IN_PLACE {
        return storing.await;
    }
    // A client that goes away ends this future and not the work on other threads, whose memory has to stay counted.
    let storing = runtime::spawn("store a sync", storing.in_current_span());
    storing.await.map_err(|error| PlatformError::Internal(format!("storing a sync stopped: {error}")))?
}

async fn store_counted(
    state: ApiState,
    caller: HealthCaller,
    body: (SyncBody, Room),
    purpose: Purpose,
) -> Result<Json<SyncAnswer>> {
    let (body, _room) = body;
    if purpose == Purpose::Validate {
        // Not counted among the syncs, of which it is none.
        let receipt = state.platform.data.validate_sync(&caller, body).await?;
        return Ok(Json(SyncAnswer { validated: Some(true), ..receipt.into() }));
    }
    let receipt = state.platform.data.store_sync(&caller, body).await?;
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

impl From<BodyError> for ApiError {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::Structure { place, message } => {
                PlatformError::invalid(&short(place, LONGEST_PLACE), short(message, LONGEST_MESSAGE)).into()
            }
            BodyError::Syntax(_) | BodyError::NotArrow(_) => {
                PlatformError::Malformed { code: "malformed_body", message: short(error.to_string(), LONGEST_PLACE) }
                    .into()
            }
            BodyError::NoRoom(no_room) => no_room.into(),
        }
    }
}

/// What a body says of itself, such as the name of a column that there is not, can be as long as the body. An answer
/// repeats no more than this of it, in characters.
const LONGEST_PLACE: usize = 300;
/// Characters of a message, which can list the columns of a type.
const LONGEST_MESSAGE: usize = 2000;

fn short(mut text: String, longest: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(longest) {
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
            ExpandError::Damaged(_) | ExpandError::WideWindow => {
                PlatformError::Malformed { code: "malformed_body", message: error.to_string() }.into()
            }
        }
    }
}
