//! Raw-data exports: begin one, ask how far it is.

use axum::Json;
use axum::extract::{Path, State};
use platform::alternatives;
use platform::exports::{
    ArchiveCompression, ArchiveFormat, ExportFilter, ExportProgress, ExportRequest, ExportStatus, ListedExport,
};
use serde::Serialize;
use store::{ExportStage, ExportState, GroupCode, PatientId};
use utoipa::openapi::schema::{Array, ArrayBuilder, ObjectBuilder, SchemaType, Type};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vitals::registry::DataType;
use vitals::zone::local_text;

use crate::body::Fields;
use crate::body::typed::{FieldValue, Name, Sent, body};
use crate::choices::{ArchiveCompressionName, ArchiveFormatName, ExportStageName, one_of_data_types};
use crate::error::{ErrorBody, Result};
use crate::extract::ResearcherCall;
use crate::parameters::Parameters;
use crate::path_type::data_type_of_path;
use crate::path_uuid::PathPatient;
use crate::state::ApiState;
use crate::times::{iso_ms, local_ms};
use store::ExportId;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(create))
        .routes(routes!(create_of_type))
        .routes(routes!(list))
        .routes(routes!(status))
}

body! { of the specification:
    /// Order of an export.
    #[schema(example = json!({"client_date_from": "2026-11-20T00:00:00.000", "client_date_to": "2026-11-20T23:59:59.999",
        "types": ["ppg2", "acc"], "format": "csv", "compression": "deflate"}))]
    #[schema(as = ExportRequest)]
    struct NewExport {
        /// First local date and time, without zone, included.
        #[schema(value_type = String, format = "date-time-local")]
        client_date_from: LocalTime,
        /// Last local date and time, without zone, included.
        #[schema(value_type = String, format = "date-time-local")]
        client_date_to: LocalTime,
        // Not required in the document: the operation with a type in its address has the same body.
        #[schema(schema_with = data_types, required = false)]
        types: DataTypes,
        /// CSV without it.
        format: Option<ArchiveFormatName>,
        /// Of CSV; deflated without it.
        compression: Option<ArchiveCompressionName>,
    }
}

/// Returns a list of names.
fn data_types() -> Array {
    let name = ObjectBuilder::new().schema_type(Type::String).pattern(Some(one_of_data_types()));
    let kinds = SchemaType::from_iter([Type::Array, Type::Null]);
    let meaning = "Data types; together with the one of the path, where there is one.";
    ArrayBuilder::new().schema_type(kinds).items(name).description(Some(meaning)).build()
}

/// An export.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(example = json!({"id": "6740a1f0c2d94e51b8a7c3d2", "status": "in_progress"}))]
#[schema(as = Export)]
struct ExportBody {
    /// Export identifier.
    id: String,
    /// `in_progress`, `done` or `failed`.
    #[schema(value_type = ExportStageName)]
    status: &'static str,
    /// Address at which the archive can be fetched for an hour, once it is done.
    #[serde(rename = "downloadUrl", skip_serializing_if = "Option::is_none")]
    download_url: Option<String>,
    /// Reason why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl From<ExportStatus> for ExportBody {
    fn from(export: ExportStatus) -> Self {
        let (status, download_url, error) = match export.progress {
            ExportProgress::InProgress => (ExportStage::InProgress, None, None),
            ExportProgress::Done { download_url } => (ExportStage::Done, Some(download_url), None),
            ExportProgress::Failed { error } => (ExportStage::Failed, None, Some(error)),
        };
        ExportBody { id: export.id.to_string(), status: status.name(), download_url, error }
    }
}

/// Begins an export of the types in the body.
///
/// The archive holds one CSV file for each type (of ppg2 one for each colour and position), or Parquet files, with a
/// manifest and a data dictionary. One export per patient and five minutes, over all types, unless the operator has
/// set something else.
#[utoipa::path(post, path = "/v1/create-export/{uuid}", tag = "exports",
    params(("uuid" = String, Path)), security(("api_key" = [])),
    request_body = NewExport,
    responses((status = 200, body = ExportBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 422, body = ErrorBody),
        (status = 429, body = ErrorBody, description = "one export per patient and five minutes, over all types, unless the \
                operator has set something else; or too many requests; with the seconds to wait",
            example = json!({"code": "too_many_requests",
                "message": "one export per patient in 300 seconds, over all types; wait 299 seconds"}))))]
async fn create(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(PathPatient(uuid)): Path<PathPatient>,
    sent: Sent<NewExport>,
) -> Result<Json<ExportBody>> {
    // Read whole before the turn is taken: a request that is refused must not cost the patient five minutes.
    let request = request_of(sent, None)?;
    let id = state.platform.data.create_export(&researcher, &uuid, &request).await?;
    Ok(Json(ExportStatus { id, progress: ExportProgress::InProgress }.into()))
}

/// Begins an export of the type in the path and the types in the body.
///
/// The same as without a type in the path, whose type is added to those of the body. Both share the limit of one export
/// per patient and five minutes (429).
#[utoipa::path(post, path = "/v1/create-export/{uuid}/{data_type}", tag = "exports",
    params(("uuid" = String, Path), ("data_type" = String, Path, description = "data type, such as `ppg2`")), security(("api_key" = [])),
    request_body = NewExport,
    responses((status = 200, body = ExportBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 422, body = ErrorBody),
        (status = 429, body = ErrorBody, description = "one export per patient and five minutes, over all types, unless the \
                operator has set something else; or too many requests; with the seconds to wait",
            example = json!({"code": "too_many_requests",
                "message": "one export per patient in 300 seconds, over all types; wait 299 seconds"}))))]
async fn create_of_type(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path((uuid, data_type)): Path<(PathPatient, String)>,
    sent: Sent<NewExport>,
) -> Result<Json<ExportBody>> {
    let data_type = data_type_of_path(&data_type, "data_type_not_found")?;
    let request = request_of(sent, Some(data_type))?;
    let id = state.platform.data.create_export(&researcher, &uuid.0, &request).await?;
    Ok(Json(ExportStatus { id, progress: ExportProgress::InProgress }.into()))
}

/// An export in a list.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(example = json!({"id": "6740a1f0c2d94e51b8a7c3d2", "status": "done",
    "patient": "80876de9-4e89-449a-9a8f-c1e11f720437", "created_at": "2026-11-21T08:00:00.000Z",
    "types": ["ppg2", "acc"], "client_date_from": "2026-11-20T00:00:00.000",
    "client_date_to": "2026-11-20T23:59:59.999", "format": "csv", "bytes": 25_700_123}))]
#[schema(as = ListedExport)]
struct ListedBody {
    /// Export identifier.
    id: String,
    /// `in_progress`, `done` or `failed`.
    #[schema(value_type = ExportStageName)]
    status: &'static str,
    /// Uuid of the patient.
    patient: String,
    /// Time at which it was asked for, ISO 8601 in UTC with milliseconds.
    created_at: String,
    /// Data types.
    types: Vec<&'static str>,
    /// First local date and time, without zone, included.
    client_date_from: String,
    /// Last local date and time, without zone, included.
    client_date_to: String,
    /// Form of the data files.
    #[schema(value_type = ArchiveFormatName)]
    format: ArchiveFormat,
    /// Size of the archive, once it is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    /// Reason why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl From<ListedExport> for ListedBody {
    fn from(export: ListedExport) -> Self {
        let (status, bytes, error) = match export.state {
            ExportState::InProgress => (ExportStage::InProgress, None, None),
            ExportState::Done { bytes, .. } => (ExportStage::Done, Some(bytes), None),
            ExportState::Failed { error } => (ExportStage::Failed, None, Some(error)),
        };
        ListedBody {
            id: export.id.to_string(),
            status: status.name(),
            patient: export.patient.to_string(),
            created_at: iso_ms(export.created_ms),
            types: export.request.types().iter().map(|data_type| data_type.name()).collect(),
            client_date_from: local_text(export.request.from_local_ms),
            client_date_to: local_text(export.request.to_local_ms),
            format: export.request.format,
            bytes,
            error,
        }
    }
}

/// Returns the exports that the caller's account has asked for and whose archives are kept, newest first.
///
/// Of patients within the account's reach; with `patient` or `group` of these alone. The link to an archive comes with the
/// export itself.
#[utoipa::path(get, path = "/v1/exports", tag = "exports",
    params(("patient" = Option<String>, Query, description = "uuid of a patient"),
        ("group" = Option<String>, Query, description = "code of a study")),
    security(("api_key" = [])),
    responses((status = 200, body = Vec<ListedBody>), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody)))]
async fn list(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    parameters: Parameters,
) -> Result<Json<Vec<ListedBody>>> {
    let filter = ExportFilter {
        patient: parameters.one("patient").map(|uuid| PatientId::new(uuid.to_ascii_lowercase())),
        group: parameters.one("group").map(GroupCode::new),
    };
    let exports = state.platform.data.exports(&researcher, &filter).await?;
    Ok(Json(exports.into_iter().map(ListedBody::from).collect()))
}

/// Returns how far an export is.
///
/// `status` goes from in progress to done or failed; ask again every few seconds. The link to the archive is made again
/// each time and holds for an hour. Only the account that asked for the export may ask, while it has access to the
/// patient.
#[utoipa::path(get, path = "/v1/export/{export_id}", tag = "exports",
    params(("export_id" = String, Path)),
    security(("api_key" = [])),
    responses((status = 200, body = ExportBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody)))]
async fn status(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(export_id): Path<ExportId>,
) -> Result<Json<ExportBody>> {
    Ok(Json(state.platform.data.export_status(&researcher, &export_id).await?.into()))
}

fn request_of(Sent { body, mut faults }: Sent<NewExport>, of_path: Option<DataType>) -> Result<ExportRequest> {
    let NewExport { client_date_from, client_date_to, types, format, compression } = body;
    let types: Vec<DataType> = of_path.into_iter().chain(types.0).collect();
    // With a type in the path the list may be missing, null or empty.
    if types.is_empty() {
        faults.note_once("types", "is required");
    }
    faults.finish()?;
    let format = format.map_or(ArchiveFormat::Csv, |Name(format)| format);
    let compression = compression.map_or(ArchiveCompression::Deflate, |Name(compression)| compression);
    Ok(ExportRequest::new(&types, client_date_from.0, client_date_to.0).in_form(format, compression))
}

/// A local date and time without a zone, milliseconds of the local clock since 1970.
pub(crate) struct LocalTime(i64);

impl FieldValue for LocalTime {
    fn take(fields: &mut Fields, name: &str) -> Self {
        let text = fields.required_text(name);
        LocalTime(local_ms(&text).unwrap_or_else(|| {
            fields.note_once(name, "must be a local date and time as YYYY-MM-DDTHH:MM:SS.SSS");
            0
        }))
    }
}

/// Data types by name; none when they are not there.
pub(crate) struct DataTypes(Vec<DataType>);

impl FieldValue for DataTypes {
    fn take(fields: &mut Fields, name: &str) -> Self {
        let mut types = Vec::new();
        for text in fields.texts(name).into_iter().flatten() {
            if let Some(data_type) = DataType::from_name(&text) {
                types.push(data_type);
            } else {
                // Without the entry itself: it can be as long as the body.
                let known = alternatives(DataType::names());
                fields.note(name, &format!("has an entry that is no data type: must be {known}"));
            }
        }
        DataTypes(types)
    }
}
