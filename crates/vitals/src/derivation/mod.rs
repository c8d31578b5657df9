//! Derivations: everything that is computed from a patient's rows, as one list of values.
//!
//! A [`Derivation`] names its inputs, says what a change of them reaches, and computes it as a pure function of what is
//! stored. [`Batch`] runs the list over what is dirty of one patient: its driver reads what it asks for and
//! commits what it answers, once. Recomputation, versions, metrics and the tests of order run over the same list, so a
//! new entry is covered on the day on which it is added.
//!
//! A computation that lacks something stops with what it lacks ([`Missing`]) and begins again when that was read. So it
//! never waits, and reads in the middle of a long history cost a second look at what is in hand.

mod af_records;
mod aggregates;
mod batch;
mod days;
mod days_ahead;
mod declaration;
mod extra;
mod figure;
mod frozen;
mod latest;
mod list;
mod need;
mod news;
mod output;
mod ranges;
mod sections;
mod subject;
mod view;
mod vital;
mod windows;

pub use batch::{Batch, Changes, Progress, Start};
pub use days::days_around;
pub use days_ahead::DaysAhead;
pub use declaration::{Derivation, Input, Work};
pub use extra::values::{Extra, FigureValue, extra_of_day};
pub use figure::Figure;
pub use frozen::Frozen;
pub use list::{DERIVATIONS, common_versions, figures, is_input, of_output, types_to_derive_again, versions};
pub use need::{Answer, Look, Missing, Need, Rows};
pub use news::LOOK_BACK_WINDOWS;
pub use output::{DerivedRow, KEYS_OF_DAY, Output, day_and, day_and_type, day_of, keys_of_days};
pub use subject::{GOAL_SETTING, NEWS_SETTING, RULE_SETTING, Setting, Subject, WEIGHT_SETTING};
pub use view::View;
pub use vital::VITAL_TYPES;
pub use windows::{Windows, joined};
