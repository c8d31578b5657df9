//! What happens to a patient for a while: stories with a begin, phases and an end, whose truth is recorded.
//!
//! A scenario goes on for ever and is for looking at; a story ends, and a patient can have several of them. A further
//! story is a file that implements `Plot`, and one line in `list.rs`.

pub(crate) mod casting;
mod charging;
mod dead_battery;
mod deterioration;
mod exercise;
mod late_sync;
pub(crate) mod list;
mod loose_sensor;
mod minutes;
pub(crate) mod request;
pub(crate) mod story;
pub(crate) mod strain;
