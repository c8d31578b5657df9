//! References within the document.

use serde_json::{Value, json};

/// Returns a reference to a schema.
pub(super) fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}
