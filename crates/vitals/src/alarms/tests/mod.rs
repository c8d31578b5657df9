//! Rules of the specification by name, and what must hold for all rows.

mod chart;
mod examples;
mod json;
mod properties;
mod rows;
mod scene;
mod versions;
