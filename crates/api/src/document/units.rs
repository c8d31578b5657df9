//! Units of figures: in `x-unit` for programs, and in the description for people.

use serde_json::{Value, json};

/// Unit of counts, scores, codes and factors, which have none (UCUM writes it so).
pub(super) const NONE: &str = "1";

/// States the unit of a figure, which has its description already. An empty unit is none.
pub(super) fn state(schema: &mut Value, unit: &str) {
    schema["x-unit"] = json!(if unit.is_empty() { NONE } else { unit });
    let meaning = schema["description"].as_str().unwrap_or_default();
    if unit.is_empty() || is_said(meaning, unit) {
        return;
    }
    // Columns are described by a phrase, sections by sentences.
    let said =
        if meaning.ends_with('.') { format!("{meaning} Unit: {unit}.") } else { format!("{meaning}; unit: {unit}") };
    schema["description"] = json!(said);
}

/// Returns whether a description names a unit as a word of its own.
pub(super) fn is_said(description: &str, unit: &str) -> bool {
    // Some units consist of two words.
    let padded = |text: &str| format!(" {} ", text.replace([';', ','], " ").trim_end_matches('.').replace(". ", " "));
    padded(description).contains(&format!(" {unit} "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_said_once_and_for_programs_always() {
        let stated = |meaning: &str, unit: &str| {
            let mut schema = json!({"description": meaning});
            state(&mut schema, unit);
            (schema["description"].as_str().unwrap_or_default().to_owned(), schema["x-unit"].clone())
        };
        assert_eq!(stated("Mean.", "/min"), ("Mean. Unit: /min.".to_owned(), json!("/min")));
        assert_eq!(
            stated("speed of movement", "0.1 m/s"),
            ("speed of movement; unit: 0.1 m/s".to_owned(), json!("0.1 m/s"))
        );
        assert_eq!(stated("Start, Unix epoch ms; or null.", "ms").0, "Start, Unix epoch ms; or null.");
        assert_eq!(stated("Time of beats.", "s").0, "Time of beats. Unit: s.");
        assert_eq!(stated("quality", ""), ("quality".to_owned(), json!(NONE)));
    }
}
