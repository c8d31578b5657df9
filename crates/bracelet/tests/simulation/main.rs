//! What is simulated: signals that show the truth, days that join, and the same samples however they are asked for.
#![allow(clippy::unwrap_used, reason = "the lint spares tests but not their functions")]

mod common;
mod late_bouts;
mod local_days;
mod sensors;
