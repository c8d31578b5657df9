//! Atrial-fibrillation records of a patient, and the strip of each. Not a diagnosis.

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use platform::{AfReading, LONGEST_AF_RANGE_MS};
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::body::Fields;
use crate::body::typed::{FieldValue, Valid, body};
use crate::error::{ErrorBody, Result, broken_off};
use crate::extract::ResearcherCall;
use crate::path_uuid::PathPatient;
use crate::range_end::AskedRange;
use crate::state::ApiState;
use crate::times::plain_seconds;
use store::{AfRecordId, PatientId};

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(export)).routes(routes!(strip))
}

body! { of the specification:
    /// A range of time.
    #[schema(as = AfRecordRange)]
    struct AfRange {
        /// Unix epoch ms, included.
        #[schema(value_type = i64)]
        #[schema(example = 1_763_600_000_000_i64)]
        #[schema(minimum = -253_402_300_799_999_i64, maximum = 253_402_300_799_999_i64)]
        timestamp_from: Time,
        /// Unix epoch ms, included; at most 31 days later.
        #[schema(value_type = i64)]
        #[schema(example = 1_763_686_400_000_i64)]
        #[schema(minimum = -253_402_300_799_999_i64, maximum = 253_402_300_799_999_i64)]
        timestamp_to: Time,
    }
}

/// Finding in 64 consecutive beat intervals. Not a diagnosis.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = AfRecord)]
struct AfBody {
    /// Follows from the patient and `timestamp`.
    #[schema(example = "65b1f0c2a4d3e5f60718293a")]
    _id: String,
    /// The patient's uuid.
    #[schema(example = "80876de9-4e89-449a-9a8f-c1e11f720437")]
    user_id: String,
    /// Time of the window's first beat, Unix epoch ms.
    #[schema(example = 1_763_600_000_000_i64)]
    timestamp: i64,
    /// `NSR`, `AF` or `UNC` (unclassified: fewer than 50 good intervals, or too irregular a signal).
    #[schema(example = "NSR")]
    classification: &'static str,
    /// 0 to 1; 0 when unclassified.
    #[schema(example = 0.03)]
    #[schema(minimum = 0, maximum = 1)]
    afb_probability: f64,
    /// Median of `afb_probability` over the three windows that vote.
    #[schema(example = 0.03)]
    #[schema(minimum = 0, maximum = 1)]
    final_probability: f64,
    /// Share of good intervals, 0 to 1.
    #[schema(example = 0.97)]
    #[schema(minimum = 0, maximum = 1)]
    good_quality_probability: f64,
    /// The local clock at `timestamp`, `YYYY-MM-DD HH:MM:SS`.
    #[schema(example = "2025-11-20 01:53:20")]
    client_date: String,
    /// Time at which the service first had a record of that time, UTC, `YYYY-MM-DD HH:MM:SS`.
    #[schema(example = "2025-11-20 00:58:20")]
    created_at: String,
    /// Time at which it last changed, UTC, `YYYY-MM-DD HH:MM:SS`.
    #[schema(example = "2025-11-20 00:58:20")]
    updated_at: String,
    /// Always true: see `image_url`.
    #[schema(example = true)]
    has_image_file: bool,
    /// Address of the strip, an SVG, below the address of the integration API.
    #[schema(example = "/v1/patients/80876de9-4e89-449a-9a8f-c1e11f720437/afib/65b1f0c2a4d3e5f60718293a/strip.svg")]
    #[schema(format = "uri-reference")]
    image_url: String,
    /// True when most of the three windows around are fibrillation; null when they are divided or unclassified.
    #[schema(example = false)]
    af_detected: Option<bool>,
    /// The local clock at `timestamp` where fibrillation was detected.
    #[schema(example = json!(null))]
    af_timestamp: Option<String>,
    /// Mean good interval, ms.
    #[schema(example = 982.4)]
    avnn: Option<f64>,
    /// Number of good intervals out of 64.
    #[schema(example = 62)]
    #[schema(minimum = 0, maximum = 64)]
    good_ibi_number: u32,
    /// Per minute.
    #[schema(example = 61)]
    heart_rate: Option<f64>,
    /// Hypertension assessment as the bracelet sent it during the window.
    #[schema(example = json!(null))]
    hta: Option<String>,
    /// Its quality, 0 to 4.
    #[schema(example = json!(null))]
    hta_q: Option<i32>,
    /// Power 0.04 to 0.15 Hz, ms²; null in windows under 120 s.
    #[schema(example = json!(null))]
    lf: Option<f64>,
    /// Share of good intervals where there is an `lf`.
    #[schema(example = json!(null))]
    lf_confidence: Option<f64>,
    /// 1 − `afb_probability`; null when unclassified.
    #[schema(example = 0.97)]
    nsr_probability: Option<f64>,
    /// Successive differences above 50 ms, percent.
    #[schema(example = 18.4)]
    pnn50: Option<f64>,
    /// Root mean square of successive differences, ms.
    #[schema(example = 42.3)]
    rmssd: Option<f64>,
    /// Standard deviation of the good intervals, ms.
    #[schema(example = 61.2)]
    sdnn: Option<f64>,
}

impl AfBody {
    fn of(patient: &PatientId, reading: &AfReading) -> Self {
        let record = &reading.stored.record;
        // The clock at the window, as it was stored with its beats; the patient's zone of today may be another.
        let local_ms = record.time_ms + i64::from(record.offset_s) * 1000;
        AfBody {
            image_url: format!("/v1/patients/{patient}/afib/{}/strip.svg", reading.id),
            _id: reading.id.to_string(),
            user_id: patient.to_string(),
            timestamp: record.time_ms,
            classification: record.classification.name(),
            afb_probability: record.afb_probability,
            final_probability: record.final_probability,
            good_quality_probability: record.good_quality_probability(),
            client_date: plain_seconds(local_ms),
            created_at: plain_seconds(reading.stored.created_ms),
            updated_at: plain_seconds(reading.stored.updated_ms),
            // The strip is drawn when it is asked for, so that there is one for every record.
            has_image_file: true,
            af_detected: record.af_detected,
            // null unless most of the three windows agree: a single irregular one is mostly a movement.
            af_timestamp: (record.af_detected == Some(true)).then(|| plain_seconds(local_ms)),
            avnn: record.avnn,
            good_ibi_number: record.good_ibi_number,
            heart_rate: record.heart_rate(),
            hta: reading.hta.as_deref().map(str::to_owned),
            hta_q: reading.hta_q,
            lf: record.lf,
            lf_confidence: record.lf_confidence(),
            nsr_probability: record.nsr_probability(),
            pnn50: record.pnn50,
            rmssd: record.rmssd,
            sdnn: record.sdnn,
        }
    }
}

/// The atrial-fibrillation records of a patient whose windows begin in a range, in the order of time.
///
/// At most 31 days at once; an end more than a day ahead, such as 9999-12-31, is brought to that length where it then reaches
/// the present. Windows are 64 consecutive intervals, counted again from the first beat of each UTC hour.
#[utoipa::path(post, path = "/v1/create-afib-export/{uuid}", tag = "exports",
    params(("uuid" = String, Path)), security(("api_key" = [])),
    request_body = AfRange,
    responses((status = 200, body = Vec<AfBody>), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 415, body = ErrorBody),
        (status = 422, body = ErrorBody), (status = 503, body = ErrorBody)))]
async fn export(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(PathPatient(uuid)): Path<PathPatient>,
    Valid(AfRange { timestamp_from: Time(from_ms), timestamp_to: Time(to_ms) }): Valid<AfRange>,
) -> Result<Response> {
    let to_ms = AskedRange { from_ms, to_ms }.clamped_end(LONGEST_AF_RANGE_MS, state.platform.core.now_ms());
    let days = state.platform.data.af_records(&researcher, &uuid, from_ms, to_ms).await?;
    // A failure of the first day still has a status of its own.
    let mut days = Box::pin(days);
    let first = days.next().await.transpose()?;
    let days = futures::stream::iter(first.map(Ok)).chain(days);
    let body = async_stream::try_stream! {
        let mut days = std::pin::pin!(days);
        let mut separator = b'[';
        while let Some(day) = days.next().await {
            let mut piece = Vec::new();
            for reading in day.map_err(broken_off)? {
                piece.push(std::mem::replace(&mut separator, b','));
                serde_json::to_writer(&mut piece, &AfBody::of(&uuid, &reading)).map_err(std::io::Error::other)?;
            }
            yield Bytes::from(piece);
        }
        yield Bytes::from_static(if separator == b'[' { b"[]" } else { b"]" });
    };
    let body: std::pin::Pin<Box<dyn futures::Stream<Item = std::io::Result<Bytes>> + Send>> = Box::pin(body);
    Ok(([(CONTENT_TYPE, "application/json")], Body::from_stream(body)).into_response())
}

/// A time, Unix epoch ms.
pub(crate) struct Time(i64);

impl FieldValue for Time {
    fn take(fields: &mut Fields, name: &str) -> Self {
        const WANTED: &str = "must be milliseconds since 1970 (Unix epoch), as an integer";
        match fields.required_integer(name, WANTED) {
            Some(time_ms) if time_ms.unsigned_abs() <= LATEST_MS => Time(time_ms),
            Some(_) => {
                fields.note(name, WANTED);
                Time(0)
            }
            None => Time(0),
        }
    }
}

/// Times in ms are at most so far from 1970: about the year 10,000.
const LATEST_MS: u64 = 253_402_300_799_999;

/// Returns the strip of a record: its 64 intervals over time.
///
/// An image for people to look at, and no diagnosis. `image_url` of the record leads here. A record that is not there, or not
/// any more, is 404.
#[utoipa::path(get, path = "/v1/patients/{uuid}/afib/{id}/strip.svg", tag = "exports",
    params(("uuid" = String, Path), ("id" = String, Path, description = "`_id` of a record")),
    security(("api_key" = [])),
    responses((status = 200, body = String, content_type = "image/svg+xml"), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 503, body = ErrorBody)))]
async fn strip(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path((uuid, id)): Path<(PathPatient, AfRecordId)>,
) -> Result<Response> {
    let svg = state.platform.data.af_strip(&researcher, &uuid.0, &id).await?;
    Ok(([(CONTENT_TYPE, "image/svg+xml")], svg).into_response())
}
