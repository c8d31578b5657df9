//! The open lake: a group's sealed segments, listed with addresses from which DuckDB or polars read them.

use axum::Json;
use axum::extract::{Path, State};
use platform::{LARGEST_LAKE_PAGE, LakeFile};
use serde::Serialize;
use store::GroupCode;
use store::segment::OpenPeriod;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::{ErrorBody, Result};
use crate::extract::ResearcherCall;
use crate::parameters::{Parameters, malformed};
use crate::state::ApiState;
use crate::times::iso_ms;

/// Files of a page where nothing is asked for.
const DEFAULT_PAGE: i64 = 500;

/// The routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list))
}

/// A page of the lake.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = LakePage)]
struct LakeBody {
    /// The files, in the order in which they were published.
    files: Vec<LakeFileBody>,
    /// Value of `since` for the next request: now, when there is more, or later.
    #[schema(example = "1042")]
    next_since: String,
    /// True when there is more now.
    #[schema(example = false)]
    more: bool,
    /// Types of which rows are not in files yet, in the order of the list of types. Everything before `from` is.
    open: Vec<OpenBody>,
    /// Uuids of patients who have files here that cannot be listed, because what is stored about them is damaged. Left out
    /// where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, example = json!([]))]
    unreadable: Vec<String>,
}

/// Rows of a type that are not in files yet.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = OpenPeriod)]
struct OpenBody {
    /// Data type.
    #[serde(rename = "type")]
    #[schema(example = "activity")]
    data_type: &'static str,
    /// Begin of the first UTC day or month that is not sealed, or has got rows since; ISO 8601 in UTC with milliseconds.
    #[schema(example = "2026-11-01T00:00:00.000Z")]
    from: String,
}

impl From<OpenPeriod> for OpenBody {
    fn from(open: OpenPeriod) -> Self {
        let from = iso_ms(open.period.start_us.div_euclid(1000));
        OpenBody { data_type: open.data_type.name(), from }
    }
}

/// A Parquet file of one patient, type and period.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(example = json!({"type": "ppg2", "patient": "6f1c9a52-0b0e-4d0b-9d53-1d7f5b1f0001", "period": "2026-11-20",
    "first_timestamp": 1_795_132_800_000_i64, "last_timestamp": 1_795_219_199_984_i64, "rows": 5_529_600,
    "bytes": 25_700_123, "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "sealed_at": "2026-11-21T06:00:12.345Z",
    "path": "v1/type=ppg2/period=2026-11-20/patient=6f1c9a52-0b0e-4d0b-9d53-1d7f5b1f0001/000001-00c0ffee00c0ffee.parquet",
    "url": concat!(
        "https://study.example/integration/downloads/",
        "6f1c9a52-0b0e-4d0b-9d53-1d7f5b1f0001_ppg2_2026-11-20.parquet",
        "?object=v1%2Ftype%3Dppg2%2Fday%3D2026-11-20",
        "%2Fpatient%3D6f1c9a52-0b0e-4d0b-9d53-1d7f5b1f0001%2F000001-00c0ffee00c0ffee.parquet",
        "&expires=1795244400&signature=1a2B3c4D5e6F7g8H9i0J1k2L3m4N5o6P7q8R9s0T1u0"
    )}))]
#[schema(as = LakeFile)]
struct LakeFileBody {
    /// Data type.
    #[serde(rename = "type")]
    data_type: &'static str,
    /// Patient's uuid.
    patient: String,
    /// UTC day of waveforms, UTC month of everything else.
    period: String,
    /// Time of the first row, Unix epoch ms.
    first_timestamp: i64,
    /// Time of the last row, Unix epoch ms.
    last_timestamp: i64,
    /// Rows.
    rows: u64,
    /// Size.
    bytes: u64,
    /// SHA-256 of the file, in hexadecimal.
    sha256: String,
    /// Time of sealing. A later file of the same type, patient and period takes its place.
    sealed_at: String,
    /// Path in the lake; unique, and never used for another file.
    path: String,
    /// Address at which it can be fetched for an hour, whole or by ranges.
    url: String,
}

impl From<LakeFile> for LakeFileBody {
    fn from(file: LakeFile) -> Self {
        let object = file.segment.segment.object;
        LakeFileBody {
            data_type: file.segment.segment.data_type.name(),
            patient: file.segment.segment.patient.to_string(),
            period: file.period,
            first_timestamp: object.first_us.div_euclid(1000),
            last_timestamp: object.last_us.div_euclid(1000),
            rows: object.rows,
            bytes: object.bytes,
            sha256: object.sha256,
            sealed_at: iso_ms(file.segment.sealed_ms),
            path: object.path,
            url: file.url,
        }
    }
}

/// The sealed files of a group's patients.
///
/// Page by page: give `next_since` as `since` while there is more, and later to learn what is new. Files of a patient who
/// joins the group later are found by listing without `since`.
#[utoipa::path(get, path = "/v1/groups/{group_code}/lake", tag = "exports",
    params(("group_code" = String, Path),
        ("since" = Option<String>, Query, pattern = "^[0-9]{1,18}$", description = "`next_since` of an earlier answer"),
        ("per_page" = Option<i64>, Query,
            description = "files of a page, 1 to 1000; less means 1, and more means 1000; 500 without it")),
    security(("api_key" = [])),
    responses((status = 200, body = LakeBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn list(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(group_code): Path<GroupCode>,
    parameters: Parameters,
) -> Result<Json<LakeBody>> {
    let number = |key: &'static str| match parameters.one(key) {
        None => Ok(None),
        Some(text) => text.parse::<i64>().map(Some).map_err(|_| malformed(key, "must be an integer")),
    };
    // Positions begin at 1; a negative one is a client's way to say "from the beginning".
    let since = number("since")?.map(|number| number.max(0));
    let limit = number("per_page")?.unwrap_or(DEFAULT_PAGE).clamp(1, LARGEST_LAKE_PAGE);
    let page = state.platform.data.lake_page(&researcher, &group_code, since, limit).await?;
    Ok(Json(LakeBody {
        files: page.files.into_iter().map(LakeFileBody::from).collect(),
        // A text: clients in JavaScript would round a large number.
        next_since: page.next_since.to_string(),
        more: page.more,
        open: page.open.into_iter().map(OpenBody::from).collect(),
        unreadable: page.unreadable.iter().map(ToString::to_string).collect(),
    }))
}
