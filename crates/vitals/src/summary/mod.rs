//! A patient's day: one typed section for each part of the specification's daily summary.
//!
//! The fields carry the specification's names, the one exception to the rule that JSON names live in the API. A
//! section is kept as JSON without slots, which [`Section::read`] reads back; the slots are formatted from the day's cells while an answer is streamed
//! ([`slots_json`]). docs/summary-fields.md lists each field with its definition, unit and when it is null.

mod activity;
mod body;
mod bounds;
mod daily;
pub mod described;
mod digits;
mod facts;
mod heart_rate;
mod local_time;
mod night;
mod pressure;
pub(crate) mod recovery;
mod rounding;
mod section;
mod sleep;
pub mod slots;
pub mod slots_json;
mod source;
mod stress;
mod temperature;
pub mod units;
mod vital;
mod waveform;

pub use activity::{ActivitySection, StepsSource};
pub use body::{SectionBody, SectionError};
pub use daily::{DailySummary, StoredSection, bodies_of_facts};
pub use facts::{CONSISTENCY_REACH_DAYS, DayFacts, FactsByDay, RECOVERY_REACH_DAYS};
pub use heart_rate::HeartRateSection;
pub use local_time::{OffsetTime, TimeOfDay};
pub use night::{Night, Nights};
pub use pressure::PressureSection;
pub use recovery::RecoverySection;
pub use section::Section;
pub use sleep::SleepSection;
pub use source::{DaySource, Profile, SummarySettings, max_bpm_on};
pub use stress::StressSection;
pub use temperature::TemperatureSection;
pub use vital::{RespirationRateSection, Spo2Section};
pub use waveform::{WaveformCheck, WaveformQuality};

#[cfg(test)]
mod example_tests;
#[cfg(test)]
mod reference_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod typed_tests;
