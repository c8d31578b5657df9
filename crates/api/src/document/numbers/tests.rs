//! Tests of `numbers.rs`.

use super::*;

#[test]
fn every_number_says_its_width() {
    let mut schema = json!({"properties": {
        "timestamp": {"oneOf": [{"type": "number"}, {"type": "array", "items": {"type": ["number", "null"]}}]},
        "bpm": {"type": ["integer", "null"], "maximum": 255},
        "size": {"type": "integer", "minimum": 0},
        "length": {"type": "integer", "format": "int32"},
        "id": {"type": ["string", "integer"], "maximum": 255},
        "type": {"type": "string"},
        "sent": {"type": "object", "example": {"type": "number"}}}});
    complete(&mut schema);
    let of = |pointer: &str| schema.pointer(&format!("/properties/{pointer}/format")).and_then(Value::as_str);
    assert_eq!(of("timestamp/oneOf/0"), Some("double"));
    assert_eq!(of("timestamp/oneOf/1/items"), Some("double"));
    assert_eq!((of("bpm"), of("size"), of("length")), (Some("int32"), Some("int64"), Some("int32")));
    assert_eq!((of("id"), of("type"), of("sent/example")), (None, None, None));
}

#[test]
fn no_number_of_the_document_is_left_to_the_generator() {
    let document = crate::document();
    let mut completed = document["components"]["schemas"].clone();
    complete(&mut completed);
    assert_eq!(completed, document["components"]["schemas"]);
}
