//! What many operations have in common and what is therefore in the components, once: answers and examples.

use serde_json::{Map, Value, json};

use super::examples;

/// The components besides schemas and credentials, filled while operations are completed.
pub(super) struct Shared<'schemas> {
    schemas: &'schemas Value,
    responses: Map<String, Value>,
    examples: Map<String, Value>,
}

impl<'schemas> Shared<'schemas> {
    /// Nothing yet. Examples are made of these schemas.
    pub(super) fn new(schemas: &'schemas Value) -> Self {
        Shared { schemas, responses: Map::new(), examples: Map::new() }
    }

    /// Says of bytes that they are no text, and gives JSON an example: its own, or the shared one of its schema.
    pub(super) fn complete_media(&mut self, kind: &str, media: &mut Value) {
        complete_bytes(kind, media);
        let has_one = !media["example"].is_null() || !media["examples"].is_null();
        if has_one || !kind.ends_with("json") {
            return;
        }
        let example = examples::of(&media["schema"], self.schemas);
        match media["schema"]["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            Some(name) => {
                media["examples"] = json!({ "usual": self.example(name, &example) });
            }
            None => media["example"] = example,
        }
    }

    /// Returns a reference to an answer of this name, which is added.
    pub(super) fn response(&mut self, name: String, response: Value) -> Value {
        let reference = json!({"$ref": format!("#/components/responses/{name}")});
        self.responses.insert(name, response);
        reference
    }

    /// Returns a reference to an example of this name, which is added.
    pub(super) fn example(&mut self, name: &str, value: &Value) -> Value {
        self.examples.insert(name.to_owned(), json!({ "value": value }));
        json!({"$ref": format!("#/components/examples/{name}")})
    }

    /// Adds all that was shared to the components.
    pub(super) fn add_to(self, components: &mut Value) {
        components["responses"] = Value::Object(self.responses);
        components["examples"] = Value::Object(self.examples);
    }
}

/// Says of bytes that they are no text, which OpenAPI 3.1 says by their kind and earlier versions by a format.
fn complete_bytes(kind: &str, media: &mut Value) {
    if kind.starts_with("application/vnd.apache.") || ["application/octet-stream", "application/zip"].contains(&kind) {
        media["schema"] = json!({"type": "string", "format": "binary", "contentMediaType": kind});
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_of_a_named_schema_is_stated_once() {
        let schemas = json!({"Email": {"type": "string", "example": "rita@study.example"}});
        let mut shared = Shared::new(&schemas);
        let mut named = json!({"schema": {"$ref": "#/components/schemas/Email"}});
        let mut listed = json!({"schema": {"type": "array", "items": {"$ref": "#/components/schemas/Email"}}});
        let mut stated = json!({"schema": {"$ref": "#/components/schemas/Email"}, "example": "grace@study.example"});
        for media in [&mut named, &mut listed, &mut stated] {
            shared.complete_media("application/json", media);
        }
        assert_eq!(named["examples"]["usual"]["$ref"], "#/components/examples/Email");
        assert_eq!(listed["example"], json!(["rita@study.example"]));
        assert_eq!((&stated["example"], &stated["examples"]), (&json!("grace@study.example"), &Value::Null));
        let mut components = json!({});
        shared.add_to(&mut components);
        assert_eq!(components["examples"], json!({"Email": {"value": "rita@study.example"}}));
    }
}
