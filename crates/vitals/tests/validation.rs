//! docs/validation.md says what the command prints.
#![allow(clippy::unwrap_used, reason = "the lint spares tests but not their functions")]

mod recordings;
#[path = "validation/report.rs"]
mod report;

#[test]
fn the_page_is_what_the_command_prints() {
    let Some(page) = report::page() else { return };
    let kept = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/validation.md")).unwrap();
    assert_eq!(kept, page, "print it again: cargo run -p vitals --example validation > docs/validation.md");
}
