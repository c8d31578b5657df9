//! JSON bodies: 415 for another kind, 413 for a large one, 400 for what is not JSON, and 422 with every field that
//! is wrong at once.
//!
//! A body is read as a JSON object first and its fields one by one after that, because deserialising into a type
//! stops at the first field that does not fit and does not name it.

pub(crate) mod rejection;
pub(crate) mod typed;
pub(crate) mod unknown;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use platform::{FieldFaults, PlatformError, integer_of};
use serde_json::{Map, Value};

use rejection::BodyRejection;

use crate::error::ApiError;

/// Pattern of a text that a body may have, as the OpenAPI document states it of each: PostgreSQL cannot keep a NUL character,
/// and no text needs one.
pub(crate) const WITHOUT_NUL: &str = r"^[^\x00]*$";

/// Pattern of a name, which is more than blanks. `\s` lacks one of them, U+0085.
pub(crate) const NOT_BLANK: &str = r"^[^\x00]*[^\s\x00\x85][^\x00]*$";

/// Pattern of a name in one line: without control characters, and more than blanks.
pub(crate) const SHORT_LINE: &str = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$";

/// The fields of a JSON object, taken out one by one.
pub struct Fields {
    values: Map<String, Value>,
    errors: FieldFaults,
    /// Names that were asked for.
    asked: Vec<String>,
}

/// Returns a JSON text without the mark of its byte order, which some programs write and RFC 8259 lets readers skip.
pub(crate) fn without_mark(json: &[u8]) -> &[u8] {
    json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json)
}

/// Returns where a text ceases to be JSON. The parser's own words are those of its inside.
pub(crate) fn place_of(error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "it ends too early".to_owned();
    }
    format!("line {}, column {}", error.line(), error.column())
}

/// The largest number that is written with as few characters as the smallest that no f64 holds.
const STILL_A_NUMBER: &[u8] = b"1e308";

/// Returns the JSON with numbers in the place of those that are too large for an f64; `None` when there are none.
///
/// What takes their place is out of every range too, so that it is reported at the place of the number and not of the
/// whole body. Nothing moves: the shortest number that is too large has as many characters as what replaces it.
pub(crate) fn with_f64_numbers(json: &[u8]) -> Option<Vec<u8>> {
    let mut changed: Option<Vec<u8>> = None;
    let (mut at, mut in_text) = (0, false);
    while let Some(byte) = json.get(at) {
        match byte {
            // The escaped character can be a quotation mark.
            b'\\' if in_text => at += 2,
            b'"' => {
                in_text = !in_text;
                at += 1;
            }
            b'0'..=b'9' if !in_text => {
                let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
                let length = json[at..].iter().position(|byte| !is_part(byte)).unwrap_or(json.len() - at);
                if is_too_large(&json[at..at + length]) {
                    let place = &mut changed.get_or_insert_with(|| json.to_vec())[at..at + length];
                    place.fill(b' ');
                    place[..STILL_A_NUMBER.len()].copy_from_slice(STILL_A_NUMBER);
                }
                at += length;
            }
            _ => at += 1,
        }
    }
    changed
}

fn is_too_large(digits: &[u8]) -> bool {
    digits.len() >= STILL_A_NUMBER.len()
        && std::str::from_utf8(digits).is_ok_and(|text| text.parse().is_ok_and(|number: f64| number.is_infinite()))
}

impl<S: Send + Sync> FromRequest<S> for Fields {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, Self::Rejection> {
        if !is_json(&request) {
            // First, because a form that is read as JSON would be called broken JSON, which misleads.
            return Err(BodyRejection::OtherKind("application/json").into());
        }
        // Only uploads are worth packing; a packed body of another route could unfold without a limit.
        if request.headers().get_all(CONTENT_ENCODING).iter().any(|encoding| encoding != "identity") {
            return Err(BodyRejection::Encoded.into());
        }
        let bytes = Bytes::from_request(request, state).await.map_err(BodyRejection::from)?;
        Ok(Fields::read(&bytes)?)
    }
}

fn is_json(request: &Request) -> bool {
    let kind = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

impl Fields {
    fn of(values: Map<String, Value>) -> Self {
        Fields { values, errors: FieldFaults::new(), asked: Vec::new() }
    }

    /// Takes a field out; `None` when it is not there.
    fn take(&mut self, field: &str) -> Option<Value> {
        self.asked.push(field.to_owned());
        self.values.remove(field)
    }

    /// Returns the fields that nobody has asked for, and the names that somebody has.
    pub(crate) fn left(&self) -> (Vec<String>, &[String]) {
        (self.values.keys().cloned().collect(), &self.asked)
    }

    fn read(bytes: &[u8]) -> Result<Self, BodyRejection> {
        let bytes = without_mark(bytes);
        // Read again only where reading has failed, so that ordinary bodies pay nothing.
        let read = serde_json::from_slice(bytes).or_else(|error| match with_f64_numbers(bytes) {
            Some(changed) => serde_json::from_slice(&changed),
            None => Err(error),
        });
        match read {
            Ok(Value::Object(values)) => Ok(Fields::of(values)),
            Ok(_) => Err(BodyRejection::NotAnObject),
            Err(error) => Err(BodyRejection::NotJson(place_of(&error))),
        }
    }

    /// Returns a text that has to be there; empty when it is not, which [`Fields::finish`] then reports.
    pub fn required_text(&mut self, field: &str) -> String {
        let text = self.text(field);
        // One reason per field: "must be a text" and "is required" together would contradict each other.
        if text.is_none() && !self.errors.contains_key(field) {
            self.note(field, "is required");
        }
        text.unwrap_or_default()
    }

    /// Returns whether a field is there and null.
    pub fn is_null(&self, field: &str) -> bool {
        self.values.get(field).is_some_and(Value::is_null)
    }

    /// Returns a text that may be absent or null.
    pub fn text(&mut self, field: &str) -> Option<String> {
        match self.take(field)? {
            Value::Null => None,
            // The same as `WITHOUT_NUL`.
            Value::String(text) if text.contains('\0') => self.wrong(field, "must not have a NUL character"),
            Value::String(text) => Some(text),
            _ => self.wrong(field, "must be a text"),
        }
    }

    /// Returns a number that may be absent or null.
    pub fn number(&mut self, field: &str) -> Option<f64> {
        match self.take(field)? {
            Value::Null => None,
            Value::Number(number) => number.as_f64(),
            _ => self.wrong(field, "must be a number"),
        }
    }

    /// Returns an integer that may be absent or null.
    pub fn integer(&mut self, field: &str) -> Option<i64> {
        match self.take(field)? {
            Value::Null => None,
            value => integer_of(&value).or_else(|| self.wrong(field, "must be an integer")),
        }
    }

    /// Returns an integer that has to be there; `None` when it is not, which [`Fields::finish`] then reports. `wanted` is what is
    /// said of something else.
    pub fn required_integer(&mut self, field: &str, wanted: &str) -> Option<i64> {
        let number = match self.take(field) {
            None | Some(Value::Null) => None,
            Some(value) => integer_of(&value).or_else(|| self.wrong(field, wanted)),
        };
        if number.is_none() && !self.errors.contains_key(field) {
            self.note(field, "is required");
        }
        number
    }

    /// True or false, which may be absent or null.
    pub fn flag(&mut self, field: &str) -> Option<bool> {
        match self.take(field)? {
            Value::Null => None,
            Value::Bool(flag) => Some(flag),
            _ => self.wrong(field, "must be true or false"),
        }
    }

    /// Returns a list of texts, which may be absent or null.
    pub fn texts(&mut self, field: &str) -> Option<Vec<String>> {
        let text = |value: Value| match value {
            // PostgreSQL refuses NUL, also in what is only looked up.
            Value::String(text) if !text.contains('\0') => Some(text),
            _ => None,
        };
        match self.take(field)? {
            Value::Null => None,
            Value::Array(values) => match values.into_iter().map(text).collect() {
                Some(texts) => Some(texts),
                None => self.wrong(field, "must be a list of texts"),
            },
            _ => self.wrong(field, "must be a list of texts"),
        }
    }

    /// Notes that a field is not valid, unless something has been noted of it already.
    pub fn note_once(&mut self, field: &str, message: &str) {
        if !self.errors.contains_key(field) {
            self.note(field, message);
        }
    }

    /// Returns an object that may be absent or null.
    pub fn object(&mut self, field: &str) -> Option<Map<String, Value>> {
        match self.take(field)? {
            Value::Null => None,
            Value::Object(object) => Some(object),
            _ => self.wrong(field, "must be an object"),
        }
    }

    /// Returns a list of objects that has to be there, each to be read by itself and without other fields than those; empty when
    /// it is not there, which [`Fields::finish`] then reports. What `read` finds wrong of the first is reported as of `field.0.…`.
    pub fn required_list<T>(&mut self, field: &str, read: impl Fn(&mut Fields) -> T) -> Vec<T> {
        let elements = match self.take(field) {
            Some(Value::Array(elements)) => elements,
            None | Some(Value::Null) => {
                self.note(field, "is required");
                return Vec::new();
            }
            Some(_) => {
                self.note(field, "must be a list");
                return Vec::new();
            }
        };
        let mut list = Vec::with_capacity(elements.len());
        for (at, element) in elements.into_iter().enumerate() {
            let Value::Object(values) = element else {
                self.note(&format!("{field}.{at}"), "must be an object");
                // Those behind it keep their places, by which more can be found wrong of them.
                list.push(read(&mut Fields::of(Map::new())));
                continue;
            };
            let mut inner = Fields::of(values);
            list.push(read(&mut inner));
            let (left, asked) = inner.left();
            for (name, fault) in unknown::faults(&left, asked) {
                inner.note(&name, &fault);
            }
            self.errors.extend(inner.errors.into_iter().map(|(name, what)| (format!("{field}.{at}.{name}"), what)));
        }
        list
    }

    /// Notes that a field is not valid.
    pub fn note(&mut self, field: &str, message: &str) {
        self.errors.entry(field.to_owned()).or_default().push(message.to_owned());
    }

    /// Invalid when any field was; fields that nobody asked for are no error.
    pub fn finish(self) -> Result<(), PlatformError> {
        if self.errors.is_empty() { Ok(()) } else { Err(PlatformError::Invalid(self.errors)) }
    }

    /// Invalid when any field was, together with what `judge` finds of the others; it is given what could not be read.
    pub(crate) fn finish_with(self, judge: impl FnOnce(&FieldFaults) -> FieldFaults) -> Result<(), PlatformError> {
        // Sound fields are judged by the operation, which has to do it anyway.
        if self.errors.is_empty() {
            return Ok(());
        }
        let mut found = judge(&self.errors);
        // What takes the place of an unreadable value can be wrong for reasons that nobody has sent.
        found.retain(|field, _| !is_unreadable(field, &self.errors));
        found.extend(self.errors);
        Err(PlatformError::Invalid(found))
    }

    /// Returns what is wrong of the fields so far, for an operation that refuses it together with what it finds itself.
    pub fn into_faults(self) -> FieldFaults {
        self.errors
    }

    fn wrong<T>(&mut self, field: &str, message: &str) -> Option<T> {
        self.note(field, message);
        None
    }
}

/// Returns whether a field, or one that it is inside of, is among those that could not be read.
fn is_unreadable(field: &str, unreadable: &FieldFaults) -> bool {
    let outer = field.match_indices('.').map(|(at, _)| &field[..at]);
    outer.chain([field]).any(|name| unreadable.contains_key(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(body: &str) -> Fields {
        Fields::read(body.as_bytes()).expect("an object")
    }

    #[test]
    fn a_list_with_a_nul_character_is_wrong() {
        let mut fields = fields(r#"{"groups": ["ABCDE", "AB\u0000DE"], "others": ["ABCDE"]}"#);
        assert_eq!((fields.texts("groups"), fields.texts("others")), (None, Some(vec!["ABCDE".to_owned()])));
        assert!(fields.finish().is_err());
    }

    #[test]
    fn every_wrong_field_is_named() {
        let mut fields =
            fields(r#"{"name": 7, "height": "tall", "agreed": 1, "skin_color": 2.5, "hair_density": 2.0}"#);
        assert_eq!(fields.required_text("name"), "");
        assert_eq!(fields.required_text("password"), "");
        assert_eq!(fields.number("height"), None);
        assert_eq!(fields.flag("agreed"), None);
        assert_eq!(fields.integer("skin_color"), None);
        assert_eq!(fields.integer("hair_density"), Some(2), "as some languages write 2");
        let Err(PlatformError::Invalid(errors)) = fields.finish() else { panic!("nothing was found wrong") };
        assert_eq!(errors.keys().collect::<Vec<_>>(), ["agreed", "height", "name", "password", "skin_color"]);
        assert_eq!(errors["password"], ["is required"]);
        assert_eq!(errors["name"], ["must be a text"]);
    }

    #[test]
    fn numbers_that_no_f64_holds_are_reported_by_field() {
        let digits = "9".repeat(400);
        for number in ["1e400", "-1e400", "9e308", "1E+309", "0.1e310", digits.as_str(), "1797693134862315800000e288"] {
            let json = format!(r#"{{"weight": {number}, "name": "1e400\\\" 1e400", "height": 180.5}}"#);
            let mut fields = fields(&json);
            assert!(fields.number("weight").is_some_and(|weight| weight.abs() > 9e307), "{number}");
            assert_eq!(fields.required_text("name"), "1e400\\\" 1e400");
            assert_eq!(fields.number("height"), Some(180.5));
        }
        for sound in ["{}", "[1.5, 1e308, -2E-400]", "\"1e400\"", "1e", "{\"a\": 1e400", "1e4000-"] {
            let changed = with_f64_numbers(sound.as_bytes());
            assert_eq!(changed.is_some(), sound.contains(": 1e400"), "{sound}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_skipped_once_and_at_the_start_only() {
        assert_eq!(fields("\u{feff}{\"name\": \"\u{feff}a\"}").required_text("name"), "\u{feff}a");
        assert!(matches!(Fields::read("\u{feff}\u{feff}{}".as_bytes()), Err(BodyRejection::NotJson(_))));
        assert!(matches!(Fields::read("{}\u{feff}".as_bytes()), Err(BodyRejection::NotJson(_))));
    }

    #[test]
    fn null_is_absent() {
        let mut fields = fields(r#"{"email": null}"#);
        assert_eq!(fields.text("email"), None);
        assert!(fields.finish().is_ok());
    }

    #[test]
    fn what_is_not_an_object_is_refused() {
        assert!(matches!(Fields::read(b"{"), Err(BodyRejection::NotJson(_))));
        assert!(matches!(Fields::read(b"{\"a\": NaN}"), Err(BodyRejection::NotJson(_))));
        assert!(matches!(Fields::read(b""), Err(BodyRejection::NotJson(_))));
        assert!(matches!(Fields::read(b"[]"), Err(BodyRejection::NotAnObject)));
    }
}
