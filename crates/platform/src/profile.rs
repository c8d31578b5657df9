//! What a person tells of himself: names for the users database, his body for the health database.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use store::Profile;

use crate::error::{PlatformError, Result};

/// The longest text that an attribute holds, in characters.
const LONGEST_TEXT: usize = 200;

/// Personal attributes. Absent ones are not set.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Person {
    /// Given name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    /// Family name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// Country of residence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    /// Identifier in the customer's own system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_patient_id: Option<String>,
    /// Study code, five characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer_tag: Option<String>,
    /// Whether the terms of use were agreed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement_to_terms_of_use: Option<bool>,
}

impl Person {
    /// Reads what a row holds.
    pub(crate) fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|error| PlatformError::Internal(format!("a person's row: {error}")))
    }

    /// What a row is to hold.
    pub(crate) fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| PlatformError::Internal(format!("a person's row: {error}")))
    }

    /// Notes what is not valid, by field.
    pub(crate) fn check(&self, errors: &mut BTreeMap<String, Vec<String>>) {
        let texts = [("first_name", &self.first_name), ("last_name", &self.last_name), ("country", &self.country)];
        for (field, text) in texts {
            if text.as_ref().is_some_and(|text| text.chars().count() > LONGEST_TEXT) {
                note(errors, field, "must have at most 200 characters");
            }
        }
    }
}

/// Notes what is not valid of a body, by field. `today` bounds the birthday.
pub(crate) fn check_profile(profile: &Profile, today: Date, errors: &mut BTreeMap<String, Vec<String>>) {
    if let Some(birthday) = &profile.birthday {
        match birthday.parse::<Date>() {
            Ok(date) if birthday.len() == 10 && date <= today && date.year() >= 1880 => {}
            _ => note(errors, "birthday", "must be a date in the past, as YYYY-MM-DD"),
        }
    }
    if profile.gender.as_deref().is_some_and(|gender| !["female", "male", "other"].contains(&gender)) {
        note(errors, "gender", "must be female, male or other");
    }
    if profile.height.is_some_and(|height_cm| !(20.0..=300.0).contains(&height_cm)) {
        note(errors, "height", "must be 20 to 300 cm");
    }
    if profile.weight.is_some_and(|weight_kg| !(0.2..=700.0).contains(&weight_kg)) {
        note(errors, "weight", "must be 0.2 to 700 kg");
    }
    if profile.skin_color.is_some_and(|fitzpatrick| !(1..=6).contains(&fitzpatrick)) {
        note(errors, "skin_color", "must be 1 to 6");
    }
    if profile.hair_density.is_some_and(|density| !(1..=4).contains(&density)) {
        note(errors, "hair_density", "must be 1 to 4");
    }
    if profile.time_zone.as_deref().is_some_and(|zone| !vitals::zone::is_known_zone(zone)) {
        note(errors, "time_zone", "must be an IANA time zone such as Europe/Zurich");
    }
}

/// An e-mail as it is stored and looked up: trimmed, in lower case. Invalid when it cannot be one.
pub(crate) fn clean_email(email: &str) -> Result<String> {
    let clean = email.trim().to_lowercase();
    let fits = match clean.split_once('@') {
        Some((local, domain)) => !local.is_empty() && !domain.is_empty() && !domain.contains('@'),
        None => false,
    };
    if !fits || clean.len() > 254 || clean.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
        return Err(PlatformError::invalid("email", "must be an e-mail address"));
    }
    Ok(clean)
}

/// Notes what is not valid of a field.
pub(crate) fn note(errors: &mut BTreeMap<String, Vec<String>>, field: &str, message: &str) {
    errors.entry(field.to_owned()).or_default().push(message.to_owned());
}
