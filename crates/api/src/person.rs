//! What both clouds of persons share: attributes as they are sent, and the receipt of an erasure.

use std::collections::BTreeMap;

use platform::{FieldFaults, Person, ProfileChange, Receipt};
use serde::{Deserialize, Serialize};
use store::{Gender, Profile};

use crate::body::Fields;
use crate::times::iso_ms;

/// Attributes of a person; what is left out stays as it is, an empty name takes away.
#[derive(Deserialize, utoipa::ToSchema)]
#[expect(dead_code, reason = "describes the body, whose fields are read one by one")]
pub(crate) struct ProfileFields {
    first_name: Option<String>,
    last_name: Option<String>,
    email: Option<String>,
    /// YYYY-MM-DD.
    birthday: Option<String>,
    /// `female`, `male` or `other`.
    gender: Option<String>,
    country: Option<String>,
    /// Centimetres.
    height: Option<f64>,
    /// Kilograms.
    weight: Option<f64>,
    /// Fitzpatrick scale, 1 to 6.
    skin_color: Option<i64>,
    /// 1 to 4.
    hair_density: Option<i64>,
}

/// Attributes that a caller changes of himself; what is left out stays as it is, an empty name takes away.
#[derive(Deserialize, utoipa::ToSchema)]
#[expect(dead_code, reason = "describes the body, whose fields are read one by one")]
pub(crate) struct OwnFields {
    #[serde(flatten)]
    profile: ProfileFields,
    /// IANA name.
    time_zone: Option<String>,
    agreement_to_terms_of_use: Option<bool>,
}

/// The gender of a body; what is none is noted.
pub(crate) fn read_gender(fields: &mut Fields) -> Option<Gender> {
    let text = fields.text("gender")?;
    let gender = Gender::parse(&text);
    if gender.is_none() {
        fields.note("gender", "must be female, male or other");
    }
    gender
}

/// Reads the attributes of [`ProfileFields`]; those that cannot be read stay noted in `fields`.
pub(crate) fn read_profile(fields: &mut Fields) -> ProfileChange {
    ProfileChange {
        email: fields.text("email"),
        person: Person {
            first_name: fields.text("first_name"),
            last_name: fields.text("last_name"),
            country: fields.text("country"),
            ..Person::default()
        },
        profile: Profile {
            birthday: fields.text("birthday"),
            gender: read_gender(fields),
            height: fields.number("height"),
            weight: fields.number("weight"),
            skin_color: fields.integer("skin_color"),
            hair_density: fields.integer("hair_density"),
            // Staff sets the zone with PATCH, next to the other attributes of the study; read here, it could be set in
            // two ways.
            time_zone: None,
        },
        unreadable: FieldFaults::new(),
    }
}

/// What an erasure has removed.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct ReceiptBody {
    /// Who was erased.
    uuid: String,
    /// ISO 8601 in UTC with milliseconds.
    erased_at: String,
    /// How many rows went, by kind.
    counts: BTreeMap<String, u64>,
}

impl From<Receipt> for ReceiptBody {
    fn from(receipt: Receipt) -> Self {
        ReceiptBody { uuid: receipt.uuid.to_string(), erased_at: iso_ms(receipt.erased_ms), counts: receipt.counts }
    }
}
