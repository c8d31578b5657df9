//! Names in a body. Names that there are, are short; of a longer one only its beginning is kept.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, Visitor};

/// The longest name that is kept whole, bytes: longer than any that there is.
const LONGEST_NAME: usize = 128;

/// Reads a name.
#[derive(Clone, Copy)]
pub(in super::super) struct NameSeed;

impl<'de> DeserializeSeed<'de> for NameSeed {
    type Value = Cow<'de, str>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cow<'de, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for NameSeed {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(if name.len() > LONGEST_NAME { cut(name).into() } else { name.into() })
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Cow<'de, str>, E> {
        Ok(if name.len() > LONGEST_NAME { cut(name).into() } else { name.to_owned().into() })
    }
}

/// Returns the beginning of a name that is too long, and a mark that no name has.
fn cut(name: &str) -> String {
    format!("{}…", &name[..name.floor_char_boundary(LONGEST_NAME)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_and_long_ones_are_cut() {
        let read =
            |json: &str| NameSeed.deserialize(&mut serde_json::Deserializer::from_str(json)).map(Cow::into_owned);
        assert_eq!(read("\"bpm\"").unwrap(), "bpm");
        assert_eq!(read("\"b\\u0070m\"").unwrap(), "bpm");
        let long = "ü".repeat(100_000);
        assert_eq!(read(&format!("\"{long}\"")).unwrap(), format!("{}…", "ü".repeat(64)));
        assert!(read("5").is_err());
    }
}
