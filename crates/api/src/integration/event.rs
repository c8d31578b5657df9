//! An event as clients read it: `CloudEvents` 1.0 as JSON.
#![allow(clippy::option_option, reason = "null is something else than a field that is not there")]

use platform::GroupEvent;
use serde::{Deserialize, Serialize};
use store::{EventType, GroupCode};

use crate::times::iso_ms;

/// Prefix of types, by which receivers of several services distinguish them.
const PREFIX: &str = "pulseward.";

/// An event of a patient that the study held when it happened, in the form of `CloudEvents` 1.0. It names no person.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Event)]
pub(super) struct EventBody {
    /// Version of the form.
    #[schema(value_type = String, pattern = "^1\\.0$", example = "1.0")]
    specversion: &'static str,
    /// Identifier, the same whenever and however the event is read.
    #[schema(example = "health.80876de9-4e89-449a-9a8f-c1e11f720437.21")]
    id: String,
    /// Address of the integration API.
    #[schema(example = "https://pulseward.example.org/integration")]
    source: String,
    /// What happened: `pulseward.` and a name such as `sync.stored`.
    #[serde(rename = "type")]
    #[schema(example = "pulseward.sync.stored")]
    event_type: String,
    /// Uuid of the patient.
    #[schema(example = "80876de9-4e89-449a-9a8f-c1e11f720437")]
    subject: String,
    /// Time at which it happened, ISO 8601 in UTC with milliseconds.
    #[schema(example = "2025-11-20T00:53:20.000Z")]
    time: String,
    /// Form of `data`.
    #[schema(value_type = String, pattern = "^application/json$", example = "application/json")]
    datacontenttype: &'static str,
    /// Code of the study.
    #[schema(example = "JYVPQ")]
    group: String,
    /// Number among the patient's events of this log, with leading zeros. Events that are not shown have numbers, too.
    #[schema(example = "00000000000000000021")]
    sequence: String,
    /// Log in which the event is: `users` (persons and studies) or `health` (samples). Each has numbers of its own.
    #[schema(value_type = String, pattern = "^(users|health)$", example = "health")]
    log: &'static str,
    /// What changed.
    data: EventData,
}

/// What changed. Which fields there are depends on the type; values, such as a score, are there with `full=1` only.
#[derive(Default, Deserialize, Serialize, utoipa::ToSchema)]
pub(super) struct EventData {
    /// Address at which the present state is read.
    #[serde(default)]
    #[schema(
        example = "https://pulseward.example.org/integration/v1/patients/80876de9-4e89-449a-9a8f-c1e11f720437/latest-news-score"
    )]
    href: String,
    /// Names of the data types that were stored, of `sync.stored`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = json!(["activity"]))]
    types: Option<Vec<String>>,
    /// What was stored of each type, of `sync.stored`; with `full=1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = json!([{"type": "activity", "from": 1_763_600_000_000_i64, "to": 1_763_600_060_000_i64, "stored": 2, "replaced": 0}]))]
    rows: Option<Vec<StoredRows>>,
    /// Whether the sync named its bracelet, of `sync.stored`; with `full=1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = true)]
    device: Option<bool>,
    /// Local day whose summary changed, YYYY-MM-DD, of `day.updated`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2025-11-20")]
    day: Option<String>,
    /// Names of the sections of the summary that changed, of `day.updated`; none where only slots did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = json!(["heart_rate"]))]
    sections: Option<Vec<String>>,
    /// Of `news.scored`: total of the newest NEWS2 entry, 0 to 20; null without one. With `full=1`, as all of the entry.
    #[serde(default, with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i64>, example = 3)]
    score: Option<Option<i64>>,
    /// Clinical risk of the entry: `low`, `low-medium`, `medium` or `high`; null without a total.
    #[serde(default, with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "low")]
    band: Option<Option<String>>,
    /// Time of the entry, of `news.scored`, or of the newest sample that shows the state, of `device.changed`, Unix epoch ms;
    /// with `full=1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 1_763_600_000_000_i64)]
    time_ms: Option<i64>,
    /// Points of each part of the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    sub_scores: Option<SubScores>,
    /// Parts of the entry of which there is no measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = json!([]))]
    missing: Option<Vec<String>>,
    /// Parts that were measured, and too poorly to count.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = json!([]))]
    low_quality: Option<Vec<String>>,
    /// Parts whose measurement is too old.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = json!([]))]
    stale: Option<Vec<String>>,
    /// State of the bracelet, of `device.changed`: `battery_low` or `battery_ok`, `charging` or `not_charging`, `not_worn` or
    /// `worn`, `silent` or `heard`; `done` or `failed`, of `export.finished`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "battery_low")]
    state: Option<String>,
    /// Charge of the bracelet, %, of `device.changed`; with `full=1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 14)]
    battery_level: Option<i64>,
    /// Identifier of the export, of `export.finished`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "65b1f0c2a4d3e5f60718293a")]
    export: Option<String>,
}

/// Points of each part of a NEWS2 entry, 0 to 3; null for one that did not count.
#[derive(Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(default)]
#[schema(as = EventSubScores)]
pub(super) struct SubScores {
    /// Of the respiration rate.
    #[schema(example = 0)]
    respiration_rate: Option<i64>,
    /// Of the oxygen saturation.
    #[schema(example = 2)]
    spo2: Option<i64>,
    /// Of the systolic blood pressure.
    #[schema(example = 0)]
    blood_pressure: Option<i64>,
    /// Of the heart rate.
    #[schema(example = 1)]
    heart_rate: Option<i64>,
    /// Of the temperature.
    #[schema(example = 0)]
    temperature: Option<i64>,
    /// Of breathing additional oxygen.
    #[schema(example = 0)]
    oxygen: Option<i64>,
    /// Of consciousness.
    #[schema(example = 0)]
    consciousness: Option<i64>,
}

/// A field that can be null, which is something else than a field that is not there.
mod nullable {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[allow(clippy::ref_option, reason = "what the library calls")]
    pub fn serialize<T: Serialize, S: Serializer>(value: &Option<Option<T>>, serializer: S) -> Result<S::Ok, S::Error> {
        value.as_ref().and_then(Option::as_ref).serialize(serializer)
    }

    pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Option<T>>, D::Error> {
        Option::deserialize(deserializer).map(Some)
    }
}

/// What a sync stored of one type.
#[derive(Deserialize, Serialize, utoipa::ToSchema)]
pub(super) struct StoredRows {
    /// Name of the type.
    #[serde(rename = "type")]
    #[schema(example = "activity")]
    data_type: String,
    /// Time of the first row, Unix epoch ms.
    #[schema(example = 1_763_600_000_000_i64)]
    from: Option<i64>,
    /// Time of the last row, Unix epoch ms.
    #[schema(example = 1_763_600_060_000_i64)]
    to: Option<i64>,
    /// Rows that were not there before.
    #[schema(example = 2)]
    stored: i64,
    /// Rows that took the place of another.
    #[schema(example = 0)]
    replaced: i64,
}

/// Whether values are sent as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// Names of what changed.
    Names,
    /// Names and values.
    Values,
}

impl EventBody {
    /// Makes the body of an event that a study reads. `source` is the address of the integration API.
    pub fn new(event: &GroupEvent, group_code: &GroupCode, source: &str, detail: Detail) -> Self {
        let details = match detail {
            Detail::Names => event.names(),
            Detail::Values => event.values(),
        };
        EventBody {
            specversion: "1.0",
            id: event.id(),
            source: source.to_owned(),
            event_type: format!("{PREFIX}{}", event.event_type.name()),
            subject: event.patient.to_string(),
            time: iso_ms(event.time_ms),
            datacontenttype: "application/json",
            group: group_code.to_string(),
            // As a text in a fixed width, as the extension `sequence` of CloudEvents wants it: compared like numbers.
            sequence: format!("{:020}", event.sequence),
            log: event.log.name(),
            // Of a type that is not known here nothing is left but the address.
            data: EventData { href: href(event, source), ..serde_json::from_value(details).unwrap_or_default() },
        }
    }
}

/// Where the present state of what an event is about is read.
fn href(event: &GroupEvent, source: &str) -> String {
    let patient = &event.patient;
    let names = event.names();
    match event.event_type {
        EventType::DayUpdated => {
            let day = names["day"].as_str().unwrap_or_default();
            format!("{source}/v1/patients/{patient}/summary/{day}")
        }
        EventType::NewsScored => format!("{source}/v1/patients/{patient}/latest-news-score"),
        EventType::ExportFinished => {
            let export = names["export"].as_str().unwrap_or_default();
            format!("{source}/v1/export/{export}")
        }
        EventType::PatientErased => format!("{source}/v1/erasures/{patient}"),
        EventType::DeviceChanged => format!("{source}/v1/user-devices"),
        _ => format!("{source}/v1/patients/{patient}/raw-data-compliance"),
    }
}
