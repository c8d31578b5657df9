//! Alarms: rules on signals of a patient, and the episodes in which they alarm. **Not a medical device.**
//!
//! An episode is a pure function of stored rows and of the rules that were valid at their time. There is no clock here: the
//! same rows and rules give the same episodes, byte for byte, in whatever order they arrived.
//!
//! # Types
//!
//! | Type | Is |
//! |---|---|
//! | [`Signal`] | what a rule watches, and how often that is sampled |
//! | [`Rule`] | thresholds, how long a breach and a recovery must last, lowest quality, [`Priority`] |
//! | [`Profile`] | the rules of a study, and [`Builtin::News2`] where it is switched on |
//! | [`Version`] | a profile, or the rules of a patient, with the time from which it is valid |
//! | [`Span`] | a rule of a patient, from when to when it judges alike; [`spans`] makes them of the versions |
//! | [`Sample`] | a row as judging needs it: [`vital_samples`], [`news_samples`] and [`rhythm_samples`] make them |
//! | [`Judgement`] | what is known of a rule after some rows; it takes more rows and returns the episodes that they end |
//! | [`Episode`] | start, opening, end and why, farthest value, levels, times in which it could not be judged |
//! | [`Level`] | priority, response and next observation; the rule on NEWS2 has four of them, all others one |
//!
//! # States
//!
//! ```text
//!            breach               for_s over              clear               clear_for_s over
//! normal ──────────────► pending ────────────► active ──────────────► recovering ────────────► closed
//!    ▲                     │                     ▲                        │
//!    └─────────────────────┘                     └────────────────────────┘
//!  no breach, unknown, a gap                      no longer clear
//! ```
//!
//! - `for_s` and `clear_for_s` count **sample time**, from row to row. A gap longer than [`Signal::largest_gap_ms`]
//!   restarts both counts.
//! - A row that cannot be judged is **unknown** ([`Reason`]): poor, not worn, charging, a NEWS without total. It neither
//!   opens nor closes. A count that is pending restarts; a count of recovery neither advances nor restarts.
//! - A part of NEWS that scores 3 is known without the other parts, so it opens what watches parts. That no part scores 3
//!   is known only where all parts are, so nothing falls because a part has become too old.
//! - An open episode stays open while unknown, and ends [`NOT_JUDGED_AFTER_MS`] after the last row that was judged.
//! - A rule that is removed or disabled ends its episode; one that is changed ends it too, and judges again from then on.
//!   A new name is no change.
//! - The levels of NEWS2 are one machine each. They are nested, so the episode is that of the lowest, and its level is the
//!   highest that is open.
//!
//! # Reach
//!
//! [`Judgement`] holds all that later rows need, so that judging piece by piece equals judging everything, however the rows
//! are cut. Without it, [`judged_from_ms`] says how far before a time judging must begin: at the start of the episode that
//! is open then, otherwise `for_s` and the largest gap before. So a changed row changes nothing after a time at which
//! neither the old nor the new history has an open episode, that much after it.
//!
//! Technical signals ([`Signal::is_technical`]) have rules here and are not judged here: what a bracelet does is a fact of
//! when rows arrive.

mod ending;
mod episode;
mod fields;
mod finding;
mod judge;
mod level;
mod machine;
mod priority;
mod profile;
mod read;
mod rule;
mod sample;
mod sampling;
mod signal;
mod span;
#[cfg(test)]
mod tests;

pub use ending::Ending;
pub use episode::{Episode, EpisodeId, LevelChange, Unknown};
pub use fields::Faults;
pub use judge::{Judgement, State, Status, episodes, judged_from_ms};
pub use level::{Level, NEWS2_LEVELS};
pub use machine::NOT_JUDGED_AFTER_MS;
pub use priority::Priority;
pub use profile::{Builtin, Profile, Version};
pub use read::{LARGEST_THRESHOLD, LONGEST_FOR_S, MOST_RULES, read_patient_rules, read_profile};
pub use rule::{DEFAULT_MIN_QUALITY, Rule};
pub use sample::{Reading, Reason, Sample};
pub use sampling::{news_samples, rhythm_samples, vital_samples};
pub use signal::Signal;
pub use span::{Span, spans};
