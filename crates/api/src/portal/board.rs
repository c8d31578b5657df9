//! The board of a study, as it is and as it changes.

use std::convert::Infallible;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::{Stream, StreamExt as _};
use platform::portal::{BoardEvent, BoardListener, BoardRow, SPARK_SLOTS};
use platform::{ROWS_AT_ONCE, Readable};
use serde::Serialize;
use store::GroupCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vitals::cells::WINDOW_MS;
use vitals::latest::{LatestValues, Timed};
use vitals::news_timeline::NewsEntry;
use vitals::news2::{Availability, Parameter};

use super::caller::{BoardCall, StreamCall};
use crate::error::{ErrorBody, Result};
use crate::load::NoRoom;
use crate::state::ApiState;
use crate::stream_of_study::{CHECK_EVERY, COMMENT_EVERY, NO_BUFFERING, StudyStream, last_event_id};
use crate::streamed::{Frame, streamed};
use store::PatientId;

/// Parts of the board that are read ahead while one is written.
const PARTS_AHEAD: usize = 2;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(board)).routes(routes!(events))
}

/// Every patient of a study.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Board)]
struct BoardBody {
    /// Time at which it was read, Unix epoch ms.
    #[schema(example = 1_763_600_000_000_i64)]
    at: i64,
    /// Every patient of the study.
    patients: Vec<RowBody>,
}

/// A patient on the board.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = BoardRow)]
pub(super) struct RowBody {
    /// Uuid of the patient.
    #[schema(example = "80876de9-4e89-449a-9a8f-c1e11f720437")]
    uuid: String,
    /// First and last name, else the identifier of the customer, else the first eight characters of the uuid.
    #[schema(example = "Rita Rossi")]
    name: String,
    /// Identifier in the customer's own system.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "K-0042")]
    external_id: Option<String>,
    /// /min.
    heart_rate: Option<ValueBody>,
    /// /min.
    respiration_rate: Option<ValueBody>,
    /// %.
    spo2: Option<ValueBody>,
    /// Body temperature, °C.
    temperature: Option<ValueBody>,
    /// mmHg.
    blood_pressure: Option<PressureBody>,
    /// The newest score.
    news: Option<ScoreBody>,
    /// Of the newest bracelet.
    battery: Option<BatteryBody>,
    /// True when the bracelet was worn in the newest five minutes of the last hours; null without any.
    #[schema(example = true)]
    worn: Option<bool>,
    /// True when it was charging then.
    #[schema(example = false)]
    charging: Option<bool>,
    /// Time at which the last sync was stored, Unix epoch ms.
    #[schema(example = 1_763_600_000_000_i64)]
    last_sync: Option<i64>,
    /// The last hours.
    spark: SparkBody,
    /// True where something stored of the patient is damaged: nothing but who it is is known then. Left out otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = json!(null))]
    unreadable: Option<bool>,
}

/// A value and when it was measured, Unix epoch ms.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = BoardValue)]
struct ValueBody {
    /// The value.
    #[schema(example = 61)]
    value: f64,
    /// Time at which it was measured, Unix epoch ms.
    #[schema(example = 1_763_600_000_000_i64)]
    timestamp: i64,
}

/// A blood pressure, mmHg; the halves can come from different measurements, and the time is the older one's.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = BoardPressure)]
struct PressureBody {
    /// mmHg.
    #[schema(example = 121)]
    systolic: Option<f64>,
    /// mmHg.
    #[schema(example = 79)]
    diastolic: Option<f64>,
    /// Time at which it was measured, Unix epoch ms.
    #[schema(example = 1_763_600_000_000_i64)]
    timestamp: i64,
}

/// A NEWS score.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = BoardScore)]
struct ScoreBody {
    /// Total; null unless all five measurements were good and fresh.
    #[schema(example = 3)]
    score: Option<u8>,
    /// Time at which it was scored, Unix epoch ms.
    #[schema(example = 1_763_600_000_000_i64)]
    timestamp: i64,
    /// Parameters of which there is no measurement.
    #[schema(example = json!([]))]
    missing: Vec<&'static str>,
    /// Parameters that were measured, and too poorly to count.
    #[schema(example = json!([]))]
    low_quality: Vec<&'static str>,
    /// Parameters whose measurement is too old.
    #[schema(example = json!([]))]
    stale: Vec<&'static str>,
    /// By the total: `none` without one, `low` to 4, `medium` to 6, `high` from 7.
    #[schema(example = "low")]
    colour: &'static str,
    /// True when a single parameter scores 3, which asks for attention whatever the total.
    #[schema(example = false)]
    red_parameter: bool,
    /// Points of the vital signs.
    parts: PartsBody,
}

/// Points of each vital sign, 0 to 3; null for one that did not count.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = BoardScoreParts)]
struct PartsBody {
    /// Of the respiration rate.
    #[schema(example = 0)]
    respiration_rate: Option<u8>,
    /// Of the oxygen saturation.
    #[schema(example = 2)]
    spo2: Option<u8>,
    /// Of the systolic blood pressure.
    #[schema(example = 0)]
    blood_pressure: Option<u8>,
    /// Of the heart rate.
    #[schema(example = 1)]
    heart_rate: Option<u8>,
    /// Of the temperature.
    #[schema(example = 0)]
    temperature: Option<u8>,
}

/// Charge of a bracelet.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = BoardBattery)]
struct BatteryBody {
    /// Charge, %.
    #[schema(example = 74)]
    percent: i64,
    /// Time at which it was reported, Unix epoch ms.
    #[schema(example = 1_763_600_000_000_i64)]
    timestamp: i64,
}

/// Means of the five-minute windows of the last six hours, oldest first; null where there is none.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = BoardSpark)]
struct SparkBody {
    /// Length of a window, ms.
    #[schema(example = 300_000)]
    step_ms: i64,
    /// Begin of the first window, Unix epoch ms.
    #[schema(example = 1_763_600_000_000_i64)]
    from: i64,
    /// /min.
    #[schema(example = json!([61, null, 62.4]))]
    heart_rate: Vec<Option<f64>>,
    /// /min.
    #[schema(example = json!([14.2, null, 14]))]
    respiration_rate: Vec<Option<f64>>,
    /// %.
    #[schema(example = json!([97, null, 96.8]))]
    spo2: Vec<Option<f64>>,
}

impl From<&BoardRow> for RowBody {
    fn from(row: &BoardRow) -> Self {
        let value =
            |timed: Option<Timed>| timed.map(|timed| ValueBody { value: timed.value, timestamp: timed.timestamp_ms });
        let spark = &row.spark;
        RowBody {
            uuid: row.uuid.to_string(),
            name: row.name.clone(),
            external_id: row.external_id.clone(),
            heart_rate: value(row.latest.heart_rate),
            respiration_rate: value(row.latest.respiration_rate),
            spo2: value(row.latest.spo2),
            temperature: value(row.latest.temperature),
            blood_pressure: pressure(&row.latest),
            news: row.news.as_ref().map(score),
            battery: row.battery.map(|(percent, timestamp)| BatteryBody { percent, timestamp }),
            worn: row.worn,
            charging: row.charging,
            last_sync: row.last_sync_ms,
            spark: SparkBody {
                step_ms: WINDOW_MS,
                from: spark.from_ms,
                heart_rate: spark.heart_rate.clone(),
                respiration_rate: spark.respiration_rate.clone(),
                spo2: spark.spo2.clone(),
            },
            unreadable: row.is_unreadable.then_some(true),
        }
    }
}

fn pressure(latest: &LatestValues) -> Option<PressureBody> {
    let (systolic, diastolic) = (latest.nibp_systolic, latest.nibp_diastolic);
    // The older of the two: a pressure is only as fresh as its older half.
    let timestamp = [systolic, diastolic].into_iter().flatten().map(|timed| timed.timestamp_ms).min()?;
    let value = |timed: Option<Timed>| timed.map(|timed| timed.value);
    Some(PressureBody { systolic: value(systolic), diastolic: value(diastolic), timestamp })
}

fn score(entry: &NewsEntry) -> ScoreBody {
    let named = |is_wanted: fn(Availability) -> bool| {
        let parts = Parameter::ALL.into_iter().filter(|parameter| is_wanted(entry.part(*parameter).availability));
        parts.map(Parameter::name).collect()
    };
    let points = |parameter| entry.part(parameter).score;
    let threes = entry.parts.iter().any(|part| part.score == Some(3));
    ScoreBody {
        score: entry.total,
        timestamp: entry.time_ms,
        // Distinguished on the screen: one needs a measurement, another that the bracelet sits better, another a look at it.
        missing: named(|found| found == Availability::Missing),
        low_quality: named(|found| found == Availability::LowQuality),
        stale: named(|found| found == Availability::Stale),
        colour: match entry.total {
            None => "none",
            // Bands of the total by the Royal College of Physicians (2017), chart 2.
            Some(0..=4) => "low",
            Some(5..=6) => "medium",
            Some(_) => "high",
        },
        // A single 3 asks for a doctor however low the total is.
        red_parameter: threes || entry.score_oxygen == 3 || entry.score_consciousness == 3,
        parts: PartsBody {
            respiration_rate: points(Parameter::RespirationRate),
            spo2: points(Parameter::Spo2),
            blood_pressure: points(Parameter::BloodPressure),
            heart_rate: points(Parameter::HeartRate),
            temperature: points(Parameter::Temperature),
        },
    }
}

/// Returns the board of a study.
///
/// Every patient with newest values, score, bracelet and the last hours, in the order in which they joined.
#[utoipa::path(get, path = "/groups/{code}/board", tag = "portal", params(("code" = String, Path)),
    security(("portal_cookie" = []), ("api_key_header" = []), ("api_key_bearer" = []), ("api_key_parameter" = [])),
    responses((status = 200, body = BoardBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody)))]
async fn board(
    State(state): State<ApiState>,
    BoardCall(researcher): BoardCall,
    Path(code): Path<GroupCode>,
) -> Result<Response> {
    let platform = state.platform.clone();
    let patients = platform.data.board_patients(&researcher, &code).await?;
    let parts = patients.into_parts(ROWS_AT_ONCE);
    let before = format!("{{\"at\":{},\"patients\":[", platform.core.now_ms()).into_bytes();
    let read = move |part: Readable<Vec<PatientId>>| {
        let platform = platform.clone();
        async move { platform.data.board_rows(part).await }
    };
    let batches = futures::stream::iter(parts).map(read).buffered(PARTS_AHEAD);
    let frame = Frame { before, after: b"]}".to_vec() };
    streamed(batches, frame, ROWS_AT_ONCE, |out, row| serde_json::to_writer(out, &RowBody::from(&row))).await
}

/// Returns what changes on the board of a study, as server-sent events.
///
/// `row` comes with a row as data, `reload` when the board has to be read again.
///
/// A client that comes back with `Last-Event-ID` gets what it has missed. The stream ends with the session or the API
/// key.
#[utoipa::path(get, path = "/groups/{code}/board/events", tag = "portal", params(("code" = String, Path),
        ("Last-Event-ID" = Option<String>, Header, description = "the last event that was seen; browsers send it")),
    security(("portal_cookie" = []), ("api_key_header" = []), ("api_key_bearer" = []), ("api_key_parameter" = [])),
    responses((status = 200, body = StreamedEvent, content_type = "text/event-stream"), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn events(
    State(state): State<ApiState>,
    StreamCall { researcher, credential, owner }: StreamCall,
    Path(code): Path<GroupCode>,
    headers: HeaderMap,
) -> Result<Response> {
    // Refused and not queued: a page that waits for its stream shows an old board as if it were new.
    let place = state.streams.enter_for(owner).ok_or(NoRoom::JustNow)?;
    let listener = state.platform.data.listen_to_board(&researcher, &code, last_event_id(&headers)).await?;
    let stream = events_of(StudyStream { platform: state.platform.clone(), credential, code }, listener);
    let stream = stream.map(move |event| {
        // The place is given back with the stream, which ends when the page is closed.
        let _held = &place;
        event
    });
    let comments = KeepAlive::new().interval(COMMENT_EVERY);
    Ok(([NO_BUFFERING], Sse::new(stream).keep_alive(comments)).into_response())
}

/// An event of the stream of a board.
#[derive(utoipa::ToSchema)]
struct StreamedEvent {
    /// Place of the event, for `Last-Event-ID`.
    #[schema(example = "0.8.0.21")]
    id: Option<String>,
    /// Name of the event: `row` or `reload`.
    #[schema(value_type = String, pattern = "^(row|reload)$", example = "reload")]
    event: &'static str,
    /// A row of the board as JSON, or an empty object.
    #[schema(example = "{}")]
    data: String,
}

impl From<StreamedEvent> for Event {
    fn from(StreamedEvent { id, event, data }: StreamedEvent) -> Self {
        let event = Event::default().event(event).data(data);
        id.into_iter().fold(event, Event::id)
    }
}

fn events_of(
    study: StudyStream,
    mut listener: BoardListener,
) -> impl Stream<Item = std::result::Result<Event, Infallible>> {
    async_stream::stream! {
        let mut check = runtime::interval(CHECK_EVERY);
        // The first tick is ready at once, and who listens has just been checked.
        check.tick().await;
        // Something at once, so that a page knows that it listens before anything happens.
        let listening = Event::default().comment("listening");
        yield Ok(match listener.begins_at() {
            Some(cursor) => listening.id(cursor),
            None => listening,
        });
        loop {
            let event = tokio::select! {
                // The check first: a board that always has news must not keep an ended session alive.
                biased;
                () = check.tick() => {
                    if study.is_open().await {
                        continue;
                    }
                    return;
                }
                event = listener.next() => event,
            };
            match event {
                Some(BoardEvent::Row { id, row }) => {
                    // Plain data become JSON without fail.
                    let data = serde_json::to_string(&RowBody::from(row.as_ref())).unwrap_or_default();
                    yield Ok(StreamedEvent { id: Some(id), event: "row", data }.into());
                }
                Some(BoardEvent::Reload) => {
                    yield Ok(StreamedEvent { id: None, event: "reload", data: "{}".to_owned() }.into());
                }
                None => return,
            }
        }
    }
}

const _: () = assert!(SPARK_SLOTS * WINDOW_MS == 6 * 3_600_000);
