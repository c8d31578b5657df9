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
//! | [`signals`] | one file per signal: what the sensors make of the truth |
//! | [`SyncBody`], [`Truth`] | the upload of a window, and the daily figures that it must lead to |

mod body;
mod course;
mod data_type;
mod day;
mod error;
pub mod fleet;
mod moment;
mod night;
mod patient;
mod randomness;
mod scenario;
pub mod signals;
mod time;
mod truth;

pub use body::{Block, Column, SignalRates, SyncBody, Window};
pub use course::{Course, Minute, Wear};
pub use data_type::DataType;
pub use day::{Bout, DayPlan, Movement};
pub use error::{BraceletError, reasons};
pub use night::{Night, Stage};
pub use patient::{Baseline, Patient, Person};
pub use randomness::{Randomness, Subject};
pub use scenario::{Cast, Scenario};
pub use time::{HOUR_MS, MINUTE_MS};
pub use truth::{SleepTruth, Truth};
