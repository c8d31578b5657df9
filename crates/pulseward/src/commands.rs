//! The commands, one file each.

pub mod admin;
pub mod audit;
pub mod backup;
pub mod completions;
pub mod demo;
pub mod doctor;
pub mod import;
pub mod lake;
pub mod man;
pub mod migrate;
pub mod openapi;
pub mod recompute;
pub mod restore;
pub mod seal;
pub mod serve;
pub mod simulate;
