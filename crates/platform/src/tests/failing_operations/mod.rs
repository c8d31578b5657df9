//! Services over stores of which one operation fails, once, in the middle of what they do.

mod damage;
mod delivery;
mod derivations;
mod erasure;
mod exports;
mod reads;
mod sealing;
mod signing_audit_log;
mod signing_keys;
mod silence;
mod study;
