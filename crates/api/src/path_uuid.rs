//! A uuid in a path. The answers write uuids in small letters; whoever asks may write them in capitals (RFC 9562,
//! section 4), as some platforms do by themselves.

use std::ops::Deref;

use serde::{Deserialize, Deserializer};

/// A uuid out of a path, in small letters; anything else as it is, which then names nobody.
pub(crate) struct PathUuid(String);

impl<'de> Deserialize<'de> for PathUuid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let parsed = uuid::Uuid::try_parse(&text).ok();
        // Only the form with hyphens: a patient has one name.
        Ok(PathUuid(match parsed {
            Some(uuid) if text.len() == 36 => uuid.to_string(),
            _ => text,
        }))
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
        let small = "c52ec1c3-eeca-4861-8780-487baae13145";
        for (text, expected) in [
            (small, small),
            ("C52EC1C3-EECA-4861-8780-487BAAE13145", small),
            ("C52EC1C3EECA48618780487BAAE13145", "C52EC1C3EECA48618780487BAAE13145"),
            ("{C52EC1C3-EECA-4861-8780-487BAAE13145}", "{C52EC1C3-EECA-4861-8780-487BAAE13145}"),
            ("Nobody", "Nobody"),
        ] {
            assert_eq!(read(text).expect("a text"), expected);
        }
    }
}
