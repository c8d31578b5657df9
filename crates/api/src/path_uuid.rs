//! A uuid in a path. The answers write uuids in small letters; callers may write them in capitals (RFC 9562,
//! section 4), as some platforms do by themselves.

use std::ops::Deref;

use serde::{Deserialize, Deserializer};
use store::PatientId;

/// A uuid out of a path, in small letters; anything else as it is, which then names nobody.
pub(crate) struct PathUuid(String);

impl<'de> Deserialize<'de> for PathUuid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| PathUuid(in_small_letters(text)))
    }
}

/// A patient out of a path.
pub(crate) struct PathPatient(pub PatientId);

impl<'de> Deserialize<'de> for PathPatient {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| PathPatient(PatientId::new(in_small_letters(text))))
    }
}

/// Returns a uuid in small letters; anything else as it is.
fn in_small_letters(text: String) -> String {
    match uuid::Uuid::try_parse(&text) {
        // Only the form with hyphens: a patient has one name.
        Ok(uuid) if text.len() == 36 => uuid.to_string(),
        _ => text,
    }
}

impl Deref for PathUuid {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capitals_are_read_and_other_forms_are_left() {
        let read = |text: &str| serde_json::from_value::<PathUuid>(text.into()).map(|uuid| uuid.to_owned());
        let read_patient = |text: &str| serde_json::from_value::<PathPatient>(text.into()).map(|patient| patient.0);
        let small = "c52ec1c3-eeca-4861-8780-487baae13145";
        for (text, expected) in [
            (small, small),
            ("C52EC1C3-EECA-4861-8780-487BAAE13145", small),
            ("C52EC1C3EECA48618780487BAAE13145", "C52EC1C3EECA48618780487BAAE13145"),
            ("{C52EC1C3-EECA-4861-8780-487BAAE13145}", "{C52EC1C3-EECA-4861-8780-487BAAE13145}"),
            ("Nobody", "Nobody"),
        ] {
            assert_eq!(read(text).expect("a text"), expected);
            assert_eq!(read_patient(text).expect("a text"), PatientId::new(expected));
        }
    }
}
