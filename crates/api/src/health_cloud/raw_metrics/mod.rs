//! `GET /v2/raw-metrics/:raw_metric_type`: the samples of a small window, streamed.

mod form;
mod range;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_TYPE, VARY};
use axum::response::{IntoResponse, Response};
use futures::{Stream, StreamExt};
use platform::PlatformError;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vitals::block::Block;

use self::form::{Form, Writer};
use crate::error::{ErrorBody, Result, broken_off};
use crate::extract::HealthCall;
use crate::parameters::Parameters;
use crate::path_type::data_type_of_path;
use crate::state::ApiState;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(raw_metrics))
}

/// Returns the samples of the token's patient in a window. Both ends of the range are included.
///
/// At most 30 minutes at once of a waveform, a type that is sampled many times a second; 24 hours of every other type.
/// An end more than a day ahead, such as 9999-12-31, is brought to that length where it then reaches the present.
/// `Accept` chooses between JSON, CSV, Arrow and Parquet.
#[utoipa::path(get, path = "/v2/raw-metrics/{raw_metric_type}", tag = "raw metrics",
    params(("raw_metric_type" = String, Path, description = "data type"),
        ("from_date" = Option<String>, Query, description = "ISO 8601 with zone; together with to_date"),
        ("to_date" = Option<String>, Query, description = "ISO 8601 with zone"),
        ("from_client_date" = Option<String>, Query, description = "local date and time; together with to_client_date"),
        ("to_client_date" = Option<String>, Query, description = "local date and time")),
    security(("health_token" = []), ("oauth2" = ["patient.read"])),
    responses((status = 200, description = "rows in the form that was asked for: JSON objects, CSV, an Arrow stream or \
        Parquet", content((ref("#/components/schemas/RawRows") = "application/json"), (String = "text/csv"),
            (Vec<u8> = "application/vnd.apache.arrow.stream"), (Vec<u8> = "application/vnd.apache.parquet"))),
        (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 406, body = ErrorBody), (status = 503, body = ErrorBody)))]
async fn raw_metrics(
    State(state): State<ApiState>,
    HealthCall(caller): HealthCall,
    Path(data_type): Path<String>,
    parameters: Parameters,
    headers: HeaderMap,
) -> Result<Response> {
    let patient = caller.readable()?;
    let data_type = data_type_of_path(&data_type, "raw_metric_type_not_found")?;
    let zone = caller.time_zone().unwrap_or("UTC");
    let present = range::Present { now_ms: state.platform.core.now_ms(), zone };
    let range = range::read(data_type, &parameters, &present)?;
    // After the range: 406 would send a client looking for another form of an answer that there is not.
    let form = Form::asked_for(&headers)?;
    let pieces = state.platform.data.samples(&patient, data_type, range).await?;
    let writer = Writer::new(form, data_type, patient.uuid())?;
    // A cache in between must not give CSV to somebody who asked for JSON.
    let headers = [(CONTENT_TYPE, form.content_type()), (VARY, "accept")];
    Ok((headers, Body::from_stream(written(pieces, writer))).into_response())
}

/// Writes pieces as they come. A fault in mid-answer breaks the connection off: a shorter answer would look whole.
fn written(
    pieces: impl Stream<Item = platform::Result<Vec<Block>>> + Send + 'static,
    writer: Writer,
) -> impl Stream<Item = std::io::Result<Bytes>> {
    async_stream::try_stream! {
        let mut writer = writer;
        let mut pieces = std::pin::pin!(pieces);
        while let Some(piece) = pieces.next().await {
            let blocks = piece.map_err(broken_off)?;
            // Writing a piece is work of milliseconds and not of waiting.
            let written = runtime::blocking("write raw rows", move || {
                let bytes = writer.write(&blocks)?;
                Ok::<_, PlatformError>((writer, bytes))
            });
            let (given_back, bytes) = written.await.map_err(std::io::Error::other)?.map_err(broken_off)?;
            writer = given_back;
            if !bytes.is_empty() {
                yield Bytes::from(bytes);
            }
        }
        yield Bytes::from(writer.finish().map_err(broken_off)?);
    }
}
