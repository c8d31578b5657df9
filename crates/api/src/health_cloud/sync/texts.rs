//! One text as the parser meets it.

use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use vitals::memory::bytes_of_text;
use vitals::registry::{CellError, Column};

use super::column_place::ColumnPlace;

/// Reads one text. It is counted before it is kept, and the same text again is kept once.
#[derive(Clone, Copy)]
pub(super) struct TextSeed<'texts> {
    pub column: &'static Column,
    pub at: ColumnPlace<'texts>,
    /// The text of the row before.
    pub last: Option<&'texts Arc<str>>,
}

impl<'de> DeserializeSeed<'de> for TextSeed<'_> {
    type Value = Result<Option<Arc<str>>, CellError>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TextSeed<'_> {
    type Value = Result<Option<Arc<str>>, CellError>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a text for {}", self.at.name)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        if let Some(last) = self.last.filter(|last| ***last == *value) {
            return Ok(Ok(Some(last.clone())));
        }
        if let Err(error) = self.column.check_text(value) {
            return Ok(Err(error));
        }
        self.at.place.take(bytes_of_text(value))?;
        Ok(Ok(Some(Arc::from(value))))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Ok(None))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Err(self.at.wrong_kind())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
        Err(self.at.wrong_kind())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
        Err(self.at.wrong_kind())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
        Err(self.at.wrong_kind())
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
        Err(self.at.wrong_kind())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
        Err(self.at.wrong_kind())
    }
}
