//! NEWS: the newest score of a patient, and what a person sets for it.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use platform::{Change, NewsReading, NewsSettingsChange};
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vitals::news_timeline::{Assumed, EntryPart, SettingsAt};
use vitals::news2::{Availability, Parameter};

use crate::body::typed::{Sent, body};
use crate::choices::MissingReasonName;
use crate::error::{ApiError, ErrorBody, Result};
use crate::extract::ResearcherCall;
use crate::path_uuid::PathPatient;
use crate::state::ApiState;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(latest)).routes(routes!(settings, change_settings))
}

/// The newest NEWS entry. Sub-scores are null unless their measurement is good and fresh.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = NewsScore)]
struct NewsBody {
    /// Time at which it was scored, Unix epoch ms.
    #[schema(example = 1_763_600_000_000_i64)]
    timestamp: i64,
    /// Total; null unless all five measurements were good and fresh.
    #[schema(example = 0)]
    #[schema(minimum = 0, maximum = 20)]
    value: Option<u8>,
    /// Part of the heart rate.
    #[schema(example = 0)]
    #[schema(minimum = 0, maximum = 3)]
    score_heart_rate: Option<u8>,
    /// Part of the respiration rate.
    #[schema(example = 0)]
    #[schema(minimum = 0, maximum = 3)]
    score_respiration_rate: Option<u8>,
    /// Part of the oxygen saturation.
    #[schema(example = 0)]
    #[schema(minimum = 0, maximum = 3)]
    score_spo2: Option<u8>,
    /// Part of the temperature.
    #[schema(example = 0)]
    #[schema(minimum = 0, maximum = 3)]
    score_temperature: Option<u8>,
    /// Part of the blood pressure.
    #[schema(example = 0)]
    #[schema(minimum = 0, maximum = 3)]
    score_blood_pressure: Option<u8>,
    /// Part of supplemental oxygen, from the settings.
    #[schema(example = 0)]
    #[schema(minimum = 0, maximum = 3)]
    score_oxygen: u8,
    /// Part of consciousness, from the settings.
    #[schema(example = 0)]
    #[schema(minimum = 0, maximum = 3)]
    score_consciousness: u8,
    /// /min.
    #[schema(example = 61)]
    heart_rate: Option<f64>,
    /// /min.
    #[schema(example = 14)]
    respiration_rate: Option<f64>,
    /// %.
    #[schema(example = 97)]
    spo2: Option<f64>,
    /// Body temperature, °C.
    #[schema(example = 36.8)]
    temperature: Option<f64>,
    /// Systolic, mmHg.
    #[schema(example = 121)]
    blood_pressure: Option<f64>,
    /// Time at which it was measured, Unix epoch ms.
    #[schema(example = 1_763_600_000_000_i64)]
    heart_rate_timestamp: Option<i64>,
    /// Time at which it was measured, Unix epoch ms.
    #[schema(example = 1_763_600_000_000_i64)]
    respiration_rate_timestamp: Option<i64>,
    /// Time at which it was measured, Unix epoch ms.
    #[schema(example = 1_763_600_000_000_i64)]
    spo2_timestamp: Option<i64>,
    /// Time at which it was measured, Unix epoch ms.
    #[schema(example = 1_763_600_000_000_i64)]
    temperature_timestamp: Option<i64>,
    /// Time at which it was measured, Unix epoch ms.
    #[schema(example = 1_763_600_000_000_i64)]
    blood_pressure_timestamp: Option<i64>,
    /// 0 to 4, from the acceleration of the minute before; null without any.
    #[schema(example = 0)]
    #[schema(minimum = 0, maximum = 4)]
    movement_level: Option<u8>,
    /// Seconds since it was scored.
    #[schema(example = 42)]
    age_s: i64,
    /// Settings that nobody has set: their defaults entered the score.
    #[schema(example = json!(["oxygen"]))]
    assumed: Vec<&'static str>,
    /// Measurements that did not enter the score.
    missing: Vec<MissingBody>,
}

/// A measurement that did not enter the score.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = MissingMeasurement)]
struct MissingBody {
    /// Measurement that is missing.
    #[schema(example = "temperature")]
    parameter: &'static str,
    /// Reason: none was taken, its quality is poor, or it is too old.
    #[schema(value_type = MissingReasonName)]
    reason: &'static str,
    /// Seconds since it was taken; null when there is none.
    #[schema(example = 42)]
    age_s: Option<i64>,
}

impl From<NewsReading> for NewsBody {
    fn from(reading: NewsReading) -> Self {
        let entry = &reading.entry;
        let score = |parameter| entry.part(parameter).score;
        // A poor value is no vital sign: only its age is shown.
        let shown = |parameter| {
            let part = entry.part(parameter);
            part.measured.filter(|_| part.availability != Availability::LowQuality)
        };
        let value = |parameter| shown(parameter).map(|timed| timed.value);
        let taken_ms = |parameter| shown(parameter).map(|timed| timed.timestamp_ms);
        let parts = Parameter::ALL.into_iter().map(|parameter| (parameter, entry.part(parameter)));
        // Stale and poor measurements are listed as well: the total is null because of them, and staff needs to know
        // what to measure.
        let is_missing = |(_, part): &(Parameter, &EntryPart)| part.availability != Availability::Fresh;
        let missing = parts.filter(is_missing).map(|(parameter, part)| MissingBody {
            parameter: parameter.name(),
            reason: part.availability.name(),
            age_s: reading.part_age_s(part),
        });
        NewsBody {
            timestamp: entry.time_ms,
            value: entry.total,
            score_heart_rate: score(Parameter::HeartRate),
            score_respiration_rate: score(Parameter::RespirationRate),
            score_spo2: score(Parameter::Spo2),
            score_temperature: score(Parameter::Temperature),
            score_blood_pressure: score(Parameter::BloodPressure),
            score_oxygen: entry.score_oxygen,
            score_consciousness: entry.score_consciousness,
            heart_rate: value(Parameter::HeartRate),
            respiration_rate: value(Parameter::RespirationRate),
            spo2: value(Parameter::Spo2),
            temperature: value(Parameter::Temperature),
            blood_pressure: value(Parameter::BloodPressure),
            heart_rate_timestamp: taken_ms(Parameter::HeartRate),
            respiration_rate_timestamp: taken_ms(Parameter::RespirationRate),
            spo2_timestamp: taken_ms(Parameter::Spo2),
            temperature_timestamp: taken_ms(Parameter::Temperature),
            blood_pressure_timestamp: taken_ms(Parameter::BloodPressure),
            movement_level: reading.movement_level,
            age_s: reading.age_s(),
            assumed: names_of(entry.assumed),
            missing: missing.collect(),
        }
    }
}

/// Returns the settings that nobody has set.
fn names_of(assumed: Assumed) -> Vec<&'static str> {
    let named =
        [("spo2_scale", assumed.spo2_scale), ("oxygen", assumed.oxygen), ("consciousness", assumed.consciousness)];
    named.into_iter().filter(|(_, is_assumed)| *is_assumed).map(|(name, _)| name).collect()
}

/// Settings of NEWS.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = NewsSettings)]
struct SettingsBody {
    /// 1 or 2.
    #[schema(example = 1)]
    spo2_scale: u8,
    /// True when the patient breathes supplemental oxygen.
    #[schema(example = false)]
    oxygen: bool,
    /// A, C, V, P or U.
    #[schema(example = "A")]
    consciousness: &'static str,
    /// Names of those that nobody has set.
    #[schema(example = json!(["oxygen"]))]
    assumed: Vec<&'static str>,
}

impl From<SettingsAt> for SettingsBody {
    fn from(valid: SettingsAt) -> Self {
        SettingsBody {
            spo2_scale: valid.settings.spo2_scale.number(),
            oxygen: valid.settings.oxygen,
            consciousness: valid.settings.consciousness.letter(),
            assumed: names_of(valid.assumed),
        }
    }
}

body! {
    /// Settings to change; those that are left out stay as they are, null makes them assumed again.
    #[schema(as = NewsSettingsChange)]
    struct NewsSettings {
        /// 1 or 2.
        #[schema(minimum = 1, maximum = 2)]
        #[schema(example = 1)]
        #[schema(value_type = Option<i64>)]
        spo2_scale: Change<i64>,
        /// True when the patient breathes supplemental oxygen.
        #[schema(example = false)]
        #[schema(value_type = Option<bool>)]
        oxygen: Change<bool>,
        /// A, C, V, P or U.
        #[schema(example = "A")]
        #[schema(pattern = "^[ACVPU]$")]
        #[schema(value_type = Option<String>)]
        consciousness: Change<String>,
    }
}

/// Returns the newest NEWS2 entry of a patient.
///
/// `value` is null unless all five measurements were good and fresh; `missing` then names those that were not, and why.
/// Without any entry the answer is 404 `no_news_score`.
#[utoipa::path(get, path = "/v1/patients/{uuid}/latest-news-score", tag = "patients",
    params(("uuid" = String, Path)),
    security(("api_key" = [])),
    responses((status = 200, body = NewsBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody)))]
async fn latest(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(PathPatient(uuid)): Path<PathPatient>,
) -> Result<Json<NewsBody>> {
    let reading = state.platform.data.latest_news_score(&researcher, &uuid).await?;
    // 404 and not null: a client that shows a number would show 0.
    let reading = reading.ok_or(ApiError::Particular {
        status: StatusCode::NOT_FOUND,
        code: "no_news_score",
        message: "the patient has no NEWS score yet".into(),
    })?;
    Ok(Json(reading.into()))
}

/// Returns what is set for the NEWS of a patient.
///
/// The scale of oxygen saturation, supplemental oxygen and consciousness, as they count now. What was never set has its
/// default.
#[utoipa::path(get, path = "/v1/patients/{uuid}/news-settings", tag = "patients",
    params(("uuid" = String, Path)),
    security(("api_key" = [])),
    responses((status = 200, body = SettingsBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody)))]
async fn settings(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(PathPatient(uuid)): Path<PathPatient>,
) -> Result<Json<SettingsBody>> {
    Ok(Json(state.platform.people.news_settings(&researcher, &uuid).await?.into()))
}

/// Changes what is set for the NEWS of a patient.
///
/// From now on: scores of before stay as they were. What is not named stays, and null brings a default back. Every
/// member of the study may do this.
#[utoipa::path(put, path = "/v1/patients/{uuid}/news-settings", tag = "patients",
    params(("uuid" = String, Path)), security(("api_key" = [])),
    request_body = NewsSettings,
    responses((status = 200, body = SettingsBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 422, body = ErrorBody)))]
async fn change_settings(
    State(state): State<ApiState>,
    ResearcherCall(researcher): ResearcherCall,
    Path(PathPatient(uuid)): Path<PathPatient>,
    sent: Sent<NewsSettings>,
) -> Result<Json<SettingsBody>> {
    // A setting holds from now on and never for the past, so that scores that staff has acted upon stay as they were.
    let change_of = |sent: NewsSettings| {
        let NewsSettings { spo2_scale, oxygen, consciousness } = sent;
        NewsSettingsChange { spo2_scale, oxygen, consciousness }
    };
    let change = sent.judged(change_of, |change, _| change.faults())?;
    Ok(Json(state.platform.people.change_news_settings(&researcher, &uuid, &change).await?.into()))
}
