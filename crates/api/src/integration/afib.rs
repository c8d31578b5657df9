//! Atrial-fibrillation records of a patient, and the strip of each. Not a diagnosis.

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use platform::AfReading;
use serde::{Deserialize, Serialize};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::body::Fields;
use crate::error::{ErrorBody, Result, broken_off};
use crate::extract::ResearcherCall;
use crate::path_uuid::PathPatient;
use crate::state::ApiState;
use crate::times::plain_seconds;
use store::{AfRecordId, PatientId};

/// The routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(export)).routes(routes!(strip))
}

/// A range of time.
#[derive(Deserialize, utoipa::ToSchema)]
#[expect(dead_code, reason = "describes the body, whose fields are read one by one")]
struct AfRange {
    /// Unix epoch ms, included.
    timestamp_from: i64,
    /// Unix epoch ms, included; at most 31 days later.
    timestamp_to: i64,
}

/// What was found in 64 consecutive beat intervals. Not a diagnosis.
#[derive(Serialize, utoipa::ToSchema)]
struct AfBody {
    /// Follows from the patient and `timestamp`.
    _id: String,
    /// The patient's uuid.
    user_id: String,
    /// Time of the window's first beat, Unix epoch ms.
    timestamp: i64,
    /// `NSR`, `AF` or `UNC` (unclassified: fewer than 50 good intervals, or too irregular a signal).
    #[schema(example = "NSR")]
    classification: &'static str,
    /// 0 to 1; 0 when unclassified.
    afb_probability: f64,
    /// Median of `afb_probability` over the three windows that vote.
    final_probability: f64,
    /// Share of good intervals, 0 to 1.
    good_quality_probability: f64,
    /// The local clock at `timestamp`, `YYYY-MM-DD HH:MM:SS`.
    client_date: String,
    /// When the service first had a record of that time, UTC, `YYYY-MM-DD HH:MM:SS`.
    created_at: String,
    /// When it last changed, UTC, `YYYY-MM-DD HH:MM:SS`.
    updated_at: String,
    /// Always true: see `image_url`.
    has_image_file: bool,
    /// Address of the strip, an SVG, below the address of the integration API.
    image_url: String,
    /// Whether most of the three windows around are fibrillation; null when they are divided or unclassified.
    af_detected: Option<bool>,
    /// The local clock at `timestamp` where fibrillation was detected.
    af_timestamp: Option<String>,
    /// Mean good interval, ms.
    avnn: Option<f64>,
    /// Number of good intervals out of 64.
    good_ibi_number: u32,
    /// Per minute.
    heart_rate: Option<f64>,
    /// Hypertension assessment as the bracelet sent it during the window.
    hta: Option<String>,
    /// Its quality, 0 to 4.
    hta_q: Option<i32>,
    /// Power 0.04 to 0.15 Hz, ms²; null in windows under 120 s.
    lf: Option<f64>,
    /// Share of good intervals where there is an `lf`.
    lf_confidence: Option<f64>,
    /// 1 − `afb_probability`; null when unclassified.
    nsr_probability: Option<f64>,
    /// Successive differences above 50 ms, percent.
    pnn50: Option<f64>,
    /// Root mean square of successive differences, ms.
    rmssd: Option<f64>,
    /// Standard deviation of the good intervals, ms.
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
/// At most 31 days at once. Windows are 64 consecutive intervals, counted anew from the first beat of each UTC hour.
#[utoipa::path(post, path = "/v1/create-afib-export/{uuid}", tag = "exports",
    params(("uuid" = String, Path), ("token" = Option<String>, Query)), request_body = AfRange,
    responses((status = 200, body = Vec<AfBody>), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 415, body = ErrorBody),
        (status = 422, body = ErrorBody), (status = 503, body = ErrorBody)))]
async fn export(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(PathPatient(uuid)): Path<PathPatient>,
    mut fields: Fields,
) -> Result<Response> {
    let from_ms = required_integer(&mut fields, "timestamp_from");
    let to_ms = required_integer(&mut fields, "timestamp_to");
    fields.finish()?;
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

fn required_integer(fields: &mut Fields, field: &str) -> i64 {
    match fields.required_integer(field) {
        Some(time_ms) if time_ms.unsigned_abs() <= LATEST_MS => time_ms,
        Some(_) => {
            fields.note(field, "must be Unix epoch milliseconds");
            0
        }
        None => 0,
    }
}

/// Times in ms are at most so far from 1970: about the year 10,000.
const LATEST_MS: u64 = 253_402_300_799_999;

/// The strip of a record: its 64 intervals over time. Not a diagnosis.
#[utoipa::path(get, path = "/v1/patients/{uuid}/afib/{id}/strip.svg", tag = "exports",
    params(("uuid" = String, Path), ("id" = String, Path, description = "`_id` of a record"),
        ("token" = Option<String>, Query)),
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
