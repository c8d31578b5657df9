//! Tests of `bodies.rs`.

use super::*;

#[test]
fn every_text_of_a_body_says_what_fits() {
    fn check(place: &str, schema: &Value) {
        let limited = LIMITING.iter().any(|keyword| !schema[*keyword].is_null());
        assert!(limited || !is_of(schema, "string"), "{place}");
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            check(&format!("{place}.{name}"), property);
        }
        for part in schema["allOf"].as_array().into_iter().flatten().chain([&schema["items"]]) {
            if part.is_object() {
                check(place, part);
            }
        }
    }
    let document = crate::document();
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    let names = names(&document["paths"], schemas);
    assert!(names.contains("Alarm") && names.contains("ProfileChange") && !names.contains("Sync"), "{names:?}");
    for name in &names {
        check(name, &schemas[name]);
    }
    assert!(!document.to_string().contains(PATTERN));
    assert_eq!(schemas["LoginRequest"]["properties"]["password"]["pattern"], WITHOUT_NUL);
    assert_eq!(schemas["BraceletRequest"]["properties"]["device_type"]["maxLength"], 100);
}

#[test]
fn fields_that_go_together_are_rules_of_their_body() {
    let document = crate::document();
    let schemas = &document["components"]["schemas"];
    let absent = json!({"type": "null"});
    assert_eq!(schemas["Alarm"]["then"]["required"], json!(["below"]));
    assert_eq!(schemas["OwnProfileChange"]["then"], json!({"minProperties": 2}));
    assert!(schemas["Activation"]["minProperties"].is_null() && schemas["PersonalAttributes"].is_null());
    for name in CHANGES {
        assert_eq!(schemas[name]["minProperties"], 1, "{name}");
    }
    assert_eq!(schemas["LoginRequest"]["else"]["properties"]["code"], absent);
    assert_eq!(schemas["TokenRequest"]["then"]["required"], json!(["refresh_token"]));
}
