//! How wide numbers are, for generators that take the narrowest type otherwise: a time in a 32-bit float is a minute off.

#[cfg(test)]
mod tests;

use serde_json::{Value, json};

/// States the width of every number of a schema and of its parts where it is not stated.
pub(super) fn complete(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("format").is_none()
                && let Some(format) = width(fields.get("type").unwrap_or(&Value::Null), fields.get("maximum"))
            {
                fields.insert("format".to_owned(), json!(format));
            }
            // What an example or a default is made of is no schema.
            let parts = fields
                .iter_mut()
                .filter(|(name, _)| !["example", "examples", "default", "enum"].contains(&name.as_str()));
            parts.for_each(|(_, part)| complete(part));
        }
        Value::Array(parts) => parts.iter_mut().for_each(complete),
        _ => {}
    }
}

fn width(kind: &Value, maximum: Option<&Value>) -> Option<&'static str> {
    let is_of = |name: &str| kind == name || kind.as_array().is_some_and(|kinds| kinds.iter().any(|one| one == name));
    let fits_in_32_bits = || maximum.and_then(Value::as_f64).is_some_and(|maximum| maximum <= f64::from(i32::MAX));
    if is_of("number") {
        return Some("double");
    }
    (is_of("integer") && !is_of("string")).then(|| if fits_in_32_bits() { "int32" } else { "int64" })
}
