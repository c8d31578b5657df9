//! Steps over what means nothing.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use vitals::registry::DataType;

use super::body::place::Place;

/// Steps over `date`, in a row or as a column. It is derived and means nothing, but is no place to hide a tree in.
#[derive(Clone, Copy)]
pub(super) struct PassedOver<'place> {
    data_type: DataType,
    place: &'place Place,
    inside_array: bool,
}

impl<'place> PassedOver<'place> {
    pub(super) fn new(data_type: DataType, place: &'place Place) -> Self {
        PassedOver { data_type, place, inside_array: false }
    }

    fn wrong_kind<E: serde::de::Error>(&self) -> E {
        self.place.fail(format!("data.{}.date", self.data_type.name()), "must be a date or an array of dates")
    }
}

impl<'de> DeserializeSeed<'de> for PassedOver<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for PassedOver<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a date or an array of dates")
    }

    fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<(), A::Error> {
        Err(self.wrong_kind())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        // A column may be an array, its elements may not: deeper nesting is only ever an attempt to be slow.
        if self.inside_array {
            return Err(self.wrong_kind());
        }
        while elements.next_element_seed(PassedOver { inside_array: true, ..self })?.is_some() {}
        Ok(())
    }
}
