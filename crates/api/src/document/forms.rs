//! The forms in which a column may be sent: a value that holds for all rows, or an array with one for each.
//!
//! Each form has one kind of value. Several kinds in one form are what generators cannot distinguish, or give one name.

use serde_json::{Value, json};

/// Keywords of a schema that limit values of one kind.
const LIMITS: [(&str, &[&str]); 4] = [
    ("number", &["minimum", "maximum", "not", "examples"]),
    ("integer", &["minimum", "maximum", "not"]),
    ("boolean", &[]),
    ("string", &["pattern", "maxLength", "enum", "examples"]),
];
/// Keywords of a schema that apply to values of all kinds.
const COMMON: [&str; 4] = ["description", "x-unit", "x-no-value", "deprecated"];

/// Returns the schema of a column of such values.
pub(super) fn of(value: &Value) -> Value {
    let types = match &value["type"] {
        Value::Array(types) => types.clone(),
        only => vec![only.clone()],
    };
    let is_nullable = types.contains(&json!("null"));
    let kinds: Vec<&str> = types.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect();
    let with_null = |kind: &str| if is_nullable { json!([kind, "null"]) } else { json!(kind) };
    let (mut values, mut arrays) = (Vec::new(), Vec::new());
    for (position, kind) in kinds.into_iter().enumerate() {
        // A null and an array without a value have the first form alone, so that exactly one fits.
        let own = if position == 0 { with_null(kind) } else { json!(kind) };
        values.push(of_kind(value, kind, &own));
        let mut array = json!({"type": "array", "items": of_kind(value, kind, &with_null(kind))});
        if position > 0 {
            array["contains"] = json!({"type": kind});
        }
        arrays.push(array);
    }
    values.extend(arrays);
    json!({"oneOf": values, "description": value["description"]})
}

/// Returns the schema of values of one kind.
fn of_kind(value: &Value, kind: &str, own_type: &Value) -> Value {
    let limits = LIMITS.iter().find(|(name, _)| *name == kind).map_or(&[] as &[&str], |(_, limits)| limits);
    let mut schema = json!({"type": own_type});
    for name in COMMON.iter().chain(limits) {
        if let Some(stated) = value.get(*name) {
            schema[*name] = stated.clone();
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_has_one_kind_of_value() {
        let value = json!({"type": ["number", "boolean", "null"], "minimum": 0, "maximum": 1, "description": "worn"});
        let expected = json!({"description": "worn", "oneOf": [
            {"type": ["number", "null"], "minimum": 0, "maximum": 1, "description": "worn"},
            {"type": "boolean", "description": "worn"},
            {"type": "array",
                "items": {"type": ["number", "null"], "minimum": 0, "maximum": 1, "description": "worn"}},
            {"type": "array", "items": {"type": ["boolean", "null"], "description": "worn"},
                "contains": {"type": "boolean"}},
        ]});
        assert_eq!(of(&value), expected);
        let value = json!({"type": "number", "x-unit": "ms", "examples": [980]});
        let array = json!({"type": "array", "items": value});
        assert_eq!(of(&value)["oneOf"], json!([value, array]));
    }
}
