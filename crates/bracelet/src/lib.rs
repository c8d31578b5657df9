//! Simulated bracelets: physiologically plausible signals whose truth is known, and a fleet that sends them.
//!
//! Every sample is a pure function of (seed, patient index, scenario, time). A window can be generated alone, again, or
//! in pieces, and always holds the same samples: that is what lets tests compare what a service answers with what was
//! sent, and what makes the duplicates of a real device's bad connection easy to produce.
//!
//! The crate shares no code with the service. It builds the JSON of a sync by itself and speaks only HTTP, so a
//! misunderstanding of the format on one side cannot hide on the other.
//!
//! | Part | Idea |
//! |---|---|
//! | [`Patient`], [`Scenario`] | who wears the bracelet, and what happens to the patient |
//! | [`Course`] | the true physiology of a patient, minute by minute |
//! | [`Story`], [`cast`] | what happens for a while, and to which patients of a fleet |
//! | [`signals`] | one file per signal: what the sensors make of the truth |
//! | [`SyncBody`], [`Truth`] | the upload of a window, and the daily figures that it must lead to |

mod body;
mod bout;
mod course;
mod data_type;
mod day;
mod error;
pub mod fleet;
mod moment;
mod news2;
mod night;
mod patient;
mod population;
mod randomness;
mod scenario;
pub mod signals;
mod stories;
mod story_truth;
mod time;
mod truth;
mod wear;

pub use body::{Block, Column, SignalRates, SyncBody, Window};
pub use bout::{Bout, Movement};
pub use course::{Course, Minute};
pub use data_type::DataType;
pub use day::DayPlan;
pub use error::{BraceletError, reasons};
pub use night::{Night, Stage};
pub use patient::{Baseline, Patient, Person};
pub use randomness::{Randomness, Subject};
pub use scenario::{Cast, Scenario};
pub use stories::casting::{Presence, StoryPlan, cast};
pub use stories::list::story_names;
pub use stories::request::StoryRequests;
pub use stories::story::{Phase, Story};
pub use story_truth::{KnownPatient, TRUTH_FORMAT, TRUTH_VERSION, patient_lines, run_line};
pub use time::{HOUR_MS, MINUTE_MS};
pub use truth::{SleepTruth, Truth};
pub use wear::{Contact, Wear};
