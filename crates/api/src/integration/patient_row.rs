//! The row of a patient in lists: its fields, those that a request names, and its latest values.

use platform::{PatientColumns, PatientRow, PlatformError, Researcher, unknown_names};
use runtime::HashSet;
use serde::Serialize;
use store::Gender;
use vitals::latest::{LatestValues, Timed};

use super::devices::DeviceBody;
use crate::choices::{GenderName, PatientStateName};
use crate::parameters::Parameters;
use crate::times::iso_ms;

/// The names that `fields[]` knows.
pub(crate) const FIELD_NAMES: [&str; 21] = [
    "_id",
    "uuid",
    "first_name",
    "last_name",
    "email",
    "birthday",
    "gender",
    "country",
    "height",
    "weight",
    "skin_color",
    "customer_tag",
    "external_patient_id",
    "state",
    "hair_density",
    "device",
    "code",
    "latest_values",
    TIME_ZONE,
    "voucher_created_at",
    "voucher_expires_at",
];
/// Beyond the specification, and shown only where it is named.
const TIME_ZONE: &str = "time_zone";

/// Fields of the person.
const PERSON_FIELDS: [&str; 5] = ["first_name", "last_name", "country", "customer_tag", "external_patient_id"];

/// Fields that come from the health database.
const PROFILE_FIELDS: [&str; 6] = ["birthday", "gender", "height", "weight", "skin_color", "hair_density"];

/// A patient of a study. What is not set is left out.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Patient)]
pub(super) struct PatientBody {
    /// Uuid of the patient.
    #[schema(example = "80876de9-4e89-449a-9a8f-c1e11f720437")]
    uuid: String,
    /// Record identifier.
    #[serde(rename = "_id", skip_serializing_if = "Option::is_none")]
    #[schema(example = "65b1f0c2a4d3e5f60718293a")]
    id: Option<String>,
    /// First name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Rita")]
    first_name: Option<String>,
    /// Last name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Rossi")]
    last_name: Option<String>,
    /// E-mail address.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "rita@study.example")]
    email: Option<String>,
    /// Date of birth, YYYY-MM-DD.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "1984-06-02")]
    birthday: Option<String>,
    /// `female`, `male` or `other`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<GenderName>)]
    gender: Option<&'static str>,
    /// Country of residence.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Switzerland")]
    country: Option<String>,
    /// Centimetres.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 172)]
    height: Option<f64>,
    /// Kilograms.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 64.5)]
    weight: Option<f64>,
    /// Fitzpatrick scale, 1 to 6.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 2)]
    skin_color: Option<i64>,
    /// Study code.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "JYVPQ")]
    customer_tag: Option<String>,
    /// Identifier in the customer's own system.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "K-0042")]
    external_patient_id: Option<String>,
    /// `pre_created` or `confirmed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PatientStateName>)]
    state: Option<&'static str>,
    /// 1 to 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 2)]
    hair_density: Option<i64>,
    /// IANA name; only where `fields[]` names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Europe/Zurich")]
    time_zone: Option<String>,
    /// Voucher code, while `pre_created`, for callers who may make vouchers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "K7QXM2PA")]
    code: Option<String>,
    /// Time at which the voucher was made, while `pre_created`; with its name in `fields[]` only. ISO 8601 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = json!(null))]
    voucher_created_at: Option<String>,
    /// Time until which the voucher can be used, while `pre_created`; with its name in `fields[]` only. ISO 8601 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = json!(null))]
    voucher_expires_at: Option<String>,
    /// The newest bracelet.
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<DeviceBody>,
    /// The newest valid vital signs; with `with_latest_values=1` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    latest_values: Option<LatestBody>,
    /// True where something stored of the patient is damaged, which is left out here; reads of this patient alone say what it
    /// is. Left out otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = json!(null))]
    unreadable: Option<bool>,
}

/// The newest valid vital signs and when they were measured, Unix epoch ms. What was never measured is left out.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = LatestValues)]
struct LatestBody {
    /// /min.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 61)]
    heart_rate: Option<f64>,
    /// /min.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 14)]
    respiration_rate: Option<f64>,
    /// Body temperature, °C; never a skin temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 36.8)]
    temperature: Option<f64>,
    /// %.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 97)]
    spo2: Option<f64>,
    /// mmHg.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 121)]
    nibp_systolic: Option<f64>,
    /// mmHg.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 79)]
    nibp_diastolic: Option<f64>,
    /// Total of the newest NEWS entry; left out when that has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 0)]
    news_score: Option<u8>,
    /// Time of the measurement, Unix epoch ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 1_763_600_000_000_i64)]
    heart_rate_timestamp: Option<i64>,
    /// Time of the measurement, Unix epoch ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 1_763_600_000_000_i64)]
    respiration_rate_timestamp: Option<i64>,
    /// Time of the measurement, Unix epoch ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 1_763_600_000_000_i64)]
    temperature_timestamp: Option<i64>,
    /// Time of the measurement, Unix epoch ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 1_763_600_000_000_i64)]
    spo2_timestamp: Option<i64>,
    /// Time of the measurement, Unix epoch ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 1_763_600_000_000_i64)]
    nibp_diastolic_timestamp: Option<i64>,
    /// Time of the measurement, Unix epoch ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 1_763_600_000_000_i64)]
    nibp_systolic_timestamp: Option<i64>,
    /// Time of the score, Unix epoch ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 1_763_600_000_000_i64)]
    news_score_timestamp: Option<i64>,
}

impl From<PatientRow> for PatientBody {
    /// With every field that is set, for who has just changed the patient and so may make vouchers.
    fn from(row: PatientRow) -> Self {
        Wanted { named: HashSet::default(), latest_values: false, codes: true }.body(row)
    }
}

impl From<LatestValues> for LatestBody {
    fn from(latest: LatestValues) -> Self {
        let value = |timed: Option<Timed>| timed.map(|timed| timed.value);
        let time_ms = |timed: Option<Timed>| timed.map(|timed| timed.timestamp_ms);
        LatestBody {
            heart_rate: value(latest.heart_rate),
            respiration_rate: value(latest.respiration_rate),
            temperature: value(latest.temperature),
            spo2: value(latest.spo2),
            nibp_systolic: value(latest.nibp_systolic),
            nibp_diastolic: value(latest.nibp_diastolic),
            news_score: latest.news_score.map(|score| score.value as u8),
            heart_rate_timestamp: time_ms(latest.heart_rate),
            respiration_rate_timestamp: time_ms(latest.respiration_rate),
            temperature_timestamp: time_ms(latest.temperature),
            spo2_timestamp: time_ms(latest.spo2),
            nibp_diastolic_timestamp: time_ms(latest.nibp_diastolic),
            nibp_systolic_timestamp: time_ms(latest.nibp_systolic),
            news_score_timestamp: time_ms(latest.news_score),
        }
    }
}

/// Which fields are asked for; all when none is named.
pub(super) struct Wanted {
    named: HashSet<String>,
    latest_values: bool,
    /// True when the caller may see codes of vouchers: who has one, and not the patient, could activate it.
    codes: bool,
}

impl Wanted {
    pub(super) fn read(parameters: &Parameters, researcher: &Researcher) -> Result<Self, PlatformError> {
        let named: HashSet<String> = parameters.list("fields")?.into_iter().map(str::to_owned).collect();
        let mut unknown: Vec<&str> = named.iter().map(String::as_str).collect();
        unknown.retain(|name| !FIELD_NAMES.contains(name));
        // The set has no order, and the same request is to have the same answer.
        unknown.sort_unstable();
        // Refused and not ignored: a misspelt field would look like a patient without it.
        if !unknown.is_empty() {
            return Err(PlatformError::invalid("fields", unknown_names(&unknown, FIELD_NAMES)));
        }
        let codes = researcher.sees_vouchers();
        Ok(Wanted { named, latest_values: parameters.flag("with_latest_values")?, codes })
    }

    fn has(&self, field: &str) -> bool {
        // No name at all asks for everything, as the specification says; `device` is then among it.
        self.named.is_empty() || self.named.contains(field)
    }

    /// Returns whether a field that is none of the specification's is named: an answer without it stays as the specification has it.
    fn names(&self, field: &str) -> bool {
        self.named.contains(field)
    }

    pub(super) fn columns(&self) -> PatientColumns {
        PatientColumns {
            // Databases are asked only for what is shown: a list of uuids and states never touches the health
            // database.
            person: PERSON_FIELDS.iter().any(|field| self.has(field)),
            profile: PROFILE_FIELDS.iter().any(|field| self.has(field)) || self.names(TIME_ZONE),
            device: self.has("device"),
            // By its own parameter only: it is the one column that changes with every sync.
            latest_values: self.latest_values,
        }
    }

    pub(super) fn body(&self, row: PatientRow) -> PatientBody {
        let PatientRow { uuid, patient, person, profile, device, latest_values, is_unreadable } = row;
        let patient = patient.as_ref();
        // A used voucher is a name to log in with, and no business of staff any more.
        let voucher = patient.filter(|patient| patient.is_voucher());
        PatientBody {
            // Always there, also when it is not named: a row without it could not be distinguished from the next.
            uuid: uuid.to_string(),
            id: patient.map(|patient| patient.record_id.to_string()).filter(|_| self.has("_id")),
            first_name: person.first_name.filter(|_| self.has("first_name")),
            last_name: person.last_name.filter(|_| self.has("last_name")),
            email: patient.and_then(|patient| patient.email.clone()).filter(|_| self.has("email")),
            birthday: profile.birthday.filter(|_| self.has("birthday")),
            gender: profile.gender.filter(|_| self.has("gender")).map(Gender::name),
            country: person.country.filter(|_| self.has("country")),
            height: profile.height.filter(|_| self.has("height")),
            weight: profile.weight.filter(|_| self.has("weight")),
            skin_color: profile.skin_color.filter(|_| self.has("skin_color")),
            customer_tag: person.customer_tag.filter(|_| self.has("customer_tag")),
            external_patient_id: person.external_patient_id.filter(|_| self.has("external_patient_id")),
            state: patient.map(|patient| patient.state.name()).filter(|_| self.has("state")),
            hair_density: profile.hair_density.filter(|_| self.has("hair_density")),
            time_zone: profile.time_zone.filter(|_| self.names(TIME_ZONE)),
            code: voucher.filter(|_| self.codes && self.has("code")).map(|patient| patient.voucher_code.to_string()),
            voucher_created_at: voucher.filter(|_| self.names("voucher_created_at")).map(|one| iso_ms(one.created_ms)),
            voucher_expires_at: voucher
                .filter(|_| self.names("voucher_expires_at"))
                .map(|one| iso_ms(one.voucher_expires_ms)),
            device: device.filter(|_| self.has("device")).map(DeviceBody::from),
            latest_values: latest_values.map(LatestBody::from),
            unreadable: is_unreadable.then_some(true),
        }
    }
}
