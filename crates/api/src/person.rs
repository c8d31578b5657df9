//! What both clouds of persons share: attributes as they are sent, and the receipt of an erasure.

use std::collections::BTreeMap;

use axum::Json;
use axum::http::StatusCode;
use platform::{Change, FieldFaults, Person, Place, ProfileChange, Receipt, Removable};
use serde::Serialize;
use store::{BodyAttribute, Profile};

use crate::body::typed::{Name, body};
use crate::choices::GenderName;
use crate::times::iso_ms;

/// Pattern of e-mail addresses: one `@`, and no blank or control character around it.
pub(crate) const EMAIL: &str = r"^[^@\s\x00-\x1f\x7f-\x9f]+@[^@\s\x00-\x1f\x7f-\x9f]+$";

body! {
    /// Attributes of a person.
    pub(crate) struct PersonalAttributes {
        /// First name.
        #[schema(example = "Rita")]
        #[schema(max_length = 200)]
        #[schema(value_type = Option<String>)]
        first_name: Change<String>,
        /// Last name.
        #[schema(example = "Rossi")]
        #[schema(max_length = 200)]
        #[schema(value_type = Option<String>)]
        last_name: Change<String>,
        /// E-mail address.
        #[schema(example = "rita@study.example")]
        #[schema(max_length = 254, extensions(("x-pattern" = json!(EMAIL))))]
        #[schema(value_type = Option<String>)]
        email: Change<String>,
        /// YYYY-MM-DD.
        #[schema(example = "1984-06-02")]
        #[schema(format = Date)]
        #[schema(value_type = Option<String>)]
        birthday: Change<String>,
        /// Gender.
        #[schema(value_type = Option<GenderName>)]
        gender: Change<GenderName>,
        /// Country of residence.
        #[schema(example = "Switzerland")]
        #[schema(max_length = 200)]
        #[schema(value_type = Option<String>)]
        country: Change<String>,
        /// Centimetres.
        #[schema(minimum = 20, maximum = 300)]
        #[schema(example = 172)]
        #[schema(value_type = Option<f64>)]
        height: Change<f64>,
        /// Kilograms.
        #[schema(minimum = 0.2, maximum = 700)]
        #[schema(example = 64.5)]
        #[schema(value_type = Option<f64>)]
        weight: Change<f64>,
        /// Fitzpatrick scale, 1 to 6.
        #[schema(minimum = 1, maximum = 6)]
        #[schema(example = 2)]
        #[schema(value_type = Option<i64>)]
        skin_color: Change<i64>,
        /// 1 to 4.
        #[schema(minimum = 1, maximum = 4)]
        #[schema(example = 2)]
        #[schema(value_type = Option<i64>)]
        hair_density: Change<i64>,
    }
}

body! {
    /// Attributes of a person to change, at least one; what is left out stays as it is, null takes away.
    #[schema(as = ProfileChange)]
    pub(crate) struct PersonalProfileChange {
        #[serde(flatten)]
        attributes: PersonalAttributes,
    }
}

body! {
    /// Attributes that callers give of themselves.
    pub(crate) struct OwnAttributes {
        #[serde(flatten)]
        attributes: PersonalAttributes,
        /// IANA name.
        #[schema(example = "Europe/Zurich")]
        #[schema(value_type = Option<String>)]
        time_zone: Change<String>,
        /// True when the terms of use were agreed to.
        #[schema(example = true)]
        #[schema(value_type = Option<bool>)]
        agreement_to_terms_of_use: Change<bool>,
        /// Present password; required with `email`, since one logs in with it.
        #[schema(example = "correct horse battery")]
        password: Option<String>,
    }
}

body! {
    /// Attributes that callers change of themselves, at least one; what is left out stays as it is, null takes away.
    pub(crate) struct OwnProfileChange {
        #[serde(flatten)]
        attributes: OwnAttributes,
    }
}

impl From<PersonalProfileChange> for ProfileChange {
    fn from(sent: PersonalProfileChange) -> Self {
        sent.attributes.into()
    }
}

impl From<OwnProfileChange> for ProfileChange {
    fn from(sent: OwnProfileChange) -> Self {
        sent.attributes.into()
    }
}

impl From<PersonalAttributes> for ProfileChange {
    fn from(sent: PersonalAttributes) -> Self {
        let removed = [
            (sent.email == Change::Removed, Removable::Email),
            (sent.birthday == Change::Removed, Removable::Body(BodyAttribute::Birthday)),
            (sent.gender == Change::Removed, Removable::Body(BodyAttribute::Gender)),
            (sent.height == Change::Removed, Removable::Body(BodyAttribute::Height)),
            (sent.weight == Change::Removed, Removable::Body(BodyAttribute::Weight)),
            (sent.skin_color == Change::Removed, Removable::Body(BodyAttribute::SkinColor)),
            (sent.hair_density == Change::Removed, Removable::Body(BodyAttribute::HairDensity)),
        ];
        ProfileChange {
            email: sent.email.set(),
            person: Person {
                first_name: sent.first_name.text(),
                last_name: sent.last_name.text(),
                country: sent.country.text(),
                ..Person::default()
            },
            removed: removed
                .into_iter()
                .filter_map(|(is_removed, attribute)| is_removed.then_some(attribute))
                .collect(),
            profile: Profile {
                birthday: sent.birthday.set(),
                gender: sent.gender.set().map(|Name(gender)| gender),
                height: sent.height.set(),
                weight: sent.weight.set(),
                skin_color: sent.skin_color.set(),
                hair_density: sent.hair_density.set(),
                // Staff sets the zone with PATCH, with the other attributes of the study; read here, it could be set
                // in two ways.
                time_zone: None,
            },
            password: None,
            unreadable: FieldFaults::new(),
        }
    }
}

impl From<OwnAttributes> for ProfileChange {
    fn from(sent: OwnAttributes) -> Self {
        let mut change = ProfileChange::from(sent.attributes);
        // Not among the shared attributes: staff sets the zone with the attributes of the study, and an agreement is
        // the person's own.
        let removed = [
            (sent.time_zone == Change::Removed, Removable::Body(BodyAttribute::TimeZone)),
            (sent.agreement_to_terms_of_use == Change::Removed, Removable::Agreement),
        ];
        change
            .removed
            .extend(removed.into_iter().filter_map(|(is_removed, attribute)| is_removed.then_some(attribute)));
        change.profile.time_zone = sent.time_zone.set();
        change.password = sent.password;
        change.person.agreement_to_terms_of_use = sent.agreement_to_terms_of_use.set();
        change
    }
}

/// Receipt of an erasure.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = ErasureReceipt)]
pub(crate) struct ReceiptBody {
    /// Uuid of the erased patient.
    #[schema(example = "80876de9-4e89-449a-9a8f-c1e11f720437")]
    uuid: String,
    /// ISO 8601 in UTC with milliseconds.
    #[schema(example = "2025-11-20T00:53:20.000Z")]
    erased_at: String,
    /// Number of removed rows by kind.
    #[schema(example = json!({"chunks": 1042, "summaries": 310}))]
    counts: BTreeMap<String, u64>,
    /// Remains elsewhere.
    remains: Vec<RemainsBody>,
}

/// Something of the erased that is left.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = ErasureRemains)]
pub(crate) struct RemainsBody {
    /// `write_ahead_logs`: of the database files, which somebody is reading; `database_files`: unused parts of their pages;
    /// `database_server`: dead rows of the server; `database_server_logs`: its write-ahead log, the archive of that, and unused
    /// parts of its pages, which its operator looks after; `backups`: those from before; `object_copies`: the sealed files there.
    #[schema(example = "backups")]
    #[serde(rename = "where")]
    place: &'static str,
    /// Time by which it is gone, ISO 8601 in UTC; null where the service has no hand in it.
    #[schema(example = json!(null))]
    until: Option<String>,
}

impl From<Receipt> for ReceiptBody {
    fn from(receipt: Receipt) -> Self {
        let remains = receipt
            .remains
            .iter()
            .map(|left| RemainsBody { place: left.place.name(), until: left.until_ms.map(iso_ms) });
        ReceiptBody {
            uuid: receipt.uuid.to_string(),
            erased_at: iso_ms(receipt.erased_ms),
            remains: remains.collect(),
            counts: receipt.counts,
        }
    }
}

/// The answer to an erasure: 202 while the write-ahead logs could not be emptied.
pub(crate) fn receipt_of(receipt: Receipt) -> (StatusCode, Json<ReceiptBody>) {
    let is_left = receipt.remains.iter().any(|left| left.place == Place::WriteAheadLogs);
    // A receipt and not 204: studies have to show that an erasure was done.
    (if is_left { StatusCode::ACCEPTED } else { StatusCode::OK }, Json(receipt.into()))
}
