//! What is known of a person, as the users database holds it.

use serde::{Deserialize, Serialize};
use store::StoreError;

use crate::core::checks::{named, note};
use crate::core::error::{FieldFaults, PlatformError, Result};

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
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when it is no such text.
    pub(crate) fn from_json(text: &str) -> Result<Self> {
        // The kind of error alone: its text can quote what is personal.
        let damaged = |error: serde_json::Error| StoreError::Damaged(format!("a person's row: {:?}", error.classify()));
        Ok(serde_json::from_str(text).map_err(damaged)?)
    }

    /// What a row is to hold.
    pub(crate) fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| PlatformError::Internal(format!("a person's row: {error}")))
    }

    /// Notes what is not valid, by field.
    pub(crate) fn check(&self, errors: &mut FieldFaults) {
        let texts = [
            ("first_name", &self.first_name),
            ("last_name", &self.last_name),
            ("country", &self.country),
            ("external_patient_id", &self.external_patient_id),
        ];
        for (field, text) in texts {
            if text.as_ref().is_some_and(|text| text.chars().count() > LONGEST_TEXT) {
                note(errors, field, "must have at most 200 characters");
            }
        }
        // The specification calls it a 5-character study code.
        let is_tag = |tag: &String| tag.len() == 5 && tag.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if self.customer_tag.as_ref().is_some_and(|tag| !tag.is_empty() && !is_tag(tag)) {
            note(errors, "customer_tag", "must be five letters or digits");
        }
    }

    /// Takes over what is named; an empty text takes an attribute away.
    pub(crate) fn take_over(&mut self, change: &Person) {
        let texts = [
            (&mut self.first_name, &change.first_name),
            (&mut self.last_name, &change.last_name),
            (&mut self.country, &change.country),
            (&mut self.external_patient_id, &change.external_patient_id),
            (&mut self.customer_tag, &change.customer_tag),
        ];
        for (known, new) in texts {
            if let Some(new) = new {
                *known = named(new.clone());
            }
        }
        // An agreement is no text, of which an empty one would take it away.
        self.agreement_to_terms_of_use = change.agreement_to_terms_of_use.or(self.agreement_to_terms_of_use);
    }

    /// The names of the attributes that are set.
    pub(crate) fn fields(&self) -> Vec<&'static str> {
        let fields = [
            ("first_name", self.first_name.is_some()),
            ("last_name", self.last_name.is_some()),
            ("country", self.country.is_some()),
            ("external_patient_id", self.external_patient_id.is_some()),
            ("customer_tag", self.customer_tag.is_some()),
            ("agreement_to_terms_of_use", self.agreement_to_terms_of_use.is_some()),
        ];
        fields.into_iter().filter(|(_, is_set)| *is_set).map(|(field, _)| field).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grace() -> Person {
        Person {
            first_name: Some("Grace".to_owned()),
            last_name: Some("Hopper".to_owned()),
            country: Some("US".to_owned()),
            external_patient_id: Some("17-4".to_owned()),
            customer_tag: Some("ABCDE".to_owned()),
            agreement_to_terms_of_use: Some(true),
        }
    }

    fn wrong(person: &Person) -> Vec<String> {
        let mut errors = FieldFaults::new();
        person.check(&mut errors);
        errors.into_keys().collect()
    }

    #[test]
    fn what_is_named_is_taken_over_and_the_rest_stays() {
        let mut person = grace();
        person.take_over(&Person::default());
        assert!(person == grace(), "nothing was named");
        person.take_over(&Person { last_name: Some("Murray".to_owned()), ..Person::default() });
        assert!(person == Person { last_name: Some("Murray".to_owned()), ..grace() });
        let mut nobody = Person::default();
        nobody.take_over(&grace());
        assert!(nobody == grace());
    }

    #[test]
    fn an_empty_text_takes_an_attribute_away_and_an_agreement_stays() {
        for blank in ["", " ", "\t\n", "\u{feff}", "\u{2003}\u{a0}"] {
            let blank = || Some(blank.to_owned());
            let change = Person {
                first_name: blank(),
                last_name: blank(),
                country: blank(),
                external_patient_id: blank(),
                customer_tag: blank(),
                agreement_to_terms_of_use: None,
            };
            let mut person = grace();
            person.take_over(&change);
            assert_eq!(person.fields(), ["agreement_to_terms_of_use"]);
        }
        let mut person = grace();
        person.take_over(&Person { agreement_to_terms_of_use: Some(false), ..Person::default() });
        assert_eq!(person.agreement_to_terms_of_use, Some(false));
    }

    #[test]
    fn texts_have_a_length_in_characters_and_a_tag_has_five() {
        assert!(wrong(&grace()).is_empty());
        assert!(wrong(&Person::default()).is_empty());
        let text = |length| Some("ä".repeat(length));
        let long = |length| Person {
            first_name: text(length),
            last_name: text(length),
            country: text(length),
            external_patient_id: text(length),
            ..grace()
        };
        assert!(wrong(&long(200)).is_empty(), "characters are counted, not bytes");
        assert_eq!(wrong(&long(201)), ["country", "external_patient_id", "first_name", "last_name"]);
        for (tag, is_good) in
            [("abc12", true), ("", true), ("ABCD", false), ("ABCDEF", false), ("AB-DE", false), ("äbcd", false)]
        {
            let tagged = Person { customer_tag: Some(tag.to_owned()), ..grace() };
            assert_eq!(wrong(&tagged).is_empty(), is_good, "`{tag}`");
        }
    }

    #[test]
    fn rows_are_read_as_they_were_written_and_by_later_versions_too() {
        let text = grace().to_json().expect("written");
        assert!(Person::from_json(&text).expect("read") == grace());
        assert_eq!(Person::default().to_json().expect("written"), "{}", "nothing is said of what is not set");
        let of_another_version = r#"{"first_name": "Grace", "middle_name": "Brewster"}"#;
        assert_eq!(Person::from_json(of_another_version).expect("read").fields(), ["first_name"]);
        let Err(PlatformError::Store(StoreError::Damaged(reported))) = Person::from_json(r#"{"first_name": 7}"#) else {
            panic!("a row that cannot be read is damaged");
        };
        assert_eq!(reported, "a person's row: Data", "nothing of what is in it");
    }
}
