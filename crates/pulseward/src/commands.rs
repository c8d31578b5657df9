//! The commands, one file each.

pub mod admin;
pub mod audit;
pub mod completions;
pub mod demo;
pub mod import;
pub mod man;
pub mod migrate;
pub mod openapi;
pub mod recompute;
pub mod seal;
pub mod serve;
pub mod simulate;
