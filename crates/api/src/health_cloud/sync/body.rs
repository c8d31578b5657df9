//! Reads the JSON of a sync straight into columns.
//!
//! The body can be large and most of it is numbers, so no tree is built: each column goes from the text into cells as
//! the parser meets it. What is wrong with the structure is reported with its place.
//!
//! A row that leaves a column out is short as text and as long as any in memory. So the memory is held to the size of
//! the body, and all of it is counted in the account of the upload before it is taken.

pub(super) mod names;
pub(super) mod place;
pub(super) mod scratch;

use std::fmt;

use platform::ingest::{DeviceReport, SyncBody, TypeBatches};
use platform::integer_of;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use vitals::registry::DataType;

use names::NameSeed;
pub(crate) use place::BodyError;
use place::Place;

use super::columns::RowsSeed;
use crate::body::unknown::{meant, shortened};
use crate::body::{place_of, with_f64_numbers, without_mark};
use crate::load::Room;
use store::{SerialNumber, SyncId};

/// The deepest nesting of brackets that is read, as everywhere else in the service.
const DEEPEST: usize = 128;
/// The longest text of a field that is no rows, bytes.
const LONGEST_FIELD: usize = 64 << 10;

/// Reads a body. `room` is the account of the upload, in which the body itself is counted already.
///
/// The parser gives up at a number that no f64 holds. Such a number is a bad value like any other, so the
/// body is then read again with another in its place; a body without one is read once.
pub(crate) fn read(bytes: &[u8], room: &Room) -> Result<SyncBody, BodyError> {
    let bytes = without_mark(bytes);
    let before = room.used();
    match read_numbers(bytes, room) {
        Err(BodyError::Syntax(reported)) => {
            // What was read has been dropped, and the body may be copied.
            room.hold_exactly(before)?;
            room.take(bytes.len())?;
            match with_f64_numbers(bytes) {
                Some(changed) => read_numbers(&changed, room),
                None => Err(BodyError::Syntax(reported)),
            }
        }
        read => read,
    }
}

fn read_numbers(bytes: &[u8], room: &Room) -> Result<SyncBody, BodyError> {
    room.take(scratch::most_bytes(bytes))?;
    let place = Place::of_body(bytes, room);
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let read = BodySeed { place: &place }.deserialize(&mut deserializer).and_then(|body| {
        deserializer.end()?;
        Ok(body)
    });
    if let Some(no_room) = place.no_room.get() {
        return Err(no_room.into());
    }
    read.map_err(|error| {
        // What is not a value of its column is met long before the bottom of such a body.
        if is_nested_too_deeply(bytes) {
            return BodyError::Syntax(format!("brackets are nested more than {DEEPEST} deep"));
        }
        match place.fault.into_inner() {
            Some((place, message)) => BodyError::Structure { place, message },
            None if error.is_data() => match place.at.into_inner() {
                Some(place) => BodyError::Structure { place, message: wanted(&error) },
                None => BodyError::Structure { place: "body".to_owned(), message: "must be a JSON object".to_owned() },
            },
            None => BodyError::Syntax(place_of(&error)),
        }
    })
}

/// Returns what the reader of a value says that it must be.
fn wanted(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let expected = text.split_once(", expected ").map(|(_, expected)| expected);
    let expected = expected.map(|text| text.rsplit_once(" at line ").map_or(text, |(expected, _)| expected));
    expected.map_or_else(|| "cannot be read".to_owned(), |expected| format!("must be {expected}"))
}

/// Returns whether brackets outside texts are nested deeper than is read.
fn is_nested_too_deeply(bytes: &[u8]) -> bool {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => depth += 1,
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            return true;
        }
    }
    false
}

/// Fields of a sync.
const FIELDS: [&str; 4] = ["sync_id", "time_zone", "device", "data"];
/// Fields of what a sync says of its bracelet.
const FIELDS_OF_DEVICE: [&str; 4] = ["serial_number", "device_type", "firmware_version", "battery_level"];

struct BodySeed<'place> {
    place: &'place Place,
}

impl<'de> DeserializeSeed<'de> for BodySeed<'_> {
    type Value = SyncBody;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<SyncBody, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for BodySeed<'_> {
    type Value = SyncBody;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with time_zone, device and data")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SyncBody, A::Error> {
        let mut body = SyncBody::default();
        let mut seen: Vec<String> = Vec::new();
        while let Some(key) = map.next_key_seed(NameSeed)? {
            let key = key.into_owned();
            if seen.contains(&key) {
                return Err(self.place.fail(key, "is given twice"));
            }
            match key.as_str() {
                "sync_id" => body.sync_id = self.text(&key, self.small(&key, map.next_value()?)?)?.map(SyncId::new),
                "time_zone" => body.time_zone = self.text(&key, self.small(&key, map.next_value()?)?)?,
                "device" => body.device = self.device(self.small(&key, map.next_value()?)?)?,
                "data" => {
                    self.place.enter("data");
                    body.data = map.next_value_seed(DataSeed { place: self.place })?;
                    self.place.leave();
                }
                _ => {
                    let message = format!("is not a field of a sync{}", meant(&key, FIELDS.into_iter()));
                    return Err(self.place.fail(key, &message));
                }
            }
            seen.push(key);
        }
        if !seen.iter().any(|key| key == "data") {
            return Err(self.place.fail("data", "is missing"));
        }
        Ok(body)
    }
}

impl BodySeed<'_> {
    /// Returns a field that is small enough to be read on its own.
    fn small<E: Error>(&self, key: &str, text: &RawValue) -> Result<Value, E> {
        // As a tree a value can take twenty times its text.
        if text.get().len() > LONGEST_FIELD {
            return Err(self.place.fail(key, "is too long"));
        }
        let read = serde_json::from_str(text.get()).or_else(|error| match with_f64_numbers(text.get().as_bytes()) {
            Some(changed) => serde_json::from_slice(&changed),
            None => Err(error),
        });
        read.map_err(|_| self.place.fail(key, "cannot be read"))
    }

    /// Returns a text that may be null.
    fn text<E: Error>(&self, place: &str, value: Value) -> Result<Option<String>, E> {
        match value {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text)),
            _ => Err(self.place.fail(place, "must be a text")),
        }
    }

    fn device<E: Error>(&self, value: Value) -> Result<Option<DeviceReport>, E> {
        let fields = match value {
            Value::Null => return Ok(None),
            Value::Object(fields) => fields,
            _ => return Err(self.place.fail("device", "must be an object")),
        };
        let (mut serial_number, mut device_type, mut firmware_version, mut battery_level) = (None, None, None, None);
        for (name, value) in fields {
            let place = format!("device.{name}");
            match name.as_str() {
                "serial_number" => serial_number = self.text(&place, value)?,
                "device_type" => device_type = self.text(&place, value)?,
                "firmware_version" => firmware_version = self.text(&place, value)?,
                "battery_level" if value.is_null() => {}
                "battery_level" => {
                    let level = integer_of(&value).ok_or_else(|| self.place.fail(place, "must be an integer"))?;
                    battery_level = Some(level);
                }
                _ => {
                    let meant = meant(&name, FIELDS_OF_DEVICE.into_iter());
                    let message = format!("has no field {}{meant}", shortened(&name));
                    return Err(self.place.fail("device", &message));
                }
            }
        }
        let serial_number: String =
            serial_number.ok_or_else(|| self.place.fail("device.serial_number", "is required"))?;
        let serial_number = SerialNumber::new(serial_number);
        Ok(Some(DeviceReport { serial_number, device_type, firmware_version, battery_level }))
    }
}

/// `data`: rows by data type.
struct DataSeed<'place> {
    place: &'place Place,
}

impl<'de> DeserializeSeed<'de> for DataSeed<'_> {
    type Value = Vec<TypeBatches>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for DataSeed<'_> {
    type Value = Vec<TypeBatches>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object of data types")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut types: Vec<TypeBatches> = Vec::new();
        while let Some(name) = map.next_key_seed(NameSeed)? {
            let Some(data_type) = DataType::from_name(&name) else {
                let message = format!("is not a data type{}", meant(&name, DataType::names()));
                return Err(self.place.fail(format!("data.{name}"), &message));
            };
            if types.iter().any(|one| one.data_type == data_type) {
                return Err(self.place.fail(format!("data.{name}"), "is given twice"));
            }
            self.place.enter_type(data_type);
            let batches = map.next_value_seed(RowsSeed { data_type, place: self.place })?;
            self.place.enter("data");
            types.push(TypeBatches { data_type, batches });
        }
        Ok(types)
    }
}

#[cfg(test)]
mod memory_tests;
#[cfg(test)]
mod tests;
