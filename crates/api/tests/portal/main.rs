//! What the pages of the portal ask, as a browser asks it.

#[path = "../common/mod.rs"]
mod common;

mod account;
mod board;
mod browser;
mod charts;
mod clock_changes;
mod limits;
mod news;
mod second_factor;
mod security_log;
mod sessions;
mod totp;
mod totp_code;
