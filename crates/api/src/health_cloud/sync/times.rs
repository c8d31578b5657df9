//! `timestamp` as the parser meets it: the time of one row, or one of each.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use vitals::intake::{EARLIEST_TIME, FORMS_OF_A_TIME, NO_TIME, UNREADABLE_TIME};
use vitals::sample_time::Decimal;

use super::column_place::ColumnPlace;

/// Value under `timestamp`.
pub(super) enum TimeField {
    /// The time of a single row, µs.
    One(i64),
    /// What a single row has and no time can be.
    WrongKind,
    /// A time each, µs; [`NO_TIME`] for null, [`UNREADABLE_TIME`] for a text that is no time.
    Each(Vec<i64>),
}

/// Reads `timestamp`: ms since 1970, with an optional fraction, or ISO 8601 with an offset.
#[derive(Clone, Copy)]
pub(super) struct TimeSeed<'place>(pub ColumnPlace<'place>);

impl<'de> DeserializeSeed<'de> for TimeSeed<'_> {
    type Value = TimeField;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<TimeField, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TimeSeed<'_> {
    type Value = TimeField;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(FORMS_OF_A_TIME)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<TimeField, E> {
        // Saturates, as the fraction below does: absurd times are rejected row by row, with the reason of times that
        // are too late.
        Ok(TimeField::One(i64::try_from(value).unwrap_or(i64::MAX).saturating_mul(1000)))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<TimeField, E> {
        Ok(TimeField::One(value.saturating_mul(1000).max(EARLIEST_TIME)))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<TimeField, E> {
        // Saturates: an absurd time is far ahead or long ago, and rejects its row as such.
        Ok(TimeField::One(((value * 1000.0).round() as i64).max(EARLIEST_TIME)))
    }

    fn visit_unit<E: Error>(self) -> Result<TimeField, E> {
        Ok(TimeField::One(NO_TIME))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<TimeField, E> {
        Ok(TimeField::WrongKind)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<TimeField, E> {
        // To the nearest microsecond, as numbers with a fraction are.
        let time_us = Decimal::parse_time(text).and_then(Decimal::rounded_thousandths);
        Ok(TimeField::One(time_us.unwrap_or(UNREADABLE_TIME)))
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<TimeField, A::Error> {
        Err(self.0.wrong_kind())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<TimeField, A::Error> {
        let mut times_us = Vec::new();
        while let Some(time) = elements.next_element_seed(self)? {
            // A column of flags or lists is of the wrong kind, whatever one row may have.
            let TimeField::One(time_us) = time else { return Err(self.0.wrong_kind()) };
            if times_us.len() == times_us.capacity() {
                self.0.grow(&mut times_us)?;
            }
            times_us.push(time_us);
        }
        Ok(TimeField::Each(times_us))
    }
}
