//! Series for charts.

use axum::Json;
use axum::extract::{Path, State};
use platform::portal::{Chart, Gap, Series, SeriesColumn, SeriesRequest, channel_name};
use platform::{PlatformError, unknown_names};
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vitals::registry::DataType;

use super::caller::PortalCall;
use super::range;
use crate::error::{ErrorBody, Result};
use crate::parameters::{Parameters, malformed};
use crate::path_uuid::PathPatient;
use crate::range_end::AskedRange;
use crate::state::ApiState;

/// Points of a series when nothing is said of them.
const POINTS: usize = 1200;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(series))
}

/// Series of a patient.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Chart)]
struct ChartBody {
    /// Begin, Unix epoch ms.
    #[schema(example = 1_763_600_000_000_i64)]
    from: i64,
    /// End, Unix epoch ms.
    #[schema(example = 1_763_600_000_000_i64)]
    to: i64,
    /// Length of a bucket; a fraction for ranges of seconds.
    #[schema(example = 72_000)]
    bucket_ms: f64,
    /// One for each column and channel that has values.
    series: Vec<SeriesBody>,
    /// Times without values, with their reasons.
    gaps: Vec<GapBody>,
}

/// A column of a channel over time. Buckets without a value are left out.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = ChartSeries)]
struct SeriesBody {
    /// Data type.
    #[serde(rename = "type")]
    #[schema(example = "activity")]
    data_type: &'static str,
    /// Column.
    #[schema(example = "bpm")]
    column: &'static str,
    /// Of ppg2 colour and position such as `green.0`, of tests the kind; null where a type has one channel only.
    #[schema(example = json!(null))]
    channel: Option<String>,
    /// Unit of the values.
    #[schema(example = "/min")]
    unit: &'static str,
    /// True when the points are the rows themselves: `min` and `max` are then the same.
    #[schema(example = false)]
    raw: bool,
    /// Begin of each bucket, or time of each row, Unix epoch ms; with a fraction where samples lie between
    /// milliseconds.
    #[schema(example = json!([1_763_600_000_000_i64, 1_763_600_072_000_i64]))]
    t: Vec<Millis>,
    /// Lowest value of each bucket.
    #[schema(example = json!([58, 60]))]
    min: Vec<f64>,
    /// Highest value of each bucket.
    #[schema(example = json!([64, 66]))]
    max: Vec<f64>,
}

/// Milliseconds, written without a fraction where there is none.
#[derive(utoipa::ToSchema)]
#[schema(value_type = f64, example = 1_763_600_000_000_i64)]
#[schema(as = Milliseconds)]
struct Millis(i64);

impl Serialize for Millis {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self.0.rem_euclid(1000) {
            0 => serializer.serialize_i64(self.0 / 1000),
            _ => serializer.serialize_f64(self.0 as f64 / 1000.0),
        }
    }
}

/// A time without anything to show.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = ChartGap)]
struct GapBody {
    /// Begin, Unix epoch ms.
    from: Millis,
    /// End, Unix epoch ms, excluded.
    to: Millis,
    /// `not_worn`, `charging`, `low_battery` or `not_synced`.
    #[schema(example = "not_worn")]
    reason: &'static str,
}

impl From<Series> for SeriesBody {
    fn from(series: Series) -> Self {
        let Series { column, channel, raw, points } = series;
        let described = &column.data_type.columns()[column.column];
        SeriesBody {
            data_type: column.data_type.name(),
            column: described.name,
            channel: channel_name(column.data_type, channel),
            unit: described.unit,
            raw,
            t: points.iter().map(|point| Millis(point.time_us)).collect(),
            min: points.iter().map(|point| point.min).collect(),
            max: points.iter().map(|point| point.max).collect(),
        }
    }
}

impl From<Gap> for GapBody {
    fn from(gap: Gap) -> Self {
        GapBody { from: Millis(gap.from_us), to: Millis(gap.end_us), reason: gap.reason.name() }
    }
}

/// Series for a chart.
///
/// The exact lowest and highest value of each bucket of time, or the rows themselves where there are no more of them
/// than points.
///
/// Values that mean "no value" are left out. At most 400 days; a later end, such as 9999-12-31, is brought to the longest
/// range.
#[utoipa::path(get, path = "/patients/{uuid}/series", tag = "portal", params(("uuid" = String, Path),
        ("from" = i64, Query, minimum = -8_796_093_022_208_i64, maximum = 8_796_093_022_207_i64),
        ("to" = i64, Query, minimum = -8_796_093_022_208_i64), ("points" = Option<i64>, Query), ("series[]" = Vec<String>, Query)),
    security(("portal_cookie" = [])),
    responses((status = 200, body = ChartBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 422, body = ErrorBody)))]
async fn series(
    State(state): State<ApiState>,
    PortalCall(caller): PortalCall,
    Path(PathPatient(uuid)): Path<PathPatient>,
    parameters: Parameters,
) -> Result<Json<ChartBody>> {
    let request = read_request(&parameters, state.platform.core.now_ms())?;
    let chart = state.platform.data.chart(&caller.researcher()?, &uuid, &request).await?;
    let Chart { bucket_us, series, gaps } = chart;
    Ok(Json(ChartBody {
        from: request.from_ms,
        to: request.to_ms,
        bucket_ms: bucket_us as f64 / 1000.0,
        series: series.into_iter().map(SeriesBody::from).collect(),
        gaps: gaps.into_iter().map(GapBody::from).collect(),
    }))
}

fn read_request(parameters: &Parameters, now_ms: i64) -> std::result::Result<SeriesRequest, PlatformError> {
    /// Rows may be older than 1970, and times are multiplied.
    const EARLIEST_MS: i64 = -1 << 43;
    let points = match parameters.one("points") {
        None => POINTS,
        Some(text) => text.parse().map_err(|_| malformed("points", "must be an integer"))?,
    };
    let mut columns = Vec::new();
    for name in parameters.list("series")? {
        let column = SeriesColumn::parse(name);
        columns.push(column.ok_or_else(|| {
            PlatformError::invalid("series", unknown_names(&[name], known_series().iter().map(String::as_str)))
        })?);
    }
    let AskedRange { from_ms, to_ms } = range::read(parameters, EARLIEST_MS, now_ms)?;
    Ok(SeriesRequest { from_ms, to_ms, points, columns })
}

/// Returns the names of all columns of numbers, each of all its channels.
fn known_series() -> Vec<String> {
    let of_type = |data_type: DataType| {
        let numbers = data_type.columns().iter().filter(|column| !column.is_text());
        numbers.map(move |column| format!("{}.{}", data_type.name(), column.name))
    };
    DataType::ALL.into_iter().flat_map(of_type).collect()
}
