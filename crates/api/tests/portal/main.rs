//! What the pages of the portal ask, as a browser asks it.

#[path = "../common/mod.rs"]
mod common;

mod account;
mod browser;
mod sessions;
mod totp;
