//! The "Field | Type" tables of section 2 of the interface specification, each held against the real answers: every
//! name and nothing more, types, what may be null or absent, units by values that follow from what was sent.
//!
//! The tables are typed from the specification, not from the code. What refinements and decisions add to one is
//! next to it as ours. A table is done only when each specified field that may be null or absent has been seen both
//! ways.

mod common;
#[path = "field_tables/people.rs"]
mod people;
#[path = "field_tables/records.rs"]
mod records;
#[path = "field_tables/scene.rs"]
mod scene;
#[path = "field_tables/slots.rs"]
mod slots;
#[path = "field_tables/summary.rs"]
mod summary;
#[path = "field_tables/summary_nights.rs"]
mod summary_nights;
#[path = "field_tables/table.rs"]
mod table;
#[path = "field_tables/values.rs"]
mod values;
